//! Finds the lines around a name, in the text or in a string of JSON or code within the text. In such a string, lines
//! end with escape sequences and the string's quote ends the last line.

use std::ops::Range;

use crate::work;

/// Maximum number of backslashes in an escape sequence; strings of JSON nested in strings of JSON have more than one.
const MAX_ESCAPE: usize = 16;
/// Maximum indentation of a YAML value.
const MAX_INDENTATION: usize = 200;
/// Maximum distance within which a line end is searched to determine the form of the line ends.
const MAX_LINE: usize = 4096;

/// Work steps for examining a sign that may end a line.
const STEPS_OF_SIGN: usize = 4;
/// Bytes without such a sign that one work step skips.
const BYTES_OF_STEP: usize = 16;

/// The lines of a text, or of a string in the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// Number of backslashes of an escaped line end; zero when line ends are not escaped.
    escapes: usize,
}

impl<'t> Lines<'t> {
    /// The lines around `position`, in the form of the nearest line ends.
    pub fn around(text: &'t str, position: usize) -> Self {
        let any = Self { text, escapes: MAX_ESCAPE };
        let of_text = Self { text, escapes: 0 };
        let next = any.next_end(position, MAX_LINE);
        let escapes = next.as_ref().map_or(0, |end| any.escapes_of(end.start));
        if escapes > 0 {
            return Self { text, escapes };
        }
        // In the last line of a string, which its quote ends.
        let Some(before) = any.previous_end(position, MAX_LINE) else { return of_text };
        let in_string = Self { text, escapes: any.escapes_of(before.start) };
        if in_string.escapes == 0 {
            return of_text;
        }
        let line = position..next.map_or(text.len().min(position + MAX_LINE), |end| end.start);
        let rest = text.as_bytes().get(line).unwrap_or_default();
        let borders = memchr::memchr_iter(b'"', rest).map(|offset| position + offset);
        let borders = borders.filter(|&at| in_string.is_border(at)).count();
        if borders % 2 == 1 { in_string } else { of_text }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or_default()
    }

    /// The number of backslashes at `at`, at most [`MAX_ESCAPE`].
    fn escapes_of(&self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        rest.iter().take(MAX_ESCAPE).take_while(|&&byte| byte == b'\\').count()
    }

