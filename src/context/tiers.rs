//! The memory tier: small outputs at hand, within a budget of bytes, oldest out first.

use std::collections::{HashMap, VecDeque};

use crate::file_system::Payload;

/// What an entry costs beside its bytes.
const OVERHEAD: usize = 128;

/// Records in memory.
#[derive(Debug)]
pub struct MemoryTier {
    budget: usize,
    bytes: usize,
    records: HashMap<u64, Payload>,
    order: VecDeque<u64>,
}

impl MemoryTier {
    /// An empty tier for at most `budget` bytes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { budget, bytes: 0, records: HashMap::new(), order: VecDeque::new() }
    }

    /// Keeps a record.
    pub fn insert(&mut self, sequence: u64, record: Payload) {
        self.bytes += record.len() + OVERHEAD;
        self.order.push_back(sequence);
        if let Some(replaced) = self.records.insert(sequence, record) {
            self.bytes -= replaced.len() + OVERHEAD;
        }
    }

    /// A record, when it is here.
    #[must_use]
    pub fn get(&self, sequence: u64) -> Option<&Payload> {
        self.records.get(&sequence)
    }

    /// Lets a record go.
    pub fn remove(&mut self, sequence: u64) -> Option<Payload> {
        let record = self.records.remove(&sequence)?;
        self.bytes -= record.len() + OVERHEAD;
        Some(record)
    }

    /// The oldest record while the tier is over its budget. It stays until it is removed, but is
    /// not named again: the caller brings it elsewhere first.
    pub fn next_over_budget(&mut self, under_way: usize) -> Option<(u64, Payload)> {
        while self.bytes.saturating_sub(under_way) > self.budget {
            let sequence = self.order.pop_front()?;
            if let Some(record) = self.records.get(&sequence) {
                return Some((sequence, Payload::clone(record)));
            }
        }
        // What was removed otherwise leaves its place in the order behind.
        while self.order.front().is_some_and(|sequence| !self.records.contains_key(sequence)) {
            self.order.pop_front();
        }
        None
    }

    /// Takes back a record that could not be brought elsewhere: the next to go again.
    pub fn keep(&mut self, sequence: u64) {
        self.order.push_front(sequence);
    }

    /// What a record counts against the budget, in bytes.
    #[must_use]
    pub fn cost(record: &Payload) -> usize {
        record.len() + OVERHEAD
    }

    /// The budget in bytes.
    #[must_use]
    pub const fn budget(&self) -> usize {
        self.budget
    }

    /// How many records are here.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// How many bytes they take.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(length: usize) -> Payload {
        Payload::new(vec![b'x'; length])
    }

    #[test]
    fn the_oldest_go_first_and_the_bytes_add_up() {
        let mut tier = MemoryTier::new(3 * (100 + OVERHEAD));
        for sequence in 0..5 {
            tier.insert(sequence, record(100));
        }
        let mut gone = Vec::new();
        while let Some((sequence, _)) = tier.next_over_budget(0) {
            tier.remove(sequence);
            gone.push(sequence);
        }
        assert_eq!(gone, [0, 1]);
        assert_eq!((tier.len(), tier.bytes()), (3, 3 * (100 + OVERHEAD)));
        tier.remove(2);
        tier.insert(9, record(100));
        assert_eq!(tier.next_over_budget(0), None);
        assert!(tier.get(2).is_none() && tier.get(9).is_some());
    }

    #[test]
    fn what_is_under_way_or_could_not_leave_is_neither_lost_nor_named_twice() {
        let mut tier = MemoryTier::new(0);
        tier.insert(1, record(10));
        tier.insert(2, record(10));
        let (first, payload) = tier.next_over_budget(0).unwrap();
        let under_way = MemoryTier::cost(&payload);
        assert_eq!(tier.next_over_budget(under_way).map(|(sequence, _)| sequence), Some(2));
        assert_eq!(tier.next_over_budget(2 * under_way), None);
        assert!(tier.get(first).is_some());
        tier.keep(first);
        assert_eq!(tier.next_over_budget(0).map(|(sequence, _)| sequence), Some(first));
    }
}
