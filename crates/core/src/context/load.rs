//! Loading: from memory where it is at hand, else from the file, checked before it is believed.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use storage::Payload;

use super::{
    handle,
    held::Held,
    manager::Manager,
    record::{self, NoRecord},
    refused,
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
};

/// The longest text that becomes a JavaScript string.
pub(super) const MAX_TEXT: u64 = 0x1fff_ffe8;

impl Manager {
    /// A context's record, whole.
    ///
    /// # Errors
    /// `NotFound`, `OutsideDirectory`, `Corrupt`, `TooLarge` or `Io`.
    pub async fn load(self: &Arc<Self>, path: &str) -> Result<Held> {
        let relative = self.locate(path).await?;
        if let Some(record) = self.at_hand(&relative).await {
            return Ok(record);
        }
        let loaded = match self.read_from_disk(path, &relative).await {
            Ok(bytes) => {
                let (path, length) = (path.to_owned(), bytes.len());
                let hold = move || {
                    let result = check(&path, &bytes)?;
                    Ok(Held::new(Payload::new(bytes), result.start))
                };
                run_long(length, hold).await
            }
            Err(error) => Err(error),
        };
        self.count_load(loaded.is_ok());
        loaded
    }

    /// What memory holds.
    pub(super) async fn at_hand(self: &Arc<Self>, relative: &str) -> Option<Held> {
        match self.in_memory(relative) {
            Some(record) => Some(record),
            None => self.in_other_memory(relative).await,
        }
    }

    /// Counts a load that memory did not serve.
    pub(super) fn count_load(&self, is_found: bool) {
        let mut state = self.state();
        if is_found {
            state.disk_hits += 1;
        } else {
            state.misses += 1;
        }
    }

    /// What only the memory of another manager of this process holds.
    async fn in_other_memory(self: &Arc<Self>, relative: &str) -> Option<Held> {
        for manager in self.neighbours() {
            if let Some(record) = manager.in_memory_alone(relative)
                && self.shares_directory(&manager).await
            {
                return Some(record);
            }
        }
        None
    }

    /// A file's bytes, still to be checked.
    pub(super) async fn read_from_disk(&self, path: &str, relative: &str) -> Result<Vec<u8>> {
        let root = self.root(path).await?;
        let contents =
            self.file_system.read(&root, Path::new(relative), MAX_TEXT).await.map_err(|error| {
                match error.kind {
                    std::io::ErrorKind::NotFound => handle::not_found(path),
                    std::io::ErrorKind::InvalidInput => {
                        Error::outside(path, &self.options.directory)
                    }
                    _ => refused("load the context", Path::new(path), error),
                }
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

    /// The directory without symbolic links, which reading does not create.
    pub(super) async fn root(&self, path: &str) -> Result<PathBuf> {
        if let Some(opened) = self.opened() {
            return Ok(opened.root.clone());
        }
        self.check_directory()?;
        let directory = Path::new(&self.options.directory);
        self.file_system.canonical(directory).await.map_err(|error| {
            if error.is_not_found() {
                handle::not_found(path)
            } else {
                refused("open the context directory", directory, error)
            }
        })
    }
}

/// Checks that a file holds a whole record; returns where its result stands.
pub(super) fn check(path: &str, bytes: &[u8]) -> Result<Range<usize>> {
    record::check(bytes).map_err(|reason| {
        let reason = match reason {
            NoRecord::Incomplete if bytes.is_empty() => "the file is empty",
            other => other.reason(),
        };
        Error::corrupt(path, reason)
    })
}
