//! Classifies the name of a variable, a member or a header by what its value is expected to be.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::{rules::NAMES, word_set::Lengths, word_set::WordSet, work};

/// Of names longer than this, only the end is examined.
pub(super) const MAX_NAME: usize = 96;

/// Work steps for classifying a name.
const CLASSIFY_STEPS: usize = 80;
/// A name with more words is a sentence.
const MAX_WORDS: u32 = 7;

/// What the value under a name is expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameClass {
    /// Not a secret.
    Plain,
    /// A secret, if the value looks random and not like a digest.
    Weak,
    /// A secret, if the value looks random.
    Machine,
    /// A secret, unless the value is only a word of code (`token`, `cookie`).
    Secret,
    /// A secret chosen by a person (`password`): any value may be one.
    Password,
}

/// Classifies a name, in any case and joining of its words (`dbPassword`, `DB_PASSWORD`, `db.password`, `dbpassword`).
/// `further` are the caller's own names in the form of [`joined`].
pub(super) fn classify(name: &str, further: &[String]) -> NameClass {
    count();
    classify_uncounted(name, further)
}

/// As [`classify`], where the steps of examining the name include those of classifying it.
pub(super) fn classify_uncounted(name: &str, further: &[String]) -> NameClass {
    let words = Words::of(name).without_neutral();
    if words.starts.count_ones() > MAX_WORDS {
        return NameClass::Plain;
    }
    if further.iter().any(|further| words.text().ends_with(further.as_bytes())) {
        return NameClass::Password;
    }
    let singular = words.singular().map_or(Found::default(), |words| words.found());
    let found = words.found().or(singular);
    if found.is_harmless { NameClass::Plain } else { found.class.unwrap_or(NameClass::Plain) }
}

/// Counts the steps of classifying a name.
pub(super) fn count() {
    work::add(CLASSIFY_STEPS);
}

/// The form in which names are compared: lower case, without separators.
pub(super) fn joined(name: &str) -> String {
    String::from_utf8_lossy(Words::of(name).text()).into_owned()
}

/// The words of a name in lower case, separated by spaces.
pub(super) fn phrase(name: &str) -> String {
    let words = Words::of(name);
    let mut phrase = String::new();
    for (at, &byte) in words.text().iter().enumerate() {
        if at > 0 && words.is_start(at) {
            phrase.push(' ');
        }
        phrase.push(char::from(byte));
    }
    phrase
}

/// Whether the text ends with the name of a secret: `access_token`, but not `hunter2`.
pub(super) fn is_made_of_names(text: &str) -> bool {
    let words = Words::of(text).without_neutral();
    words.found().class >= Some(NameClass::Secret)
}

/// Phrases up to this length must be complete words: `pin` does not match in `spin`.
const SHORT: usize = 4;

/// The classes of phrases found at the end of a name.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    class: Option<NameClass>,
    is_harmless: bool,
}

impl Found {
    fn or(self, other: Self) -> Self {
        Self {
            class: self.class.max(other.class),
            is_harmless: self.is_harmless || other.is_harmless,
        }
    }
}

/// The phrases of the rules' file by their letters, the length of the longest phrase, and the neutral words.
struct Phrases {
    found: FxHashMap<Vec<u8>, Found>,
    longest: usize,
    /// Words at the end of a name that do not change its class.
    neutral: WordSet,
    /// The lengths of the phrases, by their last byte.
    lengths: Lengths,
}

fn phrases() -> &'static Phrases {
    static PHRASES: OnceLock<Phrases> = OnceLock::new();
    PHRASES.get_or_init(|| {
        let mut phrases = Phrases {
            found: FxHashMap::default(),
            longest: 0,
            neutral: WordSet::new(NAMES.neutral),
            lengths: Lengths::new(std::iter::empty(), |phrase| phrase.last()),
        };
        let classes = [
            (NAMES.passwords, Some(NameClass::Password)),
            (NAMES.secrets, Some(NameClass::Secret)),
            (NAMES.machine, Some(NameClass::Machine)),
            (NAMES.weak, Some(NameClass::Weak)),
            (NAMES.harmless, None),
        ];
        for (words, class) in classes {
            for phrase in words {
                let phrase = phrase.replace(' ', "").into_bytes();
                phrases.longest = phrases.longest.max(phrase.len());
                let found = phrases.found.entry(phrase).or_default();
                *found = found.or(Found { class, is_harmless: class.is_none() });
            }
        }
        let found = phrases.found.keys().map(Vec::as_slice);
        phrases.lengths = Lengths::new(found, |phrase| phrase.last());
        phrases
    })
}

