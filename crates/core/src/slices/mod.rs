//! Parts of a stored result: lines, bytes, matches of a regular expression, values of a JSON path.
//! Each is bounded and tells how to go on. All of it works on text; where the text comes from is
//! the caller's affair.
//!
//! | module | what it knows |
//! |---|---|
//! | `text` | the text that is sliced, and its lines |
//! | `bytes`, `lines`, `grep` | the slices |
//! | `grep_lines` | whole matching lines, for many texts |
//! | `pattern` | regular expressions, matched line by line |
//! | `json_path` | JSON paths, on the text of a value |

mod bytes;
mod grep;
mod grep_lines;
mod json_path;
mod lines;
mod pattern;
#[cfg(test)]
mod tests;
mod text;

use std::{borrow::Cow, ops::Range};

use tasks::Cancelled;

pub use grep::{Grep, Match};
pub use grep_lines::{LineMatch, Room, grep_lines};
pub use json_path::JsonPath;
pub(crate) use json_path::{PathStep, normalised_path};
pub use pattern::{Pattern, Syntax};

use crate::error::{Code, Error, Result};
use text::Text;

/// The smallest bound: a character always fits.
pub const MIN_BYTES: usize = 4;

/// What to read.
#[derive(Debug)]
pub struct Request {
    /// The values to read; without it, the whole result.
    pub json_path: Option<JsonPath>,
    /// What of them; without it, all from the start: by bytes, or of several values by lines.
    pub part: Option<Part>,
    /// No more bytes of text are given, at least [`MIN_BYTES`].
    pub max_bytes: usize,
}

/// Which part of a text.
#[derive(Debug)]
pub enum Part {
    /// Bytes from 0.
    Bytes {
        /// The first.
        from: usize,
        /// The one after the last.
        to: Option<usize>,
    },
    /// Lines from 1.
    Lines {
        /// The first.
        from: usize,
        /// The last.
        to: Option<usize>,
    },
    /// Matching lines.
    Grep(Grep),
}

/// How to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Going {
    /// By bytes.
    Bytes {
        /// The first.
        from: usize,
        /// The one after the last.
        to: Option<usize>,
    },
    /// By lines.
    Lines {
        /// The first.
        from: usize,
        /// The last.
        to: Option<usize>,
    },
    /// With the same expression.
    Grep {
        /// The line, from 1.
        from: usize,
        /// Where to begin within it, in bytes of the whole text.
        from_byte: Option<usize>,
    },
}

/// A part of a text.
#[derive(Debug)]
pub struct Slice {
    /// The part.
    pub text: String,
    /// Size of the whole.
    pub total_bytes: usize,
    /// Lines of the whole.
    pub total_lines: usize,
    /// Where `text` stands in the whole; not for `grep`.
    pub bytes: Option<Range<usize>>,
    /// The first and the last line of which `text` has something.
    pub lines: Option<(usize, usize)>,
    /// The matches of `grep`.
    pub matches: Option<Vec<Match>>,
    /// Normalised paths of the values that `text` shows.
    pub paths: Option<Vec<String>>,
    /// The JSON path found one value: going on can name it.
    pub is_one_value: bool,
    /// How to go on, when something is left.
    pub next: Option<Going>,
    /// The text is the base64 of bytes of this media type; offsets and sizes are those of the bytes.
    pub media_type: Option<String>,
}

/// A stored result.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    /// Its JSON, exactly as it is stored.
    Json(&'a str),
    /// A result that is a string, decoded.
    Text(&'a str),
}

/// Reads a part of a result. A JSON path into a string that holds the JSON of an object or an array goes into that, wherever the string is. Lone surrogates of a string, which UTF-8 cannot express, become U+FFFD.
///
/// # Errors
/// `InvalidArgument` when the JSON path asks for more work than is done.
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
        // Paths may be much longer than what they lead to: they are bounded as the text is.
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
    /// The lines that are shown: those that match, of a grep.
    fn shown_lines(&self) -> impl Iterator<Item = usize> {
        let range = self.lines.filter(|_| self.matches.is_none()).map(|(first, last)| first..=last);
        let mut matching: Vec<_> = self.matches.iter().flatten().map(|found| found.line).collect();
        matching.dedup();
        range.into_iter().flatten().chain(matching)
    }
}

/// A text that is the JSON of an object or an array: many tools return JSON in a string.
fn is_container(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && json_text::validate_document(text.as_bytes()).is_ok()
}

/// The text that is sliced: a string decoded, anything else as it is stored.
fn text_of(stored: Stored<'_>) -> Text<'_> {
    Text::Whole(match stored {
        Stored::Text(text) => Cow::Borrowed(text),
        Stored::Json(json) => {
            json_text::decode_string(json.as_bytes()).unwrap_or(Cow::Borrowed(json))
        }
    })
}

/// Nobody waits for the answer any more: nobody will see this.
fn cancelled_error() -> Error {
    Error::new(Code::Io, "the call was cancelled")
}
