//! Segments: the index of one part of the log, and their binary format.
//!
//! ```text
//! magic (8 bytes), length of the head (4), length of the body (4), CRC-32 (4)
//! head: a `Head` in `postcard`'s format
//! body: the rows of each group, one group after the other
//! ```
//!
//! Numbers of fixed size are little-endian. The CRC-32 covers both lengths, each as 8 bytes, and the head, which
//! has a checksum of each group's rows. A group has the rows of one tool with the same outcome, so a search
//! reads only the groups that can match.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use storage::{FileError, Line, LinesForwards, LogReader};

use super::super::{
    Cancelled,
    entry::{Entry, OPERATION_RECORD, trim},
    filter::Filter,
};

/// The first bytes of a segment. The last digit is the version of the format.
const MAGIC: &[u8; 8] = b"\x89HISTIX5";
/// The number of bytes before the head.
pub(super) const PREAMBLE: usize = 20;

/// Identifies the log that a segment describes, and the longest line, beyond which lines count as bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogId {
    pub identity: u64,
    pub max_line: u64,
}

/// A tool in the index: the first bytes of its name's SHA-256. A collision costs only a read of the log,
/// which decides.
pub(super) type Tool = [u8; 8];

/// The key of a tool's name.
pub(super) fn tool(name: &str) -> Tool {
    Sha256::digest(name).first_chunk().copied().unwrap_or_default()
}

/// An entry's row: the position of its line, and the values that filters compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Row {
    pub offset: u64,
    pub length: u64,
    pub time: Option<i64>,
    pub tool: Tool,
    pub success: bool,
}

impl Row {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Lines without an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BadLines {
    pub count: u64,
    /// The position of the first.
    pub first: Option<u64>,
}

impl BadLines {
    /// The sum of these and `later` ones.
    pub fn and(self, later: Self) -> Self {
        Self { count: self.count + later.count, first: self.first.or(later.first) }
    }
}

/// The index of one part of a log, in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// The described part of the log, in whole lines.
    pub range: Range<u64>,
    /// The entries, in the order of the log.
    pub rows: Vec<Row>,
    pub bad_lines: BadLines,
}

/// The metadata of a segment, before its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub log: LogId,
    pub begin: u64,
    pub end: u64,
    /// The last bytes of the log before `end`, which identify the log.
    pub tail: Vec<u8>,
    pub rows: u64,
    pub bad_lines: BadLines,
    groups: Vec<Group>,
}

/// The rows of one tool with the same outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Group {
    tool: Tool,
    success: bool,
    rows: u64,
    /// The earliest and the latest time of the entries that have one.
    earliest: Option<i64>,
    latest: Option<i64>,
    /// The length of the rows in bytes.
    length: u32,
    checksum: u32,
}

/// A row in its group, relative to the one before it: distance in bytes, length of the line, and difference
/// of the times.
type StoredRow = (u64, u64, Option<i64>);

/// The lengths at the start of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Preamble {
    pub head: usize,
    pub body: usize,
    checksum: u32,
}

impl Preamble {
    /// Parses the lengths; `None` if the bytes do not begin a segment.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (head, rest) = rest.split_first_chunk()?;
        let (body, rest) = rest.split_first_chunk()?;
        let (checksum, _) = rest.split_first_chunk()?;
        Some(Self {
            head: usize::try_from(u32::from_le_bytes(*head)).ok()?,
            body: usize::try_from(u32::from_le_bytes(*body)).ok()?,
            checksum: u32::from_le_bytes(*checksum),
        })
    }

    /// The length of the whole segment in bytes.
    pub fn total(self) -> u64 {
        PREAMBLE as u64 + self.head as u64 + self.body as u64
    }

    /// Parses the head; `None` if its checksum is wrong.
    pub fn decode_head(self, bytes: &[u8]) -> Option<Head> {
        let is_sound = self.checksum == checksum(self.head, self.body, bytes);
        let head: Head = postcard::from_bytes(bytes).ok().filter(|_| is_sound)?;
        (head.begin <= head.end).then_some(head)
    }
}

