//! Paths of a log and of the files beside it.

use std::path::PathBuf;

use crate::layout;

/// The path of a log, in parts.
#[derive(Debug, Clone)]
pub struct LogPath {
    /// Its absolute directory.
    pub directory: PathBuf,
    /// The prefix of the paths of the directory's files, in the notation of the file system.
    pub prefix: String,
    /// Its file name.
    pub name: String,
}

impl LogPath {
    /// The path of a file beside the log, or of the log itself.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}{name}", self.prefix))
    }

    /// A new temporary path for a file that will replace one of the log's files.
    #[must_use]
    pub fn replacement(&self) -> PathBuf {
        self.beside(&layout::replacement(&self.name))
    }

    /// The path of the log's lock file.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.beside(&layout::lock(&self.name))
    }

    /// The path of the lock file for background compaction.
    #[must_use]
    pub fn compaction_lock(&self) -> PathBuf {
        self.beside(&layout::compaction_lock(&self.name))
    }

    /// The path of the log's file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.beside(&self.name)
    }
}
