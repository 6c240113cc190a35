//! Judges a value by its form: random, chosen by a person, plain words, or not a value at all.

use std::{ops::Range, sync::OnceLock};

use super::{names, replacement, rules::NAMES, word_set::WordSet, work};

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    /// A reference, a placeholder, a word of code, or empty.
    Nothing,
    /// One or more plain words.
    Words,
    /// A value that a person may have chosen: letters with digits or signs.
    Chosen,
    /// A value that a machine generated.
    Random,
}

/// Minimum length of a random value.
const RANDOM_LENGTH: usize = 16;
/// A value of digits only is an identifier or a secret from this length on.
const DIGITS_LENGTH: usize = 15;
/// Only the first bytes of longer values are judged.
pub(super) const JUDGED: usize = 1024;
/// Work steps per byte for judging a value and for recognising a placeholder.
const STEPS_OF_LOOK: usize = 4;
const STEPS_OF_PLACEHOLDER: usize = 3;
/// Minimum work steps for recognising a placeholder.
const PLACEHOLDER_STEPS: usize = 35;

/// Judges a value without its quotes.
pub(super) fn look(value: &str) -> Look {
    let value = value.get(..value.floor_char_boundary(JUDGED)).unwrap_or(value).trim();
    work::add(STEPS_OF_LOOK * value.len());
    if value.is_empty() || is_no_secret(value) {
        return Look::Nothing;
    }
    let bytes = value.as_bytes();
    let bytes = bytes.get(..JUDGED).unwrap_or(bytes);
    if is_random(bytes) {
        return Look::Random;
    }
    let is_word = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
    let is_joint = |byte: &u8| matches!(byte, b' ' | b'_' | b'-' | b'.' | b',' | b':' | b'\'');
    if bytes.iter().all(|byte| is_word(byte) || is_joint(byte)) && !is_irregular(value) {
        Look::Words
    } else {
        Look::Chosen
    }
}

/// Whether one of its words mixes cases as no name does: `gAwMa`, but not `accessToken`.
pub(super) fn is_irregular(value: &str) -> bool {
    value.split(|letter: char| !letter.is_alphanumeric()).any(|word| {
        let bytes = word.as_bytes();
        // Each part of a name begins with a capital and has several letters.
        let capitals = bytes
            .windows(2)
            .filter(
                |pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()),
            )
            .count();
        bytes.len() >= 5 && capitals >= 2 && bytes.len() < 3 * (capitals + 1)
    })
}

/// Whether it is prose or a label: several words, or letters beyond ASCII.
pub(super) fn is_prose(value: &str) -> bool {
    let is_word = |word: &str| {
        let word = word.trim_matches(|sign: char| !sign.is_alphanumeric());
        word.len() <= 4 || !word.bytes().any(|byte| byte.is_ascii_digit())
    };
    let mut words = value.split_ascii_whitespace();
    let has_several = value.contains(char::is_whitespace);
    (has_several && words.all(is_word)) || !value.is_ascii()
}

fn is_no_secret(value: &str) -> bool {
    let is_file =
        value.starts_with(['/', '~', '.']) && value.contains('/') || value.contains(":\\");
    !value.contains(char::is_alphanumeric)
        || is_reference(value.trim_start_matches(['\\', '"', '\'']))
        || is_placeholder(value)
        || is_version(value)
        || is_file && is_path(value.as_bytes())
}

