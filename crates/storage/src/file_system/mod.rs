//! File systems: the local disk, or one that the caller injects.
//!
//! The operations are the few from which the crate builds its promises. Each returns a future:
//! the local disk's are complete when they are returned (they block the worker thread that calls
//! them), an injected file system's wait for JavaScript.

mod disk;
mod local;
mod open_file;
#[cfg(target_os = "linux")]
mod unnamed;
mod volume;

use std::{
    fmt,
    future::Future,
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

pub use disk::{Access, Disk, FileResult, LockAttempt, OpenFile};
pub use local::LocalDisk;
pub use volume::{FileSystemKind, Volume};

/// A file operation under way.
pub type FileFuture<'a, T> =
    Pin<Box<dyn Future<Output = std::result::Result<T, FileError>> + Send + 'a>>;

/// A file's whole contents, shared between the disk and the memory tier.
pub type Payload = Arc<Vec<u8>>;

/// A failed file operation.
#[derive(Debug)]
pub struct FileError {
    /// The kind of failure, [`io::ErrorKind::Other`] where an injected file system says nothing.
    pub kind: io::ErrorKind,
    /// The operation's name (`open`, `rename`, or the injected method).
    pub operation: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Whose error it is.
    pub origin: Origin,
}

/// Whose error a [`FileError`] is.
#[derive(Debug)]
pub enum Origin {
    /// The operating system's.
    System(io::Error),
    /// An injected file system's: its message, and the handle under which the binding keeps the
    /// thrown value.
    Injected {
        /// The thrown value's message.
        message: String,
        /// The binding's handle of the thrown value.
        handle: u32,
    },
}

impl FileError {
    /// Wraps an operating system's error.
    pub fn system(operation: &'static str, path: &Path, error: io::Error) -> Self {
        Self { kind: error.kind(), operation, path: path.to_owned(), origin: Origin::System(error) }
    }

    /// The same error, for another who waits for the same operation.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let origin = match &self.origin {
            Origin::System(error) => Origin::System(error.raw_os_error().map_or_else(
                || io::Error::new(error.kind(), error.to_string()),
                io::Error::from_raw_os_error,
            )),
            Origin::Injected { message, handle } => {
                Origin::Injected { message: message.clone(), handle: *handle }
            }
        };
        Self { kind: self.kind, operation: self.operation, path: self.path.clone(), origin }
    }

    /// The file or directory is not there.
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
            Origin::System(error) => Some(error),
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
    /// Its name. Names that are not UTF-8 are not listed: they cannot be ours.
    pub name: String,
    /// Its length in bytes, where the file system tells.
    pub length: Option<u64>,
    /// Its modification time in ms since 1970, where the file system tells.
    pub modified: Option<i64>,
    /// When its contents were last written, in ms since 1970 by the clock of the file system. Unlike
    /// [`FileEntry::modified`] nobody can set it, where the system has such a time.
    pub written: Option<i64>,
    /// Another number is another file, or another state of it. What is written twice within one tick
    /// of the file system's clock may keep its number.
    pub version: Option<u64>,
    /// Owner and permissions, where the file system has them.
    pub ownership: Option<Ownership>,
}

impl Ownership {
    /// The mode for a file of this owner and group that is to replace a file of `other`'s. No user gets
    /// more access than before: another owner's mode is not copied, and another group gets nothing.
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
    /// A file of which nothing but its name is known.
    #[must_use]
    pub fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// What is in a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Children {
    /// The regular files.
    pub files: Vec<FileEntry>,
    /// The names of the directories, symbolic links aside.
    pub directories: Vec<String>,
}

/// What [`FileSystem::read`] returns.
#[derive(Debug)]
pub struct Contents {
    /// The bytes from the file's beginning, at most as many as were asked for.
    pub bytes: Vec<u8>,
    /// The whole file's length in bytes.
    pub length: u64,
}

/// What the layers above need of a file system.
///
/// # Errors
/// Every operation fails with a [`FileError`] that says what the file system said.
pub trait FileSystem: Send + Sync + 'static {
    /// Creates a directory and its parents, for the owner alone; existing ones stay as they are.
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()>;

    /// The path without symbolic links, or the path itself where there are none by nature.
    fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf>;

    /// Whether a directory is there.
    fn has_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        Box::pin(async move {
            match self.canonical(path).await {
                Err(error) if error.is_not_found() => Ok(false),
                other => other.map(|_| true),
            }
        })
    }

    /// Writes a file that must not exist yet, for the owner alone, whole or not at all as far as
    /// errors go (a crash may leave a part); with `sync` it is on the medium afterwards.
    fn write_new<'a>(&'a self, path: &'a Path, contents: Payload, sync: bool)
    -> FileFuture<'a, ()>;

    /// Writes a file that has no name until it is whole, and gives it `path`, which must be free.
    /// `false`: this file system cannot, and nothing happened.
    fn create_unnamed<'a>(
        &'a self,
        _path: &'a Path,
        _contents: Payload,
        _sync: bool,
    ) -> FileFuture<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Whether [`FileSystem::rename_new`] works here.
    fn can_rename(&self) -> bool;

    /// Gives a file its name, which must be free.
    fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()>;

    /// Gives a file another's name: that one is gone, and nobody sees the name missing.
    fn rename_over<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()>;

    /// Adds text at a file's end in one operation; `false`: this file system cannot, and nothing
    /// happened.
    fn append<'a>(&'a self, _path: &'a Path, _contents: Payload) -> FileFuture<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Puts a directory's entries on the medium.
    fn sync_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()>;

    /// Reads at most `limit` bytes of the regular file at `relative` below `root`, through no
    /// symbolic link. `root` is canonical.
    fn read<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        limit: u64,
    ) -> FileFuture<'a, Contents>;

    /// The regular files of a directory, none when the directory is not there.
    fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<FileEntry>>;

    /// The names of the directories in a directory, symbolic links aside; none when it is not there.
    fn directories<'a>(&'a self, _directory: &'a Path) -> FileFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Removes a file; `false` when it was not there.
    fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool>;

    /// The disk behind it, where files can be kept open and locked.
    fn disk(&self) -> Option<Arc<dyn Disk>> {
        None
    }

    /// Tells this file system from others in the process: the same number, the same files.
    fn scope(&self) -> u64;
}
