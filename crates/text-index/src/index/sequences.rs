//! Sets of documents, as bit sets of their sequences.

/// A set of sequences. Its size depends on the largest of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequences(Vec<u64>);

impl Sequences {
    /// Adds a sequence.
    pub fn insert(&mut self, sequence: u64) {
        let word = usize::try_from(sequence / 64).unwrap_or(usize::MAX - 1);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= 1 << (sequence % 64);
        }
    }

    /// Whether the set contains a sequence.
    #[must_use]
    pub fn contains(&self, sequence: u64) -> bool {
        let bits = usize::try_from(sequence / 64).ok().and_then(|word| self.0.get(word));
        bits.is_some_and(|bits| bits >> (sequence % 64) & 1 == 1)
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    /// Adds all sequences of another set.
    pub fn unite(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(bits, more)| *bits |= more);
    }

    /// Keeps only sequences that are also in the other set.
    pub fn intersect(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(bits, kept)| *bits &= kept);
    }
}

impl FromIterator<u64> for Sequences {
    fn from_iter<T: IntoIterator<Item = u64>>(sequences: T) -> Self {
        let mut set = Self::default();
        sequences.into_iter().for_each(|sequence| set.insert(sequence));
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sets_are_sets(
            left in prop::collection::btree_set(0_u64..300, 0..40),
            right in prop::collection::btree_set(0_u64..300, 0..40),
        ) {
            let set = |of: &BTreeSet<u64>| of.iter().copied().collect::<Sequences>();
            let has = |set: &Sequences| (0..400).filter(|number| set.contains(*number)).collect::<BTreeSet<u64>>();
            let (mut both, mut either) = (set(&left), set(&left));
            both.intersect(&set(&right));
            either.unite(&set(&right));
            prop_assert_eq!(both.is_empty(), left.is_disjoint(&right));
            prop_assert_eq!(has(&both), &left & &right);
            prop_assert_eq!(has(&either), &left | &right);
        }
    }
}
