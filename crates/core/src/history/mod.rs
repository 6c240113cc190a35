//! `ContextHistory`: an append-only log of tool invocations, one JSON object per line, that several processes
//! share.
//!
//! | module | contents |
//! |---|---|
//! | `entry` | the format of a line |
//! | `record` | appending |
//! | `recall`, `filter`, `ranked` | reading, searching, ranked search |
//! | `index` | the offset index that speeds up searches |
//! | `operations` | idempotent appends by operation id |
//! | `compact`, `bounds` | compaction on request, and in the background |
//! | `tail` | following a log |
//! | `verify` | checking every line and the index |
//! | `database` | the same in a database, in place of a file |
//! | `copying` | copying the lines of a history to another |
//! | `any` | a history of either kind |

mod any;
mod bounds;
mod compact;
mod copying;
mod database;
mod entry;
mod filter;
mod index;
mod operations;
mod ranked;
mod recall;
mod record;
mod tail;
mod verify;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use storage::{
    Disk, Durability, FileError, FileLock, FileSystem, Log, LogError, LogPath, LogReader,
    LogRegistry,
};
use tasks::{CallTracker, Cancelled};

pub use self::database::{
    DatabaseAppending, DatabaseHistory, DatabaseHistoryOptions, DatabasePlan, DatabaseTail,
};
pub use any::{AnyAppending, AnyHistory, AnyPlan, AnyTail};
pub use bounds::Bounds;
pub use compact::{CompactReport, Plan, Policy, Summary};
pub use copying::copy_history;
pub use filter::Filter;
pub use index::IndexSizes;
pub use record::{Appended, Appending, NewEntry, Previous};
pub use tail::{Tail, TailStart};
pub use verify::{IndexState, Problem, VerifyReport};

use crate::{
    blocking::run_blocking,
    debug::Debug,
    error::{Code, Error, Result},
    safety::{Inspection, Place, Trust},
};
use bounds::Housekeeper;
use index::Index;
use operations::Operations;

/// The options of a history.
#[derive(Debug, Clone)]
pub struct HistoryOptions {
    /// The path of the log.
    pub path: LogPath,
    /// What an acknowledged entry survives.
    pub durability: Durability,
    /// How long a call waits for another process's lock.
    pub lock_timeout: Duration,
    /// The longest line, in bytes: longer entries are refused when written, and skipped when read.
    pub max_entry_bytes: usize,
    /// Bounds beyond which the history compacts itself.
    pub bounds: Bounds,
    /// Guarantees by the caller about locks and shared directories.
    pub trust: Trust,
}

/// A log of tool invocations.
pub struct History {
    options: HistoryOptions,
    file_system: Arc<dyn FileSystem>,
    debug: Debug,
    log: Arc<Log<Error>>,
    index: Mutex<Option<Arc<Index>>>,
    index_sizes: IndexSizes,
    operations: Arc<Operations>,
    housekeeper: Housekeeper,
    /// Held while a thread extends the index.
    indexing: Mutex<()>,
    appends: CallTracker,
    told_unlocked: AtomicBool,
    inspection: Inspection,
}

static LOGS: LogRegistry<Error> = LogRegistry::new();

impl History {
    /// A history. Touches no file. All histories of the same file in this process share a queue of appends.
    #[must_use]
    pub fn new(
        options: HistoryOptions,
        file_system: Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        Self::with_index(options, IndexSizes::default(), file_system, debug)
    }

    /// As [`History::new`], with other size parameters of the index.
    #[must_use]
    pub fn with_index(
        options: HistoryOptions,
        index_sizes: IndexSizes,
        file_system: Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        let log = LOGS.log(&file_system, &options.path);
        if options.trust.locks {
            log.trust_locks();
        }
        let operations =
            Operations::of(file_system.scope(), options.path.file(), options.max_entry_bytes);
        let housekeeper = Housekeeper::new(file_system.disk().map(|disk| {
            let lock = FileLock::new(disk, options.path.compaction_lock());
            if options.trust.locks {
                lock.trust();
            }
            lock
        }));
        Arc::new(Self {
            options,
            file_system,
            debug,
            log,
            index: Mutex::default(),
            index_sizes,
            operations,
            housekeeper,
            indexing: Mutex::default(),
            appends: CallTracker::default(),
            told_unlocked: AtomicBool::new(false),
            inspection: Inspection::default(),
        })
    }

    /// The path of the log, for messages.
    fn path(&self) -> PathBuf {
        self.options.path.file()
    }

    /// Checks owners and modes of the directory and the files.
    ///
    /// # Errors
    /// `UnsafeDirectory`
    fn inspect(&self, disk: &dyn Disk) -> Result<()> {
        let path = &self.options.path;
        let place = Place {
            what: "directory of the history",
            setting: "path",
            directories: &[&path.directory],
            files: &[&path.file()],
            own_files: &[&path.lock(), &path.compaction_lock()],
        };
        self.inspection.check(disk, &place, self.options.trust, &self.debug)
    }

    /// Creates the directory and checks its owner. If the directory cannot be created, the following write
    /// reports the error.
    fn prepare_directory(&self) -> Result<()> {
        if self.inspection.is_done() {
            return Ok(());
        }
        let Some(disk) = self.file_system.disk() else { return Ok(()) };
        let directory = &self.options.path.directory;
        if !self.inspection.has_seen(directory) {
            let _ = disk.create_directories(directory);
        }
        self.inspect(disk.as_ref())
    }

    async fn reader(&self) -> Result<Option<LogReader>> {
        if let Some(disk) = self.file_system.disk() {
            self.inspect(disk.as_ref())?;
        }
        self.log.reader().await.map_err(|error| self.unreadable(error))
    }

    fn unreadable(&self, error: FileError) -> Error {
        Error::from_file("read the history", &self.path(), "path", error)
    }

    /// Waits for all queued appends, and for the background compaction that one of them may have started.
    pub async fn close(&self) {
        self.appends.wait_for_all().await;
    }

    fn failed(&self, what: &str, error: LogError) -> Error {
        let path = self.path();
        match error {
            LogError::File(error) => Error::from_file(what, &path, "path", error),
            LogError::LockTimeout => Error::new(
                Code::LockTimeout,
                format!(
                    "could not {what} {}: another process held its lock for {} ms; look for a stopped process or raise lockTimeout",
                    path.display(),
                    self.options.lock_timeout.as_millis()
                ),
            ),
            LogError::Replaced => Error::new(
                Code::Conflict,
                format!(
                    "could not {what} {}: it was replaced meanwhile; try again",
                    path.display()
                ),
            ),
            LogError::Refused => Error::internal(format!("{} refused a record", path.display())),
            LogError::Unlockable => Error::new(
                Code::Unsupported,
                format!(
                    "could not {what} {}: its file system has no locks, and entries that others append meanwhile would be lost; move it to a local disk",
                    path.display()
                ),
            ),
            LogError::Untrusted(kind) => Error::new(
                Code::Unsupported,
                format!(
                    "could not {what} {}: the locks of its file system ({kind}) may bind one host or mount only, and entries that others append meanwhile would be lost; move it to a local disk, or set trustLocks: true if every process uses the same mount",
                    path.display()
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests;
