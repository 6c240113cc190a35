//! Decodes string tokens, extracts the plain text of a value (for search), and cuts an object of arguments to a maximum
//! length.

use std::borrow::Cow;
use std::ops::ControlFlow;

use memchr::memchr;

use super::decode::decode_content;
use super::scan::{Members, ScanError, Token, unexpected, walk_value};

const ELLIPSIS: &str = "…";
/// Contents of so many bytes are decoded as a whole.
const LONG_CONTENT: usize = 256;

/// The text of a string token (with its quotes), or `None` if the token is malformed. Lone
/// surrogates, which UTF-8 cannot express, become U+FFFD.
pub fn decode_string(raw: &[u8]) -> Option<Cow<'_, str>> {
    if skip_string(raw, 0) != Ok(raw.len()) {
        return None;
    }
    str::from_utf8(string_content(raw)).ok().map(decode_content)
}

/// The exact UTF-16 code units of a string token (with its quotes), lone surrogates included.
/// A malformed token is decoded up to its first error.
pub fn decode_utf16(raw: &[u8]) -> Vec<u16> {
    let mut units = Vec::new();
    let mut rest = string_content(raw);
    loop {
        let (plain, escapes) = split_at_escape(rest);
        units.extend(whole_characters(plain, usize::MAX).encode_utf16());
        let Some((unit, length)) = read_unit(escapes) else { return units };
        units.push(unit);
        rest = escapes.get(length..).unwrap_or_default();
    }
}

/// Appends the keys, strings, numbers and booleans of a value as plain text, in order and with single spaces between
/// them (and before them, if `out` is not empty). Appends at most `max_bytes` bytes, and only whole characters.
///
/// Of a malformed value, the tokens before the error are appended.
pub fn append_text(raw_json: &[u8], out: &mut String, max_bytes: usize) {
    append_tokens(raw_json, out, max_bytes, |_| ' ');
}

/// As [`append_text`], with one separator before every string value and another before any other token.
pub fn append_separated(
    raw_json: &[u8],
    out: &mut String,
    max_bytes: usize,
    [before_string, before_other]: [char; 2],
) {
    append_tokens(raw_json, out, max_bytes, |token| {
        if matches!(token, Token::String(_)) { before_string } else { before_other }
    });
}

