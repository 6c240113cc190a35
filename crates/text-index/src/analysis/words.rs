//! Turns English words into index terms: stop words, irregular forms, stemming.

use std::hash::Hasher;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxHashMap, FxHasher};

/// Words that carry no topic, and words with which people phrase a request.
const STOP_WORDS: &str = "\
a about above after again against all also am an and any are as at be because been before being below between both \
but by can cannot could did do does doing down during each either else etc ever every few for from further had has \
have having he her here hers herself him himself his how however i if in into is it its itself just may me might \
more most must my myself neither no nor not now of off on once only onto or other our ours ourselves out over own \
quite rather really same shall she should since so some such than that the their theirs them themselves then there \
these they this those though through thus to too toward under until unless up upon us very via was we were what \
whatever when where whether which while who whoever whom whose why will with within without would yet you your yours \
yourself yourselves \
ask asking assist assistance find give hello help hey hi kindly know let like look looking need okay please provide \
show tell thank thanks want wonder wondering";

/// Irregular forms by their base form. Forms that are usually another word (left, rose, bit, bound) are absent.
const IRREGULAR_FORMS: &[(&str, &str)] = &[
    ("arise", "arose arisen"),
    ("awake", "awoke awoken"),
    ("beat", "beaten"),
    ("become", "became"),
    ("begin", "began begun"),
    ("bend", "bent"),
    ("bite", "bitten"),
    ("bleed", "bled"),
    ("blow", "blew blown"),
    ("break", "broke broken"),
    ("breed", "bred"),
    ("bring", "brought"),
    ("build", "built"),
    ("burn", "burnt"),
    ("buy", "bought"),
    ("catch", "caught"),
    ("child", "children"),
    ("choose", "chose chosen"),
    ("cling", "clung"),
    ("come", "came"),
    ("creep", "crept"),
    ("criterion", "criteria"),
    ("deal", "dealt"),
    ("dig", "dug"),
    ("draw", "drew drawn"),
    ("dream", "dreamt"),
    ("drink", "drank drunk"),
    ("drive", "drove driven"),
    ("eat", "ate eaten"),
    ("fall", "fell fallen"),
    ("feed", "fed"),
    ("feel", "felt"),
    ("fight", "fought"),
    ("find", "found"),
    ("flee", "fled"),
    ("fly", "flew flown"),
    ("foot", "feet"),
    ("forbid", "forbade forbidden"),
    ("forget", "forgot forgotten"),
    ("forgive", "forgave forgiven"),
    ("freeze", "froze frozen"),
    ("get", "got gotten"),
    ("give", "gave given"),
    ("go", "went gone goes"),
    ("good", "better best"),
    ("goose", "geese"),
    ("grow", "grew grown"),
    ("half", "halves"),
    ("hang", "hung"),
    ("hear", "heard"),
    ("hide", "hid hidden"),
    ("hold", "held"),
    ("index", "indices"),
    ("keep", "kept"),
    ("knife", "knives"),
    ("know", "knew known"),
    ("lead", "led"),
    ("lend", "lent"),
    ("light", "lit"),
    ("lose", "lost"),
    ("make", "made"),
    ("man", "men"),
    ("matrix", "matrices"),
    ("mean", "meant"),
    ("meet", "met"),
    ("mouse", "mice"),
    ("pay", "paid"),
    ("person", "people"),
    ("prove", "proven"),
    ("ride", "rode ridden"),
    ("ring", "rang rung"),
    ("rise", "risen"),
    ("run", "ran"),
    ("say", "said"),
    ("see", "saw seen"),
    ("seek", "sought"),
    ("sell", "sold"),
    ("send", "sent"),
    ("shake", "shook shaken"),
    ("shelf", "shelves"),
    ("shine", "shone"),
    ("shoot", "shot"),
    ("show", "shown"),
    ("shrink", "shrank shrunk"),
    ("sing", "sang sung"),
    ("sink", "sank sunk"),
    ("sit", "sat"),
    ("sleep", "slept"),
    ("slide", "slid"),
    ("speak", "spoke spoken"),
    ("speed", "sped"),
    ("spend", "spent"),
    ("spin", "spun"),
    ("stand", "stood"),
    ("steal", "stole stolen"),
    ("stick", "stuck"),
    ("strike", "struck stricken"),
    ("swear", "swore sworn"),
    ("sweep", "swept"),
    ("swim", "swam swum"),
    ("swing", "swung"),
    ("take", "took taken"),
    ("teach", "taught"),
    ("tear", "tore torn"),
    ("tell", "told"),
    ("think", "thought"),
    ("throw", "threw thrown"),
    ("tooth", "teeth"),
    ("understand", "understood"),
    ("vertex", "vertices"),
    ("wake", "woke woken"),
    ("wear", "wore worn"),
    ("weave", "wove woven"),
    ("weep", "wept"),
    ("wife", "wives"),
    ("win", "won"),
    ("wolf", "wolves"),
    ("woman", "women"),
    ("write", "wrote written"),
];

/// The treatment of a word that is not stemmed.
#[derive(Clone, Copy)]
enum Exception {
    /// A stop word, by its index in the list.
    StopWord(u8),
    /// An irregular form of this word.
    FormOf(&'static str),
}

static EXCEPTIONS: LazyLock<FxHashMap<&str, Exception>> = LazyLock::new(|| {
    let irregular = IRREGULAR_FORMS.iter().flat_map(|(base, forms)| {
        forms.split_ascii_whitespace().map(|form| (form, Exception::FormOf(base)))
    });
    let stop_words = STOP_WORDS.split_ascii_whitespace().zip(0..);
    irregular.chain(stop_words.map(|(word, number)| (word, Exception::StopWord(number)))).collect()
});

/// The irregular forms of the words with this term.
pub(crate) fn irregular_forms(term: &str) -> impl Iterator<Item = &'static str> {
    let stemmer = Stemmer::create(Algorithm::English);
    let of_term = IRREGULAR_FORMS.iter().filter(move |(base, _)| stemmer.stem(base) == term);
    of_term.flat_map(|(_, forms)| forms.split_ascii_whitespace())
}

