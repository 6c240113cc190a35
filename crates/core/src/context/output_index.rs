//! The index of a manager's outputs: an inverted index of their texts, and the digests of the texts that are embedded.
//!
//! Short outputs are indexed at once, or directly after the save was acknowledged. For a long one, a provisional document
//! with its metadata is added, so that searches can find it, and the text of its result is deferred: the indexing thread
//! adds it later, when the processor has nothing else to do. Searches and selections that need the complete index add all
//! deferred texts first, also the one that the thread has begun.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use rustc_hash::FxHashMap;
use storage::Payload;
use tasks::in_place_if_long;
use text_index::{
    Boosts, Candidates, Document, Index, LateText, Query, Question, Ranked, RankedList, TermMatch,
    TopList,
};
use tokio::runtime::Handle;

use super::{
    backlog::{Backlog, Job, RunningJob, Worker},
    context_directory::ContextDirectory,
    indexer::{self, Indexing},
    indexing::{DeferredText, IndexedOutput, RecordText, SharedText},
};
use crate::vectors::TextDigest;

/// The longest result that is indexed at once, in bytes of JSON; deferring it would cost as much.
const AT_ONCE: usize = 4096;

/// The quantum of the indexing thread: outputs of one manager that are indexed before it continues with the next
/// manager.
const QUANTUM: usize = 64;

/// The index. Document ids are the numbers of the calls that saved the outputs.
pub(super) struct OutputIndex {
    /// Where records that did not stay in memory are read.
    directory: Arc<ContextDirectory>,
    words: Index,
    backlog: Backlog,
    /// The digests of the texts that are embedded, as far as they were read.
    embedded: Mutex<FxHashMap<u64, TextDigest>>,
    /// Whether [`Self::rank_top`] has been called. If so, the index is prepared for it in the background.
    ranks_top: AtomicBool,
}

impl OutputIndex {
    /// An empty index of at most `budget` bytes.
    pub fn new(budget: usize, directory: Arc<ContextDirectory>) -> Self {
        Self {
            directory,
            words: Index::with_budget(budget),
            backlog: Backlog::default(),
            embedded: Mutex::default(),
            ranks_top: AtomicBool::new(false),
        }
    }

    fn embedded(&self) -> MutexGuard<'_, FxHashMap<u64, TextDigest>> {
        self.embedded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an output: completely if it is short, otherwise its metadata only at first.
    ///
    /// `is_waited_for`: the save is the only one in flight, so that its caller waits for this work. A short output is then
    /// completed by a task of its own, which runs after the save has reported its outcome.
    pub fn add(
        self: &Arc<Self>,
        sequence: u64,
        output: IndexedOutput,
        text: RecordText,
        is_waited_for: bool,
    ) {
        let is_short = text.len() <= AT_ONCE;
        let runtime = Handle::try_current().ok().filter(|_| is_short && is_waited_for);
        let runtime = runtime.filter(|_| self.backlog.is_empty());
        if is_short && runtime.is_none() {
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
        match runtime {
            Some(runtime) => {
                let (this, end) = (Arc::clone(self), self.backlog.end());
                runtime.spawn(async move {
                    while this.index_next(end, Worker::Foreground).await {}
                    this.work_in_background();
                });
            }
            None => self.index_in_background(),
        }
    }

    /// Adds an output whose record is in a file: its metadata only at first. The caller calls
    /// [`OutputIndex::index_in_background`] after the last one, so that the thread's reads do not delay the caller's.
    pub fn add_stored(self: &Arc<Self>, sequence: u64, output: IndexedOutput) {
        let output = Arc::new(output);
        let announced = self.words.announce(sequence, &output.document(""), None);
        self.backlog.push(Job { announced, output, text: None });
    }

    /// Removes an output.
    pub fn remove(&self, sequence: u64) {
        self.words.remove(sequence);
        self.embedded().remove(&sequence);
    }

    /// Removes all outputs.
    pub fn clear(&self) {
        self.words.clear();
        self.embedded().clear();
    }

    /// Completes once all outputs that were added before are indexed completely. Works on the queue itself meanwhile.
    pub async fn complete(&self) {
        // Outputs that are added meanwhile are not waited for.
        let end = self.backlog.end();
        loop {
            while self.index_next(end, Worker::Foreground).await {
                // Lets other tasks run; a cancelled caller stops here.
                tokio::task::yield_now().await;
            }
            if let Some(running) = self.backlog.repeat(end) {
                self.index_job(running).await;
                continue;
            }
            if self.backlog.wait_before(end).await {
                return;
            }
        }
    }

    /// Indexes the next output of the queue; returns `false` if there is none.
    async fn index_next(&self, before: u64, by: Worker) -> bool {
        let Some(running) = self.backlog.take(before, by) else { return false };
        self.index_job(running).await;
        true
    }

    async fn index_job(&self, running: RunningJob<'_>) {
        let Some(job) = running.job() else { return };
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
    }

    /// The text to index of a stored output, from its file; `None` if the file was removed.
    async fn stored_text(&self, output: &IndexedOutput) -> Option<String> {
        let filename = output.stored.as_ref()?;
        let path = self.directory.path_of(filename);
        let record = self.directory.read_whole(&path, filename).await.ok()?;
        // In place, so that a search that needs this text does not also wait for the long saves that were called before it, and so
        // that the indexing thread does the work itself, with its low priority.
        let length = record.len();
        let sample = || RecordText::of(Payload::new(record)).map(|text| text.indexed());
        in_place_if_long(length, sample).await
    }

    /// Hands pending work to the indexing thread, if there is enough of it.
    pub fn work_in_background(self: &Arc<Self>) {
        if self.words.has_work() {
            self.index_in_background();
        }
    }

    /// Makes the indexing thread work on the queue.
    pub fn index_in_background(self: &Arc<Self>) {
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
                // An injected file system reads through JavaScript or other threads, so this waits.
                Some(runtime) => !runtime.block_on(self.index_next(u64::MAX, Worker::Background)),
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

    /// As [`Index::rank_top`]. If the index is not prepared, the indexing thread prepares it.
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

/// Embedded texts.
impl OutputIndex {
    /// The digests of the embedded texts of these outputs, as far as they are known.
    pub fn embedded_texts(&self, sequences: &[u64]) -> Vec<Option<TextDigest>> {
        let embedded = self.embedded();
        sequences.iter().map(|sequence| embedded.get(sequence).copied()).collect()
    }

    /// Keeps the digest of the embedded text of an output for which `is_known` returns true. To remove an output, remove it
    /// from the data that `is_known` reads first, and here afterwards.
    pub fn set_embedded_text(
        &self,
        sequence: u64,
        text: TextDigest,
        is_known: impl Fn(u64) -> bool,
    ) {
        // Locked before `is_known` is called, so that a concurrent removal happens before both or after both.
        let mut embedded = self.embedded();
        if is_known(sequence) {
            embedded.insert(sequence, text);
        }
    }
}
