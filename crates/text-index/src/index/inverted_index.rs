//! The inverted index in memory: rules for concurrent readers and writers, and the public operations.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use crate::index::announced::{Announced, LateText};
use crate::index::fields::Document;
use crate::index::maintenance::{Snapshot, Sources};
use crate::index::segment::Segment;
use crate::index::slots::Slots;
use crate::index::tail::TailDocument;
use crate::index::view::View;
use crate::query::free_text::Query;
use crate::query::question::Question;
use crate::scoring::boosts::Boosts;
use crate::scoring::explain::{TermMatch, explain};
use crate::scoring::question_ranking;
use crate::scoring::ranked::{Hit, Ranked, RankedList, Which};
use crate::scoring::search::{rank, search};
use crate::scoring::top_ranking::{self, Candidates, TopList};

/// Number of full tails that may wait for [`Index::maintain`]. With more, the next addition does its work.
const PATIENCE: usize = 8;

/// An in-memory inverted index.
///
/// Any number of threads may read and write. Writers hold a lock for as long as it takes to append one document.
/// Readers take no lock that a writer holds: they read the published snapshot, in which only the last tail grows and
/// documents are flagged as removed. A reader sees every document whose [`Index::add`] or [`Index::announce`] returned
/// before it began.
///
/// Longer work is left to [`Index::maintain`], which the caller has to run from time to time. Without it, results are
/// correct but queries are slower.
#[derive(Debug)]
pub struct Index {
    pub(crate) published: ArcSwap<Snapshot>,
    announced: ArcSwap<Vec<Arc<Slots<Arc<Announced>>>>>,
    writer: Mutex<Writer>,
    maintenance: Mutex<()>,
    pub(crate) live: AtomicUsize,
    budget: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// The highest sequence in the index.
    pub(crate) highest_sequence: Option<u64>,
}

impl Index {
    /// An empty index without a memory budget.
    pub fn new() -> Self {
        Self::with_budget(usize::MAX)
    }

    /// An empty index. When it takes more than `budget` bytes of memory, the oldest documents are kept without their
    /// results. All short fields are kept.
    pub fn with_budget(budget: usize) -> Self {
        Self {
            published: ArcSwap::default(),
            announced: ArcSwap::default(),
            writer: Mutex::default(),
            maintenance: Mutex::default(),
            live: AtomicUsize::new(0),
            budget,
        }
    }

    /// Adds a document, and replaces a document with the same sequence. While it is replaced, a concurrent reader may
    /// find neither.
    pub fn add(&self, sequence: u64, document: &Document<'_>) {
        // Most of the work, therefore outside the lock.
        self.add_prepared(TailDocument::new(sequence, document));
    }

    pub(crate) fn add_prepared(&self, document: TailDocument) {
        let mut writer = self.lock();
        self.make_room(&mut writer, document.sequence);
        self.live.fetch_add(1, Ordering::Relaxed);
        self.push(document);
        drop(writer);
        self.maintain_when_late();
    }

    /// Adds a document by its short fields. It is found by them until [`Index::complete`] indexes all of it; searches
    /// may read the deferred text `late` before that.
    pub fn announce(
        &self,
        sequence: u64,
        document: &Document<'_>,
        late: Option<Box<dyn LateText>>,
    ) -> Arc<Announced> {
        let announced = Arc::new(Announced::new(sequence, document, late));
        let mut writer = self.lock();
        self.make_room(&mut writer, sequence);
        self.live.fetch_add(1, Ordering::Relaxed);
        let lists = self.announced.load();
        match lists.last().filter(|list| !list.is_full()) {
            Some(list) => drop(list.push(Arc::clone(&announced))),
            None => {
                let list = Slots::default();
                list.push(Arc::clone(&announced));
                let lists = lists.iter().map(Arc::clone).chain([Arc::new(list)]);
                self.announced.store(Arc::new(lists.collect()));
            }
        }
        announced
    }

