//! Spools: temporary files that collect a streamed result piece by piece. The caller copies the contents into the file
//! that stores the result; dropping a spool removes its file.

use std::path::PathBuf;
use std::sync::Arc;

use crate::file_system::{Access, Disk, FileResult, OpenFile};

/// A temporary file that is appended to and read at any offset. Dropping it removes the file. Its operations block
/// their thread.
pub struct Spool {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// `None` while the spool is dropped: Windows can only remove closed files.
    file: Option<Box<dyn OpenFile>>,
    length: u64,
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Spool").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Spool {
    /// A new file at `path`, a temporary name in a directory that exists.
    ///
    /// # Errors
    /// The disk's: the name is taken, or the directory does not exist.
    pub fn create(disk: Arc<dyn Disk>, path: PathBuf) -> FileResult<Self> {
        let file = Some(disk.open(&path, Access::AppendNew)?);
        Ok(Self { disk, path, file, length: 0 })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The disk's. A part of the bytes may be in the file then, beyond [`Spool::length`], where it is not read.
    pub fn append(&mut self, bytes: &[u8]) -> FileResult<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Err(error) = file.append(bytes) {
            // The next piece is written after the last complete one.
            file.truncate(self.length)?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// The number of bytes that were appended.
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

    /// Reads all bytes, piece by piece.
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

/// Bytes per read.
const PIECE: usize = 64 * 1024;

impl Drop for Spool {
    fn drop(&mut self) {
        self.file = None;
        // A file that cannot be removed is swept after this process has ended.
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
