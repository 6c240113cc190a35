//! Detector for Discord tokens, which have no anchor: an encoded number, six characters between dots, and a signature.

use std::ops::Range;

/// Length of the account number in base64, which begins with one of [`FIRST`].
const NUMBER: std::ops::RangeInclusive<usize> = 23..=28;
const FIRST: [u8; 3] = *b"MNO";
/// Length of the timestamp between the dots.
const TIME: usize = 6;
/// Length of the signature.
const SIGNATURE: std::ops::RangeInclusive<usize> = 27..=40;

/// Appends the tokens whose first dot is in the given part of a text.
pub(super) fn find(text: &str, part: Range<usize>, mut hit: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    for offset in memchr::memchr_iter(b'.', bytes.get(part.clone()).unwrap_or_default()) {
        let dot = part.start + offset;
        if bytes.get(dot + 1 + TIME) != Some(&b'.') {
            continue;
        }
        let run = |bytes: &[u8]| bytes.iter().take_while(|byte| is_of_token(**byte)).count();
        let time = bytes.get(dot + 1..dot + 1 + TIME).unwrap_or_default();
        let signature = run(bytes.get(dot + 2 + TIME..).unwrap_or_default());
        let before = bytes.get(dot.saturating_sub(NUMBER.end() + 1)..dot).unwrap_or_default();
        let number = before.iter().rev().take_while(|byte| is_of_token(**byte)).count();
        let start = dot - number;
        let is_token = run(time) == TIME
            && NUMBER.contains(&number)
            && SIGNATURE.contains(&signature)
            && bytes.get(start).is_some_and(|first| FIRST.contains(first))
            && has_all_kinds(bytes.get(start..dot).unwrap_or_default());
        if is_token {
            hit(start..dot + 2 + TIME + signature);
        }
    }
}

const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Whether the number has all kinds of characters; file and package names with dots do not.
fn has_all_kinds(number: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| number.iter().filter(|byte| kind(byte)).count() >= 2;
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}
