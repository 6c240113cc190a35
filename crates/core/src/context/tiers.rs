//! The memory cache of small outputs: within a budget of bytes, with least-recently-used eviction. `state` owns it.

use std::collections::BTreeMap;

use super::{held::Held, recent_use::RecentUse};

/// The cost of an entry beside its record, in bytes.
const OVERHEAD: usize = 128;

/// Cached records, by the numbers of their calls.
#[derive(Debug)]
pub struct MemoryTier {
    budget: usize,
    bytes: usize,
    /// The size of entries that are being written back.
    leaving: usize,
    entries: BTreeMap<u64, Entry>,
    uses: RecentUse,
}

#[derive(Debug)]
struct Entry {
    held: Held,
    is_leaving: bool,
}

impl Entry {
    fn cost(&self) -> usize {
        self.held.size() + OVERHEAD
    }
}

impl MemoryTier {
    /// An empty cache for at most `budget` bytes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { budget, bytes: 0, leaving: 0, entries: BTreeMap::new(), uses: RecentUse::default() }
    }

    /// Inserts a record.
    pub fn insert(&mut self, sequence: u64, held: Held) {
        self.remove(sequence);
        let entry = Entry { held, is_leaving: false };
        self.bytes += entry.cost();
        self.entries.insert(sequence, entry);
        self.uses.touch(sequence);
    }

    /// A cached record, which becomes the most recently used.
    pub fn take_up(&mut self, sequence: u64) -> Option<&Held> {
        self.uses.touch_known(sequence);
        self.get(sequence)
    }

    /// A cached record.
    #[must_use]
    pub fn get(&self, sequence: u64) -> Option<&Held> {
        self.entries.get(&sequence).map(|entry| &entry.held)
    }

    /// Removes a record.
    pub fn remove(&mut self, sequence: u64) -> Option<Held> {
        let entry = self.entries.remove(&sequence)?;
        self.uses.remove(sequence);
        self.bytes -= entry.cost();
        if entry.is_leaving {
            self.leaving -= entry.cost();
        }
        Some(entry.held)
    }

    /// The least recently used record, if the cache exceeds its budget. The record stays cached until it is removed,
    /// but is returned only once: the caller writes it to disk and then removes it.
    pub fn next_over_budget(&mut self) -> Option<(u64, Held)> {
        if self.bytes - self.leaving <= self.budget {
            return None;
        }
        let is_staying =
            |number: &u64| self.entries.get(number).is_some_and(|entry| !entry.is_leaving);
        let sequence = self.uses.oldest_first().find(is_staying)?;
        let entry = self.entries.get_mut(&sequence)?;
        entry.is_leaving = true;
        self.leaving += entry.cost();
        Some((sequence, entry.held.clone()))
    }

    /// Keeps a record that could not be written to disk: it may be returned again.
    pub fn keep(&mut self, sequence: u64) {
        if let Some(entry) = self.entries.get_mut(&sequence)
            && entry.is_leaving
        {
            entry.is_leaving = false;
            self.leaving -= entry.cost();
        }
    }

    /// Whether the record is being written back.
    #[must_use]
    pub fn is_leaving(&self, sequence: u64) -> bool {
        self.entries.get(&sequence).is_some_and(|entry| entry.is_leaving)
    }

    /// Whether any record is being written back.
    #[must_use]
    pub const fn has_leaving(&self) -> bool {
        self.leaving > 0
    }

    /// The budget in bytes.
    #[must_use]
    pub const fn budget(&self) -> usize {
        self.budget
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Their size in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::Payload;

    fn held(length: usize) -> Held {
        Held::Whole(Payload::new(vec![b'x'; length]))
    }

    #[test]
    fn the_least_recently_used_go_first_and_the_bytes_add_up() {
        let mut tier = MemoryTier::new(3 * (100 + OVERHEAD));
        for sequence in [1, 0, 2, 4, 3] {
            tier.insert(sequence, held(100));
        }
        assert!(tier.take_up(1).is_some() && tier.get(0).is_some() && tier.take_up(9).is_none());
        let mut gone = Vec::new();
        while let Some((sequence, _)) = tier.next_over_budget() {
            tier.remove(sequence);
            gone.push(sequence);
        }
        assert_eq!(gone, [0, 2]);
        assert_eq!((tier.len(), tier.bytes()), (3, 3 * (100 + OVERHEAD)));
        tier.remove(4);
        tier.insert(9, held(100));
        tier.insert(9, held(50));
        assert_eq!(tier.next_over_budget(), None);
        assert!(tier.get(4).is_none() && tier.get(9).is_some());
    }

    #[test]
    fn what_is_under_way_or_could_not_leave_is_neither_lost_nor_named_twice() {
        let mut tier = MemoryTier::new(0);
        tier.insert(1, held(10));
        tier.insert(2, held(10));
        assert_eq!(tier.next_over_budget().map(|(sequence, _)| sequence), Some(1));
        assert_eq!(tier.next_over_budget().map(|(sequence, _)| sequence), Some(2));
        assert_eq!(tier.next_over_budget(), None);
        assert!(tier.get(1).is_some());
        assert!(tier.is_leaving(1) && tier.has_leaving());
        tier.keep(1);
        tier.keep(1);
        assert!(!tier.is_leaving(1) && tier.is_leaving(2) && tier.has_leaving());
        assert_eq!(tier.next_over_budget().map(|(sequence, _)| sequence), Some(1));
        tier.remove(1);
        tier.remove(2);
        assert_eq!((tier.bytes(), tier.leaving), (0, 0));
        assert!(!tier.is_leaving(1) && !tier.has_leaving());
    }
}
