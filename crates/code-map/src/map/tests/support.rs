//! Test support: a workspace in a temporary directory, a disk that counts calls, injects errors and coarsens times, and
//! a simple line-based language.

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
use tasks::Cancelled;

use super::super::{
    Limits, RefreshOptions, RepoMap, Snapshot,
    intake::{NewParser, Parse},
};
use crate::symbols::{Definition, FileSymbols, NotParsed, Reference, SymbolKind};

/// The text of a file that the parser stops at its memory budget.
pub const NEEDS_TOO_MUCH_MEMORY: &str = "needs too much memory";

/// The local disk with hooks.
pub type WatchedDisk = HookedDisk<LocalDisk, Watch>;

/// Recorded calls and injected errors.
#[derive(Clone, Default)]
pub struct Watch {
    reads: Arc<Mutex<Vec<String>>>,
    pub writes: Arc<AtomicUsize>,
    /// Times and versions have a resolution of a second, as on some file systems.
    pub is_coarse: Arc<AtomicBool>,
    /// Paths that cannot be read or listed.
    pub closed: Arc<Mutex<Vec<String>>>,
    /// Writes fail.
    pub is_full: Arc<AtomicBool>,
}

impl Watch {
    /// Source files that were read since the previous call, in order.
    pub fn reads(&self) -> Vec<String> {
        let mut reads = std::mem::take(&mut *self.reads.lock().unwrap());
        reads.sort();
        reads
    }

    fn check(&self, path: &Path) -> FileResult<()> {
        if self.closed.lock().unwrap().iter().any(|closed| path.ends_with(closed)) {
            let error = std::io::ErrorKind::PermissionDenied.into();
            return Err(FileError::system("open", path, error));
        }
        Ok(())
    }
}

impl DiskHooks for Watch {
    fn before(&self, call: &'static str, path: &Path) -> FileResult<()> {
        match call {
            "write_new" => {
                if self.is_full.load(Ordering::SeqCst) {
                    let error = std::io::ErrorKind::StorageFull.into();
                    return Err(FileError::system("write", path, error));
                }
                self.writes.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }
            "read" => {
                let name = path.to_str().unwrap();
                if !name.ends_with(".index") {
                    self.reads.lock().unwrap().push(name.to_owned());
                }
                self.check(path)
            }
            // A path different from the one by which the file is read.
            "entry" => self.check(&Path::new("looked at").join(path.file_name().unwrap())),
            _ => Ok(()),
        }
    }
    fn listed(&self, mut entry: FileEntry) -> FileEntry {
        // So that tests can make files old.
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

/// Lines `kind name`, `kind name in container` and `use name`.
pub fn parse(source: &[u8]) -> FileSymbols {
    let (mut symbols, text) = (FileSymbols::default(), String::from_utf8_lossy(source));
    let mut uses: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let kind = match words.first() {
            Some(&"class") => SymbolKind::Class,
            Some(&"function") => SymbolKind::Function,
            Some(&"method") => SymbolKind::Method,
            Some(&"const") => SymbolKind::Constant,
            Some(&"use") => {
                *uses.entry(words[1].to_owned()).or_default() += 1;
                continue;
            }
            _ => continue,
        };
        let container = words.iter().position(|word| *word == "in");
        symbols.definitions.push(Definition {
            name: words[1].to_owned(),
            kind,
            line: number,
            signature: format!("export {line}"),
            container: container.map(|place| words[place + 1].to_owned()),
        });
    }
    symbols.references = uses.into_iter().map(|(name, count)| Reference { name, count }).collect();
    symbols
}

/// A callback that runs while a file is parsed.
pub type Meanwhile = dyn Fn(&[u8], &Cancelled) + Send + Sync;

/// A workspace and its cache, in a temporary directory that is removed with them.
pub struct Workspace {
    folder: tempfile::TempDir,
    pub disk: WatchedDisk,
    pub parses: Arc<AtomicUsize>,
    pub limits: Limits,
    pub map: Arc<RepoMap>,
}

impl Workspace {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let (disk, parses) = (WatchedDisk::default(), Arc::default());
        let map = new_map(&folder, &disk, &parses, &limits, Arc::new(|_, _| {}));
        Self { folder, disk, parses, limits, map }
    }

    /// Opens the map again, as another process or a restarted one does.
    pub fn again(&mut self) {
        self.again_while(|_, _| {});
    }

    pub fn again_while(&mut self, meanwhile: impl Fn(&[u8], &Cancelled) + Send + Sync + 'static) {
        let meanwhile = Arc::new(meanwhile);
        self.map = new_map(&self.folder, &self.disk, &self.parses, &self.limits, meanwhile);
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("workspace")
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root().join(relative)
    }

    pub fn indexes(&self) -> PathBuf {
        self.folder.path().join("indexes")
    }

    /// The only file of the cache.
    pub fn cache(&self) -> PathBuf {
        let files: Vec<_> =
            fs::read_dir(self.indexes()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    /// Writes a file with the current time.
    pub fn write_now(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file with a time this many seconds ago.
    pub fn write_old(&self, relative: &str, text: &str, seconds: u64) {
        self.write_now(relative, text);
        self.age(relative, seconds);
    }

    pub fn age(&self, relative: &str, seconds: u64) {
        let file = fs::File::options().write(true).open(self.path(relative)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    pub fn write(&self, relative: &str, text: &str) {
        self.write_old(relative, text, 60);
    }

    pub async fn refresh(&self) -> Arc<Snapshot> {
        self.map.refresh(RefreshOptions::default()).await.unwrap()
    }

    pub async fn paths(&self) -> Vec<String> {
        self.refresh().await.paths().map(str::to_owned).collect()
    }

    /// Number of files that were parsed since the previous call.
    pub fn parses(&self) -> usize {
        self.parses.swap(0, Ordering::SeqCst)
    }
}

fn new_map(
    folder: &tempfile::TempDir,
    disk: &WatchedDisk,
    parses: &Arc<AtomicUsize>,
    limits: &Limits,
    meanwhile: Arc<Meanwhile>,
) -> Arc<RepoMap> {
    let parses = Arc::clone(parses);
    let new_parser: Box<NewParser> = Box::new(move || {
        let (parses, meanwhile) = (Arc::clone(&parses), Arc::clone(&meanwhile));
        let parse: Box<Parse> = Box::new(move |_, source, cancelled| {
            parses.fetch_add(1, Ordering::SeqCst);
            meanwhile(source, cancelled);
            if source == NEEDS_TOO_MUCH_MEMORY.as_bytes() {
                return Err(NotParsed::OverBudget);
            }
            Ok(parse(source))
        });
        parse
    });
    let file_system: Arc<dyn FileSystem> = Arc::new(disk.clone());
    let root = folder.path().canonicalize().unwrap();
    let places = (root.join("workspace"), folder.path().join("indexes"));
    RepoMap::with(Arc::new(disk.clone()), file_system, places, limits.clone(), new_parser)
}

/// A snapshot of files with these texts.
pub async fn snapshot(files: &[(&str, &str)]) -> Arc<Snapshot> {
    let workspace = Workspace::new();
    for (path, text) in files {
        workspace.write(path, text);
    }
    workspace.refresh().await
}
