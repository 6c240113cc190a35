//! Indexing in the background: short outputs are indexed at once, long ones when nobody waits.
//!
//! A long output is announced with what describes it, so that it is found at once, and its result
//! follows: on one thread of the process with a low priority, or on the thread of whoever needs the
//! index complete.

use std::{
    collections::{BTreeSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

use storage::Payload;
use text_index::{Announced, Document, LateText};
use tokio::{runtime::Handle, sync::Notify};

use super::{manager::Manager, record};
use crate::blocking::run_long;

/// A result's text is indexed up to this many bytes; of a longer one its beginning, its end and
/// pieces from in between.
pub(super) const MAX_INDEXED_RESULT: usize = 128 * 1024;

/// Results of at most so many bytes of JSON are indexed at once: handing them over costs as much.
const AT_ONCE: usize = 4096;

/// Records waiting in memory, in bytes; further ones are read from where they are stored.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// Outputs indexed for one manager before the next one's turn.
const TURN: usize = 64;

/// What is indexed of a stored output.
pub(super) struct IndexedOutput {
    pub name: String,
    pub description: String,
    pub arguments: String,
    pub timestamp: i64,
    pub group: u64,
    /// The file, once it is there: a record that waits need not stay in memory then.
    pub stored: Option<String>,
}

impl IndexedOutput {
    fn document<'a>(&'a self, result: &'a str) -> Document<'a> {
        Document {
            name: &self.name,
            description: &self.description,
            arguments: &self.arguments,
            result,
            group: self.group,
            timestamp: self.timestamp,
        }
    }
}

/// A record, and where its result begins.
pub(super) struct RecordText {
    pub record: Payload,
    pub result: usize,
}

impl RecordText {
    fn of(record: Payload) -> Option<Self> {
        let result = record::check(&record).ok()?.start;
        Some(Self { record, result })
    }

    /// The result's text, as far as it is indexed.
    fn indexed(&self) -> String {
        let mut text = String::new();
        let result = self.record.get(self.result..).unwrap_or_default();
        json_text::append_sample(
            result.strip_suffix(b"}").unwrap_or(result),
            &mut text,
            MAX_INDEXED_RESULT,
        );
        text
    }

    fn len(&self) -> usize {
        self.record.len() - self.result.min(self.record.len())
    }
}

/// An output whose record is at hand.
struct Late(Arc<IndexedOutput>, RecordText);

/// A [`Late`] that the index shares with the queue.
struct SharedLate(Arc<Late>);

impl LateText for SharedLate {
    fn bytes(&self) -> usize {
        let Late(_, text) = &*self.0;
        text.len().min(MAX_INDEXED_RESULT)
    }

    fn read(&self, read: &mut dyn FnMut(&Document<'_>)) {
        let Late(output, text) = &*self.0;
        read(&output.document(&text.indexed()));
    }
}

/// An announced output.
struct Job {
    number: u64,
    announced: Arc<Announced>,
    output: Arc<IndexedOutput>,
    /// `None`: the record is to be read from where it is stored.
    late: Option<Arc<Late>>,
}

impl Job {
    fn bytes(&self) -> usize {
        self.late.as_ref().map_or(0, |late| late.1.record.len())
    }
}

/// The outputs of a manager that are announced only.
#[derive(Default)]
pub(super) struct Backlog {
    waiting: Mutex<Waiting>,
    settled: Notify,
}

#[derive(Default)]
struct Waiting {
    /// By their numbers.
    jobs: VecDeque<Job>,
    bytes: usize,
    next_number: u64,
    under_way: BTreeSet<u64>,
    /// The indexing thread is going to look.
    is_queued: bool,
}

impl Backlog {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job with a number below `before`; it counts as under way until what is returned is dropped.
    fn take(&self, before: u64) -> Option<Taken<'_>> {
        let mut waiting = self.waiting();
        waiting.jobs.front().filter(|job| job.number < before)?;
        let job = waiting.jobs.pop_front()?;
        waiting.bytes -= job.bytes();
        waiting.under_way.insert(job.number);
        Some(Taken { backlog: self, number: job.number, job: Some(job) })
    }
}

/// A job under way. One that is given up goes back.
struct Taken<'a> {
    backlog: &'a Backlog,
    number: u64,
    job: Option<Job>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut waiting = self.backlog.waiting();
        waiting.under_way.remove(&self.number);
        // One that failed is not tried again: it would fail for ever.
        if let Some(job) = self.job.take().filter(|_| !thread::panicking()) {
            waiting.bytes += job.bytes();
            let place = waiting.jobs.partition_point(|other| other.number < job.number);
            waiting.jobs.insert(place, job);
        }
        drop(waiting);
        self.backlog.settled.notify_waiters();
    }
}

impl Manager {
    /// Puts an output into the index: at once when it is short, else by what describes it.
    pub(super) fn index_output(
        self: &Arc<Self>,
        sequence: u64,
        output: IndexedOutput,
        text: RecordText,
    ) {
        if text.len() <= AT_ONCE {
            self.index.add(sequence, &output.document(&text.indexed()));
            if self.index.has_work() {
                self.index_in_background();
            }
            return;
        }
        let output = Arc::new(output);
        let has_room = self.backlog.waiting().bytes + text.record.len() <= MAX_WAITING_BYTES;
        let is_kept = has_room || output.stored.is_none();
        let late = is_kept.then(|| Arc::new(Late(Arc::clone(&output), text)));
        let read_late =
            late.as_ref().map(|late| Box::new(SharedLate(Arc::clone(late))) as Box<dyn LateText>);
        let announced = self.index.announce(sequence, &output.document(""), read_late);
        let mut waiting = self.backlog.waiting();
        let job = Job { number: waiting.next_number, announced, output, late };
        waiting.next_number += 1;
        waiting.bytes += job.bytes();
        waiting.jobs.push_back(job);
        drop(waiting);
        self.index_in_background();
    }

