//! Front matter, lossless: a list of blocks, each a key of the top level with its lines. What is not
//! changed stays byte for byte, known or not.

use std::{mem, ops::Range};

use super::{
    entry::{EntryType, Problem},
    time, yaml_quoted,
    yaml_reader::{Fault, Reader, Value},
};
use crate::{error::Result, redaction::Pass};

/// Longer front matter is refused, bytes.
const MAX_LENGTH: usize = 64 * 1024;

/// A key that means something here. In the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Agent,
    SessionId,
    Timestamp,
    Type,
    Tags,
    Links,
}

impl Key {
    const ALL: [Self; 6] =
        [Self::Agent, Self::SessionId, Self::Timestamp, Self::Type, Self::Tags, Self::Links];

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.as_str() == name)
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::SessionId => "sessionId",
            Self::Timestamp => "timestamp",
            Self::Type => "type",
            Self::Tags => "tags",
            Self::Links => "links",
        }
    }
}

/// Lines that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    /// A key that is read; its value stands behind `colon` bytes.
    Known { key: Key, raw: String, colon: usize },
    /// A key of somebody else's.
    Unknown { raw: String },
    /// Comments and empty lines.
    Comment { raw: String },
}

impl Block {
    fn raw(&self) -> &str {
        match self {
            Self::Known { raw, .. } | Self::Unknown { raw } | Self::Comment { raw } => raw,
        }
    }

    /// Redacts what is not the value of a known key. What redaction leaves is a block of the same
    /// kind.
    fn redact(&mut self, pass: &mut Pass) -> Result<()> {
        match self {
            Self::Known { raw, colon, .. } => redact_comments(raw, *colon, pass),
            Self::Unknown { raw } => redact_unknown(raw, pass),
            Self::Comment { raw } => redact_comment_lines(raw, pass),
        }
    }

    fn is(&self, wanted: Key) -> bool {
        matches!(self, Self::Known { key, .. } if *key == wanted)
    }
}

/// What front matter says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) agent: Option<String>,
    pub(super) session_id: Option<String>,
    /// ms since 1970.
    pub(super) timestamp: Option<i64>,
    pub(super) entry_type: EntryType,
    pub(super) tags: Vec<String>,
    pub(super) links: Vec<String>,
}

/// The front matter of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrontMatter {
    /// A byte-order mark, perhaps, and the line `---`.
    opening: String,
    blocks: Vec<Block>,
    closing: String,
    fields: Fields,
}

impl FrontMatter {
    pub(super) fn new(fields: Fields) -> Self {
        let mut front_matter = Self {
            opening: "---\n".to_owned(),
            blocks: Vec::new(),
            closing: "---\n".to_owned(),
            fields,
        };
        for key in Key::ALL {
            front_matter.write(key);
        }
        front_matter
    }

