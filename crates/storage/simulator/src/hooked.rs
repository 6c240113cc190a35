//! A disk that forwards every call to another disk, with hooks before and after some of them.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

use storage::{Access, Children, Contents, Disk, FileEntry, FileResult, LockAttempt, OpenFile};

/// Hooks by which a test observes and changes the calls of a disk.
pub trait DiskHooks: Clone + Send + Sync + 'static {
    /// Called before a call with its name and its path; an error refuses the call. The names are those of the methods
    /// of [`Disk`], except `append` where a file is opened for appending. The path of `read` is relative to its root.
    ///
    /// # Errors
    /// The error with which the call fails.
    fn before(&self, _call: &'static str, _path: &Path) -> FileResult<()> {
        Ok(())
    }

    /// Called with a file that was opened; returns the file that the caller gets.
    ///
    /// # Errors
    /// The error with which opening fails.
    fn opened(
        &self,
        _path: &Path,
        _access: Access,
        file: Box<dyn OpenFile>,
    ) -> FileResult<Box<dyn OpenFile>> {
        Ok(file)
    }

    /// Called with a file's entry; returns the entry that a listing contains.
    fn listed(&self, entry: FileEntry) -> FileEntry {
        entry
    }

    /// Whether the disk offers creating files without a name, if the underlying disk does.
    fn has_unnamed_files(&self) -> bool {
        false
    }

    /// See [`Disk::scope`].
    fn scope(&self, of_disk: u64) -> u64 {
        of_disk
    }
}

/// No hooks: a disk without creation of unnamed files.
impl DiskHooks for () {}

/// A disk with hooks. It implements only the required methods of [`Disk`]: it reports no owners and no types of file
/// systems.
#[derive(Debug, Clone, Copy, Default)]
pub struct HookedDisk<D, H> {
    disk: D,
    hooks: H,
}

impl<D, H> HookedDisk<D, H> {
    /// Wraps `disk` with these hooks.
    pub const fn new(disk: D, hooks: H) -> Self {
        Self { disk, hooks }
    }
}

/// The hooks.
impl<D, H> Deref for HookedDisk<D, H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.hooks
    }
}

impl<D: Disk + Clone, H: DiskHooks> Disk for HookedDisk<D, H> {
    fn create_directories(&self, path: &Path) -> FileResult<()> {
        self.hooks.before("create_directories", path)?;
        Disk::create_directories(&self.disk, path)
    }
    fn canonical(&self, path: &Path) -> FileResult<PathBuf> {
        self.hooks.before("canonical", path)?;
        Disk::canonical(&self.disk, path)
    }
    fn write_new(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<()> {
        self.hooks.before("write_new", path)?;
        Disk::write_new(&self.disk, path, contents, sync)
    }
    fn create_unnamed(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<bool> {
        if !self.hooks.has_unnamed_files() {
            return Ok(false);
        }
        self.hooks.before("create_unnamed", path)?;
        Disk::create_unnamed(&self.disk, path, contents, sync)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()> {
        self.hooks.before("rename_new", from)?;
        Disk::rename_new(&self.disk, from, to)
    }
    fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()> {
        self.hooks.before("rename_over", from)?;
        Disk::rename_over(&self.disk, from, to)
    }
    fn sync_directory(&self, path: &Path) -> FileResult<()> {
        self.hooks.before("sync_directory", path)?;
        Disk::sync_directory(&self.disk, path)
    }
    fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents> {
        self.hooks.before("read", relative)?;
        Disk::read(&self.disk, root, relative, limit)
    }
    fn list(&self, directory: &Path) -> FileResult<Vec<FileEntry>> {
        self.hooks.before("list", directory)?;
        let files = Disk::list(&self.disk, directory)?;
        Ok(files.into_iter().map(|entry| self.hooks.listed(entry)).collect())
    }
    fn names(&self, directory: &Path) -> FileResult<Vec<String>> {
        self.hooks.before("names", directory)?;
        self.disk.names(directory)
    }
    fn directories(&self, directory: &Path) -> FileResult<Vec<String>> {
        self.hooks.before("directories", directory)?;
        Disk::directories(&self.disk, directory)
    }
    fn children(&self, directory: &Path) -> FileResult<Children> {
        self.hooks.before("children", directory)?;
        let Children { files, directories } = self.disk.children(directory)?;
        let files = files.into_iter().map(|entry| self.hooks.listed(entry)).collect();
        Ok(Children { files, directories })
    }
    fn entry(&self, directory: &Path, name: &str) -> FileResult<Option<FileEntry>> {
        self.hooks.before("entry", &directory.join(name))?;
        let entry = self.disk.entry(directory, name)?;
        Ok(entry.map(|entry| self.hooks.listed(entry)))
    }
    fn remove(&self, path: &Path) -> FileResult<bool> {
        self.hooks.before("remove", path)?;
        Disk::remove(&self.disk, path)
    }
    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>> {
        self.hooks.before(if access == Access::Read { "open" } else { "append" }, path)?;
        self.hooks.opened(path, access, self.disk.open(path, access)?)
    }
    fn scope(&self) -> u64 {
        self.hooks.scope(Disk::scope(&self.disk))
    }
}

/// Hooks by which a test changes the calls of an open file.
pub trait FileHooks: Send + Sync {
    /// Synchronises the file.
    ///
    /// # Errors
    /// See [`OpenFile::sync`].
    fn sync(&self, file: &dyn OpenFile) -> FileResult<()> {
        file.sync()
    }

    /// Whether its file system supports locks.
    fn has_locks(&self) -> bool {
        true
    }
}

/// An open file with hooks. It implements only the required methods of [`OpenFile`]: it reports no owners and no type
/// of file system.
pub struct HookedFile<H> {
    file: Box<dyn OpenFile>,
    hooks: H,
}

impl<H> HookedFile<H> {
    /// Wraps `file` with these hooks.
    pub fn new(file: Box<dyn OpenFile>, hooks: H) -> Self {
        Self { file, hooks }
    }
}

impl<H: FileHooks> OpenFile for HookedFile<H> {
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
        self.hooks.sync(self.file.as_ref())
    }
    fn try_lock(&self) -> FileResult<LockAttempt> {
        if self.hooks.has_locks() { self.file.try_lock() } else { Ok(LockAttempt::Unsupported) }
    }
    fn unlock(&self) {
        if self.hooks.has_locks() {
            self.file.unlock();
        }
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
