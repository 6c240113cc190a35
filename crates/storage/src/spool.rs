//! Files that grow piece by piece and have no name for readers: what is stored later, as far as it has come.

use std::path::PathBuf;
use std::sync::Arc;

use crate::file_system::{Access, Disk, FileResult, OpenFile};

/// A temporary file that is written at its end and read anywhere. Dropping it removes the file. Its operations block their
/// thread.
pub struct Spool {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// `None` while the spool is dropped: Windows removes closed files only.
    file: Option<Box<dyn OpenFile>>,
    length: u64,
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Spool").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Spool {
    /// A new file at `path`, a name of temporary files in a directory that exists.
    ///
    /// # Errors
    /// The disk's: the name is taken, or the directory is not there.
    pub fn create(disk: Arc<dyn Disk>, path: PathBuf) -> FileResult<Self> {
        let file = Some(disk.open(&path, Access::AppendNew)?);
        Ok(Self { disk, path, file, length: 0 })
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// The disk's; a part of the bytes may be in the file then, which no reader sees: [`Spool::length`] is what it was.
    pub fn append(&mut self, bytes: &[u8]) -> FileResult<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Err(error) = file.append(bytes) {
            // The next piece follows the last whole one.
            file.truncate(self.length)?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// How many bytes were added.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// The bytes from `offset` on, at most `limit` of them.
    ///
    /// # Errors
    /// The disk's.
    pub fn read(&self, offset: u64, limit: usize) -> FileResult<Vec<u8>> {
        let left = self.length.saturating_sub(offset);
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(usize::MAX).min(limit)];
        let mut filled = 0;
        while let (Some(file), Some(rest)) = (&self.file, bytes.get_mut(filled..))
            && !rest.is_empty()
        {
            let count = file.read_at(offset + filled as u64, rest)?;
            if count == 0 {
                break;
            }
            filled += count;
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Reads all of it, piece by piece.
    ///
    /// # Errors
    /// The disk's, and those of `take`.
    pub fn read_all<E: From<crate::FileError>>(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut offset = 0;
        while offset < self.length {
            let piece = self.read(offset, PIECE)?;
            if piece.is_empty() {
                break;
            }
            offset += piece.len() as u64;
            take(&piece)?;
        }
        Ok(())
    }
}

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

impl Drop for Spool {
    fn drop(&mut self) {
        self.file = None;
        // One that stays is swept when this process has ended.
        let _ = self.disk.remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileError, LocalDisk};

    #[test]
    fn a_spool_is_read_where_it_was_written_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".x.tmp");
        let mut spool = Spool::create(Arc::new(LocalDisk), path.clone()).unwrap();
        assert!(Spool::create(Arc::new(LocalDisk), path).is_err(), "the name is taken");
        let text: Vec<u8> = (0..PIECE + 100).map(|number| (number % 251) as u8).collect();
        spool.append(&text[..10]).unwrap();
        spool.append(&text[10..]).unwrap();
        assert_eq!(spool.length(), text.len() as u64);
        assert_eq!(spool.read(5, 10).unwrap(), text[5..15]);
        assert_eq!(spool.read(text.len() as u64 - 3, 10).unwrap(), text[text.len() - 3..]);
        assert_eq!(spool.read(text.len() as u64 + 1, 10).unwrap(), b"");
        let mut all = Vec::new();
        spool
            .read_all(|piece| {
                assert!(piece.len() <= PIECE);
                all.extend_from_slice(piece);
                Ok::<(), FileError>(())
            })
            .unwrap();
        assert_eq!(all, text);
        drop(spool);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
