//! The outputs whose long part is still to be indexed.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use text_index::Announced;
use tokio::sync::Notify;

use super::indexing::{DeferredText, IndexedOutput};

/// Records waiting in memory, in bytes; further ones are read from where they are stored.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// An output that the index has by what describes it.
pub(super) struct Job {
    pub announced: Arc<Announced>,
    pub output: Arc<IndexedOutput>,
    /// `None`: the record is to be read from where it is stored.
    pub text: Option<Arc<DeferredText>>,
}

impl Job {
    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.record_bytes())
    }
}

/// The outputs of a manager that the index has by what describes them only.
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
    /// The indexing thread was asked to look.
    is_requested: bool,
}

impl Backlog {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a record of so many bytes may wait in memory.
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

    /// The number that the next job gets.
    pub fn end(&self) -> u64 {
        self.waiting().next_number
    }

    /// The next job with a number below `before`; it is running until what is returned is dropped.
    pub fn take(&self, before: u64) -> Option<RunningJob<'_>> {
        let mut waiting = self.waiting();
        waiting.jobs.front().filter(|(number, _)| *number < before)?;
        let (number, job) = waiting.jobs.pop_front()?;
        waiting.bytes -= job.bytes();
        waiting.running.insert(number);
        Some(RunningJob { backlog: self, number, job: Some(job) })
    }

    /// Waits until a job below `end` is there to be taken (`false`) or all of them are done (`true`).
    pub async fn wait_before(&self, end: u64) -> bool {
        loop {
            // Made before the look: a job that ends in between still wakes it.
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

    /// Notes that the indexing thread is asked to look; `false` when it was asked already.
    pub fn claim_request(&self) -> bool {
        !std::mem::replace(&mut self.waiting().is_requested, true)
    }

    /// The indexing thread looked, and `looks_again` where jobs wait; returns whether it does.
    pub fn looked(&self, looks_again: bool) -> bool {
        let mut waiting = self.waiting();
        waiting.is_requested = looks_again && !waiting.jobs.is_empty();
        waiting.is_requested
    }
}

/// A job that is running. One that is given up goes back.
pub(super) struct RunningJob<'a> {
    backlog: &'a Backlog,
    number: u64,
    job: Option<Job>,
}

impl RunningJob<'_> {
    /// The job, until it is done.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// The job is done.
    pub fn done(mut self) {
        self.job = None;
    }
}

impl Drop for RunningJob<'_> {
    fn drop(&mut self) {
        let mut waiting = self.backlog.waiting();
        waiting.running.remove(&self.number);
        // One that failed is not tried again: it would fail for ever.
        if let Some(job) = self.job.take().filter(|_| !thread::panicking()) {
            waiting.bytes += job.bytes();
            let place = waiting.jobs.partition_point(|(number, _)| *number < self.number);
            waiting.jobs.insert(place, (self.number, job));
        }
        drop(waiting);
        self.backlog.settled.notify_waiters();
    }
}
