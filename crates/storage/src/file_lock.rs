//! A lock between processes: the operating system's lock on a file that has no other purpose.
//!
//! The file is never unlinked, and no lock is ever stolen: the kernel releases it when its holder dies for any reason,
//! and keeps it while its holder is merely stopped. A waiting process polls with short jittered pauses. A process that
//! found the lock contended within the last 100 ms, or acquired it 64 times in a row, pauses before it acquires the lock
//! again, so that a waiting process gets an attempt.
//!
//! On some file systems, a lock does not exclude processes on other hosts or mounts ([`FileSystemKind`]). The lock is
//! acquired there as well, because it excludes the processes of the same mount, but [`LockGuard::is_exclusive`] is
//! `false`.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    file_system::{Access, Disk, FileError, FileResult, FileSystemKind, LockAttempt, OpenFile},
    layout,
};

/// Pauses between two attempts in µs: a minimum, and a random addition up to the jitter.
const PAUSE: u64 = 40;
const JITTER: u64 = 80;
/// Duration of the phase with short pauses. After it, pauses grow to milliseconds.
const SPIN_PHASE: Duration = Duration::from_secs(2);
const SLOW_PAUSE: u64 = 1;
const SLOW_JITTER: u64 = 3;
/// Pause before this process acquires a contended lock again. It is longer than the pauses of the spin phase, so that a
/// waiting process gets an attempt.
const FAIRNESS_YIELD: Duration = Duration::from_micros(PAUSE + JITTER + 30);
/// Number of acquisitions in a row without a fairness yield. A waiting process may have tried only while the lock was
/// held.
const MAX_ACQUISITIONS: u32 = 64;
/// Time after a contended attempt during which other processes are assumed to be waiting.
const RECENT: Duration = Duration::from_millis(100);
/// Maximum number of times that the lock file may be replaced between opening and locking it.
const MAX_REOPENED: usize = 100;

/// Why the lock was not acquired.
#[derive(Debug)]
pub enum LockError {
    /// Other processes held it until the deadline.
    TimedOut,
    /// The lock file cannot be opened or locked.
    File(FileError),
}

impl From<FileError> for LockError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// A lock file. It is used by one caller at a time; callers within the process have to queue.
pub struct FileLock {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// The caller guarantees that the locks bind every process.
    is_trusted: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<Arc<dyn OpenFile>>,
    /// The type of the file system that the file is on.
    kind: Option<FileSystemKind>,
    /// When another process was last found holding the lock.
    contended: Option<Instant>,
    /// Acquisitions since the last fairness yield.
    acquisitions: u32,
}

/// Holds the lock until it is dropped.
pub struct LockGuard {
    file: Option<Arc<dyn OpenFile>>,
    binds: bool,
}

impl LockGuard {
    /// Whether the lock excludes all other processes: `false` where the file system has no locks, or where its locks
    /// may bind only the processes of one host or mount.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.file.is_some() && self.binds
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            file.unlock();
        }
    }
}

