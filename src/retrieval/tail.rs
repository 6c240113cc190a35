//! The most recent documents: appended by one writer, read by anyone meanwhile.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::document::{Document, DocumentTerms};

/// Documents that a tail has room for. A query looks at each of them, so few; a
/// full tail becomes a segment, so not too few.
pub(super) const TAIL_DOCUMENTS: usize = 256;

/// A document that is not in a segment yet.
#[derive(Debug)]
pub(super) struct TailDocument {
    pub(super) sequence: u64,
    pub(super) timestamp: i64,
    pub(super) terms: DocumentTerms,
    removed: AtomicBool,
}

impl TailDocument {
    pub(super) fn new(sequence: u64, document: &Document<'_>) -> Self {
        let terms = DocumentTerms::new(document);
        Self { sequence, timestamp: document.timestamp, terms, removed: AtomicBool::new(false) }
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }
}

/// Slots are filled in order, and a slot counts once `length` covers it.
#[derive(Debug)]
pub(super) struct Tail {
    slots: Box<[OnceLock<Box<TailDocument>>]>,
    length: AtomicUsize,
}

impl Default for Tail {
    fn default() -> Self {
        Self {
            slots: (0..TAIL_DOCUMENTS).map(|_| OnceLock::new()).collect(),
            length: AtomicUsize::new(0),
        }
    }
}

impl Tail {
    /// The documents whose addition is complete.
    pub(super) fn documents(&self) -> impl Iterator<Item = &TailDocument> {
        let length = self.length.load(Ordering::Acquire);
        self.slots.iter().take(length).filter_map(OnceLock::get).map(Box::as_ref)
    }

    /// Whether the tail is full now. Only one writer at a time.
    pub(super) fn push(&self, document: TailDocument) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        if let Some(slot) = self.slots.get(length) {
            slot.get_or_init(|| Box::new(document));
            self.length.store(length + 1, Ordering::Release);
        }
        length + 1 >= self.slots.len()
    }

    /// Whether there was such a document. Only one writer at a time.
    pub(super) fn remove(&self, sequence: u64) -> bool {
        let mut same = self.documents().filter(|document| document.sequence == sequence);
        same.any(|document| !document.removed.swap(true, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_appear_in_order_until_the_tail_is_full() {
        let tail = Tail::default();
        for sequence in 0..TAIL_DOCUMENTS as u64 {
            assert_eq!(tail.documents().count() as u64, sequence);
            let full = tail.push(TailDocument::new(sequence, &Document::default()));
            assert_eq!(full, sequence + 1 == TAIL_DOCUMENTS as u64);
        }
        assert!(tail.documents().map(|document| document.sequence).eq(0..TAIL_DOCUMENTS as u64));
    }

    #[test]
    fn a_removed_document_is_marked_once() {
        let tail = Tail::default();
        tail.push(TailDocument::new(7, &Document::default()));
        assert!(!tail.remove(8));
        assert!(tail.remove(7));
        assert!(!tail.remove(7));
        assert!(tail.documents().all(TailDocument::is_removed));
    }
}
