//! Writing: calls wait in a queue, and those that wait are written in one transaction.

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
    change::{Changes, Operation, Outcome, Stopped},
    erasure,
    failure::{During, failure, is_busy},
    members::MemberPaths,
    opening::Opening,
    revision::random,
    sweep::{self, Removed},
    time::now,
};
use crate::error::{Code, Error, Result};

/// Calls that are written in one transaction.
const MAX_GROUP: usize = 512;
/// Bytes of values that are written in one transaction, if they are not one call's.
const MAX_GROUP_BYTES: usize = 16 * 1024 * 1024;
/// The pauses between attempts to get the write lock.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// What a call wants of the writer.
pub(super) enum Request {
    /// Operations that are done all, or none of them.
    Operations(Vec<Operation>, Option<Redaction>),
    /// Expired items and old changes are removed, all of them.
    Sweep,
    /// Changes up to this number are forgotten.
    Forget(i64),
    /// What is left in unused parts of these pages is overwritten.
    Overwrite(Vec<i64>),
    /// The write-ahead log is written back and cut to nothing, if no other process prevents it.
    CutLog,
}

/// What it gets.
pub(super) enum Response {
    Outcomes(Vec<Outcome>),
    Removed(Removed),
    Forgotten(usize),
    Overwritten,
    /// Whether the log is cut.
    Cut(bool),
}

/// A call that waits for the writer.
pub(super) struct Call {
    pub opening: Arc<Opening>,
    pub request: Request,
    pub durability: Durability,
    /// Values with more bytes are refused.
    pub max_value_bytes: usize,
    /// Changes that are kept for watchers.
    pub max_changes: i64,
    /// Members that are indexed from this call on.
    pub indexes: Arc<Indexes>,
    pub deadline: Instant,
    pub answer: oneshot::Sender<Result<Response>>,
}

/// Members that a store declares, once.
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
    /// A thread takes from it, or is about to.
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
    /// Notified of every change by this process.
    pub changed: Notify,
}

impl Writer {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a call's place in the order of writing.
    pub fn submit(&self, call: Call) {
        self.queue().calls.push_back(call);
    }

    /// Sees to it that a thread writes what waits. Called on the runtime.
    pub fn start(self: &Arc<Self>) {
        let is_running = std::mem::replace(&mut self.queue().is_running, true);
        if !is_running {
            let thread = Thread(Arc::clone(self));
            tokio::task::spawn_blocking(move || thread.run());
        }
    }

    /// Closes the connection when it is idle. Blocks its thread.
    pub fn close(&self) {
        let connected = self.connected().take();
        drop(connected);
    }

    fn connected(&self) -> MutexGuard<'_, Option<Connected>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls that are written next, as many as fit in one transaction.
    fn take(&self, group: &mut Vec<Call>) {
        let mut bytes: usize = group.iter().map(Call::length).sum();
        let mut queue = self.queue();
        while group.len() < MAX_GROUP
            && let Some(call) = queue.calls.front()
        {
            // The log is cut outside of transactions.
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

/// The thread that writes. Another one can start however it ends.
struct Thread(Arc<Writer>);

impl Drop for Thread {
    fn drop(&mut self) {
        if thread::panicking() {
            let waiting = {
                let mut queue = self.0.queue();
                queue.is_running = false;
                std::mem::take(&mut queue.calls)
            };
            // Their callers are answered by the end of their channels.
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
                    // A caller may be gone.
                    let _ = call.answer.send(response);
                }
            }
            // What one call wants may not fit where others' would.
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

/// Makes ready what is to be written, and looks at the file for each store that writes. Calls for which one of these
/// fails are answered and removed.
fn prepare(group: &mut Vec<Call>) {
    let calls = std::mem::take(group);
    for mut call in calls {
        match call.opening.prepare().and_then(|()| call.request.prepare(call.max_value_bytes)) {
            Ok(()) => group.push(call),
            Err(error) => {
                // A caller may be gone.
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
            // In a write-ahead log, FULL brings every commit to stable storage and NORMAL none before a checkpoint.
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

/// Gets the write lock. Calls that wait too long for it are answered and removed; `None` where none is left.
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
                // Processes that wait for each other do not meet at the same moments again.
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
            // Has a group of its own, without a transaction.
            Request::CutLog => Ok(Response::Cut(false)),
        });
    }
    if changes.sequence > sequence {
        sweep::remove_old(&mut changes, max_changes, Some(sweep::STEP))?;
    }
    Ok(responses)
}

/// Does the operations of one call, or none of them.
fn do_all(
    changes: &mut Changes<'_>,
    operations: &[Operation],
) -> rusqlite::Result<Result<Response>> {
    // What a single operation expects is checked before it changes anything.
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

/// Cuts the log for calls that are no others.
fn cut_log(connected: &Connected, path: &Path, group: Vec<Call>) {
    match sweep::cut_log(&connected.connection) {
        Err(error) if !is_busy(&error) => fail(group, &failure("write to", path, &error)),
        cut => {
            let is_cut = cut.unwrap_or(false);
            for call in group {
                // A caller may be gone.
                let _ = call.answer.send(Ok(Response::Cut(is_cut)));
            }
        }
    }
}

fn fail(group: Vec<Call>, error: &Error) {
    for call in group {
        // A caller may be gone.
        let _ = call.answer.send(Err(error.duplicate()));
    }
}

impl Request {
    fn prepare(&mut self, max_value_bytes: usize) -> Result<()> {
        let Self::Operations(operations, redaction) = self else { return Ok(()) };
        for operation in operations {
            if let Operation::Put(put) = operation {
                put.prepare(max_value_bytes, redaction.as_ref())?;
            }
        }
        Ok(())
    }
}

impl Call {
    /// Whether it needs no lock: it only has its turn.
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

/// What a call gets whose writer ended without an answer.
pub(super) fn interrupted() -> Error {
    Error::new(Code::Internal, "a write to the state store was interrupted; please report it")
}
