//! Line ranges.

use super::{Going, Slice, bytes, text::Text};

/// The lines from `from` to `to`, both included and counted from 1, with their ends: as many whole
/// ones as `max_bytes` hold. Where not even the first fits, it is cut, and what is left of the range
/// goes on by bytes.
pub fn slice(text: &Text<'_>, from: usize, to: Option<usize>, max_bytes: usize) -> Slice {
    let last = to.unwrap_or(usize::MAX);
    // Where the range and the whole lines that fit of it end; `None` before the range begins.
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
