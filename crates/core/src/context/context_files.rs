//! Reading the files of a context directory.

use std::path::{Path, PathBuf};

use storage::{Contents, FileEntry, FileResult};

use super::{
    context_directory::ContextDirectory,
    file_head::{FileHead, NoHead, read_head},
    handle, refused,
};
use crate::error::{Code, Error, Result};

/// The longest text that becomes a JavaScript string.
pub(super) const MAX_TEXT: u64 = 0x1fff_ffe8;

/// The files of the directory.
pub(super) struct Listed {
    pub entries: Vec<FileEntry>,
    /// The directory without symbolic links; as the caller spells it where it has no files.
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

    /// The directory without symbolic links, which reading does not create. `path` is what is read.
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

    /// All bytes of a file, still to be checked. `path` is how the caller spells it.
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

    /// The head of a file below `root`.
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

    /// The files of the directory; none where it is not there.
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
