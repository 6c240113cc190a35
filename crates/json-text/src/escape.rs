//! Writes strings as JSON text, from UTF-8 and from UTF-16, with exactly the bytes that `JSON.stringify` writes.

/// Number of characters that are tested together.
const WORD: usize = size_of::<u64>();
/// Number of characters that are copied together.
const CHUNK: usize = 2 * WORD;
/// The lowest bit of every byte of a word.
const LOWEST: u64 = u64::MAX / 0xff;
/// The highest bit of every byte of a word.
const HIGHEST: u64 = LOWEST << 7;

/// `text` as a JSON string literal, as `JSON.stringify` writes it.
#[must_use]
pub fn string_token(text: &str) -> String {
    let mut token = Vec::new();
    escape_string(text, &mut token);
    // Escaping keeps UTF-8.
    String::from_utf8(token).unwrap_or_default()
}

/// Appends `text` as a JSON string literal, as `JSON.stringify` writes it.
pub fn escape_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut bytes = text.as_bytes();
    while !bytes.is_empty() {
        let (plain, rest) = bytes.split_at(plain_prefix(bytes));
        out.extend_from_slice(plain);
        bytes = match rest.split_first() {
            Some((&byte, rest)) => {
                push_escaped(byte, out);
                rest
            }
            None => rest,
        };
    }
    out.push(b'"');
}

/// Appends the string of these UTF-16 units as a JSON string literal, as `JSON.stringify` writes it.
pub fn write_string(units: &[u16], out: &mut Vec<u8>) {
    out.reserve(units.len() + 2);
    out.push(b'"');
    write_units::<true>(units, out);
    out.push(b'"');
}

/// Appends a part of a string without the quotes of a JSON string literal. A surrogate pair must be within one part.
pub fn write_string_part(units: &[u16], out: &mut Vec<u8>) {
    out.reserve(units.len());
    write_units::<true>(units, out);
}

/// Appends finished JSON text as UTF-8. (It has no lone surrogates; one would become U+FFFD.)
pub fn write_text(units: &[u16], out: &mut Vec<u8>) {
    out.reserve(units.len());
    write_units::<false>(units, out);
}

/// The length of the prefix that can be copied without escaping.
fn plain_prefix(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<WORD>();
    for (index, word) in words.iter().enumerate() {
        if let Some(at) = first_to_escape(*word) {
            return index * WORD + at;
        }
    }
    let start = words.len() * WORD;
    let tail = bytes.get(start..).unwrap_or_default();
    start + tail.iter().position(|&byte| needs_escape(byte)).unwrap_or(tail.len())
}

/// The place of the first byte that needs an escape.
const fn first_to_escape(word: [u8; WORD]) -> Option<usize> {
    let word = u64::from_le_bytes(word);
    let (quotes, backslashes) = (word ^ (LOWEST * b'"' as u64), word ^ (LOWEST * b'\\' as u64));
    // In each term, the highest bit of a byte is set if the byte is below the subtracted one. A borrow changes only the
    // bytes above such a byte, and the first one counts.
    let controls = word.wrapping_sub(LOWEST * 0x20) & !word;
    let quotes = quotes.wrapping_sub(LOWEST) & !quotes;
    let backslashes = backslashes.wrapping_sub(LOWEST) & !backslashes;
    let found = (controls | quotes | backslashes) & HIGHEST;
    if found == 0 { None } else { Some(found.trailing_zeros() as usize / 8) }
}

const fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Appends one byte, escaped if JSON requires it.
fn push_escaped(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0x00..0x20 => return push_unicode_escape(u16::from(byte), out),
        _ => return out.push(byte),
    };
    out.extend_from_slice(&[b'\\', short]);
}

fn push_unicode_escape(unit: u16, out: &mut Vec<u8>) {
    let digit = |shift: u32| match (unit >> shift & 0xf) as u8 {
        nibble @ 0..10 => b'0' + nibble,
        nibble => b'a' - 10 + nibble,
    };
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

/// Appends UTF-16 as UTF-8, escaped as in a JSON string if `ESCAPE`.
pub(super) fn write_units<const ESCAPE: bool>(mut units: &[u16], out: &mut Vec<u8>) {
    while !units.is_empty() {
        units = write_ascii::<ESCAPE>(units, out);
        // The characters before the next one beyond ASCII, or the last few.
        let plain = units.iter().take(WORD).take_while(|&&unit| is_plain::<ESCAPE>(unit)).count();
        let (start, rest) = units.split_at(plain);
        out.extend(start.iter().map(|&unit| unit as u8));
        units = rest;
        while units.first().is_some_and(|&unit| !is_plain::<ESCAPE>(unit)) {
            units = write_character::<ESCAPE>(units, out);
        }
    }
}

/// Appends characters up to a chunk with one beyond ASCII, or to the last whole chunk; returns the rest.
fn write_ascii<'a, const ESCAPE: bool>(mut units: &'a [u16], out: &mut Vec<u8>) -> &'a [u16] {
    while let Some((chunk, rest)) = units.split_first_chunk::<CHUNK>()
        && chunk.iter().fold(0, |all, &unit| all | unit) < 0x80
    {
        let bytes = chunk.map(|unit| unit as u8);
        // No branch per byte, so that the compiler vectorises the comparison.
        let any_escape = |any, &byte: &u8| any | u8::from(needs_escape(byte));
        if ESCAPE && bytes.iter().fold(0, any_escape) != 0 {
            let read = push_to_escape(&bytes, out);
            units = units.get(read..).unwrap_or_default();
        } else {
            out.extend_from_slice(&bytes);
            units = rest;
        }
    }
    units
}