    /// Takes a file apart into its front matter and what follows.
    pub(super) fn parse(text: &str) -> std::result::Result<(Self, &str), Problem> {
        let (opening, text) = text.split_at(opening_length(text)?);
        let (length, closing) = inner_length(text)?;
        let (inner, rest) = text.split_at(length);
        let (closing, body) = rest.split_at(closing);
        let mut reading = Reading::default();
        reading.read(inner).map_err(|fault| problem(inner, &fault))?;
        let entry_type = reading
            .entry_type
            .ok_or_else(|| Problem { line: 1, reason: "`type` is missing".to_owned() })?;
        let front_matter = Self {
            opening: opening.to_owned(),
            blocks: reading.blocks,
            closing: closing.to_owned(),
            fields: Fields {
                agent: reading.agent,
                session_id: reading.session_id,
                timestamp: reading.timestamp,
                entry_type,
                tags: reading.tags,
                links: reading.links,
            },
        };
        Ok((front_matter, body))
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The line end of this file.
    pub(super) fn line_end(&self) -> &'static str {
        if self.opening.ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    pub(super) fn write_to(&self, out: &mut String) {
        out.push_str(&self.opening);
        for block in &self.blocks {
            out.push_str(block.raw());
        }
        out.push_str(&self.closing);
    }

    /// Something is going to follow the closing line.
    pub(super) fn end_closing_line(&mut self) {
        if !self.closing.ends_with('\n') {
            self.closing.push_str(self.line_end());
        }
    }

    pub(super) fn set_type(&mut self, entry_type: EntryType) {
        if mem::replace(&mut self.fields.entry_type, entry_type) != entry_type {
            self.write(Key::Type);
        }
    }

    pub(super) fn set_tags(&mut self, tags: Vec<String>) {
        if self.fields.tags != tags {
            self.fields.tags = tags;
            self.write(Key::Tags);
        }
    }

    pub(super) fn set_links(&mut self, links: Vec<String>) {
        if self.fields.links != links {
            self.fields.links = links;
            self.write(Key::Links);
        }
    }

    /// Takes secrets out of every value and comment; what was not found to hold any stays as it is.
    pub(super) fn redact(&mut self, pass: &mut Pass) -> Result<()> {
        let fields = &mut self.fields;
        let mut changed = Vec::new();
        for (key, value) in
            [(Key::Agent, fields.agent.as_mut()), (Key::SessionId, fields.session_id.as_mut())]
        {
            if let Some(value) = value
                && redact(pass, value)?
            {
                changed.push(key);
            }
        }
        for (key, values) in [(Key::Tags, &mut fields.tags), (Key::Links, &mut fields.links)] {
            for value in values {
                if redact(pass, value)? {
                    changed.push(key);
                }
            }
        }
        changed.dedup();
        for key in changed {
            self.write(key);
        }
        for block in &mut self.blocks {
            block.redact(pass)?;
        }
        Ok(())
    }

    /// Makes the lines of a key anew. Its comments stay: the one on the key's line there, others
    /// above it.
    fn write(&mut self, key: Key) {
        let line_end = self.line_end();
        let place = self.blocks.iter().position(|block| block.is(key));
        let is_needed = key != Key::Links || !self.fields.links.is_empty();
        let mut spelling = format!("{}:", key.as_str());
        let mut comments = Comments::default();
        if let Some(Block::Known { raw, colon, .. }) = place.and_then(|at| self.blocks.get(at)) {
            spelling = raw.get(..*colon).unwrap_or_default().to_owned();
            comments = Comments::of(raw, *colon);
        }
        let mut blocks = Vec::new();
        if !is_needed {
            comments.elsewhere.extend(comments.beside.take());
        }
        if !comments.elsewhere.is_empty() {
            let lines = comments.elsewhere.iter().map(|comment| format!("{comment}{line_end}"));
            blocks.push(Block::Comment { raw: lines.collect() });
        }
        if is_needed {
            let colon = spelling.len();
            let mut raw = spelling;
            self.fields.write_value(key, line_end, comments.beside.as_deref(), &mut raw);
            blocks.push(Block::Known { key, raw, colon });
        }
        let range = place.map_or_else(
            || {
                let is_before = |block: &Block| {
                    matches!(block, Block::Known { key: other, .. } if *other < key)
                };
                let at = self.blocks.iter().rposition(is_before).map_or(0, |before| before + 1);
                at..at
            },
            |place| place..place + 1,
        );
        self.blocks.splice(range, blocks);
    }
}

/// The comments of a key's lines.
#[derive(Debug, Default)]
struct Comments {
    /// On the key's line.
    beside: Option<String>,
    elsewhere: Vec<String>,
}

impl Comments {
    fn of(raw: &str, colon: usize) -> Self {
        let first_line = raw.find('\n').unwrap_or(raw.len());
        let mut comments = Self::default();
        for range in comment_ranges(raw, colon) {
            let is_beside = range.start < first_line;
            let comment = raw.get(range).unwrap_or_default().to_owned();
            if is_beside {
                comments.beside = Some(comment);
            } else {
                comments.elsewhere.push(comment);
            }
        }
        comments
    }
}

/// Where the comments of a known key stand.
fn comment_ranges(raw: &str, colon: usize) -> Vec<Range<usize>> {
    let mut reader = Reader::new(raw, colon);
    if reader.value().is_err() {
        return Vec::new(); // it was read before
    }
    let tail = raw.get(reader.at..).unwrap_or_default();
    let (start, tail) = (raw.len() - tail.trim_start().len(), tail.trim());
    let mut ranges = reader.comments;
    if !tail.is_empty() {
        ranges.push(start..start + tail.len());
    }
    ranges
}

impl Fields {
    /// What stands behind a key's colon, to the end of the line or lines.
    fn write_value(&self, key: Key, line_end: &str, comment: Option<&str>, out: &mut String) {
        let mut write = |text: &str| {
            out.push(' ');
            yaml_quoted::write(text, out);
        };
        match key {
            Key::Agent => write(self.agent.as_deref().unwrap_or_default()),
            Key::SessionId => write(self.session_id.as_deref().unwrap_or_default()),
            Key::Timestamp => {
                out.push(' ');
                out.push_str(&time::iso(self.timestamp.unwrap_or_default()));
            }
            Key::Type => write(self.entry_type.as_str()),
            Key::Tags => {
                out.push_str(" [");
                for (index, tag) in self.tags.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    yaml_quoted::write(tag, out);
                }
                out.push(']');
            }
            Key::Links => {}
        }
        if let Some(comment) = comment {
            out.push(' ');
            out.push_str(comment);
        }
        out.push_str(line_end);
        if key == Key::Links {
            for link in &self.links {
                out.push_str("  - ");
                yaml_quoted::write(link, out);
                out.push_str(line_end);
            }
        }
    }
}

