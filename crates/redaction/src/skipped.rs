//! The lines of a text that are replaced without being examined, once its work budget is used up.

use std::ops::Range;

/// Maximum number of bytes of a match before its anchor.
const MAX_REACH: usize = 1 << 10;
/// Bytes at the end of the replaced lines whose names are examined, because their values may follow below.
const TAIL: usize = 512;
/// Maximum number of lines between a name and its value, except in tables and blocks.
const LINES_BELOW: usize = 8;

/// The most recent lines of a text that were replaced without being examined.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// Anchors before this position are skipped.
    examined_from: usize,
    /// Where the replaced lines end.
    end: usize,
}

impl Skipped {
    /// The position from which anchors are not skipped.
    pub const fn examined_from(&self) -> usize {
        self.examined_from
    }

    /// Whether the anchor at a position is skipped.
    pub const fn contains(&self, position: usize) -> bool {
        position < self.examined_from
    }

    /// Skips the line of an anchor and at least `excess` bytes after it. Returns the range that has to be replaced in
    /// addition to what already was.
    pub fn extend(&mut self, text: &str, anchor: &Range<usize>, excess: usize) -> Range<usize> {
        // From the start of the line: a secret may precede its anchor.
        let start = line_start(text, anchor.start).max(self.end);
        let enough = anchor.end.saturating_add(excess).saturating_add(TAIL);
        let end = line_end(text, anchor.end);
        self.end = if end > enough { end } else { paragraph_end(text, enough) };
        // Names at the end are examined: their values may follow below.
        self.examined_from = anchor.end.max(self.end.saturating_sub(TAIL));
        start..self.end
    }
}

/// The start of the line that contains a position, or the farthest position before it at which a match may begin.
fn line_start(text: &str, position: usize) -> usize {
    let from = position.saturating_sub(MAX_REACH);
    let before = text.as_bytes().get(from..position).unwrap_or_default();
    let line_end = memchr::memrchr2(b'\n', b'\r', before);
    line_end.map_or_else(|| text.floor_char_boundary(from), |line_end| from + line_end + 1)
}

/// The end of the lines that may contain values of names on the line of a position: at the first empty line after the
/// next few lines.
fn paragraph_end(text: &str, position: usize) -> usize {
    let mut end = line_end(text, position);
    for number in 1_usize.. {
        let rest = text.as_bytes().get(end..).unwrap_or_default();
        let next = match rest {
            [] => return end,
            [b'\r', b'\n', ..] => line_end(text, end + 2),
            _ => line_end(text, end + 1),
        };
        let line = text.as_bytes().get(end..next).unwrap_or_default();
        if number > LINES_BELOW && line.trim_ascii().is_empty() {
            return end;
        }
        end = next;
    }
    end
}

/// The end of the line that contains a position.
fn line_end(text: &str, position: usize) -> usize {
    let rest = text.as_bytes().get(position..).unwrap_or_default();
    memchr::memchr2(b'\n', b'\r', rest).map_or(text.len(), |length| position + length)
}
