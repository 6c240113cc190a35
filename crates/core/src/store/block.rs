//! Splits front matter into blocks: a key of the top level with all lines of its value, or the
//! comments and empty lines between two keys. `front_matter` reads and rewrites values block by
//! block, so that a block that is not changed keeps its bytes.

use std::ops::Range;

use redaction::RedactionSession;

use super::{
    yaml_quoted,
    yaml_reader::{Fault, Reader},
};
use crate::error::Result;

/// A key that the store reads, in the order in which new files have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Agent,
    SessionId,
    Timestamp,
    Type,
    Tags,
    Links,
}

impl Key {
    pub(super) const ALL: [Self; 6] =
        [Self::Agent, Self::SessionId, Self::Timestamp, Self::Type, Self::Tags, Self::Links];

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.as_str() == name)
    }

    pub(super) const fn as_str(self) -> &'static str {
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

/// Consecutive lines that are kept, rewritten or redacted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A key that the store reads; its value begins after `colon` bytes.
    Known { key: Key, raw: String, colon: usize },
    /// A key that the store does not read, written by another program.
    Unknown { raw: String },
    /// Comments and empty lines.
    Comment { raw: String },
}

impl Block {
    pub(super) fn raw(&self) -> &str {
        match self {
            Self::Known { raw, .. } | Self::Unknown { raw } | Self::Comment { raw } => raw,
        }
    }

    /// Redacts everything except the values of known keys, which `front_matter` redacts. The
    /// redacted text is a block of the same kind.
    pub(super) fn redact(&mut self, pass: &mut RedactionSession) -> Result<()> {
        match self {
            Self::Known { raw, colon, .. } => redact_comments(raw, *colon, pass),
            Self::Unknown { raw } => redact_unknown(raw, pass),
            Self::Comment { raw } => redact_comment_lines(raw, pass),
        }
    }

    pub(super) fn is(&self, wanted: Key) -> bool {
        matches!(self, Self::Known { key, .. } if *key == wanted)
    }
}

/// The comments within a known key's lines.
#[derive(Debug, Default)]
pub(super) struct Comments {
    /// The comment on the key's own line.
    pub(super) beside: Option<String>,
    pub(super) elsewhere: Vec<String>,
}

impl Comments {
    pub(super) fn of(raw: &str, colon: usize) -> Self {
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

/// The ranges of the comments in a known key's lines.
fn comment_ranges(raw: &str, colon: usize) -> Vec<Range<usize>> {
    let mut reader = Reader::new(raw, colon);
    if reader.value().is_err() {
        return Vec::new(); // cannot happen: the block was parsed before
    }
    let tail = raw.get(reader.at..).unwrap_or_default();
    let blanks = [' ', '\t', '\r', '\n'];
    let (start, tail) =
        (raw.len() - tail.trim_start_matches(blanks).len(), tail.trim_matches(blanks));
    let mut ranges = reader.comments;
    if !tail.is_empty() {
        ranges.push(start..start + tail.len());
    }
    ranges
}

/// A key at the start of a line.
#[derive(Debug)]
pub(super) struct FoundKey {
    pub(super) name: String,
    /// The byte after the colon.
    pub(super) colon: usize,
}

/// The key that starts a line; `None` for a line that continues the value above it.
pub(super) fn key_of(line: &str) -> std::result::Result<Option<FoundKey>, Fault> {
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

/// Whether a line has only a comment.
pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    line.starts_with('#') || line.trim_end_matches(['\r', '\n']).is_empty()
}

/// Redacts the comments of a known key, each separately from the value beside it.
fn redact_comments(raw: &mut String, colon: usize, pass: &mut RedactionSession) -> Result<()> {
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

/// Redacts the lines of an unknown key. If the redacted lines are no longer a key with a value, a
/// quoted text replaces the value.
fn redact_unknown(raw: &mut String, pass: &mut RedactionSession) -> Result<()> {
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

fn redact_comment_lines(raw: &mut String, pass: &mut RedactionSession) -> Result<()> {
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

pub(super) fn redact(pass: &mut RedactionSession, text: &mut String) -> Result<bool> {
    let before = text.clone();
    pass.text(text)?;
    Ok(*text != before)
}
