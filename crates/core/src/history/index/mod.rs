//! Offset index of a history log: the position, tool, outcome and time of each entry, so that searches need
//! not read the whole log. It is a cache: entries are verified against the log before use, and the index is
//! rebuilt from the log if they disagree.
//!
//! The index is a sequence of immutable segments; each describes the part of the log after the one before it.
//! All segments are in one file beside the log, and a search reads only the parts it needs. In memory are the
//! heads of the segments, a few bytes each, and the *open* rows of the log's end, which are too few for a
//! segment. New segments are appended to the file. Small segments at the end are merged: each segment is at
//! most half the size of the one before it, so there are few segments and each row is rewritten a few times
//! only.

mod block;
mod file;
mod segment;
mod state;
#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError};

use serde_json::json;
use storage::{FileError, Line, LogReader, LogSnapshot, ReadAt};

use super::{
    Cancelled, History,
    entry::{Entry, trim},
    filter::Filter,
};
pub(super) use block::Unusable;
use block::{Block, Place};
use file::{IndexFile, Writing};
use segment::{BadLines, LogId, Row, Segment, Wanted};
pub(super) use state::state;

/// The size parameters of an index.
#[derive(Debug, Clone, Copy)]
pub struct IndexSizes {
    /// The smallest log that gets an index, in bytes: shorter logs are read as fast.
    pub min_log: u64,
    /// The smallest part of the log that gets a segment, in bytes.
    pub min_segment: u64,
    /// The most rows of a segment.
    pub max_rows: usize,
    /// If more than this of the log is not indexed, in bytes, a search reads the last part of this size
    /// before it extends the index, because that part may have enough matches.
    pub first_look: u64,
    /// The most bytes of segments in memory, if they cannot be written to the file.
    pub max_memory: u64,
}

impl Default for IndexSizes {
    fn default() -> Self {
        Self {
            min_log: 256 * 1024,
            min_segment: 256 * 1024,
            max_rows: 1 << 16,
            first_look: 8 * 1024 * 1024,
            max_memory: 64 * 1024 * 1024,
        }
    }
}

/// The most attempts without progress, if other processes keep changing the file.
const MAX_ATTEMPTS: usize = 4;

/// The index of a log up to some line.
#[derive(Clone)]
pub(super) struct Index {
    log: LogId,
    file: Option<IndexFile>,
    blocks: Vec<Block>,
    /// The rows after the last segment.
    open: Segment,
    /// The log's last bytes before the end of the indexed part.
    tail: Vec<u8>,
    /// Whether a failed write was reported.
    is_reported: bool,
}

/// The result of reading an entry at its indexed position.
pub(super) enum Lookup {
    /// The entry's line.
    Line(Line),
    /// Another text, or a line that is not the indexed one.
    Wrong,
}

/// The result of adding a segment.
enum Flush {
    Done,
    /// Another process changed the file.
    Changed,
    /// The memory limit is reached.
    Full,
}

impl Index {
    fn new(log: LogId) -> Self {
        Self {
            log,
            file: None,
            blocks: Vec::new(),
            open: Segment::new(0),
            tail: Vec::new(),
            is_reported: false,
        }
    }

