//! Sets of positions, as bits.

/// A set of positions below 64 × `WORDS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Set<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Set<WORDS> {
    pub const EMPTY: Self = Self([0; WORDS]);

    pub fn insert(&mut self, position: usize) {
        if let Some(word) = self.0.get_mut(position / 64) {
            *word |= 1 << (position % 64);
        }
    }

    pub fn contains(&self, position: usize) -> bool {
        self.0.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(word, other)| word & other != 0)
    }

    pub fn union(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
        self
    }

    pub fn intersection(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
        self
    }

    /// What is in one of them alone.
    pub fn symmetric_difference(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word ^= other);
        self
    }

    /// Every position one higher.
    pub fn shifted(mut self) -> Self {
        let mut carry = 0;
        for word in &mut self.0 {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
        self
    }

    /// Which of the eight positions from 8 × `octet` on are there.
    pub fn octet(&self, octet: usize) -> u8 {
        self.0
            .get(octet / 8)
            .and_then(|word| word.to_le_bytes().get(octet % 8).copied())
            .unwrap_or_default()
    }
}
