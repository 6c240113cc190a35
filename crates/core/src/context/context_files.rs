//! Reads and lists the files of a context directory. Reading never creates the directory.

use std::path::{Path, PathBuf};

use storage::{Contents, FileEntry, FileResult, layout};

use super::{
    context_directory::ContextDirectory,
    file_head::{FileHead, NoHead, SHORT_HEAD, read_head},
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

/// A file that a caller asks for.
pub(super) struct Reading<'a> {
    /// The caller's spelling, for error messages.
    pub path: &'a str,
    /// The path below the directory.
    pub relative: &'a str,
    /// The most bytes.
    pub limit: u64,
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
        let contents = self.read_for(&root, Reading { path, relative, limit: MAX_TEXT }).await?;
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

    /// The beginning of a file, for a caller.
    ///
    /// # Errors
    /// `NotFound`, `OutsideDirectory` or `Io`
    pub async fn read_for(&self, root: &Path, reading: Reading<'_>) -> Result<Contents> {
        let Reading { path, relative, limit } = reading;
        self.read(root, relative, limit).await.map_err(|error| match error.kind {
            std::io::ErrorKind::NotFound => handle::not_found(path),
            std::io::ErrorKind::InvalidInput => Error::outside(path, &self.options.directory),
            _ => refused("load the context", Path::new(path), error),
        })
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

    /// The files that may be contexts of this session, which is a named one. On file systems that can, with the beginnings of
    /// files as far as they fit into `most` bytes together, for [`Beginnings::add_read`](super::beginnings::Beginnings::add_read).
    ///
    /// # Errors
    /// The file system's.
    pub async fn list_session(&self, most: u64) -> FileResult<(Listed, Vec<(String, Contents)>)> {
        let prefixes = layout::session_prefixes(&self.options.session);
        let found =
            self.file_system.list_beginnings(self.path(), &prefixes, SHORT_HEAD, most).await?;
        let Some(found) = found else {
            let mut listed = self.list().await?;
            let is_own = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
            listed.entries.retain(|entry| is_own(&entry.name));
            return Ok((listed, Vec::new()));
        };
        let root = self.file_system.canonical(self.path()).await?;
        let (mut entries, mut read) = (Vec::with_capacity(found.len()), Vec::new());
        for (entry, contents) in found {
            read.extend(contents.map(|contents| (entry.name.clone(), contents)));
            entries.push(entry);
        }
        Ok((Listed { entries, root }, read))
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
