//! A context directory as this process uses it: all managers of one directory share one lease, one table of handles and
//! one group commit.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use storage::{DirectorySync, Disk, FileError, FileResult, Lease, Ownership, Registry, layout};
use tokio::{sync::OnceCell, time::Instant};

use super::handle_table::HandleTable;

/// The time between background sweeps of a directory in use, and the random part that is added.
const SWEEP_INTERVAL: Duration = Duration::from_secs(9 * 60);
const SWEEP_JITTER: Duration = Duration::from_secs(2 * 60);
/// The longest time for which closing a directory waits for a background sweep. Only a sweep of very many files takes longer.
const SWEEP_WAIT: Duration = Duration::from_secs(5);

/// A directory in which this process has sessions, shared by its managers.
pub struct SharedDirectory {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    leased: Mutex<Leased>,
    temporaries: AtomicU64,
    /// When the next background sweep is due; `None` before the first.
    sweep_due: Mutex<Option<Instant>>,
    /// Held while a background sweep runs.
    sweeping: tokio::sync::Mutex<()>,
    /// The file of each handle.
    pub handles: Arc<HandleTable>,
    /// Group commit of directory entries.
    pub sync: DirectorySync,
}

#[derive(Default)]
struct Leased {
    lease: Option<Lease>,
    /// The number of managers of each session.
    sessions: HashMap<String, usize>,
    /// Set once the directory's ancestors are on stable storage. If the lease's file was removed, the directory may
    /// have been as well, so a new cell takes its place.
    ancestors: Arc<OnceCell<()>>,
}

/// All shared directories, by disk scope and path.
static DIRECTORIES: Registry<(u64, PathBuf), SharedDirectory> = Registry::new();

impl SharedDirectory {
    /// The shared directory for a canonical path.
    #[must_use]
    pub fn shared(disk: &Arc<dyn Disk>, path: &Path) -> Arc<Self> {
        DIRECTORIES.get_or_insert_with((disk.scope(), path.to_owned()), || {
            Arc::new(Self {
                disk: Arc::clone(disk),
                path: path.to_owned(),
                leased: Mutex::default(),
                temporaries: AtomicU64::new(0),
                sweep_due: Mutex::default(),
                sweeping: tokio::sync::Mutex::default(),
                handles: Arc::new(HandleTable::new(disk, path)),
                sync: DirectorySync::default(),
            })
        })
    }

    fn leased(&self) -> MutexGuard<'_, Leased> {
        self.leased.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a session to the lease until the returned guard is dropped.
    ///
    /// # Errors
    /// If the lease cannot be taken.
    pub fn enter(self: &Arc<Self>, session: &str) -> FileResult<SessionLease> {
        let mut leased = self.leased();
        let kept = leased.sessions.get(session).copied().unwrap_or_default();
        leased.sessions.insert(session.to_owned(), kept + 1);
        let outcome = match &mut leased.lease {
            Some(lease) if lease.is_in_place() => {
                if kept == 0 {
                    lease.begin(session)
                } else {
                    Ok(())
                }
            }
            _ => self.renew(&mut leased),
        };
        drop(leased);
        // From here on, dropping the guard undoes the count.
        let guard = SessionLease { directory: Arc::clone(self), session: session.to_owned() };
        outcome.map(|()| guard)
    }

    /// Takes a new lease for all sessions, then drops the old one.
    fn renew(&self, leased: &mut Leased) -> FileResult<()> {
        let sessions = leased.sessions.keys().map(String::as_str);
        let lease = Lease::acquire(&self.disk, &self.path, sessions)?;
        // Checked after the new lease exists: before, the directory could have been replaced unnoticed.
        if !leased.lease.as_ref().is_some_and(Lease::is_in_place) {
            leased.ancestors = Arc::default();
        }
        if let Some(old) = leased.lease.replace(lease) {
            old.release();
        }
        Ok(())
    }

    fn leave(&self, session: &str) {
        let mut leased = self.leased();
        let Some(count) = leased.sessions.get_mut(session) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        leased.sessions.remove(session);
        if leased.sessions.is_empty() {
            if let Some(lease) = leased.lease.take() {
                lease.release();
            }
            self.handles.close();
        } else if let Some(lease) = &mut leased.lease {
            // If this fails, the session is only swept later.
            if let Ok(false) = lease.end(session) {
                let _ = self.renew(&mut leased);
            }
        }
    }

    /// A new temporary file name under this process's lease. If the lease's file was removed, the lease is taken again
    /// first: otherwise another process would sweep the sessions' files.
    ///
    /// # Errors
    /// If the lease cannot be taken.
    pub fn temporary(&self) -> FileResult<PathBuf> {
        let counter = self.temporaries.fetch_add(1, Ordering::Relaxed);
        let mut leased = self.leased();
        if !leased.lease.as_ref().is_some_and(Lease::is_in_place) {
            self.renew(&mut leased)?;
        }
        let owner = leased.lease.as_ref().map_or("", Lease::owner);
        Ok(self.path.join(layout::temporary(owner, counter)))
    }

