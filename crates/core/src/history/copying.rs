//! Copying a history to another one, between files and databases. Lines keep their bytes and their order, so that ids, times and
//! operation ids stay the same.
//!
//! The destination must begin with the lines of the source, as an interrupted copy leaves it, or be empty; lines that follow there
//! are left alone. Operation records, which compactions leave, have no order: those that are missing are added.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use storage::{Durability, LinesForwards, LogReader};

use super::{
    AnyHistory, History,
    database::{CopiedLines, DatabaseHistory},
    entry::{Entry, OPERATION_RECORD, trim},
    run_blocking,
};
use crate::{
    copying::CopyReport,
    error::{Code, Error, Result},
};

/// The most lines and bytes that are read or written at once.
pub(super) const PAGE_LINES: usize = 256;
pub(super) const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// The longest line that can be copied. A database's values are shorter than 1 GiB.
pub(super) const MAX_LINE: usize = 1_000_000_000;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Entry,
    OperationRecord,
    Empty,
    Other,
}

fn kind_of(line: &[u8]) -> LineKind {
    match trim(line) {
        [] => LineKind::Empty,
        text => match Entry::parse(text) {
            Ok(_) => LineKind::Entry,
            Err(OPERATION_RECORD) => LineKind::OperationRecord,
            Err(_) => LineKind::Other,
        },
    }
}

/// The entries of a history, one after the other.
struct Entries {
    source: Source,
    waiting: VecDeque<Vec<u8>>,
    /// The operation records so far; all of them at the end.
    records: Vec<Vec<u8>>,
    /// The lines so far that are neither.
    skipped: u64,
}

enum Source {
    /// The file, and the offset of the next line. `None` if there is no file.
    File(Arc<History>, Option<Arc<LogReader>>, u64),
    Database(CopiedLines),
}

impl Entries {
    async fn of(history: &AnyHistory) -> Result<Self> {
        let (source, records) = match history {
            AnyHistory::File(history) => {
                let reader = history.reader().await?.map(Arc::new);
                (Source::File(Arc::clone(history), reader, 0), Vec::new())
            }
            AnyHistory::Database(history) => {
                (Source::Database(history.copied_lines()), history.operation_record_lines().await?)
            }
        };
        Ok(Self { source, waiting: VecDeque::new(), records, skipped: 0 })
    }

    /// The next entry.
    async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            while let Some(line) = self.waiting.pop_front() {
                match kind_of(&line) {
                    LineKind::Entry => return Ok(Some(line)),
                    LineKind::OperationRecord => self.records.push(line),
                    LineKind::Empty => {}
                    LineKind::Other => self.skipped += 1,
                }
            }
            let lines = match &mut self.source {
                Source::Database(lines) => lines.page().await?,
                Source::File(_, None, _) => Vec::new(),
                Source::File(history, Some(reader), offset) => {
                    let (history, reader) = (Arc::clone(history), Arc::clone(reader));
                    let start = *offset;
                    let read = run_blocking(move |_| page_of(&history, &reader, start)).await?;
                    *offset = read.1;
                    read.0
                }
            };
            if lines.is_empty() {
                return Ok(None);
            }
            self.waiting.extend(lines);
        }
    }
}

/// Some lines of a file, and the offset after them.
fn page_of(history: &History, reader: &LogReader, start: u64) -> Result<(Vec<Vec<u8>>, u64)> {
    let mut lines = LinesForwards::new(reader, start, MAX_LINE);
    let (mut page, mut bytes, mut end) = (Vec::new(), 0, start);
    while page.len() < PAGE_LINES && bytes < PAGE_BYTES {
        let line = lines.next_line().map_err(|error| history.unreadable(error))?;
        let Some(line) = line else { break };
        end = line.end();
        let Some(text) = line.bytes else {
            let path = history.path();
            let message = format!(
                "a line of {} is longer than {MAX_LINE} bytes and cannot be copied; remove it",
                path.display()
            );
            return Err(Error::new(Code::TooLarge, message));
        };
        bytes += text.len();
        page.push(text);
    }
    Ok((page, end))
}

/// A destination to which lines are added.
enum Destination<'a> {
    File(&'a Arc<History>),
    Database(&'a Arc<DatabaseHistory>),
}

impl Destination<'_> {
    async fn add(&self, lines: Vec<Vec<u8>>, are_records: bool) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        match self {
            Self::File(history) => history.append_lines(lines).await,
            Self::Database(history) => history.add_lines(lines, are_records).await,
        }
    }
}

impl History {
    /// Appends lines as they are.
    async fn append_lines(self: &Arc<Self>, lines: Vec<Vec<u8>>) -> Result<()> {
        self.prepare_directory()?;
        let (durability, timeout) = (Durability::Full, self.options.lock_timeout);
        let pending: Vec<_> = lines
            .into_iter()
            .map(|line| self.log.append(Box::new(move || Ok(line)), durability, timeout))
            .collect();
        for line in pending {
            let outcome = line.outcome().await;
            outcome.ok_or_else(|| Error::internal("copying was interrupted"))?.map_err(
                |error| match error {
                    storage::AppendError::Line(error) => error,
                    storage::AppendError::Log(error) => self.failed("append to", error),
                },
            )?;
        }
        Ok(())
    }
}

