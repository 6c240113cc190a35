//! A disk as another process sees it: the same files, and nothing else in common.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use agent_context::file_system::{
    Access, Contents, Disk, Entry, FileResult, FileSystem, OpenFile, simulated::SimulatedDisk,
};

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
    fn list(&self, directory: &Path) -> FileResult<Vec<Entry>> {
        Disk::list(&self.disk, directory)
    }
    fn remove(&self, path: &Path) -> FileResult<bool> {
        Disk::remove(&self.disk, path)
    }
    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>> {
        self.disk.open(path, access)
    }
    fn scope(&self) -> u64 {
        self.scope
    }
}