    /// Indexes an announced document: completely where `document` is given or the deferred text can be read, else by
    /// its short fields. Does nothing when the document was removed meanwhile.
    pub fn complete(&self, announced: &Announced, document: Option<&Document<'_>>) {
        let terms = announced.whole_terms(document); // the larger part of the work, so outside the lock
        let writer = self.lock();
        if announced.document.is_removed() {
            return;
        }
        // Added before the flag is set: readers read the announced documents first.
        self.push(TailDocument::with_terms(&announced.document, terms));
        announced.remove();
        self.drop_completed();
        drop(writer);
        self.maintain_when_late();
    }

    /// Removes a document, if present. It is not found any more; the collection's statistics count it until its segment
    /// is rewritten.
    pub fn remove(&self, sequence: u64) {
        let _writer = self.lock();
        self.remove_locked(sequence);
    }

    /// Removes all documents.
    pub fn clear(&self) {
        let mut writer = self.lock();
        *writer = Writer::default();
        for announced in self.announced.load().iter().flat_map(|list| list.iter()) {
            announced.remove();
        }
        self.announced.store(Arc::default());
        self.published.store(Arc::default());
        self.live.store(0, Ordering::Relaxed);
    }

    /// Does the work that additions and removals leave: turns full tails into segments, merges segments of similar
    /// size, and frees memory. Takes long and blocks neither readers nor writers.
    pub fn maintain(&self) {
        let _turn = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        self.maintain_in_turn();
    }

    fn maintain_in_turn(&self) {
        loop {
            let snapshot = self.published.load_full();
            let Some(sources) = Sources::next(&snapshot, self.budget) else { return };
            let built = sources.build();
            let _writer = self.lock();
            if let Some(built) = &built {
                sources.catch_up(built);
            }
            // If the sources are missing, the index was cleared meanwhile.
            if let Some(snapshot) = self.published.load().replaced(&sources, built) {
                self.published.store(Arc::new(snapshot));
            }
        }
    }

    /// Whether [`Index::maintain`] has much work to do: a full tail, or many removed documents.
    pub fn has_work(&self) -> bool {
        let snapshot = self.published.load();
        snapshot.tails.len() > 1 || snapshot.segments.iter().any(|segment| segment.is_sparse())
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The approximate memory use in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.published.load().bytes()
    }

    /// The documents that share a term with the query, best first. Equally scored documents are ordered by timestamp,
    /// then by sequence, the latest first.
    pub fn search(&self, query: &Query, limit: Option<usize>) -> RankedList<Hit> {
        search(&self.view(), query, limit)
    }

