//! Queries: reading and searching the log. Lines are read from the end backwards until enough entries match;
//! results are returned oldest first.

use std::{cell::Cell, io::ErrorKind, path::Path, sync::Arc};

use serde_json::json;
use storage::{FileError, FileResult, Line, LinesBackwards, LogReader, ReadAt};
use tasks::LONG;

use super::{
    Cancelled, History,
    entry::{Entry, OPERATION_RECORD, trim},
    filter::Filter,
    index::{Index, Lookup, Unusable},
    run_blocking,
};
use crate::{debug::Debug, error::Result};

/// The approximate size of a text of entries, in bytes.
const TEXT: usize = 4 * 1024 * 1024;
/// The most attempts, if the log is truncated while it is read because a failed append is rolled back.
const MAX_ATTEMPTS: usize = 10;

/// Entries as JSON arrays; several, so that each string's length is bounded.
pub type Recalled = Vec<Vec<u8>>;

/// Collects entries, which are passed latest first.
pub(super) trait Collect {
    /// Adds an entry.
    fn take(&mut self, line: &Line, entry: &Entry<'_>);
    /// Whether no more entries are needed.
    fn is_full(&self) -> bool;
    /// Drops all entries, because the log is read again from the start.
    fn reset(&mut self);
}

/// Collects the latest entries in the form for JavaScript.
pub(super) struct Latest {
    bounds: Bounds,
    entries: Vec<Vec<u8>>,
    bytes: usize,
}

impl Latest {
    pub fn within(bounds: Bounds) -> Self {
        Self { bounds, entries: Vec::new(), bytes: 0 }
    }
}

impl Collect for Latest {
    fn take(&mut self, line: &Line, entry: &Entry<'_>) {
        let length = usize::try_from(line.length).unwrap_or_default();
        let mut public = Vec::with_capacity(length + 64);
        entry.write_public(&mut public);
        self.bytes += public.len();
        self.entries.push(public);
    }
    fn is_full(&self) -> bool {
        self.entries.len() >= self.bounds.entries || self.bytes >= self.bounds.bytes
    }
    fn reset(&mut self) {
        *self = Self::within(self.bounds);
    }
}

/// The collected entries, with the number of lines without an entry.
pub(super) struct Found<C> {
    pub collected: C,
    bad_lines: u64,
    /// The position of the earliest of them in the log, and the reason.
    bad: Option<(u64, &'static str)>,
}

impl<C: Collect> Found<C> {
    pub fn nothing(collected: C) -> Self {
        Self { collected, bad_lines: 0, bad: None }
    }

    fn reset(&mut self) {
        self.collected.reset();
        (self.bad_lines, self.bad) = (0, None);
    }

    /// Examines a line, and collects its entry if it matches.
    pub fn take(&mut self, line: &Line, filter: Option<&Filter>) {
        let Some(bytes) = &line.bytes else {
            self.count_bad(line, "longer than maxEntryBytes");
            return;
        };
        let text = trim(bytes);
        if text.is_empty() {
            return;
        }
        match Entry::parse(text) {
            Ok(entry) => {
                if filter.is_none_or(|filter| filter.matches(&entry)) {
                    self.collected.take(line, &entry);
                }
            }
            // Another process is writing the line, or a crash left it incomplete.
            Err(_) if !line.is_terminated => {}
            Err(OPERATION_RECORD) => {}
            Err(reason) => self.count_bad(line, reason),
        }
    }

    fn count_bad(&mut self, line: &Line, reason: &'static str) {
        self.bad_lines += 1;
        self.bad = Some((line.offset, reason));
    }
}

impl History {
    /// The latest entries, at most `limit`, oldest first. Stops after the entry with which they reach
    /// `max_bytes` of JSON.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub async fn read(self: &Arc<Self>, limit: usize, max_bytes: usize) -> Result<Recalled> {
        let Some(reader) = self.reader().await? else { return Ok(Vec::new()) };
        let bounds = Bounds { entries: limit, bytes: max_bytes };
        let latest = Latest::within(bounds);
        let short = ShortEnd { reader: &reader, bytes_left: Cell::new(LONG) };
        if let Ok(found) = scan(&short, latest, None, self, &Cancelled::default()) {
            return Ok(self.recalled(found));
        }
        let latest = Latest::within(bounds);
        let history = Arc::clone(self);
        let scan = move |cancelled: &Cancelled| scan(&reader, latest, None, &history, cancelled);
        Ok(self.recalled(run_blocking(scan).await?))
    }

