//! The entry index of a store: metadata, links and an inverted index of all its entries, in memory
//! and in a cache on disk. `recall` searches it and reads the entries that it finds from their files;
//! `housekeeping` makes its plan from it.
//!
//! Terms: a *row* is one entry's metadata; a row's *sequence* is its document id in the inverted
//! index; a *look* is a file that may have changed and has to be read; a *pass* is one update of the
//! index: it lists the directories, reads the looks and replaces their rows. Where a database has an index of the entries' terms,
//! a process has the metadata of all entries, and the texts of those only that searches read.
//!
//! | module | contents |
//! |---|---|
//! | `row`, `table` | the metadata of one entry, and of all |
//! | `filter`, `find` | query filters, and searching |
//! | `narrowing`, `entry_terms`, `facets` | candidates by the index of a database, and the terms that it has |
//! | `links` | links between entries |
//! | `files` | blocking file access |
//! | `scan`, `intake` | finding changed files, and reading them |
//! | `texts` | the texts of an entry that are searched |
//! | `freshness` | when files are compared with the index |
//! | `cache` | the index on disk |

mod cache;
mod entry_terms;
mod facets;
mod files;
mod filter;
mod find;
mod freshness;
mod intake;
mod links;
mod narrowing;
mod row;
mod scan;
mod table;
mod texts;

#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use arc_swap::ArcSwap;
use rustc_hash::FxHashMap;
use serde_json::json;
use storage::{FileSystem, Ownership};
use tasks::Cancelled;
use text_index::Index;
use tokio::sync::Semaphore;

use self::{
    entry_terms::KeptTerms,
    files::Files,
    freshness::{Freshness, Limits},
    narrowing::Read,
    scan::Look,
    table::Table,
};
use super::{Location, Problem, Summary};
use crate::{
    blocking::run_blocking,
    debug::Debug,
    error::{Error, Result},
    safety::{Inspection, is_reachable},
};

pub use filter::Filter;
pub use links::Direction;
pub(super) use links::Known;

/// The index of all entries of a store, shared by all [`super::Store`]s of the directory in this
/// process.
///
/// Searches see the state of the last [`EntryIndex::refresh`]: to see the present files, call it
/// before.
pub(super) struct EntryIndex {
    file_system: Arc<dyn FileSystem>,
    root: PathBuf,
    max_entry_bytes: u64,
    limits: Limits,
    table: RwLock<Table>,
    /// The inverted index; its document ids are the sequences of rows.
    text: ArcSwap<Index>,
    /// The entries whose texts are in it, where it does not have all of them.
    read: Arc<tokio::sync::Mutex<Read>>,
    kept_terms: KeptTerms,
    /// Whether the database refused the terms of entries when they were last added.
    refuses_terms: AtomicBool,
    sequence: AtomicU64,
    freshness: Freshness,
    /// Held while the table is changed.
    turn: Semaphore,
    is_loaded: AtomicBool,
    noted: Mutex<Noted>,
    /// Entries that changed since the cache was written.
    changes: AtomicUsize,
    /// Held while segments are merged and the cache is written.
    tidying: Semaphore,
    /// The first file found that other users can read, or that another user owns.
    exposed: OnceLock<(String, Ownership)>,
    inspection: Inspection,
}

/// Entries that have to be examined, each with the number of its latest [`EntryIndex::note`].
#[derive(Default)]
struct Noted {
    entries: FxHashMap<Location, u64>,
    count: u64,
}

impl EntryIndex {
    /// An index of the store in `root`, which is a canonical path. Touches no file yet. Files
    /// longer than `max_entry_bytes` are no entries.
    pub fn new(file_system: Arc<dyn FileSystem>, root: PathBuf, max_entry_bytes: u64) -> Arc<Self> {
        Self::with_limits(file_system, root, max_entry_bytes, Limits::default())
    }

    fn with_limits(
        file_system: Arc<dyn FileSystem>,
        root: PathBuf,
        max_entry_bytes: u64,
        limits: Limits,
    ) -> Arc<Self> {
        Arc::new(Self {
            file_system,
            root,
            max_entry_bytes,
            limits,
            table: RwLock::default(),
            text: ArcSwap::default(),
            read: Arc::default(),
            kept_terms: KeptTerms::default(),
            refuses_terms: AtomicBool::new(false),
            sequence: AtomicU64::new(0),
            freshness: Freshness::default(),
            turn: Semaphore::new(1),
            is_loaded: AtomicBool::new(false),
            noted: Mutex::default(),
            changes: AtomicUsize::new(0),
            tidying: Semaphore::new(1),
            exposed: OnceLock::new(),
            inspection: Inspection::default(),
        })
    }

    /// Updates the index. Concurrent callers share one pass.
    ///
    /// Stores of fewer than 10 000 entries are compared with their files each time. A larger store
    /// is compared only if the last comparison is older than 10 s; a background task repeats it as
    /// long as searches come. Entries passed to [`EntryIndex::note`] are always examined.
    ///
    /// # Errors
    /// `Io` when the store's directory cannot be listed.
    pub async fn refresh(self: &Arc<Self>, debug: &Debug) -> Result<()> {
        let pass = self.freshness.next_pass();
        self.freshness.note_search();
        if !(self.is_fresh() && self.noted().entries.is_empty()) {
            let _turn = self.turn.acquire().await.map_err(closed)?;
            if !self.freshness.is_done(pass) {
                let pass = self.freshness.begin();
                let (index, files) = (Arc::clone(self), self.files());
                run_blocking(move |cancelled| index.pass(&files, cancelled)).await?;
                self.freshness.end(pass);
            }
        }
        self.report(debug);
        if self.is_large() {
            self.watch();
        }
        if self.is_worth_saving() {
            let (index, debug) = (Arc::clone(self), debug.clone());
            // Runs after the search returned, so that the search need not wait. A cache that could
            // not be written is rebuilt later.
            tokio::spawn(async move { index.tidy(&debug).await });
        }
        Ok(())
    }

