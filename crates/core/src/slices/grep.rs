//! Slices of the lines that match a regular expression, with lines of context, in the format of
//! ripgrep.

use std::{collections::VecDeque, ops::Range};

use tasks::Cancelled;

use super::{
    Going, Slice, cancelled_error,
    pattern::Pattern,
    text::{Line, Text},
};
use crate::error::Result;

/// Lines longer than this are shown as a window of about this many bytes around the match.
const WINDOW: usize = 512;
/// The bytes of a window before its match.
const BEFORE_MATCH: usize = 128;
/// The longest matched text, in bytes; longer ones are cut.
const MAX_MATCH: usize = 256;
const ELLIPSIS: &str = "…";
/// Written between groups of lines that are not adjacent.
const SEPARATOR: &str = "--\n";
/// Lines between two checks for cancellation.
const BATCH: usize = 4096;

/// The lines to find.
#[derive(Debug)]
pub struct Grep {
    /// The expression.
    pub pattern: Pattern,
    /// Lines of context before a match.
    pub before: usize,
    /// Lines of context after a match.
    pub after: usize,
    /// The first line to search, from 1.
    pub from: usize,
    /// The position to begin at within that line, in bytes of the whole text.
    pub from_byte: usize,
}

/// A match: the first one of a line, or of each window of a long line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The line, from 1.
    pub line: usize,
    /// The position in the whole text, in bytes.
    pub byte_offset: usize,
    /// The matched text, cut when it is long.
    pub text: String,
}

impl Grep {
    /// The matching lines, up to `max_bytes` bytes.
    pub fn slice(&self, text: &Text<'_>, max_bytes: usize, cancelled: &Cancelled) -> Result<Slice> {
        let (total_lines, total_bytes) = text.size();
        let mut page = Page::new(max_bytes);
        // The lines before the current one, as many as a match would show.
        let mut before: VecDeque<(usize, Line<'_>)> = VecDeque::new();
        let mut after = 0;
        let mut next = None;
        'lines: for (line, number) in text.lines().zip(1..) {
            if number % BATCH == 0 && cancelled.is_set() {
                return Err(cancelled_error());
            }
            let mut at = match number.cmp(&self.from) {
                std::cmp::Ordering::Less => usize::MAX,
                std::cmp::Ordering::Equal => self.from_byte.saturating_sub(line.start),
                std::cmp::Ordering::Greater => 0,
            };
            let mut is_matching = false;
            self.pattern.check_line(&line.content)?;
            while let Some(found) = self.pattern.find_at(&line.content, at) {
                if cancelled.is_set() {
                    return Err(cancelled_error());
                }
                let shown = page.width(number, &line.content, &found);
                let last_line = page.last_line;
                let context = before.iter().filter(|(context, _)| *context > last_line);
                if !page.add_match(number, &line, &found, &shown, context) {
                    let from_byte = (at > 0).then_some(line.start + at);
                    next = Some(Going::Grep { from: number, from_byte });
                    break 'lines;
                }
                is_matching = true;
                after = self.after;
                // A long line continues after this window, in another one.
                at = shown.end.max(found.end);
                if at >= line.content.len() {
                    break;
                }
            }
            if !is_matching && after > 0 {
                after -= 1;
                page.add_context(number, &line);
            }
            before.push_back((number, line));
            // More lines than this could not be shown.
            if before.len() > self.before.min(max_bytes) {
                before.pop_front();
            }
        }
        let Page { text, matches, .. } = page;
        let lines =
            matches.first().zip(matches.last()).map(|(first, last)| (first.line, last.line));
        Ok(Slice {
            text,
            total_bytes,
            total_lines,
            bytes: None,
            lines,
            matches: Some(matches),
            paths: None,
            is_one_value: false,
            next,
            media_type: None,
        })
    }
}

/// The text of the slice, within its bound.
struct Page {
    text: String,
    max_bytes: usize,
    matches: Vec<Match>,
    /// The last line in the text; 0 if there is none.
    last_line: usize,
    /// Whether a line did not fit: further lines would leave a gap.
    is_full: bool,
}

impl Page {
    fn new(max_bytes: usize) -> Self {
        Self { text: String::new(), max_bytes, matches: Vec::new(), last_line: 0, is_full: false }
    }

    /// The part of a line that is shown for a match: all of it, unless it is long.
    fn width(&self, number: usize, content: &str, found: &Range<usize>) -> Range<usize> {
        let frame = number.to_string().len() + ":\n".len() + 2 * ELLIPSIS.len();
        let width = WINDOW.min(self.max_bytes.saturating_sub(frame)).max(1);
        if content.len() <= width {
            return 0..content.len();
        }
        let before = BEFORE_MATCH.min(width / 4);
        let start = content.floor_char_boundary(found.start.saturating_sub(before));
        let end = content.floor_char_boundary(start + width);
        // A window has at least one character.
        start..end.max(content.ceil_char_boundary(start + 1))
    }

    /// Adds a match with the lines before it. If it does not fit, returns `false` and adds nothing;
    /// the first match is cut to fit instead.
    fn add_match<'l, 't: 'l>(
        &mut self,
        number: usize,
        line: &Line<'_>,
        found: &Range<usize>,
        shown: &Range<usize>,
        context: impl Iterator<Item = &'l (usize, Line<'t>)>,
    ) -> bool {
        let mut added = String::new();
        let mut last = self.last_line;
        for (number, line) in context {
            let shown = self.width(*number, &line.content, &(0..0));
            write_line(&mut added, &mut last, *number, '-', &line.content, &shown);
        }
        let context = added.len();
        write_line(&mut added, &mut last, number, ':', &line.content, shown);
        if self.is_full || self.text.len() + added.len() > self.max_bytes {
            if !self.matches.is_empty() {
                return false;
            }
            // The context is dropped, then the rest is cut.
            added.drain(..context);
            added.truncate(added.floor_char_boundary(self.max_bytes));
        }
        self.text.push_str(&added);
        self.last_line = last;
        let matched = line.content.get(found.clone()).unwrap_or_default();
        let cut = matched.floor_char_boundary(MAX_MATCH);
        self.matches.push(Match {
            line: number,
            byte_offset: line.start + found.start,
            text: matched.get(..cut).unwrap_or_default().to_owned(),
        });
        true
    }

    /// Adds a line after a match, if it fits.
    fn add_context(&mut self, number: usize, line: &Line<'_>) {
        let mut added = String::new();
        let mut last = self.last_line;
        let shown = self.width(number, &line.content, &(0..0));
        write_line(&mut added, &mut last, number, '-', &line.content, &shown);
        if self.is_full || self.text.len() + added.len() > self.max_bytes {
            self.is_full = true;
            return;
        }
        self.text.push_str(&added);
        self.last_line = last;
    }
}

/// Writes the shown part of a line, after its number and `mark`.
fn write_line(
    out: &mut String,
    last: &mut usize,
    number: usize,
    mark: char,
    content: &str,
    shown: &Range<usize>,
) {
    if *last > 0 && number > *last + 1 {
        out.push_str(SEPARATOR);
    }
    *last = number;
    out.push_str(&number.to_string());
    out.push(mark);
    if shown.start > 0 {
        out.push_str(ELLIPSIS);
    }
    out.push_str(content.get(shown.clone()).unwrap_or_default());
    if shown.end < content.len() {
        out.push_str(ELLIPSIS);
    }
    out.push('\n');
}