impl FileLock {
    /// A lock on the file at `path`, which is created when it is first locked.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self { disk, path, is_trusted: AtomicBool::new(false), state: Mutex::default() }
    }

    /// Treats the lock as binding every process from now on, on any file system: the caller guarantees this for all
    /// users of this lock in the process.
    pub fn trust(&self) {
        self.is_trusted.store(true, Ordering::Relaxed);
    }

    /// The type of the file system, if the lock was taken and is not trusted.
    #[must_use]
    pub fn untrusted(&self) -> Option<Cow<'static, str>> {
        let kind = self.state().kind.clone()?;
        (!kind.locks_bind && !self.is_trusted.load(Ordering::Relaxed)).then_some(kind.name)
    }

    /// Whether the lock, which the caller holds, is still its own: see [`OpenFile::keeps_lock`].
    #[must_use]
    pub fn is_kept(&self) -> bool {
        let file = self.state().file.clone();
        file.is_none_or(|file| file.keeps_lock())
    }

    /// The path of the lock file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock until `deadline`. Makes at least one attempt.
    ///
    /// # Errors
    /// `TimedOut`, or the file system's error.
    pub async fn acquire(self: &Arc<Self>, deadline: Instant) -> Result<LockGuard, LockError> {
        let begun = Instant::now();
        if self.owes_yield(begun) {
            std::thread::sleep(FAIRNESS_YIELD);
        }
        if let Some(guard) = self.try_acquire()? {
            return Ok(guard);
        }
        // Polls on a separate thread: timers have a resolution of milliseconds, and the worker thread has other work.
        let (lock, spin_until) = (Arc::clone(self), deadline.min(begun + SPIN_PHASE));
        let spun = tokio::task::spawn_blocking(move || lock.poll(spin_until)).await;
        if let Some(guard) = spun.unwrap_or(Ok(None))? {
            return Ok(guard);
        }
        while Instant::now() < deadline {
            let pause = SLOW_PAUSE + layout::random() % SLOW_JITTER;
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if let Some(guard) = self.try_acquire()? {
                return Ok(guard);
            }
        }
        Err(LockError::TimedOut)
    }

    /// Whether this process has to yield to others first.
    fn owes_yield(&self, now: Instant) -> bool {
        let mut state = self.state();
        state.acquisitions += 1;
        let owes = state.acquisitions > MAX_ACQUISITIONS
            || state.contended.is_some_and(|at| now.duration_since(at) < RECENT);
        if owes {
            state.acquisitions = 0;
        }
        owes
    }

    fn poll(&self, deadline: Instant) -> FileResult<Option<LockGuard>> {
        let mut attempt = Duration::ZERO;
        while Instant::now() < deadline {
            // An attempt at another machine takes longer than the pauses: it is then the measure.
            let jittered = Duration::from_micros(PAUSE + layout::random() % JITTER);
            std::thread::sleep(jittered.max(attempt * 2));
            let begun = Instant::now();
            if let Some(guard) = self.try_acquire()? {
                return Ok(Some(guard));
            }
            attempt = begun.elapsed();
        }
        Ok(None)
    }

    /// Makes one attempt; `None` when another process holds the lock.
    ///
    /// # Errors
    /// The file system's.
    pub fn try_acquire(&self) -> FileResult<Option<LockGuard>> {
        for _ in 0..MAX_REOPENED {
            let file = self.file()?;
            // A handle that fails is dropped: a file server may have discarded it.
            let attempt = file.try_lock().inspect_err(|_| self.state().file = None)?;
            match attempt {
                LockAttempt::Held => {
                    self.state().contended = Some(Instant::now());
                    return Ok(None);
                }
                LockAttempt::Unsupported => {
                    self.state().kind = None;
                    return Ok(Some(LockGuard { file: None, binds: false }));
                }
                LockAttempt::Taken => {}
            }
            let binds = self.untrusted().is_none();
            let guard = LockGuard { file: Some(Arc::clone(&file)), binds };
            if file.is_at(&self.path) {
                return Ok(Some(guard));
            }
            // Another process removed or moved the file, perhaps with its directory: a process that opens it now locks
            // a different file.
            self.state().file = None;
        }
        let error = std::io::Error::other("the lock file is removed all the time");
        Err(FileError::system("lock", &self.path, error))
    }

    fn file(&self) -> FileResult<Arc<dyn OpenFile>> {
        let mut state = self.state();
        if let Some(file) = &state.file {
            return Ok(Arc::clone(file));
        }
        let file: Arc<dyn OpenFile> = Arc::from(self.disk.open(&self.path, Access::Append)?);
        state.kind = Some(file.file_system());
        state.file = Some(Arc::clone(&file));
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_system::LocalDisk;

    fn lock(path: &Path) -> Arc<FileLock> {
        Arc::new(FileLock::new(Arc::new(LocalDisk), path.to_owned()))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[tokio::test]
    async fn excludes_others_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let (one, other) = (lock(&path), lock(&path));
        let guard = one.acquire(soon()).await.unwrap();
        assert!(guard.is_exclusive());
        let begun = Instant::now();
        let refused = other.acquire(begun + Duration::from_millis(30)).await;
        assert!(matches!(refused, Err(LockError::TimedOut)));
        assert!(begun.elapsed() >= Duration::from_millis(30));
        let waiting = tokio::spawn(async move { other.acquire(soon()).await.is_ok() });
        tokio::time::sleep(Duration::from_millis(5)).await;
        drop(guard);
        assert!(waiting.await.unwrap());
        assert!(path.exists(), "the lock file stays");
    }

    #[tokio::test]
    async fn a_removed_lock_file_is_not_mistaken_for_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let (one, other) = (lock(&path), lock(&path));
        drop(one.acquire(soon()).await.unwrap());
        std::fs::remove_file(&path).unwrap();
        let guard = one.acquire(soon()).await.unwrap();
        assert!(other.try_acquire().unwrap().is_none(), "both open the same file");
        drop(guard);
    }

    #[tokio::test]
    async fn a_lock_file_that_was_moved_is_not_mistaken_for_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("a");
        std::fs::create_dir(&directory).unwrap();
        let path = directory.join("x.lock");
        let (one, other) = (lock(&path), lock(&path));
        drop(one.acquire(soon()).await.unwrap());
        std::fs::rename(&directory, folder.path().join("b")).unwrap();
        std::fs::create_dir(&directory).unwrap();
        let guard = other.acquire(soon()).await.unwrap();
        assert!(one.try_acquire().unwrap().is_none(), "both lock what has the name now");
        drop(guard);
    }

    #[tokio::test]
    async fn everybody_gets_a_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let over = Instant::now() + Duration::from_millis(400);
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock(&path);
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build()
                        .unwrap();
                    runtime.block_on(async {
                        let mut turns = 0;
                        while Instant::now() < over {
                            drop(lock.acquire(soon()).await.unwrap());
                            turns += 1;
                        }
                        turns
                    })
                })
            })
            .collect();
        let turns: Vec<u32> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        let (least, most) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
        assert!(*least > 0 && most / least < 30, "{turns:?}");
    }
}
