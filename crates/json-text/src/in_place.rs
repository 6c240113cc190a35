//! Decodes the escape sequences of a JSON text without changing offsets, so that matches in the decoded text can be
//! shown in the original.

use std::borrow::Cow;

use memchr::memchr;

use super::text::read_character;

/// Fills the bytes of an escape sequence that its character does not need. Not part of a word.
pub const FILLER: char = '\u{1}';

/// The text with every escape sequence of its strings replaced by its character and fillers, so that all text keeps its
/// byte offset. Characters that cannot be shown (lone surrogates, control characters) become spaces.
#[must_use]
pub fn unescaped_in_place(json: &str) -> Cow<'_, str> {
    let Some(first) = memchr(b'\\', json.as_bytes()) else { return Cow::Borrowed(json) };
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    let mut next = Some(first);
    while let Some(at) = next {
        let (plain, escapes) = rest.split_at(at);
        text.push_str(plain);
        let length = match read_character(escapes.as_bytes()) {
            Some((character, length)) => {
                replace(character, length, &mut text);
                length
            }
            None => {
                // Not an escape sequence, so not valid JSON: shown unchanged.
                text.push('\\');
                1
            }
        };
        rest = escapes.get(length..).unwrap_or_default();
        next = memchr(b'\\', rest.as_bytes());
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Appends a character in exactly `length` bytes.
fn replace(character: char, length: usize, text: &mut String) {
    let shown = match character {
        '\n' => '\n',
        char::REPLACEMENT_CHARACTER => ' ',
        other if other.is_control() => ' ',
        other => other,
    };
    let mut missing = length.saturating_sub(shown.len_utf8());
    if shown.is_ascii() && !shown.is_ascii_alphanumeric() {
        text.extend(std::iter::repeat_n(FILLER, missing));
        text.push(shown);
        return;
    }
    text.push(shown);
    // Characters that are invisible within a word.
    while missing > 0 {
        let invisible = if missing % 2 == 1 { '\u{200B}' } else { '\u{AD}' };
        text.push(invisible);
        missing -= invisible.len_utf8();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::canonical::tests::json_text;
    use super::*;

    #[test]
    fn everything_stays_at_its_place() {
        for (json, text) in [
            ("plain é", "plain é"),
            (r#""a\nb""#, "\"a\u{1}\nb\""),
            (r#""C:\\x \"y\"""#, "\"C:\u{1}\\x \u{1}\"y\u{1}\"\""),
            (r#""caf\u00e9s""#, "\"café\u{AD}\u{AD}s\""),
            (r#""\u6771""#, "\"東\u{200B}\""),
            (r#""\u0041b""#, "\"A\u{200B}\u{AD}b\""),
            (r#""\ud83d\ude00""#, "\"😀\u{AD}\u{AD}\u{AD}\u{AD}\""),
            (r#""\ud83d""#, "\"\u{1}\u{1}\u{1}\u{1}\u{1} \""),
            (r"\", r"\"),
            (r"\u12", r"\u12"),
        ] {
            assert_eq!(unescaped_in_place(json), text, "{json}");
            assert_eq!(json.len(), text.len(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn the_length_stays(json in json_text(), any in ".*") {
            prop_assert_eq!(unescaped_in_place(&json).len(), json.len());
            prop_assert_eq!(unescaped_in_place(&any).len(), any.len());
        }
    }
}
