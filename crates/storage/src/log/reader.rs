//! A log as a reader finds it.

use super::ReadAt;
use crate::file_system::{FileError, OpenFile};

/// A file to read a log from.
pub enum LogReader {
    /// An open file.
    File(Box<dyn OpenFile>),
    /// The whole text: this file system keeps no files open.
    Text(Vec<u8>),
}

impl ReadAt for LogReader {
    fn length(&self) -> Result<u64, FileError> {
        match self {
            Self::File(file) => file.length(),
            Self::Text(text) => text.length(),
        }
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FileError> {
        match self {
            Self::File(file) => file.read_at(offset, buffer),
            Self::Text(text) => text.read_at(offset, buffer),
        }
    }
}

impl LogReader {
    /// Tells the file from others; 0 for a text.
    #[must_use]
    pub fn identity(&self) -> u64 {
        match self {
            Self::File(file) => file.identity(),
            Self::Text(_) => 0,
        }
    }
}

/// A log as a reader found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSnapshot {
    /// The file's identity.
    pub identity: u64,
    /// Its length in bytes: everything before it stays as it is.
    pub length: u64,
    /// The bytes before `length`, to tell a file that has taken the identity of another.
    pub tail: Vec<u8>,
}

/// Bytes of a [`LogSnapshot`]'s tail.
const TAIL: u64 = 64;

impl LogSnapshot {
    /// What of `source` ends at `length`.
    ///
    /// # Errors
    /// The file system's.
    pub fn of<S: ReadAt + ?Sized>(
        source: &S,
        identity: u64,
        length: u64,
    ) -> Result<Self, FileError> {
        let start = length.saturating_sub(TAIL);
        let mut tail = vec![0; usize::try_from(length - start).unwrap_or_default()];
        let read = source.read_at(start, &mut tail)?;
        tail.truncate(read);
        Ok(Self { identity, length, tail })
    }

    /// Whether `source` still begins with what the snapshot saw.
    ///
    /// # Errors
    /// The file system's.
    pub fn is_of<S: ReadAt + ?Sized>(&self, source: &S, identity: u64) -> Result<bool, FileError> {
        Ok(self.identity == identity && *self == Self::of(source, identity, self.length)?)
    }
}
