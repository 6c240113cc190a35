//! Detector for Discord tokens, which have no anchor: an encoded number, six characters between dots, and a signature.

use std::ops::Range;

/// Length of the account number in base64, which begins with one of [`FIRST`].
const NUMBER: std::ops::RangeInclusive<usize> = 23..=28;
const FIRST: [u8; 3] = *b"MNO";
/// Length of the timestamp between the dots.
const TIME: usize = 6;
/// Length of the signature.
const SIGNATURE: std::ops::RangeInclusive<usize> = 27..=40;

/// Number of bytes that are searched for two dots at once.
const CHUNK: usize = 64;

/// Visits the tokens whose first dot is in the given part of a text.
pub(super) fn find(text: &str, part: Range<usize>, mut hit: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    for dot in pairs(bytes, part) {
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

/// The dots in the given part of a text that are followed by a second dot at the distance of a token's dots.
pub(super) fn pairs(bytes: &[u8], part: Range<usize>) -> impl Iterator<Item = usize> {
    let start = part.start;
    let first = bytes.get(part).unwrap_or_default();
    let second = bytes.get(start + 1 + TIME..).unwrap_or_default();
    let chunks = first.chunks(CHUNK).zip(second.chunks(CHUNK)).enumerate();
    let with_pairs = chunks.filter(|(_, (first, second))| {
        // No branch per byte, so that the compiler vectorises the comparison.
        let is_pair = |(first, second)| u8::from(first == &b'.') & u8::from(second == &b'.');
        first.iter().zip(*second).map(is_pair).fold(0, |any, is_pair| any | is_pair) != 0
    });
    with_pairs.flat_map(move |(number, (first, second))| {
        let dots = first.iter().zip(second).enumerate();
        let dots = dots.filter(|(_, (first, second))| **first == b'.' && **second == b'.');
        dots.map(move |(offset, _)| start + number * CHUNK + offset)
    })
}

const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Whether the number has all kinds of characters; file and package names with dots do not.
fn has_all_kinds(number: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| number.iter().filter(|byte| kind(byte)).count() >= 2;
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}