    /// The present index, from memory or from the file. `None` if the log is too short for one.
    pub fn known(history: &History, reader: &LogReader) -> Result<Option<Arc<Self>>, FileError> {
        let length = reader.length()?;
        if length < history.index_sizes.min_log {
            return Ok(None);
        }
        let log = LogId { identity: reader.identity(), max_line: history.max_line() };
        let known = history.index.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known
            && known.log == log
            && known.is_of(reader)?
        {
            return Ok(Some(known));
        }
        let opened = Arc::new(Self::open(history, reader, log)?);
        *history.index.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&opened));
        Ok(Some(opened))
    }

    /// Loads the part of the file that describes this log.
    fn open(history: &History, reader: &LogReader, log: LogId) -> Result<Self, FileError> {
        let mut index = Self::new(log);
        let Ok(file) = IndexFile::open(history) else { return Ok(index) };
        (index.blocks, _) = file.blocks(log);
        index.file = Some(file);
        // The log may have lost its end in a power failure, or because a failed append was rolled back.
        while let Some(block) = index.blocks.last() {
            index.tail.clone_from(&block.tail);
            index.open = Segment::new(block.range.end);
            if index.is_of(reader)? {
                break;
            }
            index.blocks.pop();
        }
        if index.blocks.is_empty() {
            (index.open, index.tail) = (Segment::new(0), Vec::new());
        }
        let end = index.end_in_file();
        // If this log was replaced, the file may be the index of the new log, and must not be changed.
        if let Some(file) = index.file.as_mut().filter(|_| is_linked(reader)) {
            file.cut(history, end);
        }
        Ok(index)
    }

    /// Whether the log still begins with the indexed part.
    fn is_of(&self, reader: &LogReader) -> Result<bool, FileError> {
        let LogId { identity, .. } = self.log;
        let snapshot = LogSnapshot { identity, length: self.covered(), tail: self.tail.clone() };
        snapshot.is_of(reader, reader.identity())
    }

    /// The length of the indexed part of the log.
    pub fn covered(&self) -> u64 {
        self.open.range.end
    }

    /// The position from which on a search reads first, if more of the log than `first_look` is not indexed.
    pub fn lags(&self, history: &History, reader: &LogReader) -> Result<Option<u64>, FileError> {
        let first_look = history.index_sizes.first_look;
        let begin = reader.length()?.saturating_sub(first_look);
        Ok((begin > self.covered()).then_some(begin))
    }

    /// Extends the index to the end of the log. Runs on a thread that may block; other threads of this
    /// history wait.
    pub fn extended(
        self: Arc<Self>,
        history: &History,
        reader: &LogReader,
        cancelled: &Cancelled,
    ) -> Result<Arc<Self>, FileError> {
        if self.covered() >= reader.length()? {
            return Ok(self);
        }
        let _indexing = history.indexing.lock().unwrap_or_else(PoisonError::into_inner);
        // Another search may have extended the index meanwhile.
        let known = Self::known(history, reader)?.filter(|known| known.covered() >= self.covered());
        let mut index = Arc::unwrap_or_clone(known.unwrap_or(self));
        index.extend(history, reader, cancelled)?;
        let index = Arc::new(index);
        *history.index.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&index));
        Ok(index)
    }

    fn extend(
        &mut self,
        history: &History,
        reader: &LogReader,
        cancelled: &Cancelled,
    ) -> Result<(), FileError> {
        let sizes = &history.index_sizes;
        let max_line = history.options.max_entry_bytes;
        self.is_reported = false;
        let mut attempts = 0;
        let mut is_more = true;
        while is_more && attempts < MAX_ATTEMPTS {
            let before = self.covered();
            is_more = self.open.extend(reader, u64::MAX, max_line, sizes.max_rows, cancelled)?;
            if self.covered() != before {
                self.tail = LogSnapshot::of(reader, self.log.identity, self.covered())?.tail;
            }
            let span = self.open.range.end - self.open.range.start;
            if cancelled.is_set() || !is_more && span < sizes.min_segment {
                break;
            }
            match self.flush(history, reader) {
                Flush::Done => attempts = 0,
                Flush::Full => break,
                Flush::Changed => {
                    let start = self.open.range.start;
                    *self = Self::open(history, reader, self.log)?;
                    attempts = if self.covered() > start { 0 } else { attempts + 1 };
                    is_more = true;
                }
            }
        }
        Ok(())
    }

    /// Makes a segment of the open rows, merged with small segments before them.
    fn flush(&mut self, history: &History, reader: &LogReader) -> Flush {
        // A replaced log needs no index.
        if !is_linked(reader) {
            return self.give_up();
        }
        let is_in_file = match self.move_to_file(history) {
            Ok(Writing::Done) => true,
            Ok(Writing::Changed) => return Flush::Changed,
            Err(error) => {
                self.report(history, &error);
                false
            }
        };
        let mut position = self.end_in_file();
        while let Some(last) = self.blocks.last().filter(|last| {
            last.is_in_file() == is_in_file
                && last.rows <= self.open.rows.len().saturating_mul(2)
                && last.rows + self.open.rows.len() <= history.index_sizes.max_rows
        }) {
            let Ok(segment) = last.segment(self.file.as_ref()) else { return Flush::Changed };
            if let Place::File(place) = last.place {
                position = place;
            }
            self.open.prepend(segment);
            self.blocks.pop();
        }
        let Some(bytes) = self.open.encode(self.log, &self.tail) else { return self.give_up() };
        let length = bytes.len() as u64;
        let place = match self.write(history, is_in_file, position, &bytes) {
            Some(Writing::Done) => Place::File(position),
            Some(Writing::Changed) => return Flush::Changed,
            None => Place::Memory(Arc::new(bytes)),
        };
        let in_memory = self.blocks.iter().filter(|block| !block.is_in_file());
        let in_memory: u64 = in_memory.map(|block| block.length).sum();
        if matches!(place, Place::Memory(_)) && in_memory + length > history.index_sizes.max_memory
        {
            return self.give_up();
        }
        self.blocks.push(Block {
            place,
            length,
            log: self.log,
            range: self.open.range.clone(),
            tail: self.tail.clone(),
            rows: self.open.rows.len(),
            bad_lines: self.open.bad_lines,
        });
        self.open = Segment::new(self.covered());
        Flush::Done
    }

    /// Writes a segment; `None` if that failed.
    fn write(
        &mut self,
        history: &History,
        is_in_file: bool,
        position: u64,
        bytes: &[u8],
    ) -> Option<Writing> {
        if !is_in_file {
            return None;
        }
        let written = IndexFile::write(history, &mut self.file, position, bytes);
        written.inspect_err(|error| self.report(history, error)).ok()
    }

    /// Reports that the file cannot be written; the index stays in memory.
    fn report(&mut self, history: &History, error: &FileError) {
        if !std::mem::replace(&mut self.is_reported, true) {
            history.debug.say(
                "Failed to write the history's index",
                || json!({ "path": history.path(), "error": error.to_string() }),
            );
        }
    }

    /// The end of the last segment in the file.
    fn end_in_file(&self) -> u64 {
        self.blocks.iter().map(Block::end_in_file).max().unwrap_or_default()
    }

    /// Writes the segments that are only in memory.
    fn move_to_file(&mut self, history: &History) -> Result<Writing, FileError> {
        let mut position = self.end_in_file();
        for block in &mut self.blocks {
            let Place::Memory(bytes) = &block.place else { continue };
            let writing = IndexFile::write(history, &mut self.file, position, bytes)?;
            if matches!(writing, Writing::Changed) {
                return Ok(writing);
            }
            block.place = Place::File(position);
            position += block.length;
        }
        Ok(Writing::Done)
    }

    /// Drops the open rows: the log after the last segment is not indexed.
    fn give_up(&mut self) -> Flush {
        let last = self.blocks.last();
        self.open = Segment::new(last.map_or(0, |block| block.range.end));
        self.tail = last.map(|block| block.tail.clone()).unwrap_or_default();
        Flush::Full
    }

    /// The number of lines without an entry, and the position of the first with the reason.
    pub fn bad_lines(&self) -> (u64, Option<(u64, &'static str)>) {
        let segments = self.blocks.iter().map(|block| block.bad_lines);
        let bad = segments.chain([self.open.bad_lines]).fold(BadLines::default(), BadLines::and);
        (bad.count, bad.first.map(|offset| (offset, "not an entry")))
    }

    /// Iterates over the rows that may match, latest first.
    pub fn matching<'a>(&'a self, filter: &'a Filter) -> Matching<'a> {
        let wanted = Wanted::by(filter);
        let is_wanted = |row: &&Row| wanted.matches(row);
        let rows = self.open.rows.iter().filter(is_wanted).copied().collect();
        Matching { index: self, wanted, blocks: self.blocks.len(), rows }
    }

    /// Reads the line of a row and verifies that it is the indexed entry and begins on a new line: a power
    /// failure may keep the entry and lose the newline before it.
    pub fn line(&self, reader: &LogReader, row: &Row) -> Result<Lookup, FileError> {
        let &Row { offset, length, time, tool, success } = row;
        if length > self.log.max_line {
            return Ok(Lookup::Wrong);
        }
        let before = offset.min(1);
        let mut text = vec![0; usize::try_from(before + length + 1).unwrap_or_default()];
        let count = reader.read_at(offset - before, &mut text)?;
        let is_whole = count == text.len();
        let line = text.strip_suffix(b"\n").filter(|_| is_whole);
        let line = if before == 0 { line } else { line.and_then(|line| line.strip_prefix(b"\n")) };
        let Some(bytes) = line.filter(|line| !line.contains(&b'\n')) else {
            return Ok(Lookup::Wrong);
        };
        let is_right = Entry::parse(trim(bytes)).is_ok_and(|entry| {
            entry.time() == time
                && entry.success() == success
                && segment::tool(&entry.tool_name()) == tool
        });
        if !is_right {
            return Ok(Lookup::Wrong);
        }
        let bytes = Some(bytes.to_vec());
        Ok(Lookup::Line(Line { offset, length, bytes, is_terminated: true }))
    }
}

