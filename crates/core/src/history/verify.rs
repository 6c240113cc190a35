//! Verifying: every line is looked at, and the index with it.

use std::sync::Arc;

use storage::{FileError, LinesForwards, LogReader, ReadAt};

use super::{
    Cancelled, History,
    entry::{Entry, OPERATION_RECORD, trim},
    index, run_blocking,
};
use crate::error::Result;

/// Problems told one by one; more are counted.
const MAX_PROBLEMS: usize = 100;

/// A line that holds no entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its number, from 1 on.
    pub line: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// What the index on disk is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexState {
    /// There is none.
    #[default]
    Missing,
    /// It tells the truth, as far as it goes.
    Valid,
    /// It describes a log that is no longer there, or what another `maxEntryBytes` makes of it, or
    /// another version wrote it.
    Stale,
    /// It is not what was written, or not true.
    Damaged,
}

impl IndexState {
    /// The state as JavaScript sees it.
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

/// What a log is worth.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Lines that hold an entry.
    pub entries: u64,
    /// The log's length in bytes.
    pub bytes: u64,
    /// Lines that hold none, a torn last one included.
    pub bad_lines: u64,
    /// The first of those.
    pub problems: Vec<Problem>,
    /// The last line is not whole: a crash left it, or somebody is writing it.
    pub has_torn_tail: bool,
    /// The index.
    pub index: IndexState,
}

impl History {
    /// Looks at every line of the log, and at its index. Changes nothing.
    ///
    /// # Errors
    /// `Io` when the log cannot be read.
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
            let reason = match line.bytes.as_deref().map(trim) {
                None => "longer than maxEntryBytes",
                Some([]) => continue,
                Some(text) => match Entry::parse(text) {
                    Ok(_) => {
                        report.entries += 1;
                        continue;
                    }
                    Err(OPERATION_RECORD) => continue,
                    Err(_) if !line.is_terminated => {
                        report.has_torn_tail = true;
                        "torn: its end is missing"
                    }
                    Err(reason) => reason,
                },
            };
            report.bad_lines += 1;
            if report.problems.len() < MAX_PROBLEMS {
                report.problems.push(Problem { line: number, offset: line.offset, reason });
            }
        }
        report.index = index::state(self, reader, cancelled)?;
        Ok(report)
    }
}