    /// Synchronises the directory's ancestors, once for all concurrent callers.
    ///
    /// # Errors
    /// The disk's; the next caller tries again.
    pub async fn sync_ancestors(&self) -> FileResult<()> {
        let synced = Arc::clone(&self.leased().ancestors);
        let sync = || async {
            let (disk, path) = (Arc::clone(&self.disk), self.path.clone());
            tokio::task::spawn_blocking(move || storage::sync_ancestors(disk.as_ref(), &path))
                .await
                .unwrap_or_else(|error| {
                    Err(FileError::system("fsync", &self.path, io::Error::other(error)))
                })
        };
        synced.get_or_try_init(sync).await.copied()
    }

    /// The path and the owner of the lease's file, on systems with owners.
    #[must_use]
    pub fn lease_ownership(&self) -> Option<(PathBuf, Ownership)> {
        let leased = self.leased();
        let (path, ownership) = leased.lease.as_ref()?.ownership()?;
        Some((path.to_owned(), ownership))
    }

    /// Returns `true` at first, and then once per interval: the caller then sweeps in the background. The interval has
    /// a random part, so that processes that started together do not sweep together.
    #[must_use]
    pub fn claim_background_sweep(&self) -> bool {
        let now = Instant::now();
        let mut due = self.sweep_due.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = due.is_none_or(|due| due <= now);
        if is_due {
            let jitter = layout::random() % SWEEP_JITTER.as_millis().max(1) as u64;
            *due = Some(now + SWEEP_INTERVAL + Duration::from_millis(jitter));
        }
        is_due
    }

    /// Marks a background sweep as running until the returned guard is dropped.
    pub async fn begin_background_sweep(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.sweeping.lock().await
    }

    /// Waits for a running background sweep, at most for [`SWEEP_WAIT`], if no session of this process is left in the
    /// directory, which its user may then want to remove.
    pub async fn finish_background_sweep_when_unused(&self) {
        let is_used = !self.leased().sessions.is_empty();
        if !is_used {
            // After the time, the sweep goes on.
            let _ = tokio::time::timeout(SWEEP_WAIT, self.sweeping.lock()).await;
        }
    }

    /// The canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Keeps a session in the lease until it is dropped.
pub struct SessionLease {
    directory: Arc<SharedDirectory>,
    session: String,
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        self.directory.leave(&self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use storage::{LiveSessions, LocalDisk, live_sessions};

    fn shared(path: &Path) -> Arc<SharedDirectory> {
        let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
        SharedDirectory::shared(&disk, path)
    }

    fn live(path: &Path) -> LiveSessions {
        live_sessions(&LocalDisk, path, false).unwrap()
    }

    fn files(path: &Path) -> usize {
        fs::read_dir(path).unwrap().count()
    }

    #[test]
    fn a_thousand_sessions_share_one_lease() {
        let folder = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(folder.path()).unwrap();
        let directory = shared(&path);
        assert!(Arc::ptr_eq(&directory, &shared(&path)));
        let mut guards: Vec<_> =
            (0..1000).map(|number| directory.enter(&format!("s{number}")).unwrap()).collect();
        let again = directory.enter("s0").unwrap();
        assert_eq!(files(&path), 1);
        assert_eq!(live(&path).count(), 1000);
        drop(guards.remove(0));
        assert!(live(&path).contains("s0"), "another manager keeps it");
        drop(again);
        assert!(!live(&path).contains("s0"));
        drop(guards);
        assert_eq!(files(&path), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_background_sweep_is_waited_for_once_the_directory_is_unused() {
        let folder = tempfile::tempdir().unwrap();
        let directory = shared(&fs::canonicalize(folder.path()).unwrap());
        let is_done = async || {
            let finished = directory.finish_background_sweep_when_unused();
            tokio::time::timeout(SWEEP_WAIT / 2, finished).await.is_ok()
        };
        let running = directory.begin_background_sweep().await;
        let session = directory.enter("s").unwrap();
        assert!(is_done().await, "another session uses the directory");
        drop(session);
        assert!(!is_done().await);
        directory.finish_background_sweep_when_unused().await; // not for ever
        drop(running);
        assert!(is_done().await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_runs_for_a_week_sweeps_about_every_ten_minutes_of_activity() {
        let folder = tempfile::tempdir().unwrap();
        let directory = shared(&fs::canonicalize(folder.path()).unwrap());
        let mut sweeps = 0;
        for _ in 0..7 * 24 * 60 {
            sweeps += u32::from(directory.claim_background_sweep());
            tokio::time::advance(Duration::from_secs(60)).await;
        }
        assert!((7 * 24 * 5..=7 * 24 * 7).contains(&sweeps), "{sweeps} sweeps");
        tokio::time::advance(Duration::from_secs(7 * 24 * 3600)).await;
        assert!(directory.claim_background_sweep(), "after a pause once");
        assert!(!directory.claim_background_sweep());
    }

    #[test]
    fn a_lease_is_written_anew_when_much_of_it_is_over_or_it_was_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(folder.path()).unwrap();
        let directory = shared(&path);
        let kept = directory.enter("kept").unwrap();
        for number in 0..1500 {
            drop(directory.enter(&format!("s{number}")).unwrap());
        }
        let lease = fs::read_dir(&path).unwrap().next().unwrap().unwrap();
        assert!(lease.metadata().unwrap().len() < 20_000);
        assert!(live(&path).contains("kept"));
        fs::remove_file(lease.path()).unwrap();
        let other = directory.enter("other").unwrap();
        let alive = live(&path);
        assert!(alive.contains("kept") && alive.contains("other"));
        drop((kept, other));
        assert_eq!(files(&path), 0);
    }
}
