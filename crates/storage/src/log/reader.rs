//! [`LogReader`] reads a log; [`LogSnapshot`] identifies its contents up to a length, by which a later call detects
//! that the log was replaced.

use super::ReadAt;
use crate::file_system::{FileError, OpenFile};

/// A source to read a log from.
pub enum LogReader {
    /// An open file.
    File(Box<dyn OpenFile>),
    /// The complete text: this file system cannot keep files open.
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
    /// Distinguishes the file from others; 0 for a text.
    #[must_use]
    pub fn identity(&self) -> u64 {
        match self {
            Self::File(file) => file.identity(),
            Self::Text(_) => 0,
        }
    }
}

/// The state of a log that a reader found, by which a rewrite detects that the log was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSnapshot {
    /// The file's identity.
    pub identity: u64,
    /// Its length in bytes. All bytes before it are final.
    pub length: u64,
    /// The bytes before `length`, by which a file is detected that reuses the identity of another.
    pub tail: Vec<u8>,
}

/// Length of a [`LogSnapshot`]'s tail in bytes.
const TAIL: u64 = 64;

impl LogSnapshot {
    /// A snapshot of `source` up to `length`.
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

    /// Whether `source` still begins with the contents of the snapshot.
    ///
    /// # Errors
    /// The file system's.
    pub fn is_of<S: ReadAt + ?Sized>(&self, source: &S, identity: u64) -> Result<bool, FileError> {
        Ok(self.identity == identity && *self == Self::of(source, identity, self.length)?)
    }
}
