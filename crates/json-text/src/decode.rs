//! Decodes the content of a string token as a whole, the fast way for long strings.

use std::borrow::Cow;

use memchr::memchr;

use super::text::read_character;

/// Decodes the content of a well-formed string token, without its quotes. Lone surrogates become U+FFFD, as with
/// [`decode_string`](crate::decode_string).
pub fn decode_content(content: &str) -> Cow<'_, str> {
    let Some(first) = memchr(b'\\', content.as_bytes()) else { return Cow::Borrowed(content) };
    if let Some(text) = decode_ascii(content) {
        return Cow::Owned(text);
    }
    let mut text = String::with_capacity(content.len());
    let (mut rest, mut escape) = (content, Some(first));
    while let Some(at) = escape {
        text.push_str(rest.get(..at).unwrap_or_default());
        let escapes = rest.get(at..).unwrap_or_default();
        let Some((character, length)) = unescaped(escapes.as_bytes()) else {
            return Cow::Owned(text);
        };
        text.push(character);
        rest = escapes.get(length..).unwrap_or_default();
        escape = memchr(b'\\', rest.as_bytes());
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Number of bytes that are copied at once.
const COPIED: usize = 16;

/// Decodes the content of a string token that is ASCII, in which escape sequences are often close to each other: whole chunks are copied,
/// and what follows an escape sequence is taken back. `None` if there are other characters.
fn decode_ascii(content: &str) -> Option<String> {
    if !content.is_ascii() {
        return None;
    }
    let mut text = Vec::with_capacity(content.len() + COPIED);
    let mut rest = content.as_bytes();
    while !rest.is_empty() {
        let (copied, escape) = match rest.first_chunk::<COPIED>() {
            Some(chunk) => {
                text.extend_from_slice(chunk);
                (COPIED, first_backslash(chunk))
            }
            None => {
                text.extend_from_slice(rest);
                (rest.len(), rest.iter().position(|&byte| byte == b'\\'))
            }
        };
        let Some(at) = escape else {
            rest = rest.get(copied..).unwrap_or_default();
            continue;
        };
        text.truncate(text.len() - copied + at);
        let escapes = rest.get(at..).unwrap_or_default();
        let Some((character, length)) = unescaped(escapes) else { break };
        if character.is_ascii() {
            text.push(character as u8);
        } else {
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        rest = escapes.get(length..).unwrap_or_default();
    }
    String::from_utf8(text).ok()
}

/// The position of the first backslash in a chunk.
#[inline]
fn first_backslash(chunk: &[u8; COPIED]) -> Option<usize> {
    const LOW: u128 = u128::from_le_bytes([0x01; COPIED]);
    const HIGH: u128 = u128::from_le_bytes([0x80; COPIED]);
    let word = u128::from_le_bytes(*chunk) ^ (LOW * b'\\' as u128);
    // The high bit of each byte that is zero. A borrow can only set it wrongly above a byte that is.
    let zeros = word.wrapping_sub(LOW) & !word & HIGH;
    (zeros != 0).then(|| zeros.trailing_zeros() as usize / 8)
}

/// The character of the escape sequence at the start of `escapes`, and the length of the sequence.
#[inline]
fn unescaped(escapes: &[u8]) -> Option<(char, usize)> {
    match escapes {
        [_, b'n', ..] => Some(('\n', 2)),
        [_, b't', ..] => Some(('\t', 2)),
        [_, character @ (b'"' | b'\\' | b'/'), ..] => Some((char::from(*character), 2)),
        escapes => read_character(escapes),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn escape_sequences_are_decoded_wherever_chunks_end(
            pieces in prop::collection::vec(prop_oneof![
                "[ -!#-\\[\\]-~]{0,40}",
                prop::sample::select(&["\\n", "\\t", "\\\"", "\\\\", "\\/", "\\r", "\\u00e9", "\\u0041", "\\ud83d\\ude42"][..])
                    .prop_map(str::to_owned),
            ], 0..12),
            is_ascii: bool,
        ) {
            let content = pieces.concat() + if is_ascii { "" } else { "é" };
            let expected: String = serde_json::from_str(&format!("\"{content}\"")).unwrap();
            prop_assert_eq!(decode_content(&content), expected);
        }
    }

    #[test]
    fn a_malformed_escape_sequence_ends_the_text() {
        for content in [r"ab\x", r"ab\u12", r"ab\", r"éab\x"] {
            let decoded = decode_content(content);
            assert_eq!(decoded.trim_start_matches('é'), "ab", "{content}");
        }
    }
}