/// Appends a chunk up to the first byte that needs an escape, and this byte; returns the number of bytes.
#[inline]
fn push_to_escape(bytes: &[u8; CHUNK], out: &mut Vec<u8>) -> usize {
    let (words, _) = bytes.as_chunks::<WORD>();
    for (word, before) in words.iter().zip([0, WORD]) {
        let Some(at) = first_to_escape(*word) else {
            out.extend_from_slice(word);
            continue;
        };
        let end = out.len() + at;
        // The length is constant, which is faster than to copy the first bytes only.
        out.extend_from_slice(word);
        out.truncate(end);
        word.get(at).into_iter().for_each(|byte| push_escaped(*byte, out));
        return before + at + 1;
    }
    CHUNK
}

const fn is_plain<const ESCAPE: bool>(unit: u16) -> bool {
    if ESCAPE {
        unit.wrapping_sub(0x20) < 0x60 && unit != b'"' as u16 && unit != b'\\' as u16
    } else {
        unit < 0x80
    }
}

/// Appends the first character, and returns the rest.
fn write_character<'a, const ESCAPE: bool>(units: &'a [u16], out: &mut Vec<u8>) -> &'a [u16] {
    let Some((&unit, rest)) = units.split_first() else { return units };
    match (unit, rest) {
        (0..0x80, _) if ESCAPE => push_escaped(unit as u8, out),
        (0..0x80, _) => out.push(unit as u8),
        (0x80..0x800, _) => {
            out.extend_from_slice(&[0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]);
        }
        (0xd800..0xdc00, [low @ 0xdc00..0xe000, rest @ ..]) => {
            let code = 0x1_0000 + (u32::from(unit - 0xd800) << 10 | u32::from(low - 0xdc00));
            out.extend_from_slice(&[
                0xf0 | (code >> 18) as u8,
                0x80 | (code >> 12 & 0x3f) as u8,
                0x80 | (code >> 6 & 0x3f) as u8,
                0x80 | (code & 0x3f) as u8,
            ]);
            return rest;
        }
        (0xd800..0xe000, _) if ESCAPE => push_unicode_escape(unit, out),
        (0xd800..0xe000, _) => out.extend_from_slice("\u{fffd}".as_bytes()),
        (0x800.., _) => out.extend_from_slice(&[
            0xe0 | (unit >> 12) as u8,
            0x80 | (unit >> 6 & 0x3f) as u8,
            0x80 | (unit & 0x3f) as u8,
        ]),
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn utf16(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn escapes_as_json_stringify_does() {
        let cases: [(&[u16], &str); 6] = [
            (&[0, 1, 8, 9, 10, 11, 12, 13, 0x1f], r#""\u0000\u0001\b\t\n\u000b\f\r\u001f""#),
            (&[0x22, 0x5c, 0x2f, 0x7f], "\"\\\"\\\\/\u{7f}\""),
            (&[0x2028, 0x2029, 0xe9, 0x4e00], "\"\u{2028}\u{2029}é一\""),
            (&[0xd834, 0xdf06], "\"\u{1d306}\""),
            (&[0xd834, 0x61, 0xdf06], r#""\ud834a\udf06""#),
            (&[0xdf06, 0xd834], r#""\udf06\ud834""#),
        ];
        for (units, expected) in cases {
            let mut out = Vec::new();
            write_string(units, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn copies_finished_text() {
        let mut out = b"before ".to_vec();
        write_text(&utf16("{\"a\":\"\\n é 字 \u{1d306}\"}"), &mut out);
        assert_eq!(out, "before {\"a\":\"\\n é 字 \u{1d306}\"}".as_bytes());
    }

    #[test]
    fn the_first_byte_to_escape_is_found_in_any_word() {
        for first in u8::MIN..=u8::MAX {
            for second in u8::MIN..=u8::MAX {
                let word = [b'a', first, second, b' ', b'~', second, first, 0x7f];
                let expected = word.iter().position(|&byte| needs_escape(byte));
                assert_eq!(first_to_escape(word), expected, "{word:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn strings_read_as_with_serde_json(text in any::<String>(), quoted in "[ -~\"\\\\\n\t\u{1}]{0,80}") {
            for text in [text, quoted] {
                let mut from_utf8 = Vec::new();
                escape_string(&text, &mut from_utf8);
                let mut from_utf16 = Vec::new();
                write_string(&utf16(&text), &mut from_utf16);
                // serde_json escapes the same characters, U+007F included, in the same way.
                prop_assert_eq!(&from_utf8, &serde_json::to_vec(&text).unwrap());
                prop_assert_eq!(&from_utf16, &from_utf8);
            }
        }

        #[test]
        fn any_units_make_valid_utf8(units in prop::collection::vec(any::<u16>(), 0..100)) {
            let mut literal = Vec::new();
            write_string(&units, &mut literal);
            let literal = String::from_utf8(literal).unwrap();
            if let Ok(text) = String::from_utf16(&units) {
                prop_assert_eq!(serde_json::from_str::<String>(&literal).unwrap(), text);
            }
            let mut text = Vec::new();
            write_text(&units, &mut text);
            prop_assert_eq!(String::from_utf8(text).unwrap(), String::from_utf16_lossy(&units));
        }
    }
}
