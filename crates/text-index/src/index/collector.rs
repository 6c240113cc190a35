//! Counts the terms of one document.

use std::cell::RefCell;

use crate::analysis::short_bytes::equal;
use crate::index::fields::FIELD_COUNT;
use crate::index::sketch::Pairs;

const LEAST_TABLE: usize = 512;

thread_local! {
    static COLLECTOR: RefCell<Collector> = RefCell::default();
}

/// A hash table of terms. Its memory is reused for the next document.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) entries: Vec<Entry>,
    pub(crate) text: String,
    /// The index of an entry plus one, or 0. The length is a power of two.
    table: Vec<u32>,
    pub(crate) pairs: Pairs,
}

/// A distinct term.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) hash: u32,
    pub(crate) counts: [u32; FIELD_COUNT],
    start: u32,
    end: u32,
}

impl Collector {
    /// Calls `run` with this thread's collector, which is empty.
    pub(crate) fn with<T>(run: impl FnOnce(&mut Self) -> T) -> T {
        let mut collector = COLLECTOR.take();
        collector.entries.clear();
        collector.text.clear();
        collector.table.clear();
        collector.table.resize(LEAST_TABLE, 0);
        let result = run(&mut collector);
        COLLECTOR.replace(collector);
        result
    }

    /// Counts one occurrence of a term, given with its hash.
    pub(crate) fn add(&mut self, field: usize, term: &str, hash: u32) {
        let slot = self.slot(hash, |entry| equal(self.bytes_of(entry), term.as_bytes()));
        let Some(place) = self.table.get_mut(slot) else { return };
        if *place == 0 {
            let start = self.text.len() as u32;
            self.text.push_str(term);
            let (counts, end) = ([0; FIELD_COUNT], self.text.len() as u32);
            self.entries.push(Entry { hash, counts, start, end });
            *place = self.entries.len() as u32;
        }
        let number = *place as usize - 1;
        let count = self.entries.get_mut(number).and_then(|entry| entry.counts.get_mut(field));
        count.into_iter().for_each(|count| *count += 1);
        if self.entries.len() * 2 > self.table.len() {
            self.grow();
        }
    }

    fn bytes_of(&self, entry: &Entry) -> &[u8] {
        self.text.as_bytes().get(entry.start as usize..entry.end as usize).unwrap_or_default()
    }

    pub(crate) fn text_of(&self, entry: &Entry) -> &str {
        self.text.get(entry.start as usize..entry.end as usize).unwrap_or_default()
    }

    /// The indices of the entries, ordered by hash, then text.
    pub(crate) fn order(&self) -> Vec<usize> {
        let hashes = self.entries.iter().zip(0_u64..);
        let mut keys: Vec<u64> =
            hashes.map(|(entry, number)| u64::from(entry.hash) << 32 | number).collect();
        keys.sort_unstable();
        let mut order: Vec<usize> = keys.iter().map(|key| *key as u32 as usize).collect();
        let entry = |number: &usize| self.entries.get(*number);
        let same_hash = |left: &usize, right: &usize| {
            entry(left).map(|entry| entry.hash) == entry(right).map(|entry| entry.hash)
        };
        for colliding in order.chunk_by_mut(same_hash).filter(|colliding| colliding.len() > 1) {
            colliding.sort_by_key(|number| entry(number).map(|entry| self.text_of(entry)));
        }
        order
    }

    /// The slot of the entry that `is_same`, or the free slot where it belongs.
    fn slot(&self, hash: u32, is_same: impl Fn(&Entry) -> bool) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        while let Some(number) = self.table.get(slot).and_then(|place| place.checked_sub(1)) {
            let entry = self.entries.get(number as usize);
            if entry.is_some_and(|entry| entry.hash == hash && is_same(entry)) {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let size = self.table.len() * 4;
        self.table.clear();
        self.table.resize(size, 0);
        for (entry, number) in self.entries.iter().zip(1..) {
            let slot = self.slot(entry.hash, |_| false);
            self.table.get_mut(slot).into_iter().for_each(|place| *place = number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::analysis::words::hash;

    proptest! {
        #[test]
        fn every_occurrence_is_counted(numbers in prop::collection::vec((0_u32..900, 0..FIELD_COUNT), 0..2000)) {
            let mut expected: BTreeMap<(u32, String), [u32; FIELD_COUNT]> = BTreeMap::new();
            Collector::with(|collector| {
                for (number, field) in &numbers {
                    let term = format!("term{number}");
                    collector.add(*field, &term, hash(&term));
                    expected.entry((hash(&term), term)).or_default()[*field] += 1;
                }
                let found = collector.order().into_iter().map(|number| &collector.entries[number]);
                let found: Vec<_> = found.map(|entry| ((entry.hash, collector.text_of(entry).to_owned()), entry.counts)).collect();
                assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
            });
        }
    }
}
