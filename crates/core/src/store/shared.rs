//! What all `Store`s of one directory share in a process: the lock that serialises changes, the
//! entry index, and the reserved paths of new entries.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::json;
use storage::{Durability, FileError, FileSystem, LockError, Registry, SharedFiles, Turn, layout};

use super::{Location, index::EntryIndex};
use crate::{
    debug::Debug,
    error::{Code, Error, Result},
};

/// The shared state of one directory.
pub(super) struct Shared {
    pub file_system: Arc<dyn FileSystem>,
    /// The path as the caller spells it.
    pub directory: PathBuf,
    pub files: SharedFiles,
    /// The index, with the canonical path of the directory that it describes.
    index: Mutex<Option<(PathBuf, Arc<EntryIndex>)>>,
    /// The paths of entries that are being created.
    reserved: Mutex<HashSet<Location>>,
}

/// The path of an entry that is being created. No other call in this process can reserve it until
/// this is dropped.
pub(super) struct Reserved<'a> {
    shared: &'a Shared,
    pub location: Location,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.shared.reserved().remove(&self.location);
    }
}

static STORES: Registry<(u64, PathBuf), Shared> = Registry::new();

impl Shared {
    /// The shared state of a directory. Touches no file.
    pub fn of(file_system: &Arc<dyn FileSystem>, directory: &Path) -> Arc<Self> {
        let key = (file_system.scope(), directory.to_owned());
        STORES.get_or_insert_with(key, || {
            let files = SharedFiles::new(
                Arc::clone(file_system),
                directory.join(layout::STORE_LOCK),
                layout::is_store_replacement,
            );
            Arc::new(Self {
                file_system: Arc::clone(file_system),
                directory: directory.to_owned(),
                files,
                index: Mutex::default(),
                reserved: Mutex::default(),
            })
        })
    }

    fn reserved(&self) -> MutexGuard<'_, HashSet<Location>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves an entry's path; `None` if it is reserved already.
    pub fn reserve(&self, location: Location) -> Option<Reserved<'_>> {
        let is_new = self.reserved().insert(location.clone());
        is_new.then(|| Reserved { shared: self, location })
    }

    fn known(&self) -> MutexGuard<'_, Option<(PathBuf, Arc<EntryIndex>)>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The canonical path of the directory; `None` if it does not exist.
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

    /// The entry index of `root`.
    pub fn index(&self, root: &Path, max_entry_bytes: u64) -> Arc<EntryIndex> {
        let mut known = self.known();
        if let Some((of, index)) = &*known
            && of == root
        {
            return Arc::clone(index);
        }
        let index =
            EntryIndex::new(Arc::clone(&self.file_system), root.to_owned(), max_entry_bytes);
        *known = Some((root.to_owned(), Arc::clone(&index)));
        index
    }

    /// The entry index, if one was made already.
    pub fn known_index(&self) -> Option<Arc<EntryIndex>> {
        self.known().as_ref().map(|(_, index)| Arc::clone(index))
    }

    /// Acquires the lock for changes: first within this process, then among all processes. The
    /// directory must exist.
    ///
    /// # Errors
    /// `LockTimeout`, `Io`
    pub async fn turn(&self, timeout: Duration, debug: &Debug) -> Result<Turn<'_>> {
        let tell = || {
            match self.files.untrusted_locks() {
            None => debug.say(
                "The context store's file system has no locks: let only one process change entries",
                || json!({ "path": self.directory }),
            ),
            Some(kind) => debug.say(
                "The locks of the context store's file system may bind one host or mount only: let only one of them change entries, or set trustLocks if every process uses the same mount",
                || json!({ "path": self.directory, "fileSystem": kind }),
            ),
        }
        };
        self.files.turn(timeout, tell).await.map_err(|error| match error {
            LockError::TimedOut => Error::new(
                Code::LockTimeout,
                format!(
                    "could not change the context store {}: another process held its lock for {} ms; look for a stopped process or raise lockTimeout",
                    self.directory.display(),
                    timeout.as_millis()
                ),
            ),
            LockError::File(error) => self.refused("lock", error),
        })
    }

    /// Creates a directory with its parents; at [`Durability::Full`], their directory entries are
    /// on stable storage afterwards. Fails if a directory below the store is a symbolic link.
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
        self.files.make_reachable(directory, durability).await.map_err(refused)
    }

    /// The error for a failed file operation.
    pub fn refused(&self, what: &str, error: FileError) -> Error {
        Error::from_file(&format!("{what} the context store"), &self.directory, "path", error)
    }

    /// The error for a directory below the store that is a symbolic link.
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
