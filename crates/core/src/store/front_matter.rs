//! Lossless front matter: a list of blocks, one for each key of the top level. `document` reads and
//! sets values through it; blocks that are not changed keep their bytes, whether their keys are
//! known or not.

use std::mem;

use redaction::RedactionSession;

use super::{
    block::{Block, Comments, FoundKey, Key, is_comment, key_of, redact},
    entry_parts::{EntryType, Problem},
    time, yaml_quoted,
    yaml_reader::{Fault, Reader, Value},
};
use crate::error::Result;

/// The longest front matter, in bytes; longer front matter is refused.
const MAX_LENGTH: usize = 64 * 1024;

/// The values of the known keys.
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
    /// The line `---`, after a byte-order mark if the file has one.
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

    /// Splits a file into its front matter and the text after it.
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

    /// Ends the closing line, so that text can follow it.
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

    /// Redacts every value and comment. Values and comments without a secret keep their bytes.
    pub(super) fn redact(&mut self, pass: &mut RedactionSession) -> Result<()> {
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

    /// Writes the lines of a key again. Its comments are kept: the one on the key's line stays
    /// there, others move above it.
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

impl Fields {
    /// Writes the value after a key's colon, over one or more lines.
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

/// The state of the parser.
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
    /// Splits the lines into blocks.
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

    /// Adds a block with the lines between two bytes.
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

fn moved(fault: Fault, start: usize) -> Fault {
    Fault { at: start + fault.at, reason: fault.reason }
}

/// The length of the first line, with a byte-order mark.
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

/// The lengths of the front matter and of the line that closes it.
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

/// Converts the position of an error into a line of the file. `inner` begins at the file's second
/// line.
fn problem(inner: &str, fault: &Fault) -> Problem {
    let before = inner.get(..fault.at).unwrap_or(inner);
    Problem { line: 2 + before.matches('\n').count(), reason: fault.reason.clone() }
}
