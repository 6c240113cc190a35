//! Sets of words. A check of one byte and the length rules out most texts before the lookup.

use rustc_hash::FxHashSet;

/// The lengths of words by one of their bytes, one bit per length.
#[derive(Debug)]
pub(super) struct Lengths([u64; 256]);

impl Lengths {
    /// Builds the lengths of `words`; `byte` selects the byte of each.
    pub fn new<'a>(words: impl Iterator<Item = &'a [u8]>, byte: fn(&[u8]) -> Option<&u8>) -> Self {
        let mut lengths = [0; 256];
        for word in words {
            let byte = byte(word).copied().unwrap_or_default();
            let lengths = lengths.get_mut(usize::from(byte));
            lengths.into_iter().for_each(|lengths| *lengths |= bit(word.len()));
        }
        Self(lengths)
    }

    /// Whether a word of this length may have this byte.
    #[inline]
    pub fn hold(&self, byte: u8, length: usize) -> bool {
        self.0.get(usize::from(byte)).is_some_and(|lengths| lengths & bit(length) != 0)
    }
}

/// The bit of a length. Lengths of 63 and more share a bit.
const fn bit(length: usize) -> u64 {
    1 << if length < 63 { length } else { 63 }
}

/// A set of words.
#[derive(Debug)]
pub(super) struct WordSet {
    words: FxHashSet<&'static [u8]>,
    lengths: Lengths,
}

impl WordSet {
    pub fn new(words: &[&'static str]) -> Self {
        let bytes = words.iter().map(|word| word.as_bytes());
        Self {
            lengths: Lengths::new(bytes, |word| word.first()),
            words: words.iter().map(|word| word.as_bytes()).collect(),
        }
    }

    pub fn contains(&self, word: &str) -> bool {
        self.contains_bytes(word.as_bytes())
    }

    pub fn contains_bytes(&self, word: &[u8]) -> bool {
        let first = word.first().copied().unwrap_or_default();
        self.lengths.hold(first, word.len()) && self.words.contains(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_its_words_alone() {
        let long = "a".repeat(70).leak();
        let set = WordSet::new(&["", "ab", "äb", long]);
        for (word, expected) in [
            ("", true),
            ("ab", true),
            ("äb", true),
            (&"a".repeat(70), true),
            (&"a".repeat(71), false),
            ("a", false),
            ("ac", false),
            ("b", false),
        ] {
            assert_eq!(set.contains(word), expected, "{word}");
        }
    }
}
