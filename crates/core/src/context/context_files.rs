//! Reads and lists the files of a context directory. Reading never creates the directory.

use std::path::{Path, PathBuf};

use storage::{Contents, FileEntry, FileResult};

use super::{
    context_directory::ContextDirectory,
    file_head::{FileHead, NoHead, read_head},
    handle, refused,
};
use crate::error::{Code, Error, Result};

/// The longest text that fits a JavaScript string.
pub(super) const MAX_TEXT: u64 = 0x1fff_ffe8;

/// A listing of the directory.
pub(super) struct Listed {
    pub entries: Vec<FileEntry>,
    /// The canonical path; the caller's path if the directory does not exist.
    pub root: PathBuf,
}

impl ContextDirectory {
    /// Whether the directory is there.
    ///
    /// # Errors
    /// The file system's.
    pub async fn exists(&self) -> FileResult<bool> {
        self.file_system.has_directory(self.path()).await
    }

    /// The canonical path of the directory. `path`, the file to be read, is for the error message.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `NotFound` or `Io`
    pub async fn root(&self, path: &str) -> Result<PathBuf> {
        if let Some(opened) = self.opened() {
            return Ok(opened.root.clone());
        }
        self.check()?;
        self.file_system.canonical(self.path()).await.map_err(|error| {
            if error.is_not_found() {
                handle::not_found(path)
            } else {
                refused("open the context directory", self.path(), error)
            }
        })
    }

    /// All bytes of a file, not yet validated. `path` is the caller's spelling, for error messages.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `NotFound`, `OutsideDirectory`, `TooLarge` or `Io`
    pub async fn read_whole(&self, path: &str, relative: &str) -> Result<Vec<u8>> {
        let root = self.root(path).await?;
        let contents =
            self.read(&root, relative, MAX_TEXT).await.map_err(|error| match error.kind {
                std::io::ErrorKind::NotFound => handle::not_found(path),
                std::io::ErrorKind::InvalidInput => Error::outside(path, &self.options.directory),
                _ => refused("load the context", Path::new(path), error),
            })?;
        if contents.length > MAX_TEXT {
            return Err(Error::new(
                Code::TooLarge,
                format!(
                    "{path} has {} bytes, more than a JavaScript string holds; it is no context",
                    contents.length
                ),
            ));
        }
        Ok(contents.bytes)
    }

    /// At most `limit` bytes of a file below `root`.
    ///
    /// # Errors
    /// The file system's.
    pub async fn read(&self, root: &Path, relative: &str, limit: u64) -> FileResult<Contents> {
        self.file_system.read(root, Path::new(relative), limit).await
    }

    /// The head of a record file below `root`.
    ///
    /// # Errors
    /// [`NoHead`]
    pub async fn read_head(
        &self,
        root: &Path,
        name: &str,
    ) -> std::result::Result<FileHead, NoHead> {
        read_head(self.file_system.as_ref(), root, name).await
    }

    /// The files of the directory; empty if it does not exist.
    ///
    /// # Errors
    /// The file system's.
    pub async fn list(&self) -> FileResult<Listed> {
        let entries = self.file_system.list(self.path()).await?;
        let root = if entries.is_empty() {
            self.path().to_owned()
        } else {
            self.file_system.canonical(self.path()).await?
        };
        Ok(Listed { entries, root })
    }
}
