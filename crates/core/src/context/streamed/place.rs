//! Creates the temporary files of a stream.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use storage::{Disk, Spool};

use super::super::{
    context_directory::{ContextDirectory, Opened},
    directory::SharedDirectory,
    refused,
};
use crate::error::{Error, Result};

/// The directory of a stream's temporary files. It holds the session's lease, so that no sweep removes them.
pub(super) struct StreamPlace {
    opened: Arc<Opened>,
    shared: Arc<SharedDirectory>,
    disk: Arc<dyn Disk>,
}

impl StreamPlace {
    pub fn directory(&self) -> &Path {
        &self.opened.root
    }

    /// Creates a temporary file for a part of the stream.
    ///
    /// # Errors
    /// `Io`
    pub fn spool(&self) -> Result<Spool> {
        let temporary: PathBuf = self.shared.temporary().map_err(|error| self.refused(error))?;
        Spool::create(Arc::clone(&self.disk), temporary).map_err(|error| self.refused(error))
    }

    pub fn refused(&self, error: storage::FileError) -> Error {
        refused("keep a stream in", self.directory(), error)
    }
}

impl ContextDirectory {
    /// Prepares a stream, with its first file.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`; `Internal` on an injected file system.
    pub(super) async fn place_for_stream(&self) -> Result<(StreamPlace, Spool)> {
        let mut attempts_left = 1;
        loop {
            let opened = self.held().await?;
            let (Some((shared, _)), Some(disk)) = (&opened.shared, &self.disk) else {
                return Err(Error::internal("streams are kept on disks only"));
            };
            let (shared, disk) = (Arc::clone(shared), Arc::clone(disk));
            let place = StreamPlace { opened, shared, disk };
            match place.spool() {
                // The directory was removed, and the lease with it: opens it again.
                Err(error) if error.is_missing_file() && attempts_left > 0 => {
                    attempts_left -= 1;
                    drop(self.close());
                }
                other => return other.map(|spool| (place, spool)),
            }
        }
    }
}
