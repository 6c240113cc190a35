//! Finds runs of base64 characters with a minimum length.

use std::ops::Range;

/// Iterates over the runs of at least `least` characters, in order. In other text, only about one byte of `least` is
/// examined.
#[derive(Debug, Clone)]
pub(super) struct Runs<'t> {
    bytes: &'t [u8],
    /// Runs that begin before this offset were returned.
    at: usize,
    /// All bytes from `at` to here are base64.
    known: usize,
    end: usize,
    least: usize,
}

impl<'t> Runs<'t> {
    /// Searches a part of a text; `least` must not be zero.
    pub fn new(bytes: &'t [u8], part: Range<usize>, least: usize) -> Self {
        let end = part.end.min(bytes.len());
        Self { bytes, at: part.start, known: part.start, end, least }
    }
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let last = self.at + self.least - 1;
            if last >= self.end {
                return None;
            }
            let unknown = self.bytes.get(self.known..=last)?;
            if let Some(other) = unknown.iter().rposition(|&byte| !is_of_run(byte)) {
                self.at = self.known + other + 1;
                self.known = last + 1;
                continue;
            }
            let start = self.at;
            let rest = self.bytes.get(last + 1..self.end)?;
            let end = last + 1 + rest.iter().take_while(|&&byte| is_of_run(byte)).count();
            (self.at, self.known) = (end, end);
            return Some(start..end);
        }
    }
}

/// Whether a byte is a character of base64 other than padding.
pub(super) const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// The same as a table lookup, for the scan of long texts.
#[inline]
fn is_of_run(byte: u8) -> bool {
    #[expect(clippy::indexing_slicing, reason = "checked when the table is built")]
    static IS_OF_RUN: [bool; 256] = {
        let (mut is_of_run, mut byte) = ([false; 256], 0);
        while byte < is_of_run.len() {
            is_of_run[byte] = is_base64(byte as u8);
            byte += 1;
        }
        is_of_run
    };
    IS_OF_RUN.get(usize::from(byte)).copied().unwrap_or_default()
}

/// The range without the escape sequence of a line end at its start: the `n` of `\nMII…` is not base64.
pub(super) fn without_escape(bytes: &[u8], run: Range<usize>) -> Range<usize> {
    let hex = |from: usize, count: usize| {
        let digits = bytes.get(run.start + from..run.start + from + count);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let before = run.start.checked_sub(1).and_then(|before| bytes.get(before));
    let length = match (before, bytes.get(run.start)) {
        (Some(b'\\'), Some(b'n' | b'r' | b't')) => 1,
        (Some(b'\\'), Some(b'x')) if hex(1, 2) => 3,
        (Some(b'\\'), Some(b'u')) if hex(1, 4) => 5,
        (Some(b'%'), _) if hex(0, 2) => 2,
        _ => 0,
    };
    (run.start + length).min(run.end)..run.end
}

/// Whether the characters are as mixed as those of encoded bytes. Hexadecimal numbers, words and DNA sequences are not.
pub(super) fn is_mixed(run: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| run.iter().any(kind);
    has(u8::is_ascii_digit)
        && run.iter().filter(|byte| byte.is_ascii_lowercase()).count() * 8 >= run.len()
        && run.iter().filter(|byte| byte.is_ascii_uppercase()).count() * 8 >= run.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_escape_before_a_line_is_no_part_of_it() {
        for escape in [r"\n", r"\r", r"\x0a", r"\u000A", "%0A", "\\\\n", "\n", " ", ">", ""] {
            let text = format!("{escape}MIIE");
            let run = Runs::new(text.as_bytes(), 0..text.len(), 4).last().unwrap();
            assert_eq!(text.get(without_escape(text.as_bytes(), run)), Some("MIIE"), "{escape:?}");
        }
    }

    #[test]
    fn numbers_and_words_are_not_mixed() {
        assert!(is_mixed(b"MIIEpAIBAAKCAQEA3yLb5u4S0gvcUONLHTaWaUP1"));
        assert!(is_mixed(
            b"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW"
        ));
        for text in
            ["0123456789abcdef0123456789abcdef", "GATTACAGATTACA1", "docs/reference/Api/v1/things"]
        {
            assert!(!is_mixed(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_run_is_found_once(text in "[ab/ .é]{0,60}", least in 1..9_usize) {
            let mut expected = Vec::new();
            let mut start = 0;
            for piece in text.split_inclusive(|character: char| !character.is_ascii() || !is_base64(character as u8)) {
                let length = piece.bytes().take_while(|&byte| is_base64(byte)).count();
                if length >= least {
                    expected.push(start..start + length);
                }
                start += piece.len();
            }
            prop_assert_eq!(Runs::new(text.as_bytes(), 0..text.len(), least).collect::<Vec<_>>(), expected);
        }
    }
}
