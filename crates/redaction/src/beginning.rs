//! Computes which bytes a match of an expression may begin with, and which bytes may precede a character that every match contains.
//! With these tables, most anchors are ruled out without a search.

use regex_automata::{
    nfa::thompson::{Compiler, Config, NFA, State},
    util::{primitives::StateID, syntax},
};

/// Number of leading bytes that are checked.
const LENGTH: usize = 12;
/// Maximum size of an automaton in bytes.
const MAX_AUTOMATON: usize = 16 << 20;

/// The bytes that may occur at one offset, one bit for each.
type Bytes = [u64; 4];

/// The bytes with which matches of an expression begin.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    /// The bytes that may occur at each offset, up to the shortest possible match.
    places: Vec<Bytes>,
    /// A character that every match contains.
    sign: Option<Sign>,
}

/// A character that every match contains.
#[derive(Debug)]
struct Sign {
    byte: u8,
    /// The number of bytes at the start of a match among which the character is not.
    start: usize,
    /// The bytes that may be between these and the first such character of a match.
    before: Bytes,
}

impl Beginning {
    /// The tables of an expression, whose matches all contain `sign`. An expression that is invalid or too large gets tables that allow
    /// every text.
    pub fn of(expression: &str, sign: Option<u8>) -> Self {
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        let config = Config::new().utf8(false).nfa_size_limit(Some(MAX_AUTOMATON));
        let automaton = Compiler::new().syntax(syntax).configure(config).build(expression);
        automaton.map_or_else(
            |_| Self::default(),
            |automaton| {
                let places = places(&automaton);
                let sign = sign.and_then(|byte| {
                    let start = places.iter().take_while(|place| !has(place, byte)).count();
                    Some(Sign { byte, start, before: before(&automaton, start, byte)? })
                });
                Self { places, sign }
            },
        )
    }

    /// Whether a match that begins at the start of a text may contain the sign; `None` if this is not known.
    pub fn reaches_sign(&self, text: &[u8]) -> Option<bool> {
        let Sign { byte: sign, start, before } = self.sign.as_ref()?;
        let mut rest = text.get(*start..).unwrap_or_default().iter();
        Some(rest.find(|byte| *byte == sign || !has(before, **byte)) == Some(sign))
    }

    /// Whether a match may begin at the start of a text.
    pub fn allows(&self, text: &[u8]) -> bool {
        text.len() >= self.places.len()
            && text.iter().zip(&self.places).all(|(&byte, place)| has(place, byte))
    }
}

fn has(bytes: &Bytes, byte: u8) -> bool {
    bytes.get(usize::from(byte / 64)).is_some_and(|word| word & (1 << (byte % 64)) != 0)
}

/// The bytes on all paths from the automaton's start state, by offset; assertions are assumed to hold.
fn places(automaton: &NFA) -> Vec<Bytes> {
    let mut places = Vec::new();
    let mut states = vec![automaton.start_anchored()];
    while places.len() < LENGTH {
        let Some((bytes, next)) = step(automaton, states, None) else { break };
        states = next;
        places.push(bytes);
    }
    places
}

/// The bytes on all paths to the first `sign`, behind the first `start` bytes. `None` if there is a match without it.
fn before(automaton: &NFA, start: usize, sign: u8) -> Option<Bytes> {
    let mut before = Bytes::default();
    let mut states = vec![automaton.start_anchored()];
    for _ in 0..start {
        (_, states) = step(automaton, states, None)?;
    }
    let mut seen = rustc_hash::FxHashSet::default();
    while !states.is_empty() {
        let (bytes, mut next) = step(automaton, states, Some(sign))?;
        before.iter_mut().zip(bytes).for_each(|(before, bytes)| *before |= bytes);
        next.retain(|state| seen.insert(*state));
        states = next;
    }
    Some(before)
}

