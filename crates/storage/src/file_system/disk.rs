//! Disks: file systems with open files and locks. What implements [`Disk`] is a [`FileSystem`].

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Children, Contents, FileEntry, FileError, FileFuture, FileSystem, FileSystemKind, Ownership,
    Payload, Volume,
};

use tasks::LONG;

/// The result of a file operation.
pub type FileResult<T> = std::result::Result<T, FileError>;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and adding at its end; created for the owner alone when it is not there.
    Append,
    /// As [`Access::Append`], but the file must not be there yet.
    AppendNew,
}

/// What came of an attempt to lock a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockAttempt {
    /// The lock is ours until [`OpenFile::unlock`], or until the file is closed.
    Taken,
    /// Another open file, here or in another process, has it.
    Held,
    /// This file system has no locks.
    Unsupported,
}

/// An open file. Its lock and its identity belong to it, not to the process.
pub trait OpenFile: Send + Sync {
    /// The length in bytes.
    ///
    /// # Errors
    /// The file system's.
    fn length(&self) -> FileResult<u64>;

    /// Reads at `offset` as much as there is, up to the buffer's length; returns how much.
    ///
    /// # Errors
    /// The file system's.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize>;

    /// Adds bytes at the end, in one write where the system takes them all.
    ///
    /// # Errors
    /// The file system's; a part may stand at the end then.
    fn append(&self, bytes: &[u8]) -> FileResult<()>;

    /// Cuts the file to `length` bytes.
    ///
    /// # Errors
    /// The file system's.
    fn truncate(&self, length: u64) -> FileResult<()>;

    /// Brings contents and length to the medium. A failed attempt is never repeated on the same open
    /// file: the system may have dropped what it could not write.
    ///
    /// # Errors
    /// The file system's.
    fn sync(&self) -> FileResult<()>;

    /// Tries to lock the file for this open file alone, without waiting.
    ///
    /// # Errors
    /// The file system's.
    fn try_lock(&self) -> FileResult<LockAttempt>;

    /// Gives the lock up.
    fn unlock(&self);

    /// Whether the file still has a name.
    fn is_linked(&self) -> bool;

    /// Whether `path` names this file. `false` as well when it cannot be told.
    fn is_at(&self, path: &Path) -> bool;

    /// Tells the file from others on the same file system while it exists.
    fn identity(&self) -> u64;

    /// Gives this file the permissions of the one that it is to replace, where there are such and as far as
    /// [`Ownership::mode_from`] allows it.
    ///
    /// # Errors
    /// The file system's.
    fn take_permissions(&self, _other: &dyn OpenFile) -> FileResult<()> {
        Ok(())
    }

    /// Owner and permissions, where there are such.
    fn ownership(&self) -> Option<Ownership> {
        None
    }

    /// The type of the file system that it is on.
    fn file_system(&self) -> FileSystemKind {
        FileSystemKind::default()
    }
}

/// A file system that keeps files open and locks them: the operating system's, or the simulator.
/// Every operation blocks its thread. No operation follows a symbolic link in a path's last part.
///
/// # Errors
/// Every operation fails with a [`FileError`] that says what the system said.
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
    /// See [`FileSystem::rename_new`].
    fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()>;
    /// See [`FileSystem::rename_over`].
    fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()>;
    /// See [`FileSystem::sync_directory`].
    fn sync_directory(&self, path: &Path) -> FileResult<()>;
    /// See [`FileSystem::read`].
    fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents>;
    /// See [`FileSystem::list`].
    fn list(&self, directory: &Path) -> FileResult<Vec<FileEntry>>;
    /// The names of everything in a directory, for less than a listing costs; none when it is not
    /// there.
    fn names(&self, directory: &Path) -> FileResult<Vec<String>> {
        Ok(self.list(directory)?.into_iter().map(|entry| entry.name).collect())
    }
    /// See [`FileSystem::directories`].
    fn directories(&self, _directory: &Path) -> FileResult<Vec<String>> {
        Ok(Vec::new())
    }
    /// What [`Disk::list`] and [`Disk::directories`] give, in one look.
    fn children(&self, directory: &Path) -> FileResult<Children> {
        let (files, directories) = (self.list(directory)?, self.directories(directory)?);
        Ok(Children { files, directories })
    }
    /// One regular file of a directory, as [`Disk::list`] has it; `None` when it is not there.
    fn entry(&self, directory: &Path, name: &str) -> FileResult<Option<FileEntry>> {
        Ok(self.list(directory)?.into_iter().find(|entry| entry.name == name))
    }
    /// See [`FileSystem::remove`].
    fn remove(&self, path: &Path) -> FileResult<bool>;
    /// Owner and permissions of a file or directory, through symbolic links; `None` when it is not there, or where there
    /// are no owners.
    fn ownership(&self, _path: &Path) -> FileResult<Option<Ownership>> {
        Ok(None)
    }
    /// The number of the user as whom this process uses the disk, where there are users.
    fn user(&self) -> Option<u32> {
        None
    }
    /// The file system of a directory, which is there.
    fn volume(&self, _directory: &Path) -> FileResult<Volume> {
        Ok(Volume::default())
    }
    /// Opens a regular file.
    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>>;
    /// Tells this file system from others in the process: the same number, the same files.
    fn scope(&self) -> u64;
}

fn ready<'a, T: Send + 'a>(result: FileResult<T>) -> FileFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

/// Waiting for the medium, or copying a long file, would keep a worker from other work: it happens on a
/// thread of its own, so that many files are on their way to the medium at once.
fn aside<'a, T: Send + 'static>(
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
        aside("write", path, move |path| Disk::write_new(&disk, path, &contents, sync))
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
        aside("write", path, move |path| Disk::create_unnamed(&disk, path, &contents, sync))
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
        aside("fsync", path, move |path| Disk::sync_directory(&disk, path))
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
            aside("read", root, move |root| Disk::read(&disk, root, &relative, limit)).await
        })
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
