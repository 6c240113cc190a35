//! `StateStore`: keyed documents in a database, either a SQLite file that several processes of one machine share, or
//! tables of a PostgreSQL server that many machines share.
//!
//! | module | contents |
//! |---|---|
//! | `name` | namespaces and keys in the form of the database |
//! | `revision` | revisions of items, positions of watchers |
//! | `operation` | the operations of one call, and their outcomes |
//! | `item` | items, and their text for JavaScript |
//! | `listing`, `filter`, `scalar` | the arguments of listings, their pages, and filters |
//! | `ranking`, `words` | ranked search, and the cached words of items |
//! | `watch` | changes since a position |
//! | `report` | statistics and other reports |
//! | `sqlite`, `postgres` | the store in a file, and the store in a database |

mod filter;
mod item;
mod listing;
mod name;
mod operation;
mod postgres;
mod ranking;
mod report;
mod revision;
mod scalar;
mod sqlite;
mod time;
mod watch;
mod words;

use std::{path::PathBuf, sync::Arc, time::Duration};

use database::Database;
use redaction::Redaction;
use storage::Durability;

pub use filter::{Filter, NewCondition};
pub use item::{ItemText, Kind, LongText, SeparateValue};
pub use listing::{Listing, NamespaceListing, Order, Page};
pub use name::{Place, wtf8};
pub use operation::{Operation, Outcome, Put};
pub use ranking::Search;
pub use report::{StateReport, Stats, Swept};
pub use revision::{Expected, Revision};
pub use watch::Changed;

use crate::{
    debug::Debug,
    error::{Code, Error, Result},
    safety::Trust,
    vectors::Vectors,
};

/// The interval at which a watcher looks for changes by other processes.
const POLL: Duration = Duration::from_millis(100);

/// The options of a store in a file.
#[derive(Debug)]
pub struct StateOptions {
    /// The absolute path of the database.
    pub path: PathBuf,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// How long a change waits for another process's lock.
    pub lock_timeout: Duration,
    /// The longest value, in bytes.
    pub max_value_bytes: usize,
    /// The number of changes that are kept for watchers.
    pub max_changes: i64,
    /// The members of JSON values that are indexed, as paths of keys.
    pub indexes: Vec<Vec<String>>,
    /// Guarantees by the caller about locks and shared directories.
    pub trust: Trust,
}

/// The options of a store in a database that machines share.
pub struct SharedStateOptions {
    /// The database.
    pub database: Arc<Database>,
    /// The name of the store in it.
    pub name: String,
    /// The longest value, in bytes.
    pub max_value_bytes: usize,
    /// The number of changes that are kept for watchers.
    pub max_changes: i64,
}

/// A state store.
pub struct State(Arm);

enum Arm {
    File(Arc<sqlite::State>),
    Shared(Arc<postgres::State>),
}

/// A call in the writer's queue.
pub struct Pending(PendingArm);

enum PendingArm {
    File(sqlite::Pending),
    Shared(postgres::Pending),
}

impl Pending {
    /// The outcomes of the operations.
    ///
    /// # Errors
    /// `Conflict`, `Redaction`, `LockTimeout`, `Corrupt`, `Unsupported`, `UnsafeDirectory`, `Io`, `Storage`, `Access`:
    /// nothing was changed then. `Timeout`: the change may have been made.
    pub async fn outcomes(self) -> Result<Vec<Outcome>> {
        match self.0 {
            PendingArm::File(pending) => pending.outcomes().await,
            PendingArm::Shared(pending) => pending.outcomes().await,
        }
    }
}

/// A sweep that has its place in the order of the store's calls.
pub struct PendingSweep(PendingSweepArm);

enum PendingSweepArm {
    File(sqlite::PendingSweep),
    Shared(postgres::Pending),
}

/// The position at which a watcher begins.
pub enum Since {
    /// The latest change at the time of the call.
    Now(Pending),
    /// After a cursor.
    Cursor(String),
}

impl State {
    /// A store in a file. Touches no file.
    #[must_use]
    pub fn new(options: StateOptions, debug: Debug) -> Arc<Self> {
        Arc::new(Self(Arm::File(sqlite::State::new(options, debug))))
    }

    /// A store in a database. Opens no connection.
    #[must_use]
    pub fn shared(options: SharedStateOptions, debug: Debug) -> Arc<Self> {
        Arc::new(Self(Arm::Shared(postgres::State::new(options, debug))))
    }

    /// Carries out operations, all or none of them, after those of earlier calls. With a redaction, values are
    /// redacted.
    pub fn change(&self, operations: Vec<Operation>, redaction: Option<Redaction>) -> Pending {
        Pending(match &self.0 {
            Arm::File(state) => PendingArm::File(state.change(operations, redaction)),
            Arm::Shared(state) => PendingArm::Shared(state.change(operations, redaction)),
        })
    }

    /// Reads an item, without namespace and key.
    ///
    /// # Errors If the store cannot be read.
    pub async fn get(&self, place: Place) -> Result<Option<ItemText>> {
        match &self.0 {
            Arm::File(state) => state.get(place).await,
            Arm::Shared(state) => state.get(place).await,
        }
    }

