//! Lines that match a regular expression, with lines of context, written as ripgrep writes them.

use std::{collections::VecDeque, ops::Range};

use tasks::Cancelled;

use super::{
    Going, Slice, cancelled_error,
    pattern::Pattern,
    text::{Line, Text},
};
use crate::error::Result;

/// Longer lines are shown as a window of about so many bytes around the match.
const WINDOW: usize = 512;
/// Shown of a window before its match.
const BEFORE_MATCH: usize = 128;
/// Matched text that is longer is cut, in bytes.
const MAX_MATCH: usize = 256;
const ELLIPSIS: &str = "…";
/// Between groups of lines that do not follow each other.
const SEPARATOR: &str = "--\n";
/// Lines between two looks whether anybody still waits.
const BATCH: usize = 4096;

/// Which lines to find.
#[derive(Debug)]
pub struct Grep {
    /// What to find.
    pub pattern: Pattern,
    /// Lines of context before a match.
    pub before: usize,
    /// Lines of context after a match.
    pub after: usize,
    /// The line to begin at, from 1.
    pub from: usize,
    /// Where to begin within that line, in bytes of the whole text.
    pub from_byte: usize,
}

/// A match: the first of its line, or of its window where the line is long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// From 1.
    pub line: usize,
    /// Where the match begins in the whole text, in bytes.
    pub byte_offset: usize,
    /// The matched text, cut when it is long.
    pub text: String,
}

impl Grep {
    /// The matching lines, as many as `max_bytes` hold.
    pub fn slice(&self, text: &Text<'_>, max_bytes: usize, cancelled: &Cancelled) -> Result<Slice> {
        let (total_lines, total_bytes) = text.size();
        let mut page = Page::new(max_bytes);
        // Lines before the one that is looked at, as far as a match would show them.
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
                // Another window where the line goes on behind this one.
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
            // More lines than bytes could not be shown.
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

/// What is shown, within its bound.
struct Page {
    text: String,
    max_bytes: usize,
    matches: Vec<Match>,
    /// The last line shown; 0 before the first.
    last_line: usize,
    /// Something did not fit: what follows would leave a gap.
    is_full: bool,
}

impl Page {
    fn new(max_bytes: usize) -> Self {
        Self { text: String::new(), max_bytes, matches: Vec::new(), last_line: 0, is_full: false }
    }

    /// What of a line is shown around a match: all of it unless it is long.
    fn width(&self, number: usize, content: &str, found: &Range<usize>) -> Range<usize> {
        let frame = number.to_string().len() + ":\n".len() + 2 * ELLIPSIS.len();
        let width = WINDOW.min(self.max_bytes.saturating_sub(frame)).max(1);
        if content.len() <= width {
            return 0..content.len();
        }
        let before = BEFORE_MATCH.min(width / 4);
        let start = content.floor_char_boundary(found.start.saturating_sub(before));
        let end = content.floor_char_boundary(start + width);
        // A window holds at least a character.
        start..end.max(content.ceil_char_boundary(start + 1))
    }

    /// Adds a match with the lines before it. `false`, and nothing added, when it does not fit, unless
    /// it is the first: that one is cut.
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
            // The context has to go, and what is still too long.
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

    /// Adds a line after a match, while there is room.
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

/// Writes what is shown of a line, behind its number and `mark`.
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
