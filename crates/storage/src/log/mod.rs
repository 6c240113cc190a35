//! An append-only log of lines: whole records, in the order of the calls, however many processes
//! write and wherever they crash.
//!
//! - Writers take turns. In a process records queue; between processes a [`FileLock`](crate::FileLock) decides. In a
//!   turn every record is one write; a record that could not be written whole is taken back.
//! - A last line without its end, as a crash leaves it, is ended before the next record, so that
//!   it never runs into it.
//! - At [`Durability::Full`] the records of a turn share one trip to the medium (group commit); the
//!   lock is free meanwhile.
//! - A record may have a check, which reads the log under the lock and may refuse the record.
//! - Readers take no lock: a line that has no end yet is not there yet, everything before it is.
//! - A rewrite (compaction) makes a new file, brings it to the medium, and gives it the log's name.

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

/// Records of one turn: more of them, or of their bytes, wait for the next.
const MAX_TURN_RECORDS: usize = 256;
const MAX_TURN_BYTES: usize = 1024 * 1024;

/// Pauses in which records on their way to the medium gather: as long as more arrive, and no longer
/// than a trip there takes.
const GATHERING: Duration = Duration::from_micros(60);

/// Somebody serves the queue, until everybody who waits is served. When that ends before (a panic,
/// the end of the runtime), who waits is told, and the next to come serves again.
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
            // Outside the lock: who waits wakes up.
            drop(jobs);
        }
    }
}

struct Queue<E> {
    jobs: VecDeque<Job<E>>,
    /// Somebody serves the queue.
    is_served: bool,
    /// When a turn last had the lock.
    progress: Option<Instant>,
}

enum Store {
    Disk(DiskLog),
    Plain(PlainLog),
}

/// A log. All who use the same file in this process share it.
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
    /// The outcome; `None` when the runtime ended before it was there.
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

    /// Queues a record: its place among the others is decided now. Waits at most `patience` for
    /// other processes.
    pub fn append(
        self: &Arc<Self>,
        make: MakeLine<E>,
        durability: Durability,
        patience: Duration,
    ) -> Pending<E, Result<(), AppendError<E>>> {
        self.append_from(LineSource::Make(make), None, durability, patience)
    }

    /// As [`Log::append`], for a record that is written only if `check` allows it.
    pub fn append_checked(
        self: &Arc<Self>,
        make: MakeLine<E>,
        check: Check,
        durability: Durability,
        patience: Duration,
    ) -> Pending<E, Result<(), AppendError<E>>> {
        self.append_from(LineSource::Make(make), Some(check), durability, patience)
    }

    /// As [`Log::append`], for a line that takes long to make, and perhaps with a check: `line` receives it. Records queued before
    /// it are written meanwhile, later ones after it. The append is interrupted when the sender is dropped.
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

    /// Queues a rewrite. The outcome is the new file's length in bytes.
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

    /// The log to read from; `None` when there is no file.
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

    /// The caller vouches for the locks, for all that use this log in the process.
    pub fn trust_locks(&self) {
        if let Store::Disk(log) = &self.store {
            log.trust_locks();
        }
    }

    /// The type of the file system, where its locks are not trusted: known from the first write on.
    #[must_use]
    pub fn untrusted_locks(&self) -> Option<Cow<'static, str>> {
        match &self.store {
            Store::Disk(log) => log.untrusted_locks(),
            Store::Plain(_) => None,
        }
    }

    /// Whether several processes can write without harm: `None` before the first write.
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

    /// Serves everybody who waits, turn after turn.
    async fn serve(self: Arc<Self>) {
        let mut service = Service { log: self, is_over: false };
        loop {
            service.log.gather();
            let Some(jobs) = service.log.next_turn() else { break };
            service.log.take_turn(jobs).await;
        }
        service.is_over = true;
    }

    /// Waits for records that are about to arrive, where several shared the trip to the medium before:
    /// one that comes too late pays for another.
    fn gather(&self) {
        let Store::Disk(log) = &self.store else { return };
        let longest = log.trip_worth_waiting_for();
        let begun = Instant::now();
        let mut waiting = self.queue().jobs.len();
        while waiting > 0 && waiting < MAX_TURN_RECORDS && begun.elapsed() < longest {
            std::thread::sleep(GATHERING);
            let now = self.queue().jobs.len();
            if now == waiting {
                return;
            }
            waiting = now;
        }
    }

    /// A rewrite, or appends as they follow each other; `None`: nobody waits any more.
    fn next_turn(&self) -> Option<Vec<Job<E>>> {
        let mut queue = self.queue();
        let mut turn = Vec::new();
        while turn.len() < MAX_TURN_RECORDS {
            let is_rewrite = match queue.jobs.front() {
                None => break,
                Some(job) => matches!(job, Job::Rewrite { .. }),
            };
            if is_rewrite && !turn.is_empty() {
                break;
            }
            turn.extend(queue.jobs.pop_front());
            if is_rewrite {
                break;
            }
        }
        queue.is_served = !turn.is_empty();
        queue.is_served.then_some(turn)
    }

    async fn take_turn(&self, jobs: Vec<Job<E>>) {
        let (mut records, mut senders, mut bytes) = (Vec::new(), Vec::new(), 0);
        for job in jobs {
            let (line, check, durability, waiting, done) = match job {
                Job::Rewrite { rewrite, waiting, done } => {
                    // Nobody waits any more: nothing to tell, here and below.
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
                        // What was called before it does not wait for it.
                        let records = std::mem::take(&mut records);
                        self.write(records, std::mem::take(&mut senders)).await;
                        bytes = 0;
                    }
                    // Interrupted: the outcome's sender is dropped with this job.
                    let Ok(line) = line.await else { continue };
                    // Waiting for a line is no waiting for other processes.
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
                    if bytes >= MAX_TURN_BYTES {
                        let records = std::mem::take(&mut records);
                        self.write(records, std::mem::take(&mut senders)).await;
                        bytes = 0;
                    }
                }
            }
        }
        self.write(records, senders).await;
    }

    /// Writes records together, each as long as its caller has patience.
    async fn write(&self, mut records: Vec<Record>, mut senders: Vec<Done<E>>) {
        let progress = self.queue().progress;
        let deadline_of = |record: &Record| record.waiting.deadline(progress);
        while let Some(deadline) = records.iter().map(deadline_of).min() {
            let outcome = self.try_write(&records, deadline).await;
            match outcome {
                Err(LogError::LockTimeout) => {
                    // Nothing is written; who has more patience waits on.
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

    /// Tells for each record whether it is there, or why none is.
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
