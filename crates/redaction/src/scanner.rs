//! Finds the secrets of a text: one search for the anchors of all rules, then an examination around each anchor. Called
//! by `redaction` for each text, string of JSON and view.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use super::{
    anchors::AnchorSet,
    assignment, basic,
    command_line::Flags,
    dotted_token,
    expression::Expression,
    hit::Hit,
    replacement,
    rules::{Detector, Method, NAMES, PatternRule, RULES},
    skipped::Skipped,
    value, vendor,
    work::{self, Work},
};

/// Index of the rule for text that would exceed the work budget. It follows the index of the rule for values of the
/// environment.
pub(super) const UNSCANNED: usize = RULES.len() + 1;
/// Work steps for finding an anchor.
const ANCHOR_STEPS: usize = 12;
/// Minimum work steps for examining a name. The second value applies to a name with the label of a redacted secret
/// close behind it, so that a redacted text needs no more steps per byte than the original.
const NAME_STEPS: usize = 115;
const LABELLED_NAME_STEPS: usize = 90;
/// Maximum distance of such a label in bytes; markup may be between.
const NEAR: usize = 32;
/// Minimum work steps for examining credentials: most text after the scheme can be decoded.
const BASIC_STEPS: usize = 250;
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
/// Maximum length of the label of a redacted secret.
const MAX_LABEL: usize = 128;

/// What is examined at an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seek {
    /// A rule with an expression, by index, and the exact spelling of the anchor where case matters.
    Pattern(usize, Option<&'static str>),
    /// The scheme `Basic`.
    Basic(usize),
    /// The name of a service.
    Vendor(usize),
    /// A name that may be followed by a secret.
    Name,
    /// Nothing: an anchor as JSON spells it, which is searched for in undecoded strings only.
    Escaped,
}

/// The anchors of all rules, compiled for the search.
pub(super) struct Anchors {
    set: AnchorSet,
    /// What is examined, by the index of the anchor.
    seeks: Vec<Vec<Seek>>,
    /// Index of the rule for assignments.
    assignment: usize,
    /// Index of the rule for Discord tokens, which have no anchor.
    dotted_token: usize,
}

impl std::fmt::Debug for Anchors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Anchors").field("anchors", &self.seeks.len()).finish()
    }
}

impl Anchors {
    /// The anchors of the built-in rules, built once.
    pub fn standard() -> Arc<Self> {
        static STANDARD: OnceLock<Arc<Anchors>> = OnceLock::new();
        Arc::clone(STANDARD.get_or_init(|| Arc::new(Self::new(&[]))))
    }

    /// The anchors of the built-in rules and of additional names, whose words are separated by spaces.
    pub fn new(further: &[String]) -> Self {
        let mut anchors: Vec<(String, Vec<Seek>)> = Vec::new();
        let mut numbers = rustc_hash::FxHashMap::default();
        let mut add = |anchor: &str, seek: Seek| {
            let anchor = anchor.to_ascii_lowercase();
            let number = *numbers.entry(anchor.clone()).or_insert_with(|| {
                anchors.push((anchor, Vec::new()));
                anchors.len() - 1
            });
            if let Some((_, seeks)) = anchors.get_mut(number)
                && !seeks.contains(&seek)
            {
                seeks.push(seek);
            }
        };
        let (mut assignment, mut dotted_token) = (RULES.len(), RULES.len());
        for (number, rule) in RULES.iter().enumerate() {
            let seek: fn(usize, Option<&'static str>) -> Seek = match rule.method {
                Method::Pattern(_) => Seek::Pattern,
                Method::Detector(Detector::PrivateKey) => continue,
                Method::Detector(Detector::Basic) => |number, _| Seek::Basic(number),
                Method::Detector(Detector::Vendor) => |number, _| Seek::Vendor(number),
                Method::Detector(Detector::DottedToken) => {
                    dotted_token = number;
                    continue;
                }
                Method::Detector(Detector::Assignment) => {
                    assignment = number;
                    |_, _| Seek::Name
                }
            };
            let ignores_case =
                matches!(&rule.method, Method::Pattern(rule) if rule.pattern.contains("(?i"));
            let is_vendor = matches!(rule.method, Method::Detector(Detector::Vendor));
            let vendors = if is_vendor { NAMES.vendors } else { &[] };
            for &anchor in rule.anchors.iter().chain(vendors) {
                add(anchor, seek(number, (!ignores_case).then_some(anchor)));
            }
        }
        let phrases = NAMES.passwords.iter().chain(NAMES.secrets).chain(NAMES.machine);
        let phrases = phrases.chain(NAMES.weak).copied();
        let phrases: Vec<&str> = phrases.chain(further.iter().map(String::as_str)).collect();
        let words: Vec<&str> = phrases.iter().copied().filter(|name| !name.contains(' ')).collect();
        for phrase in phrases {
            // A name is examined as a whole, so a phrase that contains another anchor needs no anchor of its own.
            let is_met = phrase.contains(' ') && words.iter().any(|word| phrase.contains(word));
            if is_met {
                continue;
            }
            for separator in ["", "_", "-", " ", "."] {
                add(&phrase.replace(' ', separator), Seek::Name);
            }
        }
        for rule in RULES {
            for anchor in rule.anchors {
                let escaped = anchor.escape_default().to_string();
                if escaped != *anchor {
                    add(&escaped, Seek::Escaped);
                }
            }
        }
        let (texts, seeks): (Vec<_>, Vec<_>) = anchors.into_iter().unzip();
        Self { set: AnchorSet::new(texts), seeks, assignment, dotted_token }
    }

