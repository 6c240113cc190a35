//! Compiled regular expressions of `rules.toml`: finds matches, and the secret within a match.

use std::ops::Range;

use regex::bytes::{Captures, Match, Regex, RegexBuilder};

use super::{beginning::Beginning, required, work};

/// Names of the groups that contain the secret.
pub(super) const SECRET_GROUPS: [&str; 3] = ["secret", "single", "plain"];
/// The start of the first of these groups.
const GROUP: &str = "(?P<secret>";
/// Maximum size of a compiled expression in bytes.
const MAX_COMPILED: usize = 4 << 20;
/// Work steps per byte for finding the secret in a match by its parts and by its groups.
const STEPS_OF_PARTS: usize = 3;
const STEPS_OF_GROUPS: usize = 40;
/// Of a match longer than this, all is the secret, unless `parts` finds it.
const MAX_GROUPS: usize = 4 << 10;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    whole: Regex,
    /// The bytes that matches begin with, if matches begin at the anchor.
    beginning: Beginning,
    /// Whether the expression skips the words of a command line.
    skips_words: bool,
    /// A rare punctuation character that every match contains.
    sign: Option<u8>,
    /// The expression before the secret, and the expression of the secret, if the secret ends the match.
    parts: Option<[Regex; 2]>,
}

impl Expression {
    /// `start` is an expression that is put before `expression` and says where a match begins. Returns `None` when the
    /// expression is invalid or too large.
    pub fn new(start: &str, expression: &str) -> Option<Self> {
        let whole = compiled(&format!("{start}(?:{expression})"))?;
        let parts = || {
            let (before, secret) = expression.split_once(GROUP)?;
            let secret = secret.strip_suffix(')')?;
            let is_whole = |part| regex_syntax::ast::parse::Parser::new().parse(part).is_ok();
            let are_parts = is_whole(before) && is_whole(secret);
            let secret = are_parts.then(|| compiled(&format!(r"\A(?:{secret})\z"))).flatten()?;
            Some([compiled(&format!(r"\A(?:{before})"))?, secret])
        };
        let parts = parts();
        let sign = required::rare_sign(expression);
        let beginning =
            if start.is_empty() { Beginning::default() } else { Beginning::of(expression, sign) };
        let skips_words = expression.contains(r"[^\r\n");
        Some(Self { whole, beginning, skips_words, sign, parts })
    }

    /// Whether a match may begin at the start of a text. Expressions that match anywhere allow every text.
    pub fn allows(&self, text: &[u8]) -> bool {
        self.beginning.allows(text)
    }

    /// Whether the expression may skip the words of a line.
    pub const fn skips_words(&self) -> bool {
        self.skips_words
    }

    /// The first match in a text.
    pub fn find<'t>(&self, text: &'t [u8]) -> Option<Match<'t>> {
        let has_sign = || self.sign.is_none_or(|sign| memchr::memchr(sign, text).is_some());
        let may_match = self.beginning.reaches_sign(text).unwrap_or_else(has_sign);
        if may_match { self.whole.find(text) } else { None }
    }

    /// The secret of a match, where the match is the complete text.
    pub fn secret(&self, text: &[u8]) -> Range<usize> {
        if self.whole.captures_len() == 1 {
            return 0..text.len();
        }
        // Evaluating groups is slow. If the part before the secret matches a prefix and the rest matches the secret's
        // expression, this is the secret; otherwise the groups decide.
        if let Some([before, secret]) = &self.parts {
            work::add(STEPS_OF_PARTS * text.len());
            let start = before.find(text).map(|before| before.end());
            let rest = start.and_then(|start| text.get(start..));
            if let (Some(start), Some(rest)) = (start, rest)
                && secret.is_match(rest)
            {
                return start..text.len();
            }
        }
        if text.len() > MAX_GROUPS {
            return 0..text.len();
        }
        work::add(STEPS_OF_GROUPS * text.len());
        let groups = self.whole.captures(text);
        let secret = groups.as_ref().and_then(named_group);
        secret.map_or(0..text.len(), |secret| secret.range())
    }
}

/// The group that contains the secret. Group names are unique, so each alternative, such as a kind of quote, has a name
/// of its own.
fn named_group<'t>(groups: &Captures<'t>) -> Option<Match<'t>> {
    SECRET_GROUPS.into_iter().find_map(|name| groups.name(name))
}

fn compiled(expression: &str) -> Option<Regex> {
    RegexBuilder::new(expression).unicode(false).size_limit(MAX_COMPILED).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_that_of_the_group() {
        for (expression, text, secret) in [
            ("key=[a-z]+", "key=abc", "key=abc"),
            ("key=(?P<secret>[a-z]+)", "key=abc", "abc"),
            ("(?i)key=(?P<secret>[a-z]+)", "KEY=ABC", "ABC"),
            ("key=(?P<secret>[a-z]+)!", "key=abc!", "abc"),
            ("(?:a|b(?P<secret>c))", "bc", "c"),
            ("ab|a(?P<secret>bc|b)", "abc", "ab"),
            ("a(?P<secret>b)(?:c)", "abc", "b"),
            (".{0,9}?=(?P<secret>[a-z]{2,})", "a=b=cd", "cd"),
            ("k=[a-z]*(?P<secret>[a-z][0-9])", "k=abc1", "c1"),
            ("k=(?:\"(?P<secret>[a-z]+)\"|'(?P<single>[a-z]+)')", "k='abc'", "abc"),
        ] {
            let compiled = Expression::new("", expression).unwrap();
            let found = compiled.find(text.as_bytes()).unwrap();
            let range = compiled.secret(found.as_bytes());
            assert_eq!(&found.as_bytes()[range], secret.as_bytes(), "{expression} in {text}");
        }
    }
    #[test]
    fn all_of_a_long_match_is_the_secret_where_only_groups_tell_it() {
        let compiled = Expression::new("", "(?:a=;)*?a=(?P<secret>b+)").unwrap();
        let secret = |unit: &str, times: usize| {
            let text = unit.to_owned() + "a=" + &"b".repeat(times);
            compiled.secret(text.as_bytes())
        };
        assert_eq!(secret("a=;", 1_000), 5..1_005);
        assert_eq!(secret("", MAX_GROUPS), 2..MAX_GROUPS + 2);
        assert_eq!(secret("a=;", MAX_GROUPS), 0..MAX_GROUPS + 5);
    }
}
