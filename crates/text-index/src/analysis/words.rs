//! Turns English words into index terms: stop words, irregular forms, stemming.

use std::borrow::Cow;
use std::hash::Hasher;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxHashMap, FxHasher};

use crate::analysis::short_bytes::ShortBytes;

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

/// Whether stemming leaves a lower-case ASCII word unchanged, because it has none of the endings that the algorithm changes.
/// `false` for some words that it would leave unchanged as well.
fn is_stem(word: &str) -> bool {
    match word.as_bytes() {
        [.., before, b'd'] => *before != b'e',
        [.., before, b'i'] => !matches!(before, b'c' | b'g' | b'l' | b't'),
        [.., before, b'c' | b'm'] => !matches!(before, b'i' | b's'),
        [.., before, b'g' | b't'] => *before != b'n',
        [.., before, b'l'] => !matches!(before, b'a' | b'l' | b'u'),
        [.., before, b'n'] => *before != b'o',
        [.., before, b'r'] => !matches!(before, b'e' | b'o'),
        [.., last] => !matches!(last, b'e' | b's' | b'y'),
        [] => true,
    }
}

/// Maximum length of cached terms that are not the beginning of their word. With this limit, an entry fills one cache line
/// of the processor.
const STORED_BYTES: usize = 24;

/// Turns words into terms, with a cache. There is one per thread.
pub(crate) struct Words {
    stemmer: Stemmer,
    remembered: Vec<Remembered>,
    /// The last term that was too long for the cache.
    long: String,
}

/// A cached word with its term.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Remembered {
    word: ShortBytes,
    term: Kept,
    stored: [u8; STORED_BYTES],
    /// The hash of the term.
    hash: u32,
}

/// The treatment of a cached word.
#[derive(Clone, Copy)]
enum Kept {
    /// A stop word, by its index.
    StopWord(u8),
    /// The term is the beginning of the word, of this length.
    Beginning(u8),
    /// The term is stored, with this length.
    Stored(u8),
}

/// The result for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A term to index, with its [`hash`].
    Term(&'a str, u32),
    /// A stop word, by its index.
    StopWord(u8),
}

impl<'a> Token<'a> {
    /// A term.
    pub(crate) fn term(term: &'a str) -> Self {
        Self::Term(term, hash(term))
    }
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
        let Self { stemmer, remembered, long } = self;
        if remembered.is_empty() {
            remembered.resize(REMEMBERED, Remembered::EMPTY);
        }
        let short = ShortBytes::new(word.as_bytes());
        let slot = short.map_or(0, |short| short.slot(REMEMBERED));
        let entry = short.zip(remembered.get_mut(slot)).and_then(|(short, entry)| {
            if entry.word != short {
                *entry = Remembered::new(short, word, stemmer)?;
            }
            Some(&*entry)
        });
        let Some(entry) = entry else {
            long.clear();
            long.push_str(&stemmer.stem(word));
            return Token::term(long);
        };
        let term = match entry.term {
            Kept::StopWord(number) => return Token::StopWord(number),
            Kept::Beginning(length) => word.get(..usize::from(length)),
            Kept::Stored(length) => {
                let stored = entry.stored.get(..usize::from(length));
                stored.and_then(|stored| std::str::from_utf8(stored).ok())
            }
        };
        Token::Term(term.unwrap_or(word), entry.hash)
    }
}

impl Remembered {
    /// For the empty word.
    const EMPTY: Self = Self {
        word: ShortBytes::EMPTY,
        term: Kept::Beginning(0),
        stored: [0; STORED_BYTES],
        hash: 0,
    };

    /// `None` if the term is too long.
    fn new(short: ShortBytes, word: &str, stemmer: &Stemmer) -> Option<Self> {
        let term = match EXCEPTIONS.get(word) {
            Some(Exception::StopWord(number)) => {
                let term = Kept::StopWord(*number);
                return Some(Self { word: short, term, ..Self::EMPTY });
            }
            Some(Exception::FormOf(base)) => stemmer.stem(base),
            None if is_stem(word) => Cow::Borrowed(word),
            None => stemmer.stem(word),
        };
        let (length, hash) = (u8::try_from(term.len()).ok()?, hash(&term));
        let mut entry = Self { word: short, hash, ..Self::EMPTY };
        if word.starts_with(&*term) {
            entry.term = Kept::Beginning(length);
        } else {
            entry.stored.get_mut(..term.len())?.copy_from_slice(term.as_bytes());
            entry.term = Kept::Stored(length);
        }
        Some(entry)
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
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::stop_words::StopWords;

    /// The endings that the stemmer changes, and others.
    const ENDINGS: &str = "sses ied ies us ss s eed eedly ed edly ing ingly y tional enci anci abli entli izer ization \
        ational ation ator alism aliti alli fulness ousli ousness iveness iviti biliti bli ogi fulli lessli li alize icate \
        iciti ical ful ness ative al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion e l ll";

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

        #[test]
        fn words_without_endings_are_their_stems(
            start in "[a-z]{0,8}",
            ending in prop::sample::select(ENDINGS.split_ascii_whitespace().collect::<Vec<_>>()),
            cut in 0_usize..3,
            more in "[a-z]{0,2}",
        ) {
            let ending = ending.get(cut..).unwrap_or_default();
            let stemmer = Stemmer::create(Algorithm::English);
            for word in [format!("{start}{ending}"), format!("{start}{more}"), format!("{start}{ending}{more}")] {
                if is_stem(&word) {
                    prop_assert_eq!(stemmer.stem(&word), word.clone());
                }
            }
        }
    }

    fn term(words: &mut Words, word: &str) -> Option<String> {
        match words.token(word) {
            Token::Term(term, number) => {
                assert_eq!(number, hash(term));
                Some(term.to_owned())
            }
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
                Token::Term(term, _) => panic!("{term}"),
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
