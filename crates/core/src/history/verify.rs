//! Verification: parses every line of the log, and compares the index with it.

use std::sync::Arc;

use storage::{FileError, Line, LinesForwards, LogReader, ReadAt};

use super::{
    Cancelled, History,
    entry::{Entry, OPERATION_RECORD, trim},
    index, run_blocking,
};
use crate::error::Result;

/// The most problems that are listed; further ones are only counted.
const MAX_PROBLEMS: usize = 100;

/// A line without an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its number, from 1.
    pub line: u64,
    /// Its position in bytes.
    pub offset: u64,
    /// The reason.
    pub reason: &'static str,
}

/// The validity of the index on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexState {
    /// There is no index.
    #[default]
    Missing,
    /// It agrees with the log, as far as it goes.
    Valid,
    /// It describes another log, or was written with another `maxEntryBytes` or by another version.
    Stale,
    /// It is damaged, or disagrees with the log.
    Damaged,
}

impl IndexState {
    /// The state's name in JavaScript.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Valid => "valid",
            Self::Stale => "stale",
            Self::Damaged => "damaged",
        }
    }
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// The number of entries.
    pub entries: u64,
    /// The log's length in bytes.
    pub bytes: u64,
    /// The number of lines without an entry, including an incomplete last one.
    pub bad_lines: u64,
    /// The first of them.
    pub problems: Vec<Problem>,
    /// Whether the last line is incomplete, because of a crash or because another process is writing it.
    pub has_torn_tail: bool,
    /// The validity of the index.
    pub index: IndexState,
}

impl VerifyReport {
    /// Counts a line, with its number from 1.
    pub(super) fn take(&mut self, number: u64, line: &Line) {
        let reason = match line.bytes.as_deref().map(trim) {
            None => "longer than maxEntryBytes",
            Some([]) => return,
            Some(text) => match Entry::parse(text) {
                Ok(_) => {
                    self.entries += 1;
                    return;
                }
                Err(OPERATION_RECORD) => return,
                Err(_) if !line.is_terminated => {
                    self.has_torn_tail = true;
                    "torn: its end is missing"
                }
                Err(reason) => reason,
            },
        };
        self.bad_lines += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { line: number, offset: line.offset, reason });
        }
    }
}

impl History {
    /// Reads every line of the log and its index. Changes nothing.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub async fn verify(self: &Arc<Self>) -> Result<VerifyReport> {
        let Some(reader) = self.reader().await? else { return Ok(VerifyReport::default()) };
        let history = Arc::clone(self);
        run_blocking(move |cancelled| {
            history.look(&reader, cancelled).map_err(|error| history.unreadable(error))
        })
        .await
    }

    fn look(
        &self,
        reader: &LogReader,
        cancelled: &Cancelled,
    ) -> std::result::Result<VerifyReport, FileError> {
        let max_line = self.options.max_entry_bytes;
        let mut report = VerifyReport { bytes: reader.length()?, ..VerifyReport::default() };
        let mut lines = LinesForwards::new(reader, 0, max_line);
        let mut number = 0;
        while let Some(line) = lines.next_line()? {
            if cancelled.is_set() {
                break;
            }
            number += 1;
            report.take(number, &line);
        }
        report.index = index::state(self, reader, cancelled)?;
        Ok(report)
    }
}
