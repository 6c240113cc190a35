//! Creates and replaces files atomically: readers of a new file see all of it or no file, and readers of a replaced
//! file see all of the old or all of the new contents. An injected file system without `rename` is written in place and
//! gives its own guarantees only.

use std::{io, path::Path, sync::Arc};

use crate::{
    DirectorySync,
    file_system::{Access, Disk, FileError, FileResult, FileSystem, Payload},
};

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, for any reason.
    #[default]
    Process,
    /// A loss of power: file and directory entry are on stable storage.
    Full,
}

/// The paths of a new file.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The directory, which must exist.
    pub directory: &'a Path,
    /// The temporary path under which the file is written, in the same directory.
    pub temporary: &'a Path,
    /// The final path of the file.
    pub path: &'a Path,
}

/// Creates a file that readers see completely or not at all.
///
/// Where the file system can (Linux), the file is written without a name, else under an exclusive temporary name. At
/// [`Durability::Full`] it is synchronised. Then it gets its name, and the directory is synchronised. An injected file
/// system without `rename` writes in place, and its guarantees apply.
///
/// # Errors
/// The error of the first step that fails; the temporary file is removed then.
pub async fn create_file(
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
            // The file may be incomplete; its name is unique, so that no other file is removed.
            let _ = file_system.remove(target.path).await;
        }
        return written;
    }
    // Unnamed files need half the directory changes, and a crash leaves nothing. Used where they work.
    if file_system.create_unnamed(target.path, Payload::clone(&contents), sync).await? {
        return finish(file_system, target, sync, directory_sync).await;
    }
    if let Err(error) = file_system.write_new(target.temporary, contents, sync).await {
        // If the name was taken, the file belongs to another writer and must not be removed.
        if error.kind != std::io::ErrorKind::AlreadyExists {
            let _ = file_system.remove(target.temporary).await;
        }
        return Err(error);
    }
    if let Err(error) = file_system.rename_new(target.temporary, target.path).await {
        // The error of the rename is the one to report.
        let _ = file_system.remove(target.temporary).await;
        return Err(error);
    }
    finish(file_system, target, sync, directory_sync).await
}

/// Passes the contents of a file to a writer, piece by piece.
pub type Pieces = Box<dyn FnOnce(&mut dyn FnMut(&[u8]) -> FileResult<()>) -> FileResult<()> + Send>;

/// As [`create_file`] on a disk, for contents that do not fit into memory. `pieces` is called on a thread for blocking
/// work.
///
/// # Errors
/// The error of the first step that fails, or of `pieces`; the temporary file is removed then.
pub async fn create_file_of_pieces(
    disk: Arc<dyn Disk>,
    file_system: &dyn FileSystem,
    target: Target<'_>,
    pieces: Pieces,
    durability: Durability,
    directory_sync: &DirectorySync,
) -> FileResult<()> {
    let sync = durability == Durability::Full;
    let (temporary, path) = (target.temporary.to_owned(), target.path.to_owned());
    let made = tokio::task::spawn_blocking(move || {
        let pieces = match disk.create_of_pieces(&path, pieces) {
            Ok(made) => return made,
            Err(pieces) => pieces,
        };
        let file = disk.open(&temporary, Access::AppendNew)?;
        let written = write_pieces(|piece| file.append(piece), pieces);
        let written = written.and_then(|()| if sync { file.sync() } else { Ok(()) });
        drop(file);
        let made = written.and_then(|()| disk.rename_new(&temporary, &path));
        if made.is_err() {
            // The error of the failed step is the one to report.
            let _ = disk.remove(&temporary);
        }
        made
    });
    made.await.unwrap_or_else(|error| {
        Err(FileError::system("write", target.temporary, io::Error::other(error)))
    })?;
    finish(file_system, target, sync, directory_sync).await
}

