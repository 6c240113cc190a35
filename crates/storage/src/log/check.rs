//! Checks: callbacks that read a log under its lock and decide whether a record is appended.

use super::lines::ReadAt;
use crate::file_system::{FileResult, OpenFile};

/// The log as a [`Check`] sees it, with every record that precedes the one to be written.
pub struct LogView<'a>(Source<'a>);

enum Source<'a> {
    File(&'a dyn OpenFile),
    Text(&'a Vec<u8>),
}

impl<'a> LogView<'a> {
    pub(super) fn of_file(file: &'a dyn OpenFile) -> Self {
        Self(Source::File(file))
    }

    pub(super) fn of_text(text: &'a Vec<u8>) -> Self {
        Self(Source::Text(text))
    }

    /// Distinguishes the file from others; 0 for a text.
    #[must_use]
    pub fn identity(&self) -> u64 {
        match self.0 {
            Source::File(file) => file.identity(),
            Source::Text(_) => 0,
        }
    }
}

impl ReadAt for LogView<'_> {
    fn length(&self) -> FileResult<u64> {
        match self.0 {
            Source::File(file) => file.length(),
            Source::Text(text) => text.length(),
        }
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        match self.0 {
            Source::File(file) => file.read_at(offset, buffer),
            Source::Text(text) => text.read_at(offset, buffer),
        }
    }
}

/// The decision of a [`Check`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The record is written.
    Write,
    /// The record is not written, and the append fails with [`LogError::Refused`](super::LogError::Refused).
    Refuse,
}

/// Decides under the log's lock whether a record is written. It has to be fast, because writers of other processes wait
/// meanwhile. It excludes other writers only as far as the lock does.
pub type Check = Box<dyn Fn(&LogView<'_>) -> FileResult<Verdict> + Send + Sync>;
