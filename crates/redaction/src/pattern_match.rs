//! Finds the match of a rule's expression, or of a command with a secret, at an anchor.

use std::{ops::Range, sync::OnceLock};

use super::{
    command_line::Flags,
    expression::Expression,
    rules::{Method, PatternRule, RULES},
    value, work,
};

/// Maximum number of bytes that an expression examines before it fails.
const SOON: usize = 64;
/// Work steps for checking the start of a match, and minimum steps for searching.
const BEGINNING_STEPS: usize = 20;
const PATTERN_STEPS: usize = 100;
/// Factor for expressions that examine the text before an anchor: they can begin to match in more places.
const STEPS_BEFORE_ANCHOR: usize = 2;
/// Work steps per byte for searching with an expression.
const STEPS_OF_BYTE: usize = 3;
/// Work steps for recognising a placeholder, and for computing the entropy.
const ACCEPTED_STEPS: usize = 100;
const ENTROPY_STEPS: usize = 300;
/// A match that fills its window may be longer; the window grows up to this length.
const MAX_WINDOW: usize = 64 << 10;
/// Maximum length of the parameters of a colour code.
const MAX_COLOUR: usize = 24;

/// The match of a rule's expression that contains an anchor, and its secret. Anchors before `failed` are known to have
/// no match.
pub(super) fn matched(
    text: &str,
    anchor: Range<usize>,
    number: usize,
    failed: &mut usize,
) -> Option<(Range<usize>, Range<usize>)> {
    let Method::Pattern(rule) = &RULES.get(number)?.method else { return None };
    let bytes = text.as_bytes();
    let is_inside = rule.reach == 0 && rule.bounded && continues_before(bytes, anchor.start);
    if rule.pattern.is_empty() || is_inside {
        return None;
    }
    if let [sign] = rule.before.as_bytes()
        && !bytes.get(anchor.start.saturating_sub(rule.reach)..anchor.end)?.contains(sign)
    {
        return None;
    }
    let expression = expression(number, rule)?;
    if !expression.allows(bytes.get(anchor.start..)?) {
        work::add(BEGINNING_STEPS);
        return None;
    }
    // Matches begin on the line of their anchor, or with the end of the previous line.
    let before = bytes.get(anchor.start.saturating_sub(rule.reach)..anchor.start)?;
    let line_end = memchr::memrchr(b'\n', before).unwrap_or_default();
    let mut at = anchor.start - before.len() + line_end;
    let mut length = anchor.start - at + rule.length;
    loop {
        let window_end = at.saturating_add(length).min(bytes.len());
        let window = bytes.get(at..window_end)?;
        let Some(whole) = expression.find(window) else {
            let scanned =
                if rule.run { run(window) } else { likely_scanned(rule, expression, window) };
            work::add(PATTERN_STEPS + STEPS_OF_BYTE * scanned);
            if rule.run && (scanned < window.len() || window_end == bytes.len()) {
                *failed = at + scanned;
            }
            return None;
        };
        work::add(PATTERN_STEPS + STEPS_OF_BYTE * whole.end());
        let (start, end) = (at + whole.start(), at + whole.end());
        if end == window_end && end < bytes.len() && length < MAX_WINDOW {
            length *= 4;
            continue;
        }
        if start > anchor.start {
            return None;
        }
        if end < anchor.end || start == end {
            // This match is an earlier one: the next may begin after it.
            if rule.reach == 0 {
                return None;
            }
            at = end.max(at + 1);
            length = (anchor.start + rule.length).saturating_sub(at);
            continue;
        }
        let secret = expression.secret(bytes.get(start..end)?);
        let secret = start + secret.start..start + secret.end;
        return Some((start..end, accepted(text, rule, start..end, &secret)?));
    }
}

/// The command that begins with an anchor and has a secret after a flag, and the secret.
pub(super) fn of_command(
    text: &str,
    anchor: &Range<usize>,
    number: usize,
    flags: &mut Flags,
) -> Option<(Range<usize>, Range<usize>)> {
    let Method::Pattern(rule) = &RULES.get(number)?.method else { return None };
    if rule.bounded && continues_before(text.as_bytes(), anchor.start) {
        return None;
    }
    rule.commands.iter().find_map(|command| {
        let (whole, secret) = flags.find(text.as_bytes(), anchor, command)?;
        let secret = accepted(text, rule, whole.clone(), &secret)?;
        Some((whole, secret))
    })
}

