//! Disks: file systems with open files and locks. Every [`Disk`] implements [`FileSystem`].

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Children, Contents, FileEntry, FileError, FileFuture, FileSystem, FileSystemKind, Ownership,
    Payload, Volume,
};

use tasks::LONG;

use crate::atomic_file::Pieces;

/// The result of a file operation.
pub type FileResult<T> = std::result::Result<T, FileError>;

/// The purpose for which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and appending. A file that does not exist is created, accessible to its owner only.
    Append,
    /// As [`Access::Append`], but the file must not exist.
    AppendNew,
}

/// The result of an attempt to lock a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockAttempt {
    /// The caller holds the lock until [`OpenFile::unlock`], or until the file is closed.
    Taken,
    /// Another open file, in this or another process, holds the lock.
    Held,
    /// The file system has no locks.
    Unsupported,
}

/// An open file. Its lock and its identity belong to it, not to the process.
pub trait OpenFile: Send + Sync {
    /// The length in bytes.
    ///
    /// # Errors
    /// The file system's.
    fn length(&self) -> FileResult<u64>;

    /// Reads at `offset` up to the buffer's length or the file's end. Returns the number of bytes.
    ///
    /// # Errors
    /// The file system's.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize>;

    /// Appends bytes, in one write if the system accepts all of them.
    ///
    /// # Errors
    /// The file system's; a part of the bytes may have been written.
    fn append(&self, bytes: &[u8]) -> FileResult<()>;

    /// Truncates the file to `length` bytes.
    ///
    /// # Errors
    /// The file system's.
    fn truncate(&self, length: u64) -> FileResult<()>;

    /// Synchronises contents and length to stable storage. A failed attempt must not be repeated on the same open file:
    /// the system may have dropped the unwritten data.
    ///
    /// # Errors
    /// The file system's.
    fn sync(&self) -> FileResult<()>;

    /// Tries to lock the file exclusively for this open file, without waiting.
    ///
    /// # Errors
    /// The file system's.
    fn try_lock(&self) -> FileResult<LockAttempt>;

    /// Releases the lock.
    fn unlock(&self);

    /// Whether a lock that this open file took is still its own. An operating system keeps a lock until the file is closed;
    /// a lock in a database ends when its process does not reach the database for some seconds.
    fn keeps_lock(&self) -> bool {
        true
    }

    /// Whether the file still has a name.
    fn is_linked(&self) -> bool;

    /// The length in bytes; `None` if the file has no name any more.
    ///
    /// # Errors
    /// The file system's.
    fn length_if_linked(&self) -> FileResult<Option<u64>> {
        if self.is_linked() { self.length().map(Some) } else { Ok(None) }
    }

    /// Whether `path` names this file. `false` also if this cannot be determined.
    fn is_at(&self, path: &Path) -> bool;

    /// Distinguishes the file from others on the same file system while it exists.
    fn identity(&self) -> u64;

    /// Copies the permissions of the file that this one will replace, where there are permissions and as far as
    /// [`Ownership::mode_from`] allows.
    ///
    /// # Errors
    /// The file system's.
    fn take_permissions(&self, _other: &dyn OpenFile) -> FileResult<()> {
        Ok(())
    }

    /// Owner and permissions, where the file system has them.
    fn ownership(&self) -> Option<Ownership> {
        None
    }

    /// The type of its file system.
    fn file_system(&self) -> FileSystemKind {
        FileSystemKind::default()
    }
}

