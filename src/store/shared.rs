//! What the stores of one directory share in a process: whose turn it is to change entries, and what is
//! known of them.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::index::EntryIndex;
use crate::{
    debug::Debug,
    durable::{self, DirectorySync, Durability, FileLock, LockError, LockGuard, Target},
    error::{Code, Error, Result},
    file_system::{FileError, FileResult, FileSystem, Payload},
    names,
};

/// One directory with entries.
pub(super) struct Shared {
    pub file_system: Arc<dyn FileSystem>,
    /// As the caller spells it.
    pub directory: PathBuf,
    turn: Semaphore,
    lock: Option<Arc<FileLock>>,
    told_unlocked: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// With the directory without symbolic links that it is about.
    index: Option<(PathBuf, Arc<EntryIndex>)>,
    /// Group commit of each directory.
    syncs: HashMap<PathBuf, Arc<DirectorySync>>,
    /// Directories to which the way is on the medium.
    reachable: HashSet<PathBuf>,
}

/// The turn to change entries, until it is dropped.
pub(super) struct Turn<'a> {
    // Dropped first: whoever is next in the process finds the lock free.
    _guard: Option<LockGuard>,
    _permit: Option<SemaphorePermit<'a>>,
}

type Stores = Mutex<HashMap<(u64, PathBuf), Weak<Shared>>>;
static STORES: LazyLock<Stores> = LazyLock::new(Mutex::default);

