//! Reads parts of a stored result: lines, bytes, matches of a regular expression, or the values of
//! a JSON path. Each slice has a bounded size and says how to continue. The functions work on text
//! in memory; `context::read` calls them.
//!
//! | module | contents |
//! |---|---|
//! | `text` | the text that is sliced, and its lines |
//! | `bytes`, `lines`, `grep` | the kinds of slices |
//! | `grep_lines` | whole matching lines, for searches of many texts |
//! | `blocks` | the table of a long result's blocks |
//! | `sparse` | slices of a text of which some blocks are read |
//! | `pattern` | regular expressions, matched line by line |
//! | `json_path` | JSON paths, evaluated on the text |

mod blocks;
mod bytes;
mod grep;
mod grep_lines;
mod json_path;
mod lines;
mod pattern;
mod sparse;
#[cfg(test)]
mod sparse_tests;
#[cfg(test)]
mod tests;
mod text;

use std::{borrow::Cow, ops::Range};

use tasks::Cancelled;

pub(crate) use blocks::{Blocks, BlocksWriter, MAX_MEMBER, remove_blocks};
pub use grep::{Grep, Match};
pub use grep_lines::{LineMatch, Room, grep_lines};
pub use json_path::JsonPath;
pub(crate) use json_path::{PathStep, normalised_path};
pub use pattern::{Pattern, Syntax};
pub(crate) use sparse::{Sliced, SparseRequest, Window};

use crate::error::{Code, Error, Result};
use text::Text;

/// The least size limit, which fits every character.
pub const MIN_BYTES: usize = 4;

/// The part of a result to read.
#[derive(Debug)]
pub struct Request {
    /// The values to read; `None` for the whole result.
    pub json_path: Option<JsonPath>,
    /// The part of them; `None` for all from the start, by bytes, or for several values by lines.
    pub part: Option<Part>,
    /// The most bytes of text, at least [`MIN_BYTES`].
    pub max_bytes: usize,
}

/// A part of a text.
#[derive(Debug)]
pub enum Part {
    /// A range of bytes, from 0.
    Bytes {
        /// The first.
        from: usize,
        /// The one after the last.
        to: Option<usize>,
    },
    /// A range of lines, from 1.
    Lines {
        /// The first.
        from: usize,
        /// The last.
        to: Option<usize>,
    },
    /// Matching lines.
    Grep(Grep),
}

/// The part to read next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Going {
    /// Bytes.
    Bytes {
        /// The first.
        from: usize,
        /// The one after the last.
        to: Option<usize>,
    },
    /// Lines.
    Lines {
        /// The first.
        from: usize,
        /// The last.
        to: Option<usize>,
    },
    /// Lines that match the same expression.
    Grep {
        /// The line, from 1.
        from: usize,
        /// The position to begin at within it, in bytes of the whole text.
        from_byte: Option<usize>,
    },
}

/// A slice of a text.
#[derive(Debug)]
pub struct Slice {
    /// The text of the slice.
    pub text: String,
    /// The size of the whole text.
    pub total_bytes: usize,
    /// The number of lines of the whole text.
    pub total_lines: usize,
    /// The position of `text` in the whole text; `None` for `grep`.
    pub bytes: Option<Range<usize>>,
    /// The first and the last line that `text` contains or overlaps.
    pub lines: Option<(usize, usize)>,
    /// The matches of `grep`.
    pub matches: Option<Vec<Match>>,
    /// The normalised paths of the values in `text`.
    pub paths: Option<Vec<String>>,
    /// Whether the JSON path selected one value, so that the next read can name it.
    pub is_one_value: bool,
    /// The part to read next, if anything is left.
    pub next: Option<Going>,
    /// Set if the text is the base64 of binary data of this media type; offsets and sizes are those
    /// of the data.
    pub media_type: Option<String>,
}