    /// The length of the line end at `at`: `\n`, `\r\n`, or their escape sequences.
    pub fn end_at(&self, at: usize) -> Option<usize> {
        match self.byte(at) {
            b'\n' => Some(1),
            b'\r' => Some(1 + usize::from(self.byte(at + 1) == b'\n')),
            b'\\' if self.escapes > 0 => {
                let run = self.escapes_of(at);
                match self.byte(at + run) {
                    b'n' => Some(run + 1),
                    b'r' => {
                        let next = self.escapes_of(at + run + 1);
                        let goes_on = next > 0 && self.byte(at + run + 1 + next) == b'n';
                        Some(run + 1 + if goes_on { next + 1 } else { 0 })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The first line end at or after `start`.
    fn next_end(&self, start: usize, limit: usize) -> Option<Range<usize>> {
        let rest = self.text.as_bytes().get(start..)?;
        let window = rest.get(..limit).unwrap_or(rest);
        let mut steps = 0;
        let mut found = None;
        let mut passed = 0;
        while let Some(offset) = memchr::memchr3(b'\n', b'\r', b'\\', window.get(passed..)?) {
            steps += STEPS_OF_SIGN;
            let offset = passed + offset;
            let run = window.get(offset..)?.iter().take_while(|&&byte| byte == b'\\').count();
            steps += run;
            // Of a long run of backslashes, the escape sequence has the last ones.
            let at = start + offset + run.saturating_sub(MAX_ESCAPE);
            found = self.end_at(at).map(|length| at..at + length);
            passed = offset + run.max(1);
            if found.is_some() {
                break;
            }
        }
        let passed = found.as_ref().map_or(window.len(), |end| end.start - start);
        work::add(steps + passed / BYTES_OF_STEP);
        found
    }

    /// The last line end before `position`.
    fn previous_end(&self, position: usize, limit: usize) -> Option<Range<usize>> {
        let from = position.saturating_sub(limit);
        let before = self.text.as_bytes().get(from..position)?;
        let backslashes = |end: usize| {
            let before = self.text.as_bytes().get(..end).unwrap_or_default();
            before.iter().rev().take(MAX_ESCAPE).take_while(|&&byte| byte == b'\\').count()
        };
        let mut steps = 0;
        let line_end = memchr::memrchr2(b'\n', b'\r', before);
        let line_start = line_end.map_or(0, |end| end + 1);
        let line = before.get(line_start..).unwrap_or_default();
        let around = (from + line_start).saturating_sub(1)..position;
        let is_escaped = self.escapes > 0
            && memchr::memchr(b'\\', self.text.as_bytes().get(around).unwrap_or_default())
                .is_some();
        if !is_escaped {
            // No letter `n` ends the line. The steps counted are those of examining each candidate.
            let signs = count(b'n', line) + usize::from(line_end.is_some());
            work::add(STEPS_OF_SIGN * signs + line.len() / BYTES_OF_STEP);
            return line_end.map(|end| from + end..from + end + 1);
        }
        let mut signs = memchr::memchr3_iter(b'\n', b'\r', b'n', before).rev();
        let found = signs.find_map(|offset| {
            steps += STEPS_OF_SIGN;
            let at = from + offset;
            match self.byte(at) {
                b'n' if self.escapes > 0 && backslashes(at) > 0 => {
                    Some(at - backslashes(at)..at + 1)
                }
                b'n' => None,
                _ => Some(at..at + 1),
            }
        });
        let passed = found.as_ref().map_or(before.len(), |end| position - end.end);
        work::add(steps + passed / BYTES_OF_STEP);
        found
    }

    /// Whether the byte at `at` is a quote that begins or ends the string: it has fewer backslashes than the line ends
    /// of the string.
    fn is_border(&self, at: usize) -> bool {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let escapes = before.iter().rev().take(MAX_ESCAPE).take_while(|&&byte| byte == b'\\');
        self.escapes > 0 && self.byte(at) == b'"' && escapes.count() < self.escapes
    }

    /// The rest of the line from `start`, without its end, and the start of the next line, which is `None` for the last
    /// line. Returns `None` when the rest is longer than `limit` bytes.
    pub fn rest(&self, start: usize, limit: usize) -> Option<(Range<usize>, Option<usize>)> {
        let length = self.text.len();
        let line_end = self.next_end(start, limit);
        let end = line_end.as_ref().map_or(length.min(start + limit), |end| end.start);
        let line = self.text.as_bytes().get(start..end)?;
        let mut quotes = memchr::memchr_iter(b'"', line).map(|offset| start + offset);
        let string_end =
            if self.escapes > 0 { quotes.find(|&at| self.is_border(at)) } else { None };
        if let Some(end) = string_end {
            let escapes = line.get(..end - start)?.iter().rev().take(MAX_ESCAPE);
            let escapes = escapes.take_while(|&&byte| byte == b'\\').count();
            return Some((start..end - escapes, None));
        }
        match line_end {
            Some(end) => Some((start..end.start, Some(end.end))),
            None => (start + limit >= length).then_some((start..length, None)),
        }
    }

    /// The start of the line that contains `position`, if it is at most `limit` bytes before.
    pub fn start(&self, position: usize, limit: usize) -> Option<usize> {
        let from = position.saturating_sub(limit);
        let line_end = self.previous_end(position, limit).map(|end| end.end);
        let start = line_end.unwrap_or(from);
        let line = self.text.as_bytes().get(start..position)?;
        let mut quotes = memchr::memrchr_iter(b'"', line).map(|offset| start + offset);
        let string_start =
            if self.escapes > 0 { quotes.find(|&at| self.is_border(at)) } else { None };
        string_start.map(|quote| quote + 1).or(line_end).or((from == 0).then_some(0))
    }

    /// The start of the line before the one that begins at `start`.
    pub fn previous(&self, start: usize) -> Option<usize> {
        let end = self.previous_end(start, 2 * MAX_ESCAPE).filter(|end| end.end == start)?;
        let is_pair = self.byte(end.start) == b'\n'
            && end.start.checked_sub(1).is_some_and(|before| self.byte(before) == b'\r');
        self.start(end.start - usize::from(is_pair), MAX_LINE)
    }

    /// The column of `position` in its line, if it is preceded only by spaces, a diff marker and spaces, or the dashes
    /// of YAML lists.
    pub fn indentation(&self, position: usize) -> Option<usize> {
        let start = self.start(position, MAX_INDENTATION)?;
        let before = self.text.as_bytes().get(start..position)?;
        let before = match before {
            [b'+' | b'>' | b'<', rest @ ..] => rest,
            before => before,
        };
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'-');
        before.iter().all(is_space).then_some(position - start)
    }
}

/// The number of occurrences of a byte in a text.
fn count(byte: u8, text: &[u8]) -> usize {
    let count = |chunk: &[u8]| {
        chunk.iter().fold(0_u8, |count, other| count.wrapping_add(u8::from(*other == byte)))
    };
    text.chunks(usize::from(u8::MAX)).map(|chunk| usize::from(count(chunk))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_strings_end_with_escape_sequences_and_quotes() {
        for (text, line, next) in [
            ("ab\ncd", "ab", Some("cd")),
            ("ab\r\ncd", "ab", Some("cd")),
            (r"ab\ncd", "ab", Some("cd")),
            (r"ab\\r\\ncd", "ab", Some("cd")),
            (r"a\b", r"a\b", None),
            ("ab", "ab", None),
        ] {
            let (range, start) = Lines::around(text, 0).rest(0, 10).unwrap();
            assert_eq!((&text[range], start.map(|start| &text[start..])), (line, next), "{text:?}");
        }
        assert_eq!(Lines::around("abcdef", 0).rest(0, 3), None);
        let text = r#"{"a":"b\nc\"d","e":"f"}"#;
        let lines = Lines::around(text, 6);
        assert_eq!(lines.rest(9, 20).map(|(line, _)| &text[line]), Some(r#"c\"d"#));
        assert_eq!(lines.start(7, 20), Some(6));
        let text = r#"{\"a\":\"b\\nc\",\"d\":1}"#;
        let lines = Lines::around(text, 9);
        assert_eq!(lines.rest(13, 20).map(|(line, _)| &text[line]), Some("c"));
    }

    #[test]
    fn an_escape_sequence_has_the_last_of_many_backslashes() {
        for (backslashes, line) in [(1, 1), (16, 1), (17, 2), (40, 25)] {
            let text = format!("a{}nb", r"\".repeat(backslashes));
            let lines = Lines::around(&text, 0);
            assert_eq!(lines.rest(0, 100), Some((0..line, Some(text.len() - 1))), "{text}");
            let text = format!("a{}b", r"\".repeat(backslashes));
            assert_eq!(Lines::around(&text, 0).rest(0, 100), Some((0..text.len(), None)));
        }
    }

    #[test]
    fn a_backslash_in_a_line_is_no_line_end() {
        let text = "a,C:\\new,b\nc";
        assert_eq!(Lines::around(text, 10).rest(0, 20), Some((0..10, Some(11))));
        assert_eq!(Lines::around(text, 10).start(9, 20), Some(0));
    }

    #[test]
    fn the_start_of_a_line_is_behind_the_end_of_the_last_one() {
        for (text, position, start, column) in [
            ("ab\ncd", 4, Some(3), None),
            (r#""ab\ncn" x"#, 6, Some(5), None),
            ("nnn", 3, Some(0), None),
            ("a\n  - b: c", 6, Some(2), Some(4)),
            ("a\n+  b: c", 5, Some(2), Some(3)),
            ("a b: c", 2, Some(0), None),
        ] {
            let lines = Lines::around(text, position);
            assert_eq!(lines.start(position, 10), start, "{text:?}");
            assert_eq!(lines.indentation(position), column, "{text:?}");
        }
        assert_eq!(Lines::around("abcdef", 6).start(6, 3), None);
    }
}