    /// The latest matching entries, oldest first.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub async fn search(self: &Arc<Self>, filter: Filter) -> Result<Recalled> {
        let filter = filter.prepared();
        let history = Arc::clone(self);
        let Some(reader) = self.reader().await? else { return Ok(Vec::new()) };
        let found = run_blocking(move |cancelled| {
            let latest = || Latest::within(filter.bounds());
            history.collect(&reader, &filter, latest, cancelled)
        })
        .await?;
        Ok(self.recalled(found))
    }

    /// Collects matching entries, latest first.
    pub(super) fn collect<C: Collect>(
        &self,
        reader: &LogReader,
        filter: &Filter,
        collector: impl Fn() -> C,
        cancelled: &Cancelled,
    ) -> Result<Found<C>> {
        let indexed = match reader {
            LogReader::File(_) if filter.is_indexed() => {
                self.look_up(reader, filter, &collector, cancelled)?
            }
            _ => None,
        };
        match indexed {
            Some(found) => Ok(found),
            None => scan(reader, collector(), Some(filter), self, cancelled),
        }
    }

    /// Collects through the index; `None` if the index is not usable.
    fn look_up<C: Collect>(
        &self,
        reader: &LogReader,
        filter: &Filter,
        collector: impl Fn() -> C,
        cancelled: &Cancelled,
    ) -> Result<Option<Found<C>>> {
        let failed = |error| self.unreadable(error);
        let mut damaged = None;
        for _ in 0..MAX_ATTEMPTS {
            let Some(index) = Index::known(self, reader).map_err(failed)? else { break };
            if let Some(begin) = index.lags(self, reader).map_err(failed)? {
                let mut found = Found::nothing(collector());
                let looked = scan_from(begin, reader, &mut found, Some(filter), self, cancelled);
                if looked.is_ok() && found.collected.is_full() {
                    return Ok(Some(found));
                }
            }
            let index = index.extended(self, reader, cancelled).map_err(failed)?;
            if cancelled.is_set() {
                break;
            }
            let mut found = Found::nothing(collector());
            match self.try_look_up(&index, reader, filter, &mut found, cancelled) {
                Ok(()) => return Ok(Some(found)),
                Err(NotFound::Unreadable(error)) => return Err(self.unreadable(error)),
                Err(NotFound::Cut) => {}
                // Another process may have changed the file: it is damaged only if reading it again gives the
                // same.
                Err(NotFound::Unusable(unusable)) => {
                    self.forget_segments(damaged.filter(|before| *before == unusable));
                    damaged = Some(unusable);
                }
                Err(NotFound::Wrong) => {
                    // The log is not the one that was indexed, so the log itself is read.
                    self.forget_index();
                    break;
                }
            }
        }
        Ok(None)
    }

    fn try_look_up<C: Collect>(
        &self,
        index: &Index,
        reader: &LogReader,
        filter: &Filter,
        found: &mut Found<C>,
        cancelled: &Cancelled,
    ) -> std::result::Result<(), NotFound> {
        // Lines that were appended since, and a last line without its newline, which is not indexed.
        scan_from(index.covered(), reader, found, Some(filter), self, cancelled)?;
        let mut rows = index.matching(filter);
        while !found.collected.is_full() && !cancelled.is_set() {
            let Some(row) = rows.next_row()? else { break };
            match index.line(reader, &row)? {
                Lookup::Line(line) => found.take(&line, Some(filter)),
                Lookup::Wrong => return Err(NotFound::Wrong),
            }
        }
        let (bad_lines, first) = index.bad_lines();
        found.bad_lines += bad_lines;
        found.bad = first.or(found.bad);
        Ok(())
    }

    fn recalled(&self, found: Found<Latest>) -> Recalled {
        found.recalled(&self.debug, &self.path())
    }
}

impl<C> Found<C> {
    /// Reports skipped lines.
    pub fn tell_skipped(&self, debug: &Debug, path: &Path) {
        if let Some((offset, reason)) = self.bad {
            debug.say(
                "Skipped lines of the history that hold no entry",
                || json!({ "path": path, "badLines": self.bad_lines, "firstOffset": offset, "reason": reason }),
            );
        }
    }
}

