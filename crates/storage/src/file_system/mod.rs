//! [`FileSystem`]: the file operations on which this crate is built, implemented by the local disk or by the caller (an
//! injected file system).
//!
//! Each operation returns a future. On the local disk, short operations run on the calling worker thread, and their
//! futures are ready when they are returned; reading or writing long files and every fsync run on a thread for blocking
//! work. The futures of an injected file system wait for JavaScript.

mod disk;
mod local;
mod open_file;
mod regular_file;
mod terms;
#[cfg(target_os = "linux")]
mod unnamed;
mod volume;

use std::{
    fmt,
    future::Future,
    io,
    ops::Range,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

pub use disk::{Access, Disk, FileResult, LockAttempt, OpenFile};
pub use local::LocalDisk;
pub use terms::{
    Coverage, FileKind, FileTerms, FileWithoutTerms, FoundFiles, MatchingFile, QueryTerm,
    TermCondition, TermQuery, TermsOfFile,
};
pub use volume::{FileSystemKind, Volume};

/// A pending file operation.
pub type FileFuture<'a, T> =
    Pin<Box<dyn Future<Output = std::result::Result<T, FileError>> + Send + 'a>>;

/// The complete contents of a file, shared between the disk and the memory cache.
pub type Payload = Arc<Vec<u8>>;

/// A failed file operation.
#[derive(Debug, Clone)]
pub struct FileError {
    /// The kind of failure; [`io::ErrorKind::Other`] where an injected file system does not report one.
    pub kind: io::ErrorKind,
    /// The operation's name (`open`, `rename`, or the injected method).
    pub operation: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The source of the error.
    pub origin: Origin,
}

/// The source of a [`FileError`].
#[derive(Debug, Clone)]
pub enum Origin {
    /// The operating system, or a database in its place.
    System(Arc<io::Error>),
    /// An injected file system: the message, and the handle under which the binding keeps the thrown value.
    Injected {
        /// The thrown value's message.
        message: String,
        /// The handle of the thrown value in the binding.
        handle: u32,
    },
}

impl FileError {
    /// Wraps an operating system's error.
    pub fn system(operation: &'static str, path: &Path, error: io::Error) -> Self {
        Self {
            kind: error.kind(),
            operation,
            path: path.to_owned(),
            origin: Origin::System(Arc::new(error)),
        }
    }

    /// A copy of the error, for another caller that waits for the same operation.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        self.clone()
    }

    /// Whether the file or directory does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.kind == io::ErrorKind::NotFound
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::System(error) => write!(formatter, "{} failed, {error}", self.operation),
            Origin::Injected { message, .. } => {
                write!(formatter, "fileSystem.{} failed, {message}", self.operation)
            }
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.origin {
            Origin::System(error) => Some(error.as_ref()),
            Origin::Injected { .. } => None,
        }
    }
}

/// The owner, the group and the permissions of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// The owner's number.
    pub owner: u32,
    /// The group's number.
    pub group: u32,
    /// The permission bits, with the sticky bit.
    pub mode: u32,
}

/// One file of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name. Names that are not UTF-8 are not listed: the package does not create such names.
    pub name: String,
    /// Its length in bytes, if the file system reports it.
    pub length: Option<u64>,
    /// Its modification time in ms since 1970, if the file system reports it.
    pub modified: Option<i64>,
    /// When its contents were last written, in ms since 1970 by the clock of the file system. Unlike
    /// [`FileEntry::modified`], programs cannot set it, where the system has such a time.
    pub written: Option<i64>,
    /// A hash that changes when the file changes or another file takes its name. Two writes within one tick of the file
    /// system's clock may have the same number.
    pub version: Option<u64>,
    /// Owner and permissions, where the file system has them.
    pub ownership: Option<Ownership>,
}

impl Ownership {
    /// The mode for a file of this owner and group that will replace a file with the ownership `other`. No user gets
    /// more access than before: another owner's mode is not copied, and another group gets no access.
    #[must_use]
    pub fn mode_from(self, other: Self) -> u32 {
        let permissions = other.mode & 0o777;
        match (self.owner == other.owner, self.group == other.group) {
            (true, true) => permissions,
            (true, false) => permissions & 0o707,
            (false, _) => self.mode & 0o777,
        }
    }
}

impl FileEntry {
    /// A file of which only the name is known.
    #[must_use]
    pub fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// The contents of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Children {
    /// The regular files.
    pub files: Vec<FileEntry>,
    /// The names of the directories, without symbolic links.
    pub directories: Vec<String>,
}

