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

    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |both, (word, other)| both | word & other) != 0
    }

    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    #[inline]
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied()
    }

    #[inline]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = *self;
        both.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
        both
    }

    /// The positions that are in exactly one of the two sets.
    pub fn symmetric_difference(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word ^= other);
        self
    }

    /// The positions of this set that are in `staying`, those in `rising` increased by one, and `more`.
    #[inline]
    pub fn stepped(&self, staying: &Self, rising: &Self, more: &Self) -> Self {
        let mut risen = self.intersection(rising);
        let mut stepped = self.intersection(staying);
        stepped.add(more);
        stepped.0.iter_mut().zip(&risen.0).for_each(|(word, risen)| *word |= risen << 1);
        risen.0.iter_mut().for_each(|word| *word >>= 63);
        stepped.0.iter_mut().skip(1).zip(&risen.0).for_each(|(word, carry)| *word |= carry);
        stepped
    }

    /// The lowest position.
    pub fn first(&self) -> Option<usize> {
        let (number, word) = self.0.iter().enumerate().find(|(_, word)| **word != 0)?;
        Some(64 * number + word.trailing_zeros() as usize)
    }

    /// The highest position.
    pub fn last(&self) -> Option<usize> {
        let (number, word) = self.0.iter().enumerate().rfind(|(_, word)| **word != 0)?;
        Some(64 * number + word.ilog2() as usize)
    }
}

impl<const WORDS: usize> Extend<usize> for Set<WORDS> {
    fn extend<T: IntoIterator<Item = usize>>(&mut self, positions: T) {
        positions.into_iter().for_each(|position| self.insert(position));
    }
}

impl<const WORDS: usize> FromIterator<usize> for Set<WORDS> {
    fn from_iter<T: IntoIterator<Item = usize>>(positions: T) -> Self {
        let mut set = Self::EMPTY;
        set.extend(positions);
        set
    }
}
