//! The set of stop words that a text contains. Stop words do not affect ranking, except for a query that has only stop
//! words: its documents are ranked by them.

use serde::{Deserialize, Serialize};

/// A set of stop words, by their index in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopWords([u64; StopWords::CAPACITY / 64]);

impl StopWords {
    /// Maximum number of stop words.
    pub(crate) const CAPACITY: usize = 256;

    pub(crate) fn insert(&mut self, number: u8) {
        if let Some(bits) = self.0.get_mut(usize::from(number) / 64) {
            *bits |= 1 << (number % 64);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The intersection of two sets.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let mut bits = self.0.iter().zip(&other.0).map(|(left, right)| left & right);
        Self(std::array::from_fn(|_| bits.next().unwrap_or_default()))
    }

    /// The indices in the set, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        let number = |(word, bits): (usize, u64)| {
            let mut rest = bits;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then(|| (word * 64) as u8 + bit as u8)
            })
        };
        self.0.into_iter().enumerate().flat_map(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u8]) -> StopWords {
        let mut stop_words = StopWords::default();
        numbers.iter().for_each(|number| stop_words.insert(*number));
        stop_words
    }

    #[test]
    fn numbers_are_kept() {
        let numbers = [0, 1, 63, 64, 200, 255];
        assert_eq!(set(&numbers).iter().collect::<Vec<_>>(), numbers);
        assert!(set(&[]).is_empty() && !set(&[255]).is_empty());
        assert_eq!(set(&numbers).common(&set(&[1, 2, 200])), set(&[1, 200]));
    }
}
