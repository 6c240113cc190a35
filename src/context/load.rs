//! Loading: from memory where it is at hand, else from the file, checked before it is believed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    handle,
    held::Held,
    manager::Manager,
    record::{self, NoRecord},
    refused,
};
use crate::{
    error::{Code, Error, Result},
    file_system::Payload,
};

/// The longest text that becomes a JavaScript string.
const MAX_TEXT: u64 = 0x1fff_ffe8;

impl Manager {
    /// A context's record, whole.
    ///
    /// # Errors
    /// `NotFound`, `OutsideDirectory`, `Corrupt`, `TooLarge` or `Io`.
    pub async fn load(self: &Arc<Self>, path: &str) -> Result<Held> {
        let relative = self.locate(path).await?;
        let at_hand = match self.in_memory(&relative) {
            Some(record) => Some(record),
            None => self.in_other_memory(&relative).await,
        };
        if let Some(record) = at_hand {
            return Ok(record);
        }
        let loaded = self.load_from_disk(path, &relative).await;
        let mut state = self.state();
        match &loaded {
            Ok(_) => state.disk_hits += 1,
            Err(_) => state.misses += 1,
        }
        loaded
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

    pub(super) async fn load_from_disk(&self, path: &str, relative: &str) -> Result<Held> {
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
        let result = record::check(&contents.bytes).map_err(|reason| {
            let reason = match reason {
                NoRecord::Incomplete if contents.bytes.is_empty() => "the file is empty",
                other => other.reason(),
            };
            Error::corrupt(path, reason)
        })?;
        Ok(Held::new(Payload::new(contents.bytes), result))
    }

    /// The directory without symbolic links, which reading does not create.
    pub(super) async fn root(&self, path: &str) -> Result<PathBuf> {
        if let Some(opened) = self.opened() {
            return Ok(opened.root.clone());
        }
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