/// Front matter while it is read.
#[derive(Debug, Default)]
struct Reading {
    blocks: Vec<Block>,
    agent: Option<String>,
    session_id: Option<String>,
    timestamp: Option<i64>,
    entry_type: Option<EntryType>,
    tags: Vec<String>,
    links: Vec<String>,
}

impl Reading {
    /// Cuts the lines into blocks.
    fn read(&mut self, inner: &str) -> std::result::Result<(), Fault> {
        let (mut start, mut at, mut key) = (0, 0, None);
        for line in inner.split_inclusive('\n') {
            if let Some(found) = key_of(line).map_err(|fault| moved(fault, at))? {
                self.add(key.replace(found), inner, start, at)?;
                start = at;
            } else if key.is_none() && !is_comment(line) {
                return Err(Fault { at, reason: "this belongs to no key".to_owned() });
            }
            at += line.len();
        }
        self.add(key, inner, start, at)
    }

    /// A block of the lines between two bytes.
    fn add(
        &mut self,
        key: Option<FoundKey>,
        inner: &str,
        start: usize,
        end: usize,
    ) -> std::result::Result<(), Fault> {
        let lines = inner.get(start..end).unwrap_or_default();
        let Some(FoundKey { name, colon }) = key else {
            if !lines.is_empty() {
                self.blocks.push(Block::Comment { raw: lines.to_owned() });
            }
            return Ok(());
        };
        let Some(key) = Key::parse(&name) else {
            self.blocks.push(Block::Unknown { raw: lines.to_owned() });
            return Ok(());
        };
        if self.blocks.iter().any(|block| block.is(key)) {
            return Err(Fault { at: start, reason: format!("`{name}` stands here twice") });
        }
        let named = |fault: Fault| Fault {
            at: start + fault.at,
            reason: format!("`{name}`: {}", fault.reason),
        };
        let mut reader = Reader::new(lines, colon);
        let value = reader.value().map_err(named)?;
        let value_end = reader.at;
        self.take(key, value).map_err(|reason| named(Fault { at: colon, reason }))?;
        let rest = lines.get(value_end..).unwrap_or_default();
        let line_end = value_end + rest.find('\n').map_or(rest.len(), |line_end| line_end + 1);
        let (raw, comment) = lines.split_at(line_end);
        self.blocks.push(Block::Known { key, raw: raw.to_owned(), colon });
        if !comment.is_empty() {
            self.blocks.push(Block::Comment { raw: comment.to_owned() });
        }
        Ok(())
    }

    fn take(&mut self, key: Key, value: Value) -> std::result::Result<(), String> {
        match key {
            Key::Agent => self.agent = scalar(value)?,
            Key::SessionId => self.session_id = scalar(value)?,
            Key::Timestamp => {
                let text = scalar(value)?;
                let parsed = text.as_deref().map(|text| {
                    time::parse(text).ok_or_else(|| format!("{text:?} is no time of ISO 8601"))
                });
                self.timestamp = parsed.transpose()?;
            }
            Key::Type => {
                let text = scalar(value)?.unwrap_or_default();
                let entry_type = EntryType::parse(&text);
                self.entry_type = Some(entry_type.ok_or_else(|| {
                    let types = EntryType::ALL.map(EntryType::as_str).join(", ");
                    format!("{text:?} is none of {types}")
                })?);
            }
            Key::Tags => self.tags = list(value),
            Key::Links => self.links = list(value),
        }
        Ok(())
    }
}

fn scalar(value: Value) -> std::result::Result<Option<String>, String> {
    match value {
        Value::Nothing => Ok(None),
        Value::Scalar(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Value::List(_) => Err("a list stands where a text belongs".to_owned()),
    }
}

fn list(value: Value) -> Vec<String> {
    match value {
        Value::Nothing => Vec::new(),
        Value::Scalar(text) => vec![text],
        Value::List(items) => items,
    }
}

/// A key at the beginning of a line.
#[derive(Debug)]
struct FoundKey {
    name: String,
    /// The byte behind the colon.
    colon: usize,
}

/// The key that a line begins with; `None` for a line that belongs to the key above it.
fn key_of(line: &str) -> std::result::Result<Option<FoundKey>, Fault> {
    let belongs_to_above = is_comment(line)
        || line.starts_with([' ', '\t', ']', '}'])
        || line.strip_prefix('-').is_some_and(|rest| rest.starts_with([' ', '\t', '\r', '\n']));
    if belongs_to_above {
        return Ok(None);
    }
    let mut reader = Reader::new(line, 0);
    let name = reader.key()?;
    Ok(Some(FoundKey { name, colon: reader.at }))
}

/// Whether there is nothing but a comment on a line.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    line.starts_with('#') || line.trim_end_matches(['\r', '\n']).is_empty()
}

