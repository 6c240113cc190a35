//! Finds characters that a terminal or a reader does not show: escape sequences (ECMA-48), also with a spelt-out escape
//! character (`\u001b[31m`), and zero-width characters.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::packed;

const ESCAPE: u8 = 0x1B;
const BELL: u8 = 0x07;
/// Maximum length of the parameters of a control sequence.
const MAX_PARAMETERS: usize = 64;
/// Maximum length of a control string, such as a title or a link.
const MAX_STRING: usize = 8 << 10;
/// Number of bytes that are searched at once.
const CHUNK: usize = 64;
/// Last bytes of all spellings of the escape character, with the `[` after it.
const SPELT: [&str; 5] = ["1b[", "1B[", "33[", "\\e[", "^[["];
/// All spellings of the escape character.
const SPELLINGS: [&str; 8] =
    ["\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\0033", "\\e", "^["];
/// Maximum number of backslashes before a spelling: texts may be escaped more than once.
const MAX_BACKSLASHES: usize = 8;

static SEARCHER: LazyLock<Option<packed::Searcher>> =
    LazyLock::new(|| packed::Searcher::new(SPELT));

/// The ranges that are not visible, in order.
pub(crate) fn ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let is_ascii = text.is_ascii();
    let mut from = 0;
    let mut hidden = std::iter::from_fn(move || {
        let range = hidden(bytes, from, is_ascii)?;
        from = range.end;
        Some(range)
    })
    .peekable();
    let mut spelt = spelt(bytes).peekable();
    let mut end = 0;
    std::iter::from_fn(move || {
        loop {
            let next = match (hidden.peek(), spelt.peek()) {
                (Some(range), Some(other)) if other.start < range.start => spelt.next(),
                (None, _) => spelt.next(),
                _ => hidden.next(),
            }?;
            if next.start >= end {
                end = next.end;
                return Some(next);
            }
        }
    })
}

/// Whether a text may have the beginning of an invisible sequence, which may end in another text.
pub(crate) fn may_begin(text: &str) -> bool {
    !text.is_ascii() || text.as_bytes().contains(&ESCAPE) || spelt(text.as_bytes()).next().is_some()
}

/// The first invisible sequence or character at or after an offset.
fn hidden(bytes: &[u8], from: usize, is_ascii: bool) -> Option<Range<usize>> {
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        at += if is_ascii { memchr::memchr(ESCAPE, rest)? } else { first_beginning(rest)? };
        let length = length(bytes.get(at..).unwrap_or_default());
        if length > 0 {
            return Some(at..at + length);
        }
        at += 1;
    }
}

/// The position of the first byte that may begin an invisible sequence or character.
fn first_beginning(bytes: &[u8]) -> Option<usize> {
    let position = |bytes: &[u8]| bytes.iter().position(|&byte| begins(byte));
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    for (number, chunk) in chunks.iter().enumerate() {
        // No branch per byte, so that the compiler vectorises the comparison. Most chunks are ASCII, which takes fewer comparisons.
        let may_begin =
            |any, &byte: &u8| any | u8::from(!byte.is_ascii()) | u8::from(byte == ESCAPE);
        if chunk.iter().fold(0, may_begin) != 0
            && let Some(at) = position(chunk)
        {
            return Some(number * CHUNK + at);
        }
    }
    position(rest).map(|at| chunks.len() * CHUNK + at)
}

/// Whether a byte may begin an invisible sequence or character.
const fn begins(byte: u8) -> bool {
    matches!(byte, ESCAPE | 0xC2 | 0xCD | 0xD8 | 0xE1 | 0xE2 | 0xEF | 0xF3)
}

