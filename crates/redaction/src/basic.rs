//! Detector for credentials of the HTTP scheme `Basic` in any text: base64 of a user name, a colon and a password.
//! Words that follow `Basic` in prose do not decode to this form.

use std::ops::Range;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{
        DecodePaddingMode,
        general_purpose::{GeneralPurpose, GeneralPurposeConfig},
    },
};

use super::{
    value::{self, Look},
    work,
};

/// Length of encoded credentials.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=4096;
/// Maximum number of spaces between the scheme and the credentials.
const MAX_GAP: usize = 8;
/// Work steps per letter for examining and decoding credentials.
const STEPS_OF_LETTER: usize = 1;
const STEPS_OF_DECODED: usize = 3;
/// Decoder that ignores missing padding and trailing bits, which a cut text has.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The credentials after the scheme's name, which ends at `end`.
pub(super) fn find(text: &str, end: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(end..)?;
    let gap = match rest {
        [b' ' | b'\t', ..] => {
            rest.iter().take(MAX_GAP).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
        }
        [b'%', b'2', b'0', ..] => 3,
        [b'+', ..] => 1,
        _ => return None,
    };
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let rest = rest.get(gap..)?;
    let letters = rest.iter().take(LENGTH.end() + 1).take_while(is_letter).count();
    work::add(STEPS_OF_LETTER * letters);
    if !LENGTH.contains(&letters) {
        return None;
    }
    let padding = rest.iter().skip(letters).take(2).take_while(|&&byte| byte == b'=').count();
    // One letter more than whole bytes need: the text is cut.
    let whole = letters - usize::from(letters % 4 == 1);
    work::add(STEPS_OF_DECODED * letters);
    let decoded = ENGINE.decode(rest.get(..whole)?).ok()?;
    let decoded = std::str::from_utf8(&decoded).ok()?;
    let (user, password) = decoded.split_once(':')?;
    let is_text = !decoded.chars().any(char::is_control) && !user.contains(['{', '<', '$']);
    let is_secret = is_text && value::look(password) > Look::Nothing;
    is_secret.then_some(end + gap..end + gap + letters + padding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_a_name_and_a_password() {
        for (user, password, is_found) in [
            ("deploy", "tr-3-x", true),
            ("", "tr-3-x", true),
            ("dev@corp.net", "a:b:c1", true),
            ("user", "password", false),
            ("deploy", "${PASSWORD}", false),
            ("deploy", "", false),
            ("deploy", "a\u{1}b2c3", false),
        ] {
            for padding in ["", "="] {
                let encoded = ENGINE.encode(format!("{user}:{password}"));
                let encoded = encoded.trim_end_matches('=');
                let text = format!("Basic {encoded}{padding} x");
                let expected = is_found.then(|| 6..6 + encoded.len() + padding.len());
                assert_eq!(find(&text, 5), expected, "{user}:{password}");
            }
        }
        assert_eq!(find("Basic authentication", 5), None);
        assert_eq!(find("Basic", 5), None);
    }
}