    /// Resolves once everything that was saved before is in the index, whole. Helps with it.
    pub async fn settle_index(&self) {
        // What is saved meanwhile is not waited for.
        let end = self.backlog.waiting().next_number;
        loop {
            while self.index_next(end).await {
                // Others get their turn, and whoever was cancelled stops here.
                tokio::task::yield_now().await;
            }
            // Made before the look: a job that ends in between still wakes it.
            let settled = self.backlog.settled.notified();
            {
                let waiting = self.backlog.waiting();
                if waiting.jobs.front().is_some_and(|job| job.number < end) {
                    continue;
                }
                if waiting.under_way.first().is_none_or(|&number| number >= end) {
                    return;
                }
            }
            settled.await;
        }
    }

    /// Does what indexing left to do, rather than leaving it to the background.
    pub fn maintain_index(&self) {
        self.index.maintain();
    }

    /// What the index takes in memory, in bytes, about.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        self.index.bytes()
    }

    /// Indexes the next output that waits; `false` when none does.
    async fn index_next(&self, before: u64) -> bool {
        let Some(mut taken) = self.backlog.take(before) else { return false };
        let Some(job) = &taken.job else { return true };
        if !job.announced.is_removed() {
            match &job.late {
                Some(_) => self.index.complete(&job.announced, None),
                None => {
                    let text = self.stored_text(&job.output).await.unwrap_or_default();
                    self.index.complete(&job.announced, Some(&job.output.document(&text)));
                }
            }
        }
        taken.job = None;
        true
    }

    /// What is indexed of the result of one of the manager's own outputs, from its file; `None` when it
    /// is gone.
    async fn stored_text(&self, output: &IndexedOutput) -> Option<String> {
        let filename = output.stored.as_ref()?;
        let record = self.read_from_disk(&self.path_of(filename), filename).await.ok()?;
        let length = record.len();
        let sample = move || Ok(RecordText::of(Payload::new(record)).map(|text| text.indexed()));
        run_long(length, sample).await.ok().flatten()
    }

    /// Has the indexing thread look at this manager.
    pub(super) fn index_in_background(self: &Arc<Self>) {
        let is_queued = std::mem::replace(&mut self.backlog.waiting().is_queued, true);
        if !is_queued {
            INDEXER.serve(Visit {
                manager: Arc::downgrade(self),
                runtime: Handle::try_current().ok(),
            });
        }
    }

    /// A turn of the indexing thread; whether there is more to do.
    fn index_some(&self, runtime: Option<&Handle>) -> bool {
        for _ in 0..TURN {
            let is_done = match runtime {
                // Reading may need JavaScript's answer, or another thread's.
                Some(runtime) => !runtime.block_on(self.index_next(u64::MAX)),
                None => true,
            };
            if is_done {
                break;
            }
        }
        self.index.maintain();
        let mut waiting = self.backlog.waiting();
        waiting.is_queued = runtime.is_some() && !waiting.jobs.is_empty();
        waiting.is_queued
    }
}

/// A manager that has something to index, and where its operations run.
struct Visit {
    manager: Weak<Manager>,
    runtime: Option<Handle>,
}

/// The process's indexing thread, started when there is something to index.
struct Indexer {
    visits: Mutex<Visits>,
    woken: Condvar,
}

struct Visits {
    waiting: VecDeque<Visit>,
    is_running: bool,
}

static INDEXER: Indexer = Indexer {
    visits: Mutex::new(Visits { waiting: VecDeque::new(), is_running: false }),
    woken: Condvar::new(),
};

impl Indexer {
    fn visits(&self) -> MutexGuard<'_, Visits> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&'static self, visit: Visit) {
        let mut visits = self.visits();
        visits.waiting.push_back(visit);
        if visits.is_running {
            self.woken.notify_one();
            return;
        }
        let thread = thread::Builder::new().name("agent-context-index".to_owned());
        visits.is_running = thread.spawn(|| self.run()).is_ok();
        if !visits.is_running {
            // Whoever searches does the work; later outputs try again.
            for visit in visits.waiting.drain(..) {
                if let Some(manager) = visit.manager.upgrade() {
                    manager.backlog.waiting().is_queued = false;
                }
            }
        }
    }

    fn run(&self) {
        lower_priority();
        loop {
            let mut visits = self.visits();
            let visit = loop {
                match visits.waiting.pop_front() {
                    Some(visit) => break visit,
                    None => {
                        visits = self.woken.wait(visits).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(visits);
            let Some(manager) = visit.manager.upgrade() else { continue };
            let turn = || manager.index_some(visit.runtime.as_ref());
            // A fault in one output must not end the indexing of all others.
            let has_more = catch_unwind(AssertUnwindSafe(turn)).unwrap_or(true);
            drop(manager);
            if has_more {
                self.visits().waiting.push_back(visit);
            }
        }
    }
}

/// Indexing is to use what the agent leaves of the processor. On Linux this is a thread's own
/// matter, elsewhere it would slow the whole process.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}
