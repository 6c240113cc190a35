//! The map of a workspace: finds its files, keeps their symbols up to date, and ranks them.
//!
//! | module | contents |
//! |---|---|
//! | `walk`, `skipped` | the source files, and those that are left out |
//! | `record` | the record of a file and of its state |
//! | `intake` | ingestion: reading and parsing changed files on all cores |
//! | `cache` | the records on disk |
//! | `snapshot` | the state of a workspace at one time |
//! | `graph`, `reach`, `prior` | uses between files, visibility weights and path priors |
//! | `focus`, `words` | the query focus |
//! | `ranking` | the order of files and definitions |
//! | `render`, `outline` | a ranking as text |
//!
//! If the caller passes a redaction, all stored data is redacted: a file's text is redacted before it is parsed, with
//! the values of environment variables at that time. When the redaction rules change, all files are parsed again, and
//! entries of a shared cache that were redacted by other rules are ignored.

mod cache;
mod focus;
mod graph;
mod intake;
mod outline;
mod prior;
mod ranking;
mod reach;
mod record;
mod render;
mod skipped;
mod snapshot;
mod walk;
mod words;

#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use chrono::Utc;
use redaction::Redaction;
use storage::{
    Disk, Durability, FileError, FileResult, FileSystem, Payload, Registry, Target, layout,
};
use tasks::{Cancelled, run_blocking};
use tokio::{runtime::Handle, sync::Semaphore};

use self::{
    cache::Head,
    intake::{Intake, KnownFiles, NewParser, Outcome, new_parser},
    record::SourceFile,
    skipped::Skipped as SkippedFiles,
    walk::walk,
};
use crate::{Error, Result};

pub use intake::{OnProgress, Progress};
pub use ranking::Ranking;
pub use render::{MappedFile, RenderedMap};
pub use skipped::{SkipReason, Skipped, SkippedFile};
pub use snapshot::Snapshot;

/// Limits of a refresh.
#[derive(Debug, Clone)]
struct Limits {
    /// Maximum number of source files. Those with the fewest directories in their paths are kept; among equals, the
    /// first by path.
    files: usize,
    /// Maximum size of a file that is parsed, in bytes.
    file_bytes: u64,
    /// The cache is written when this many files, or a hundredth of all, have changed or were touched.
    unsaved: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 50_000, file_bytes: 1024 * 1024, unsaved: 64 }
    }
}

/// Options of a refresh.
#[derive(Clone, Default)]
pub struct RefreshOptions {
    /// The durability of the cache.
    pub durability: Durability,
    /// The redaction of everything that is stored.
    pub redaction: Option<Redaction>,
    /// Receives the progress.
    pub progress: Option<Arc<OnProgress>>,
    /// Receives notices.
    pub on_notice: Option<Arc<OnNotice>>,
}

/// Events that a refresh reports in addition to its result.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Source files were left out, and they differ from those of the previous refresh.
    Skipped(&'a SkippedFiles),
    /// The cache could not be written; the map is complete without it.
    CacheNotWritten {
        /// The directory of the cache.
        directory: &'a Path,
        /// The reason.
        error: FileError,
    },
}