/// Whether a stop word begins with this text.
pub(crate) fn begins_stop_word(beginning: &str) -> bool {
    STOP_WORDS.split_ascii_whitespace().any(|word| word.starts_with(beginning))
}

/// Capacity of the cache of stems. Stemming costs more than all other steps of tokenising together, and texts repeat
/// their words.
const REMEMBERED: usize = 8192;

/// Maximum length of cached words. With this limit, a word and its term fill one cache line of the processor.
const REMEMBERED_BYTES: usize = 31;

/// Turns words into terms, with a cache. There is one per thread.
pub(crate) struct Words {
    stemmer: Stemmer,
    remembered: Vec<Remembered>,
    /// The last term that was too long for the cache.
    long: String,
}

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Remembered {
    word: ShortText,
    /// The term. Empty for a stop word; the first byte is its index then.
    term: ShortText,
}

/// Text of at most [`REMEMBERED_BYTES`] bytes.
#[derive(Clone, Copy, Default)]
struct ShortText {
    bytes: [u8; REMEMBERED_BYTES],
    length: u8,
}

impl ShortText {
    fn new(text: &str) -> Option<Self> {
        let mut short = Self { length: u8::try_from(text.len()).ok()?, ..Self::default() };
        short.bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(short)
    }

    fn stop_word(number: u8) -> Option<Self> {
        let mut stop_word = Self::default();
        *stop_word.bytes.first_mut()? = number;
        Some(stop_word)
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

/// The result for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A term to index.
    Term(&'a str),
    /// A stop word, by its index.
    StopWord(u8),
}

impl Default for Words {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            remembered: Vec::new(),
            long: String::new(),
        }
    }
}

impl Words {
    /// The token for a lower-case ASCII word.
    pub(crate) fn token<'a>(&'a mut self, word: &'a str) -> Token<'a> {
        if self.remembered.is_empty() {
            self.remembered.resize(REMEMBERED, Remembered::default());
        }
        let slot = hash(word) as usize % REMEMBERED;
        let same = |remembered: &&Remembered| remembered.word.as_bytes() == word.as_bytes();
        if self.remembered.get(slot).filter(same).is_none() {
            let term = match EXCEPTIONS.get(word) {
                Some(Exception::StopWord(number)) => ShortText::stop_word(*number),
                Some(Exception::FormOf(base)) => ShortText::new(&self.stemmer.stem(base)),
                None => ShortText::new(&self.stemmer.stem(word)),
            };
            match (ShortText::new(word).zip(term), self.remembered.get_mut(slot)) {
                (Some((word, term)), Some(remembered)) => *remembered = Remembered { word, term },
                _ => {
                    self.long.clear();
                    self.long.push_str(&self.stemmer.stem(word));
                    return Token::Term(&self.long);
                }
            }
        }
        match self.remembered.get(slot).map(|remembered| &remembered.term) {
            Some(ShortText { bytes: [number, ..], length: 0 }) => Token::StopWord(*number),
            Some(term) => Token::Term(term.as_str()),
            None => Token::Term(word),
        }
    }
}

/// The hash by which terms are ordered and looked up.
pub(crate) fn hash(term: &str) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(term.as_bytes());
    // The upper half of a product with the golden ratio: its upper bits are evenly distributed.
    (hasher.finish().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stop_words::StopWords;

    fn term(words: &mut Words, word: &str) -> Option<String> {
        match words.token(word) {
            Token::Term(term) => Some(term.to_owned()),
            Token::StopWord(_) => None,
        }
    }

    #[test]
    fn stop_words_have_numbers_of_their_own() {
        let mut words = Words::default();
        let numbers: Vec<u8> = STOP_WORDS
            .split_ascii_whitespace()
            .map(|word| match words.token(word) {
                Token::StopWord(number) => number,
                Token::Term(term) => panic!("{term}"),
            })
            .collect();
        assert!(numbers.len() <= StopWords::CAPACITY);
        assert!(numbers.is_sorted_by(|left, right| left < right));
    }

    #[test]
    fn stop_words_have_no_term() {
        let mut words = Words::default();
        for word in ["the", "please", "help", "show", "find", "give", "yourselves", "a"] {
            assert_eq!(term(&mut words, word), None, "{word}");
            assert_eq!(term(&mut words, word), None, "{word}, remembered");
        }
    }

    #[test]
    fn inflections_share_a_term() {
        let mut words = Words::default();
        for (left, right) in [
            ("connections", "connected"),
            ("went", "go"),
            ("children", "child"),
            ("indices", "index"),
            ("people", "persons"),
        ] {
            let of_left = term(&mut words, left);
            assert!(of_left.is_some());
            assert_eq!(of_left, term(&mut words, right), "{left}, {right}");
        }
    }

    #[test]
    fn many_words_do_not_disturb_each_other() {
        let mut words = Words::default();
        for round in 0..3 {
            for number in 0..10_000_u32 {
                let letters = number
                    .to_string()
                    .bytes()
                    .map(|digit| char::from(b'b' + digit - b'0'))
                    .collect::<String>();
                let word = format!("qu{letters}");
                let expected = Stemmer::create(Algorithm::English).stem(&word).into_owned();
                assert_eq!(term(&mut words, &word), Some(expected), "round {round}");
            }
        }
    }
}
