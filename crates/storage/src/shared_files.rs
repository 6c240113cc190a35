//! A set of files that several tasks and processes change: created, replaced as a whole, or removed, under one lock
//! file. Callers use it for Markdown entries and `memory.json`. It also removes leftovers in the directories of these
//! files.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    DirectorySync, Durability, FileLock, LockError, LockGuard, Target,
    atomic_file::{create_file, replace_file},
    directory_sync::sync_ancestors,
    file_system::{FileError, FileResult, FileSystem, Payload},
    layout,
};

/// Files below a directory, and the lock for changing them.
pub struct SharedFiles {
    file_system: Arc<dyn FileSystem>,
    turn: Semaphore,
    lock: Option<Arc<FileLock>>,
    /// The directory of the lock file.
    directory: PathBuf,
    /// Recognises the names of temporary files.
    is_temporary: fn(&str) -> bool,
    told_unlocked: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The group commit of each directory.
    syncs: HashMap<PathBuf, Arc<DirectorySync>>,
    /// Directories whose path is on stable storage.
    reachable: HashSet<PathBuf>,
    /// Directories that were searched for leftovers.
    swept: HashSet<PathBuf>,
}

/// The right to change the files, until it is dropped.
pub struct Turn<'a> {
    // Dropped first, so that the next task in the process finds the lock free.
    guard: Option<LockGuard>,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Turn<'_> {
    /// Whether no other process can hold the lock as well: `false` where there are no locks, or where they are not
    /// trusted.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.guard.as_ref().is_none_or(LockGuard::is_exclusive)
    }
}

