//! Adds many documents at once. The calling thread builds their segment.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::index::fields::Document;
use crate::index::inverted_index::Index;
use crate::index::segment::Segment;
use crate::index::slots::SLOTS;
use crate::index::tail::TailDocument;

/// Documents that are added together.
#[derive(Debug, Default)]
pub struct Batch {
    documents: Vec<TailDocument>,
    bytes: usize,
}

impl Batch {
    /// Adds a document. Its sequence must not occur in the index or in a batch.
    pub fn add(&mut self, sequence: u64, document: &Document<'_>) {
        let document = TailDocument::new(sequence, document);
        self.bytes += document.terms.bytes();
        self.documents.push(document);
    }

    /// The approximate memory use in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether it has no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }
}

impl Index {
    /// Adds all documents of a batch. The caller should call [`Index::maintain`] afterwards.
    pub fn add_batch(&self, batch: Batch) {
        let count = batch.len();
        if count < SLOTS {
            batch.documents.into_iter().for_each(|document| self.add_prepared(document));
            return;
        }
        let highest = batch.documents.iter().map(|document| document.sequence).max();
        let segment = Segment::from_documents(batch.documents.iter());
        self.live.fetch_add(count, Ordering::Relaxed);
        self.publish(highest, segment.map(Arc::new).into_iter().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Query;

    #[test]
    fn batches_are_found_whatever_their_size() {
        let index = Index::new();
        let mut next = 0;
        for count in [3, SLOTS, 1, SLOTS * 4 + 1] {
            let mut batch = Batch::default();
            for _ in 0..count {
                batch.add(next, &Document { name: "form", ..Document::default() });
                next += 1;
            }
            assert!(batch.bytes() > 0 && batch.len() == count);
            index.add_batch(batch);
        }
        index.add_batch(Batch::default());
        index.remove(1);
        index.maintain();
        let found = index.search(&Query::parse("form"), None).hits;
        assert_eq!((found.len(), index.len()), (next as usize - 1, next as usize - 1));
        assert!(found.iter().map(|hit| hit.sequence).eq((0..next).rev().filter(|hit| *hit != 1)));
    }
}
