//! Facts: properties of a document that are indexed as terms which no text contains, such as "the call failed".

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::analysis::tokens::tokenize;
use crate::analysis::words::hash;
use crate::index::fields::Document;

/// The first character of every fact; no term of a text contains it.
const FACT: char = '\u{1}';

/// The result reports that the call failed or found nothing.
pub(crate) const EMPTY: &str = "\u{1}empty";
/// The result names a time.
pub(crate) const TIME: &str = "\u{1}time";
const ARGUMENT: &str = "\u{1}argument";

/// The field in which facts are counted: the arguments.
pub(crate) const FACT_FIELD: usize = 2;

/// Maximum number of characters of an argument that may be a name.
const MAXIMUM_NAME_CHARACTERS: usize = 60;
pub(crate) const MAXIMUM_NAME_TERMS: usize = 6;

/// A result with fewer characters counts as empty.
const LEAST_RESULT: usize = 4;
/// Longer results that begin with an error have other content as well and do not count as empty.
const SHORT_RESULT: usize = 300;
/// Prefixes of results that report that nothing was found.
const BEGINNINGS: [&str; 8] =
    ["error", "not found", "none", "null", "no result", "no matches", "]", "}"];

/// Terms that name a time.
static TIMES: LazyLock<FxHashSet<Box<str>>> = LazyLock::new(|| {
    let words = "yesterday today tomorrow tonight last next ago recent recently monday tuesday wednesday \
        thursday friday saturday sunday january february march april may june july august september \
        october november december";
    let mut terms = FxHashSet::default();
    tokenize(words, words.len(), |term| {
        terms.insert(Box::<str>::from(term));
    });
    terms
});

/// A bit for the hash of each of [`TIMES`], by which most other terms are recognised without comparing texts.
static TIME_HASHES: LazyLock<[u64; 16]> = LazyLock::new(|| {
    let mut bits = [0; 16];
    for term in TIMES.iter() {
        let (word, bit) = place_of(hash(term));
        bits.get_mut(word).into_iter().for_each(|word| *word |= bit);
    }
    bits
});

fn place_of(hash: u32) -> (usize, u64) {
    ((hash >> 6) as usize % 16, 1 << (hash & 63))
}

/// Whether a term is a fact.
pub(crate) fn is_fact(term: &str) -> bool {
    term.starts_with(FACT)
}

/// Whether a term names a time: a year, a day, a month, `ago`.
pub(crate) fn is_time(term: &str) -> bool {
    let is_year = term.len() == 4
        && (term.starts_with("19") || term.starts_with("20"))
        && term.bytes().all(|byte| byte.is_ascii_digit());
    is_year || TIMES.contains(term)
}

/// As [`is_time`], for a term whose hash is known.
pub(crate) fn is_hashed_time(hash: u32, term: &str) -> bool {
    let (word, bit) = place_of(hash);
    let may_be_word = TIME_HASHES.get(word).is_some_and(|word| word & bit != 0);
    (may_be_word || term.len() == 4) && is_time(term)
}

/// Whether a result reports that the call failed or found nothing. `false` for a document without a result.
pub(crate) fn is_empty_result(result: &str) -> bool {
    let length = result.chars().take(SHORT_RESULT).count();
    if result.is_empty() || length >= SHORT_RESULT {
        return false;
    }
    let start = result.trim_start_matches(|first: char| {
        first.is_whitespace() || matches!(first, '"' | '\'' | '`' | '[' | '{' | '(' | '<')
    });
    let begins = |beginning: &&str| {
        start.get(..beginning.len()).is_some_and(|same| same.eq_ignore_ascii_case(beginning))
    };
    length < LEAST_RESULT || BEGINNINGS.iter().any(begins)
}

/// Calls `emit` with the fact of every argument that is a short string.
pub(crate) fn for_each_argument(document: &Document<'_>, mut emit: impl FnMut(&str)) {
    for string in document.arguments.split(Document::BEFORE_STRING).skip(1) {
        let value = string.split(Document::BEFORE_OTHER).next().unwrap_or_default();
        if value.chars().take(MAXIMUM_NAME_CHARACTERS + 1).count() > MAXIMUM_NAME_CHARACTERS {
            continue;
        }
        let mut terms: Vec<Box<str>> = Vec::new();
        tokenize(value, value.len(), |term| terms.push(term.into()));
        if (1..=MAXIMUM_NAME_TERMS).contains(&terms.len()) {
            emit(&argument(&terms));
        }
    }
}

/// The fact that an argument has exactly these terms.
pub(crate) fn argument(terms: &[Box<str>]) -> String {
    let mut fact = String::from(ARGUMENT);
    for term in terms {
        fact.push(FACT);
        fact.push_str(term);
    }
    fact
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_say_nothing_are_recognised() {
        for empty in
            ["[]", "{}", "ok", "Error: no such file", "\"Not found\"", "none", "{ \"error\": 1 }"]
        {
            assert!(is_empty_result(empty), "{empty}");
        }
        let long = format!("error {}", "x".repeat(300));
        for other in ["", "four", "the error is gone", &long] {
            assert!(!is_empty_result(other), "{other}");
        }
    }

    #[test]
    fn short_string_arguments_are_names() {
        let facts = |arguments: &str| {
            let mut facts = Vec::new();
            for_each_argument(&Document { arguments, ..Document::default() }, |fact| {
                facts.push(fact.to_owned());
            });
            facts
        };
        let named = |terms: &[&str]| {
            argument(&terms.iter().map(|term| Box::from(*term)).collect::<Vec<_>>())
        };
        let (string, other) = (Document::BEFORE_STRING, Document::BEFORE_OTHER);
        let arguments = format!(
            "{other}speaker{string}Caroline{other}line{other}5{string}a b c d e f g h i j k"
        );
        assert_eq!(facts(&arguments), [named(&["carolin"])]);
        assert_eq!(facts(&format!("{string}{}", "word".repeat(20))), Vec::<String>::new());
        assert!(is_fact(&named(&["x"])) && !is_fact("x"));
    }

    #[test]
    fn terms_of_time_are_recognised() {
        for time in ["yesterday", "monday", "octob", "2023", "last"] {
            assert!(is_time(time) && is_hashed_time(hash(time), time), "{time}");
        }
        for other in ["login", "2123", "20233", "20x3"] {
            assert!(!is_time(other) && !is_hashed_time(hash(other), other), "{other}");
        }
    }
}
