//! [`Directory`]: the state that all `Memory`s of one directory share in a process. It reads and replaces
//! `memory.json`, and has the lock and the queue of changes. All waiting changes are applied under one lock
//! and written together.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redaction::{Redaction, RedactionSession};
use serde_json::json;
use storage::{
    Durability, FileError, FileSystem, LockError, Payload, Registry, SharedFiles, Turn, layout,
};
use tokio::sync::oneshot;

use super::document::{Document, Malformed};
use crate::{
    blocking::run_long,
    debug::Debug,
    error::{Code, Error, Result},
};

/// The longest `memory.json`, in bytes; a longer one is refused.
const MAX_MEMORY: u64 = 64 * 1024 * 1024;
/// The most changes that are written together.
const MAX_CHANGES: usize = 1000;

/// A change of a document: returns its result, and whether it changed anything.
type Apply = Box<dyn FnOnce(&mut Document) -> Result<(String, bool)> + Send>;

/// How changes are written.
#[derive(Clone)]
pub(super) struct Writing {
    pub durability: Durability,
    pub lock_timeout: Duration,
    /// The redaction of the whole file, including the parts that other programs wrote.
    pub redaction: Option<Redaction>,
    pub debug: Debug,
}

struct Change {
    apply: Apply,
    writing: Writing,
    done: oneshot::Sender<Result<String>>,
}

#[derive(Default)]
struct Queue {
    changes: Vec<Change>,
    /// Whether a task is processing the queue.
    is_served: bool,
}

/// The shared state of one directory.
pub(super) struct Directory {
    pub file_system: Arc<dyn FileSystem>,
    /// The path as the caller spells it.
    pub path: PathBuf,
    pub files: SharedFiles,
    /// The path of `memory.json`.
    memory: PathBuf,
    queue: Mutex<Queue>,
}

static DIRECTORIES: Registry<(u64, PathBuf), Directory> = Registry::new();

