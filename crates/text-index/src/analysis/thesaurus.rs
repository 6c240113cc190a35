//! Synonyms: groups of words with similar meanings, in the vocabulary of tools and programs.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::analysis::tokens::tokenize;

/// Weight of a synonym relative to the word itself: enough to order documents that match equally, too little to outrank
/// the word.
pub(crate) const SYNONYM_WEIGHT: f32 = 0.2;

/// One group per line. Groups are not transitive: a word in two groups does not connect their other words.
const GROUPS: &str = "\
remove delete erase drop discard eliminate\n\
create make generate build produce construct\n\
get fetch retrieve obtain\n\
search query lookup\n\
check verify validate ensure confirm\n\
change modify edit update alter adjust\n\
convert transform\n\
image picture photo photograph img\n\
movie film cinema\n\
song music track\n\
buy purchase\n\
book reserve\n\
cheap inexpensive affordable\n\
house home apartment property\n\
job career employment\n\
doctor physician\n\
car vehicle automobile\n\
trip travel journey vacation\n\
airplane plane aircraft\n\
hotel accommodation lodging\n\
restaurant dining\n\
company business firm enterprise corporation\n\
price cost fee\n\
begin start launch\n\
end finish stop terminate\n\
error exception failure bug problem\n\
directory folder dir\n\
string str\n\
integer int\n\
dictionary dict\n\
function func method\n\
list array\n\
number num\n\
parameter param argument arg\n\
variable var\n\
database db\n\
document doc\n\
config configuration setting\n\
email mail\n\
message msg\n\
length len\n\
maximum max\n\
minimum min\n\
average mean\n\
random rand\n\
character char\n\
quick fast rapid\n\
big large\n\
small little tiny\n\
child kid\n\
lawyer attorney legal\n\
weather forecast\n\
study learn education\n\
teacher tutor\n\
exercise workout fitness\n\
recipe cook\n\
write compose\n\
summary abstract overview\n\
calculate compute\n\
merge combine join concatenate\n\
split divide separate\n\
copy duplicate clone\n\
equal identical\n\
website site webpage\n\
link url\n\
video clip\n\
chart graph plot diagram\n\
disease illness\n\
environment env\n\
repository repo\n\
temporary temp tmp\n\
previous prev\n\
reference ref\n\
value val\n\
position pos\n\
column col\n\
index idx\n\
object obj\n\
command cmd\n\
address addr\n\
execute run\n\
select choose pick\n\
answer reply response\n\
question query\n\
talk speak chat conversation\n\
friend pal\n\
mother mom\n\
father dad\n\
happy glad\n\
sad unhappy\n\
beautiful pretty\n\
present gift\n\
shop store\n\
city town\n\
road street\n\
phone telephone mobile\n\
increase raise grow\n\
decrease reduce lower\n\
display view print\n\
open load read\n\
save write store\n\
close shut\n\
connect link\n\
user account\n\
permission access\n\
test check\n\
authentication login auth\n\
password secret credential\n\
news headline article\n\
translate translation language\n\
suggestion recommendation advice recommend suggest\n\
discount coupon deal promotion\n\
investment stock finance\n\
cryptocurrency crypto bitcoin\n\
analysis analyze examine investigate\n\
effect influence impact\n\
method technique approach\n\
";

/// The synonyms of each term.
static SYNONYMS: LazyLock<FxHashMap<Box<str>, Vec<Box<str>>>> = LazyLock::new(|| {
    let mut synonyms: FxHashMap<Box<str>, Vec<Box<str>>> = FxHashMap::default();
    for group in GROUPS.lines() {
        let mut terms: Vec<Box<str>> = Vec::new();
        tokenize(group, group.len(), |term| terms.push(term.into()));
        for term in &terms {
            let of_term = synonyms.entry(term.clone()).or_default();
            for other in &terms {
                if other != term && !of_term.contains(other) {
                    of_term.push(other.clone());
                }
            }
        }
    }
    synonyms
});

/// The synonyms of a term.
pub(crate) fn synonyms(term: &str) -> impl Iterator<Item = &'static str> {
    SYNONYMS.get(term).into_iter().flatten().map(Box::as_ref)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflected_words_have_the_synonyms_of_their_term() {
        assert!(synonyms("delet").any(|synonym| synonym == "remov"));
        assert!(synonyms("dir").any(|synonym| synonym == "folder"));
        assert_eq!(synonyms("zebra").count(), 0);
    }

    #[test]
    fn synonyms_are_mutual_and_no_word_is_its_own() {
        for term in SYNONYMS.keys() {
            for synonym in synonyms(term) {
                assert_ne!(synonym, &**term);
                assert!(synonyms(synonym).any(|back| back == &**term), "{synonym}, {term}");
            }
        }
    }

    #[test]
    fn no_group_has_a_stop_word() {
        for group in GROUPS.lines() {
            let mut terms = 0;
            tokenize(group, group.len(), |_| terms += 1);
            assert_eq!(terms, group.split_whitespace().count(), "{group}");
        }
    }
}
