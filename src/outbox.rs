//! The completion queue: outcomes of operations, debug messages and calls of injected file systems, for the
//! JavaScript thread.
//!
//! Messages are queued in order, and one wake-up of the JavaScript thread takes all of them. There is one
//! queue per environment (the main thread, and each worker thread). `lib/native/border.ts` is its JavaScript
//! side.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use agent_context_core::{Debug, context::Manager};
use napi::{
    Env, Status,
    bindgen_prelude::{Function, Int32ArraySlice, Result},
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode, UnknownReturnValue},
};
use napi_derive::napi;
use redaction::RedactionSession;
use serde::Serialize;
use storage::Payload;
use tokio::sync::oneshot;

use super::{
    redaction::RedactionSource,
    text::{JsText, Part, Utf8},
};

/// Numbers per message in the buffer that `takeMessages` fills: kind and id.
const FIELDS: usize = 2;
/// This many outcomes wake the JavaScript thread at once, …
const BATCH: usize = 32;
/// … or as many as are still pending, but not fewer than these, …
const SMALL_BATCH: usize = 8;
/// … and so does an outcome that waited this long for others.
const PATIENCE: Duration = Duration::from_micros(500);

/// A message; its text has no NUL character, because that separates texts.
pub enum Message {
    /// An operation succeeded: the text of its answer.
    Done(u32, String),
    /// An operation failed: the error as JSON.
    Failed(u32, String),
    /// An operation succeeded: its texts and binary data are fetched one by one.
    Texts(u32, Vec<Part>),
    /// A debug message for a manager, as JSON.
    Debug(u32, String),
    /// A call of an injected file system, as JSON; the content to write is fetched separately.
    Call(u32, String, Option<Payload>),
    /// The progress of an operation, as JSON.
    Progress(u32, String),
}

/// The answer of an injected file system: a text, or the error as JSON.
pub type Answer = std::result::Result<String, String>;

type Wake = ThreadsafeFunction<(), UnknownReturnValue, (), Status, false, true>;

/// The queue of one environment.
pub struct Queue {
    wake: Wake,
    is_awake: AtomicBool,
    is_closed: AtomicBool,
    /// Operations whose outcome was not posted yet.
    pending: AtomicUsize,
    messages: Mutex<Waiting>,
    texts: Mutex<HashMap<u32, VecDeque<Part>>>,
    contents: Mutex<HashMap<u32, Payload>>,
    calls: Mutex<HashMap<u32, oneshot::Sender<Answer>>>,
    managers: Mutex<Vec<Weak<Manager>>>,
    next_call: AtomicU32,
}

/// The queued messages, and the time since which the first one waits.
#[derive(Default)]
struct Waiting {
    messages: VecDeque<Message>,
    since: Option<Instant>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    /// Begins an operation: its outcome is pending until the returned value is finished or dropped.
    pub fn begin(self: &Arc<Self>) -> PendingOutcome {
        self.pending.fetch_add(1, Ordering::AcqRel);
        PendingOutcome(Arc::clone(self))
    }

    /// As [`Queue::begin`], for `count` operations.
    pub fn begin_all(self: &Arc<Self>, count: usize) -> PendingOutcomes {
        self.pending.fetch_add(count, Ordering::AcqRel);
        PendingOutcomes { queue: Arc::clone(self), count }
    }

    /// Queues a message, and wakes the JavaScript thread unless it is awake already.
    pub fn post(&self, message: Message) {
        self.push(message);
        self.wake();
    }

    fn push(&self, message: Message) -> (usize, Duration) {
        let mut waiting = lock(&self.messages);
        waiting.messages.push_back(message);
        let since = *waiting.since.get_or_insert_with(Instant::now);
        (waiting.messages.len(), since.elapsed())
    }