fn moved(fault: Fault, start: usize) -> Fault {
    Fault { at: start + fault.at, reason: fault.reason }
}

/// Comments of a known key, each by itself: the value beside them is redacted as what it says.
fn redact_comments(raw: &mut String, colon: usize, pass: &mut Pass) -> Result<()> {
    for range in comment_ranges(raw, colon).into_iter().rev() {
        let mut comment = raw.get(range.clone()).unwrap_or_default().to_owned();
        if redact(pass, &mut comment)? {
            let comment = comment.replace(['\r', '\n'], " ");
            let marker = if comment.starts_with('#') { "" } else { "# " };
            raw.replace_range(range, &format!("{marker}{comment}"));
        }
    }
    Ok(())
}

/// Redacts the lines of an unknown key. Where they are no such lines any more, a quoted text takes
/// their place.
fn redact_unknown(raw: &mut String, pass: &mut Pass) -> Result<()> {
    let line_end = if raw.ends_with("\r\n") { "\r\n" } else { "\n" };
    let mut key = raw
        .get(..key_of(raw).ok().flatten().map_or(0, |key| key.colon))
        .unwrap_or_default()
        .to_owned();
    if !redact(pass, raw)? {
        return Ok(());
    }
    let mut lines = raw.split_inclusive('\n');
    let is_whole = raw.ends_with('\n')
        && lines.next().is_some_and(
            |line| matches!(key_of(line), Ok(Some(found)) if Key::parse(&found.name).is_none()),
        )
        && lines.all(|line| matches!(key_of(line), Ok(None)));
    if !is_whole {
        if redact(pass, &mut key)? {
            let mut quoted = String::new();
            yaml_quoted::write(&key, &mut quoted);
            key = format!("{quoted}:");
        }
        key.push(' ');
        yaml_quoted::write(raw.trim_end(), &mut key);
        key.push_str(line_end);
        *raw = key;
    }
    Ok(())
}

fn redact_comment_lines(raw: &mut String, pass: &mut Pass) -> Result<()> {
    let line_end = if raw.ends_with("\r\n") { "\r\n" } else { "\n" };
    if redact(pass, raw)? {
        if !raw.ends_with('\n') {
            raw.push_str(line_end);
        }
        let lines = raw.split_inclusive('\n');
        *raw = lines
            .map(|line| if is_comment(line) { line.to_owned() } else { format!("# {line}") })
            .collect();
    }
    Ok(())
}

fn redact(pass: &mut Pass, text: &mut String) -> Result<bool> {
    let before = text.clone();
    pass.text(text)?;
    Ok(*text != before)
}

/// How long the first line is, with a byte-order mark.
fn opening_length(text: &str) -> std::result::Result<usize, Problem> {
    let marked = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let line = marked.split_inclusive('\n').next().unwrap_or_default();
    if is_marker(line, "---") {
        return Ok(text.len() - marked.len() + line.len());
    }
    Err(Problem {
        line: 1,
        reason: "there is no front matter: the first line is not `---`".to_owned(),
    })
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.trim_matches([' ', '\t', '\r', '\n']).is_empty())
}

/// How long the front matter is, and the line that closes it.
fn inner_length(text: &str) -> std::result::Result<(usize, usize), Problem> {
    let mut length = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let fail = |reason: String| Err(Problem { line: index + 2, reason });
        if is_marker(line, "---") || is_marker(line, "...") {
            return Ok((length, line.len()));
        }
        length += line.len();
        if length > MAX_LENGTH {
            return fail(
                "front matter is longer than 64 KiB, or `---` is missing behind it".to_owned(),
            );
        }
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.strip_suffix('\r').unwrap_or(content);
        if let Some(control) = content.chars().find(|&c| c != '\t' && (c < ' ' || c == '\u{7F}')) {
            return fail(format!(
                "front matter cannot hold the character U+{:04X}",
                u32::from(control)
            ));
        }
    }
    Err(Problem {
        line: 1,
        reason: "front matter is not closed: a line `---` is missing".to_owned(),
    })
}

/// Where in the file a fault is. The first line is the one before these.
fn problem(inner: &str, fault: &Fault) -> Problem {
    let before = inner.get(..fault.at).unwrap_or(inner);
    Problem { line: 2 + before.matches('\n').count(), reason: fault.reason.clone() }
}
