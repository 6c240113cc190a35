//! The thread pool that runs all operations of the addon.

use std::{
    collections::HashMap,
    future::Future,
    io,
    pin::Pin,
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
    memory,
    outbox::{Message, PendingOutcome, Queue},
    text::Part,
};

/// Threads for blocking file operations.
const WAITING_THREADS: usize = 16;

static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();

/// The process's pool, if an operation has started it.
pub fn started() -> Option<&'static Runtime> {
    RUNTIME.get()?.as_ref().ok()
}

/// The process's pool, which the first operation starts. Its threads do not keep the process alive.
pub fn runtime() -> napi::Result<&'static Runtime> {
    let runtime = RUNTIME.get_or_init(|| {
        // Files are written on the pool itself. More than four writers of one directory wait for each other
        // in the kernel.
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        memory::keep_freed_pages();
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

/// The answer of an operation.
pub enum Answer {
    Text(String),
    Texts(Vec<Payload>),
    /// Texts and binary data.
    Parts(Vec<Part>),
}

/// Operations that can be cancelled, by their numbers in their environment.
#[derive(Default)]
pub struct Cancellable(Mutex<HashMap<u32, AbortHandle>>);

impl Cancellable {
    fn handles(&self) -> std::sync::MutexGuard<'_, HashMap<u32, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the operation at its next await, if it still runs.
    pub fn cancel(&self, operation: u32) {
        if let Some(handle) = self.handles().remove(&operation) {
            handle.abort();
        }
    }
}

/// Fails the operation if its task panics, so that its promise is always settled.
struct PanicReport {
    queue: Arc<Queue>,
    operation: u32,
}

impl Drop for PanicReport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = Error::internal("an internal error ended the call");
            let text = super::error::to_json(&error).to_string();
            self.queue.post(Message::Failed(self.operation, text));
        }
    }
}

/// The work of an operation. It has one type for all operations: the pool's code for a task would otherwise be compiled for each,
/// which makes the addon a megabyte larger.
type Work = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send>>;

/// Runs an operation and posts its outcome.
pub fn run<F>(queue: &Arc<Queue>, operation: u32, work: F) -> napi::Result<AbortHandle>
where
    F: Future<Output = Result<Answer, Error>> + Send + 'static,
{
    run_work(queue, operation, Box::pin(work))
}

fn run_work(queue: &Arc<Queue>, operation: u32, work: Work) -> napi::Result<AbortHandle> {
    let outcome = complete(Arc::clone(queue), queue.begin(), operation, work);
    Ok(runtime()?.spawn(outcome).abort_handle())
}

/// Completes an operation that has begun: posts its outcome.
pub async fn complete<F>(queue: Arc<Queue>, pending: PendingOutcome, operation: u32, work: F)
where
    F: Future<Output = Result<Answer, Error>> + Send,
{
    let _panic_report = PanicReport { queue, operation };
    let message = match work.await {
        Ok(Answer::Text(text)) => Message::Done(operation, text),
        Ok(Answer::Texts(texts)) => {
            Message::Texts(operation, texts.into_iter().map(Part::Text).collect())
        }
        Ok(Answer::Parts(parts)) => Message::Texts(operation, parts),
        Err(error) => Message::Failed(operation, super::error::to_json(&error).to_string()),
    };
    pending.finish(message).await;
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
    run_cancellable_work(cancellable, &queue, operation, Box::pin(work))
}

fn run_cancellable_work(
    cancellable: &Arc<Cancellable>,
    queue: &Arc<Queue>,
    operation: u32,
    work: Work,
) -> napi::Result<()> {
    let done = Arc::clone(cancellable);
    // Locked until the handle is inserted, because the operation may end before.
    let mut handles = cancellable.handles();
    let handle = run(queue, operation, async move {
        let outcome = work.await;
        done.handles().remove(&operation);
        outcome
    })?;
    handles.insert(operation, handle);
    Ok(())
}
