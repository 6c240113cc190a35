//! Writes the preview of a text: the outline, the parts, and notes on the omitted text between them.

use super::{
    delimited::harmless,
    preview::{Preview, left_out},
};

/// The omitted middle of an output that does not fit into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    /// Its position in the text that is present.
    pub at: usize,
    /// The number of missing bytes.
    pub bytes: usize,
    /// The number of line ends in them.
    pub line_ends: usize,
    /// The outline of the whole JSON, which cannot be read from its parts.
    pub outline: String,
}

/// The preview's text.
pub(super) fn write(shown: &Preview, text: &str, gap: Option<&Gap>, mark: &str) -> String {
    let mut out = shown.outline.clone();
    if shown.pieces.is_empty() {
        return out;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    let note = |bytes: usize, out: &mut String| {
        if bytes > 0 {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(&left_out(bytes, mark));
        }
    };
    // Before each part, the bytes that are missing there beside the omitted text.
    let at = gap.map_or(usize::MAX, |gap| gap.at);
    let mut missing = gap.map_or(0, |gap| gap.bytes);
    let mut end = 0;
    for piece in &shown.pieces {
        for part in [piece.start..piece.end.min(at), piece.start.max(at)..piece.end] {
            if part.is_empty() {
                continue;
            }
            let gap = if part.start >= at { std::mem::take(&mut missing) } else { 0 };
            note(part.start - end + gap, &mut out);
            out.push_str(&harmless(text.get(part.clone()).unwrap_or_default()));
            end = part.end;
        }
    }
    note(text.len() - end + missing, &mut out);
    out
}

/// The tool parameter with which reading continues after the shown beginning.
pub(super) fn next(shown: &Preview, text: &str) -> String {
    let end = shown.pieces.first().filter(|piece| piece.start == 0).map_or(0, |piece| piece.end);
    let head = text.get(..end).unwrap_or_default();
    if head.ends_with('\n') {
        let line = memchr::memchr_iter(b'\n', head.as_bytes()).count() + 1;
        return format!("\"from_line\":{line}");
    }
    format!("\"from_byte\":{end}")
}

/// The number of lines, counted as editors do.
pub(super) fn lines(text: &str, gap: Option<&Gap>) -> String {
    let ends =
        memchr::memchr_iter(b'\n', text.as_bytes()).count() + gap.map_or(0, |gap| gap.line_ends);
    let count = ends + usize::from(!text.is_empty() && !text.ends_with('\n'));
    format!("in {count} {} of text", if count == 1 { "line" } else { "lines" })
}
