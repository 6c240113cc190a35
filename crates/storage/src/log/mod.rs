//! An append-only log of lines. It contains complete records in the order of the calls, with any number of writing
//! processes and after crashes at any point.
//!
//! - Writers are serialised: within a process by a queue, between processes by a [`FileLock`](crate::FileLock). The
//!   holder of the lock writes a batch of queued records, each with one write. A record that could not be written
//!   completely is rolled back.
//! - A last line without a newline, as a crash leaves it, is terminated before the next record, so that the two are not
//!   merged.
//! - At [`Durability::Full`] the records of a batch share one fsync (group commit); the lock is free meanwhile.
//! - A record may have a check, which reads the log under the lock and may refuse the record.
//! - Readers take no lock. Every line with a newline is complete. A last line without one is returned with
//!   [`Line::is_terminated`] unset, and the caller decides whether it is a record.
//! - A rewrite (compaction) creates a new file, synchronises it, and renames it over the log.

mod check;
mod error;
mod job;
mod lines;
mod on_disk;
mod path;
mod plain;
mod reader;
mod registry;

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

pub use check::{Check, LogView, Verdict};
pub use error::{AppendError, LogError};
pub use job::{MakeLine, Rewrite};
pub use lines::{Line, LinesBackwards, LinesForwards, ReadAt};
pub use path::LogPath;
pub use reader::{LogReader, LogSnapshot};
pub use registry::LogRegistry;

use super::Durability;
use crate::file_system::{FileError, FileSystem};
use job::{Done, Job, LineSource, Record, Waiting};
use on_disk::DiskLog;
use plain::PlainLog;

/// Maximum number and bytes of records in a batch; further records wait for the next.
const MAX_BATCH_RECORDS: usize = 256;
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// Interval at which the writer checks whether further records arrive that can share an fsync. It waits while they do,
/// and not longer than an fsync takes.
const GATHERING: Duration = Duration::from_micros(60);

/// The task that serves the queue until it is empty. When it ends earlier (a panic, the end of the runtime), waiting
/// callers get an error, and the next caller serves the queue.
struct Service<E> {
    log: Arc<Log<E>>,
    is_over: bool,
}

impl<E> Drop for Service<E> {
    fn drop(&mut self) {
        if !self.is_over {
            let jobs = {
                let mut queue = self.log.queue.lock().unwrap_or_else(PoisonError::into_inner);
                queue.is_served = false;
                std::mem::take(&mut queue.jobs)
            };
            // Dropped outside the lock, because this wakes the waiting callers.
            drop(jobs);
        }
    }
}

struct Queue<E> {
    jobs: VecDeque<Job<E>>,
    /// Whether a task serves the queue.
    is_served: bool,
    /// When a batch last held the lock.
    progress: Option<Instant>,
}

enum Store {
    Disk(DiskLog),
    Plain(PlainLog),
}

/// A log. All users of the same file in this process share one object.
pub struct Log<E> {
    store: Store,
    queue: Mutex<Queue<E>>,
}

/// A job in the queue.
#[must_use = "the queue is served when the outcome is awaited"]
pub struct Pending<E, T> {
    log: Arc<Log<E>>,
    outcome: oneshot::Receiver<T>,
}

impl<E: Send + 'static, T> Pending<E, T> {
    /// The outcome; `None` if the runtime ended first.
    pub async fn outcome(self) -> Option<T> {
        if self.log.claims_service() {
            tokio::spawn(Arc::clone(&self.log).serve());
        }
        self.outcome.await.ok()
    }
}