/// Combines short pieces into fewer writes.
fn write_pieces(mut write: impl FnMut(&[u8]) -> FileResult<()>, pieces: Pieces) -> FileResult<()> {
    const AT_ONCE: usize = 256 * 1024;
    let mut gathered = Vec::new();
    pieces(&mut |piece| {
        gathered.extend_from_slice(piece);
        if gathered.len() < AT_ONCE {
            return Ok(());
        }
        let written = write(&gathered);
        gathered.clear();
        written
    })?;
    if gathered.is_empty() { Ok(()) } else { write(&gathered) }
}

/// Replaces or creates a file: readers see the old or the new contents, always complete.
///
/// The contents are written under an exclusive temporary name, synchronised, and renamed over the old file. At
/// [`Durability::Full`] the directory is synchronised as well. The contents are synchronised at [`Durability::Process`]
/// too: a file system may make the rename durable before the data (xfs does), and a loss of power would leave an empty
/// file in place of a complete one. At that level, a loss of power may restore the old file. An injected file system
/// without `rename` writes in place.
///
/// # Errors
/// The error of the first step that fails. The old file is unchanged and the temporary one removed. If only
/// synchronising the directory failed, the new file is in place.
pub async fn replace_file(
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

/// As [`replace_file`], for a cache: at [`Durability::Process`] nothing is synchronised, and a loss of power may leave
/// any contents. Only for files that carry a checksum and can be rebuilt.
///
/// # Errors
/// Those of [`replace_file`].
pub async fn replace_cache_file(
    file_system: &dyn FileSystem,
    target: Target<'_>,
    contents: Payload,
    durability: Durability,
) -> Result<(), FileError> {
    match durability {
        Durability::Process => put(file_system, target, contents, false).await,
        Durability::Full => {
            let sync = DirectorySync::default();
            replace_file(file_system, target, contents, durability, &sync).await
        }
    }
}

/// Moves a file to the place of another, by a rename where the file system has one.
async fn put(
    file_system: &dyn FileSystem,
    target: Target<'_>,
    contents: Payload,
    sync: bool,
) -> Result<(), FileError> {
    if !file_system.can_rename() {
        return file_system.write_new(target.path, contents, sync).await;
    }
    if file_system.replace(target.path, Payload::clone(&contents), sync).await? {
        return Ok(());
    }
    let renamed = match file_system.write_new(target.temporary, contents, sync).await {
        Ok(()) => file_system.rename_over(target.temporary, target.path).await,
        // The file belongs to another writer and must not be removed.
        Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => return Err(error),
        Err(error) => Err(error),
    };
    if renamed.is_err() {
        // The error of the failed step is the one to report.
        let _ = file_system.remove(target.temporary).await;
    }
    renamed
}

/// Makes the new directory entry durable, or removes the file: a failed operation leaves nothing.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalDisk;

    #[tokio::test]
    async fn a_file_of_pieces_appears_whole_and_a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (temporary, path) = (root.join(".x.tmp"), root.join("x.json"));
        let target = Target { directory: root, temporary: &temporary, path: &path };
        let create = async |pieces: Pieces| {
            let sync = DirectorySync::default();
            let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
            create_file_of_pieces(disk, &LocalDisk, target, pieces, Durability::Full, &sync).await
        };
        let failing: Pieces = Box::new(|write| {
            write(&[b'x'; 300_000])?;
            Err(FileError::system("read", Path::new("y"), io::Error::other("broken")))
        });
        assert_eq!(create(failing).await.unwrap_err().operation, "read");
        assert_eq!(std::fs::read_dir(root).unwrap().count(), 0);
        let pieces: Pieces = Box::new(|write| (0..3).try_for_each(|_| write(&[b'x'; 200_000])));
        create(pieces).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [b'x'; 600_000]);
        let again: Pieces = Box::new(|write| write(b"y"));
        assert_eq!(create(again).await.unwrap_err().kind, io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_dir(root).unwrap().count(), 1);
    }
}