/// The secret of a match, extended to whole characters, if it is accepted.
fn accepted(
    text: &str,
    rule: &PatternRule,
    whole: Range<usize>,
    secret: &Range<usize>,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let secret = text.floor_char_boundary(secret.start)..text.ceil_char_boundary(secret.end);
    let shown = text.get(secret.clone())?;
    work::add(ACCEPTED_STEPS);
    work::add(if rule.entropy > 0.0 { ENTROPY_STEPS + shown.len() } else { 0 });
    let fits = !(rule.bounded
        && (continues_before(bytes, whole.start) || continues_after(bytes, whole.end)))
        && !shown.is_empty()
        && !is_filler(shown)
        && (rule.entropy <= 0.0 || entropy(shown.as_bytes()) >= rule.entropy);
    fits.then_some(secret)
}

/// An estimate of the bytes that a failed search has examined. An expression that begins with its anchor fails soon
/// after the last token character, unless it skips the words of a command line.
fn likely_scanned(rule: &PatternRule, expression: &Expression, window: &[u8]) -> usize {
    let line = |window: &[u8]| memchr::memchr(b'\n', window).unwrap_or(window.len());
    if rule.reach > 0 {
        STEPS_BEFORE_ANCHOR * window.len()
    } else if expression.skips_words() {
        line(window)
    } else {
        let is_of_token = |byte: &&u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'');
        window
            .iter()
            .take_while(is_of_token)
            .count()
            .max(line(window.get(..SOON).unwrap_or(window)))
    }
}

/// The length of the run of letters, digits, `_` and `-` at the start of a window.
fn run(window: &[u8]) -> usize {
    let is_of_run = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    window.iter().take_while(is_of_run).count()
}

/// Whether the secret is only a placeholder.
fn is_filler(secret: &str) -> bool {
    value::is_reference(secret) || value::is_placeholder(secret)
}

/// The expression of a rule, compiled when its anchor is found first.
fn expression(number: usize, rule: &PatternRule) -> Option<&'static Expression> {
    static EXPRESSIONS: [OnceLock<Option<Expression>>; RULES.len()] =
        [const { OnceLock::new() }; RULES.len()];
    let start = if rule.reach == 0 { r"\A" } else { "" };
    let compile = || Expression::new(start, rule.pattern);
    EXPRESSIONS.get(number)?.get_or_init(compile).as_ref()
}

/// Whether a letter or digit directly precedes the position. Those of escape sequences (`\n`, `%3D`) do not count.
fn continues_before(bytes: &[u8], start: usize) -> bool {
    let at = |back: usize| {
        start.checked_sub(back).and_then(|at| bytes.get(at)).copied().unwrap_or_default()
    };
    let is_escape = at(2) == b'\\' && matches!(at(1), b'n' | b'r' | b't')
        || at(3) == b'%' && at(2).is_ascii_hexdigit() && at(1).is_ascii_hexdigit();
    at(1).is_ascii_alphanumeric() && !is_escape && !ends_colour(bytes, start)
}

/// Whether a colour code directly precedes the position: `ESC[32m`.
fn ends_colour(bytes: &[u8], start: usize) -> bool {
    let Some(before) = bytes.get(..start).and_then(|before| before.strip_suffix(b"m")) else {
        return false;
    };
    let numbers = before.iter().rev().take(MAX_COLOUR);
    let length = numbers.take_while(|&&byte| byte.is_ascii_digit() || byte == b';').count();
    before.len().checked_sub(length + 1).and_then(|at| before.get(at)) == Some(&b'[')
}

fn continues_after(bytes: &[u8], end: usize) -> bool {
    bytes.get(end).is_some_and(u8::is_ascii_alphanumeric)
}

/// The Shannon entropy in bits per character.
#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand bytes are exact")]
fn entropy(bytes: &[u8]) -> f32 {
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let length = bytes.len() as f32;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| count as f32 / length)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Checks the property `run` of rules whose outcome depends only on the text after a run.
        #[test]
        fn an_anchor_in_a_run_where_another_one_failed_is_none_of_a_match(
            words in prop::collection::vec(prop::sample::select(
                &["eyJ", "eyJhbGciOiJIUzI1NiJ9", "a1b2c3d4e5", "-", "_", ".", ".", " ", "é"][..],
            ), 0..30),
        ) {
            let text = words.concat();
            for (number, rule) in RULES.iter().enumerate() {
                let Method::Pattern(PatternRule { run: true, .. }) = rule.method else { continue };
                let mut failed = 0;
                for (start, anchor) in rule.anchors.iter().flat_map(|anchor| text.match_indices(anchor)) {
                    let anchor = start..start + anchor.len();
                    let alone = matched(&text, anchor.clone(), number, &mut 0);
                    prop_assert!(anchor.end > failed || alone.is_none());
                    matched(&text, anchor, number, &mut failed);
                }
            }
        }
    }
}
