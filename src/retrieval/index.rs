//! The inverted index: who may write when, and what readers see.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use super::document::Document;
use super::merge::{merge, merge_like_sized};
use super::query::Query;
use super::search::{Hit, Ranked, rank, search};
use super::segment::Segment;
use super::tail::{Tail, TailDocument};

/// An in-memory inverted index.
///
/// Any number of threads may read and write. Writers take turns; a reader takes
/// no lock that a writer holds: it reads the published snapshot, in which only
/// the tail grows and documents are marked as removed. It sees every document
/// whose [`Index::add`] returned before it began.
#[derive(Debug, Default)]
pub struct Index {
    published: ArcSwap<Snapshot>,
    writer: Mutex<Writer>,
    live: AtomicUsize,
}

/// What readers see.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) tail: Arc<Tail>,
}

#[derive(Debug, Default)]
struct Writer {
    /// Later sequences cannot be in the index.
    highest_sequence: Option<u64>,
}

impl Index {
    /// An index without documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document. One of the same sequence is replaced: for a moment a
    /// concurrent reader finds neither.
    pub fn add(&self, sequence: u64, document: &Document<'_>) {
        let document = TailDocument::new(sequence, document); // the larger part of the work, so outside the lock
        let mut writer = self.lock();
        if writer.highest_sequence.is_some_and(|highest| sequence <= highest) {
            self.remove_locked(sequence);
        }
        writer.highest_sequence = writer.highest_sequence.max(Some(sequence));
        let snapshot = self.published.load();
        if snapshot.tail.push(document) {
            let mut segments = snapshot.segments.clone();
            segments.extend(Segment::from_documents(snapshot.tail.documents()).map(Arc::new));
            merge_like_sized(&mut segments);
            self.published.store(Arc::new(Snapshot { segments, tail: Arc::default() }));
        }
        self.live.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a document, if it is there. It is not found any more; the
    /// collection's statistics count it until its segment is next rewritten.
    pub fn remove(&self, sequence: u64) {
        let _writer = self.lock();
        self.remove_locked(sequence);
    }

    /// Removes all documents.
    pub fn clear(&self) {
        let mut writer = self.lock();
        *writer = Writer::default();
        self.published.store(Arc::default());
        self.live.store(0, Ordering::Relaxed);
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The documents that share a term with the query, best first; equally good
    /// ones the later first, by timestamp, then by sequence.
    pub fn search(&self, query: &Query, limit: Option<usize>) -> Vec<Hit> {
        search(&self.published.load(), query, limit)
    }

    /// Ranks the documents of the index that `known` accepts together with
    /// `foreign` ones. Scores are those of one collection of all documents of
    /// the index and `foreign`: what `known` accepts does not change them.
    /// Documents that share no term with the query are left out.
    pub fn rank(
        &self,
        query: &Query,
        known: &dyn Fn(u64) -> bool,
        foreign: &[Document<'_>],
    ) -> Vec<Ranked> {
        rank(&self.published.load(), query, known, foreign)
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        // a writer that panicked has published nothing incomplete
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_locked(&self, sequence: u64) {
        let snapshot = self.published.load_full();
        let segment = snapshot.segments.iter().find(|segment| segment.remove(sequence));
        if segment.is_none() && !snapshot.tail.remove(sequence) {
            return;
        }
        self.live.fetch_sub(1, Ordering::Relaxed);
        if let Some(segment) = segment.filter(|segment| segment.live() * 2 < segment.len()) {
            self.rewrite(&snapshot, segment);
        }
    }

    /// Gives back the memory of removed documents.
    fn rewrite(&self, snapshot: &Snapshot, segment: &Arc<Segment>) {
        let others = snapshot.segments.iter().filter(|other| !Arc::ptr_eq(segment, other));
        let mut segments: Vec<Arc<Segment>> = others.map(Arc::clone).collect();
        segments.extend(merge(std::slice::from_ref(segment)).map(Arc::new));
        merge_like_sized(&mut segments);
        self.published.store(Arc::new(Snapshot { segments, tail: Arc::clone(&snapshot.tail) }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tail::TAIL_DOCUMENTS;
    use super::*;

    const FULL: u64 = TAIL_DOCUMENTS as u64;

    fn add(index: &Index, sequences: impl IntoIterator<Item = u64>) {
        for sequence in sequences {
            index.add(sequence, &Document { name: "read_file", ..Document::default() });
        }
    }

    fn sizes(index: &Index) -> Vec<usize> {
        index.published.load().segments.iter().map(|segment| segment.len()).collect()
    }

    #[test]
    fn readers_do_not_wait_for_a_writer() {
        let index = Index::new();
        add(&index, 0..FULL + 1);
        let _writer = index.lock();
        assert_eq!(index.search(&Query::parse("file"), Some(3)).len(), 3);
        assert_eq!(index.rank(&Query::parse("file"), &|sequence| sequence < 5, &[]).len(), 5);
    }

    #[test]
    fn segments_of_like_size_are_merged() {
        let index = Index::new();
        add(&index, 0..FULL * 3);
        assert_eq!(sizes(&index), [TAIL_DOCUMENTS; 3]);
        add(&index, FULL * 3..FULL * 16 + 7);
        assert_eq!(sizes(&index), [TAIL_DOCUMENTS * 16]);
        assert_eq!(index.search(&Query::parse("read"), None).len() as u64, FULL * 16 + 7);
    }

    #[test]
    fn removed_documents_are_given_back() {
        let index = Index::new();
        add(&index, 0..FULL);
        (0..FULL / 2).for_each(|sequence| index.remove(sequence));
        assert_eq!(sizes(&index), [TAIL_DOCUMENTS]);
        index.remove(FULL / 2);
        assert_eq!(sizes(&index), [TAIL_DOCUMENTS / 2 - 1]);
        (0..FULL).for_each(|sequence| index.remove(sequence));
        assert_eq!(sizes(&index), [0_usize; 0]);
        assert!(index.is_empty());
    }

    #[test]
    fn a_removed_document_of_the_tail_does_not_reach_a_segment() {
        let index = Index::new();
        add(&index, 0..FULL - 1);
        index.remove(3);
        add(&index, [FULL]);
        assert_eq!(sizes(&index), [TAIL_DOCUMENTS - 1]);
        assert_eq!(index.len(), TAIL_DOCUMENTS - 1);
    }
}
