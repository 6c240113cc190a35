//! A state store in one SQLite database that several processes share.
//!
//! | module | contents |
//! |---|---|
//! | `schema` | the tables and their versions |
//! | `opening` | checking and creating the file, and the settings of connections |
//! | `readers`, `writer` | the threads that read, and the thread that writes groups of calls |
//! | `change` | the operations of one call in a group's transaction |
//! | `rows` | rows of items, and chunks of long values |
//! | `listing`, `members` | listing items, and the index for filters |
//! | `search`, `watch` | ranked search, and changes since a position |
//! | `housekeeping` | statistics, verification, backups |
//! | `sweep`, `erasure` | removing expired items, and overwriting their remains |
//!
//! Once the database exists, only SQLite opens its files: a process that closes any handle of a file drops all POSIX
//! locks that it has on that file, including SQLite's. Creating the database and reading file metadata use `storage` and
//! `std::fs`.

mod change;
mod erasure;
mod failure;
mod housekeeping;
mod listing;
mod members;
mod opening;
mod readers;
mod rows;
mod schema;
mod search;
mod sweep;
mod watch;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use redaction::Redaction;
use storage::{Durability, LocalDisk, Registry, layout};
use tasks::{CallTracker, TrackedCall};
use tokio::sync::oneshot;

use super::{
    ItemText, Listing, NamespaceListing, Operation, Outcome, POLL, Page, Place, Search,
    StateOptions, StateReport, Stats, operation::interrupted, ranking::MissingTexts,
    revision::Position, time, watch::Changed,
};
use crate::{blocking::run_blocking, debug::Debug, error::Result, vectors::Vectors};
use failure::During;
use opening::Opening;
use readers::{Reader, Readers, snapshot};
pub(super) use sweep::PendingSweep;
use writer::{Call, Indexes, Request, Response, Writer};

/// A state store.
pub(super) struct State {
    opening: Arc<Opening>,
    database: Arc<Database>,
    durability: Durability,
    max_value_bytes: usize,
    max_changes: i64,
    indexes: Arc<Indexes>,
    calls: CallTracker,
    is_attached: AtomicBool,
}

/// The shared state of all stores of one file in this process.
#[derive(Default)]
struct Database {
    readers: Arc<Readers>,
    writer: Arc<Writer>,
    /// The number of stores that use it.
    stores: AtomicUsize,
    /// Held while the connections are closed.
    closing: Mutex<()>,
}

static DATABASES: Registry<PathBuf, Database> = Registry::new();

impl Drop for Database {
    /// Closes the connections on another thread: closing the last one writes the log back, which would block the
    /// JavaScript thread.
    fn drop(&mut self) {
        let (readers, writer) = (Arc::clone(&self.readers), Arc::clone(&self.writer));
        std::thread::spawn(move || {
            readers.close();
            writer.close();
        });
    }
}

/// A call in the writer's queue.
pub(super) struct Pending {
    answer: oneshot::Receiver<Result<Response>>,
    writer: Arc<Writer>,
    _call: TrackedCall,
}

impl Pending {
    async fn response(self) -> Result<Response> {
        self.writer.start();
        self.answer.await.unwrap_or_else(|_| Err(interrupted()))
    }

    /// The outcomes of the operations.
    ///
    /// # Errors
    /// `Conflict`, `Redaction`, `LockTimeout`, `Corrupt`, `Unsupported`, `UnsafeDirectory`, `Io`: nothing was changed then.
    pub async fn outcomes(self) -> Result<Vec<Outcome>> {
        match self.response().await? {
            Response::Outcomes(outcomes) => Ok(outcomes),
            _ => Err(interrupted()),
        }
    }
}