impl<E: Send + 'static> Log<E> {
    fn new(file_system: &Arc<dyn FileSystem>, path: &LogPath) -> Self {
        let store = match file_system.disk() {
            Some(disk) => Store::Disk(DiskLog::new(disk, path.clone())),
            None => Store::Plain(PlainLog::new(Arc::clone(file_system), path.clone())),
        };
        let queue = Mutex::new(Queue { jobs: VecDeque::new(), is_served: false, progress: None });
        Self { store, queue }
    }

    fn queue(&self) -> MutexGuard<'_, Queue<E>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a record. Its position among the others is decided now. Waits at most `patience` for other processes.
    pub fn append(
        self: &Arc<Self>,
        make: MakeLine<E>,
        durability: Durability,
        patience: Duration,
    ) -> Pending<E, Result<(), AppendError<E>>> {
        self.append_from(LineSource::Make(make), None, durability, patience)
    }

    /// As [`Log::append`], for a record that is written only if `check` accepts it.
    pub fn append_checked(
        self: &Arc<Self>,
        make: MakeLine<E>,
        check: Check,
        durability: Durability,
        patience: Duration,
    ) -> Pending<E, Result<(), AppendError<E>>> {
        self.append_from(LineSource::Make(make), Some(check), durability, patience)
    }

    /// As [`Log::append`], for a line that takes long to create: `line` receives it. Earlier records are written
    /// meanwhile, later ones after it. The append is interrupted when the sender is dropped.
    pub fn append_arriving(
        self: &Arc<Self>,
        line: oneshot::Receiver<Vec<u8>>,
        check: Option<Check>,
        durability: Durability,
        patience: Duration,
    ) -> Pending<E, Result<(), AppendError<E>>> {
        self.append_from(LineSource::Arriving(line), check, durability, patience)
    }

    fn append_from(
        self: &Arc<Self>,
        line: LineSource<E>,
        check: Option<Check>,
        durability: Durability,
        patience: Duration,
    ) -> Pending<E, Result<(), AppendError<E>>> {
        let (done, outcome) = oneshot::channel();
        let waiting = Waiting::new(patience);
        self.queue().jobs.push_back(Job::Append { line, check, durability, waiting, done });
        Pending { log: Arc::clone(self), outcome }
    }

    /// Queues a rewrite. Its outcome is the new file's length in bytes.
    pub fn rewrite(
        self: &Arc<Self>,
        rewrite: Rewrite,
        patience: Duration,
    ) -> Pending<E, Result<u64, LogError>> {
        let (done, outcome) = oneshot::channel();
        let waiting = Waiting::new(patience);
        self.queue().jobs.push_back(Job::Rewrite { rewrite, waiting, done });
        Pending { log: Arc::clone(self), outcome }
    }

    /// Opens the log for reading; `None` if there is no file.
    ///
    /// # Errors
    /// The file system's.
    pub async fn reader(&self) -> Result<Option<LogReader>, FileError> {
        let opened = match &self.store {
            Store::Disk(log) => log.open().map(LogReader::File),
            Store::Plain(log) => log.text().await.map(LogReader::Text),
        };
        match opened {
            Err(error) if error.is_not_found() => Ok(None),
            other => other.map(Some),
        }
    }

    /// The log's length in bytes after the last change by this process; 0 before the first one.
    #[must_use]
    pub fn length(&self) -> u64 {
        match &self.store {
            Store::Disk(log) => log.length(),
            Store::Plain(log) => log.length(),
        }
    }

    /// Trusts the locks of the file system: the caller guarantees that they bind, for all users of this log in the
    /// process.
    pub fn trust_locks(&self) {
        if let Store::Disk(log) = &self.store {
            log.trust_locks();
        }
    }

    /// The type of the file system, if its locks are not trusted. Known after the first write.
    #[must_use]
    pub fn untrusted_locks(&self) -> Option<Cow<'static, str>> {
        match &self.store {
            Store::Disk(log) => log.untrusted_locks(),
            Store::Plain(_) => None,
        }
    }

    /// Whether several processes can write safely; `None` before the first write.
    #[must_use]
    pub fn has_locks(&self) -> Option<bool> {
        match &self.store {
            Store::Disk(log) => log.has_locks(),
            Store::Plain(_) => Some(false),
        }
    }

    fn claims_service(&self) -> bool {
        let mut queue = self.queue();
        let claims = !queue.is_served && !queue.jobs.is_empty();
        queue.is_served |= claims;
        claims
    }

    /// Serves the queue, batch after batch, until it is empty.
    async fn serve(self: Arc<Self>) {
        let mut service = Service { log: self, is_over: false };
        loop {
            service.log.gather();
            let Some(jobs) = service.log.next_batch() else { break };
            service.log.run_batch(jobs).await;
        }
        service.is_over = true;
    }

    /// Waits for records that are about to arrive, if several shared the previous fsync: a record that arrives later
    /// needs an fsync of its own.
    fn gather(&self) {
        let Store::Disk(log) = &self.store else { return };
        let longest = log.trip_worth_waiting_for();
        let begun = Instant::now();
        let mut waiting = self.queue().jobs.len();
        while waiting > 0 && waiting < MAX_BATCH_RECORDS && begun.elapsed() < longest {
            std::thread::sleep(GATHERING);
            let now = self.queue().jobs.len();
            if now == waiting {
                return;
            }
            waiting = now;
        }
    }

    /// The next batch: one rewrite, or consecutive appends; `None` when the queue is empty.
    fn next_batch(&self) -> Option<Vec<Job<E>>> {
        let mut queue = self.queue();
        let mut batch = Vec::new();
        while batch.len() < MAX_BATCH_RECORDS {
            let is_rewrite = match queue.jobs.front() {
                None => break,
                Some(job) => matches!(job, Job::Rewrite { .. }),
            };
            if is_rewrite && !batch.is_empty() {
                break;
            }
            batch.extend(queue.jobs.pop_front());
            if is_rewrite {
                break;
            }
        }
        queue.is_served = !batch.is_empty();
        queue.is_served.then_some(batch)
    }

    async fn run_batch(&self, jobs: Vec<Job<E>>) {
        let (mut records, mut senders, mut bytes) = (Vec::new(), Vec::new(), 0);
        for job in jobs {
            let (line, check, durability, waiting, done) = match job {
                Job::Rewrite { rewrite, waiting, done } => {
                    // The caller has dropped its future and needs no result, here and below.
                    let _ = done.send(self.do_rewrite(rewrite, waiting).await);
                    continue;
                }
                Job::Append { line, check, durability, waiting, done } => {
                    (line, check, durability, waiting, done)
                }
            };
            let made = match line {
                LineSource::Make(make) => make(),
                LineSource::Arriving(line) => {
                    if line.is_empty() {
                        // Earlier records must not wait for the line.
                        let records = std::mem::take(&mut records);
                        self.write(records, std::mem::take(&mut senders)).await;
                        bytes = 0;
                    }
                    // Interrupted: the outcome's sender is dropped with this job.
                    let Ok(line) = line.await else { continue };
                    // Waiting for a line does not count as waiting for other processes.
                    self.queue().progress = Some(Instant::now());
                    Ok(line)
                }
            };
            match made {
                Err(error) => drop(done.send(Err(AppendError::Line(error)))),
                Ok(mut line) => {
                    line.push(b'\n');
                    bytes += line.len();
                    records.push(Record { line, check, durability, waiting });
                    senders.push(done);
                    if bytes >= MAX_BATCH_BYTES {
                        let records = std::mem::take(&mut records);
                        self.write(records, std::mem::take(&mut senders)).await;
                        bytes = 0;
                    }
                }
            }
        }
        self.write(records, senders).await;
    }

    /// Writes a batch of records, each with its own timeout.
    async fn write(&self, mut records: Vec<Record>, mut senders: Vec<Done<E>>) {
        let progress = self.queue().progress;
        let deadline_of = |record: &Record| record.waiting.deadline(progress);
        while let Some(deadline) = records.iter().map(deadline_of).min() {
            let outcome = self.try_write(&records, deadline).await;
            match outcome {
                Err(LogError::LockTimeout) => {
                    // Records whose timeout has passed are not written; the others wait on.
                    let (late, patient): (Vec<_>, Vec<_>) = records
                        .into_iter()
                        .zip(senders)
                        .partition(|(record, _)| deadline_of(record) <= deadline);
                    for (_, done) in late {
                        let _ = done.send(Err(AppendError::Log(LogError::LockTimeout)));
                    }
                    (records, senders) = patient.into_iter().unzip();
                }
                Ok(outcomes) => {
                    self.queue().progress = Some(Instant::now());
                    for (done, outcome) in senders.into_iter().zip(outcomes) {
                        let _ = done.send(outcome.map_err(AppendError::Log));
                    }
                    return;
                }
                Err(error) => {
                    for done in senders {
                        let _ = done.send(Err(AppendError::Log(error.duplicate())));
                    }
                    return;
                }
            }
        }
    }

    /// Returns for each record whether it was written, or the error.
    async fn try_write(
        &self,
        records: &[Record],
        deadline: Instant,
    ) -> Result<Vec<Result<(), LogError>>, LogError> {
        match &self.store {
            Store::Disk(log) => log.append(records, deadline).await,
            Store::Plain(log) => log.append(records).await,
        }
    }

    async fn do_rewrite(&self, rewrite: Rewrite, waiting: Waiting) -> Result<u64, LogError> {
        let deadline = waiting.deadline(self.queue().progress);
        match &self.store {
            Store::Disk(log) => log.rewrite(rewrite, deadline).await,
            Store::Plain(log) => log.rewrite(&rewrite).await,
        }
    }
}