/// A stored result.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    /// A JSON text, as stored.
    Json(&'a str),
    /// A string, decoded.
    Text(&'a str),
}

/// Whether a request needs the whole text: one for matches or for a JSON path.
pub(crate) fn needs_whole(request: &Request) -> bool {
    request.json_path.is_some() || matches!(request.part, Some(Part::Grep(_)))
}

/// Reads a part of a result. A JSON path may continue into a string with the JSON of an object or
/// an array. Lone surrogates, which UTF-8 cannot express, become U+FFFD.
///
/// # Errors `InvalidArgument` if the JSON path takes too much work.
pub fn read(stored: Stored<'_>, request: &Request, cancelled: &Cancelled) -> Result<Slice> {
    let escaped;
    let Some(path) = &request.json_path else {
        return request.slice(&text_of(stored), cancelled);
    };
    let inner = match stored {
        Stored::Json(json) => json_text::decode_string(json.as_bytes()),
        Stored::Text(text) => Some(Cow::Borrowed(text)),
    };
    let inner = inner.filter(|text| is_container(text));
    let json = match (&inner, stored) {
        (Some(text), _) => text,
        (None, Stored::Json(json)) => json,
        (None, Stored::Text(text)) => {
            let mut token = Vec::new();
            json_text::escape_string(text, &mut token);
            escaped = String::from_utf8(token).unwrap_or_default();
            &escaped
        }
    };
    let (place, values) = path.find_through(json, cancelled)?;
    let json = &*place.text;
    if let [value] = values.as_slice() {
        let text = text_of(Stored::Json(json.get(value.range()).unwrap_or_default()));
        let mut slice = request.slice(&text, cancelled)?;
        slice.paths = Some(place.paths(&values, usize::MAX).0);
        slice.is_one_value = true;
        return Ok(slice);
    }
    let text = Text::of_values(json, values);
    let Text::Values { values, .. } = &text else { return request.slice(&text, cancelled) };
    let mut max_bytes = request.max_bytes;
    loop {
        let mut slice = request.slice_within(&text, max_bytes, cancelled)?;
        let shown: Vec<_> =
            slice.shown_lines().filter_map(|line| values.get(line - 1).copied()).collect();
        // Paths may be much longer than the values, so they are limited like the text.
        let (paths, are_all) = place.paths(&shown, request.max_bytes);
        if are_all || max_bytes <= MIN_BYTES {
            slice.paths = Some(paths);
            return Ok(slice);
        }
        max_bytes = (max_bytes / 2).max(MIN_BYTES);
    }
}

impl Request {
    fn slice(&self, text: &Text<'_>, cancelled: &Cancelled) -> Result<Slice> {
        self.slice_within(text, self.max_bytes, cancelled)
    }

    fn slice_within(
        &self,
        text: &Text<'_>,
        max_bytes: usize,
        cancelled: &Cancelled,
    ) -> Result<Slice> {
        let max_bytes = max_bytes.max(MIN_BYTES);
        match (&self.part, text) {
            (None, Text::Whole(_)) => Ok(bytes::slice(text, 0, None, max_bytes)),
            (None, Text::Values { .. }) => Ok(lines::slice(text, 1, None, max_bytes)),
            (Some(Part::Bytes { from, to }), _) => Ok(bytes::slice(text, *from, *to, max_bytes)),
            (Some(Part::Lines { from, to }), _) => Ok(lines::slice(text, *from, *to, max_bytes)),
            (Some(Part::Grep(grep)), _) => grep.slice(text, max_bytes, cancelled),
        }
    }
}

impl Slice {
    /// The numbers of the shown lines; for a grep, those that match.
    fn shown_lines(&self) -> impl Iterator<Item = usize> {
        let range = self.lines.filter(|_| self.matches.is_none()).map(|(first, last)| first..=last);
        let mut matching: Vec<_> = self.matches.iter().flatten().map(|found| found.line).collect();
        matching.dedup();
        range.into_iter().flatten().chain(matching)
    }
}

/// Whether a text is the JSON of an object or an array, because many tools return JSON in a string.
fn is_container(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && json_text::validate_document(text.as_bytes()).is_ok()
}

/// The text that is sliced: a string decoded, other JSON as stored.
fn text_of(stored: Stored<'_>) -> Text<'_> {
    Text::Whole(match stored {
        Stored::Text(text) => Cow::Borrowed(text),
        Stored::Json(json) => {
            json_text::decode_string(json.as_bytes()).unwrap_or(Cow::Borrowed(json))
        }
    })
}

/// The error of a cancelled operation, which no caller receives.
fn cancelled_error() -> Error {
    Error::new(Code::Io, "the call was cancelled")
}