    /// Marks an entry that this process has changed, created or removed: the next refresh examines
    /// it.
    pub fn note(&self, location: &Location) {
        let mut noted = self.noted();
        noted.count += 1;
        let number = noted.count;
        noted.entries.insert(location.clone(), number);
    }

    /// The metadata of an entry.
    pub fn summary(&self, path: &str) -> Option<Summary> {
        let table = self.table();
        table.get(path).map(|row| row.summary(&table.names))
    }

    /// The files that are no valid entries and the directories that cannot be read, with the
    /// reasons.
    pub fn problems(&self) -> Vec<(String, Problem)> {
        let table = self.table();
        let problems = table.problems();
        problems.map(|(path, problem)| (path.to_owned(), problem.clone())).collect()
    }

    /// Compares the table with all files. Takes the table's semaphore only after listing the
    /// directories.
    async fn compare_aside(self: &Arc<Self>) -> Result<()> {
        let (index, files) = (Arc::clone(self), self.files());
        let (start, scan) =
            run_blocking(move |cancelled| Ok((Instant::now(), index.scan(&files, cancelled)?)))
                .await?;
        let Some(scan) = scan else { return Ok(()) };
        // Acquired after the scan, so that searches wait for the reading of changed files only.
        // Files that were ingested meanwhile have another version than in the scan, and are
        // examined once more.
        let _turn = self.turn.acquire().await.map_err(closed)?;
        let (index, files) = (Arc::clone(self), self.files());
        run_blocking(move |cancelled| {
            index.table_mut().close(scan.closed);
            let looks =
                scan.looks.into_iter().map(|look| Look { file: None, ..look }).collect::<Vec<_>>();
            let changes = index.take_in(&files, &looks, cancelled);
            index.changes.fetch_add(changes, Ordering::Relaxed);
            if !cancelled.is_set() {
                index.freshness.note_comparison(start);
            }
            Ok(())
        })
        .await
    }

    /// Examines all files, or those that were noted. The caller holds `turn` and runs on a thread
    /// that may block.
    fn pass(&self, files: &Files, cancelled: &Cancelled) -> Result<()> {
        if !self.is_loaded.load(Ordering::SeqCst) {
            self.load(files);
            self.is_loaded.store(true, Ordering::SeqCst);
        }
        let noted = self.noted().entries.clone();
        let mut looks: Vec<Look> = Vec::new();
        let start = Instant::now();
        let is_whole = !self.is_fresh();
        if is_whole {
            let Some(scan) = self.scan(files, cancelled)? else { return Ok(()) };
            self.table_mut().close(scan.closed);
            looks = scan.looks;
        }
        let is_noted = |look: &Look| noted.contains_key(&look.location);
        if !noted.is_empty() {
            looks.retain(|look| !is_noted(look));
        }
        looks.extend(noted.keys().map(|location| Look { location: location.clone(), file: None }));
        let changes = self.take_in(files, &looks, cancelled);
        self.changes.fetch_add(changes, Ordering::Relaxed);
        if cancelled.is_set() {
            return Ok(());
        }
        if is_whole {
            self.freshness.note_comparison(start);
        }
        let mut still = self.noted();
        for (location, number) in noted {
            if still.entries.get(&location) == Some(&number) {
                still.entries.remove(&location);
            }
        }
        Ok(())
    }

    /// Passes problems to the debug callback, once for each version of a file.
    fn report(&self, debug: &Debug) {
        self.report_exposed(debug);
        if self.table().problems().next().is_none() {
            return;
        }
        let unreported = self.table_mut().unreported();
        for (path, Problem { line, reason }) in unreported {
            debug.say(
                "Skipped a file that is no entry",
                || json!({ "path": path, "line": line, "reason": reason }),
            );
        }
    }

    /// Reports once that another user owns a file or can read it.
    fn report_exposed(&self, debug: &Debug) {
        if let Some((path, ownership)) = self.exposed.get()
            && let Some(disk) = self.file_system.disk()
            && let Some(user) = disk.user()
        {
            let path = self.root.join(path);
            let is_reachable = is_reachable(disk.as_ref(), path.parent().unwrap_or(&self.root));
            self.inspection.report_file(&path, *ownership, is_reachable, user, debug);
        }
    }

    /// Whether a search may skip the comparison of all files.
    fn is_fresh(&self) -> bool {
        self.is_loaded.load(Ordering::SeqCst)
            && self.is_large()
            && self.freshness.is_within(self.limits.window)
    }

    fn is_large(&self) -> bool {
        self.table().len() >= self.limits.large
    }

    fn files(&self) -> Files {
        Files::new(&self.file_system, &self.root)
    }

    fn text(&self) -> Arc<Index> {
        self.text.load_full()
    }

    // A poisoned lock is safe to use: rows are inserted and removed in one step, so a panic leaves
    // no partial row.
    fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn location_of(path: &str) -> Option<Location> {
    Location::of(&path.split('/').collect::<Vec<_>>())
}

fn closed(_: tokio::sync::AcquireError) -> Error {
    Error::internal("the index of the context store was closed")
}
