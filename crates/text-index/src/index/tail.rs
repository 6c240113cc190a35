//! The most recent documents: appended one by one, read by anyone meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::index::document_terms::DocumentTerms;
use crate::index::fields::Document;
use crate::index::row::Row;
use crate::index::slots::Slots;

/// A tail of few long documents is full, too: a query looks at each of their terms.
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

    /// As the announced one, with other terms.
    pub(crate) fn with_terms(announced: &Self, terms: Arc<DocumentTerms>) -> Self {
        let Self { sequence, timestamp, group, .. } = *announced;
        Self { sequence, timestamp, group, terms, removed: AtomicBool::new(false) }
    }

    pub(crate) fn row(&self) -> Row {
        self.row_of(&self.terms)
    }

    /// With other terms.
    pub(crate) fn row_of(&self, terms: &DocumentTerms) -> Row {
        let Self { sequence, timestamp, group, .. } = *self;
        let DocumentTerms { lengths, stop_words, .. } = *terms;
        Row { sequence, timestamp, group, stop_words, lengths }
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    /// Whether it was there until now.
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
    /// The documents whose addition is complete.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &TailDocument> {
        self.documents.iter()
    }

    /// Whether the tail is full now. Only one writer at a time.
    pub(crate) fn push(&self, document: TailDocument) -> bool {
        let bytes = document.terms.bytes() + self.bytes();
        self.bytes.store(bytes, Ordering::Relaxed);
        self.documents.push(document) || bytes >= MAXIMUM_BYTES
    }

    /// What its documents take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether there was such a document. Only one writer at a time.
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
