//! The indexing thread: one low-priority thread per process that indexes the long outputs of all managers.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

use tokio::runtime::Handle;

/// A source of work for the thread.
pub(super) trait Indexing: Send + Sync {
    /// Does one quantum of work; returns whether there is more. `runtime` runs its asynchronous operations.
    fn index_some(&self, runtime: Option<&Handle>) -> bool;

    /// Called if the thread could not be started; a later request tries again.
    fn was_refused(&self);
}

/// A request, with the runtime for its operations.
struct Visit {
    target: Weak<dyn Indexing>,
    runtime: Option<Handle>,
}

/// The indexing thread, which is started by the first request.
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

/// Makes the indexing thread work for `target` until it has no more work.
pub(super) fn request(target: Weak<dyn Indexing>) {
    INDEXER.serve(Visit { target, runtime: Handle::try_current().ok() });
}

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
            // Searches do the work instead; later outputs try to start the thread again.
            for visit in visits.waiting.drain(..) {
                if let Some(target) = visit.target.upgrade() {
                    target.was_refused();
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
            let Some(target) = visit.target.upgrade() else { continue };
            let quantum = || target.index_some(visit.runtime.as_ref());
            // A panic while indexing one output must not end the thread.
            let has_more = catch_unwind(AssertUnwindSafe(quantum)).unwrap_or(true);
            drop(target);
            if has_more {
                self.visits().waiting.push_back(visit);
            }
        }
    }
}

/// Lowers the thread's priority as far as possible, so that indexing uses idle processor time only: saves need all
/// processors of a small machine. Searches do not wait for the thread. Not done outside Linux, where the priority is that
/// of the process.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(LOWEST_PRIORITY);
}

/// At least the distance between any priority and the lowest one, to which the system limits it.
#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i32 = 40;
