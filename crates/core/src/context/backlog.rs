//! The queue of long outputs whose text is not indexed yet. `output_index` adds jobs; the indexing thread and searches
//! take them.

use std::{
    collections::{BTreeMap, VecDeque},
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
    jobs: VecDeque<(u64, Arc<Job>)>,
    bytes: usize,
    next_number: u64,
    running: BTreeMap<u64, Taken>,
    /// Whether the indexing thread was asked to work on the queue.
    is_requested: bool,
}

/// A job that was taken.
struct Taken {
    job: Arc<Job>,
    by: Worker,
}

/// Who does a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worker {
    /// The indexing thread, which may get no processor for long.
    Background,
    /// A task that somebody waits for.
    Foreground,
}

impl Waiting {
    /// The first job below `before` that only the indexing thread does.
    fn in_background(&self, before: u64) -> Option<u64> {
        let mut taken = self.running.range(..before);
        taken.find(|(_, taken)| taken.by == Worker::Background).map(|(number, _)| *number)
    }
}

impl Backlog {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a record of this many bytes may wait in memory.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.waiting().bytes + bytes <= MAX_WAITING_BYTES
    }

    /// Whether no job waits.
    pub fn is_empty(&self) -> bool {
        self.waiting().jobs.is_empty()
    }

    /// Adds a job.
    pub fn push(&self, job: Job) {
        let mut waiting = self.waiting();
        let number = waiting.next_number;
        waiting.next_number += 1;
        waiting.bytes += job.bytes();
        waiting.jobs.push_back((number, Arc::new(job)));
    }

    /// The number of the next job.
    pub fn end(&self) -> u64 {
        self.waiting().next_number
    }

    /// Takes the next job with a number below `before`; it counts as running until the returned guard is dropped.
    pub fn take(&self, before: u64, by: Worker) -> Option<RunningJob<'_>> {
        let mut waiting = self.waiting();
        waiting.jobs.front().filter(|(number, _)| *number < before)?;
        let (number, job) = waiting.jobs.pop_front()?;
        waiting.bytes -= job.bytes();
        waiting.running.insert(number, Taken { job: Arc::clone(&job), by });
        Some(RunningJob { backlog: self, number, job: Some(job), is_repeated: false })
    }

    /// A job below `before` that the indexing thread does, to be done once more by a task that somebody waits for. Which of
    /// both ends first does not matter.
    pub fn repeat(&self, before: u64) -> Option<RunningJob<'_>> {
        let mut waiting = self.waiting();
        let number = waiting.in_background(before)?;
        let taken = waiting.running.get_mut(&number)?;
        taken.by = Worker::Foreground;
        let job = Some(Arc::clone(&taken.job));
        Some(RunningJob { backlog: self, number, job, is_repeated: true })
    }

    /// Waits until a job below `end` can be taken or repeated (returns `false`), or all of them are done (returns `true`).
    pub async fn wait_before(&self, end: u64) -> bool {
        loop {
            // Registered before the check, so that a job that ends in between still wakes this task.
            let settled = self.settled.notified();
            {
                let waiting = self.waiting();
                if waiting.jobs.front().is_some_and(|(number, _)| *number < end)
                    || waiting.in_background(end).is_some()
                {
                    return false;
                }
                if waiting.running.range(..end).next().is_none() {
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
    job: Option<Arc<Job>>,
    /// The indexing thread does it as well.
    is_repeated: bool,
}

impl RunningJob<'_> {
    /// The job, unless it is done.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_deref()
    }

    /// Marks the job as done.
    pub fn done(mut self) {
        self.job = None;
    }
}

impl Drop for RunningJob<'_> {
    fn drop(&mut self) {
        let mut waiting = self.backlog.waiting();
        // A job that panicked is not retried: it would panic again.
        let unfinished = self.job.take().filter(|_| !thread::panicking());
        match (unfinished, self.is_repeated) {
            // The indexing thread still does it.
            (Some(_), true) => {
                if let Some(taken) = waiting.running.get_mut(&self.number) {
                    taken.by = Worker::Background;
                }
            }
            (Some(job), false) => {
                if waiting.running.remove(&self.number).is_some() {
                    waiting.bytes += job.bytes();
                    let place = waiting.jobs.partition_point(|(number, _)| *number < self.number);
                    waiting.jobs.insert(place, (self.number, job));
                }
            }
            (None, _) => drop(waiting.running.remove(&self.number)),
        }
        drop(waiting);
        self.backlog.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use text_index::{Document, Index};

    use super::*;

    fn backlog(jobs: u64) -> Backlog {
        let (backlog, index) = (Backlog::default(), Index::new());
        for number in 0..jobs {
            let output = Arc::new(IndexedOutput {
                name: "read".to_owned(),
                description: String::new(),
                arguments: String::new(),
                outcome: String::new(),
                timestamp: 0,
                group: 0,
                stored: None,
            });
            let announced = index.announce(number, &Document::default(), None);
            backlog.push(Job { announced, output, text: None });
        }
        backlog
    }

    fn sequence(running: &RunningJob<'_>) -> u64 {
        running.job().unwrap().announced.sequence()
    }

    #[tokio::test]
    async fn nobody_waits_for_a_job_of_the_indexing_thread() {
        let backlog = backlog(2);
        let slow = backlog.take(2, Worker::Background).unwrap();
        let other = backlog.take(2, Worker::Foreground).unwrap();
        assert!(!backlog.wait_before(2).await);
        let repeated = backlog.repeat(2).unwrap();
        assert_eq!(sequence(&repeated), sequence(&slow));
        assert!(backlog.repeat(2).is_none(), "each job is repeated by one task only");
        repeated.done();
        assert!(backlog.wait_before(1).await, "it is done");
        drop(slow);
        assert!(backlog.take(1, Worker::Foreground).is_none(), "it does not return to the queue");
        other.done();
        assert!(backlog.wait_before(2).await);
    }

    #[tokio::test]
    async fn a_repetition_that_is_given_up_leaves_the_job_to_the_indexing_thread() {
        let backlog = backlog(1);
        let slow = backlog.take(1, Worker::Background).unwrap();
        drop(backlog.repeat(1).unwrap());
        assert!(backlog.take(1, Worker::Foreground).is_none());
        assert!(!backlog.wait_before(1).await, "it can be repeated again");
        slow.done();
        assert!(backlog.repeat(1).is_none());
        assert!(backlog.wait_before(1).await);
    }

    #[test]
    fn a_job_that_is_given_up_returns_to_the_queue() {
        let backlog = backlog(2);
        drop(backlog.take(2, Worker::Background).unwrap());
        assert_eq!(sequence(&backlog.take(2, Worker::Background).unwrap()), 0);
    }
}
