//! Work that takes long, on a thread of its own: the pool's few threads are for work that goes on.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
};

use crate::error::{Error, Result};

/// Set when whoever waits for the work has gone.
#[derive(Clone, Default)]
pub struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    /// Nobody waits any more.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// As if nobody waited.
    #[cfg(test)]
    pub(crate) fn set() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

/// Sets a flag when it is dropped.
struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work on a thread of its own; it is told when the caller is gone.
///
/// # Errors
/// Those of the work; `Internal` when it panicked.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce(&Cancelled) -> Result<T> + Send + 'static,
) -> Result<T> {
    let cancelled = Cancelled::default();
    let _guard = CancelOnDrop(cancelled.clone());
    tokio::task::spawn_blocking(move || work(&cancelled))
        .await
        .unwrap_or_else(|error| Err(Error::internal(format!("the work was interrupted: {error}"))))
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
/// a thread of its own, so that the threads of the pool stay free for other calls. Long works wait for
/// each other in the order in which they come; texts of more than 1 MiB wait only for such texts.
///
/// Work that has begun ends even if the caller is cancelled.
///
/// # Errors
/// Those of the work; `Internal` when the runtime ended before the work began.
pub async fn run_long<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if bytes <= LONG {
        return work();
    }
    let works = if bytes <= VERY_LONG { &LONG_TEXTS } else { &VERY_LONG_TEXTS };
    // Nobody closes it.
    let permit = works.acquire().await;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    match done.await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(Error::internal(format!("the work was interrupted: {error}"))),
    }
}

/// Work at once that each keeps a thread busy for long.
static LONG_WORK: Semaphore = Semaphore::const_new(MAX_LONG_WORKS);

/// Runs work that takes long and borrows what it needs. The other tasks of its thread go elsewhere
/// meanwhile, where the runtime has several threads.
pub async fn in_place<T>(work: impl FnOnce() -> T) -> T {
    // Nobody closes it.
    let _permit = LONG_WORK.acquire().await;
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::error::Code;

    #[tokio::test]
    async fn a_panic_of_the_work_is_an_internal_error() {
        let error = aside(|_| -> Result<()> { panic!("as a test") }).await.unwrap_err();
        assert_eq!(error.code, Code::Internal);
        assert!(error.to_string().ends_with("; please report it"), "{error}");
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
                    Ok(())
                }))
            })
            .collect();
        for bytes in [1, LONG, LONG + 1, VERY_LONG] {
            let short = tokio::spawn(run_long(bytes, move || Ok(bytes)));
            assert_eq!(short.await.unwrap().unwrap(), bytes);
        }
        assert!(long.iter().all(|work| !work.is_finished()));
        drop(release);
        for work in long {
            work.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn an_error_of_long_work_is_returned() {
        let failed = || Err::<(), _>(Error::new(Code::TooLarge, "too large"));
        for bytes in [0, LONG + 1, VERY_LONG + 1] {
            assert_eq!(run_long(bytes, failed).await.unwrap_err().code, Code::TooLarge);
        }
    }

    #[tokio::test]
    async fn a_panic_of_long_work_reaches_the_caller_and_frees_the_thread() {
        for _ in 0..2 * MAX_LONG_WORKS {
            let work = tokio::spawn(run_long(VERY_LONG + 1, || -> Result<()> { panic!("here") }));
            assert!(work.await.unwrap_err().is_panic());
        }
        run_long(VERY_LONG + 1, || Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_caller_that_is_gone_leaves_no_place_taken() {
        for _ in 0..2 * MAX_LONG_WORKS {
            let work = tokio::spawn(run_long(VERY_LONG + 1, || Ok(())));
            tokio::task::yield_now().await;
            work.abort();
        }
        run_long(VERY_LONG + 1, || Ok(())).await.unwrap();
    }
}