/// A file system that keeps files open and locks them: the operating system's, a database, or the simulator. Every operation blocks
/// its thread. No operation follows a symbolic link in the last component of a path.
///
/// # Errors
/// Every operation fails with a [`FileError`] that contains the system's error.
pub trait Disk: Send + Sync + 'static {
    /// See [`FileSystem::create_directories`].
    fn create_directories(&self, path: &Path) -> FileResult<()>;
    /// See [`FileSystem::canonical`].
    fn canonical(&self, path: &Path) -> FileResult<PathBuf>;
    /// See [`FileSystem::write_new`].
    fn write_new(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<()>;
    /// See [`FileSystem::create_unnamed`].
    fn create_unnamed(&self, _path: &Path, _contents: &[u8], _sync: bool) -> FileResult<bool> {
        Ok(false)
    }
    /// Creates a file of pieces, which readers see whole or not at all, under a name that must be free. Gives the pieces back if
    /// the file system cannot do this without a temporary name.
    fn create_of_pieces(
        &self,
        _path: &Path,
        pieces: Pieces,
    ) -> std::result::Result<FileResult<()>, Pieces> {
        Err(pieces)
    }
    /// See [`FileSystem::rename_new`].
    fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()>;
    /// See [`FileSystem::rename_over`].
    fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()>;
    /// See [`FileSystem::sync_directory`].
    fn sync_directory(&self, path: &Path) -> FileResult<()>;
    /// See [`FileSystem::read`].
    fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents>;
    /// See [`FileSystem::read_range`].
    fn read_range(
        &self,
        _root: &Path,
        _relative: &Path,
        _range: Range<u64>,
    ) -> FileResult<Option<Vec<u8>>> {
        Ok(None)
    }
    /// See [`FileSystem::list`].
    fn list(&self, directory: &Path) -> FileResult<Vec<FileEntry>>;
    /// The names of all entries of a directory, at a lower cost than [`Disk::list`]; empty if the directory does not
    /// exist.
    fn names(&self, directory: &Path) -> FileResult<Vec<String>> {
        Ok(self.list(directory)?.into_iter().map(|entry| entry.name).collect())
    }
    /// See [`FileSystem::directories`].
    fn directories(&self, _directory: &Path) -> FileResult<Vec<String>> {
        Ok(Vec::new())
    }
    /// The results of [`Disk::list`] and [`Disk::directories`], from one scan.
    fn children(&self, directory: &Path) -> FileResult<Children> {
        let (files, directories) = (self.list(directory)?, self.directories(directory)?);
        Ok(Children { files, directories })
    }
    /// One regular file of a directory, as [`Disk::list`] returns it; `None` if it does not exist.
    fn entry(&self, directory: &Path, name: &str) -> FileResult<Option<FileEntry>> {
        Ok(self.list(directory)?.into_iter().find(|entry| entry.name == name))
    }
    /// See [`FileSystem::remove`].
    fn remove(&self, path: &Path) -> FileResult<bool>;
    /// Owner and permissions of a file or directory, following symbolic links; `None` if it does not exist, or where
    /// there are no owners.
    fn ownership(&self, _path: &Path) -> FileResult<Option<Ownership>> {
        Ok(None)
    }
    /// The id of the user as whom this process uses the disk, where there are users.
    fn user(&self) -> Option<u32> {
        None
    }
    /// The file system of a directory, which must exist.
    fn volume(&self, _directory: &Path) -> FileResult<Volume> {
        Ok(Volume::default())
    }
    /// Opens a regular file.
    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>>;
    /// Creates a file with these contents, which the returned open file has locked from the beginning. `None`, without effect,
    /// if the disk cannot do this in one step, or its locks do not exclude all processes.
    fn create_locked(
        &self,
        _path: &Path,
        _contents: &[u8],
    ) -> FileResult<Option<Box<dyn OpenFile>>> {
        Ok(None)
    }
    /// Distinguishes this file system from others in the process: equal numbers mean the same files.
    fn scope(&self) -> u64;
}

fn ready<'a, T: Send + 'a>(result: FileResult<T>) -> FileFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

/// Runs an operation on a thread for blocking work. Synchronising or copying a long file would block a worker; this
/// way, many files can be synchronised at once.
fn run_blocking<'a, T: Send + 'static>(
    operation: &'static str,
    path: &'a Path,
    work: impl FnOnce(&Path) -> FileResult<T> + Send + 'static,
) -> FileFuture<'a, T> {
    Box::pin(async move {
        let owned = path.to_owned();
        tokio::task::spawn_blocking(move || work(&owned)).await.unwrap_or_else(|error| {
            Err(FileError::system(operation, path, io::Error::other(error)))
        })
    })
}

impl<D: Disk + Clone> FileSystem for D {
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        ready(Disk::create_directories(self, path))
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        ready(Disk::canonical(self, path))
    }

    fn write_new<'a>(
        &'a self,
        path: &'a Path,
        contents: Payload,
        sync: bool,
    ) -> FileFuture<'a, ()> {
        if !sync && contents.len() <= LONG {
            return ready(Disk::write_new(self, path, &contents, false));
        }
        let disk = self.clone();
        run_blocking("write", path, move |path| Disk::write_new(&disk, path, &contents, sync))
    }

    fn create_unnamed<'a>(
        &'a self,
        path: &'a Path,
        contents: Payload,
        sync: bool,
    ) -> FileFuture<'a, bool> {
        if !sync && contents.len() <= LONG {
            return ready(Disk::create_unnamed(self, path, &contents, false));
        }
        let disk = self.clone();
        run_blocking("write", path, move |path| Disk::create_unnamed(&disk, path, &contents, sync))
    }

    fn can_rename(&self) -> bool {
        true
    }

    fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        ready(Disk::rename_new(self, from, to))
    }

    fn rename_over<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        ready(Disk::rename_over(self, from, to))
    }

    fn sync_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        let disk = self.clone();
        run_blocking("fsync", path, move |path| Disk::sync_directory(&disk, path))
    }

    fn read<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        limit: u64,
    ) -> FileFuture<'a, Contents> {
        let disk = self.clone();
        Box::pin(async move {
            let short = limit.min(LONG as u64);
            let contents = Disk::read(&disk, root, relative, short)?;
            if contents.length.min(limit) <= short {
                return Ok(contents);
            }
            let relative = relative.to_owned();
            run_blocking("read", root, move |root| Disk::read(&disk, root, &relative, limit)).await
        })
    }

    fn read_range<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        range: Range<u64>,
    ) -> FileFuture<'a, Option<Vec<u8>>> {
        if range.end.saturating_sub(range.start) <= LONG as u64 {
            return ready(Disk::read_range(self, root, relative, range));
        }
        let (disk, relative) = (self.clone(), relative.to_owned());
        run_blocking("read", root, move |root| Disk::read_range(&disk, root, &relative, range))
    }

    fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<FileEntry>> {
        ready(Disk::list(self, directory))
    }

    fn directories<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<String>> {
        ready(Disk::directories(self, directory))
    }

    fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        ready(Disk::remove(self, path))
    }

    fn disk(&self) -> Option<Arc<dyn Disk>> {
        Some(Arc::new(self.clone()))
    }

    fn scope(&self) -> u64 {
        Disk::scope(self)
    }
}
