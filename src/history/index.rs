//! The index: where which entries are. A cache and nothing else: it is believed only as far as it
//! describes the log at hand, and made anew where it does not.
//!
//! On disk beside the log: a line with the CRC-32 of the rest, a line with a JSON object, and the rows,
//! [`ROW`] bytes each, least significant byte first: offset, length and time in eight bytes, the
//! tool's number in four, one for how it ended.

use std::{collections::HashMap, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Cancelled, History,
    entry::{Entry, trim},
    filter::Filter,
};
use crate::{
    durable::{
        self, Durability, Target,
        log::{Line, LinesForwards, LogReader, ReadAt, Snapshot},
    },
    file_system::{FileError, Payload},
    names,
};

/// Shorter logs, in bytes, are read as fast as an index.
const MIN_LOG: u64 = 256 * 1024;
/// More entries than these are not indexed: the log wants compacting.
const MAX_ROWS: usize = 4_000_000;
/// So many bytes that the file does not cover are worth writing it again.
const MIN_PROGRESS: u64 = 256 * 1024;
/// A longer file is no index of ours.
const MAX_FILE: u64 = 1024 * 1024 * 1024;
const FORMAT: u32 = 3;
/// A row on disk, in bytes.
const ROW: usize = 29;
/// The time of a row that has none.
const NO_TIME: i64 = i64::MIN;

/// An entry: offset and length of its line, its time, its tool, how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row(u64, u64, Option<i64>, u32, bool);

/// What is known of a log up to some line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Index {
    format: u32,
    /// Longer lines count as bad: other bounds make another index.
    max_line: usize,
    identity: u64,
    length: u64,
    tail: Vec<u8>,
    tools: Vec<String>,
    #[serde(skip)]
    rows: Vec<Row>,
    bad_lines: u64,
    first_bad: Option<u64>,
    /// How far the file on disk goes.
    #[serde(skip)]
    written: u64,
}

/// What stands where the index says.
pub(super) enum Lookup {
    /// The entry's line.
    Line(Line),
    /// Something else.
    Wrong,
}

/// Why there is no index on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoIndex {
    Missing,
    Damaged,
}

impl Index {
    fn new(identity: u64, max_line: usize) -> Self {
        Self {
            format: FORMAT,
            max_line,
            identity,
            length: 0,
            tail: Vec::new(),
            tools: Vec::new(),
            rows: Vec::new(),
            bad_lines: 0,
            first_bad: None,
            written: 0,
        }
    }

    /// An index of the log as it is now, from what is known, from the file, or made anew. `None` when
    /// it does not pay.
    pub fn current(
        history: &History,
        reader: &LogReader,
        known: Option<Arc<Self>>,
        cancelled: &Cancelled,
    ) -> Result<Option<Arc<Self>>, FileError> {
        let length = reader.length()?;
        if length < MIN_LOG {
            return Ok(None);
        }
        let max_line = history.options.max_entry_bytes;
        let is_current = |index: &Self| index.describes(reader, max_line);
        let known = match known {
            Some(index) if is_current(&index)? => index,
            _ => match Self::load(history) {
                Ok(index) if is_current(&index)? => Arc::new(index),
                _ => Arc::new(Self::new(reader.identity(), max_line)),
            },
        };
        if known.length == length {
            return Ok(Some(known));
        }
        let mut index = Arc::unwrap_or_clone(known);
        index.extend(reader, u64::MAX, cancelled)?;
        if cancelled.is_set() || index.rows.len() > MAX_ROWS {
            return Ok(None);
        }
        if index.length - index.written >= MIN_PROGRESS {
            index.save(history);
        }
        Ok(Some(Arc::new(index)))
    }

    /// Whether the log still begins with what was indexed, by the same bound.
    pub fn describes(&self, reader: &LogReader, max_line: usize) -> Result<bool, FileError> {
        let snapshot =
            Snapshot { identity: self.identity, length: self.length, tail: self.tail.clone() };
        Ok(self.max_line == max_line && snapshot.is_of(reader, reader.identity())?)
    }

    /// Adds the whole lines that begin before `end`.
    fn extend(
        &mut self,
        reader: &LogReader,
        end: u64,
        cancelled: &Cancelled,
    ) -> Result<(), FileError> {
        let mut tools: HashMap<String, u32> =
            (0..).zip(&self.tools).map(|(number, tool)| (tool.clone(), number)).collect();
        let before = self.length;
        let mut lines = LinesForwards::new(reader, self.length, self.max_line);
        while let Some(line) = lines.next_line()? {
            if !line.is_terminated || line.offset >= end || cancelled.is_set() {
                break;
            }
            self.add(&line, &mut tools);
            self.length = line.end();
        }
        if self.length != before {
            self.tail = Snapshot::of(reader, self.identity, self.length)?.tail;
        }
        Ok(())
    }

    fn add(&mut self, line: &Line, tools: &mut HashMap<String, u32>) {
        let text = line.bytes.as_deref().map(trim);
        if text.is_some_and(<[u8]>::is_empty) {
            return;
        }
        let Some(Ok(entry)) = text.map(Entry::parse) else {
            self.bad_lines += 1;
            self.first_bad.get_or_insert(line.offset);
            return;
        };
        let name = entry.tool_name();
        let next = u32::try_from(self.tools.len()).unwrap_or(u32::MAX);
        let tool = *tools.entry(name).or_insert_with_key(|name| {
            self.tools.push(name.clone());
            next
        });
        self.rows.push(Row(line.offset, line.length, entry.time(), tool, entry.success()));
    }

