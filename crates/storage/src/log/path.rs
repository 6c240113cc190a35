//! Where a log and the files beside it are.

use std::path::PathBuf;

use crate::layout;

/// Where a log is.
#[derive(Debug, Clone)]
pub struct LogPath {
    /// Its directory, absolute.
    pub directory: PathBuf,
    /// What the paths of the directory's files begin with, as the file system spells them.
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

    /// A fresh path for what is about to replace one of the log's files.
    #[must_use]
    pub fn replacement(&self) -> PathBuf {
        self.beside(&layout::replacement(&self.name))
    }

    /// The log's lock file.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.beside(&layout::lock(&self.name))
    }

    /// The lock file of processes that compact the log in the background.
    #[must_use]
    pub fn compaction_lock(&self) -> PathBuf {
        self.beside(&layout::compaction_lock(&self.name))
    }

    /// The log's file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.beside(&self.name)
    }
}