/// Receives notices, on any thread.
pub type OnNotice = dyn Fn(Notice<'_>) + Send + Sync;

/// The known files of one workspace. Shared in a process by all users of the same workspace and cache.
pub struct RepoMap {
    disk: Arc<dyn Disk>,
    file_system: Arc<dyn FileSystem>,
    workspace: PathBuf,
    indexes: PathBuf,
    limits: Limits,
    new_parser: Box<NewParser>,
    /// Held by the refresh that checks files, until its threads have ended.
    turn: Arc<Semaphore>,
    /// The number of refreshes that began, and the number of the latest one that ended.
    begun: AtomicU64,
    done: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The fingerprint of the rules by which the known files were redacted; `None` before the first refresh.
    rules: Option<Option<u64>>,
    files: Arc<KnownFiles>,
    snapshot: Option<Arc<Snapshot>>,
    /// Number of files that changed or were touched since the cache was written.
    unsaved: usize,
}

static MAPS: Registry<(u64, PathBuf, PathBuf), RepoMap> = Registry::new();

impl RepoMap {
    /// The map of a workspace, whose path is canonical. Its cache is in the directory `indexes` of `file_system`, which
    /// is created on the first write. A file system without a disk has no cache. Does no I/O.
    pub fn of(
        disk: &Arc<dyn Disk>,
        file_system: &Arc<dyn FileSystem>,
        workspace: &Path,
        indexes: &Path,
    ) -> Arc<Self> {
        let key = (file_system.scope(), workspace.to_owned(), indexes.to_owned());
        MAPS.get_or_insert_with(key, || {
            Self::with(
                Arc::clone(disk),
                Arc::clone(file_system),
                (workspace.to_owned(), indexes.to_owned()),
                Limits::default(),
                Box::new(new_parser),
            )
        })
    }

    fn with(
        disk: Arc<dyn Disk>,
        file_system: Arc<dyn FileSystem>,
        (workspace, indexes): (PathBuf, PathBuf),
        limits: Limits,
        new_parser: Box<NewParser>,
    ) -> Arc<Self> {
        Arc::new(Self {
            disk,
            file_system,
            workspace,
            indexes,
            limits,
            new_parser,
            turn: Arc::new(Semaphore::new(1)),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            state: Mutex::default(),
        })
    }

    /// Compares the workspace with the known files, parses new and changed files, and updates the cache. Concurrent
    /// callers wait, and share the result of a refresh that began after their call. Dropping the future stops the
    /// refresh soon; files that were parsed until then stay known.
    ///
    /// # Errors
    /// The workspace cannot be read.
    pub async fn refresh(self: &Arc<Self>, options: RefreshOptions) -> Result<Arc<Snapshot>> {
        // A refresh that began before this call may have checked files too early.
        let next = self.begun.load(Ordering::SeqCst) + 1;
        let permit = Arc::clone(&self.turn).acquire_owned().await.map_err(|_| Error::Closed)?;
        let rules = options.redaction.as_ref().map(Redaction::fingerprint);
        if self.done.load(Ordering::SeqCst) >= next
            && let Some(snapshot) = self.known_snapshot(rules)
        {
            let total = snapshot.file_count() as u64;
            if let Some(progress) = &options.progress {
                progress(Progress { done: total, total, parsed: 0 });
            }
            return Ok(snapshot);
        }
        let (map, runtime) = (Arc::clone(self), Handle::current());
        run_blocking(move |cancelled| -> Result<Arc<Snapshot>> {
            // Held until the threads have ended, so that no other refresh parses the same files meanwhile.
            let _permit = permit;
            let number = map.begun.fetch_add(1, Ordering::SeqCst) + 1;
            let snapshot = map.pass(&options, rules, cancelled)?;
            map.done.fetch_max(number, Ordering::SeqCst);
            map.save(&options, &runtime);
            Ok(snapshot)
        })
        .await?
    }

    fn known_snapshot(&self, rules: Option<u64>) -> Option<Arc<Snapshot>> {
        let state = self.state();
        state.snapshot.clone().filter(|_| state.rules == Some(rules))
    }

    fn pass(
        &self,
        options: &RefreshOptions,
        rules: Option<u64>,
        cancelled: &Cancelled,
    ) -> Result<Arc<Snapshot>> {
        self.load(rules);
        // Taken before the files are listed: later writes have later times.
        let now = Utc::now().timestamp_millis();
        let listing = walk(self.disk.as_ref(), &self.workspace, &self.limits, cancelled)?;
        let listing = listing.ok_or(Error::Cancelled)?;
        let known = Arc::clone(&self.state().files);
        let intake = Intake {
            disk: self.disk.as_ref(),
            workspace: &self.workspace,
            limits: &self.limits,
            new_parser: self.new_parser.as_ref(),
            redaction: options.redaction.as_ref(),
            known: &known,
            now,
            cancelled,
        };
        let outcomes = intake.take_in(&listing.files, options.progress.as_deref());
        if cancelled.is_set() {
            self.keep(known, outcomes);
            return Err(Error::Cancelled);
        }
        Ok(self.take_over(outcomes, listing.skipped, &known, options.on_notice.as_deref()))
    }

    /// Loads the cache if no files are known by these rules.
    fn load(&self, rules: Option<u64>) {
        if self.state().rules == Some(rules) {
            return;
        }
        let name = layout::symbols(&self.workspace);
        let disk = self.file_system.disk();
        let contents = disk.map(|disk| disk.read(&self.indexes, Path::new(&name), cache::MAX_FILE));
        let files = contents.and_then(FileResult::ok).and_then(|contents| {
            cache::decode(&contents.bytes, &self.head(rules), self.limits.files)
        });
        let files = Arc::new(files.unwrap_or_default());
        *self.state() = State { rules: Some(rules), files, ..State::default() };
    }

    /// Keeps the files that were parsed before the refresh was cancelled.
    fn keep(&self, known: Arc<KnownFiles>, outcomes: Vec<Outcome>) {
        let parsed = outcomes.into_iter().filter_map(|outcome| match outcome {
            Outcome::Parsed(known) => Some((Arc::clone(&known.file.path), known)),
            _ => None,
        });
        let mut files = Arc::unwrap_or_clone(known);
        let mut state = self.state();
        for (path, known) in parsed {
            files.insert(path, known);
            state.unsaved += 1;
        }
        state.files = Arc::new(files);
    }

    fn take_over(
        &self,
        outcomes: Vec<Outcome>,
        mut skipped: SkippedFiles,
        before: &KnownFiles,
        on_notice: Option<&OnNotice>,
    ) -> Arc<Snapshot> {
        let mut files: Vec<SourceFile> = Vec::with_capacity(outcomes.len());
        let mut known = KnownFiles::default();
        let mut refused = Vec::new();
        let mut unsaved = 0;
        for outcome in outcomes {
            let one = match outcome {
                Outcome::Unchanged(one) => one,
                Outcome::Touched(one) | Outcome::Parsed(one) => {
                    unsaved += 1;
                    one
                }
                Outcome::Skipped(file, reason) => {
                    refused.push(SkippedFile { path: file.path.to_string(), reason });
                    files.push(file);
                    continue;
                }
                Outcome::Refused(path, reason) => {
                    refused.push(SkippedFile { path, reason });
                    continue;
                }
                Outcome::Gone => continue,
            };
            if let Some(reason) = one.skipped {
                refused.push(SkippedFile { path: one.file.path.to_string(), reason });
            }
            files.push(one.file.clone());
            known.insert(Arc::clone(&one.file.path), one);
        }
        unsaved += before.keys().filter(|path| !known.contains_key(*path)).count();
        skipped.add(refused);
        let mut state = self.state();
        state.unsaved += unsaved;
        state.files = Arc::new(known);
        if let Some(snapshot) = state.snapshot.clone().filter(|one| one.is_same(&files, &skipped)) {
            return snapshot;
        }
        let is_reported =
            state.snapshot.as_ref().is_some_and(|before| *before.skipped() == skipped);
        if !is_reported
            && (skipped.total > 0 || skipped.beyond_bound > 0)
            && let Some(notify) = on_notice
        {
            notify(Notice::Skipped(&skipped));
        }
        let snapshot = Arc::new(Snapshot::new(self.workspace.clone(), files, skipped));
        state.snapshot = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// Writes the cache if enough files have changed since it was written. Writing it for a few files takes longer than
    /// parsing them again.
    fn save(&self, options: &RefreshOptions, runtime: &Handle) {
        if self.file_system.disk().is_none() {
            return;
        }
        let (rules, files) = {
            let mut state = self.state();
            let many = self.limits.unsaved.min(state.files.len() / 100).max(1);
            if state.unsaved < many {
                return;
            }
            // If writing fails, it is not tried again at once.
            state.unsaved = 0;
            (state.rules.flatten(), Arc::clone(&state.files))
        };
        let mut files: Vec<_> = files.values().collect();
        files.sort_unstable_by(|one, other| one.file.path.cmp(&other.file.path));
        let Some(bytes) = cache::encode(&self.head(rules), files.into_iter()) else { return };
        let written = runtime.block_on(self.write(Payload::new(bytes), options.durability));
        if let (Err(error), Some(notify)) = (written, &options.on_notice) {
            notify(Notice::CacheNotWritten { directory: &self.indexes, error });
        }
    }

    async fn write(&self, contents: Payload, durability: Durability) -> FileResult<()> {
        let (file_system, directory) = (self.file_system.as_ref(), self.indexes.as_path());
        file_system.create_directories(directory).await?;
        let name = layout::symbols(&self.workspace);
        let (path, temporary) = (directory.join(&name), directory.join(layout::replacement(&name)));
        let target = Target { directory, temporary: &temporary, path: &path };
        // A file that cannot be listed or removed stays and does no harm.
        let is_temporary = |candidate: &str| layout::is_replacement(candidate, &name);
        let _ = storage::remove_leftovers(self.disk.as_ref(), directory, is_temporary);
        storage::replace_cache_file(file_system, target, contents, durability).await
    }

    fn head(&self, rules: Option<u64>) -> Head {
        Head::new(&self.workspace, self.limits.file_bytes, rules)
    }

    // A thread that panicked has left a consistent state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
