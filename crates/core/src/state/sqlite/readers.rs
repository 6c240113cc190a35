//! The reading side of a database: a queue of calls, at most four connections, and as many threads for blocking work,
//! which end when the queue is empty.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{failure::During, opening::Opening};
use crate::{
    error::{Error, Result},
    state::words::Words,
};

/// The most reading connections; more would compete for the same pages.
const MAX_READERS: usize = 4;

type Work = Box<dyn FnOnce(Result<&Reader>) + Send>;

struct Waiting {
    opening: Arc<Opening>,
    work: Work,
}

/// A connection, with the identity of its file.
pub(super) struct Reader {
    connection: Connection,
    file: Option<(u64, u64)>,
    words: Arc<Words>,
}

impl Reader {
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The cached words of items that searches have read.
    pub fn words(&self) -> &Words {
        &self.words
    }
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// The number of running threads.
    threads: usize,
    idle: Vec<Reader>,
    /// The cached words of a file's items, with the file's identity.
    words: (Option<(u64, u64)>, Arc<Words>),
    /// Whether connections are closed when they become idle.
    is_closed: bool,
}

/// The reading connections.
#[derive(Default)]
pub(super) struct Readers {
    state: Mutex<State>,
    ended: Condvar,
}

impl Readers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs work on a connection, on a thread for blocking work.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        opening: &Arc<Opening>,
        work: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let work: Work = Box::new(move |reader| {
            // If the caller dropped the future, the work is skipped.
            if !sender.is_closed() {
                let _ = sender.send(reader.and_then(work));
            }
        });
        let needs_thread = {
            let mut state = self.state();
            state.is_closed = false;
            state.waiting.push_back(Waiting { opening: Arc::clone(opening), work });
            let needs_thread = state.threads < MAX_READERS;
            state.threads += usize::from(needs_thread);
            needs_thread
        };
        if needs_thread {
            let thread = Thread(Arc::clone(self));
            tokio::task::spawn_blocking(move || thread.run());
        }
        receiver.await.map_err(|_| Error::internal("a read of the state store was interrupted"))?
    }

    /// Waits for running calls, and closes the connections. Blocks its thread.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        while state.threads > 0 {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let idle = std::mem::take(&mut state.idle);
        let words = std::mem::take(&mut state.words);
        drop(state);
        drop((idle, words));
    }
}

/// A running thread. Dropping it, also in a panic, lets another one start.
struct Thread(Arc<Readers>);

impl Drop for Thread {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().threads -= 1;
            self.0.ended.notify_all();
        }
    }
}

impl Thread {
    fn run(self) {
        let mut reader = None;
        loop {
            let mut state = self.0.state();
            let Some(Waiting { opening, work }) = state.waiting.pop_front() else {
                let outdated = if state.is_closed {
                    reader.take()
                } else {
                    state.idle.extend(reader.take());
                    None
                };
                drop(outdated);
                state.threads -= 1;
                drop(state);
                self.0.ended.notify_all();
                return;
            };
            drop(state);
            match self.reader(&opening, reader.take()) {
                Ok(open) => {
                    work(Ok(&open));
                    reader = Some(open);
                }
                Err(error) => work(Err(error)),
            }
        }
    }

    /// The current connection, an idle one, or a new one; never one of a replaced file.
    fn reader(&self, opening: &Opening, current: Option<Reader>) -> Result<Reader> {
        let file = opening.file()?;
        let is_usable = |reader: &Reader| reader.file == file;
        if let Some(reader) = current.filter(is_usable) {
            return Ok(reader);
        }
        loop {
            let idle = self.0.state().idle.pop();
            match idle {
                Some(reader) if is_usable(&reader) => return Ok(reader),
                Some(outdated) => drop(outdated),
                None => {
                    let connection = opening.reader()?;
                    return Ok(Reader { connection, file, words: self.words(file) });
                }
            }
        }
    }

    /// The cached words for a file. Only those of the file that was opened last are kept.
    fn words(&self, file: Option<(u64, u64)>) -> Arc<Words> {
        let mut state = self.0.state();
        if state.words.0 != file {
            state.words = (file, Arc::default());
        }
        Arc::clone(&state.words.1)
    }
}

/// Runs statements that have to see one state of the file.
pub(super) fn snapshot<T>(
    connection: &Connection,
    path: &Path,
    read: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let transaction = connection.unchecked_transaction().during("read", path)?;
    let result = read(&transaction)?;
    // Nothing was written, so the result does not matter.
    let _ = transaction.finish();
    Ok(result)
}
