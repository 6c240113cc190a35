//! Work that takes long, on threads for blocking work: the runtime's few threads are for tasks that yield.

use std::{
    any::Any,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
    task::{JoinError, JoinHandle},
};

/// A flag that is set when the caller no longer waits for the work.
#[derive(Clone, Default)]
pub struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    /// Whether the caller no longer waits.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// A flag that is set already.
    #[must_use]
    pub fn set() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

/// The work has no outcome: it panicked, or the runtime ended before it began.
#[derive(Debug, thiserror::Error)]
#[error("the work was interrupted: {0}")]
pub struct Interrupted(#[from] JoinError);

/// Sets a flag when it is dropped.
struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work on a thread for blocking work. Its flag is set when the caller drops the future.
///
/// # Errors
/// The work panicked, or the runtime ended before it began.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce(&Cancelled) -> T + Send + 'static,
) -> Result<T, Interrupted> {
    let cancelled = Cancelled::default();
    let _guard = CancelOnDrop(cancelled.clone());
    Ok(spawn_blocking(move || work(&cancelled)).await?)
}

/// As [`tokio::task::spawn_blocking`]. All works have one type for the runtime, whose code for a task would otherwise be compiled
/// for each.
async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let outcome = spawn_boxed(Box::new(move || Box::new(work()))).await?;
    match outcome.downcast() {
        Ok(outcome) => Ok(*outcome),
        Err(_) => unreachable!("the work returns what it is declared to return"),
    }
}

fn spawn_boxed(
    work: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
) -> JoinHandle<Box<dyn Any + Send>> {
    tokio::task::spawn_blocking(work)
}

/// Redacting or parsing a text of more bytes than these takes milliseconds: a thread of the pool that
/// does it keeps other calls waiting.
pub const LONG: usize = 64 * 1024;

/// Texts of more bytes than these do not keep shorter ones waiting.
const VERY_LONG: usize = 1024 * 1024;

/// Works of one length that run at once, at most.
const MAX_LONG_WORKS: usize = 4;

/// Threads that [`run_long`] and [`in_place`] occupy at once, at most.
pub const MAX_LONG_THREADS: usize = 3 * MAX_LONG_WORKS;

static LONG_TEXTS: LazyLock<Semaphore> = LazyLock::new(long_works);
static VERY_LONG_TEXTS: LazyLock<Semaphore> = LazyLock::new(long_works);

/// One work a core: more only share the cores, and each takes memory in proportion to its text.
fn long_works() -> Semaphore {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    Semaphore::new(cores.clamp(2, MAX_LONG_WORKS))
}

/// Runs work whose time is in proportion to a text of `bytes`: at once where the text is short, else on
/// a thread for blocking work, so that the runtime's threads stay free for other calls. Long works wait for
/// each other in the order in which they come; texts of more than 1 MiB wait only for such texts.
///
/// Work that has begun ends even if the caller is cancelled. A panic of the work is passed on.
///
/// # Errors
/// The runtime ended before the work began.
pub async fn run_long<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Interrupted> {
    if bytes <= LONG {
        return Ok(work());
    }
    let works = if bytes <= VERY_LONG { &LONG_TEXTS } else { &VERY_LONG_TEXTS };
    // The semaphore is never closed.
    let permit = works.acquire().await;
    let done = spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    match done.await {
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        done => Ok(done?),
    }
}

/// Work at once that each keeps a thread busy for long.
static LONG_WORK: Semaphore = Semaphore::const_new(MAX_LONG_WORKS);

/// Runs work that takes long and borrows what it needs. The other tasks of its thread go elsewhere
/// meanwhile, where the runtime has several threads.
pub async fn in_place<T>(work: impl FnOnce() -> T) -> T {
    // The semaphore is never closed.
    let _permit = LONG_WORK.acquire().await;
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// As [`in_place`], for work whose time is in proportion to a text of `bytes`; at once where the text is short. Unlike with
/// [`run_long`], the work does not wait for long works that were called before it.
pub async fn in_place_if_long<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= LONG { work() } else { in_place(work).await }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_panic_of_the_work_interrupts_it() {
        let error = run_blocking(|_| panic!("as a test")).await.unwrap_err();
        assert!(error.to_string().starts_with("the work was interrupted: "), "{error}");
    }

    /// More long works than threads wait for a signal that only the short work gives.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn short_work_is_done_before_more_long_works_than_there_are_threads() {
        let (release, blocked) = mpsc::channel::<()>();
        let blocked = Arc::new(std::sync::Mutex::new(blocked));
        let long: Vec<_> = (0..3 * MAX_LONG_WORKS)
            .map(|_| {
                let blocked = Arc::clone(&blocked);
                tokio::spawn(run_long(VERY_LONG + 1, move || {
                    // Fails once the sender is gone, which is the signal.
                    let _ = blocked.lock().unwrap().recv();
                }))
            })
            .collect();
        for bytes in [1, LONG, LONG + 1, VERY_LONG] {
            let short = tokio::spawn(run_long(bytes, move || bytes));
            assert_eq!(short.await.unwrap().unwrap(), bytes);
        }
        assert!(long.iter().all(|work| !work.is_finished()));
        drop(release);
        for work in long {
            work.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn a_panic_of_long_work_reaches_the_caller_and_frees_the_thread() {
        for _ in 0..2 * MAX_LONG_WORKS {
            let work = tokio::spawn(run_long(VERY_LONG + 1, || -> () { panic!("here") }));
            assert!(work.await.unwrap_err().is_panic());
        }
        run_long(VERY_LONG + 1, || ()).await.unwrap();
    }

    #[tokio::test]
    async fn a_caller_that_is_gone_leaves_no_place_taken() {
        for _ in 0..2 * MAX_LONG_WORKS {
            let work = tokio::spawn(run_long(VERY_LONG + 1, || ()));
            tokio::task::yield_now().await;
            work.abort();
        }
        run_long(VERY_LONG + 1, || ()).await.unwrap();
    }
}
