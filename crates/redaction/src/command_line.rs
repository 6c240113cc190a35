//! Detector for secrets that are values of command-line flags: `mysql -h host -psecret`. A flag may be far behind the
//! name of its command, so flags are searched separately: one search serves all occurrences of the command before a
//! flag.

use std::{ops::Range, sync::OnceLock};

use super::{
    expression::Expression,
    rules::{COMMANDS, Command},
    work,
};

/// Maximum length of a command name.
const MAX_NAME: usize = 80;
/// Bytes at the end of a name with which the match of a flag may begin: quotes and space.
const SHARED: usize = 2;
/// Bytes searched at once.
const STRIDE: usize = 4096;
/// Bytes that suffice to decide whether a flag begins at a position.
const MAX_FLAG: usize = 512;
/// A match that fills the searched range may be longer; the range grows up to this length.
const MAX_SEARCHED: usize = 64 << 10;
/// Work steps for finding a command name.
const NAME_STEPS: usize = 120;
/// Work steps per byte for searching a flag and the end of the command before it.
const STEPS_OF_BYTE: usize = 3;
const STEPS_OF_STOP: usize = 4;
/// Minimum work steps of a search.
const SEARCH_STEPS: usize = 100;

/// A flag and its value.
#[derive(Debug)]
struct Flag {
    whole: Range<usize>,
    secret: Range<usize>,
    /// Command names that end at or after this position are followed by the flag.
    earliest: usize,
}

/// Search state for the flags of one command.
#[derive(Debug, Default)]
struct Known {
    /// The part of the text in which the only flag is `latest`.
    searched: Range<usize>,
    latest: Option<Flag>,
}

/// The flags of a text that were found so far.
#[derive(Debug, Default)]
pub(super) struct Flags {
    /// By the number of the command.
    known: Vec<Known>,
}

impl Flags {
    /// The first flag after the command whose name begins with the anchor: the range from the command name to the end
    /// of the flag's value, and the range of the secret. Searching is fast when anchors are given roughly in order.
    pub fn find(
        &mut self,
        text: &[u8],
        anchor: &Range<usize>,
        command: &Command,
    ) -> Option<(Range<usize>, Range<usize>)> {
        let [name, flag] = expressions(command)?;
        let rest = text.get(anchor.start..)?;
        work::add(NAME_STEPS);
        let end = anchor.start + name.find(rest.get(..MAX_NAME).unwrap_or(rest))?.end();
        if self.known.is_empty() {
            self.known.resize_with(COMMANDS, Known::default);
        }
        let known = self.known.get_mut(command.number)?;
        let flag = known.first(text, end.saturating_sub(SHARED), (command, flag))?;
        let is_near = (flag.earliest..=flag.whole.start.saturating_add(SHARED)).contains(&end)
            && flag.whole.start <= end + command.gap;
        is_near.then(|| (anchor.start..flag.whole.end, flag.secret.clone()))
    }
}

impl Known {
    /// The first flag at or after `from`, if it is within the command's maximum gap.
    fn first(
        &mut self,
        text: &[u8],
        from: usize,
        (command, expression): (&Command, &Expression),
    ) -> Option<&Flag> {
        if !(self.searched.start..=self.searched.end).contains(&from) {
            *self = Self { searched: from..from, latest: None };
        }
        let limit = text.len().min(from + SHARED + command.gap);
        let is_ahead = |flag: &Flag| from <= flag.whole.start;
        while !self.latest.as_ref().is_some_and(is_ahead) && self.searched.end <= limit {
            let (found, end) = search(text, self.searched.end.max(from), expression);
            if let Some(whole) = found {
                self.latest = Flag::new(text, whole, (command, expression), self.latest.as_ref());
            }
            self.searched.end = end;
        }
        self.latest.as_ref().filter(|flag| is_ahead(flag))
    }
}

impl Flag {
    /// A match of the flag's expression. The text before the previously found flag is not examined again.
    fn new(
        text: &[u8],
        whole: Range<usize>,
        (command, expression): (&Command, &Expression),
        before: Option<&Self>,
    ) -> Option<Self> {
        let secret = expression.secret(text.get(whole.clone())?);
        let secret = whole.start + secret.start..whole.start + secret.end;
        let from = whole.start.saturating_sub(command.gap + SHARED);
        let before = before.filter(|before| before.whole.start >= from);
        let from = before.map_or(from, |before| before.whole.start);
        let stop = (from..whole.start).rev().find(|&at| stops(text, at, command));
        let earliest = stop.map(|at| at + 1).or(before.map(|before| before.earliest));
        work::add(STEPS_OF_STOP * (whole.start - stop.unwrap_or(from)));
        Some(Self { whole, secret, earliest: earliest.unwrap_or_default() })
    }
}

/// Whether a command line ends at a byte. A backslash before a line end continues the command.
fn stops(text: &[u8], at: usize, command: &Command) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| text.get(at)).copied().unwrap_or_default();
    let before = byte(at.checked_sub(1));
    match byte(Some(at)) {
        b'\n' if before == b'\r' => byte(at.checked_sub(2)) != b'\\',
        b'\n' => before != b'\\',
        b'\r' => before != b'\\' || byte(at.checked_add(1)) != b'\n',
        other => command.stops.as_bytes().contains(&other),
    }
}

