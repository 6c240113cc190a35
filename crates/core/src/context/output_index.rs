//! The index of a manager's outputs: their words, and the vectors that the caller's model made of them.
//!
//! Short outputs are indexed at once. A long one is announced by what describes it, so that it is found at
//! once, and its result follows: on the process's indexing thread, or on the thread of a search, which
//! needs the index complete.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use storage::Payload;
use text_index::{
    Boosts, Candidates, Document, Index, LateText, Query, Question, Ranked, RankedList, TermMatch,
    TopList,
};
use tokio::runtime::Handle;

use super::{
    backlog::{Backlog, Job},
    context_directory::ContextDirectory,
    indexer::{self, Indexing},
    indexing::{DeferredText, IndexedOutput, RecordText, SharedText},
};
use crate::{
    blocking::run_long,
    context::vectors::{Vector, Vectors},
};

/// Results of at most so many bytes of JSON are indexed at once: handing them over costs as much.
const AT_ONCE: usize = 4096;

/// Outputs indexed for one manager before the next one's turn.
const QUANTUM: usize = 64;

/// What outputs are found by, by the numbers of the calls that saved them.
pub(super) struct OutputIndex {
    /// Where a record is read from that did not stay in memory.
    directory: Arc<ContextDirectory>,
    words: Index,
    backlog: Backlog,
    vectors: Mutex<Vectors>,
    /// The best documents alone have been asked for: what that needs is prepared in the background.
    ranks_top: AtomicBool,
}

impl OutputIndex {
    /// An empty index of at most `budget` bytes.
    pub fn new(budget: usize, directory: Arc<ContextDirectory>) -> Self {
        Self {
            directory,
            words: Index::with_budget(budget),
            backlog: Backlog::default(),
            vectors: Mutex::default(),
            ranks_top: AtomicBool::new(false),
        }
    }

    fn vectors(&self) -> MutexGuard<'_, Vectors> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an output: at once when it is short, else by what describes it.
    pub fn add(self: &Arc<Self>, sequence: u64, output: IndexedOutput, text: RecordText) {
        if text.len() <= AT_ONCE {
            let evidence = output.evidence(text.indexed());
            self.words.add(sequence, &output.document(&evidence));
            self.work_in_background();
            return;
        }
        let output = Arc::new(output);
        let is_kept = self.backlog.has_room(text.record.len()) || output.stored.is_none();
        let deferred =
            is_kept.then(|| Arc::new(DeferredText { output: Arc::clone(&output), text }));
        let late = deferred
            .as_ref()
            .map(|text| Box::new(SharedText(Arc::clone(text))) as Box<dyn LateText>);
        let announced = self.words.announce(sequence, &output.document(&output.outcome), late);
        self.backlog.push(Job { announced, output, text: deferred });
        self.index_in_background();
    }

    /// Adds an output whose record is in a file: by what describes it at first.
    pub fn add_stored(self: &Arc<Self>, sequence: u64, output: IndexedOutput) {
        let output = Arc::new(output);
        let announced = self.words.announce(sequence, &output.document(""), None);
        self.backlog.push(Job { announced, output, text: None });
        self.index_in_background();
    }

    /// Removes an output, and its vector.
    pub fn remove(&self, sequence: u64) {
        self.words.remove(sequence);
        self.vectors().remove(sequence);
    }

    /// Removes all outputs and vectors.
    pub fn clear(&self) {
        self.words.clear();
        self.vectors().clear();
    }

    /// Resolves once everything that was added before is in the index, whole. Helps with it.
    pub async fn complete(&self) {
        // What is added meanwhile is not waited for.
        let end = self.backlog.end();
        loop {
            while self.index_next(end).await {
                // Other tasks run here, and a cancelled caller stops here.
                tokio::task::yield_now().await;
            }
            if self.backlog.wait_before(end).await {
                return;
            }
        }
    }

    /// Indexes the next output that waits; `false` when there is none.
    async fn index_next(&self, before: u64) -> bool {
        let Some(running) = self.backlog.take(before) else { return false };
        let Some(job) = running.job() else { return true };
        if !job.announced.is_removed() {
            match &job.text {
                Some(_) => self.words.complete(&job.announced, None),
                None => {
                    let text = self.stored_text(&job.output).await.unwrap_or_default();
                    let evidence = job.output.evidence(text);
                    self.words.complete(&job.announced, Some(&job.output.document(&evidence)));
                }
            }
        }
        running.done();
        true
    }

