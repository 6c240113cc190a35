//! A disk as another process sees it: the same files, and nothing else in common. It insists that an
//! open file whose synchronisation failed is not synchronised again.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use simulator::SimulatedDisk;
use storage::{Access, Contents, Disk, FileEntry, FileResult, FileSystem, LockAttempt, OpenFile};

static NEXT_SCOPE: AtomicU64 = AtomicU64::new(1 << 50);

/// What one process sees of a disk.
#[derive(Clone)]
struct Process {
    disk: SimulatedDisk,
    scope: u64,
}

/// The disk's files for a process of its own.
pub fn process_on(disk: &SimulatedDisk) -> Arc<dyn FileSystem> {
    let scope = NEXT_SCOPE.fetch_add(1, Ordering::Relaxed);
    Arc::new(Process { disk: disk.clone(), scope })
}

impl Disk for Process {
    fn create_directories(&self, path: &Path) -> FileResult<()> {
        Disk::create_directories(&self.disk, path)
    }
    fn canonical(&self, path: &Path) -> FileResult<PathBuf> {
        Disk::canonical(&self.disk, path)
    }
    fn write_new(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<()> {
        Disk::write_new(&self.disk, path, contents, sync)
    }
    fn create_unnamed(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<bool> {
        Disk::create_unnamed(&self.disk, path, contents, sync)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()> {
        Disk::rename_new(&self.disk, from, to)
    }
    fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()> {
        Disk::rename_over(&self.disk, from, to)
    }
    fn sync_directory(&self, path: &Path) -> FileResult<()> {
        Disk::sync_directory(&self.disk, path)
    }
    fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents> {
        Disk::read(&self.disk, root, relative, limit)
    }
    fn list(&self, directory: &Path) -> FileResult<Vec<FileEntry>> {
        Disk::list(&self.disk, directory)
    }
    fn directories(&self, directory: &Path) -> FileResult<Vec<String>> {
        Disk::directories(&self.disk, directory)
    }
    fn remove(&self, path: &Path) -> FileResult<bool> {
        Disk::remove(&self.disk, path)
    }
    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>> {
        let file = self.disk.open(path, access)?;
        Ok(Box::new(File { file, has_failed: AtomicBool::new(false) }))
    }
    fn scope(&self) -> u64 {
        self.scope
    }
}

/// An open file that is not synchronised again once that failed.
struct File {
    file: Box<dyn OpenFile>,
    has_failed: AtomicBool,
}

impl OpenFile for File {
    fn length(&self) -> FileResult<u64> {
        self.file.length()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        self.file.read_at(offset, buffer)
    }
    fn append(&self, bytes: &[u8]) -> FileResult<()> {
        self.file.append(bytes)
    }
    fn truncate(&self, length: u64) -> FileResult<()> {
        self.file.truncate(length)
    }
    fn sync(&self) -> FileResult<()> {
        assert!(!self.has_failed.load(Ordering::Relaxed), "synchronised again after a failure");
        let outcome = self.file.sync();
        self.has_failed.store(outcome.is_err(), Ordering::Relaxed);
        outcome
    }
    fn try_lock(&self) -> FileResult<LockAttempt> {
        self.file.try_lock()
    }
    fn unlock(&self) {
        self.file.unlock();
    }
    fn is_linked(&self) -> bool {
        self.file.is_linked()
    }
    fn is_at(&self, path: &Path) -> bool {
        self.file.is_at(path)
    }
    fn identity(&self) -> u64 {
        self.file.identity()
    }
}
