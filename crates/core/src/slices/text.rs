//! The text that is sliced: one text (a whole result, or the one value that a JSON path selects),
//! or the several values that a JSON path selects, one line each.

use std::{borrow::Cow, ops::Range};

use memchr::{memchr, memchr_iter, memchr2};

use super::json_path::Value;

/// The text that is sliced.
#[derive(Debug)]
pub enum Text<'a> {
    /// A single text.
    Whole(Cow<'a, str>),
    /// Values of a JSON text, one line each. The last line has no line end.
    Values {
        /// The JSON text.
        json: &'a str,
        /// The values in order.
        values: Vec<Value>,
        /// Whether a value may have line ends.
        has_breaks: bool,
    },
}

/// A line of a text.
#[derive(Debug, Clone)]
pub struct Line<'t> {
    /// The position of the line, in bytes.
    pub start: usize,
    /// The line without its line end.
    pub content: Cow<'t, str>,
    /// `\n`, `\r\n`, or empty at the end of the text.
    pub terminator: &'static str,
}

impl Line<'_> {
    /// The position of the next line.
    pub fn end(&self) -> usize {
        self.start + self.content.len() + self.terminator.len()
    }
}

impl<'a> Text<'a> {
    /// One line for each of the values.
    pub fn of_values(json: &'a str, values: Vec<Value>) -> Self {
        let has_breaks = memchr2(b'\n', b'\r', json.as_bytes()).is_some();
        Self::Values { json, values, has_breaks }
    }

    /// The lines in order. A line end at the end of the text does not begin another line.
    pub fn lines(&self) -> Lines<'_> {
        Lines { text: self, position: 0, number: 0 }
    }

    /// The numbers of lines and bytes.
    pub fn size(&self) -> (usize, usize) {
        match self {
            Self::Whole(text) => (count_lines(text), text.len()),
            Self::Values { values, .. } => {
                (values.len(), self.lines().last().map_or(0, |line| line.end()))
            }
        }
    }

    /// The last character boundary at or before `offset`.
    pub fn floor(&self, offset: usize) -> usize {
        match self {
            Self::Whole(text) => text.floor_char_boundary(offset),
            Self::Values { .. } => {
                for line in self.lines() {
                    if offset < line.end() {
                        return line.start + line.content.floor_char_boundary(offset - line.start);
                    }
                }
                offset
            }
        }
    }

    /// The text of a range whose bounds are between characters.
    pub fn piece(&self, range: Range<usize>) -> String {
        match self {
            Self::Whole(text) => text.get(range).unwrap_or_default().to_owned(),
            Self::Values { .. } => {
                let mut piece = String::with_capacity(range.len());
                for line in self.lines() {
                    if line.start >= range.end {
                        break;
                    }
                    let from = range.start.saturating_sub(line.start);
                    let to = range.end - line.start;
                    let length = line.content.len();
                    piece.push_str(
                        line.content.get(from.min(length)..to.min(length)).unwrap_or_default(),
                    );
                    if (from..to).contains(&length) {
                        piece.push_str(line.terminator);
                    }
                }
                piece
            }
        }
    }

    /// The first and the last line of a range, counted from 1; `None` if the range is empty.
    pub fn lines_of(&self, range: &Range<usize>) -> Option<(usize, usize)> {
        if range.is_empty() {
            return None;
        }
        match self {
            Self::Whole(text) => {
                let breaks = |range: Range<usize>| {
                    memchr_iter(b'\n', text.as_bytes().get(range).unwrap_or_default()).count()
                };
                let first = 1 + breaks(0..range.start);
                // A line end belongs to the line before it.
                Some((first, first + breaks(range.start..range.end - 1)))
            }
            Self::Values { .. } => {
                let mut lines = self.lines().enumerate();
                let first = lines.find(|(_, line)| range.start < line.end())?;
                let last = lines.take_while(|(_, line)| line.start < range.end).last();
                Some((first.0 + 1, last.unwrap_or(first).0 + 1))
            }
        }
    }
}

fn count_lines(text: &str) -> usize {
    let ends = memchr_iter(b'\n', text.as_bytes()).count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The lines of a text.
#[derive(Debug)]
pub struct Lines<'t> {
    text: &'t Text<'t>,
    /// The position in bytes.
    position: usize,
    /// The number of the next line, from 0.
    number: usize,
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        let start = self.position;
        let (content, terminator) = match self.text {
            Text::Whole(text) => {
                let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
                match memchr(b'\n', rest.as_bytes()) {
                    None => (Cow::Borrowed(rest), ""),
                    Some(end) => {
                        let content = rest.get(..end).unwrap_or_default();
                        match content.strip_suffix('\r') {
                            Some(content) => (Cow::Borrowed(content), "\r\n"),
                            None => (Cow::Borrowed(content), "\n"),
                        }
                    }
                }
            }
            Text::Values { json, values, has_breaks } => {
                let value = json.get(values.get(self.number)?.range()).unwrap_or_default();
                // Strings have no unescaped control characters, so line ends are between tokens
                // only.
                let content = if *has_breaks && value.contains(['\n', '\r']) {
                    Cow::Owned(value.replace(['\n', '\r'], ""))
                } else {
                    Cow::Borrowed(value)
                };
                (content, if self.number + 1 < values.len() { "\n" } else { "" })
            }
        };
        let line = Line { start, content, terminator };
        self.position = line.end();
        self.number += 1;
        Some(line)
    }
}