/// The words of a name in lower case, joined.
#[derive(Clone, Copy)]
struct Words {
    text: [u8; MAX_NAME],
    length: usize,
    /// A bit for each byte at which a word begins.
    starts: u128,
}

impl Words {
    /// Splits a name into words; of a long name, only its end.
    fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let bytes = bytes.get(bytes.len().saturating_sub(MAX_NAME)..).unwrap_or_default();
        let mut words = Self { text: [0; MAX_NAME], length: 0, starts: 0 };
        let mut before = None;
        for (at, &byte) in bytes.iter().enumerate() {
            if !byte.is_ascii_alphanumeric() && byte.is_ascii() {
                before = None;
                continue;
            }
            if before.is_none_or(|before| is_border(before, byte, bytes.get(at + 1).copied())) {
                words.starts |= 1 << words.length;
            }
            if let Some(slot) = words.text.get_mut(words.length) {
                *slot = byte.to_ascii_lowercase();
                words.length += 1;
            }
            before = Some(byte);
        }
        words
    }

    fn text(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }

    fn is_start(&self, at: usize) -> bool {
        self.starts >> at & 1 == 1
    }

    /// Removes numbers and neutral words from the end: `password_1`, `tokenValue`.
    fn without_neutral(mut self) -> Self {
        loop {
            let start = (127 - (self.starts | 1).leading_zeros()) as usize;
            let last = self.text().get(start..).unwrap_or_default();
            let digits = last.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let is_neutral = digits == last.len() || phrases().neutral.contains_bytes(last);
            if start > 0 && is_neutral {
                self.length = start;
                self.starts &= !(1 << start);
            } else {
                self.length -= if digits < last.len() { digits } else { 0 };
                return self;
            }
        }
    }

    fn singular(mut self) -> Option<Self> {
        self.text().ends_with(b"s").then(|| {
            self.length -= 1;
            self
        })
    }

    /// The classes of the phrases with which the name ends.
    fn found(&self) -> Found {
        let phrases = phrases();
        let text = self.text();
        let last = text.last().copied().unwrap_or_default();
        let mut found = Found::default();
        for start in text.len().saturating_sub(phrases.longest)..text.len() {
            let end = text.get(start..).unwrap_or_default();
            if (end.len() > SHORT || self.is_start(start))
                && phrases.lengths.hold(last, end.len())
                && let Some(phrase) = phrases.found.get(end)
            {
                found = found.or(*phrase);
            }
        }
        found
    }
}

/// Whether a word begins between two letters: between `a` and `B` in `aB`, before `B` in `ABc`.
fn is_border(before: u8, letter: u8, after: Option<u8>) -> bool {
    if !letter.is_ascii_uppercase() {
        return false;
    }
    !before.is_ascii_uppercase() || after.is_some_and(|after| after.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_classified_in_any_joining() {
        use NameClass::{Machine, Password, Plain, Secret, Weak};
        let cases = [
            ("password", Password),
            ("dbPassword", Password),
            ("DB_PASSWORD", Password),
            ("spring.datasource.password", Password),
            ("PGPASSWORD", Password),
            ("password2", Password),
            ("old_password_1", Password),
            ("usernamePassword", Password),
            ("token", Secret),
            ("twitter_TOKEN", Secret),
            ("HASHICORPTOKEN_TOKEN", Secret),
            ("grafana-api-keyToken", Secret),
            ("X-Api-Key", Secret),
            ("apikey", Secret),
            ("aws_secret_access_key", Secret),
            ("SecretAccessKey", Secret),
            ("tokens", Secret),
            ("clientSecret", Secret),
            ("tokenValue", Secret),
            ("impala_key", Weak),
            ("SERVICE_KEY", Machine),
            ("routingKey", Machine),
            ("tokenType", Plain),
            ("token_count", Plain),
            ("max_tokens", Plain),
            ("nextPageToken", Plain),
            ("tokenizer", Plain),
            ("secretName", Plain),
            ("public_key", Plain),
            ("monkey", Plain),
            ("author", Plain),
            ("spin", Plain),
            ("length", Plain),
            ("", Plain),
            ("__", Plain),
        ];
        for (name, class) in cases {
            assert_eq!(classify(name, &[]), class, "{name}");
        }
    }

    #[test]
    fn further_names_of_the_caller_count() {
        let further = [joined("Lizenz-Nummer")];
        assert_eq!(classify("firmaLizenzNummer", &further), NameClass::Password);
        assert_eq!(classify("lizenz", &further), NameClass::Plain);
    }
}
