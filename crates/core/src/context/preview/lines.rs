//! Splitting texts into lines, as ranges or slices.

use std::ops::Range;

use memchr::memchr_iter;

/// The range of each line, with its line end.
pub(super) fn ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let ends = memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    let last = (!text.is_empty() && !text.ends_with('\n')).then_some(text.len());
    ends.chain(last).map(move |end| {
        let range = start..end;
        start = end;
        range
    })
}

/// Each line without its line end.
pub(super) fn contents(text: &str) -> impl Iterator<Item = &str> {
    ranges(text).map(|range| content(text, &range))
}

/// A line without its line end.
pub(super) fn content<'t>(text: &'t str, line: &Range<usize>) -> &'t str {
    text.get(line.clone()).unwrap_or_default().trim_end_matches(['\n', '\r'])
}

/// The line that holds the byte at `offset`.
pub(super) fn around(text: &str, offset: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let before = bytes.get(..offset).unwrap_or(bytes);
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let after = bytes.get(offset..).unwrap_or_default();
    let end = memchr::memchr(b'\n', after).map_or(text.len(), |at| offset + at + 1);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_in_one_line() {
        for text in ["", "a", "a\n", "a\n\nb", "\n", "a\r\nb\r\n"] {
            let joined: String = ranges(text).map(|range| &text[range]).collect();
            assert_eq!(joined, text);
            for range in ranges(text) {
                for offset in range.clone() {
                    assert_eq!(around(text, offset), range, "{text:?} at {offset}");
                }
            }
        }
        assert_eq!(contents("a\r\n\nb").collect::<Vec<_>>(), ["a", "", "b"]);
    }
}