/// Whether it is a version or a version range: `^6.0.0`, `>=1.2`.
fn is_version(value: &str) -> bool {
    let number = value.trim_start_matches(['^', '~', '>', '<', '=', 'v', ' ']);
    let is_start = number.len() < value.len() || number.matches('.').count() >= 2;
    is_start
        && number.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
        && number
            .split('.')
            .all(|part| part.len() <= 5 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether it refers to a value stored elsewhere: `${DB_PASSWORD}`, `process.env.TOKEN`, `<password>`.
pub(super) fn is_reference(value: &str) -> bool {
    let bytes = value.as_bytes();
    let second = bytes.get(1).copied().unwrap_or_default();
    match bytes.first().copied().unwrap_or_default() {
        b'$' => second == b'{' || second == b'(' || second == b'[' || is_identifier(value, 1),
        b'{' => {
            second == b'{'
                || second == b'%'
                || (bytes.last() == Some(&b'}') && is_identifier(value, 1))
        }
        b'%' => {
            second == b'{'
                || second == b'('
                || (value.len() <= 3 && second.is_ascii_alphabetic())
                || (bytes.last() == Some(&b'%') && is_identifier(value, 1))
        }
        b'<' => bytes.last() == Some(&b'>') || value.contains('>'),
        b'[' => bytes.last() == Some(&b']') && !value.bytes().any(|byte| byte.is_ascii_digit()),
        b'#' => second == b'{',
        b'@' => second == b'@' || second == b'{',
        b'!' => {
            value.starts_with("!Ref ") || value.starts_with("!Sub ") || value.starts_with("!vault")
        }
        first => {
            words().begins_reference.get(usize::from(first)) == Some(&true)
                && NAMES.references.iter().any(|start| value.starts_with(start))
        }
    }
}

/// Whether only a name, possibly with a closing bracket, follows from `start` on.
fn is_identifier(value: &str, start: usize) -> bool {
    let rest = value.get(start..).unwrap_or_default();
    let rest = rest.split(['/', '}', '%', '"', '\'', ':', '.']).next().unwrap_or_default();
    let mut letters = rest.bytes();
    letters.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && (rest.bytes().all(|byte| !byte.is_ascii_lowercase())
            || !rest.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Whether it is a placeholder: `xxxx`, `your-token-here`, `changeme`, `********`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let bytes = value.as_bytes();
    work::add(PLACEHOLDER_STEPS + STEPS_OF_PLACEHOLDER * bytes.len().min(JUDGED));
    if replacement::holds_label(bytes) {
        return true;
    }
    if has_filling(bytes) {
        return true;
    }
    if value.len() > LONGEST_PLACEHOLDER {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let words = words();
    if words.literals.contains(&lower) {
        return true;
    }
    // Words such as `your` must be complete words. Digits may adjoin long words; short words such as `my` occur between
    // digits by chance.
    let is_word = |word: &str| words.placeholders.contains(word);
    let by_signs = || lower.split(|letter: char| !letter.is_alphanumeric());
    let by_digits = || lower.split(|letter: char| !letter.is_alphabetic());
    (by_signs().any(is_word) || by_digits().any(|word| word.len() > SHORT && is_word(word)))
        && !is_random(bytes)
}

/// Maximum length of a placeholder.
const LONGEST_PLACEHOLDER: usize = 64;

/// The words of the rules' file, prepared for lookup.
struct Words {
    literals: WordSet,
    placeholders: WordSet,
    /// The bytes with which references begin.
    begins_reference: [bool; 256],
}

fn words() -> &'static Words {
    static WORDS: OnceLock<Words> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut begins_reference = [false; 256];
        for first in NAMES.references.iter().filter_map(|reference| reference.bytes().next()) {
            if let Some(begins) = begins_reference.get_mut(usize::from(first)) {
                *begins = true;
            }
        }
        Words {
            literals: WordSet::new(NAMES.literals),
            placeholders: WordSet::new(NAMES.placeholders),
            begins_reference,
        }
    })
}

/// Whether a value contains a run of filler characters, or repeats a single character.
fn has_filling(bytes: &[u8]) -> bool {
    let mut run = 0;
    let mut before = 0;
    let mut longest = 0;
    for &byte in bytes.iter().take(JUDGED) {
        run = if byte == before { run + 1 } else { 1 };
        before = byte;
        if matches!(byte, b'x' | b'X' | b'*' | b'.' | b'0' | b'#' | b'-' | b'_' | b'?')
            && run >= FILLING
        {
            return true;
        }
        longest = longest.max(run);
    }
    longest == bytes.len() || matches!(bytes, b"xxx" | b"XXX" | b"***" | b"...")
}

/// Words up to this number of letters occur between digits by chance.
const SHORT: usize = 3;
/// Number of repetitions of a sign that is not a coincidence.
const FILLING: usize = 6;

/// Whether a machine generated the value.
pub(super) fn is_random(bytes: &[u8]) -> bool {
    if bytes.len() < RANDOM_LENGTH || bytes.iter().any(u8::is_ascii_whitespace) {
        return false;
    }
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == bytes.len() {
        return digits >= DIGITS_LENGTH && !is_sequence(bytes);
    }
    let mut seen = [false; 256];
    let mut distinct = 0;
    for &byte in bytes {
        if let Some(seen) = seen.get_mut(usize::from(byte))
            && !std::mem::replace(seen, true)
        {
            distinct += 1;
        }
    }
    let lower = bytes.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    let upper = bytes.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let signs = bytes.len() - digits - lower - upper;
    let is_mixed =
        digits >= 2 && lower >= 2 && upper >= 2 && distinct >= 16 && !is_expression(bytes);
    if distinct < 8 || signs * 3 > bytes.len() && !is_mixed || is_sequence(bytes) || is_path(bytes)
    {
        return false;
    }
    // Several digits among letters, or a change of case that does not occur in names.
    digits >= 2 && changes(bytes) * 6 >= bytes.len() && !is_date(bytes)
        || bytes.len() >= 20 && changes_of_case(bytes) * 20 >= bytes.len() * 9
        || bytes.len() >= 24 && is_mixed && signs * 8 > bytes.len()
}

/// Whether it is a date, possibly with a time.
fn is_date(bytes: &[u8]) -> bool {
    let is_digits = |range: Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    is_digits(0..4)
        && bytes.get(4) == Some(&b'-')
        && is_digits(5..7)
        && bytes.get(7) == Some(&b'-')
        && is_digits(8..10)
        && bytes.get(10).is_none_or(|byte| matches!(byte, b'T' | b' '))
}

/// Whether it has only digits and the signs that join them in dates, times and numbers.
pub(super) fn is_time(value: &str) -> bool {
    let is_sign = |byte: u8| matches!(byte, b'-' | b':' | b'/' | b'.' | b'T' | b'Z' | b'+');
    value.bytes().all(|byte| byte.is_ascii_digit() || is_sign(byte)) && value.bytes().any(is_sign)
}

/// Whether it is a regular expression, which contains all kinds of characters.
fn is_expression(bytes: &[u8]) -> bool {
    let holds = |part: &[u8]| memchr::memmem::find(bytes, part).is_some();
    [&b"A-Z"[..], b"a-z", b"0-9", b"\\x", b"\\w", b"\\d", b"\\s", b"(?"].into_iter().any(holds)
}

/// Whether most characters follow their neighbours in order: `0123456789abcdef`, `aaaa1111`.
fn is_sequence(bytes: &[u8]) -> bool {
    let near = bytes
        .windows(2)
        .filter(|pair| matches!(pair, [first, second] if second.wrapping_sub(*first) <= 1))
        .count();
    near * 4 > bytes.len() * 3
}

/// Whether it has the form of a path, a name or a version: mostly words joined by signs.
pub(super) fn is_path(bytes: &[u8]) -> bool {
    let is_joint = |byte: &u8| matches!(byte, b'/' | b'.' | b'-' | b'_' | b':' | b'@' | b'\\');
    let (mut parts, mut length, mut plain) = (0, 0, 0);
    for word in bytes.split(is_joint).filter(|word| !word.is_empty()) {
        parts += 1;
        length += word.len();
        let letters = word.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        let is_word = letters == word.len() && changes_of_case(word) <= 2;
        let is_number = letters == 0 && word.len() < 5;
        plain += if is_word || is_number { word.len() } else { 0 };
    }
    parts >= 2 && plain * 2 > length
}

/// Number of changes between letters and digits.
fn changes(bytes: &[u8]) -> usize {
    let kind = |byte: &u8| byte.is_ascii_digit();
    bytes
        .windows(2)
        .filter(|pair| matches!(pair, [first, second] if kind(first) != kind(second)))
        .count()
}

fn changes_of_case(bytes: &[u8]) -> usize {
    let is_change = |first: &u8, second: &u8| {
        first.is_ascii_lowercase() && second.is_ascii_uppercase()
            || first.is_ascii_uppercase() && second.is_ascii_lowercase()
    };
    bytes
        .windows(2)
        .filter(|pair| matches!(pair, [first, second] if is_change(first, second)))
        .count()
}

/// Whether an unquoted value is code: a call, a member access, a name.
pub(super) fn is_code(value: &str) -> bool {
    let name = value
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.'))
        .count();
    let (chain, rest) = value.split_at_checked(name).unwrap_or((value, ""));
    if chain.is_empty() {
        return matches!(
            rest.bytes().next(),
            Some(b'(' | b'[' | b'{' | b'&' | b'|' | b'!' | b'?' | b'\\')
        );
    }
    if rest.starts_with('(')
        || rest.starts_with('[')
        || rest.starts_with("->")
        || rest.starts_with("::")
        || rest.starts_with("?.")
        || rest.starts_with("!(")
    {
        return chain.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    }
    let is_chain = chain.split('.').all(|part| {
        part.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
            && !part.bytes().any(|byte| byte.is_ascii_digit())
    });
    rest.trim_end_matches([',', ';', ')', '}', ']', ':', '|', '>']).is_empty()
        && is_chain
        && !chain.is_empty()
        || rest.is_empty() && names::is_made_of_names(chain) && is_chain
}

/// Whether a value has the form of a digest or an identifier, which weak names often have.
pub(super) fn is_digest(value: &str) -> bool {
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_hex || value.starts_with("sha") || value.contains('/') && value.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_classified() {
        let cases = [
            ("", Look::Nothing),
            ("${DB_PASSWORD}", Look::Nothing),
            ("$PGPASSWORD", Look::Nothing),
            ("{{ token }}", Look::Nothing),
            ("<your token>", Look::Nothing),
            ("%s", Look::Nothing),
            ("process.env.TOKEN", Look::Nothing),
            ("xxxxxxxxxxxx", Look::Nothing),
            ("********", Look::Nothing),
            ("YOUR_TOKEN_HERE", Look::Nothing),
            ("changeme", Look::Nothing),
            ("[REDACTED:password]", Look::Nothing),
            ("null", Look::Nothing),
            ("thisismypassword", Look::Words),
            ("correct horse", Look::Words),
            ("hunter2", Look::Chosen),
            ("gda-gAwMa-vKkmn", Look::Chosen),
            ("accessToken-forUsers", Look::Words),
            ("gde46N5EvZs=Mot", Look::Chosen),
            ("951bc382db9cfee29c68634761dd6e19", Look::Random),
            ("b42n292nb622ebn1b21bb2nnb1bc2e02231b9n92", Look::Random),
            ("qPUKVel1ka4YalLPP0E533QvWeXSE3m0", Look::Random),
            ("985520952834760887", Look::Random),
            ("abdefghjk0123456789mnopqrstuvwx12345678", Look::Chosen),
        ];
        for (value, expected) in cases {
            assert_eq!(look(value), expected, "{value}");
        }
    }

    #[test]
    fn code_is_no_value() {
        for code in [
            "session.access_token",
            "getToken(user",
            "await",
            "Buffer.from(",
            "(char",
            "tokens[0]",
            "confirm_password,",
        ] {
            assert!(is_code(code), "{code}");
        }
        for value in ["hunter2", "AMN40cWhqdNLkfw-9ZRU3", "q.Q28tlt.u18fu."] {
            assert!(!is_code(value), "{value}");
        }
    }
}