impl Directory {
    /// The shared state of a directory. Touches no file.
    pub fn of(file_system: &Arc<dyn FileSystem>, path: &Path, prefix: &str) -> Arc<Self> {
        DIRECTORIES.get_or_insert_with((file_system.scope(), path.to_owned()), || {
            let lock = path.join(layout::lock(layout::MEMORY));
            let is_replacement = layout::is_memory_replacement;
            Arc::new(Self {
                file_system: Arc::clone(file_system),
                path: path.to_owned(),
                memory: PathBuf::from(format!("{prefix}{}", layout::MEMORY)),
                files: SharedFiles::new(Arc::clone(file_system), lock, is_replacement),
                queue: Mutex::default(),
            })
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path of `memory.json`.
    pub fn memory(&self) -> PathBuf {
        self.memory.clone()
    }

    /// Reads `memory.json`; an empty document if it does not exist.
    ///
    /// # Errors
    /// `Corrupt`, `TooLarge`, `Io`
    pub async fn document(&self) -> Result<Document> {
        let path = self.memory();
        let name = Path::new(layout::MEMORY);
        let contents = match self.file_system.canonical(&self.path).await {
            Ok(root) => self.file_system.read(&root, name, MAX_MEMORY).await,
            Err(error) => Err(error),
        };
        let contents = match contents {
            Ok(contents) => contents,
            Err(error) if error.is_not_found() => return Ok(Document::default()),
            Err(error) => return Err(self.refused("read", &path, error)),
        };
        if contents.length > MAX_MEMORY {
            return Err(Error::new(
                Code::TooLarge,
                format!(
                    "{} takes {} bytes, more than {MAX_MEMORY}; remove what is no longer true",
                    path.display(),
                    contents.length
                ),
            ));
        }
        let bytes = contents.bytes.len();
        let parse = move || {
            Document::parse(&contents.bytes).map_err(|Malformed(reason)| {
                Error::new(
                    Code::Corrupt,
                    format!(
                        "{} is no memory of a repository ({reason}); correct the file or move it away",
                        path.display()
                    ),
                )
            })
        };
        run_long(bytes, parse).await
    }

    /// Creates the directory; at [`Durability::Full`], its parents' directory entries are on stable storage
    /// afterwards.
    ///
    /// # Errors
    /// `Io`
    pub async fn make(&self, durability: Durability) -> Result<()> {
        let refused = |error| self.refused("create", &self.path, error);
        self.file_system.create_directories(&self.path).await.map_err(refused)?;
        if durability == Durability::Full {
            let canonical = self.file_system.canonical(&self.path).await.map_err(refused)?;
            self.files.make_reachable(&canonical, durability).await.map_err(refused)?;
        }
        Ok(())
    }

    /// Acquires the lock for changes of `memory.json`. The directory must exist.
    ///
    /// # Errors
    /// `LockTimeout`, `Io`
    pub async fn turn(&self, writing: &Writing) -> Result<Turn<'_>> {
        let path = self.memory();
        let tell = || {
            match self.files.untrusted_locks() {
            None => writing.debug.say(
                "The memory's file system has no locks: let only one process change it",
                || json!({ "path": path }),
            ),
            Some(kind) => writing.debug.say(
                "The locks of the memory's file system may bind one host or mount only: let only one of them change it, or set trustLocks if every process uses the same mount",
                || json!({ "path": path, "fileSystem": kind }),
            ),
        }
        };
        self.files.turn(writing.lock_timeout, tell).await.map_err(|error| match error {
            LockError::TimedOut => timed_out(&path, writing.lock_timeout),
            LockError::File(error) => self.refused("lock", &path, error),
        })
    }

    /// Replaces `memory.json`. The caller holds the lock.
    ///
    /// # Errors
    /// `Redaction`, `TooLarge`, `Io`
    pub async fn write(&self, document: &Document, writing: &Writing) -> Result<()> {
        let path = self.memory();
        let mut text = document.to_text();
        let (redaction, bytes) = (writing.redaction.clone(), text.len());
        let redact = move || {
            RedactionSession::new(redaction).json(&mut text, 0)?;
            Ok(text)
        };
        let text = run_long(bytes, redact).await?;
        if text.len() as u64 > MAX_MEMORY {
            return Err(Error::new(
                Code::TooLarge,
                format!(
                    "{} would take {} bytes, more than {MAX_MEMORY}; remove what is no longer true",
                    path.display(),
                    text.len()
                ),
            ));
        }
        let replaced = self.files.replace(&path, Payload::new(text), writing.durability).await;
        replaced.map_err(|error| self.refused("write", &path, error))
    }

    /// Queues a change of the memory, after those that were queued before. Returns the result of `apply` once
    /// the file is as durable as the options require.
    ///
    /// # Errors Those of `apply`, `Corrupt`, `TooLarge`, `Redaction`, `LockTimeout`, `Io`. Nothing was
    /// changed then.
    pub fn change<F>(
        self: &Arc<Self>,
        writing: Writing,
        apply: F,
    ) -> impl Future<Output = Result<String>> + Send + use<F>
    where
        F: FnOnce(&mut Document) -> Result<(String, bool)> + Send + 'static,
    {
        let (done, outcome) = oneshot::channel();
        let serves = {
            let mut queue = self.queue();
            queue.changes.push(Change { apply: Box::new(apply), writing, done });
            !std::mem::replace(&mut queue.is_served, true)
        };
        if serves {
            let service = Service { directory: Arc::clone(self), is_over: false };
            tokio::spawn(service.serve());
        }
        let interrupted = || Err(Error::internal("the change was interrupted"));
        async move { outcome.await.unwrap_or_else(|_| interrupted()) }
    }

    /// Makes several changes and writes them together.
    async fn change_together(&self, changes: Vec<Change>) {
        let Some(mut writing) = changes.first().map(|change| change.writing.clone()) else {
            return;
        };
        if changes.iter().any(|change| change.writing.durability == Durability::Full) {
            writing.durability = Durability::Full;
        }
        let mut outcomes = Vec::with_capacity(changes.len());
        let written = self.try_change(changes, &writing, &mut outcomes).await;
        for (done, outcome) in outcomes {
            let outcome = match &written {
                Ok(()) => outcome,
                Err(error) => Err(error.duplicate()),
            };
            // The caller dropped the future and needs no result.
            let _ = done.send(outcome);
        }
    }

    async fn try_change(
        &self,
        changes: Vec<Change>,
        writing: &Writing,
        outcomes: &mut Vec<(oneshot::Sender<Result<String>>, Result<String>)>,
    ) -> Result<()> {
        let begun = async {
            self.make(writing.durability).await?;
            let turn = self.turn(writing).await?;
            Ok((turn, self.document().await?))
        };
        let (turn, mut document) = match begun.await {
            Ok(begun) => begun,
            Err(error) => {
                outcomes.extend(changes.into_iter().map(|change| (change.done, Ok(String::new()))));
                return Err(error);
            }
        };
        let mut is_changed = false;
        for Change { apply, done, .. } in changes {
            outcomes.push((
                done,
                apply(&mut document).map(|(answer, changes)| {
                    is_changed |= changes;
                    answer
                }),
            ));
        }
        let written = if is_changed { self.write(&document, writing).await } else { Ok(()) };
        drop(turn);
        written
    }

    /// The error for a failed file operation.
    pub fn refused(&self, what: &str, path: &Path, error: FileError) -> Error {
        Error::from_file(what, path, "root", error)
    }
}

/// Processes the queue until it is empty. If it ends before (because of a panic, or because the runtime shuts
/// down), the waiting calls fail, and the next call starts another one.
struct Service {
    directory: Arc<Directory>,
    is_over: bool,
}

impl Service {
    async fn serve(mut self) {
        loop {
            let changes = {
                let mut queue = self.directory.queue();
                let few = queue.changes.len().min(MAX_CHANGES);
                let changes: Vec<Change> = queue.changes.drain(..few).collect();
                if changes.is_empty() {
                    (queue.is_served, self.is_over) = (false, true);
                    return;
                }
                changes
            };
            self.directory.change_together(changes).await;
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let changes = {
            let mut queue = self.directory.queue();
            queue.is_served = false;
            std::mem::take(&mut queue.changes)
        };
        // Dropped outside the lock, because this wakes the waiting calls.
        drop(changes);
    }
}

/// The error after waiting too long for another process's lock.
pub(super) fn timed_out(path: &Path, timeout: Duration) -> Error {
    Error::new(
        Code::LockTimeout,
        format!(
            "could not change {}: another process held its lock for {} ms; look for a stopped process or raise lockTimeout",
            path.display(),
            timeout.as_millis()
        ),
    )
}
