//! Compares the gaps between lines of a key. A gap is the end of a line and the prefix that a tool writes before the
//! next line. Line numbers and times in it differ, the rest is the same.

use std::ops::Range;

/// Maximum length of a gap.
pub(super) const MAX_GAP: usize = 512;

/// If `bytes` continues at `at` like the template, apart from numbers and the width of white space, returns the end of
/// the gap.
pub(super) fn matched(template: &[u8], bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    let mut rest = template.iter().copied().peekable();
    while let Some(expected) = rest.next() {
        let byte = bytes.get(at).copied();
        if expected.is_ascii_digit() {
            at += count(bytes, at, |byte| byte.is_ascii_digit()).filter(|&count| count > 0)?;
            while rest.next_if(u8::is_ascii_digit).is_some() {}
        } else if is_blank(expected) {
            at += count(bytes, at, is_blank)?;
            while rest.next_if(|&byte| is_blank(byte)).is_some() {}
        } else {
            if !byte.is_some_and(|byte| is_alike(byte, expected)) {
                // More digits or spaces than in the template.
                return None;
            }
            at += 1;
        }
    }
    Some(at)
}

/// The length of a run at an offset, up to the maximum length of a gap.
fn count(bytes: &[u8], at: usize, is_of_run: fn(u8) -> bool) -> Option<usize> {
    let rest = bytes.get(at..)?;
    Some(rest.iter().take(MAX_GAP).take_while(|&&byte| is_of_run(byte)).count())
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// `grep` writes `:` after the number of a matching line, and `-` after those of context lines.
const fn is_alike(byte: u8, expected: u8) -> bool {
    byte == expected || matches!((byte, expected), (b':', b'-') | (b'-', b':'))
}

/// Which of the recent gaps another gap is similar to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Like {
    Last,
    Before,
}

/// The two most recent gaps. Tools that write each line twice alternate between two gaps.
#[derive(Debug, Clone, Default)]
pub(super) struct Gaps {
    last: Option<Range<usize>>,
    before: Option<Range<usize>>,
}

impl Gaps {
    pub fn push(&mut self, gap: Range<usize>) {
        self.before = self.last.replace(gap);
    }

    /// Whether a gap is similar to the last one, or otherwise to the one before it.
    pub fn like(&self, bytes: &[u8], gap: &Range<usize>) -> Option<Like> {
        let is_like = |known: &Option<Range<usize>>| {
            let known = known.as_ref().and_then(|known| bytes.get(known.clone()));
            known.is_some_and(|known| matched(known, bytes, gap.start) == Some(gap.end))
        };
        if is_like(&self.last) {
            Some(Like::Last)
        } else {
            is_like(&self.before).then_some(Like::Before)
        }
    }

    /// Whether a gap may begin with this byte.
    pub fn begin_with(&self, bytes: &[u8], byte: Option<u8>) -> bool {
        let mut gaps = [&self.last, &self.before].into_iter().flatten();
        gaps.any(|gap| bytes.get(gap.start).copied() == byte)
    }

    /// The possible ends of a gap that begins at an offset.
    pub fn ends<'a>(&'a self, bytes: &'a [u8], at: usize) -> impl Iterator<Item = usize> + 'a {
        let gaps = [&self.last, &self.before].into_iter().flatten();
        gaps.filter_map(move |gap| matched(bytes.get(gap.clone())?, bytes, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_widths_may_differ() {
        let cases = [
            ("\n     9\t", "\n    10\tMII", Some(8)),
            ("\nsrc/a.pem:9:", "\nsrc/a.pem:10:MII", Some(14)),
            (
                "\n2026-11-22T09:05:59.1Z app_1  | ",
                "\n2026-11-22T09:06:00.12Z app_1  | MII",
                Some(34),
            ),
            ("\n1:", "\n2-MII", Some(3)),
            ("\\n\",\n  \"", "\\n\",\n  \"MII", Some(8)),
            ("\n", "MII", None),
            ("\n1:", "\n:MII", None),
            ("\n> ", "\n# MII", None),
        ];
        for (template, text, expected) in cases {
            assert_eq!(matched(template.as_bytes(), text.as_bytes(), 0), expected, "{text:?}");
        }
    }

    #[test]
    fn two_gaps_may_alternate() {
        let bytes = b"M<1>M<<2>>M<33>M<<4>>M[5]M";
        let mut gaps = Gaps::default();
        gaps.push(1..4);
        gaps.push(5..10);
        assert_eq!(gaps.like(bytes, &(11..15)), Some(Like::Before));
        gaps.push(11..15);
        assert_eq!(gaps.like(bytes, &(16..21)), Some(Like::Before));
        assert_eq!(gaps.like(bytes, &(1..4)), Some(Like::Last));
        assert_eq!(gaps.like(bytes, &(22..25)), None);
    }
}