    fn wake(&self) {
        let is_useless = self.is_closed.load(Ordering::Acquire)
            || lock(&self.messages).messages.is_empty()
            || self.is_awake.swap(true, Ordering::AcqRel);
        if !is_useless {
            // Fails if the environment is closing, which then needs no messages.
            let _ = self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// A debug callback that posts messages for the hooks with this number, if `is_heard`. Messages are
    /// redacted.
    pub fn debug(
        self: &Arc<Self>,
        hooks: u32,
        is_heard: bool,
        redaction: Option<RedactionSource>,
    ) -> Debug {
        if !is_heard {
            return Debug::default();
        }
        let queue = Arc::clone(self);
        Debug::new(move |message, data| {
            let mut text = serde_json::json!({ "message": message, "data": data }).to_string();
            let mut pass = RedactionSession::new(redaction.as_ref().map(RedactionSource::current));
            if pass.token(&mut text).is_err() {
                text = serde_json::json!({ "message": message }).to_string();
            }
            queue.post(Message::Debug(hooks, text));
        })
    }

    /// Posts the progress of an operation.
    pub fn progress(&self, operation: u32, progress: &impl Serialize) {
        // Progress has only numbers, so it can always be encoded.
        if let Ok(text) = serde_json::to_string(progress) {
            self.post(Message::Progress(operation, text));
        }
    }

    /// Calls an injected file system; `request` builds the request from the call's number.
    pub async fn call(
        &self,
        request: impl FnOnce(u32) -> (String, Option<Payload>),
    ) -> Option<Answer> {
        let call = self.next_call.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        lock(&self.calls).insert(call, sender);
        let (text, content) = request(call);
        self.post(Message::Call(call, text, content));
        if self.is_closed.load(Ordering::Acquire) {
            lock(&self.calls).remove(&call);
        }
        receiver.await.ok()
    }

    /// A message in the form for JavaScript; texts and contents are kept to be fetched.
    fn unpack(&self, message: Message) -> (i32, u32, String) {
        match message {
            Message::Done(id, text) => (0, id, text),
            Message::Failed(id, text) => (1, id, text),
            Message::Texts(id, texts) => {
                lock(&self.texts).insert(id, texts.into());
                (2, id, String::new())
            }
            Message::Debug(id, text) => (3, id, text),
            Message::Call(id, text, content) => {
                if let Some(content) = content {
                    lock(&self.contents).insert(id, content);
                }
                (4, id, text)
            }
            Message::Progress(id, text) => (5, id, text),
        }
    }

    /// Registers a manager of this environment, whose session ends with the environment.
    pub fn register(&self, manager: &Arc<Manager>) {
        let mut managers = lock(&self.managers);
        if managers.len() == managers.capacity() {
            managers.retain(|manager| manager.strong_count() > 0);
        }
        managers.push(Arc::downgrade(manager));
    }

    /// Closes the queue when the environment ends: calls that wait for JavaScript fail, and all sessions end,
    /// because not every runtime finalises a worker's objects.
    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        lock(&self.calls).clear();
        lock(&self.messages).messages.clear();
        let managers = std::mem::take(&mut *lock(&self.managers));
        for manager in managers.iter().filter_map(Weak::upgrade) {
            manager.end();
        }
    }
}

/// An operation whose outcome was not posted yet.
pub struct PendingOutcome(Arc<Queue>);

/// Operations that begin together.
pub struct PendingOutcomes {
    queue: Arc<Queue>,
    /// How many were not taken yet.
    count: usize,
}

impl Iterator for PendingOutcomes {
    type Item = PendingOutcome;

    fn next(&mut self) -> Option<PendingOutcome> {
        self.count = self.count.checked_sub(1)?;
        Some(PendingOutcome(Arc::clone(&self.queue)))
    }
}

impl Drop for PendingOutcomes {
    fn drop(&mut self) {
        self.queue.pending.fetch_sub(self.count, Ordering::AcqRel);
    }
}

impl PendingOutcome {
    /// The queue that gets the outcome.
    pub fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.0)
    }

    /// Posts the outcome. A wake-up costs the JavaScript thread more than an outcome, so while other
    /// operations are about to finish, this waits for some of them.
    pub async fn finish(self, message: Message) {
        let queue = Arc::clone(&self.0);
        drop(self);
        let (count, waited) = queue.push(message);
        let others = queue.pending.load(Ordering::Acquire);
        let wanted = others.clamp(SMALL_BATCH, BATCH);
        if others > 0 && count < wanted && waited < PATIENCE {
            // Lets all tasks run that are ready.
            tokio::task::yield_now().await;
        }
        queue.wake();
    }
}

