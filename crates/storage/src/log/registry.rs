//! The logs in use: one object for each file, shared by all its users in this process.

use std::{path::PathBuf, sync::Arc};

use super::{Log, path::LogPath};
use crate::{file_system::FileSystem, registry::Registry};

/// The logs in use, for one type of record.
pub struct LogRegistry<E>(Registry<(u64, PathBuf), Log<E>>);

impl<E: Send + 'static> LogRegistry<E> {
    /// An empty registry.
    #[must_use]
    pub const fn new() -> Self {
        Self(Registry::new())
    }

    /// The log at `path`. Does no I/O.
    pub fn log(&self, file_system: &Arc<dyn FileSystem>, path: &LogPath) -> Arc<Log<E>> {
        let key = (file_system.scope(), path.file());
        self.0.get_or_insert_with(key, || Arc::new(Log::new(file_system, path)))
    }
}

impl<E: Send + 'static> Default for LogRegistry<E> {
    fn default() -> Self {
        Self::new()
    }
}
