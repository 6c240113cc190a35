//! The tail: the most recent documents, in an append-only array with concurrent readers (a memtable).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::index::document_terms::DocumentTerms;
use crate::index::fields::Document;
use crate::index::row::Row;
use crate::index::slots::Slots;

/// A tail of this size is full even with few documents, because a query reads each of their terms.
const MAXIMUM_BYTES: usize = 8 * 1024 * 1024;

/// A document that is not in a segment yet.
#[derive(Debug)]
pub(crate) struct TailDocument {
    pub(crate) sequence: u64,
    pub(crate) timestamp: i64,
    pub(crate) group: u64,
    pub(crate) terms: Arc<DocumentTerms>,
    removed: AtomicBool,
}

impl TailDocument {
    pub(crate) fn new(sequence: u64, document: &Document<'_>) -> Self {
        let Document { group, timestamp, .. } = *document;
        let terms = Arc::new(DocumentTerms::new(document));
        Self { sequence, timestamp, group, terms, removed: AtomicBool::new(false) }
    }

    /// The document of an announced one, with other terms.
    pub(crate) fn with_terms(announced: &Self, terms: Arc<DocumentTerms>) -> Self {
        let Self { sequence, timestamp, group, .. } = *announced;
        Self { sequence, timestamp, group, terms, removed: AtomicBool::new(false) }
    }

    pub(crate) fn row(&self) -> Row {
        self.row_of(&self.terms)
    }

    /// The metadata with the field lengths of other terms.
    pub(crate) fn row_of(&self, terms: &DocumentTerms) -> Row {
        let Self { sequence, timestamp, group, .. } = *self;
        let DocumentTerms { lengths, stop_words, .. } = *terms;
        Row { sequence, timestamp, group, stop_words, lengths }
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    /// Removes the document. Returns whether it was present.
    pub(crate) fn remove(&self) -> bool {
        !self.removed.swap(true, Ordering::AcqRel)
    }
}

/// Documents in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    documents: Slots<TailDocument>,
    bytes: AtomicUsize,
}

impl Tail {
    /// The documents that are completely added.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &TailDocument> {
        self.documents.iter()
    }

    /// Adds a document. Returns whether the tail is full now. Must be called by one writer at a time.
    pub(crate) fn push(&self, document: TailDocument) -> bool {
        let bytes = document.terms.bytes() + self.bytes();
        self.bytes.store(bytes, Ordering::Relaxed);
        self.documents.push(document) || bytes >= MAXIMUM_BYTES
    }

    /// The approximate memory use of its documents in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Removes a document. Returns whether it was present. Must be called by one writer at a time.
    pub(crate) fn remove(&self, sequence: u64) -> bool {
        let mut same = self.documents().filter(|document| document.sequence == sequence);
        same.any(TailDocument::remove)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_document_is_marked_once() {
        let tail = Tail::default();
        tail.push(TailDocument::new(7, &Document::default()));
        assert!(!tail.remove(8));
        assert!(tail.remove(7));
        assert!(!tail.remove(7));
        assert!(tail.documents().all(TailDocument::is_removed));
    }

    #[test]
    fn few_long_documents_fill_a_tail() {
        let text: String = (0..20_000).map(|number| format!("w{number} ")).collect();
        let document = Document { result: &text, ..Document::default() };
        let terms = Arc::new(DocumentTerms::new(&document));
        let tail = Tail::default();
        let full = (0..).position(|number| {
            tail.push(TailDocument::with_terms(
                &TailDocument::new(number, &Document::default()),
                Arc::clone(&terms),
            ))
        });
        assert!(full.is_some_and(|count| count < 60), "{full:?}");
    }
}