/// The result of [`FileSystem::read`].
#[derive(Debug)]
pub struct Contents {
    /// The bytes from the start of the file, up to the limit.
    pub bytes: Vec<u8>,
    /// The complete file's length in bytes.
    pub length: u64,
}

/// A file of a list, with its beginning if that was read with the list.
pub type ListedFile = (FileEntry, Option<Contents>);

/// The operations that the layers above need of a file system.
///
/// # Errors
/// Every operation fails with a [`FileError`] that contains the file system's error.
pub trait FileSystem: Send + Sync + 'static {
    /// Creates a directory and its parents, accessible to their owner only; existing ones are not changed.
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()>;

    /// The path with symbolic links resolved, or the path itself where the file system has none.
    fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf>;

    /// Whether a directory exists.
    fn has_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        Box::pin(async move {
            match self.canonical(path).await {
                Err(error) if error.is_not_found() => Ok(false),
                other => other.map(|_| true),
            }
        })
    }

    /// Writes a file that must not exist yet, accessible to its owner only. On an error, no file remains; a crash may
    /// leave a part. With `sync`, the file is synchronised to stable storage.
    fn write_new<'a>(&'a self, path: &'a Path, contents: Payload, sync: bool)
    -> FileFuture<'a, ()>;

    /// Writes a file that has no name until it is complete, and gives it `path`, which must be free. Returns `false`,
    /// without effect, if the file system cannot do this.
    fn create_unnamed<'a>(
        &'a self,
        _path: &'a Path,
        _contents: Payload,
        _sync: bool,
    ) -> FileFuture<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Writes a file in place of the one that has the name, if any: readers find the old or the new file at every moment.
    /// Returns `false`, without effect, if the file system cannot do this in one step.
    fn replace<'a>(
        &'a self,
        _path: &'a Path,
        _contents: Payload,
        _sync: bool,
    ) -> FileFuture<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Whether [`FileSystem::rename_new`] is available.
    fn can_rename(&self) -> bool;

    /// Renames a file to a name that must be free.
    fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()>;

    /// Renames a file over another, atomically: readers find the old or the new file at every moment.
    fn rename_over<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()>;

    /// Appends to a file in one operation. Returns `false`, without effect, if the file system cannot do this.
    fn append<'a>(&'a self, _path: &'a Path, _contents: Payload) -> FileFuture<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Synchronises a directory's entries to stable storage.
    fn sync_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()>;

    /// Reads at most `limit` bytes of the regular file at `relative` below `root`, without following symbolic links.
    /// `root` is canonical.
    fn read<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        limit: u64,
    ) -> FileFuture<'a, Contents>;

    /// Reads a range of the regular file at `relative` below `root`, as [`FileSystem::read`] does; less than that at the end of the
    /// file. Returns `None` if the file system reads whole files only.
    fn read_range<'a>(
        &'a self,
        _root: &'a Path,
        _relative: &'a Path,
        _range: Range<u64>,
    ) -> FileFuture<'a, Option<Vec<u8>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Reads at most `limit` bytes, and at most 1 MiB, of each of these files of a directory, in one step; `None` for those
    /// that do not exist. Returns `None` if the file system cannot read them faster than one after the other.
    fn read_many<'a>(
        &'a self,
        _directory: &'a Path,
        _names: &'a [String],
        _limit: u64,
    ) -> FileFuture<'a, Option<Vec<Option<Contents>>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The regular files of a directory; none if the directory does not exist.
    fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<FileEntry>>;

    /// The regular files of a directory whose names begin with one of `prefixes`, with at most `limit` bytes of each, as far as
    /// all of them fit into `most` bytes, in one step. Returns `None` if the file system cannot do this faster than with
    /// [`FileSystem::list`] and [`FileSystem::read`].
    fn list_beginnings<'a>(
        &'a self,
        _directory: &'a Path,
        _prefixes: &'a [String],
        _limit: u64,
        _most: u64,
    ) -> FileFuture<'a, Option<Vec<ListedFile>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The names of the directories in a directory, without symbolic links; none if it does not exist.
    fn directories<'a>(&'a self, _directory: &'a Path) -> FileFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Removes a file; returns `false` if it did not exist.
    fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool>;

    /// The disk of this file system, if files can be kept open and locked.
    fn disk(&self) -> Option<Arc<dyn Disk>> {
        None
    }

    /// The index of the terms of files, if there is one.
    fn terms(&self) -> Option<&dyn FileTerms> {
        None
    }

    /// Distinguishes this file system from others in the process: equal numbers mean the same files.
    fn scope(&self) -> u64;
}
