//! Finds runs of base64 characters with a minimum length.

use std::ops::Range;

/// Number of bytes that are tested at once.
const PROBE: usize = 16;

/// Iterates over the runs of at least `least` characters, in order. A run of this length contains one of the probes, which are so far
/// apart that a text without long runs is hardly read.
#[derive(Debug, Clone)]
pub(super) struct Runs<'t> {
    bytes: &'t [u8],
    /// Runs that begin before this offset were returned.
    at: usize,
    end: usize,
    /// Length of a probe.
    probe: usize,
    least: usize,
}

impl<'t> Runs<'t> {
    /// Searches a part of a text; `least` must not be zero.
    pub fn new(bytes: &'t [u8], part: Range<usize>, least: usize) -> Self {
        let end = part.end.min(bytes.len());
        Self { bytes, at: part.start, end, probe: least.min(PROBE), least }
    }

    /// The run that contains a probe, and begins at `at` or later.
    fn around(&self, probe: Range<usize>) -> Option<Range<usize>> {
        let before = self.bytes.get(self.at..probe.start)?;
        let behind = self.bytes.get(probe.end..self.end)?;
        let other = before.iter().rposition(|&byte| !is_of_run(byte));
        let more = behind.iter().take_while(|&&byte| is_of_run(byte)).count();
        Some(self.at + other.map_or(0, |other| other + 1)..probe.end + more)
    }
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let mut start = self.at;
        loop {
            let probe = start..start + self.probe;
            let bytes = self.bytes.get(..self.end)?.get(probe.clone())?;
            if !is_run(bytes) {
                start += self.least - self.probe + 1;
                continue;
            }
            let run = self.around(probe)?;
            (self.at, start) = (run.end, run.end);
            if run.len() >= self.least {
                return Some(run);
            }
        }
    }
}

/// Whether all bytes of a probe are base64.
#[inline]
fn is_run(bytes: &[u8]) -> bool {
    // No branch per byte, so that the compiler vectorises the comparison.
    let all = |bytes: &[u8]| bytes.iter().fold(1, |all, &byte| all & one_if_base64(byte)) != 0;
    bytes.first_chunk::<PROBE>().map_or_else(|| all(bytes), |bytes| all(bytes))
}

/// As [`is_base64`], without branches.
#[inline]
fn one_if_base64(byte: u8) -> u8 {
    let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let is_digit = byte.wrapping_sub(b'0') < 10;
    u8::from(is_letter) | u8::from(is_digit) | u8::from(byte == b'+') | u8::from(byte == b'/')
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
    fn every_form_of_the_comparison_agrees() {
        for byte in 0..=u8::MAX {
            assert_eq!(one_if_base64(byte) == 1, is_base64(byte), "{byte}");
            assert_eq!(is_of_run(byte), is_base64(byte), "{byte}");
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
        fn every_run_is_found_once(text in "([ab/ .é]{0,9}|[a-c]{10,70}){0,9}", least in 1..70_usize) {
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
