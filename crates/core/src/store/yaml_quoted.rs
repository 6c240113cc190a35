//! Quoted scalars of YAML: parses both kinds, and writes a text so that all YAML parsers read it
//! back unchanged.

use super::yaml_reader::{Fault, Read, Reader, fold};

/// Parses `'it''s'`; the reader is at the first quote.
pub(super) fn single(reader: &mut Reader<'_>, least: usize) -> Read<String> {
    let opening = reader.at;
    reader.at += 1;
    let (mut text, mut solid) = (String::new(), 0);
    loop {
        let rest = reader.rest();
        let Some(next) = rest.chars().next() else { return Err(not_closed(opening)) };
        if next == '\'' && !rest.starts_with("''") {
            reader.at += 1;
            return Ok(text);
        }
        if matches!(next, '\n' | '\r') {
            text.truncate(solid);
            let breaks = reader.skip_breaks_of(least)?;
            fold(&mut text, breaks);
            solid = text.len();
            continue;
        }
        reader.at += if next == '\'' { 2 } else { next.len_utf8() };
        text.push(next);
        if !matches!(next, ' ' | '\t') {
            solid = text.len();
        }
    }
}

/// Parses `"a\tb"`; the reader is at the first quote.
pub(super) fn double(reader: &mut Reader<'_>, least: usize) -> Read<String> {
    let opening = reader.at;
    reader.at += 1;
    let (mut text, mut solid) = (String::new(), 0);
    loop {
        let Some(next) = reader.rest().chars().next() else { return Err(not_closed(opening)) };
        match next {
            '"' => {
                reader.at += 1;
                return Ok(text);
            }
            '\\' => {
                reader.at += 1;
                if reader.is_at_line_break() {
                    let breaks = reader.skip_breaks_of(least)?;
                    text.extend(std::iter::repeat_n('\n', breaks - 1));
                } else {
                    text.push(escaped(reader)?);
                }
                solid = text.len();
            }
            '\n' | '\r' => {
                text.truncate(solid);
                let breaks = reader.skip_breaks_of(least)?;
                fold(&mut text, breaks);
                solid = text.len();
            }
            _ => {
                reader.at += next.len_utf8();
                text.push(next);
                if !matches!(next, ' ' | '\t') {
                    solid = text.len();
                }
            }
        }
    }
}

fn not_closed(opening: usize) -> Fault {
    Fault { at: opening, reason: "the quoted text is not closed".to_owned() }
}

/// Parses the character after a backslash.
fn escaped(reader: &mut Reader<'_>) -> Read<char> {
    let fault = |reader: &Reader<'_>| reader.fault("this is no escape of YAML");
    let Some(letter) = reader.rest().chars().next() else { return Err(fault(reader)) };
    let character = match letter {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{B}',
        'f' => '\u{C}',
        'r' => '\r',
        'e' => '\u{1B}',
        ' ' | '"' | '/' | '\\' => letter,
        'N' => '\u{85}',
        '_' => '\u{A0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        'x' => return numbered(reader, 2),
        'u' => return numbered(reader, 4),
        'U' => return numbered(reader, 8),
        _ => return Err(fault(reader)),
    };
    reader.at += 1;
    Ok(character)
}

/// Parses a numeric escape of `digits` digits. A character beyond U+FFFF may be two escapes of four
/// digits each, as in JSON.
fn numbered(reader: &mut Reader<'_>, digits: usize) -> Read<char> {
    let fault = reader.fault("this is no escape of YAML");
    let rest = reader.rest();
    let Some(number) = rest.get(1..).and_then(|rest| hexadecimal(rest, digits)) else {
        return Err(fault);
    };
    let second = rest.get(1 + digits..).and_then(|rest| rest.strip_prefix("\\u"));
    let second = second.and_then(|rest| hexadecimal(rest, 4));
    let (number, length) = match (number, second) {
        (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) if digits == 4 => {
            (0x1_0000 + ((number - 0xD800) << 10) + (low - 0xDC00), 11)
        }
        _ => (number, 1 + digits),
    };
    let Some(character) = char::from_u32(number) else { return Err(fault) };
    reader.at += length;
    Ok(character)
}

fn hexadecimal(text: &str, digits: usize) -> Option<u32> {
    let number = text.get(..digits)?;
    let is_number = number.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(number, 16).ok()).flatten()
}

/// Writes a text on one line: plain if every YAML parser reads it as the same text, otherwise
/// quoted.
pub(super) fn write(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if !is_visible(character) => {
                let number = u32::from(character);
                out.push_str(&match number {
                    ..=0xFF => format!("\\x{number:02X}"),
                    0x100..=0xFFFF => format!("\\u{number:04X}"),
                    _ => format!("\\U{number:08X}"),
                });
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Whether YAML 1.1 and 1.2 both read the unquoted text as itself, also within brackets.
fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let begins_plain = characters
        .next()
        .is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '/'));
    begins_plain
        && !text.ends_with(' ')
        && !text.contains(" -") // some parsers take it for a list item
        && characters.all(|character| {
            character.is_alphanumeric()
                || matches!(character, ' ' | '-' | '_' | '.' | '/' | '+' | '(' | ')')
        })
        && !is_word_of_yaml(text)
        && !looks_like_a_number(text)
}

fn is_word_of_yaml(text: &str) -> bool {
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a parser could read the text as a number, a date or a time.
fn looks_like_a_number(text: &str) -> bool {
    let has_base = match text.as_bytes() {
        [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', digits @ ..] => {
            digits.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'_')
        }
        _ => false,
    };
    let is_decimal = |byte: u8| byte.is_ascii_digit() || b"+-._eETtZz ".contains(&byte);
    has_base
        || text.starts_with(|first: char| first.is_ascii_digit()) && text.bytes().all(is_decimal)
}

/// Whether a character needs no escape in a quoted text: YAML counts it as printable, and it
/// neither ends a line nor reorders the visible text.
fn is_visible(character: char) -> bool {
    !character.is_control()
        && !matches!(
            u32::from(character),
            0x200B | 0x200E | 0x200F | 0x2028..=0x202E | 0x2060..=0x2069 | 0xFEFF | 0xFDD0..=0xFDEF
        )
        && u32::from(character) & 0xFFFE != 0xFFFE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_another_reader_takes_for_something_else_is_quoted() {
        for text in [
            "code-reviewer",
            "9b71eb00-fca4-4d8c-84e7-e4d8e4371e89",
            "0b71eb00-fca4-4d8c-84e7-e4d8e4371e89",
            "0x1f-a",
            "10th",
            "two words",
        ] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "12",
            "1e5",
            "0x1F",
            "0b1_0",
            "0o7",
            "2026-02-21",
            "12:30",
            "1_000",
            "Yes",
            "null",
            "a: b",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