fn checksum(head: usize, body: usize, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(head as u64).to_le_bytes());
    hasher.update(&(body as u64).to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

impl Segment {
    /// An empty segment at `begin`.
    pub fn new(begin: u64) -> Self {
        Self { range: begin..begin, rows: Vec::new(), bad_lines: BadLines::default() }
    }

    /// Adds the next whole lines of the log that begin before `end`, until there are `max_rows` rows. Returns
    /// whether there may be more lines.
    pub fn extend(
        &mut self,
        reader: &LogReader,
        end: u64,
        max_line: usize,
        max_rows: usize,
        cancelled: &Cancelled,
    ) -> Result<bool, FileError> {
        let mut lines = LinesForwards::new(reader, self.range.end, max_line);
        while self.rows.len() < max_rows {
            let Some(line) = lines.next_line()? else { return Ok(false) };
            if !line.is_terminated || line.offset >= end || cancelled.is_set() {
                return Ok(false);
            }
            self.add(&line);
        }
        Ok(true)
    }

    fn add(&mut self, line: &Line) {
        self.range.end = line.end();
        let text = line.bytes.as_deref().map(trim);
        if text.is_some_and(<[u8]>::is_empty) {
            return;
        }
        let parsed = text.map(Entry::parse);
        if matches!(parsed, Some(Err(OPERATION_RECORD))) {
            return;
        }
        let Some(Ok(entry)) = parsed else {
            let bad = BadLines { count: 1, first: Some(line.offset) };
            self.bad_lines = self.bad_lines.and(bad);
            return;
        };
        self.rows.push(Row {
            offset: line.offset,
            length: line.length,
            time: entry.time(),
            tool: tool(&entry.tool_name()),
            success: entry.success(),
        });
    }

    /// Merges the preceding segment into this one.
    pub fn prepend(&mut self, mut before: Self) {
        before.rows.append(&mut self.rows);
        before.bad_lines = before.bad_lines.and(self.bad_lines);
        before.range.end = self.range.end;
        *self = before;
    }

    /// Encodes the segment. The result depends on the log only. `None` if it is too large.
    pub fn encode(&self, log: LogId, tail: &[u8]) -> Option<Vec<u8>> {
        let mut sorted: BTreeMap<(Tool, bool), Vec<&Row>> = BTreeMap::new();
        for row in &self.rows {
            sorted.entry((row.tool, row.success)).or_default().push(row);
        }
        let (mut groups, mut body) = (Vec::with_capacity(sorted.len()), Vec::new());
        for ((tool, success), rows) in sorted {
            let start = body.len();
            body = encode_rows(self.range.start, &rows, body)?;
            let written = body.get(start..)?;
            let times = || rows.iter().filter_map(|row| row.time);
            groups.push(Group {
                tool,
                success,
                rows: rows.len() as u64,
                earliest: times().min(),
                latest: times().max(),
                length: u32::try_from(written.len()).ok()?,
                checksum: crc32fast::hash(written),
            });
        }
        let head = Head {
            log,
            begin: self.range.start,
            end: self.range.end,
            tail: tail.to_vec(),
            rows: self.rows.len() as u64,
            bad_lines: self.bad_lines,
            groups,
        };
        let head = postcard::to_allocvec(&head).ok()?;
        let mut bytes = Vec::with_capacity(PREAMBLE + head.len() + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend(u32::try_from(head.len()).ok()?.to_le_bytes());
        bytes.extend(u32::try_from(body.len()).ok()?.to_le_bytes());
        bytes.extend(checksum(head.len(), body.len(), &head).to_le_bytes());
        bytes.extend(head);
        bytes.extend(body);
        Some(bytes)
    }
}

fn encode_rows(begin: u64, rows: &[&Row], mut out: Vec<u8>) -> Option<Vec<u8>> {
    let (mut end, mut before) = (begin, 0_i64);
    for row in rows {
        let time = row.time.map(|time| time.wrapping_sub(before));
        before = row.time.unwrap_or(before);
        let stored: StoredRow = (row.offset.checked_sub(end)?, row.length, time);
        out = postcard::to_extend(&stored, out).ok()?;
        end = row.end();
    }
    Some(out)
}

impl Head {
    /// The groups that may have matching rows, each with its position in the body.
    pub fn matching<'a>(
        &'a self,
        wanted: &'a Wanted<'_>,
    ) -> impl Iterator<Item = (u64, &'a Group)> + 'a {
        let mut next = 0;
        let with_place = self.groups.iter().map(move |group| {
            let place = next;
            next += u64::from(group.length);
            (place, group)
        });
        with_place.filter(|(_, group)| group.may_match(wanted))
    }

    /// Adds the matching rows of a group; `None` if the rows are damaged.
    pub fn decode_rows(
        &self,
        group: &Group,
        mut bytes: &[u8],
        wanted: &Wanted<'_>,
        rows: &mut Vec<Row>,
    ) -> Option<()> {
        if crc32fast::hash(bytes) != group.checksum {
            return None;
        }
        let (mut end, mut before) = (self.begin, 0_i64);
        for _ in 0..group.rows {
            let ((gap, length, time), rest) = postcard::take_from_bytes::<StoredRow>(bytes).ok()?;
            bytes = rest;
            let offset = end.checked_add(gap)?;
            let time = time.map(|time| before.wrapping_add(time));
            before = time.unwrap_or(before);
            let row = Row { offset, length, time, tool: group.tool, success: group.success };
            end = row.end();
            if end > self.end {
                return None;
            }
            if wanted.allows_time(time) {
                rows.push(row);
            }
        }
        bytes.is_empty().then_some(())
    }
}

impl Group {
    /// The length in bytes.
    pub fn length(&self) -> usize {
        usize::try_from(self.length).unwrap_or(usize::MAX)
    }

    fn may_match(&self, wanted: &Wanted<'_>) -> bool {
        let is_in_time = |filter: &Filter| filter.matches_any_time(self.earliest.zip(self.latest));
        wanted.allows(&self.tool, self.success) && wanted.filter.is_none_or(is_in_time)
    }
}

/// A filter, compiled for comparing rows.
pub(super) struct Wanted<'a> {
    /// `None` admits all rows.
    filter: Option<&'a Filter>,
    tools: Option<Vec<Tool>>,
}

impl<'a> Wanted<'a> {
    pub fn by(filter: &'a Filter) -> Self {
        let tools =
            filter.tool_names.as_ref().map(|names| names.iter().map(|name| tool(name)).collect());
        Self { filter: Some(filter), tools }
    }

    pub fn all() -> Self {
        Self { filter: None, tools: None }
    }

    fn allows(&self, tool: &Tool, success: bool) -> bool {
        let is_success = |filter: &Filter| filter.success.is_none_or(|wanted| wanted == success);
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
            && self.filter.is_none_or(is_success)
    }

    fn allows_time(&self, time: Option<i64>) -> bool {
        self.filter.is_none_or(|filter| filter.matches_time(time))
    }

    /// Whether the entry of a row may match.
    pub fn matches(&self, row: &Row) -> bool {
        self.allows(&row.tool, row.success) && self.allows_time(row.time)
    }
}