    /// Ranks the documents of the index that `known` accepts together with the documents of `foreign`, which are not in
    /// the index. Scores are those of a collection of all documents in the index and in `foreign`; the filter `known`
    /// does not change them. Documents that share no term with the query are left out.
    pub fn rank(
        &self,
        query: &Query,
        known: &dyn Fn(u64) -> bool,
        foreign: &[Document<'_>],
    ) -> RankedList<Ranked> {
        rank(&self.view(), query, known, foreign)
    }

    /// As [`Index::rank`], for a question: facts, adjacent terms, and identifiers that link documents count as well.
    /// The documents are in no order.
    pub fn rank_for(
        &self,
        question: &Question,
        known: &dyn Fn(u64) -> bool,
        foreign: &[Document<'_>],
    ) -> RankedList<Ranked> {
        question_ranking::rank(&self.view(), question, known, foreign)
    }

    /// The best `limit` documents that [`Index::rank_for`] ranks, with the scores that [`crate::boost`] computes. It scores
    /// only the documents that can be among the best. Returns `None` if it is not prepared: [`Index::prepare_top`] has to
    /// run after each change of the segments.
    pub fn rank_top(
        &self,
        question: &Question,
        candidates: &dyn Candidates,
        boosts: &Boosts,
        limit: usize,
    ) -> Option<TopList> {
        let mut view = View::default();
        let announced = self.announced();
        let snapshot = self.published.load_full();
        view.add(announced, &snapshot);
        let units = snapshot.group_units()?;
        Some(top_ranking::rank(&view, units, question, candidates, boosts, limit))
    }

    /// Prepares [`Index::rank_top`]. It takes about as long as scoring all documents that were added to segments since the last call.
    pub fn prepare_top(&self) {
        self.published.load_full().prepare();
    }

    /// Ranks documents that are not in an index as a collection of their own, as [`Index::rank`] does. Returns the
    /// positions and scores of those that share a term with the query.
    #[must_use]
    pub fn rank_alone(query: &Query, documents: &[Document<'_>]) -> Vec<(usize, f32)> {
        let ranked = Self::new().rank(query, &|_| false, documents).hits;
        let positions = ranked.into_iter().filter_map(|hit| match hit.which {
            Which::Foreign(position) => Some((position, hit.score)),
            Which::Known(_) => None,
        });
        positions.collect()
    }

    pub(crate) fn view(&self) -> View {
        Self::view_of(&[self])
    }

    /// The view of a query on the documents of several indexes, which must have no sequence in common. The announced documents are read first: those that are completed meanwhile are in the
    /// snapshot.
    pub(crate) fn view_of(indexes: &[&Self]) -> View {
        let mut view = View::default();
        for index in indexes {
            let announced = index.announced();
            view.add(announced, &index.published.load());
        }
        view
    }

    /// The announced documents. They must be collected before the snapshot is loaded.
    fn announced(&self) -> Vec<Arc<Announced>> {
        let lists = self.announced.load();
        let announced = lists.iter().flat_map(|list| list.iter());
        announced.filter(|announced| !announced.document.is_removed()).map(Arc::clone).collect()
    }

    /// For each document, what each term of the query contributes to its score, the largest contribution first.
    pub fn explain(&self, query: &Query, sequences: &[u64]) -> Vec<Vec<TermMatch>> {
        explain(&self.view(), query, sequences)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        // A writer that panicked has published nothing incomplete.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make_room(&self, writer: &mut Writer, sequence: u64) {
        if writer.highest_sequence.is_some_and(|highest| sequence <= highest) {
            self.remove_locked(sequence);
        }
        writer.highest_sequence = writer.highest_sequence.max(Some(sequence));
    }

    /// Adds segments of documents that are not in the index yet.
    pub(crate) fn publish(&self, highest: Option<u64>, more: Vec<Arc<Segment>>) {
        let mut writer = self.lock();
        writer.highest_sequence = writer.highest_sequence.max(highest);
        let snapshot = self.published.load();
        let (mut segments, tails) = (snapshot.segments.clone(), snapshot.tails.clone());
        segments.extend(more);
        self.published.store(Arc::new(Snapshot::new(segments, tails)));
    }

    /// The caller must hold the writer's lock.
    fn push(&self, document: TailDocument) {
        let snapshot = self.published.load();
        let (last, is_new) = match snapshot.tails.last() {
            Some(tail) => (Arc::clone(tail), false),
            None => (Arc::default(), true),
        };
        let is_full = last.push(document);
        if is_new || is_full {
            let mut tails = snapshot.tails.clone();
            tails.extend(is_new.then_some(last));
            tails.extend(is_full.then(Arc::default));
            self.published.store(Arc::new(snapshot.with_tails(tails)));
        }
    }

    /// Drops lists whose documents are all completed or removed. The caller must hold the writer's lock.
    fn drop_completed(&self) {
        let lists = self.announced.load();
        let is_over = |list: &Slots<Arc<Announced>>| {
            list.iter().all(|announced| announced.document.is_removed())
        };
        if lists.first().is_some_and(|first| is_over(first)) {
            let rest = lists.iter().skip_while(|list| is_over(list)).map(Arc::clone);
            self.announced.store(Arc::new(rest.collect()));
        }
    }

    fn remove_locked(&self, sequence: u64) {
        let snapshot = self.published.load();
        let lists = self.announced.load();
        let mut announced = lists.iter().flat_map(|list| list.iter());
        let was_there = snapshot.segments.iter().any(|segment| segment.remove(sequence))
            || snapshot.tails.iter().any(|tail| tail.remove(sequence))
            || announced
                .any(|announced| announced.document.sequence == sequence && announced.remove());
        self.live.fetch_sub(usize::from(was_there), Ordering::Relaxed);
        self.drop_completed();
    }

    /// Runs maintenance in the adding thread when too many tails wait for it.
    fn maintain_when_late(&self) {
        if self.published.load().tails.len() > PATIENCE
            && let Ok(_turn) = self.maintenance.try_lock()
        {
            self.maintain_in_turn();
        }
    }
}

#[cfg(test)]
mod tests;
