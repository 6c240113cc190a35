//! The only code that promises durability: a file is whole or not there, a session's lease holds
//! exactly as long as its process lives.

pub(crate) mod cache_file;
mod directory_sync;
mod file_lock;
mod lease;
mod leftovers;
pub mod log;
pub(crate) mod registry;
mod shared_files;

use std::path::Path;

pub use directory_sync::{DirectorySync, sync_ancestors};
pub use file_lock::{FileLock, LockError, LockGuard};
pub use lease::{Lease, LiveSessions, Liveness, UnprovenLease, live_sessions};
pub use leftovers::remove_leftovers;
pub use shared_files::{SharedFiles, Turn};

use crate::file_system::{FileError, FileSystem, Payload};

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, however it comes.
    #[default]
    Process,
    /// The loss of power: file and directory are on the medium.
    Full,
}

/// Where a new file is made.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The directory, which exists.
    pub directory: &'a Path,
    /// The name under which the file is written, in the same directory.
    pub temporary: &'a Path,
    /// The name it gets when it is whole.
    pub path: &'a Path,
}

/// Creates a file that readers see whole or not at all.
///
/// Written without a name where the file system can (Linux), else under an exclusive temporary name,
/// brought to the medium at [`Durability::Full`], named, the directory brought to the medium. An
/// injected file system without `rename` writes in place: there the promise is the file system's.
///
/// # Errors
/// The first failing step's; the temporary file is gone then.
pub async fn create(
    file_system: &dyn FileSystem,
    target: Target<'_>,
    contents: Payload,
    durability: Durability,
    directory_sync: &DirectorySync,
) -> Result<(), FileError> {
    let sync = durability == Durability::Full;
    if !file_system.can_rename() {
        let written = file_system.write_new(target.path, contents, sync).await;
        if written.is_err() {
            // Half a file may stand there, and the name is free by construction.
            let _ = file_system.remove(target.path).await;
        }
        return written;
    }
    // Half the work for the directory, and a crash leaves nothing: where that works, it is used.
    if file_system.create_unnamed(target.path, Payload::clone(&contents), sync).await? {
        return finish(file_system, target, sync, directory_sync).await;
    }
    if let Err(error) = file_system.write_new(target.temporary, contents, sync).await {
        // Not ours when the name was taken: then there is nothing to take back.
        if error.kind != std::io::ErrorKind::AlreadyExists {
            let _ = file_system.remove(target.temporary).await;
        }
        return Err(error);
    }
    if let Err(error) = file_system.rename_new(target.temporary, target.path).await {
        // The rename's own error is the one worth telling.
        let _ = file_system.remove(target.temporary).await;
        return Err(error);
    }
    finish(file_system, target, sync, directory_sync).await
}

/// Replaces a file, or creates it: readers see the old one or the new one, whole.
///
/// Written under an exclusive temporary name, synchronised, renamed over the old one; at
/// [`Durability::Full`] the directory is synchronised as well. The contents are synchronised at
/// [`Durability::Process`] too: a file system may make the rename durable before the data (xfs does),
/// and a loss of power would leave an empty file where a whole one was. At that level a loss of power
/// may bring the old file back. An injected file system without `rename` writes in place.
///
/// # Errors
/// The first failing step's; the old file is as it was and the temporary one gone. Where only the
/// directory could not be brought to the medium, the new one is in its place.
pub async fn replace(
    file_system: &dyn FileSystem,
    target: Target<'_>,
    contents: Payload,
    durability: Durability,
    directory_sync: &DirectorySync,
) -> Result<(), FileError> {
    put(file_system, target, contents, true).await?;
    if durability == Durability::Full && file_system.can_rename() {
        directory_sync.sync(file_system, target.directory).await?;
    }
    Ok(())
}

/// As [`replace`] for a cache: at [`Durability::Process`] nothing is synchronised, and a loss of power
/// may leave any contents. Only for files that carry a checksum and can be rebuilt.
///
/// # Errors
/// Those of [`replace`].
pub async fn replace_cache(
    file_system: &dyn FileSystem,
    target: Target<'_>,
    contents: Payload,
    durability: Durability,
) -> Result<(), FileError> {
    match durability {
        Durability::Process => put(file_system, target, contents, false).await,
        Durability::Full => {
            let sync = DirectorySync::default();
            replace(file_system, target, contents, durability, &sync).await
        }
    }
}

/// Puts a file in another's place, by a rename where there is one.
async fn put(
    file_system: &dyn FileSystem,
    target: Target<'_>,
    contents: Payload,
    sync: bool,
) -> Result<(), FileError> {
    if !file_system.can_rename() {
        return file_system.write_new(target.path, contents, sync).await;
    }
    let renamed = match file_system.write_new(target.temporary, contents, sync).await {
        Ok(()) => file_system.rename_over(target.temporary, target.path).await,
        // Not ours: there is nothing to take back.
        Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => return Err(error),
        Err(error) => Err(error),
    };
    if renamed.is_err() {
        // The step's own error is the one worth reporting.
        let _ = file_system.remove(target.temporary).await;
    }
    renamed
}

/// Brings the new entry to the medium, or takes it back: what is refused leaves nothing.
async fn finish(
    file_system: &dyn FileSystem,
    target: Target<'_>,
    sync: bool,
    directory_sync: &DirectorySync,
) -> Result<(), FileError> {
    if !sync {
        return Ok(());
    }
    let synced = directory_sync.sync(file_system, target.directory).await;
    if synced.is_err() {
        let _ = file_system.remove(target.path).await;
    }
    synced
}