impl State {
    /// A store. Touches no file.
    #[must_use]
    pub fn new(options: StateOptions, debug: Debug) -> Arc<Self> {
        let StateOptions {
            path,
            durability,
            lock_timeout,
            max_value_bytes,
            max_changes,
            indexes,
            trust,
        } = options;
        let database = DATABASES.get_or_insert_with(path.clone(), Arc::default);
        Arc::new(Self {
            opening: Arc::new(Opening::new(path, lock_timeout, trust, debug)),
            database,
            durability,
            max_value_bytes,
            max_changes,
            indexes: Arc::new(Indexes { paths: indexes, is_declared: AtomicBool::new(false) }),
            calls: CallTracker::default(),
            is_attached: AtomicBool::new(false),
        })
    }

    fn attach(&self) -> TrackedCall {
        if !self.is_attached.swap(true, Ordering::AcqRel) {
            self.database.stores.fetch_add(1, Ordering::AcqRel);
        }
        self.calls.track()
    }

    fn submit(&self, request: Request) -> Pending {
        let call = self.attach();
        let (sender, answer) = oneshot::channel();
        self.database.writer.submit(Call {
            opening: Arc::clone(&self.opening),
            request,
            durability: self.durability,
            max_value_bytes: self.max_value_bytes,
            max_changes: self.max_changes,
            indexes: Arc::clone(&self.indexes),
            deadline: Instant::now() + self.opening.lock_timeout,
            answer: sender,
        });
        Pending { answer, writer: Arc::clone(&self.database.writer), _call: call }
    }

