//! A cache of the words of items, so that searches do not read and tokenise the same values again.
//!
//! The key is the number of the change that wrote the item. A number is never reused in a file, so a lookup with the
//! number of an item's present version never returns the words of an older one, whichever process wrote it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use text_index::Analysed;

use crate::vectors::TextDigest;

/// The approximate memory limit of the cache, in bytes.
const BUDGET: usize = 64 * 1024 * 1024;

/// The words of an item.
#[derive(Clone)]
pub(super) struct ItemWords {
    pub analysed: Analysed,
    /// The text that embedding models get.
    pub embedded: TextDigest,
    /// The length of the text, in bytes.
    pub text_bytes: usize,
}

struct Entry {
    words: ItemWords,
    /// The number of the latest search that used it.
    used: u64,
}

struct Kept {
    budget: usize,
    entries: FxHashMap<i64, Entry>,
    bytes: usize,
    searches: u64,
}

/// The words of the items of one file.
pub(super) struct Words(Mutex<Kept>);

impl Default for Words {
    fn default() -> Self {
        Self::with_budget(BUDGET)
    }
}

impl Words {
    fn with_budget(budget: usize) -> Self {
        Self(Mutex::new(Kept { budget, entries: FxHashMap::default(), bytes: 0, searches: 0 }))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a new search.
    pub fn begin(&self) -> u64 {
        let mut kept = self.kept();
        kept.searches += 1;
        kept.searches
    }

    /// The words of the item that a change wrote, if cached.
    pub fn get(&self, sequence: i64, search: u64) -> Option<ItemWords> {
        let mut kept = self.kept();
        let entry = kept.entries.get_mut(&sequence)?;
        entry.used = entry.used.max(search);
        Some(entry.words.clone())
    }

    /// The words of the item that a change wrote, counted and cached if they are not cached.
    pub fn of_item(
        &self,
        sequence: i64,
        search: u64,
        count: impl FnOnce() -> ItemWords,
    ) -> ItemWords {
        self.get(sequence, search).unwrap_or_else(|| {
            let counted = count();
            self.insert(sequence, search, counted.clone());
            counted
        })
    }

    /// Caches the words of an item.
    fn insert(&self, sequence: i64, search: u64, words: ItemWords) {
        let mut kept = self.kept();
        kept.bytes += words.bytes();
        if let Some(before) = kept.entries.insert(sequence, Entry { words, used: search }) {
            kept.bytes -= before.words.bytes();
        }
        if kept.bytes > kept.budget {
            kept.make_room();
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.kept().entries.len()
    }
}

impl Kept {
    /// Evicts the least recently used words; of those that one search used, the items that were written first.
    fn make_room(&mut self) {
        // Evicts more than necessary, so that not every search evicts.
        let kept_bytes = self.budget / 4 * 3;
        let mut order: Vec<(u64, i64)> =
            self.entries.iter().map(|(&sequence, entry)| (entry.used, sequence)).collect();
        order.sort_unstable();
        for (_, sequence) in order {
            if self.bytes <= kept_bytes {
                break;
            }
            if let Some(entry) = self.entries.remove(&sequence) {
                self.bytes -= entry.words.bytes();
            }
        }
    }
}

impl ItemWords {
    fn bytes(&self) -> usize {
        size_of::<Entry>() + self.analysed.bytes()
    }
}

#[cfg(test)]
mod tests {
    use text_index::Document;

    use super::*;

    fn words(sequence: u64, text: &str) -> ItemWords {
        let document = Document { result: text, ..Document::default() };
        ItemWords {
            analysed: Analysed::new(sequence, &document),
            embedded: TextDigest::default(),
            text_bytes: text.len(),
        }
    }

    #[test]
    fn memory_is_bounded_and_what_was_used_last_stays() {
        let kept = Words::with_budget(100_000);
        let text: String = (0..30).map(|number| format!("word{number} ")).collect();
        let first = kept.begin();
        let mut inserted = 0;
        while kept.len() == inserted as usize {
            kept.insert(inserted, first, words(inserted as u64, &text));
            inserted += 1;
            // Every later search uses the first item.
            assert!(kept.get(0, first + 1).is_some());
            assert!(inserted < 100_000, "nothing is ever removed");
        }
        assert!(kept.kept().bytes <= 75_000);
        assert!(kept.get(1, first).is_none() && kept.get(inserted - 1, first).is_some());
        let bytes: usize = kept.kept().entries.values().map(|entry| entry.words.bytes()).sum();
        assert_eq!(bytes, kept.kept().bytes);
        kept.insert(0, first, words(0, ""));
        let bytes: usize = kept.kept().entries.values().map(|entry| entry.words.bytes()).sum();
        assert_eq!(bytes, kept.kept().bytes);
    }
}