impl Found<Latest> {
    /// Puts the entries in order, and reports skipped lines.
    pub fn recalled(self, debug: &Debug, path: &Path) -> Recalled {
        self.tell_skipped(debug, path);
        let mut entries = self.collected.entries;
        entries.reverse();
        texts(entries)
    }
}

impl Filter {
    pub(super) fn bounds(&self) -> Bounds {
        Bounds { entries: self.limit, bytes: usize::MAX }
    }
}

/// The limits of a read.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub entries: usize,
    /// Bytes of JSON. The entry that reaches the limit is the last.
    pub bytes: usize,
}

/// Why the index could not be used.
enum NotFound {
    /// The log cannot be read.
    Unreadable(FileError),
    /// The log was truncated meanwhile.
    Cut,
    /// A segment is not valid.
    Unusable(Unusable),
    /// The index describes another log.
    Wrong,
}

impl From<FileError> for NotFound {
    fn from(error: FileError) -> Self {
        if error.kind == std::io::ErrorKind::Interrupted {
            Self::Cut
        } else {
            Self::Unreadable(error)
        }
    }
}

impl From<Unusable> for NotFound {
    fn from(unusable: Unusable) -> Self {
        Self::Unusable(unusable)
    }
}

/// A log of which only this many bytes can be read; reading more fails, so that it is done on another thread.
struct ShortEnd<'a> {
    reader: &'a LogReader,
    bytes_left: Cell<usize>,
}

impl ReadAt for ShortEnd<'_> {
    fn length(&self) -> FileResult<u64> {
        self.reader.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        match self.bytes_left.get().checked_sub(buffer.len()) {
            Some(left) => self.bytes_left.set(left),
            None => {
                let error = ErrorKind::WouldBlock.into();
                return Err(FileError::system("read", Path::new(""), error));
            }
        }
        self.reader.read_at(offset, buffer)
    }
}

/// Reads lines backwards until the collector is full.
fn scan<C: Collect>(
    reader: &impl ReadAt,
    collector: C,
    filter: Option<&Filter>,
    history: &History,
    cancelled: &Cancelled,
) -> Result<Found<C>> {
    let mut found = Found::nothing(collector);
    let mut attempts = 0;
    loop {
        attempts += 1;
        found.reset();
        match scan_from(0, reader, &mut found, filter, history, cancelled) {
            Ok(()) => return Ok(found),
            Err(error)
                if error.kind == std::io::ErrorKind::Interrupted && attempts < MAX_ATTEMPTS => {}
            Err(error) => return Err(history.unreadable(error)),
        }
    }
}

/// Reads the lines that begin at `begin` or later, last one first.
fn scan_from<C: Collect>(
    begin: u64,
    reader: &impl ReadAt,
    found: &mut Found<C>,
    filter: Option<&Filter>,
    history: &History,
    cancelled: &Cancelled,
) -> std::result::Result<(), FileError> {
    if found.collected.is_full() || reader.length()? <= begin {
        return Ok(());
    }
    let mut lines = LinesBackwards::new(reader, history.options.max_entry_bytes)?;
    while !found.collected.is_full() && !cancelled.is_set() {
        let Some(line) = lines.next_line()?.filter(|line| line.offset >= begin) else { break };
        found.take(&line, filter);
    }
    Ok(())
}

/// The result of a scan of the whole log.
#[cfg(test)]
pub(super) fn scan_for_tests(reader: &LogReader, filter: &Filter, history: &History) -> Recalled {
    let latest = Latest::within(filter.bounds());
    history.recalled(scan(reader, latest, Some(filter), history, &Cancelled::default()).unwrap())
}

/// Joins entries into JSON arrays.
pub(super) fn texts(entries: Vec<Vec<u8>>) -> Recalled {
    let mut texts = Vec::new();
    let mut text = vec![b'['];
    for entry in entries {
        if text.len() > 1 {
            if text.len() + entry.len() > TEXT {
                text.push(b']');
                texts.push(std::mem::replace(&mut text, vec![b'[']));
            } else {
                text.push(b',');
            }
        }
        text.extend(entry);
    }
    text.push(b']');
    texts.push(text);
    texts
}
