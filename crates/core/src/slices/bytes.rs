//! Slices of byte ranges; a bound within a character is moved to the character's start.

use std::ops::Range;

use super::{Going, Slice, text::Text};

/// The bytes from `from` up to, not including, `to`, at most `max_bytes`. A position within a
/// character is moved before it, so that adjacent ranges contain every character once.
pub fn slice(text: &Text<'_>, from: usize, to: Option<usize>, max_bytes: usize) -> Slice {
    let (total_lines, total_bytes) = text.size();
    let boundary = |offset: usize| text.floor(offset.min(total_bytes));
    let start = boundary(from);
    let wanted = boundary(to.unwrap_or(total_bytes)).max(start);
    let end = wanted.min(boundary(start.saturating_add(max_bytes)));
    let next = (end < wanted).then_some(Going::Bytes { from: end, to });
    show(text, start..end, (total_lines, total_bytes), next)
}

/// A slice with the text of a range.
pub(super) fn show(
    text: &Text<'_>,
    range: Range<usize>,
    (total_lines, total_bytes): (usize, usize),
    next: Option<Going>,
) -> Slice {
    Slice {
        text: text.piece(range.clone()),
        total_bytes,
        total_lines,
        lines: text.lines_of(&range),
        bytes: Some(range),
        matches: None,
        paths: None,
        is_one_value: false,
        next,
        media_type: None,
    }
}