impl Shared {
    /// What all stores of this directory share. Touches no file.
    pub fn of(file_system: &Arc<dyn FileSystem>, directory: &Path) -> Arc<Self> {
        let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (file_system.scope(), directory.to_owned());
        if let Some(shared) = stores.get(&key).and_then(Weak::upgrade) {
            return shared;
        }
        stores.retain(|_, shared| shared.strong_count() > 0);
        let lock = file_system
            .disk()
            .map(|disk| Arc::new(FileLock::new(disk, directory.join(names::STORE_LOCK))));
        let shared = Arc::new(Self {
            file_system: Arc::clone(file_system),
            directory: directory.to_owned(),
            turn: Semaphore::new(1),
            lock,
            told_unlocked: AtomicBool::new(false),
            state: Mutex::default(),
        });
        stores.insert(key, Arc::downgrade(&shared));
        shared
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory without symbolic links; `None` when it is not there.
    ///
    /// # Errors
    /// `Io`
    pub async fn root(&self) -> Result<Option<PathBuf>> {
        match self.file_system.canonical(&self.directory).await {
            Ok(root) => Ok(Some(root)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(self.refused("open", error)),
        }
    }

    /// What is known of the entries in `root`.
    pub fn index(&self, root: &Path, max_entry_bytes: u64) -> Arc<EntryIndex> {
        let mut state = self.state();
        if let Some((of, index)) = &state.index
            && of == root
        {
            return Arc::clone(index);
        }
        let index =
            EntryIndex::new(Arc::clone(&self.file_system), root.to_owned(), max_entry_bytes);
        state.index = Some((root.to_owned(), Arc::clone(&index)));
        index
    }

    /// What is known, when anybody has asked before.
    pub fn known_index(&self) -> Option<Arc<EntryIndex>> {
        self.state().index.as_ref().map(|(_, index)| Arc::clone(index))
    }

    /// Waits for the turn to change entries: in this process first, then among all. The directory is
    /// there.
    ///
    /// # Errors
    /// `LockTimeout`, `Io`
    pub async fn turn(&self, timeout: Duration, debug: &Debug) -> Result<Turn<'_>> {
        // Nobody closes it.
        let permit = self.turn.acquire().await.ok();
        let Some(lock) = &self.lock else { return Ok(Turn { _guard: None, _permit: permit }) };
        let guard = lock.acquire(Instant::now() + timeout).await.map_err(|error| match error {
            LockError::TimedOut => Error::new(
                Code::LockTimeout,
                format!(
                    "could not change the context store {}: another process held its lock for {} ms; look for a stopped process or raise lockTimeout",
                    self.directory.display(),
                    timeout.as_millis()
                ),
            ),
            LockError::File(error) => self.refused("lock", error),
        })?;
        if !guard.is_exclusive() && !self.told_unlocked.swap(true, Ordering::Relaxed) {
            debug.say(
                "The context store's file system has no locks: let one process alone change entries",
                || json!({ "path": self.directory }),
            );
        }
        Ok(Turn { _guard: Some(guard), _permit: permit })
    }

    fn sync_of(&self, directory: &Path) -> Arc<DirectorySync> {
        let mut state = self.state();
        if let Some(sync) = state.syncs.get(directory) {
            return Arc::clone(sync);
        }
        let sync = Arc::<DirectorySync>::default();
        state.syncs.insert(directory.to_owned(), Arc::clone(&sync));
        sync
    }

    /// Makes a directory with all that lead to it; at [`Durability::Full`] the way to it is on the
    /// medium then. Without symbolic links on its way below the store.
    ///
    /// # Errors
    /// `OutsideDirectory`, `Io`
    pub async fn create_directory(&self, directory: &Path, durability: Durability) -> Result<()> {
        let refused = |error| self.refused("create a directory of", error);
        self.file_system.create_directories(directory).await.map_err(refused)?;
        let canonical = self.file_system.canonical(directory).await.map_err(refused)?;
        if canonical != directory {
            return Err(self.outside(directory));
        }
        if durability == Durability::Full && !self.state().reachable.contains(directory) {
            if let Some(disk) = self.file_system.disk() {
                let path = directory.to_owned();
                let synced = tokio::task::spawn_blocking(move || {
                    durable::sync_ancestors(disk.as_ref(), &path)
                });
                synced.await.map_err(|_| interrupted())?.map_err(refused)?;
            }
            self.state().reachable.insert(directory.to_owned());
        }
        Ok(())
    }

    /// A directory was found missing: whoever makes it again makes the way to it again.
    pub fn forget_directory(&self, directory: &Path) {
        self.state().reachable.remove(directory);
    }

    /// Creates a file, whole or not at all.
    pub async fn create(
        &self,
        path: &Path,
        text: &Payload,
        durability: Durability,
    ) -> FileResult<()> {
        let (directory, temporary) = beside(path);
        durable::create(
            self.file_system.as_ref(),
            Target { directory: &directory, temporary: &temporary, path },
            Payload::clone(text),
            durability,
            &self.sync_of(&directory),
        )
        .await
    }

    /// Replaces a file, whole or not at all.
    pub async fn replace(
        &self,
        path: &Path,
        text: Payload,
        durability: Durability,
    ) -> FileResult<()> {
        let (directory, temporary) = beside(path);
        durable::replace(
            self.file_system.as_ref(),
            Target { directory: &directory, temporary: &temporary, path },
            text,
            durability,
            &self.sync_of(&directory),
        )
        .await
    }

    /// Removes a file.
    pub async fn remove(&self, path: &Path, durability: Durability) -> FileResult<bool> {
        let is_removed = self.file_system.remove(path).await?;
        if is_removed && durability == Durability::Full {
            let (directory, _) = beside(path);
            self.sync_of(&directory).sync(self.file_system.as_ref(), &directory).await?;
        }
        Ok(is_removed)
    }

    /// The file system's refusal to do something with the store.
    pub fn refused(&self, what: &str, error: FileError) -> Error {
        Error::from_file(&format!("{what} the context store"), &self.directory, "path", error)
    }

    /// What a directory below the store that is a symbolic link is answered with.
    pub fn outside(&self, path: &Path) -> Error {
        Error::new(
            Code::OutsideDirectory,
            format!(
                "{} is behind a symbolic link, outside the context store {}; remove the link",
                path.display(),
                self.directory.display()
            ),
        )
    }
}

fn interrupted() -> Error {
    Error::new(Code::Io, "the work was interrupted; please report it")
}

/// The directory of a file, and a fresh name beside it.
fn beside(path: &Path) -> (PathBuf, PathBuf) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let directory = path.parent().unwrap_or(path).to_owned();
    let temporary = directory.join(names::replacement(name));
    (directory, temporary)
}