/// The bytes that the automaton reads in these states, except for `other`, and the states that follow. `None` if one of the states
/// is a match.
fn step(
    automaton: &NFA,
    mut states: Vec<StateID>,
    other: Option<u8>,
) -> Option<(Bytes, Vec<StateID>)> {
    let mut next = Vec::new();
    let mut bytes = Bytes::default();
    let mut seen = rustc_hash::FxHashSet::default();
    while let Some(state) = states.pop() {
        if !seen.insert(state) {
            continue;
        }
        let mut read = |from: u8, to: u8, target: StateID| {
            for byte in (from..=to).filter(|byte| Some(*byte) != other) {
                if let Some(word) = bytes.get_mut(usize::from(byte / 64)) {
                    *word |= 1 << (byte % 64);
                }
            }
            if (Some(from), Some(to)) != (other, other) {
                next.push(target);
            }
        };
        match automaton.state(state) {
            State::ByteRange { trans } => read(trans.start, trans.end, trans.next),
            State::Sparse(transitions) => {
                transitions
                    .transitions
                    .iter()
                    .for_each(|trans| read(trans.start, trans.end, trans.next));
            }
            State::Dense(transitions) => (0..=u8::MAX).for_each(|byte| {
                if let Some(target) = transitions.matches_byte(byte) {
                    read(byte, byte, target);
                }
            }),
            State::Look { next, .. } | State::Capture { next, .. } => states.push(*next),
            State::Union { alternates } => states.extend(alternates.iter().copied()),
            State::BinaryUnion { alt1, alt2 } => states.extend([*alt1, *alt2]),
            State::Fail => {}
            // Any byte may follow.
            State::Match { .. } => return None,
        }
    }
    next.sort_unstable();
    next.dedup();
    Some((bytes, next))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        required::rare_sign,
        rules::{Method, PatternRule, RULES},
    };

    #[test]
    fn a_match_begins_with_bytes_of_the_expression() {
        let begins =
            |expression, text: &str| Beginning::of(expression, None).allows(text.as_bytes());
        for (expression, text, expected) in [
            ("ab[0-9]{2,}x", "ab12x", true),
            ("ab[0-9]{2,}x", "ab12", false),
            ("ab[0-9]{2}", "ab1x", false),
            ("ab[0-9]{2}", "ab1", false),
            ("ab[0-9]*", "abx", true),
            ("(?i)ab", "AB", true),
            (r"(?:ab|c\b)d?", "cx", true),
            ("(?:ab|cd)", "ad", true),
            ("(", "any", true),
        ] {
            assert_eq!(begins(expression, text), expected, "{expression} in {text}");
        }
    }

    #[test]
    fn a_match_has_its_sign_behind_bytes_of_the_expression() {
        for (expression, text, expected) in [
            ("://[a-z]*:[a-z@]+@", "://a:b@", Some(true)),
            ("://[a-z]*:[a-z@]+@", "://:@@", Some(true)),
            ("://[a-z]*:[a-z@]+@", "://a/b:c@", Some(false)),
            ("://[a-z]*:[a-z@]+@", "://a:b", Some(false)),
            ("a(?:b@|c)", "ac", None),
            ("(", "any", None),
        ] {
            let beginning = Beginning::of(expression, Some(b'@'));
            assert_eq!(beginning.reaches_sign(text.as_bytes()), expected, "{expression} in {text}");
        }
    }

    proptest! {
        #[test]
        fn every_match_of_a_rule_begins_so(
            number in 0..RULES.len(),
            seed in any::<prop::sample::Index>(),
            words in prop::collection::vec("[ -~]{1,3}|[0-9A-Za-z]{8,40}", 0..6),
        ) {
            let rule = &RULES[number];
            let Method::Pattern(PatternRule { pattern, reach: 0, .. }) = rule.method else { return Ok(()) };
            let anchor = rule.anchors[seed.index(rule.anchors.len())];
            let text = format!("{anchor}{}", words.concat());
            let expression = regex::bytes::Regex::new(&format!(r"\A(?-u:{pattern})"));
            let Ok(expression) = expression else { return Ok(()) };
            if expression.is_match(text.as_bytes()) {
                let beginning = Beginning::of(pattern, rare_sign(pattern));
                prop_assert!(beginning.allows(text.as_bytes()), "{text}");
                prop_assert!(beginning.reaches_sign(text.as_bytes()) != Some(false), "{text}");
            }
        }
    }
}
