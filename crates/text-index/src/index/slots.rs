//! An append-only array with one writer and any number of concurrent readers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Capacity of an array. A query reads every entry, which bounds it from above; a full array becomes a segment, which
/// bounds it from below.
pub(crate) const SLOTS: usize = 256;

/// Slots are filled in order. A slot is valid when `length` covers it.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Box<[OnceLock<T>]>,
    length: AtomicUsize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: (0..SLOTS).map(|_| OnceLock::new()).collect(), length: AtomicUsize::new(0) }
    }
}

impl<T> Slots<T> {
    /// The entries that are completely added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let length = self.length.load(Ordering::Acquire);
        self.slots.iter().take(length).filter_map(OnceLock::get)
    }

    /// Adds an entry. Returns whether the array is full now. Must be called by one writer at a time.
    pub(crate) fn push(&self, entry: T) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        if let Some(slot) = self.slots.get(length) {
            slot.get_or_init(|| entry);
            self.length.store(length + 1, Ordering::Release);
        }
        length + 1 >= self.slots.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.length.load(Ordering::Acquire) >= self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_appear_in_order_until_the_list_is_full() {
        let list = Slots::default();
        for number in 0..SLOTS {
            assert_eq!(list.iter().count(), number);
            assert!(!list.is_full());
            assert_eq!(list.push(number), number + 1 == SLOTS);
        }
        assert!(list.is_full() && list.iter().copied().eq(0..SLOTS));
    }
}
