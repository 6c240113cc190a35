//! Work that takes long, on a thread of its own: the pool's few threads are for work that goes on.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
};

use crate::error::{Code, Error, Result};

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
/// Those of the work; `Io` when it panicked.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce(&Cancelled) -> Result<T> + Send + 'static,
) -> Result<T> {
    let cancelled = Cancelled::default();
    let _guard = CancelOnDrop(cancelled.clone());
    tokio::task::spawn_blocking(move || work(&cancelled)).await.unwrap_or_else(|error| {
        Err(Error::new(Code::Io, format!("the work was interrupted: {error}")))
    })
}

/// Work at once that each keeps a thread busy for long.
static LONG_WORK: Semaphore = Semaphore::const_new(4);

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
