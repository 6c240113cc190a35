//! Decides whether a name without a secret may have one in the text without the prefixes of its lines. Most names have their value, or
//! something else, on their own line, so that no prefix matters and no view has to be made for them.

use std::ops::Range;

use super::{Name, Value, command, separator::Separator};
use crate::names::NameClass;

/// Whether what follows the name on its line rules out every separator, with any text before the name: `call(token)`, `/token/refresh`.
pub(super) fn has_no_value(text: &[u8], name: &Range<usize>) -> bool {
    let before = name.start.checked_sub(1).and_then(|before| text.get(before));
    // The quote around a name may be the end of one, a flag an element of an array, a tag an element of XML.
    !matches!(before, Some(b'"' | b'\'' | b'`' | b'<' | b'-'))
        && matches!(
            text.get(name.end),
            Some(
                b'(' | b')'
                    | b'['
                    | b']'
                    | b'{'
                    | b'}'
                    | b'.'
                    | b'/'
                    | b'@'
                    | b'&'
                    | b'*'
                    | b'%'
                    | b'#'
            )
        )
}

/// Whether a prefix of a line may end within the name, so that the rest of it is another name.
pub(super) fn may_be_cut(name: &Name<'_>) -> bool {
    name.text.bytes().any(|byte| matches!(byte, b'-' | b' '))
}

/// What a name has whose value was rejected, by its length alone if it `is_short`. `value` begins behind the separator and ends with the
/// value.
///
/// Without the prefixes of lines, the text before the name is shorter, and the following lines differ. Neither matters to most names that
/// have their value on their line.
pub(super) fn rejected(
    text: &str,
    name: &Name<'_>,
    separator: Separator,
    value: Range<usize>,
    is_short: bool,
) -> Value {
    let is_of_machine = name.class <= NameClass::Machine;
    let is_local = match separator {
        Separator::Tight => true,
        // Prose may have the password that it mentions on one of its next lines.
        Separator::Space => is_of_machine && !command::may_set(text, name),
        // Whether a password or a token is accepted depends on what its line begins with.
        Separator::Assignment => is_of_machine || is_short,
        _ => false,
    };
    let bytes = text.as_bytes();
    let line = bytes.get(name.range.end..value.end).unwrap_or_default();
    let is_on_line = memchr::memchr3(b'\n', b'\r', b'\\', line).is_none()
        // The header of a YAML block.
        && !matches!(bytes.get(value.start), Some(b'|' | b'>'));
    if is_local && is_on_line && !may_be_cut(name) { Value::None } else { Value::NotHere }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::Values;

    /// What the first `token` or `key` of a text has.
    fn value(text: &str) -> Value {
        let name = text.find("token").or_else(|| text.find("key")).unwrap();
        Values::default().find(text, name, &[]).1
    }

    #[test]
    fn a_name_that_its_line_settles_has_no_value_in_any_view() {
        for text in [
            "read(token)",
            "/auth/token/refresh",
            "[token] took 5 ms",
            "a token_type=bearer b",
            "tokenizer: none",
            "token=none",
            "key=12",
            "key: primary",
            "the key is here",
            "token: 1",
        ] {
            assert_eq!(value(text), Value::None, "{text}");
        }
    }

    #[test]
    fn a_name_may_have_a_value_where_prefixes_are_left_out() {
        for text in [
            "12: token:\n13:   x",
            "the token follows",
            "name: token\nvalue: x",
            "token: abc1",
            "key: |\n  x",
            "web: ENV key abc",
            "max-token=5",
            r#""token""#,
            "--token, x",
            "<token>",
            "token=`a\nb`",
        ] {
            assert_eq!(value(text), Value::NotHere, "{text}");
        }
    }

    #[test]
    fn a_secret_is_found() {
        assert_eq!(value("token=kX82hs91Ls02hsKq"), Value::Secret(6..22));
    }
}
