//! The queue of long outputs whose text is not indexed yet. `output_index` adds jobs; the indexing thread and searches
//! take them.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use text_index::Announced;
use tokio::sync::Notify;

use super::indexing::{DeferredText, IndexedOutput};

/// The most bytes of records that wait in memory; the records of further jobs are read again from their files.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// An output of which the index has the metadata only.
pub(super) struct Job {
    pub announced: Arc<Announced>,
    pub output: Arc<IndexedOutput>,
    /// `None`: the record has to be read from its file.
    pub text: Option<Arc<DeferredText>>,
}

impl Job {
    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.record_bytes())
    }
}

/// The queue of one manager.
#[derive(Default)]
pub(super) struct Backlog {
    waiting: Mutex<Waiting>,
    settled: Notify,
}

#[derive(Default)]
struct Waiting {
    /// In the order of their numbers.
    jobs: VecDeque<(u64, Job)>,
    bytes: usize,
    next_number: u64,
    running: BTreeSet<u64>,
    /// Whether the indexing thread was asked to work on the queue.
    is_requested: bool,
}

impl Backlog {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a record of this many bytes may wait in memory.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.waiting().bytes + bytes <= MAX_WAITING_BYTES
    }

    /// Adds a job.
    pub fn push(&self, job: Job) {
        let mut waiting = self.waiting();
        let number = waiting.next_number;
        waiting.next_number += 1;
        waiting.bytes += job.bytes();
        waiting.jobs.push_back((number, job));
    }

    /// The number of the next job.
    pub fn end(&self) -> u64 {
        self.waiting().next_number
    }

    /// Takes the next job with a number below `before`; it counts as running until the returned guard is dropped.
    pub fn take(&self, before: u64) -> Option<RunningJob<'_>> {
        let mut waiting = self.waiting();
        waiting.jobs.front().filter(|(number, _)| *number < before)?;
        let (number, job) = waiting.jobs.pop_front()?;
        waiting.bytes -= job.bytes();
        waiting.running.insert(number);
        Some(RunningJob { backlog: self, number, job: Some(job) })
    }

    /// Waits until a job below `end` can be taken (returns `false`), or all of them are done (returns `true`).
    pub async fn wait_before(&self, end: u64) -> bool {
        loop {
            // Registered before the check, so that a job that ends in between still wakes this task.
            let settled = self.settled.notified();
            {
                let waiting = self.waiting();
                if waiting.jobs.front().is_some_and(|(number, _)| *number < end) {
                    return false;
                }
                if waiting.running.first().is_none_or(|&number| number >= end) {
                    return true;
                }
            }
            settled.await;
        }
    }

    /// Records a request to the indexing thread; returns `false` if there was one already.
    pub fn claim_request(&self) -> bool {
        !std::mem::replace(&mut self.waiting().is_requested, true)
    }

    /// Clears the request after the indexing thread has worked, or repeats it if `looks_again` is set and jobs wait;
    /// returns whether it was repeated.
    pub fn looked(&self, looks_again: bool) -> bool {
        let mut waiting = self.waiting();
        waiting.is_requested = looks_again && !waiting.jobs.is_empty();
        waiting.is_requested
    }
}

/// A running job. If it is dropped before it is done, it goes back to the queue.
pub(super) struct RunningJob<'a> {
    backlog: &'a Backlog,
    number: u64,
    job: Option<Job>,
}

impl RunningJob<'_> {
    /// The job, unless it is done.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Marks the job as done.
    pub fn done(mut self) {
        self.job = None;
    }
}

impl Drop for RunningJob<'_> {
    fn drop(&mut self) {
        let mut waiting = self.backlog.waiting();
        waiting.running.remove(&self.number);
        // A job that panicked is not retried: it would panic again.
        if let Some(job) = self.job.take().filter(|_| !thread::panicking()) {
            waiting.bytes += job.bytes();
            let place = waiting.jobs.partition_point(|(number, _)| *number < self.number);
            waiting.jobs.insert(place, (self.number, job));
        }
        drop(waiting);
        self.backlog.settled.notify_waiters();
    }
}
