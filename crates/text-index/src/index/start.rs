//! The first bytes of a term, packed into an integer that is ordered as the text. Used as the key when terms with a
//! prefix, or similar terms, are looked up.

/// Maximum number of bytes.
pub(crate) const START_BYTES: usize = 3;

/// Up to [`START_BYTES`] bytes, ordered as the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Start(u32);

impl Start {
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.bytes().chain(std::iter::repeat(0)).take(START_BYTES);
        Self(bytes.fold(0, |start, byte| start << 8 | u32::from(byte)))
    }

    /// Whether texts that begin with `other` also begin with this. Texts contain no zero byte.
    pub(crate) fn begins(self, other: Self) -> bool {
        let unset = self.0.trailing_zeros() / 8 * 8;
        u64::from(self.0) == u64::from(other.0) >> unset << unset
    }

    /// Packed into the upper half of an integer with `number` in the lower half.
    pub(crate) fn with_number(self, number: u32) -> u64 {
        u64::from(self.0) << 32 | u64::from(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_ordered_as_text() {
        let texts = ["", "a", "ab", "abc", "abd", "b", "é", "東"];
        assert!(texts.map(Start::of).is_sorted());
        assert_eq!(Start::of("abcd"), Start::of("abce"));
    }

    #[test]
    fn a_shorter_start_begins_longer_ones() {
        let begins = |left: &str, right: &str| Start::of(left).begins(Start::of(right));
        assert!(
            begins("a", "abc") && begins("ab", "abc") && begins("abc", "abcd") && begins("", "x")
        );
        assert!(!begins("abc", "ab") && !begins("b", "abc") && !begins("ac", "abc"));
    }
}
