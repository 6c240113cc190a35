//! The queue of a store's calls. A task writes all that wait, in their order and in few statements, and then those that
//! came in the meantime.

use std::{
    collections::{HashSet, VecDeque},
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use redaction::Redaction;
use tokio::sync::{Notify, oneshot};
use uuid::Uuid;

use super::{
    changes,
    claim::Claim,
    housekeeping,
    puts::{self, Expectation},
    removals,
    rows::CHUNK,
    store::Store,
};
use crate::{
    blocking::run_blocking,
    error::{Code, Error, Result},
    state::{
        name::Place,
        operation::{Operation, Outcome, Put, interrupted, prepare_all},
        revision::Expected,
    },
};

/// The most calls that are written at once.
const MAX_GROUP: usize = 512;
/// The most bytes of values that are written at once, except for a single call.
const MAX_GROUP_BYTES: usize = 8 * 1024 * 1024;
/// With more runs of equal calls than this, one transaction needs fewer round trips than a statement for each.
const MAX_RUNS: usize = 3;
/// The longest namespace and key together, in bytes: a row of an index must fit into a third of a page.
const MAX_PLACE: usize = 2_600;
/// The least time between two removals of old rows by a writer.
const CLEANING: Duration = Duration::from_secs(10);

/// A call in the queue.
pub(super) struct Call {
    pub operations: Vec<Operation>,
    pub redaction: Option<Redaction>,
    pub answer: oneshot::Sender<Result<Vec<Outcome>>>,
}

/// The calls that are written in one way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Puts(Expectation),
    Removals,
    Position,
    Changes,
}

struct Run {
    kind: Kind,
    calls: Vec<Call>,
    places: HashSet<Place>,
}

#[derive(Default)]
struct Queue {
    calls: VecDeque<Call>,
    /// Whether a task takes calls from the queue, or is about to.
    is_running: bool,
}

/// The writer of a store.
pub(super) struct Writer {
    store: Arc<Store>,
    id: Uuid,
    number: AtomicI64,
    queue: Mutex<Queue>,
    cleaned: Mutex<Instant>,
    /// Notified after every change by this store.
    pub changed: Notify,
}

impl Writer {
    pub fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            id: Uuid::new_v4(),
            number: AtomicI64::new(0),
            queue: Mutex::default(),
            cleaned: Mutex::new(Instant::now()),
            changed: Notify::new(),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call to the queue, which decides its place in the order of writes.
    pub fn submit(&self, call: Call) {
        self.queue().calls.push_back(call);
    }

    /// Starts the task if calls wait. Must be called on the runtime.
    pub fn start(self: &Arc<Self>) {
        let is_running = mem::replace(&mut self.queue().is_running, true);
        if !is_running {
            let task = Task(Arc::clone(self));
            tokio::spawn(async move { task.run().await });
        }
    }

    /// Takes the next calls. Without any, the task has ended.
    fn take(&self) -> Vec<Call> {
        let mut queue = self.queue();
        let mut group = Vec::new();
        let mut bytes = 0_usize;
        while group.len() < MAX_GROUP
            && let Some(call) = queue.calls.front()
        {
            bytes =
                call.operations.iter().map(Operation::length).fold(bytes, usize::saturating_add);
            if !group.is_empty() && bytes > MAX_GROUP_BYTES {
                break;
            }
            group.extend(queue.calls.pop_front());
        }
        queue.is_running = !group.is_empty();
        group
    }

    fn claim(&self, changes: usize) -> Claim {
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        Claim { writer: self.id, number, changes }
    }

    async fn write(&self, group: Vec<Call>) {
        let group = self.prepare(group).await;
        for run in runs(group) {
            self.write_run(run).await;
        }
    }

    /// Encodes and redacts the values of a group. Calls for which that fails are answered and removed.
    async fn prepare(&self, group: Vec<Call>) -> Vec<Call> {
        let max_value_bytes = self.store.max_value_bytes;
        let prepared = run_blocking(move |_| {
            let mut prepared = Vec::with_capacity(group.len());
            for mut call in group {
                let redaction = call.redaction.as_ref();
                let done = prepare_all(&mut call.operations, max_value_bytes, redaction)
                    .and_then(|()| call.operations.iter().try_for_each(check_place));
                match done {
                    Ok(()) => prepared.push(call),
                    Err(error) => answer(call.answer, Err(error)),
                }
            }
            Ok(prepared)
        });
        // Without the group, its calls are answered by the drop of their channels.
        prepared.await.unwrap_or_default()
    }

    async fn write_run(&self, mut run: Run) {
        let outcomes = self.try_run(&mut run).await;
        match outcomes {
            Ok(outcomes) => {
                self.changed.notify_waiters();
                for (call, outcome) in run.calls.into_iter().zip(outcomes) {
                    answer(call.answer, outcome);
                }
            }
            // The server refused the statement: a single call may succeed nevertheless.
            Err(error) if run.calls.len() > 1 && error.code == Code::Internal => {
                for call in run.calls {
                    let mut alone =
                        Run { kind: run.kind, calls: vec![call], places: HashSet::new() };
                    let outcome = self.try_run(&mut alone).await;
                    let outcome = outcome.and_then(|all| {
                        all.into_iter().next().unwrap_or_else(|| Err(interrupted()))
                    });
                    self.changed.notify_waiters();
                    if let Some(call) = alone.calls.pop() {
                        answer(call.answer, outcome);
                    }
                }
            }
            Err(error) => fail(run.calls, &error),
        }
    }

