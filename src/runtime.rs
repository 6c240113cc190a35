//! The thread pool that all work of the addon runs on.

use std::{
    collections::HashMap,
    future::Future,
    io,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use agent_context_core::Error;
use storage::Payload;
use tasks::MAX_LONG_THREADS;
use tokio::{
    runtime::{Builder, Runtime},
    task::AbortHandle,
};

use super::{
    outbox::{Message, Queue},
    text::Part,
};

/// Threads for work that waits for the medium.
const WAITING_THREADS: usize = 16;

static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();

/// The process's pool, when an operation has started it.
pub fn started() -> Option<&'static Runtime> {
    RUNTIME.get()?.as_ref().ok()
}

/// The process's pool, started with the first operation. Its threads do not keep the process alive.
fn runtime() -> napi::Result<&'static Runtime> {
    let runtime = RUNTIME.get_or_init(|| {
        // Files are written on the pool itself. More than four writers of one directory wait for
        // each other in the kernel.
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Builder::new_multi_thread()
            .worker_threads(cores.clamp(2, 4))
            .max_blocking_threads(WAITING_THREADS + MAX_LONG_THREADS)
            .thread_name("agent-context")
            .enable_time()
            .build()
    });
    runtime.as_ref().map_err(|error| {
        napi::Error::from_reason(format!("the thread pool could not be started: {error}"))
    })
}

/// What an operation answers with.
pub enum Answer {
    Text(String),
    Texts(Vec<Payload>),
    /// Texts and bytes.
    Parts(Vec<Part>),
}

/// Operations that can be cancelled, by their number in their environment.
#[derive(Default)]
pub struct Cancellable(Mutex<HashMap<u32, AbortHandle>>);

impl Cancellable {
    fn handles(&self) -> std::sync::MutexGuard<'_, HashMap<u32, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the operation at its next pause, if it still runs.
    pub fn cancel(&self, operation: u32) {
        if let Some(handle) = self.handles().remove(&operation) {
            handle.abort();
        }
    }
}

/// Somebody waits for the operation: a fault of ours must not keep them waiting for ever.
struct ToldWhenPanicking {
    queue: Arc<Queue>,
    operation: u32,
}

impl Drop for ToldWhenPanicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = Error::internal("an internal error ended the call");
            let text = super::error::to_json(&error).to_string();
            self.queue.post(Message::Failed(self.operation, text));
        }
    }
}

/// Runs an operation and posts its outcome.
pub fn run<F>(queue: &Arc<Queue>, operation: u32, work: F) -> napi::Result<AbortHandle>
where
    F: Future<Output = Result<Answer, Error>> + Send + 'static,
{
    let runtime = runtime()?;
    let pending = queue.begin();
    let told = ToldWhenPanicking { queue: Arc::clone(queue), operation };
    let task = runtime.spawn(async move {
        let _told = told;
        let message = match work.await {
            Ok(Answer::Text(text)) => Message::Done(operation, text),
            Ok(Answer::Texts(texts)) => {
                Message::Texts(operation, texts.into_iter().map(Part::Text).collect())
            }
            Ok(Answer::Parts(parts)) => Message::Texts(operation, parts),
            Err(error) => Message::Failed(operation, super::error::to_json(&error).to_string()),
        };
        pending.finish(message).await;
    });
    Ok(task.abort_handle())
}

/// Runs an operation that [`Cancellable::cancel`] can stop.
pub fn run_cancellable<F>(
    cancellable: &Arc<Cancellable>,
    queue: Arc<Queue>,
    operation: u32,
    work: F,
) -> napi::Result<()>
where
    F: Future<Output = Result<Answer, Error>> + Send + 'static,
{
    let done = Arc::clone(cancellable);
    // Held until the handle is in: the operation may be over before.
    let mut handles = cancellable.handles();
    let handle = run(&queue, operation, async move {
        let outcome = work.await;
        done.handles().remove(&operation);
        outcome
    })?;
    handles.insert(operation, handle);
    Ok(())
}