    /// Carries out operations, all or none of them, after those of earlier calls. With a redaction, values are
    /// redacted.
    pub fn change(&self, operations: Vec<Operation>, redaction: Option<Redaction>) -> Pending {
        self.submit(Request::Operations(operations, redaction))
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader, &Opening) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let _call = self.attach();
        let opening = Arc::clone(&self.opening);
        self.database.readers.read(&self.opening, move |reader| read(reader, &opening)).await
    }

    /// Reads an item, without namespace and key.
    ///
    /// # Errors If the file cannot be read.
    pub async fn get(&self, place: Place) -> Result<Option<ItemText>> {
        self.read(move |reader, opening| {
            change::get(reader.connection(), &place, time::now()).during("read", &opening.path)
        })
        .await
    }

    /// Reads several items at one moment, each as [`State::get`] does.
    ///
    /// # Errors If the file cannot be read.
    pub async fn get_all(&self, places: Vec<Place>) -> Result<Vec<Outcome>> {
        self.read(move |reader, opening| {
            snapshot(reader.connection(), &opening.path, |connection| {
                let now = time::now();
                let items = places.iter().map(|place| change::get(connection, place, now));
                items
                    .map(|item| item.map(Outcome::Item))
                    .collect::<rusqlite::Result<_>>()
                    .during("read", &opening.path)
            })
        })
        .await
    }

    /// A page of items.
    ///
    /// # Errors
    /// `InvalidArgument` for a cursor of another listing; if the file cannot be read.
    pub async fn list(&self, listing: Listing) -> Result<Page> {
        self.declare_indexes().await?;
        self.read(move |reader, opening| {
            listing::list(reader.connection(), &listing)?.during("read", &opening.path)
        })
        .await
    }

    /// A page of namespaces as a JSON array, and the cursor of the next page.
    ///
    /// # Errors
    /// As [`State::list`].
    pub async fn namespaces(&self, listing: NamespaceListing) -> Result<(Vec<u8>, Option<String>)> {
        self.read(move |reader, opening| {
            snapshot(reader.connection(), &opening.path, |connection| {
                listing::namespaces(connection, &listing)?.during("read", &opening.path)
            })
        })
        .await
    }

    /// The items that match a question best.
    ///
    /// # Errors If the file cannot be read.
    pub async fn search(&self, search: Search) -> Result<ItemText> {
        self.declare_indexes().await?;
        self.read(move |reader, opening| {
            snapshot(reader.connection(), &opening.path, |connection| {
                search::search(connection, reader.words(), search)?.during("read", &opening.path)
            })
        })
        .await
    }

    /// The vectors of items by the embedding model with this name; without a name, new ones in memory.
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        let path = &self.opening.path;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let folder = path.with_file_name(layout::vectors(&name));
        Vectors::open(Some(Arc::new(LocalDisk)), &folder, model, self.opening.debug.clone())
    }

    /// The texts without a vector of items that a search would rank: at most `limit`, latest written first.
    ///
    /// # Errors If the file cannot be read.
    pub async fn texts_without_vector(
        &self,
        search: Search,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<Vec<String>> {
        vectors.refresh().await;
        let vectors = vectors.clone();
        self.declare_indexes().await?;
        self.read(move |reader, opening| {
            snapshot(reader.connection(), &opening.path, |connection| {
                let missing = MissingTexts::new(vectors.clone(), limit);
                search::texts_without_vector(connection, reader.words(), search, missing)?
                    .during("read", &opening.path)
            })
        })
        .await
    }

    /// Indexes the members that this store declares, once.
    async fn declare_indexes(&self) -> Result<()> {
        let is_missing =
            !self.indexes.paths.is_empty() && !self.indexes.is_declared.load(Ordering::Acquire);
        if is_missing {
            self.change(vec![Operation::Position], None).outcomes().await?;
        }
        Ok(())
    }

    /// Waits for changes below a prefix, after a position.
    ///
    /// # Errors `CursorExpired`; if the file cannot be read.
    pub async fn changes(
        &self,
        mut position: Position,
        prefix: Vec<u8>,
        root: usize,
    ) -> Result<Changed> {
        loop {
            // Registered before reading, so that a later change still wakes this task.
            let changed = self.database.writer.changed.notified();
            let prefix = prefix.clone();
            let found = self
                .read(move |reader, opening| {
                    snapshot(reader.connection(), &opening.path, |connection| {
                        watch::changes(connection, &opening.path, &position, &prefix, root)
                    })
                })
                .await?;
            if !found.is_empty {
                return Ok(found);
            }
            position = found.position;
            // After the timeout, changes by other processes are read.
            let _ = tokio::time::timeout(POLL, changed).await;
        }
    }

    /// The position that a call returned.
    pub async fn position(&self, pending: Pending) -> Result<Position> {
        let outcomes = pending.outcomes().await?;
        let Some(Outcome::Position(sequence)) = outcomes.into_iter().next() else {
            return Err(interrupted());
        };
        let current =
            self.read(|reader, opening| watch::current(reader.connection(), &opening.path)).await?;
        Ok(Position { sequence, ..current })
    }

    /// The statistics of the file.
    ///
    /// # Errors If the file cannot be read.
    pub async fn stats(&self) -> Result<Stats> {
        self.read(|reader, opening| {
            snapshot(reader.connection(), &opening.path, |connection| {
                housekeeping::stats(connection, opening)
            })
        })
        .await
    }

    /// Verifies the whole file.
    ///
    /// # Errors If the file cannot be read.
    pub async fn verify(&self) -> Result<StateReport> {
        self.read(|reader, opening| housekeeping::verify(reader.connection(), &opening.path)).await
    }

    /// Writes a copy of the file in its current state to an unused path.
    ///
    /// # Errors `Conflict` if the path exists; if the file cannot be read; `Io`
    pub async fn backup(&self, target: PathBuf) -> Result<()> {
        let _call = self.attach();
        let opening = Arc::clone(&self.opening);
        run_blocking(move |_| {
            opening.prepare()?;
            // A connection of its own, because reading connections may not write, not even to another file.
            let connection = opening.writer()?;
            housekeeping::backup(&connection, &opening, &target)
        })
        .await
    }

    /// Waits for the calls so far, and closes the file if no other store of this process uses it. The store can be used
    /// again.
    pub async fn close(&self) {
        self.calls.wait_for_all().await;
        if !self.is_attached.swap(false, Ordering::AcqRel) {
            return;
        }
        if self.database.stores.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let database = Arc::clone(&self.database);
        // An error is harmless: the next connection that opens the file writes the log back.
        let _ = run_blocking(move |_| {
            let _closing = database.closing.lock().unwrap_or_else(PoisonError::into_inner);
            database.readers.close();
            database.writer.close();
            Ok(())
        })
        .await;
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if *self.is_attached.get_mut() {
            self.database.stores.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
