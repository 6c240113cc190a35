//! The writing side of a database: one thread takes waiting calls from a queue and writes them in one transaction
//! (group commit).

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use redaction::Redaction;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use storage::Durability;
use tokio::sync::{Notify, oneshot};

use super::{
    change::{Changes, Stopped},
    erasure,
    failure::{During, failure, is_busy},
    members::MemberPaths,
    opening::Opening,
    sweep::{self, Removed},
};
use crate::{
    error::{Error, Result},
    state::{
        operation::{Operation, Outcome, prepare_all},
        revision::random,
        time::now,
    },
};

/// The most calls in one transaction.
const MAX_GROUP: usize = 512;
/// The most bytes of values in one transaction, except for a single call.
const MAX_GROUP_BYTES: usize = 16 * 1024 * 1024;
/// The pauses between attempts to take the write lock.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// A request to the writer.
pub(super) enum Request {
    /// Carries out the operations, all or none of them.
    Operations(Vec<Operation>, Option<Redaction>),
    /// Removes all expired items and old changes.
    Sweep,
    /// Removes the changes up to this number.
    Forget(i64),
    /// Overwrites the remains in unused parts of these pages.
    Overwrite(Vec<i64>),
    /// Writes the write-ahead log back and truncates it, unless another process prevents it.
    CutLog,
}

/// The response to a request.
pub(super) enum Response {
    Outcomes(Vec<Outcome>),
    Removed(Removed),
    Forgotten(usize),
    Overwritten,
    /// Whether the log was truncated.
    Cut(bool),
}

/// A call in the queue.
pub(super) struct Call {
    pub opening: Arc<Opening>,
    pub request: Request,
    pub durability: Durability,
    /// The longest value, in bytes.
    pub max_value_bytes: usize,
    /// The number of changes that are kept for watchers.
    pub max_changes: i64,
    /// The members that are indexed from this call on.
    pub indexes: Arc<Indexes>,
    pub deadline: Instant,
    pub answer: oneshot::Sender<Result<Response>>,
}

/// The members that a store declares, once.
pub(super) struct Indexes {
    pub paths: Vec<Vec<String>>,
    pub is_declared: std::sync::atomic::AtomicBool,
}

impl Indexes {
    fn is_missing(&self) -> bool {
        !self.paths.is_empty() && !self.is_declared.load(std::sync::atomic::Ordering::Acquire)
    }
}

#[derive(Default)]
struct Queue {
    calls: VecDeque<Call>,
    /// Whether a thread takes calls from the queue, or is about to.
    is_running: bool,
}

/// The connection that writes.
struct Connected {
    connection: Connection,
    file: Option<(u64, u64)>,
    paths: MemberPaths,
    durability: Option<Durability>,
}

/// The writer of a file in this process.
#[derive(Default)]
pub(super) struct Writer {
    queue: Mutex<Queue>,
    connected: Mutex<Option<Connected>>,
    /// Notified after every change by this process.
    pub changed: Notify,
}

impl Writer {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call to the queue, which decides its place in the order of writes.
    pub fn submit(&self, call: Call) {
        self.queue().calls.push_back(call);
    }

    /// Starts a thread if calls wait. Must be called on the runtime.
    pub fn start(self: &Arc<Self>) {
        let is_running = std::mem::replace(&mut self.queue().is_running, true);
        if !is_running {
            let thread = Thread(Arc::clone(self));
            tokio::task::spawn_blocking(move || thread.run());
        }
    }

    /// Closes the connection once it is idle. Blocks its thread.
    pub fn close(&self) {
        let connected = self.connected().take();
        drop(connected);
    }

    fn connected(&self) -> MutexGuard<'_, Option<Connected>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next calls, as many as fit into one transaction.
    fn take(&self, group: &mut Vec<Call>) {
        let mut bytes: usize = group.iter().map(Call::length).sum();
        let mut queue = self.queue();
        while group.len() < MAX_GROUP
            && let Some(call) = queue.calls.front()
        {
            // Truncating the log needs a group of its own, because it runs outside transactions.
            if !group.is_empty() && (call.cuts_log() || group.iter().any(Call::cuts_log)) {
                break;
            }
            bytes = bytes.saturating_add(call.length());
            if !group.is_empty() && bytes > MAX_GROUP_BYTES {
                break;
            }
            group.extend(queue.calls.pop_front());
        }
    }
}

/// The running thread. Dropping it, also in a panic, lets another one start.
struct Thread(Arc<Writer>);

impl Drop for Thread {
    fn drop(&mut self) {
        if thread::panicking() {
            let waiting = {
                let mut queue = self.0.queue();
                queue.is_running = false;
                std::mem::take(&mut queue.calls)
            };
            // Dropping their channels answers the callers with an error.
            drop(waiting);
        }
    }
}