    /// Reads several items at one moment, each as [`State::get`] does.
    ///
    /// # Errors If the store cannot be read.
    pub async fn get_all(&self, places: Vec<Place>) -> Result<Vec<Outcome>> {
        match &self.0 {
            Arm::File(state) => state.get_all(places).await,
            Arm::Shared(state) => state.get_all(places).await,
        }
    }

    /// A page of items.
    ///
    /// # Errors
    /// `InvalidArgument` for a cursor of another listing; if the store cannot be read.
    pub async fn list(&self, listing: Listing) -> Result<Page> {
        match &self.0 {
            Arm::File(state) => state.list(listing).await,
            Arm::Shared(state) => state.list(listing).await,
        }
    }

    /// A page of namespaces as a JSON array, and the cursor of the next page.
    ///
    /// # Errors
    /// As [`State::list`].
    pub async fn namespaces(&self, listing: NamespaceListing) -> Result<(Vec<u8>, Option<String>)> {
        match &self.0 {
            Arm::File(state) => state.namespaces(listing).await,
            Arm::Shared(state) => state.namespaces(listing).await,
        }
    }

    /// The items that match a question best.
    ///
    /// # Errors If the store cannot be read.
    pub async fn search(&self, search: Search) -> Result<ItemText> {
        match &self.0 {
            Arm::File(state) => state.search(search).await,
            Arm::Shared(state) => state.search(search).await,
        }
    }

    /// The vectors of items by the embedding model with this name; without a name, new ones in memory.
    #[must_use]
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        match &self.0 {
            Arm::File(state) => state.vectors(model),
            Arm::Shared(state) => state.vectors(model),
        }
    }

    /// The texts without a vector of items that a search would rank: at most `limit`, latest written first.
    ///
    /// # Errors If the store cannot be read.
    pub async fn texts_without_vector(
        &self,
        search: Search,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<Vec<String>> {
        match &self.0 {
            Arm::File(state) => state.texts_without_vector(search, vectors, limit).await,
            Arm::Shared(state) => state.texts_without_vector(search, vectors, limit).await,
        }
    }

    /// The position of a watcher that begins now, after earlier calls.
    pub fn since_now(&self) -> Since {
        Since::Now(self.change(vec![Operation::Position], None))
    }

    /// Waits for changes below a prefix.
    ///
    /// # Errors `CursorExpired`; if the store cannot be read.
    pub async fn changes(&self, since: Since, prefix: Vec<u8>, root: usize) -> Result<Changed> {
        let after = match since {
            Since::Cursor(cursor) => watch::position_of(&cursor)?,
            Since::Now(Pending(PendingArm::Shared(pending))) => pending.position().await?,
            Since::Now(Pending(PendingArm::File(pending))) => match &self.0 {
                Arm::File(state) => state.position(pending).await?,
                Arm::Shared(_) => return Err(operation::interrupted()),
            },
        };
        match &self.0 {
            Arm::File(state) => state.changes(after, prefix, root).await,
            Arm::Shared(state) => state.changes(after, prefix, root).await,
        }
    }

    /// The statistics of the store.
    ///
    /// # Errors If the store cannot be read.
    pub async fn stats(&self) -> Result<Stats> {
        match &self.0 {
            Arm::File(state) => state.stats().await,
            Arm::Shared(state) => state.stats().await,
        }
    }

    /// Verifies the whole store.
    ///
    /// # Errors If the store cannot be read.
    pub async fn verify(&self) -> Result<StateReport> {
        match &self.0 {
            Arm::File(state) => state.verify().await,
            Arm::Shared(state) => state.verify().await,
        }
    }

    /// Writes a copy of the file in its current state to an unused path.
    ///
    /// # Errors `Conflict` if the path exists; `Unsupported` in a shared database; if the file cannot be read; `Io`
    pub async fn backup(&self, target: PathBuf) -> Result<()> {
        match &self.0 {
            Arm::File(state) => state.backup(target).await,
            Arm::Shared(_) => Err(Error::new(
                Code::Unsupported,
                "a store with the option storage is backed up with the database's own tools: run pg_dump --schema with the name of the schema",
            )),
        }
    }

    /// Removes all expired items, the changes beyond `max_changes`, and the remains of removed items, after earlier
    /// calls.
    pub fn sweep(&self) -> PendingSweep {
        PendingSweep(match &self.0 {
            Arm::File(state) => PendingSweepArm::File(state.sweep()),
            Arm::Shared(state) => {
                PendingSweepArm::Shared(state.change(vec![Operation::Position], None))
            }
        })
    }

    /// Waits for a sweep; returns its report.
    ///
    /// # Errors
    /// `LockTimeout`, `Corrupt`, `Unsupported`, `UnsafeDirectory`, `Io`, `Storage`, `Timeout`, `Access`
    pub async fn swept(&self, sweep: PendingSweep) -> Result<Swept> {
        match (&self.0, sweep.0) {
            (Arm::File(state), PendingSweepArm::File(sweep)) => state.swept(sweep).await,
            (Arm::Shared(state), PendingSweepArm::Shared(before)) => {
                before.outcomes().await?;
                state.sweep().await
            }
            _ => Err(operation::interrupted()),
        }
    }

    /// Waits for the calls so far, and closes what no other store of this process uses. The store can be used again.
    pub async fn close(&self) {
        match &self.0 {
            Arm::File(state) => state.close().await,
            Arm::Shared(state) => state.close().await,
        }
    }
}