/// Adds the lines of a history to another that does not have them. Can be repeated after any interruption.
///
/// # Errors
/// `Corrupt` if what is read back is not what was written, and those of the files or databases.
pub async fn copy_history(
    from: &AnyHistory,
    to: &AnyHistory,
    is_dry_run: bool,
) -> Result<CopyReport> {
    let destination = match to {
        AnyHistory::File(history) => Destination::File(history),
        AnyHistory::Database(history) => Destination::Database(history),
    };
    let mut report = CopyReport::default();
    let (mut source, mut there) = (Entries::of(from).await?, Entries::of(to).await?);
    let mut missing = Vec::new();
    let mut missing_bytes = 0;
    let mut number = 0_u64;
    let mut there_is_over = false;
    while let Some(line) = source.next().await? {
        number += 1;
        let other = if there_is_over { None } else { there.next().await? };
        match other {
            Some(other) if other == line => report.already_there += 1,
            Some(_) => {
                report.add_conflict(format!("entry {number}"));
                return Ok(report);
            }
            None => {
                there_is_over = true;
                report.copied += 1;
                report.bytes += line.len() as u64;
                missing_bytes += line.len();
                if !is_dry_run {
                    missing.push(line);
                }
            }
        }
        if missing.len() >= PAGE_LINES || missing_bytes >= PAGE_BYTES {
            destination.add(std::mem::take(&mut missing), false).await?;
            missing_bytes = 0;
        }
    }
    destination.add(missing, false).await?;
    // What follows the copied entries may have records as well.
    while !there_is_over {
        there_is_over = there.next().await?.is_none();
    }
    let known: HashSet<&[u8]> = there.records.iter().map(Vec::as_slice).collect();
    let records: Vec<Vec<u8>> =
        source.records.iter().filter(|line| !known.contains(line.as_slice())).cloned().collect();
    if !is_dry_run {
        destination.add(records, true).await?;
    }
    report.skipped = source.skipped;
    if !is_dry_run && report.copied > 0 {
        verify(from, to, number).await?;
    }
    Ok(report)
}

/// Compares the first entries of both.
async fn verify(from: &AnyHistory, to: &AnyHistory, count: u64) -> Result<()> {
    let (mut source, mut there) = (Entries::of(from).await?, Entries::of(to).await?);
    for number in 1..=count {
        if source.next().await? != there.next().await? {
            return Err(Error::new(
                Code::Corrupt,
                format!(
                    "entry {number} of the copied history is not what was written; see whether another program writes to one of the histories, and copy again"
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, time::Duration};

    use storage::{LocalDisk, LogPath};

    use super::{super::HistoryOptions, *};
    use crate::{debug::Debug, history::Bounds, safety::Trust};

    fn history(file: &Path) -> AnyHistory {
        let directory = file.parent().unwrap().to_owned();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let path = LogPath { prefix: format!("{}/", directory.display()), directory, name };
        let options = HistoryOptions {
            path,
            durability: Durability::Process,
            lock_timeout: Duration::from_secs(5),
            max_entry_bytes: 1024,
            bounds: Bounds::default(),
            trust: Trust::default(),
        };
        AnyHistory::File(History::new(options, Arc::new(LocalDisk), Debug::default()))
    }

    #[tokio::test]
    async fn lines_keep_their_bytes_and_a_copy_goes_on_where_it_was_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one.jsonl"), folder.path().join("two.jsonl"));
        let line = |number: usize| format!("{{\"tool_name\": \"t\",  \"n\": {number}.50}}");
        let lines: Vec<String> = (0..600).map(line).collect();
        fs::write(&one, format!("{}\nno entry\n\n{{\"tool_name\":\"t", lines.join("\n"))).unwrap();
        fs::write(&two, format!("{}\n", lines[..300].join("\n"))).unwrap();
        let (from, to) = (history(&one), history(&two));
        let report = copy_history(&from, &to, true).await.unwrap();
        assert_eq!((report.copied, report.already_there, report.skipped), (300, 300, 2));
        assert_eq!(copy_history(&from, &to, false).await.unwrap(), report);
        assert_eq!(fs::read_to_string(&two).unwrap(), format!("{}\n", lines.join("\n")));
        // What follows there stays.
        fs::write(&two, format!("{}\n{}\n", lines.join("\n"), line(601))).unwrap();
        assert_eq!(copy_history(&from, &to, false).await.unwrap().already_there, 600);
    }

    #[tokio::test]
    async fn another_history_is_a_conflict() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one.jsonl"), folder.path().join("two.jsonl"));
        fs::write(&one, "{\"tool_name\":\"a\"}\n").unwrap();
        fs::write(&two, "{\"tool_name\":\"b\"}\n").unwrap();
        let report = copy_history(&history(&one), &history(&two), false).await.unwrap();
        assert_eq!((report.conflicts, report.copied), (1, 0));
        assert_eq!(fs::read_to_string(&two).unwrap(), "{\"tool_name\":\"b\"}\n");
        let nothing = history(&folder.path().join("nothing.jsonl"));
        assert_eq!(
            copy_history(&nothing, &history(&two), false).await.unwrap(),
            CopyReport::default()
        );
    }
}