fn append_tokens(
    raw_json: &[u8],
    out: &mut String,
    max_bytes: usize,
    separator: impl Fn(&Token<'_>) -> char,
) {
    let limit = out.len().saturating_add(max_bytes);
    let visit = |token: Token<'_>| {
        let separator = separator(&token);
        let content = match token {
            Token::Key(string) | Token::String(string) => string_content(string),
            Token::Number(text) => text,
            Token::Literal(text) if text != b"null" => text,
            _ => return ControlFlow::Continue(()),
        };
        let before = out.len();
        if before >= limit {
            return ControlFlow::Break(());
        }
        if before > 0 || separator != ' ' {
            out.push(separator);
        }
        let start = out.len();
        let complete = append_decoded(content, out, limit);
        if out.len() == start {
            out.truncate(before);
        }
        if complete { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    // The tokens before an error are used like any others.
    let _ = walk_value(raw_json, 0, visit);
}

/// Cuts an object's JSON to at most `max_bytes` bytes (but not less than `{}`), and returns whether it was cut. An
/// object that fits is returned unchanged.
///
/// Members stay in order, and are kept completely while they fit. A string that does not fit is cut between characters
/// and ends with `…`; other values that do not fit are left out. Anything but a valid object counts as empty if it does
/// not fit.
pub fn cut_arguments(raw_object: &[u8], max_bytes: usize) -> (Vec<u8>, bool) {
    if raw_object.len() <= max_bytes {
        return (raw_object.to_vec(), false);
    }
    let mut cut = vec![b'{'];
    for member in Members::new(raw_object, 0).into_iter().flatten().map_while(Result::ok) {
        let separator: &[u8] = if cut.len() > 1 { b"," } else { b"" };
        let taken = cut.len() + separator.len() + member.key.len() + ":}".len();
        let Some(room) = max_bytes.checked_sub(taken) else { continue };
        let value = raw_object.get(member.value).unwrap_or_default();
        let value = if value.len() <= room {
            Cow::Borrowed(value)
        } else if let Some(beginning) = cut_string(value, room) {
            Cow::Owned(beginning)
        } else {
            continue;
        };
        cut.extend_from_slice(separator);
        cut.extend_from_slice(member.key);
        cut.push(b':');
        cut.extend_from_slice(&value);
    }
    cut.push(b'}');
    (cut, true)
}

/// The position after the string whose opening quote is at `opening`.
pub(super) fn skip_string(text: &[u8], opening: usize) -> Result<usize, ScanError> {
    if text.get(opening) != Some(&b'"') {
        return Err(unexpected(text, opening));
    }
    let start = opening + 1;
    let mut non_ascii = false;
    let closing = find_closing_quote(text, start, &mut non_ascii);
    if non_ascii {
        let end = match closing {
            Ok(end) | Err(ScanError::Invalid { offset: end }) => end,
            Err(ScanError::Incomplete) => text.len(),
        };
        let content = text.get(start..end).unwrap_or_default();
        if let Err(error) = str::from_utf8(content) {
            // A character that is cut off by the end of the text may be completed later.
            let cut_off = error.error_len().is_none() && closing == Err(ScanError::Incomplete);
            let offset = start + error.valid_up_to();
            return Err(if cut_off {
                ScanError::Incomplete
            } else {
                ScanError::Invalid { offset }
            });
        }
    }
    Ok(closing? + 1)
}

fn find_closing_quote(text: &[u8], start: usize, non_ascii: &mut bool) -> Result<usize, ScanError> {
    let mut at = start;
    loop {
        at = find_special(text, at, non_ascii);
        match text.get(at) {
            Some(b'"') => return Ok(at),
            Some(b'\\') => at = skip_escape(text, at)?,
            _ => return Err(unexpected(text, at)),
        }
    }
}

/// The position of the first quote, backslash or control character. Records whether there are bytes beyond ASCII.
fn find_special(text: &[u8], start: usize, non_ascii: &mut bool) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of each byte that is below `limit`. A borrow can only set it wrongly above a byte that is, so that
    // the lowest set bit is always correct.
    let below = |word: u64, limit: u64| word.wrapping_sub(LOW * limit) & !word & HIGH;
    let mut at = start;
    let mut seen = 0;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let special = below(word, 0x20)
            | below(word ^ (LOW * u64::from(b'"')), 1)
            | below(word ^ (LOW * u64::from(b'\\')), 1);
        seen |= word & HIGH;
        if special != 0 {
            *non_ascii |= seen != 0;
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    let special = rest.iter().position(|&byte| {
        seen |= u64::from(byte & 0x80);
        byte < 0x20 || byte == b'"' || byte == b'\\'
    });
    *non_ascii |= seen != 0;
    at + special.unwrap_or(rest.len())
}

fn skip_escape(text: &[u8], backslash: usize) -> Result<usize, ScanError> {
    let at = backslash + 1;
    match text.get(at) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
        Some(b'u') => {
            let end = at + 5;
            match (at + 1..end).find(|&digit| !text.get(digit).is_some_and(u8::is_ascii_hexdigit)) {
                Some(wrong) => Err(unexpected(text, wrong)),
                None => Ok(end),
            }
        }
        _ => Err(unexpected(text, at)),
    }
}

/// The text between the quotes of a string token.
pub(super) fn string_content(token: &[u8]) -> &[u8] {
    let content = token.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    content.unwrap_or_default()
}

/// The start of a string token with an ellipsis, in at most `max_bytes` bytes. `None` if not even the ellipsis fits or
/// the token is not a string.
fn cut_string(token: &[u8], max_bytes: usize) -> Option<Vec<u8>> {
    if !token.starts_with(b"\"") {
        return None;
    }
    let room = max_bytes.checked_sub(ELLIPSIS.len() + 2)?;
    let content = string_content(token);
    let mut end = 0;
    loop {
        let (plain, escapes) = split_at_escape(content.get(end..)?);
        let kept = whole_characters(plain, room - end).len();
        end += kept;
        let Some((_, length)) = read_character(escapes) else { break };
        if kept < plain.len() || length > room - end {
            break;
        }
        end += length;
    }
    Some([b"\"", content.get(..end)?, ELLIPSIS.as_bytes(), b"\""].concat())
}

/// Appends the decoded content of a well-formed string while `out` has at most `limit` bytes. Returns whether all of it was
/// appended.
fn append_decoded(content: &[u8], out: &mut String, limit: usize) -> bool {
    // Decoding makes no text longer.
    if content.len() >= LONG_CONTENT
        && content.len() <= limit.saturating_sub(out.len())
        && let Ok(content) = str::from_utf8(content)
    {
        out.push_str(&decode_content(content));
        return true;
    }
    let mut rest = content;
    loop {
        let (plain, escapes) = split_at_escape(rest);
        let kept = whole_characters(plain, limit.saturating_sub(out.len()));
        out.push_str(kept);
        if kept.len() < plain.len() {
            return false;
        }
        let Some((character, length)) = read_character(escapes) else { return escapes.is_empty() };
        if character.len_utf8() > limit.saturating_sub(out.len()) {
            return false;
        }
        out.push(character);
        rest = escapes.get(length..).unwrap_or_default();
    }
}

/// Splits a string's content before its first escape sequence.
fn split_at_escape(content: &[u8]) -> (&[u8], &[u8]) {
    let plain = memchr(b'\\', content).unwrap_or(content.len());
    content.split_at_checked(plain).unwrap_or((content, b""))
}

/// The longest prefix of at most `max_bytes` bytes that consists of whole characters.
fn whole_characters(text: &[u8], max_bytes: usize) -> &str {
    let text = text.get(..max_bytes).unwrap_or(text);
    str::from_utf8(text).unwrap_or_else(|error| {
        let valid = text.get(..error.valid_up_to()).unwrap_or_default();
        str::from_utf8(valid).unwrap_or_default()
    })
}

/// The character at the start of `escapes` and the length of its escape sequence, or of the two sequences of a
/// surrogate pair.
pub(super) fn read_character(escapes: &[u8]) -> Option<(char, usize)> {
    let (first, length) = read_unit(escapes)?;
    let second = escapes.get(length..).and_then(read_unit);
    if let Some((second, more)) = second
        && let Some(Ok(character)) = char::decode_utf16([first, second]).next()
        && character.len_utf16() == 2
    {
        return Some((character, length + more));
    }
    Some((char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER), length))
}

