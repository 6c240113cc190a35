//! The local disk as it is where files without names do not exist.

use std::path::{Path, PathBuf};

use storage::{Access, Contents, Disk, FileEntry, FileResult, LocalDisk, OpenFile};

/// [`LocalDisk`] without [`Disk::create_unnamed`].
#[derive(Debug, Clone, Copy)]
pub struct NamedDisk;

impl Disk for NamedDisk {
    fn create_directories(&self, path: &Path) -> FileResult<()> {
        Disk::create_directories(&LocalDisk, path)
    }
    fn canonical(&self, path: &Path) -> FileResult<PathBuf> {
        Disk::canonical(&LocalDisk, path)
    }
    fn write_new(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<()> {
        Disk::write_new(&LocalDisk, path, contents, sync)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()> {
        Disk::rename_new(&LocalDisk, from, to)
    }
    fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()> {
        Disk::rename_over(&LocalDisk, from, to)
    }
    fn sync_directory(&self, path: &Path) -> FileResult<()> {
        Disk::sync_directory(&LocalDisk, path)
    }
    fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents> {
        Disk::read(&LocalDisk, root, relative, limit)
    }
    fn list(&self, directory: &Path) -> FileResult<Vec<FileEntry>> {
        Disk::list(&LocalDisk, directory)
    }
    fn directories(&self, directory: &Path) -> FileResult<Vec<String>> {
        Disk::directories(&LocalDisk, directory)
    }
    fn remove(&self, path: &Path) -> FileResult<bool> {
        Disk::remove(&LocalDisk, path)
    }
    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>> {
        Disk::open(&LocalDisk, path, access)
    }
    fn scope(&self) -> u64 {
        Disk::scope(&LocalDisk)
    }
}