impl SharedFiles {
    /// Files that are changed under the lock file at `lock`. `is_temporary` recognises the names of their temporary
    /// files. Does no I/O.
    #[must_use]
    pub fn new(
        file_system: Arc<dyn FileSystem>,
        lock: PathBuf,
        is_temporary: fn(&str) -> bool,
    ) -> Self {
        let directory = lock.parent().unwrap_or(&lock).to_owned();
        let lock = file_system.disk().map(|disk| Arc::new(FileLock::new(disk, lock)));
        Self {
            file_system,
            turn: Semaphore::new(1),
            lock,
            directory,
            is_temporary,
            told_unlocked: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Trusts the locks of the file system: see [`FileLock::trust`].
    pub fn trust_locks(&self) {
        if let Some(lock) = &self.lock {
            lock.trust();
        }
    }

    /// The type of the file system, if its locks are not trusted: see [`FileLock::untrusted`].
    #[must_use]
    pub fn untrusted_locks(&self) -> Option<Cow<'static, str>> {
        self.lock.as_ref()?.untrusted()
    }

    /// Acquires the lock: first among the tasks of this process, then for at most `timeout` among all processes. The
    /// directory of the lock file must exist. Calls `tell` once where there are no locks, or where they are not
    /// trusted. The first acquisition removes what ended processes left beside the lock file.
    ///
    /// # Errors
    /// Other processes held the lock too long, or the file system failed.
    pub async fn turn(
        &self,
        timeout: Duration,
        tell: impl FnOnce(),
    ) -> Result<Turn<'_>, LockError> {
        // The semaphore is never closed.
        let permit = self.turn.acquire().await.ok();
        let guard = match &self.lock {
            Some(lock) => Some(lock.acquire(Instant::now() + timeout).await?),
            None => None,
        };
        let turn = Turn { guard, _permit: permit };
        if !turn.is_exclusive() && !self.told_unlocked.swap(true, Ordering::Relaxed) {
            tell();
        }
        self.sweep_once(&self.directory).await;
        Ok(turn)
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

    /// At [`Durability::Full`], synchronises the path to a directory, which must exist and be canonical.
    ///
    /// # Errors
    /// The file system's.
    pub async fn make_reachable(&self, directory: &Path, durability: Durability) -> FileResult<()> {
        if durability == Durability::Process || self.state().reachable.contains(directory) {
            return Ok(());
        }
        if let Some(disk) = self.file_system.disk() {
            let path = directory.to_owned();
            let synced =
                tokio::task::spawn_blocking(move || sync_ancestors(disk.as_ref(), &path)).await;
            synced.map_err(|_| {
                FileError::system("fsync", directory, std::io::ErrorKind::Interrupted.into())
            })??;
        }
        self.state().reachable.insert(directory.to_owned());
        Ok(())
    }

    /// Records that a directory was found missing: if it is created again, its path is synchronised again.
    pub fn forget_directory(&self, directory: &Path) {
        self.state().reachable.remove(directory);
    }

    /// Creates a file, completely or not at all.
    ///
    /// # Errors
    /// The file system's.
    pub async fn create(
        &self,
        path: &Path,
        text: &Payload,
        durability: Durability,
    ) -> FileResult<()> {
        let (directory, temporary) = beside(path);
        create_file(
            self.file_system.as_ref(),
            Target { directory: &directory, temporary: &temporary, path },
            Payload::clone(text),
            durability,
            &self.sync_of(&directory),
        )
        .await
    }

    /// Removes what ended processes left in a directory, on the first call for it. Files that cannot be removed stay
    /// and do no harm.
    async fn sweep_once(&self, directory: &Path) {
        let is_new = !self.state().swept.contains(directory)
            && self.state().swept.insert(directory.to_owned());
        if is_new {
            let _ = self.remove_leftovers(directory).await;
        }
    }

    /// Removes the temporary files that ended processes left in a directory.
    ///
    /// # Errors
    /// The first error of a removal.
    pub async fn remove_leftovers(&self, directory: &Path) -> FileResult<()> {
        // An injected file system does not report the age of files.
        let Some(disk) = self.file_system.disk() else { return Ok(()) };
        let (path, is_temporary) = (directory.to_owned(), self.is_temporary);
        let swept = tokio::task::spawn_blocking(move || {
            crate::remove_leftovers(disk.as_ref(), &path, is_temporary)
        });
        swept.await.unwrap_or_else(|error| {
            Err(FileError::system("readdir", directory, std::io::Error::other(error)))
        })
    }

    /// Replaces a file, completely or not at all. The caller must hold the lock. The first replacement in a directory
    /// removes what ended processes left there.
    ///
    /// # Errors
    /// The file system's.
    pub async fn replace(
        &self,
        path: &Path,
        text: Payload,
        durability: Durability,
    ) -> FileResult<()> {
        let (directory, temporary) = beside(path);
        self.sweep_once(&directory).await;
        self.check_lock(path)?;
        replace_file(
            self.file_system.as_ref(),
            Target { directory: &directory, temporary: &temporary, path },
            text,
            durability,
            &self.sync_of(&directory),
        )
        .await
    }

    /// Refuses a change if another process may hold the lock by now.
    fn check_lock(&self, path: &Path) -> FileResult<()> {
        if self.lock.as_ref().is_none_or(|lock| lock.is_kept()) {
            return Ok(());
        }
        let lost = std::io::Error::other(
            "another process may have taken the lock, because this one did not reach the database for some seconds",
        );
        Err(FileError::system("write", path, lost))
    }

    /// Removes a file. Returns whether it existed.
    ///
    /// # Errors
    /// The file system's.
    pub async fn remove(&self, path: &Path, durability: Durability) -> FileResult<bool> {
        let is_removed = self.file_system.remove(path).await?;
        if is_removed && durability == Durability::Full {
            let (directory, _) = beside(path);
            self.sync_of(&directory).sync(self.file_system.as_ref(), &directory).await?;
        }
        Ok(is_removed)
    }
}

/// The directory of a file, and a new temporary path in it.
fn beside(path: &Path) -> (PathBuf, PathBuf) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let directory = path.parent().unwrap_or(path).to_owned();
    let temporary = directory.join(layout::replacement(name));
    (directory, temporary)
}
