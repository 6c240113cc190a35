//! Group commit for directory entries: operations that finish while a directory is being synchronised share the next
//! fsync.

use std::{
    io,
    path::Path,
    sync::{Mutex, PoisonError},
};

use tokio::sync::oneshot;

use crate::file_system::{Disk, FileError, FileResult, FileSystem};

/// The group commit of one directory.
#[derive(Debug, Default)]
pub struct DirectorySync(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    /// A caller leads: it synchronises for all waiting callers, round after round.
    led: bool,
    waiting: Vec<oneshot::Sender<FileResult<()>>>,
}

impl DirectorySync {
    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when every entry made before this call is on stable storage.
    ///
    /// # Errors
    /// The file system's, when the directory cannot be synchronised.
    pub async fn sync(
        &self,
        file_system: &dyn FileSystem,
        directory: &Path,
    ) -> Result<(), FileError> {
        let (sender, receiver) = oneshot::channel();
        let leads = {
            let mut queue = self.queue();
            queue.waiting.push(sender);
            !std::mem::replace(&mut queue.led, true)
        };
        if leads {
            self.lead(file_system, directory).await;
        }
        receiver.await.unwrap_or_else(|_| {
            Err(FileError::system("fsync", directory, io::ErrorKind::Interrupted.into()))
        })
    }

    /// Synchronises until no caller waits.
    async fn lead(&self, file_system: &dyn FileSystem, directory: &Path) {
        loop {
            let round = {
                let mut queue = self.queue();
                queue.led = !queue.waiting.is_empty();
                std::mem::take(&mut queue.waiting)
            };
            if round.is_empty() {
                return;
            }
            let outcome = file_system.sync_directory(directory).await;
            for waiting in round {
                // The caller has dropped its future and needs no result.
                let _ = waiting.send(outcome.as_ref().copied().map_err(FileError::duplicate));
            }
        }
    }
}

/// Synchronises the entries on the path to a directory: its own entry in its parent, the parent's in the next, up to
/// the root. `directory` is canonical. Blocks its thread.
///
/// # Errors
/// The disk's. An ancestor that may not be opened is skipped, and so is one whose file system cannot synchronise
/// directories. If that is not the file system of `directory`, no entry on the path was created in it.
pub fn sync_ancestors(disk: &dyn Disk, directory: &Path) -> FileResult<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    for ancestor in directory.ancestors().skip(1) {
        match disk.sync_directory(ancestor) {
            Err(error)
                if matches!(
                    error.kind,
                    PermissionDenied | InvalidInput | ReadOnlyFilesystem | Unsupported
                ) => {}
            other => other?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_system::LocalDisk;
    use std::sync::Arc;

    #[tokio::test]
    async fn everybody_is_served() {
        let folder = tempfile::tempdir().unwrap();
        let group = Arc::new(DirectorySync::default());
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let (group, path) = (Arc::clone(&group), folder.path().to_owned());
                tokio::spawn(async move { group.sync(&LocalDisk, &path).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let missing = folder.path().join("missing");
        assert!(group.sync(&LocalDisk, &missing).await.unwrap_err().is_not_found());
        group.sync(&LocalDisk, folder.path()).await.unwrap();
    }
}