/// The UTF-16 code unit of the escape sequence at the start of `escapes`, and its length.
fn read_unit(escapes: &[u8]) -> Option<(u16, usize)> {
    let character = match escapes {
        [b'\\', b'u', digits @ ..] => {
            let unit = digits.get(..4)?.iter().try_fold(0, |unit: u32, &digit| {
                Some(unit << 4 | char::from(digit).to_digit(16)?)
            })?;
            return Some((u16::try_from(unit).ok()?, 6));
        }
        [b'\\', b'b', ..] => 0x08,
        [b'\\', b'f', ..] => 0x0c,
        [b'\\', b'n', ..] => b'\n',
        [b'\\', b'r', ..] => b'\r',
        [b'\\', b't', ..] => b'\t',
        [b'\\', character @ (b'"' | b'\\' | b'/'), ..] => *character,
        _ => return None,
    };
    Some((u16::from(character), 2))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::canonical::tests::{STRING, json_text, object_text};
    use super::super::scan::validate_document;
    use super::*;

    fn text_of(json: &str, max_bytes: usize) -> String {
        let mut out = String::new();
        append_text(json.as_bytes(), &mut out, max_bytes);
        out
    }

    fn cut(json: &str, max_bytes: usize) -> String {
        String::from_utf8(cut_arguments(json.as_bytes(), max_bytes).0).unwrap()
    }

    proptest! {
        #[test]
        fn short_and_long_contents_are_decoded_to_their_units(
            pieces in vec(prop::sample::select(&[
                "a", "é", "🙂", "\\n", "\\t", "\\r", "\\b", "\\f", "\\\"", "\\\\", "\\/", "\\u00e9", "\\ud83d", "\\ude42",
                "\\uD83D\\uDE42", "\\u000A", " ", "a long word that is copied at once",
            ][..]), 0..60),
        ) {
            let token = format!("\"{}\"", pieces.concat());
            let expected = String::from_utf16_lossy(&decode_utf16(token.as_bytes()));
            let decoded = decode_string(token.as_bytes());
            prop_assert_eq!(decoded.as_deref(), Some(expected.as_str()));
            prop_assert_eq!(text_of(&token, usize::MAX), expected.as_str());
            prop_assert_eq!(text_of(&token, token.len()), expected.as_str());
        }
    }

    #[test]
    fn decodes_strings() {
        let cases = [
            (r#""""#, Some("")),
            (r#""é😀""#, Some("é😀")),
            (r#""\"\\\/\b\f\n\r\t\u00e9""#, Some("\"\\/\u{8}\u{c}\n\r\té")),
            (r#""\ud83d\uDE00""#, Some("😀")),
            (r#""\ud83d\ud83d\ude00\ude00x\ud83d""#, Some("\u{fffd}😀\u{fffd}x\u{fffd}")),
            (r#""\ud83dA""#, Some("\u{fffd}A")),
            (r#"""#, None),
            (r#"a"#, None),
            (r#""a"b""#, None),
            (r#""\u12""#, None),
            (r#""a\""#, None),
        ];
        for (raw, text) in cases {
            assert_eq!(decode_string(raw.as_bytes()).as_deref(), text, "{raw}");
        }
        assert!(matches!(decode_string(b"\"plain\""), Some(Cow::Borrowed("plain"))));
    }

    #[test]
    fn utf16_keeps_lone_surrogates() {
        assert_eq!(decode_utf16(br#""a\ude00\ud83d""#), [0x61, 0xde00, 0xd83d]);
        assert_eq!(
            decode_utf16("\"😀\\ud83d\\ude00\"".as_bytes()),
            [0xd83d, 0xde00, 0xd83d, 0xde00]
        );
    }

    #[test]
    fn text_is_bounded() {
        let json = r#"{"a":"x\ny","":[1.50,true,null,"",{"é":"\ud83d\ude00z"}]}"#;
        assert_eq!(text_of(json, usize::MAX), "a x\ny 1.50 true é 😀z");
        let cases = [
            (0, ""),
            (1, "a"),
            (2, "a"),
            (3, "a x"),
            (16, "a x\ny 1.50 true"),
            (17, "a x\ny 1.50 true"),
            (18, "a x\ny 1.50 true é"),
            (22, "a x\ny 1.50 true é"),
            (23, "a x\ny 1.50 true é 😀"),
        ];
        for (max_bytes, text) in cases {
            assert_eq!(text_of(json, max_bytes), text, "{max_bytes}");
        }
        let mut out = "before".to_owned();
        append_text(b"[\"abc\", \"d", &mut out, 3);
        assert_eq!(out, "before ab");
    }

    #[test]
    fn cuts_arguments() {
        let json = r#"{"a":"0123456789","b":[1,2],"c":"\ud83d\ude00\nabc","d":1}"#;
        assert_eq!(cut_arguments(json.as_bytes(), json.len()), (json.as_bytes().to_vec(), false));
        let cases = [
            (0, "{}"),
            (10, "{\"d\":1}"),
            (11, "{\"a\":\"…\"}"),
            (12, "{\"a\":\"0…\"}"),
            (27, r#"{"a":"0123456789","d":1}"#),
            (29, r#"{"a":"0123456789","b":[1,2]}"#),
            (37, r#"{"a":"0123456789","b":[1,2],"d":1}"#),
            (38, r#"{"a":"0123456789","b":[1,2],"c":"…"}"#),
            (49, r#"{"a":"0123456789","b":[1,2],"c":"…","d":1}"#),
            (50, r#"{"a":"0123456789","b":[1,2],"c":"\ud83d\ude00…"}"#),
        ];
        for (max_bytes, expected) in cases {
            assert_eq!(cut(json, max_bytes), expected, "{max_bytes}");
        }
        assert_eq!(cut(r#"{"a":"éé😀 and so on"}"#, 16), "{\"a\":\"éé…\"}");
        assert_eq!(cut("[1,2,3]", 4), "{}");
    }

    proptest! {
        #[test]
        fn decoding_agrees_with_serde_json(raw in STRING) {
            let units = decode_utf16(raw.as_bytes());
            let text = decode_string(raw.as_bytes()).unwrap();
            prop_assert_eq!(text, String::from_utf16_lossy(&units));
            if let Ok(reference) = serde_json::from_str::<String>(&raw) {
                prop_assert_eq!(&units, &reference.encode_utf16().collect::<Vec<_>>());
            }
        }

        #[test]
        fn bounded_text_is_a_beginning(json in json_text(), max_bytes in 0_usize..60) {
            let (whole, text) = (text_of(&json, usize::MAX), text_of(&json, max_bytes));
            prop_assert!(whole.starts_with(&text) && text.len() <= max_bytes);
            prop_assert!(text.len() == whole.len() || text.len() + 5 > max_bytes);
        }

        #[test]
        fn cut_arguments_are_valid(json in object_text(), max_bytes in 2_usize..80) {
            let (bytes, was_cut) = cut_arguments(json.as_bytes(), max_bytes);
            prop_assert_eq!(validate_document(&bytes), Ok(()));
            prop_assert!(bytes.len() <= max_bytes && was_cut == (json.len() > max_bytes));
        }

        #[test]
        fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..64), max_bytes in 0_usize..70) {
            let quoted = [b"\"", bytes.as_slice(), b"\""].concat();
            let object = [b"{\"a\":", quoted.as_slice(), b"}"].concat();
            for raw in [&bytes, &quoted, &object] {
                let units = decode_utf16(raw);
                prop_assert!(decode_string(raw).is_none_or(|text| text.encode_utf16().count() == units.len()));
                append_text(raw, &mut String::new(), max_bytes);
                cut_arguments(raw, max_bytes);
            }
        }
    }
}