impl Thread {
    fn run(self) {
        loop {
            let mut group = Vec::new();
            self.0.take(&mut group);
            if group.is_empty() {
                let mut queue = self.0.queue();
                if queue.calls.is_empty() {
                    queue.is_running = false;
                    return;
                }
                continue;
            }
            self.write(group);
        }
    }

    fn write(&self, mut group: Vec<Call>) {
        prepare(&mut group);
        let Some(opening) = group.first().map(|call| Arc::clone(&call.opening)) else { return };
        let mut connected = self.0.connected();
        match connect(&mut connected, &opening) {
            Ok(connected) if group.iter().any(Call::cuts_log) => {
                cut_log(connected, &opening.path, group);
            }
            Ok(connected) => self.write_group(connected, &opening.path, group),
            Err(error) => fail(group, &error),
        }
    }

    fn write_group(&self, connected: &mut Connected, path: &Path, mut group: Vec<Call>) {
        let outcome = self.try_group(connected, path, &mut group);
        match outcome {
            Ok(responses) => {
                self.0.changed.notify_waiters();
                for (call, response) in group.into_iter().zip(responses) {
                    // The caller may have dropped the future.
                    let _ = call.answer.send(response);
                }
            }
            // A single call may fit even if the whole group does not.
            Err(_) if group.len() > 1 => {
                for call in group {
                    self.write_group(connected, path, vec![call]);
                }
            }
            Err(error) => fail(group, &error),
        }
    }

    fn try_group(
        &self,
        connected: &mut Connected,
        path: &Path,
        group: &mut Vec<Call>,
    ) -> Result<Vec<Result<Response>>> {
        let is_durable = |call: &Call| matches!(call.durability, Durability::Full);
        let durability =
            if group.iter().any(is_durable) { Durability::Full } else { Durability::Process };
        connected.set_durability(durability).during("write to", path)?;
        let Connected { connection, paths, .. } = connected;
        let Some(transaction) = begin(connection, path, group)? else { return Ok(Vec::new()) };
        let written = write(&transaction, paths, group).during("write to", path)?;
        transaction.commit().during("write to", path)?;
        for call in group.iter() {
            call.indexes.is_declared.store(true, std::sync::atomic::Ordering::Release);
        }
        Ok(written)
    }
}

/// Prepares the values of a group, and checks the file for each store in it. Calls for which that fails are answered
/// and removed.
fn prepare(group: &mut Vec<Call>) {
    let calls = std::mem::take(group);
    for mut call in calls {
        match call.opening.prepare().and_then(|()| call.request.prepare(call.max_value_bytes)) {
            Ok(()) => group.push(call),
            Err(error) => {
                // The caller may have dropped the future.
                let _ = call.answer.send(Err(error));
            }
        }
    }
}

fn connect<'a>(
    connected: &'a mut Option<Connected>,
    opening: &Opening,
) -> Result<&'a mut Connected> {
    let file = opening.file()?;
    let usable = connected.take().filter(|connected| connected.file == file);
    let usable = match usable {
        Some(usable) => usable,
        None => Connected {
            connection: opening.writer()?,
            file,
            paths: MemberPaths::default(),
            durability: None,
        },
    };
    Ok(connected.insert(usable))
}

impl Connected {
    fn set_durability(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.durability != Some(durability) {
            let is_full = matches!(durability, Durability::Full);
            // With a write-ahead log, FULL makes every commit durable, and NORMAL only checkpoints.
            let level = if is_full { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            if cfg!(target_vendor = "apple") {
                self.connection.pragma_update(None, "fullfsync", is_full)?;
                self.connection.pragma_update(None, "checkpoint_fullfsync", true)?;
            }
            self.durability = Some(durability);
        }
        Ok(())
    }
}

/// Takes the write lock. Calls whose timeout expires are answered and removed; `None` if none is left.
fn begin<'a>(
    connection: &'a Connection,
    path: &Path,
    group: &mut Vec<Call>,
) -> Result<Option<Transaction<'a>>> {
    let behavior = if group.iter().all(Call::is_read) {
        TransactionBehavior::Deferred
    } else {
        TransactionBehavior::Immediate
    };
    let mut pause = FIRST_PAUSE;
    loop {
        match Transaction::new_unchecked(connection, behavior) {
            Ok(transaction) => return Ok(Some(transaction)),
            Err(error) if is_busy(&error) => {
                let time = Instant::now();
                let late = group.extract_if(.., |call| call.deadline <= time).collect::<Vec<_>>();
                fail(late, &failure("write to", path, &error));
                if group.is_empty() {
                    return Ok(None);
                }
                // A random pause, so that processes do not collide again and again.
                thread::sleep(pause.mul_f64(0.5 + f64::from(random() % 1024) / 1024.0));
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(error) => return Err(failure("write to", path, &error)),
        }
    }
}

