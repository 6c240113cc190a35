//! A store in a temporary directory, and a disk that counts calls, fails on request and reports
//! coarse times.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use simulator::{DiskHooks, HookedDisk};
use storage::{FileEntry, FileError, FileResult, FileSystem, LocalDisk};

use super::super::{EntryIndex, Filter, Limits, Location};
use crate::debug::Debug;

/// The local disk with the hooks of [`Watch`].
pub type WatchedDisk = HookedDisk<LocalDisk, Watch>;

/// Counts calls and injects errors.
#[derive(Clone, Default)]
pub struct Watch {
    reads: Arc<AtomicUsize>,
    listings: Arc<AtomicUsize>,
    /// Times and versions have a resolution of one second, as on some file systems.
    pub is_coarse: Arc<AtomicBool>,
    /// Paths that cannot be read or listed.
    pub closed: Arc<Mutex<Vec<String>>>,
}

impl Watch {
    /// The number of entries that were read since the last call.
    pub fn reads(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst)
    }

    /// The number of directories that were listed since the last call.
    pub fn listings(&self) -> usize {
        self.listings.swap(0, Ordering::SeqCst)
    }

    fn check(&self, path: &Path) -> FileResult<()> {
        let closed = self.closed.lock().unwrap();
        if closed.iter().any(|closed| path.ends_with(closed)) {
            let error = std::io::ErrorKind::PermissionDenied.into();
            return Err(FileError::system("open", path, error));
        }
        Ok(())
    }
}

impl DiskHooks for Watch {
    fn before(&self, call: &'static str, path: &Path) -> FileResult<()> {
        match call {
            "read" => {
                if path.components().count() > 1 {
                    self.reads.fetch_add(1, Ordering::SeqCst);
                }
                self.check(path)
            }
            "list" | "children" => {
                self.listings.fetch_add(1, Ordering::SeqCst);
                self.check(path)
            }
            _ => Ok(()),
        }
    }
    fn listed(&self, mut entry: FileEntry) -> FileEntry {
        // So that tests can set a file's age.
        entry.written = entry.modified;
        if self.is_coarse.load(Ordering::SeqCst) {
            let coarse = |time: i64| time - time.rem_euclid(1000);
            entry.modified = entry.modified.map(coarse);
            entry.written = entry.modified;
            entry.version = entry.modified.map(|time| time as u64);
        }
        entry
    }
}

/// A store in a temporary directory, which is removed when this is dropped.
pub struct Store {
    folder: tempfile::TempDir,
    pub disk: WatchedDisk,
    pub index: Arc<EntryIndex>,
}

pub const MAX_BYTES: u64 = 3 * 1024 * 1024;

/// An entry with defaults for what a test does not care about.
#[derive(Clone)]
pub struct Note<'n> {
    pub agent: &'n str,
    pub session: &'n str,
    pub seconds: u32,
    pub kind: &'n str,
    pub tags: &'n str,
    pub links: &'n [&'n str],
    pub body: &'n str,
}

impl Default for Note<'_> {
    fn default() -> Self {
        Self {
            agent: "reviewer",
            session: "s1",
            seconds: 0,
            kind: "finding",
            tags: "",
            links: &[],
            body: "A body.",
        }
    }
}

impl Note<'_> {
    pub fn text(&self) -> String {
        let Self { agent, session, seconds, kind, tags, links, body } = self;
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        let mut text = format!(
            "---\nagent: {agent}\nsessionId: {session}\ntimestamp: 2026-02-21T14:{minutes:02}:{seconds:02}Z\ntype: {kind}\ntags: [{tags}]\n"
        );
        if !links.is_empty() {
            text.push_str("links:\n");
            links.iter().for_each(|link| text.push_str(&format!("  - {link}\n")));
        }
        text + &format!("---\n\n{body}\n")
    }
}

impl Store {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = WatchedDisk::default();
        let index = open(&folder, &disk, limits);
        Self { folder, disk, index }
    }

    /// A new index of the same store, as another process would have it.
    pub fn again(&self, limits: Limits) -> Arc<EntryIndex> {
        open(&self.folder, &self.disk, limits)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file with an old time, so that its stamp is settled.
    pub fn write_settled(&self, path: &str, text: &str) {
        self.write(path, text);
        self.settle(path);
    }

    pub fn settle(&self, path: &str) {
        let long_ago = SystemTime::now() - Duration::from_secs(100);
        self.set_modified(path, long_ago);
    }

    pub fn set_modified(&self, path: &str, time: SystemTime) {
        let file = fs::File::options().write(true).open(self.path(path)).unwrap();
        file.set_modified(time).unwrap();
    }

    pub fn note(&self, path: &str, note: Note<'_>) {
        self.write(path, &note.text());
    }

    pub async fn refresh(&self) {
        self.index.refresh(&Debug::default()).await.unwrap();
    }

    /// The paths that are found after a refresh.
    pub async fn find(&self, filter: Filter) -> Vec<String> {
        self.refresh().await;
        found(&self.index, filter).await
    }

    pub async fn all(&self) -> Vec<String> {
        self.find(Filter::default()).await
    }

    pub async fn query(&self, query: &str) -> Vec<String> {
        self.find(asking(query)).await
    }
}

fn open(folder: &tempfile::TempDir, disk: &WatchedDisk, limits: Limits) -> Arc<EntryIndex> {
    let root = fs::canonicalize(folder.path()).unwrap();
    let disk: Arc<dyn FileSystem> = Arc::new(disk.clone());
    EntryIndex::with_limits(disk, root, MAX_BYTES, limits)
}

pub async fn found(index: &Arc<EntryIndex>, filter: Filter) -> Vec<String> {
    let found = index.find(&filter, None, &Debug::default()).await.unwrap();
    let summaries = index.summaries(&filter, &Debug::default()).await.unwrap();
    let paths = |location: &Location| location.as_str().to_owned();
    let found: Vec<String> = found.iter().map(paths).collect();
    assert!(summaries.iter().map(|summary| &summary.path).eq(&found), "summaries: {summaries:?}");
    found
}

pub fn asking(query: &str) -> Filter {
    Filter { query: Some(query.to_owned()), ..Filter::default() }
}

/// Limits with which small stores count as large, and no background task compares them.
pub fn windowed(window: Duration) -> Limits {
    Limits { large: 1, window, ..Limits::default() }
}