    /// Entries that may match, from the most recent on.
    pub fn matching<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = Row> + 'a {
        let tools: Option<Vec<bool>> = filter
            .tool_names
            .as_ref()
            .map(|names| self.tools.iter().map(|tool| names.contains(tool)).collect());
        self.rows.iter().rev().copied().filter(move |&Row(_, _, time, tool, success)| {
            let is_tool = |tools: &Vec<bool>| tools.get(tool as usize).copied().unwrap_or(false);
            tools.as_ref().is_none_or(is_tool)
                && filter.success.is_none_or(|wanted| wanted == success)
                && filter.matches_time(time)
        })
    }

    /// The line of an entry, when it is what the index says and a line of its own still: a power cut
    /// may leave the entry and take the newline before it.
    pub fn line(&self, reader: &LogReader, row: Row) -> Result<Lookup, FileError> {
        let Row(offset, length, time, tool, success) = row;
        if length > self.max_line as u64 {
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
                && self.tools.get(tool as usize).is_some_and(|name| *name == entry.tool_name())
        });
        if !is_right {
            return Ok(Lookup::Wrong);
        }
        let bytes = Some(bytes.to_vec());
        Ok(Lookup::Line(Line { offset, length, bytes, is_terminated: true }))
    }

    /// The lines that are not indexed.
    pub fn lines_after<'a>(&self, reader: &'a LogReader) -> LinesForwards<'a, LogReader> {
        LinesForwards::new(reader, self.length, self.max_line)
    }

    /// How many lines hold no entry, and where the first of them is.
    pub fn bad_lines(&self) -> (u64, Option<(u64, &'static str)>) {
        (self.bad_lines, self.first_bad.map(|offset| (offset, "not an entry")))
    }

    /// The index on disk, whatever it describes.
    pub fn load(history: &History) -> Result<Self, NoIndex> {
        let disk = history.file_system.disk().ok_or(NoIndex::Missing)?;
        let path = &history.options.path;
        let name = names::index(&path.name);
        let contents = disk.read(&path.directory, Path::new(&name), MAX_FILE).map_err(|error| {
            if error.is_not_found() { NoIndex::Missing } else { NoIndex::Damaged }
        })?;
        let mut index = Self::decode(&contents.bytes).ok_or(NoIndex::Damaged)?;
        index.written = index.length;
        Ok(index)
    }

    fn decode(text: &[u8]) -> Option<Self> {
        let (checksum, rest) = split_line(text)?;
        if checksum != format!("{:08x}", crc32fast::hash(rest)).as_bytes() {
            return None;
        }
        let (head, rows) = split_line(rest)?;
        let mut index: Self = serde_json::from_slice(head).ok()?;
        let rows = rows.chunks_exact(ROW);
        let is_whole = index.format == FORMAT && rows.remainder().is_empty();
        index.rows = rows.map(Row::decode).collect::<Option<_>>()?;
        let is_within = |&Row(offset, length, ..): &Row| {
            offset.checked_add(length).is_some_and(|end| end <= index.length)
        };
        let is_sound = is_whole && index.rows.iter().all(is_within);
        is_sound.then_some(index)
    }

    fn encode(&self) -> Vec<u8> {
        let mut rest = serde_json::to_vec(self).unwrap_or_default();
        rest.push(b'\n');
        rest.reserve(self.rows.len() * ROW);
        for row in &self.rows {
            row.encode(&mut rest);
        }
        let mut text = format!("{:08x}\n", crc32fast::hash(&rest)).into_bytes();
        text.extend(rest);
        text
    }

    /// Writes the index beside the log. A cache that cannot be written is made again next time.
    fn save(&mut self, history: &History) {
        match self.try_save(history) {
            Ok(()) => self.written = self.length,
            Err(error) => history.debug.say(
                "Failed to write the history's index",
                || json!({ "path": history.path(), "error": error.to_string() }),
            ),
        }
    }

    /// Called on a thread that may block.
    fn try_save(&self, history: &History) -> Result<(), FileError> {
        let path = &history.options.path;
        let (index, temporary) = (path.beside(&names::index(&path.name)), path.replacement());
        let target = Target { directory: &path.directory, temporary: &temporary, path: &index };
        let contents = Payload::new(self.encode());
        let file_system = history.file_system.as_ref();
        let replacing = durable::replace_cache(file_system, target, contents, Durability::Process);
        tokio::runtime::Handle::current().block_on(replacing)
    }

    /// Removes the index on disk.
    pub fn remove(history: &History) {
        if let Some(disk) = history.file_system.disk() {
            let path = &history.options.path;
            // One that stays is not believed.
            let _ = disk.remove(&path.beside(&names::index(&path.name)));
        }
    }

    /// Whether this is what a fresh look at the same part of the log gives.
    pub fn is_right(&self, reader: &LogReader, cancelled: &Cancelled) -> Result<bool, FileError> {
        let mut fresh = Self::new(self.identity, self.max_line);
        fresh.extend(reader, self.length, cancelled)?;
        fresh.written = self.written;
        Ok(fresh == *self)
    }
}

impl Row {
    fn encode(self, out: &mut Vec<u8>) {
        let Self(offset, length, time, tool, success) = self;
        out.extend(offset.to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend(time.unwrap_or(NO_TIME).to_le_bytes());
        out.extend(tool.to_le_bytes());
        out.push(u8::from(success));
    }

    fn decode(row: &[u8]) -> Option<Self> {
        let (offset, rest) = row.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (time, rest) = rest.split_first_chunk()?;
        let (tool, rest) = rest.split_first_chunk()?;
        let time = i64::from_le_bytes(*time);
        Some(Self(
            u64::from_le_bytes(*offset),
            u64::from_le_bytes(*length),
            (time != NO_TIME).then_some(time),
            u32::from_le_bytes(*tool),
            rest == [1],
        ))
    }
}

/// The first line, and what follows it.
fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', text)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}