impl Drop for PendingOutcome {
    fn drop(&mut self) {
        self.0.pending.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The queues of all environments by their numbers. A runtime may run JavaScript after it has finalised an
/// environment's objects (Deno does, at the end of each test file); calls from there look up their queue
/// here, and find none.
static QUEUES: LazyLock<Mutex<HashMap<u32, Arc<Queue>>>> = LazyLock::new(Mutex::default);

fn queue_of(outbox: u32) -> Option<Arc<Queue>> {
    lock(&QUEUES).get(&outbox).map(Arc::clone)
}

/// The JavaScript object for a queue. It lives as long as its environment.
#[napi]
pub struct Outbox {
    queue: Arc<Queue>,
    number: u32,
}

#[napi]
impl Outbox {
    /// `wake` is called on the JavaScript thread when messages wait; it must not throw.
    #[napi(constructor)]
    pub fn new(env: Env, wake: Function<'_, (), UnknownReturnValue>) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // Weak: idle managers must not keep the process alive.
        let wake = wake.build_threadsafe_function::<()>().weak::<true>().build()?;
        let queue = Arc::new(Queue {
            wake,
            is_awake: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            pending: AtomicUsize::new(0),
            messages: Mutex::default(),
            texts: Mutex::default(),
            contents: Mutex::default(),
            calls: Mutex::default(),
            managers: Mutex::default(),
            next_call: AtomicU32::new(0),
        });
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        lock(&QUEUES).insert(number, Arc::clone(&queue));
        let hooked = Arc::clone(&queue);
        env.add_env_cleanup_hook((), move |()| close(number, &hooked))?;
        Ok(Self { queue, number })
    }

    /// The number that identifies the queue in the functions below.
    #[napi(getter)]
    pub fn number(&self) -> u32 {
        self.number
    }
}

/// Closes the queue of an environment that ends.
fn close(number: u32, queue: &Queue) {
    lock(&QUEUES).remove(&number);
    queue.close();
}

impl Drop for Outbox {
    /// Some runtimes finalise objects before they call cleanup hooks.
    fn drop(&mut self) {
        close(self.number, &self.queue);
    }
}

/// Takes the queued messages. `numbers[0]` becomes their count, followed by kind and id of each; the returned
/// text has their texts, separated by NUL characters.
#[napi(ts_return_type = "string | null")]
pub fn take_messages(outbox: u32, mut numbers: Int32ArraySlice<'_>) -> Option<JsText> {
    // SAFETY: this is the only reference to the array's memory while the call lasts, and no
    // JavaScript runs meanwhile.
    let numbers = unsafe { numbers.as_mut() };
    let capacity = numbers.len().saturating_sub(1) / FIELDS;
    let (first, slots) = numbers.split_first_mut()?;
    *first = 0;
    let queue = queue_of(outbox)?;
    // Reset before the messages are taken: a message that is queued after that wakes the thread again.
    queue.is_awake.store(false, Ordering::Release);
    let mut waiting = lock(&queue.messages);
    let count = waiting.messages.len().min(capacity);
    let batch: Vec<Message> = waiting.messages.drain(..count).collect();
    waiting.since = None;
    drop(waiting);
    *first = i32::try_from(count).unwrap_or_default();
    if count == 0 {
        return None;
    }
    let mut texts = String::new();
    for (number, (message, slot)) in
        batch.into_iter().zip(slots.chunks_exact_mut(FIELDS)).enumerate()
    {
        if number > 0 {
            texts.push('\0');
        }
        let (kind, id, text) = queue.unpack(message);
        texts.push_str(&text);
        slot.copy_from_slice(&[kind, id.cast_signed()]);
    }
    // Paths are mostly ASCII, which engines copy faster than they decode UTF-8.
    Some(JsText(Payload::new(texts.into_bytes())))
}

/// The next text or binary data of an operation's answer; `null` after the last one.
#[napi(ts_return_type = "string | Uint8Array | null")]
pub fn next_text(outbox: u32, operation: u32) -> Option<Part> {
    let queue = queue_of(outbox)?;
    let mut texts = lock(&queue.texts);
    let text = texts.get_mut(&operation)?.pop_front();
    if text.is_none() {
        texts.remove(&operation);
    }
    text
}

/// The content that a call of an injected file system writes.
#[napi(ts_return_type = "string | null")]
pub fn content_of_call(outbox: u32, call: u32) -> Option<JsText> {
    lock(&queue_of(outbox)?.contents).remove(&call).map(JsText)
}

/// Answers a call of an injected file system.
#[napi]
pub fn answer_call(
    outbox: u32,
    call: u32,
    is_failure: bool,
    #[napi(ts_arg_type = "string")] text: Utf8,
) {
    let text = text.into_string();
    let sender = queue_of(outbox).and_then(|queue| lock(&queue.calls).remove(&call));
    if let Some(sender) = sender {
        // The operation that made the call may have ended.
        let _ = sender.send(if is_failure { Err(text) } else { Ok(text) });
    }
}

impl Outbox {
    /// The queue, for operations to post to.
    pub fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.queue)
    }
}
