//! What is known of all entries of a store: by their paths, their order, their links, their words.
//!
//! | module | what it knows |
//! |---|---|
//! | `row`, `table` | what is kept of an entry, and of all |
//! | `filter`, `find` | which entries are asked for |
//! | `links` | what links to what |
//! | `files` | files as the index reads them |
//! | `scan`, `intake` | which files may have changed, and what they say now |
//! | `texts` | the texts by which an entry is found |
//! | `freshness` | when files are looked at again |
//! | `cache` | all this on disk |

mod cache;
mod files;
mod filter;
mod find;
mod freshness;
mod intake;
mod links;
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
    files::Files,
    freshness::{Freshness, Limits},
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

/// What is known of all entries of a store, shared by all who use the store.
///
/// Searches see what [`EntryIndex::refresh`] took in last: whoever wants to see a file as it is now
/// calls that first.
pub(super) struct EntryIndex {
    file_system: Arc<dyn FileSystem>,
    root: PathBuf,
    max_entry_bytes: u64,
    limits: Limits,
    table: RwLock<Table>,
    /// Words by the sequences of rows.
    text: ArcSwap<Index>,
    sequence: AtomicU64,
    freshness: Freshness,
    /// Whoever changes the table has it.
    turn: Semaphore,
    is_loaded: AtomicBool,
    noted: Mutex<Noted>,
    /// Entries that changed since the cache was written.
    changes: AtomicUsize,
    /// Whoever tidies up has it.
    tidying: Semaphore,
    /// The first file found that others may read, or that is another user's.
    exposed: OnceLock<(String, Ownership)>,
    inspection: Inspection,
}

/// Entries that have to be looked at, each with the number of its latest note.
#[derive(Default)]
struct Noted {
    entries: FxHashMap<Location, u64>,
    count: u64,
}

impl EntryIndex {
    /// Of the store in `root`, which is canonical. Touches nothing yet. Larger files than
    /// `max_entry_bytes` are no entries.
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

    /// Brings it up to date. Whoever calls meanwhile shares one pass.
    ///
    /// Stores of fewer than 10 000 entries are compared with their files each time. A larger one is
    /// when that was not done within the last 10 s: as long as searches come, that is kept up in the
    /// background. What was noted is looked at in any case.
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
            // Off the way of whoever searches; a cache that is not written is made again.
            tokio::spawn(async move { index.tidy(&debug).await });
        }
        Ok(())
    }

    /// An entry that this process has just changed, created or removed: the next refresh looks at it.
    pub fn note(&self, location: &Location) {
        let mut noted = self.noted();
        noted.count += 1;
        let number = noted.count;
        noted.entries.insert(location.clone(), number);
    }

    /// What is known of an entry.
    pub fn summary(&self, path: &str) -> Option<Summary> {
        let table = self.table();
        table.get(path).map(|row| row.summary(&table.names))
    }

    /// The files that are no entries and the directories that cannot be read, and why.
    pub fn problems(&self) -> Vec<(String, Problem)> {
        let table = self.table();
        let problems = table.problems();
        problems.map(|(path, problem)| (path.to_owned(), problem.clone())).collect()
    }

    /// Waits for the turn of whoever changes the table, and compares it with all files.
    async fn compare_aside(self: &Arc<Self>) -> Result<()> {
        let (index, files) = (Arc::clone(self), self.files());
        let (start, scan) =
            run_blocking(move |cancelled| Ok((Instant::now(), index.scan(&files, cancelled)?)))
                .await?;
        let Some(scan) = scan else { return Ok(()) };
        // Only now: whoever searches waits for no more than what has to be read. What was taken in
        // meanwhile has another version than the scan says, and is looked at once more.
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

    /// Looks at all files, or at what was noted. Only with the turn, on a thread that may wait.
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

    /// Says what is wrong with files, once for each version of a file.
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

    /// Reports once that a file is another user's, or that others may read it.
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

    /// Whether a search need not look at all files.
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

    // Whoever panicked has left nothing half done: rows are put in and taken out whole.
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

fn closed(_: tokio::sync::AcquireError) -> Error {
    Error::internal("the index of the context store was closed")
}
