//! The queue of a writer. Queued entries are written in the order of the calls, those that wait at the same time in one
//! statement: a single caller waits for one round trip.

use std::{
    collections::{HashSet, VecDeque},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use database::{Database, Failure};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{
    super::record::{Appended, Previous, RedactedEntry, conflict},
    pages::last_entry,
    rows::{NewRow, Outcome, Place},
};
use crate::error::{Error, Result};

/// Maximum number and bytes of entries in a statement; further entries wait for the next.
const MAX_BATCH_ENTRIES: usize = 256;
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// Callers whose entries shared a statement append again at about the same time: the next statement waits for them, for at most
/// this part of a round trip.
const GATHERING_SHARE: u32 = 4;
const GATHERING: Duration = Duration::from_millis(1);

/// A line, and what was redacted in it.
pub(super) struct Made {
    pub line: Vec<u8>,
    pub redacted: Option<RedactedEntry>,
}

/// Creates a line.
pub(super) type Make = Box<dyn FnOnce() -> Result<Made> + Send>;

/// The source of an entry's line.
pub(super) enum Source {
    /// Created by the task that serves the queue.
    Make(Make),
    /// Created elsewhere, while earlier entries are written.
    Arriving(oneshot::Receiver<Made>),
}

/// An entry in the queue.
pub(super) struct Job {
    pub source: Source,
    pub operation_id: Option<String>,
    pub previous: Option<Previous>,
    /// The longest line that is read to find the last entry.
    pub max_line: usize,
    pub done: oneshot::Sender<Result<Appended>>,
}

impl Job {
    /// Whether the entry can be in the same statement as those of a batch.
    fn joins(&self, operations: &HashSet<String>) -> bool {
        let is_ready = match &self.source {
            Source::Make(_) => true,
            Source::Arriving(line) => !line.is_empty(),
        };
        let is_repeated = self.operation_id.as_ref().is_some_and(|id| operations.contains(id));
        is_ready && self.previous.is_none() && !is_repeated
    }
}

/// An entry whose line is there.
struct Ready {
    row: NewRow,
    redacted: Option<RedactedEntry>,
    operation_id: Option<String>,
    previous: Option<Previous>,
    max_line: usize,
    done: oneshot::Sender<Result<Appended>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Whether a task serves the queue.
    is_served: bool,
}

/// The key of the next row.
#[derive(Clone, Copy)]
struct Next {
    lane: Uuid,
    number: i64,
}

impl Next {
    fn in_new_lane() -> Self {
        Self { lane: Uuid::new_v4(), number: 1 }
    }
}

/// The entries of the last statement, and how long it took.
#[derive(Clone, Copy, Default)]
struct Pace {
    entries: usize,
    round_trip: Duration,
}

/// A writer of this process. All histories of the same log share it.
pub(super) struct Lane {
    database: Arc<Database>,
    namespace: String,
    queue: Mutex<Queue>,
    /// Changed by the task that serves the queue, here and below.
    next: Mutex<Next>,
    pace: Mutex<Pace>,
}

/// The task that serves the queue until it is empty. When it ends earlier (a panic, the end of the runtime), waiting callers get
/// an error, and the next caller serves the queue.
struct Service {
    lane: Arc<Lane>,
    is_over: bool,
}

impl Drop for Service {
    fn drop(&mut self) {
        if !self.is_over {
            let jobs = {
                let mut queue = self.lane.queue();
                queue.is_served = false;
                std::mem::take(&mut queue.jobs)
            };
            // The outcome of the last statement is unknown, so its numbers are not used again.
            self.lane.set_next(Next::in_new_lane());
            // Dropped outside the lock, because this wakes the waiting callers.
            drop(jobs);
        }
    }
}

impl Lane {
    pub fn new(database: Arc<Database>, namespace: String) -> Self {
        let next = Mutex::new(Next::in_new_lane());
        Self { database, namespace, queue: Mutex::default(), next, pace: Mutex::default() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Next {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_next(&self, next: Next) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }

    /// Queues an entry. Its place among the others is decided now.
    pub fn push(&self, job: Job) {
        self.queue().jobs.push_back(job);
    }

    /// Serves the queue in a task, unless one does.
    pub fn ensure_served(self: &Arc<Self>) {
        let claims = {
            let mut queue = self.queue();
            let claims = !queue.is_served && !queue.jobs.is_empty();
            queue.is_served |= claims;
            claims
        };
        if claims {
            tokio::spawn(Arc::clone(self).serve());
        }
    }

    async fn serve(self: Arc<Self>) {
        let mut service = Service { lane: self, is_over: false };
        let lane = Arc::clone(&service.lane);
        loop {
            lane.gather().await;
            let Some(batch) = lane.next_batch().await else { break };
            let (begun, entries) = (Instant::now(), batch.len());
            lane.write(batch).await;
            *lane.pace() = Pace { entries, round_trip: begun.elapsed() };
        }
        service.is_over = true;
    }

    /// Waits for the callers of the last statement while their next entries arrive.
    async fn gather(&self) {
        let pace = *self.pace();
        let begun = Instant::now();
        let mut waiting = self.queue().jobs.len();
        while waiting > 0
            && waiting < pace.entries
            && begun.elapsed() + GATHERING <= pace.round_trip / GATHERING_SHARE
        {
            tokio::time::sleep(GATHERING).await;
            let now = self.queue().jobs.len();
            if now == waiting {
                return;
            }
            waiting = now;
        }
    }

    /// The next job, if it can be in a batch with these operations; `None` ends the batch, and an empty batch ends the service.
    fn take(&self, batch: &[Ready], operations: &HashSet<String>) -> Option<Job> {
        let mut queue = self.queue();
        if batch.is_empty() {
            queue.is_served = !queue.jobs.is_empty();
            return queue.jobs.pop_front();
        }
        let joins = queue.jobs.front().is_some_and(|job| job.joins(operations));
        if joins { queue.jobs.pop_front() } else { None }
    }

    /// The entries of the next statement; `None` when the queue is empty.
    async fn next_batch(&self) -> Option<Vec<Ready>> {
        let (mut batch, mut operations, mut bytes) = (Vec::new(), HashSet::new(), 0);
        while batch.len() < MAX_BATCH_ENTRIES && bytes < MAX_BATCH_BYTES {
            let Some(job) = self.take(&batch, &operations) else { break };
            let Job { source, operation_id, previous, max_line, done } = job;
            let made = match source {
                Source::Make(make) => make(),
                // Interrupted: the outcome's sender is dropped with this job.
                Source::Arriving(line) => {
                    let Ok(made) = line.await else { continue };
                    Ok(made)
                }
            };
            match made {
                // The caller may have dropped its future, here and below.
                Err(error) => drop(done.send(Err(error))),
                Ok(Made { line, redacted }) => {
                    bytes += line.len();
                    operations.extend(operation_id.clone());
                    let is_conditional = previous.is_some();
                    let row = NewRow::of(line);
                    batch.push(Ready { row, redacted, operation_id, previous, max_line, done });
                    if is_conditional {
                        break;
                    }
                }
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    async fn write(&self, mut batch: Vec<Ready>) {
        let next = self.next();
        let place = Place {
            database: &self.database,
            namespace: &self.namespace,
            lane: next.lane,
            first: next.number,
        };
        let count = i64::try_from(batch.len()).unwrap_or(i64::MAX);
        let is_clear = match batch.pop_if(|ready| ready.previous.is_some()) {
            Some(ready) => self.write_after(&place, ready).await,
            None => self.write_all(&place, batch).await,
        };
        self.set_next(if is_clear {
            Next { number: next.number + count, ..next }
        } else {
            // Rows may be written yet, so their numbers are not used again.
            Next::in_new_lane()
        });
    }

    /// Whether the outcome of all entries is known, here and below.
    async fn write_all(&self, place: &Place<'_>, batch: Vec<Ready>) -> bool {
        let mut rows = Vec::with_capacity(batch.len());
        let mut callers = Vec::with_capacity(batch.len());
        for Ready { row, redacted, done, .. } in batch {
            rows.push(row);
            callers.push((redacted, done));
        }
        match place.insert(rows).await {
            Ok(outcomes) => {
                for ((redacted, done), outcome) in callers.into_iter().zip(outcomes) {
                    let _ = done.send(self.appended(outcome, redacted));
                }
                true
            }
            Err(failure) => {
                let error = self.failed(failure);
                for (_, done) in callers {
                    let _ = done.send(Err(error.duplicate()));
                }
                false
            }
        }
    }

    async fn write_after(&self, place: &Place<'_>, ready: Ready) -> bool {
        let Ready { row, redacted, operation_id, previous, max_line, done } = ready;
        let outcome = self.try_after(place, row, operation_id, previous, max_line).await;
        let is_clear = outcome.is_ok();
        let _ = done.send(match outcome {
            Ok(outcome) => self.appended(outcome, redacted),
            Err(failure) => Err(self.failed(failure)),
        });
        is_clear
    }

    /// A repeated operation is no conflict, whatever was appended after its entry.
    async fn try_after(
        &self,
        place: &Place<'_>,
        row: NewRow,
        operation_id: Option<String>,
        previous: Option<Previous>,
        max_line: usize,
    ) -> std::result::Result<Outcome, Failure> {
        if let Some(id) = operation_id
            && let Some(entry) = place.earlier(&id).await?
        {
            return Ok(Outcome::Earlier(entry));
        }
        let last = last_entry(&self.database, &self.namespace, max_line).await?;
        let is_expected = match (&last.id, previous) {
            (None, Some(Previous::Nothing)) => true,
            (Some(last), Some(Previous::Entry(id))) => *last == id,
            _ => false,
        };
        if !is_expected {
            return Ok(Outcome::Refused);
        }
        place.insert_after(last.position, row).await
    }

    fn appended(&self, outcome: Outcome, redacted: Option<RedactedEntry>) -> Result<Appended> {
        match outcome {
            Outcome::Written => Ok(Appended::Written { redacted }),
            Outcome::Earlier(entry) => Ok(Appended::Earlier { entry }),
            Outcome::Refused => Err(conflict(Path::new(&self.namespace))),
        }
    }

    fn failed(&self, failure: Failure) -> Error {
        Error::from_database("append to", &self.namespace, failure)
    }
}