    async fn try_run(&self, run: &mut Run) -> Result<Vec<Result<Vec<Outcome>>>> {
        match run.kind {
            Kind::Position => {
                let sequence = self.store.head().await?.position.sequence;
                Ok(run.calls.iter().map(|_| Ok(vec![Outcome::Position(sequence)])).collect())
            }
            Kind::Puts(expectation) => {
                let puts: Vec<&Put> = run.calls.iter().filter_map(single_put).collect();
                puts::write(&self.store, self.claim(puts.len()), &puts, expectation).await
            }
            Kind::Removals => {
                let removals: Vec<_> = run.calls.iter().filter_map(single_removal).collect();
                removals::remove(&self.store, self.claim(removals.len()), &removals).await
            }
            Kind::Changes => {
                let calls: changes::Calls =
                    run.calls.iter_mut().map(|call| mem::take(&mut call.operations)).collect();
                let calls = Arc::new(calls);
                let changing = |operation: &&Operation| {
                    matches!(operation, Operation::Put(_) | Operation::Delete { .. })
                };
                let count = calls.iter().flatten().filter(changing).count();
                let outcomes =
                    changes::write(&self.store, self.claim(count), Arc::clone(&calls)).await;
                if outcomes.is_err()
                    && let Some(calls) = Arc::into_inner(calls)
                {
                    for (call, operations) in run.calls.iter_mut().zip(calls) {
                        call.operations = operations;
                    }
                }
                outcomes
            }
        }
    }

    /// Removes some old rows, if that is due.
    async fn clean(&self) {
        let is_due = {
            let mut cleaned = self.cleaned.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = cleaned.elapsed() > CLEANING;
            if is_due {
                *cleaned = Instant::now();
            }
            is_due
        };
        if is_due {
            // The next writer tries again.
            let _ = housekeeping::clean(&self.store).await;
        }
    }
}

/// The running task. Dropping it, also in a panic, lets another one start.
struct Task(Arc<Writer>);

impl Drop for Task {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let waiting = {
                let mut queue = self.0.queue();
                queue.is_running = false;
                mem::take(&mut queue.calls)
            };
            // Dropping their channels answers the callers with an error.
            drop(waiting);
        }
    }
}

impl Task {
    async fn run(self) {
        loop {
            let group = self.0.take();
            if group.is_empty() {
                return;
            }
            self.0.write(group).await;
            self.0.clean().await;
        }
    }
}

/// The write of a call that consists of one whose value is stored in one piece.
fn single_put(call: &Call) -> Option<&Put> {
    match call.operations.as_slice() {
        [Operation::Put(put)] if put.value.len() <= CHUNK => Some(put),
        _ => None,
    }
}

/// The removal of a call that consists of one.
fn single_removal(call: &Call) -> Option<(&Place, Option<&Expected>)> {
    match call.operations.as_slice() {
        [Operation::Delete { expected: Some(Expected::Absent), .. }] => None,
        [Operation::Delete { place, expected }] => Some((place, expected.as_ref())),
        _ => None,
    }
}

/// How a call is written, and the item that it writes if it is one.
fn kind_of(call: &Call) -> (Kind, Option<&Place>) {
    if let Some(put) = single_put(call) {
        (Kind::Puts(Expectation::of(put)), Some(&put.place))
    } else if let Some((place, _)) = single_removal(call) {
        (Kind::Removals, Some(place))
    } else if matches!(call.operations.as_slice(), [Operation::Position]) {
        (Kind::Position, None)
    } else {
        (Kind::Changes, None)
    }
}

/// Divides a group into runs of calls that are written in one way, in their order.
fn runs(group: Vec<Call>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for call in group {
        let (kind, place) = kind_of(&call);
        let place = place.cloned();
        match runs.last_mut() {
            // A statement writes an item once.
            Some(run)
                if run.kind == kind && place.iter().all(|place| !run.places.contains(place)) =>
            {
                run.places.extend(place);
                run.calls.push(call);
            }
            _ => runs.push(Run { kind, calls: vec![call], places: place.into_iter().collect() }),
        }
    }
    if runs.len() > MAX_RUNS {
        let calls = runs.into_iter().flat_map(|run| run.calls).collect();
        return vec![Run { kind: Kind::Changes, calls, places: HashSet::new() }];
    }
    runs
}

/// Refuses places that are too long for the index.
fn check_place(operation: &Operation) -> Result<()> {
    let Operation::Put(Put { place, .. }) = operation else { return Ok(()) };
    let length = place.namespace.len() + place.key.len();
    if length <= MAX_PLACE {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidArgument,
        format!(
            "the namespace and the key {:?}… take {length} bytes together, and a store with the option storage takes {MAX_PLACE}; use shorter ones",
            String::from_utf8_lossy(place.key.get(..40).unwrap_or(&place.key))
        ),
    ))
}

fn answer(channel: oneshot::Sender<Result<Vec<Outcome>>>, outcome: Result<Vec<Outcome>>) {
    // The caller may have dropped the future.
    let _ = channel.send(outcome);
}

fn fail(calls: Vec<Call>, error: &Error) {
    for call in calls {
        answer(call.answer, Err(error.duplicate()));
    }
}