/// Whether the log's path still names this file.
fn is_linked(reader: &LogReader) -> bool {
    matches!(reader, LogReader::File(log) if log.is_linked())
}

/// Iterator over the rows that may match, latest first.
pub(super) struct Matching<'a> {
    index: &'a Index,
    wanted: Wanted<'a>,
    /// The number of segments that were not read yet.
    blocks: usize,
    /// The remaining rows of the segment that was read last.
    rows: Vec<Row>,
}

impl Matching<'_> {
    /// The next row.
    pub fn next_row(&mut self) -> Result<Option<Row>, Unusable> {
        loop {
            if let Some(row) = self.rows.pop() {
                return Ok(Some(row));
            }
            let Some(number) = self.blocks.checked_sub(1) else { return Ok(None) };
            self.blocks = number;
            if let Some(block) = self.index.blocks.get(number) {
                self.rows = block.rows(self.index.file.as_ref(), &self.wanted)?;
            }
        }
    }
}

impl History {
    /// The longest line of the log, in bytes.
    fn max_line(&self) -> u64 {
        self.options.max_entry_bytes as u64
    }

    /// Drops an index that describes another log, in memory and on disk.
    pub(super) fn forget_index(&self) {
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = None;
        IndexFile::remove(self);
    }

    /// Drops the index in memory, and truncates its file at a `damaged` segment.
    pub(super) fn forget_segments(&self, damaged: Option<Unusable>) {
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let file = damaged.map(|damaged| (damaged, IndexFile::open(self)));
        if let Some((Unusable { position }, Ok(mut file))) = file {
            file.cut(self, position);
        }
    }
}