fn write(
    transaction: &Transaction<'_>,
    paths: &mut MemberPaths,
    group: &[Call],
) -> rusqlite::Result<Vec<Result<Response>>> {
    paths.refresh(transaction)?;
    for call in group.iter().filter(|call| call.indexes.is_missing()) {
        paths.declare(transaction, &call.indexes.paths)?;
    }
    let sequence = transaction
        .prepare_cached("SELECT ifnull(max(sequence), 0) FROM change")?
        .query_row([], |row| row.get(0))?;
    let mut changes =
        Changes { connection: transaction, paths, now: now(), nonce: random(), sequence };
    let mut responses = Vec::with_capacity(group.len());
    let max_changes = group.iter().map(|call| call.max_changes).max().unwrap_or(i64::MAX);
    for call in group {
        responses.push(match &call.request {
            Request::Operations(operations, _) => do_all(&mut changes, operations)?,
            Request::Sweep => {
                Ok(Response::Removed(sweep::remove_old(&mut changes, max_changes, None)?))
            }
            Request::Forget(until) => Ok(Response::Forgotten(sweep::forget(&mut changes, *until)?)),
            Request::Overwrite(pages) => {
                erasure::overwrite(transaction, pages)?;
                Ok(Response::Overwritten)
            }
            // Handled in a group of its own, outside transactions.
            Request::CutLog => Ok(Response::Cut(false)),
        });
    }
    if changes.sequence > sequence {
        sweep::remove_old(&mut changes, max_changes, Some(sweep::STEP))?;
    }
    Ok(responses)
}

/// Carries out all operations of one call, or none.
fn do_all(
    changes: &mut Changes<'_>,
    operations: &[Operation],
) -> rusqlite::Result<Result<Response>> {
    // A single operation is checked before it changes anything, so it needs no savepoint.
    let is_undone = operations.len() > 1;
    let sequence = changes.sequence;
    if is_undone {
        changes.connection.prepare_cached("SAVEPOINT call")?.execute([])?;
    }
    let outcomes = operations.iter().map(|operation| changes.apply(operation)).collect();
    let response = match outcomes {
        Ok(outcomes) => Ok(Response::Outcomes(outcomes)),
        Err(Stopped::Failed(error)) => return Err(error),
        Err(Stopped::Refused(error)) => {
            if is_undone {
                changes.connection.prepare_cached("ROLLBACK TO call")?.execute([])?;
                changes.sequence = sequence;
            }
            Err(error)
        }
    };
    if is_undone {
        changes.connection.prepare_cached("RELEASE call")?.execute([])?;
    }
    Ok(response)
}

/// Truncates the log for a group of such calls.
fn cut_log(connected: &Connected, path: &Path, group: Vec<Call>) {
    match sweep::cut_log(&connected.connection) {
        Err(error) if !is_busy(&error) => fail(group, &failure("write to", path, &error)),
        cut => {
            let is_cut = cut.unwrap_or(false);
            for call in group {
                // The caller may have dropped the future.
                let _ = call.answer.send(Ok(Response::Cut(is_cut)));
            }
        }
    }
}

fn fail(group: Vec<Call>, error: &Error) {
    for call in group {
        // The caller may have dropped the future.
        let _ = call.answer.send(Err(error.duplicate()));
    }
}

impl Request {
    fn prepare(&mut self, max_value_bytes: usize) -> Result<()> {
        match self {
            Self::Operations(operations, redaction) => {
                prepare_all(operations, max_value_bytes, redaction.as_ref())
            }
            _ => Ok(()),
        }
    }
}

impl Call {
    /// Whether it needs no lock, only its place in the queue.
    fn is_read(&self) -> bool {
        match &self.request {
            Request::Operations(operations, _) => {
                operations.iter().all(|operation| matches!(operation, Operation::Position))
                    && !self.indexes.is_missing()
            }
            Request::Sweep | Request::Forget(_) | Request::Overwrite(_) | Request::CutLog => false,
        }
    }

    fn length(&self) -> usize {
        match &self.request {
            Request::Operations(operations, _) => operations.iter().map(Operation::length).sum(),
            Request::Sweep | Request::Forget(_) | Request::Overwrite(_) | Request::CutLog => 0,
        }
    }

    fn cuts_log(&self) -> bool {
        matches!(self.request, Request::CutLog)
    }
}