/// The length of the invisible sequence or character at the start of a text; zero when the start is visible.
fn length(bytes: &[u8]) -> usize {
    match bytes {
        [ESCAPE, ..] => escape_length(bytes),
        [0xC2, 0x9B, rest @ ..] => 2 + control_length(rest).unwrap_or_default(),
        [0xC2, 0xAD, ..] | [0xCD, 0x8F, ..] | [0xD8, 0x9C, ..] => 2,
        [0xE1, 0xA0, 0x8E, ..]
        | [0xE2, 0x80, 0x8B..=0x8F | 0xAA..=0xAE, ..]
        | [0xE2, 0x81, 0xA0..=0xA4 | 0xA6..=0xAF, ..]
        | [0xEF, 0xBB, 0xBF, ..]
        | [0xEF, 0xB8, 0x80..=0x8F, ..] => 3,
        // Tags and variation selectors.
        [0xF3, 0xA0, 0x80 | 0x81 | 0x84..=0x87, _, ..] => 4,
        _ => 0,
    }
}

/// Of an incomplete sequence, only the escape characters are invisible.
fn escape_length(bytes: &[u8]) -> usize {
    match bytes {
        [_, b'[', rest @ ..] => 2 + control_length(rest).unwrap_or_default(),
        [_, b']' | b'P' | b'X' | b'^' | b'_', rest @ ..] => {
            string_length(rest).map_or(1, |length| 2 + length)
        }
        [_, rest @ ..] => {
            let intermediate = rest
                .iter()
                .take(MAX_PARAMETERS)
                .take_while(|byte| matches!(byte, b' '..=b'/'))
                .count();
            match rest.get(intermediate) {
                Some(b'0'..=b'~') => 2 + intermediate,
                _ => 1,
            }
        }
        [] => 0,
    }
}

/// The length of a control sequence after its introducer: parameters, intermediate bytes, a final byte.
fn control_length(bytes: &[u8]) -> Option<usize> {
    let parameters =
        bytes.iter().take(MAX_PARAMETERS).take_while(|byte| matches!(byte, b'0'..=b'?')).count();
    let rest = bytes.get(parameters..)?;
    let intermediate =
        rest.iter().take(MAX_PARAMETERS).take_while(|byte| matches!(byte, b' '..=b'/')).count();
    matches!(rest.get(intermediate), Some(b'@'..=b'~')).then_some(parameters + intermediate + 1)
}

/// The length of a control string with its terminator. The string contains neither line ends nor escape characters, so
/// that each byte is examined for a single introducer only.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let bytes = bytes.get(..MAX_STRING).unwrap_or(bytes);
    let mut before = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        match (before, byte) {
            (_, BELL) | (0xC2, 0x9C) => return Some(at + 1),
            (_, ESCAPE) => return (bytes.get(at + 1) == Some(&b'\\')).then_some(at + 2),
            (_, b'\n') => return None,
            _ => before = byte,
        }
    }
    None
}

/// Colour codes with a spelt-out escape character, as in JSON that was cut or in output of `cat -v`.
fn spelt(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(at..)?;
            let found = SEARCHER.as_ref()?.find(rest)?;
            let bracket = at + found.end() - 1;
            let floor = at;
            at = bracket + 1;
            let before = bytes.get(floor..bracket).unwrap_or_default();
            let after = bytes.get(bracket + 1..).unwrap_or_default();
            if let (Some(before), Some(after)) = (spelling_length(before), colour_length(after)) {
                at += after;
                return Some(bracket - before..at);
            }
        }
    })
}

/// The length of a spelt-out escape character at the end of a text.
fn spelling_length(before: &[u8]) -> Option<usize> {
    let spelling = SPELLINGS.iter().find(|spelling| before.ends_with(spelling.as_bytes()))?;
    let rest = before.len() - spelling.len();
    let backslashes = before.get(..rest).unwrap_or_default().iter().rev();
    let backslashes = backslashes.take(MAX_BACKSLASHES).take_while(|&&byte| byte == b'\\').count();
    Some(spelling.len() + backslashes)
}

/// The length of a colour code or of the code that clears a line, after its bracket.
fn colour_length(after: &[u8]) -> Option<usize> {
    let parameters = after
        .iter()
        .take(MAX_PARAMETERS)
        .take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
        .count();
    matches!(after.get(parameters), Some(b'm' | b'K')).then_some(parameters + 1)
}