    /// What is indexed of the result of a stored output, from its file; `None` when it is gone.
    async fn stored_text(&self, output: &IndexedOutput) -> Option<String> {
        let filename = output.stored.as_ref()?;
        let path = self.directory.path_of(filename);
        let record = self.directory.read_whole(&path, filename).await.ok()?;
        let length = record.len();
        let sample = move || Ok(RecordText::of(Payload::new(record)).map(|text| text.indexed()));
        run_long(length, sample).await.ok().flatten()
    }

    /// Leaves to the indexing thread what additions and removals left to do, when that is much.
    pub fn work_in_background(self: &Arc<Self>) {
        if self.words.has_work() {
            self.index_in_background();
        }
    }

    fn index_in_background(self: &Arc<Self>) {
        if self.backlog.claim_request() {
            let this = Arc::downgrade(self);
            indexer::request(this);
        }
    }
}

impl Indexing for OutputIndex {
    fn index_some(&self, runtime: Option<&Handle>) -> bool {
        for _ in 0..QUANTUM {
            let is_done = match runtime {
                // Reading may need JavaScript's answer, or another thread's.
                Some(runtime) => !runtime.block_on(self.index_next(u64::MAX)),
                None => true,
            };
            if is_done {
                break;
            }
        }
        self.words.maintain();
        if self.ranks_top.load(Ordering::Relaxed) {
            self.words.prepare_top();
        }
        self.backlog.looked(runtime.is_some())
    }

    fn was_refused(&self) {
        self.backlog.looked(false);
    }
}

/// Queries.
impl OutputIndex {
    /// The index of the words.
    pub fn words(&self) -> &Index {
        &self.words
    }

    /// See [`Index::rank_for`].
    pub fn rank_for(
        &self,
        question: &Question,
        known: &dyn Fn(u64) -> bool,
        foreign: &[Document<'_>],
    ) -> RankedList<Ranked> {
        self.words.rank_for(question, known, foreign)
    }

    /// See [`Index::rank_top`]. Where that is not prepared, the indexing thread prepares it.
    pub fn rank_top(
        self: &Arc<Self>,
        question: &Question,
        candidates: &dyn Candidates,
        boosts: &Boosts,
        limit: usize,
    ) -> Option<TopList> {
        let top = self.words.rank_top(question, candidates, boosts, limit);
        if top.is_none() {
            self.ranks_top.store(true, Ordering::Relaxed);
            self.index_in_background();
        }
        top
    }

    /// See [`Index::explain`].
    pub fn explain(&self, query: &Query, sequences: &[u64]) -> Vec<Vec<TermMatch>> {
        self.words.explain(query, sequences)
    }
}

/// Vectors.
impl OutputIndex {
    /// Keeps vectors of outputs that `is_known` knows. Whoever removes an output from what `is_known` asks
    /// removes it here afterwards.
    pub fn add_vectors(
        &self,
        vectors: impl Iterator<Item = (u64, Vector)>,
        is_known: impl Fn(u64) -> bool,
    ) {
        // Locked before the look, so that a removal comes before both or after both.
        let mut kept = self.vectors();
        for (sequence, vector) in vectors {
            if is_known(sequence) {
                kept.insert(sequence, vector);
            }
        }
    }

    /// At most `limit` of the outputs that have no vector and would keep one.
    pub fn without_vector(&self, outputs: impl Iterator<Item = u64>, limit: usize) -> Vec<u64> {
        let vectors = self.vectors();
        outputs.filter(|&sequence| vectors.wants(sequence)).take(limit).collect()
    }

    /// The vectors of outputs that have one of this length.
    pub fn vectors_of(&self, sequences: &[u64], dimensions: usize) -> Vec<Option<Vector>> {
        self.vectors().get(sequences, dimensions)
    }

    /// Drops all vectors when their length is not that of a question's: they come from another model.
    /// Returns the length that they had.
    pub fn drop_other_dimensions(&self, wanted: usize) -> Option<usize> {
        let mut vectors = self.vectors();
        let found = vectors.dimensions();
        let is_other = found != 0 && found != wanted;
        if is_other {
            vectors.clear();
        }
        is_other.then_some(found)
    }
}
