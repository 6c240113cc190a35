//! The calls that have a pointer, as a bit set that is small enough to be copied for each selection.

use std::collections::VecDeque;

use text_index::Candidates;

const BITS: u64 = u64::BITS as u64;

/// A set of call numbers. Its size depends on the range between the smallest and the largest number.
#[derive(Debug, Default)]
pub(super) struct CallSet {
    /// The number of words before the first one in `words`.
    first: u64,
    words: VecDeque<u64>,
}

impl CallSet {
    /// Adds a call.
    pub fn insert(&mut self, sequence: u64) {
        let word = sequence / BITS;
        if self.words.is_empty() {
            self.first = word;
        }
        while word < self.first {
            self.words.push_front(0);
            self.first -= 1;
        }
        let place = (word - self.first) as usize;
        if place >= self.words.len() {
            self.words.resize(place + 1, 0);
        }
        if let Some(bits) = self.words.get_mut(place) {
            *bits |= 1 << (sequence % BITS);
        }
    }

    /// Removes a call.
    pub fn remove(&mut self, sequence: u64) {
        let place = (sequence / BITS).checked_sub(self.first);
        if let Some(bits) = place.and_then(|place| self.words.get_mut(place as usize)) {
            *bits &= !(1 << (sequence % BITS));
        }
        self.trim();
    }

    /// Removes the calls below `sequence`.
    pub fn remove_before(&mut self, sequence: u64) {
        let (word, bit) = (sequence / BITS, sequence % BITS);
        for (number, bits) in (self.first..).zip(&mut self.words) {
            match number.cmp(&word) {
                std::cmp::Ordering::Less => *bits = 0,
                std::cmp::Ordering::Equal => *bits &= u64::MAX << bit,
                std::cmp::Ordering::Greater => break,
            }
        }
        self.trim();
    }

    /// A copy of the current set.
    pub fn positions(&self) -> Positions {
        let words: Vec<u64> = self.words.iter().copied().collect();
        let mut count = 0;
        let before = words.iter().map(|bits| {
            let before = count;
            count += bits.count_ones() as usize;
            before
        });
        Positions { first: self.first, before: before.collect(), words, count }
    }

    fn trim(&mut self) {
        while self.words.front() == Some(&0) {
            self.words.pop_front();
            self.first += 1;
        }
    }
}

/// A copy of a [`CallSet`] with the number of preceding calls for each call.
#[derive(Debug)]
pub(super) struct Positions {
    first: u64,
    words: Vec<u64>,
    /// For each word, the number of calls in the words before it.
    before: Vec<usize>,
    count: usize,
}

impl Candidates for Positions {
    fn len(&self) -> usize {
        self.count
    }

    fn position(&self, sequence: u64) -> Option<usize> {
        let word = (sequence / BITS).checked_sub(self.first)? as usize;
        let (bits, bit) = (*self.words.get(word)?, sequence % BITS);
        let earlier = bits & ((1 << bit) - 1);
        let is_there = bits >> bit & 1 == 1;
        is_there.then_some(self.before.get(word)? + earlier.count_ones() as usize)
    }

    fn sequence(&self, position: usize) -> Option<u64> {
        let word = self.before.partition_point(|before| *before <= position).checked_sub(1)?;
        let mut bits = *self.words.get(word)?;
        for _ in *self.before.get(word)?..position {
            bits &= bits.wrapping_sub(1);
        }
        (bits != 0).then(|| (self.first + word as u64) * BITS + u64::from(bits.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_are_those_of_a_sorted_list(changes in prop::collection::vec((0_u8..8, 0_u64..700), 0..200)) {
            let (mut calls, mut expected) = (CallSet::default(), BTreeSet::new());
            for (change, sequence) in changes {
                match change {
                    0..5 => {
                        calls.insert(sequence);
                        expected.insert(sequence);
                    }
                    5..7 => {
                        calls.remove(sequence);
                        expected.remove(&sequence);
                    }
                    _ => {
                        calls.remove_before(sequence);
                        expected = expected.split_off(&sequence);
                    }
                }
            }
            let positions = calls.positions();
            prop_assert_eq!(positions.len(), expected.len());
            for (position, sequence) in expected.iter().enumerate() {
                prop_assert_eq!(positions.sequence(position), Some(*sequence));
            }
            prop_assert_eq!(positions.sequence(expected.len()), None);
            for sequence in 0..800 {
                let position = expected.contains(&sequence).then(|| expected.range(..sequence).count());
                prop_assert_eq!(positions.position(sequence), position);
            }
        }
    }
}