/// The first match that begins at or after `start`, and the end of the range in which no other match begins.
fn search(text: &[u8], start: usize, expression: &Expression) -> (Option<Range<usize>>, usize) {
    let mut length = STRIDE;
    loop {
        let end = text.len().min(start.saturating_add(length));
        let found = expression.find(text.get(start..end).unwrap_or_default());
        let searched = found.map_or(end - start.min(end), |found| found.end());
        work::add(SEARCH_STEPS + STEPS_OF_BYTE * searched);
        let Some(found) = found else {
            // A flag at the end of the searched range may need more bytes.
            let is_all = end == text.len();
            return (None, if is_all { end + 1 } else { end - MAX_FLAG });
        };
        let found = start + found.start()..start + found.end();
        if found.end == end && end < text.len() && length < MAX_SEARCHED {
            length *= 4;
            continue;
        }
        let next = found.start + 1;
        return (Some(found), next);
    }
}

/// The expressions of a command's name and flag, compiled on first use.
fn expressions(command: &Command) -> Option<&'static [Expression; 2]> {
    static EXPRESSIONS: [OnceLock<Option<[Expression; 2]>>; COMMANDS] =
        [const { OnceLock::new() }; COMMANDS];
    let compile =
        || Some([Expression::new(r"\A", command.name)?, Expression::new("", command.flag)?]);
    EXPRESSIONS.get(command.number)?.get_or_init(compile).as_ref()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::bytes::RegexBuilder;

    use super::*;
    use crate::rules::{Method, RULES};

    fn command(rule: &str) -> &'static Command {
        let rule = RULES.iter().find(|known| known.name == rule).unwrap();
        let Method::Pattern(pattern) = &rule.method else { panic!("{} has commands", rule.name) };
        &pattern.commands[0]
    }

    /// The secrets behind these commands, in order.
    fn found(text: &str, rule: &str, anchor: &str) -> Vec<Option<Range<usize>>> {
        let mut flags = Flags::default();
        let anchors = text.match_indices(anchor).map(|(at, found)| at..at + found.len());
        let find = |anchor| Some(flags.find(text.as_bytes(), &anchor, command(rule))?.1);
        anchors.map(find).collect()
    }

    fn secrets(text: &str) -> Vec<&str> {
        let found = found(text, "mysql-password", "mysql");
        found.into_iter().map(|secret| secret.map_or("", |secret| &text[secret])).collect()
    }

    #[test]
    fn a_flag_belongs_to_the_command_before_it() {
        let far = " --x".repeat(100);
        for (text, expected) in [
            ("mysql -pabc", vec!["abc"]),
            ("mysql -h db -u root -pabc shop", vec!["abc"]),
            ("mysql -h db \\\n  -pabc", vec!["abc"]),
            ("mysql -h db \\\r\n  -pabc", vec!["abc"]),
            ("mysql -h db\n  -pabc", vec![""]),
            ("mysql -h db; x -pabc", vec![""]),
            ("mysql mysql -pabc mysql -pdef", vec!["abc", "abc", "def"]),
            ("mysql; mysql -pabc", vec!["", "abc"]),
            (&format!("mysql{far} mysql -pabc"), vec!["", "abc"]),
            (&format!("mysql{far} -pabc"), vec![""]),
        ] {
            assert_eq!(secrets(text), expected, "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_searched_as_a_whole() {
        let filling = "mysql x\n".repeat(2_000);
        let text = format!("{filling}mysql -pabc {filling}mysql -pdef");
        let found = secrets(&text);
        assert_eq!(found.iter().filter(|secret| !secret.is_empty()).count(), 2);
        assert_eq!((found[2_000], found.last().copied()), ("abc", Some("def")));
    }

    proptest! {
        #[test]
        fn one_expression_with_a_gap_finds_the_same(
            pieces in prop::collection::vec(prop_oneof![
                Just("mysql"), Just(" "), Just(" -pabc"), Just("|"), Just(";"), Just("\n"), Just("\\"), Just("\r"),
                Just(" --long-option=of-the-command"), Just("-p"), Just("\""),
            ], 0..60),
        ) {
            let text = pieces.concat();
            let Command { name, gap, stops, flag, .. } = command("mysql-password");
            let gap = format!(r"(?:[^\r\n{stops}]|\\\r?\n){{0,{gap}}}?");
            // The last byte of the name may be the first of the flag.
            let name = name.strip_suffix(r"[ \t]").unwrap();
            let whole = format!(r"\A(?:{name})(?:[ \t]{gap})??{flag}");
            let whole = RegexBuilder::new(&whole).unicode(false).build().unwrap();
            let expected: Vec<_> = text
                .match_indices("mysql")
                .map(|(at, _)| {
                    let groups = whole.captures(&text.as_bytes()[at..])?;
                    let secret = groups.name("secret").unwrap();
                    Some(at + secret.start()..at + secret.end())
                })
                .collect();
            prop_assert_eq!(found(&text, "mysql-password", "mysql"), expected, "{:?}", text);
        }
    }
}