    /// Whether a name contains the anchor of a secret's name. Most do not and need not be classified.
    pub fn hold_name(&self, name: &str) -> bool {
        let mut holds = false;
        self.set.visit(name.as_bytes(), 0..name.len(), |_, anchor| {
            holds = self.seeks.get(anchor).is_some_and(|seeks| seeks.contains(&Seek::Name));
            !holds
        });
        holds
    }

    /// Visits the positions that [`Anchors::find`] would examine in a text, or in the text of an undecoded JSON string, in no particular
    /// order.
    pub fn signs(&self, text: &[u8], visit: &mut impl FnMut(usize)) {
        dotted_token::pairs(text, 0..text.len()).for_each(&mut *visit);
        self.set.visit(text, 0..text.len(), |found, _| {
            visit(found.start);
            true
        });
    }

    /// Appends the secrets whose anchors are in the given part of the text, in no particular order. Rules in `disabled`
    /// are skipped. Adds the positions of names without a value to `unpaired`.
    pub fn find(
        &self,
        text: &str,
        part: Range<usize>,
        (further, disabled): (&[String], &[bool]),
        work: &mut Work,
        hits: &mut Vec<Hit>,
        unpaired: &mut Vec<usize>,
    ) {
        let rule = self.dotted_token;
        if rule < RULES.len() && disabled.get(rule) != Some(&true) {
            dotted_token::find(text, part.clone(), |range| hits.push(Hit { range, rule }));
        }
        let is_disabled = |rule: usize| disabled.get(rule).copied().unwrap_or_default();
        // Text that a rule has examined is not examined again for the rule's next anchor in it.
        let mut name_end = 0;
        let mut tables = assignment::Tables::default();
        let mut values = assignment::Values::default();
        let mut flags = Flags::default();
        let mut skipped = Skipped::default();
        let whole = part.clone();
        let mut ends: Vec<usize> = Vec::new();
        self.set.visit_from(text.as_bytes(), part, |found, anchor| {
            let seeks = self.seeks.get(anchor).map_or(&[][..], Vec::as_slice);
            if seeks == [Seek::Escaped] {
                return Some(0);
            }
            if skipped.contains(found.start) {
                return Some(skipped.examined_from());
            }
            work::add(ANCHOR_STEPS);
            let excess = work.excess(found.start - whole.start);
            if excess > 0 {
                let range = skipped.extend(text, &found, excess);
                hits.push(Hit { range, rule: UNSCANNED });
                return Some(skipped.examined_from());
            }
            for &seek in seeks {
                match seek {
                    Seek::Name => {
                        if found.end <= name_end || is_disabled(self.assignment) {
                            continue;
                        }
                        let position = found.end - 1;
                        let (name, value) = values.find(text, position, further);
                        let near = name.end..text.len().min(name.end + NEAR);
                        let is_labelled =
                            text.as_bytes().get(near).is_some_and(replacement::holds_label);
                        work::add(if is_labelled { LABELLED_NAME_STEPS } else { NAME_STEPS });
                        // Names within a value are skipped.
                        name_end = name.end.max(value.as_ref().map_or(0, |value| value.end));
                        if is_label(text, found.start) {
                            continue;
                        }
                        let hit = |range| Hit { range, rule: self.assignment };
                        if value.is_none() {
                            unpaired.push(name.start);
                        }
                        hits.extend(value.map(hit));
                        tables.find(text, &name, further, |range| hits.push(hit(range)));
                    }
                    Seek::Basic(rule) if !is_disabled(rule) => {
                        let credentials = basic::find(text, found.end);
                        work::add(BASIC_STEPS);
                        hits.extend(credentials.map(|range| Hit { range, rule }));
                    }
                    Seek::Vendor(rule) if !is_disabled(rule) => {
                        let key = vendor::find(text, found.start, found.end);
                        work::add(NAME_STEPS);
                        let key = key.filter(|_| !is_label(text, found.start));
                        hits.extend(key.map(|range| Hit { range, rule }));
                    }
                    Seek::Pattern(rule, spelt) if !is_disabled(rule) => {
                        if spelt.is_some_and(|spelt| text.get(found.clone()) != Some(spelt)) {
                            continue;
                        }
                        if ends.is_empty() {
                            ends.resize(RULES.len(), 0);
                        }
                        let Some(end) = ends.get_mut(rule) else { continue };
                        if found.end <= *end {
                            continue;
                        }
                        let hit = matched(text, found.clone(), rule, end)
                            .or_else(|| of_command(text, &found, rule, &mut flags));
                        if let Some((whole, secret)) = hit {
                            *end = whole.end;
                            hits.push(Hit { range: secret, rule });
                        }
                    }
                    Seek::Basic(_) | Seek::Vendor(_) | Seek::Pattern(..) | Seek::Escaped => {}
                }
            }
            Some(0)
        });
        work.finish(&whole);
    }
}

/// The match of a rule's expression that contains an anchor, and its secret. Anchors before `failed` are known to have
/// no match.
fn matched(
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
fn of_command(
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

/// Whether a name is part of the label of a redacted secret, which contains the name of the rule.
fn is_label(text: &str, position: usize) -> bool {
    let from = position.saturating_sub(MAX_LABEL);
    let before = text.as_bytes().get(from..position).unwrap_or_default();
    replacement::last_label(before)
        .is_some_and(|start| !before.get(start..).unwrap_or_default().contains(&b']'))
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
