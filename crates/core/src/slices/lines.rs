//! Slices of line ranges.

use super::{Going, Slice, bytes, text::Text};

/// The lines from `from` to `to`, inclusive and counted from 1, with their line ends: as many whole
/// lines as fit into `max_bytes`. If the first line does not fit, it is cut, and `next` continues
/// by bytes.
pub fn slice(text: &Text<'_>, from: usize, to: Option<usize>, max_bytes: usize) -> Slice {
    let last = to.unwrap_or(usize::MAX);
    // The start of the range, its end, and the end of the whole lines that fit; `None` before the
    // range begins.
    let (mut start, mut wanted, mut fitting) = (None, 0, None);
    let (mut total_lines, mut total_bytes) = (0, 0);
    for line in text.lines() {
        total_lines += 1;
        total_bytes = line.end();
        if (from..=last).contains(&total_lines) {
            let start = *start.get_or_insert(line.start);
            wanted = line.end();
            if wanted - start <= max_bytes {
                fitting = Some((total_lines, wanted));
            }
        }
    }
    let total = (total_lines, total_bytes);
    let Some(start) = start else {
        return bytes::show(text, total_bytes..total_bytes, total, None);
    };
    let (end, next) = match fitting {
        Some((_, end)) if end == wanted => (end, None),
        Some((line, end)) => (end, Some(Going::Lines { from: line + 1, to })),
        None => {
            let end = text.floor(start + max_bytes);
            (end, Some(Going::Bytes { from: end, to: to.map(|_| wanted) }))
        }
    };
    bytes::show(text, start..end, total, next)
}
