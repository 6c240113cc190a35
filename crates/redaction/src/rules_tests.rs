//! Tests the examples of `rules.toml` with generated values. The repository contains no literal secret.

use std::{collections::HashMap, sync::Arc};

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{
    Redaction, RedactionOptions, Redactor, Report,
    rules::{Method, PatternRule, RULES, Rule},
};

/// Number of values tried for each example.
const VALUES: usize = 20;
/// Maximum size of a compiled pattern in bytes.
const COMPILED_LIMIT: usize = 4 << 20;

struct Examples {
    name: &'static str,
    generate: Option<&'static str>,
    also: &'static [&'static str],
    positive: &'static [&'static str],
    negative: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/rule_examples.rs"));

/// The pattern of a rule, or the names of its commands.
fn compiled(rule: &PatternRule) -> Regex {
    let own = Some(rule.pattern).filter(|pattern| !pattern.is_empty());
    let starts = own.into_iter().chain(rule.commands.iter().map(|command| command.name));
    let starts: Vec<String> = starts.map(|start| format!("(?:{start})")).collect();
    let mut builder = RegexBuilder::new(&starts.join("|"));
    builder.unicode(false).size_limit(COMPILED_LIMIT).build().unwrap()
}

fn pattern(rule: &Rule) -> Option<&PatternRule> {
    match &rule.method {
        Method::Pattern(pattern) => Some(pattern),
        Method::Detector(_) => None,
    }
}

/// The expressions of a rule that match secrets: its pattern and the flags of its commands.
fn expressions(rule: &PatternRule) -> impl Iterator<Item = &'static str> {
    let own = Some(rule.pattern).filter(|pattern| !pattern.is_empty());
    own.into_iter().chain(rule.commands.iter().map(|command| command.flag))
}

fn group_named<'hir>(hir: &'hir Hir, name: &str) -> Option<&'hir Hir> {
    match hir.kind() {
        HirKind::Capture(group) if group.name.as_deref() == Some(name) => Some(&group.sub),
        HirKind::Capture(group) => group_named(&group.sub, name),
        HirKind::Repetition(repetition) => group_named(&repetition.sub, name),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().find_map(|part| group_named(part, name))
        }
        _ => None,
    }
}

/// A random number generator with the same sequence in every run: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Appends a text that the expression matches. All characters of a class are equally likely.
    fn write(&mut self, expression: &Hir, out: &mut Vec<u8>) {
        match expression.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
            HirKind::Class(Class::Bytes(class)) => {
                let bytes = class.iter().flat_map(|range| range.start()..=range.end());
                let shown: Vec<u8> = bytes.filter(u8::is_ascii_graphic).collect();
                out.push(shown[self.below(shown.len() as u64) as usize]);
            }
            HirKind::Class(Class::Unicode(_)) => panic!("examples are made of ASCII"),
            HirKind::Repetition(repetition) => {
                let most = repetition.max.unwrap_or(repetition.min + 16);
                let count = self.below(u64::from(most - repetition.min) + 1);
                (0..u64::from(repetition.min) + count)
                    .for_each(|_| self.write(&repetition.sub, out));
            }
            HirKind::Capture(group) => self.write(&group.sub, out),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.write(part, out)),
            HirKind::Alternation(parts) => {
                let choice = self.below(parts.len() as u64) as usize;
                self.write(&parts[choice], out);
            }
        }
    }

    fn text(&mut self, expression: &Hir) -> String {
        let mut text = Vec::new();
        self.write(expression, &mut text);
        String::from_utf8(text).unwrap()
    }
}

fn parsed(expression: &str) -> Hir {
    ParserBuilder::new().utf8(false).unicode(false).build().parse(expression).unwrap()
}

/// The expression from which a rule's secrets are generated: `generate`, or its pattern.
fn made_from(rule: &Rule, examples: &Examples) -> Hir {
    match (examples.generate, pattern(rule)) {
        (Some(generate), _) => parsed(generate),
        (None, Some(pattern)) => {
            let whole = parsed(expressions(pattern).next().unwrap());
            group_named(&whole, "secret").cloned().unwrap_or(whole)
        }
        (None, None) => panic!("{}: a detector needs `generate`", rule.name),
    }
}

/// A part of an example.
enum Part<'a> {
    Text(&'a str),
    MadeUp(Hir),
    Secret,
}

fn parts(template: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), template);
    while let Some((before, after)) = rest.split_once("<<") {
        let (what, after) = after.split_once(">>").expect("`<<` is closed");
        parts.push(Part::Text(before));
        parts.push(if what == "secret" { Part::Secret } else { Part::MadeUp(parsed(what)) });
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts
}

/// The example with generated values, and the secrets among them. Secrets that are as regular as a placeholder by
/// chance are generated again.
fn filled(
    parts: &[Part<'_>],
    from: &Hir,
    entropy_least: f32,
    random: &mut Random,
) -> (String, Vec<String>) {
    let (mut text, mut made) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::MadeUp(expression) => text.push_str(&random.text(expression)),
            Part::Secret => {
                let is_fit = |value: &String| entropy(value.as_bytes()) >= entropy_least;
                let secret = (0..1000).map(|_| random.text(from)).find(is_fit);
                text.push_str(secret.as_ref().expect("the entropy can be reached"));
                made.extend(secret);
            }
        }
    }
    (text, made)
}

/// Calls `check` with each example, with several values each.
fn each(
    choose: fn(&Examples) -> &'static [&'static str],
    mut check: impl FnMut(&Rule, &Examples, &str, &[String]),
) {
    let rules: HashMap<_, _> = RULES.iter().map(|rule| (rule.name, rule)).collect();
    let mut random = Random(5);
    for examples in EXAMPLES {
        let rule = rules[examples.name];
        let from = made_from(rule, examples);
        let least = pattern(rule).map_or(0.0, |pattern| pattern.entropy);
        for template in choose(examples) {
            let parts = parts(template);
            for _ in 0..VALUES {
                let (text, made) = filled(&parts, &from, least, &mut random);
                check(rule, examples, &text, &made);
            }
        }
    }
}

/// Whether half of the secret, and at least eight characters, is still in the text.
fn leaks(secret: &str, text: &str) -> bool {
    let window = (secret.len() / 2).max(8).min(secret.len());
    secret.as_bytes().windows(window).any(|part| find(text.as_bytes(), part).is_some())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn entropy(value: &[u8]) -> f32 {
    let mut counts = HashMap::<u8, f32>::new();
    for byte in value {
        *counts.entry(*byte).or_default() += 1.0;
    }
    let length = value.len() as f32;
    counts.values().map(|count| -(count / length) * (count / length).log2()).sum()
}

/// The text redacted through the public interface.
fn redacted(redaction: &Redaction, text: &str) -> Option<String> {
    redaction.text(text, &mut Report::default()).unwrap()
}

fn redaction() -> Redaction {
    Redaction::new(Redactor::new(RedactionOptions::default()).unwrap(), Arc::default())
}

/// The rule names in the replacements of a text.
fn claimed(text: &str) -> impl Iterator<Item = &str> {
    text.split("[REDACTED:").skip(1).filter_map(|rest| rest.split_once(']')).map(|(name, _)| name)
}

/// Fails with all problems at once, so that an editor of the rules sees every wrong example.
fn hold(problems: &[String]) {
    assert!(problems.is_empty(), "{} examples fail:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn positive_examples_lose_their_secrets() {
    let redaction = redaction();
    let mut problems = Vec::new();
    each(
        |examples| examples.positive,
        |rule, examples, text, secrets| {
            let name = rule.name;
            assert!(!secrets.is_empty(), "{name}: a positive example has no <<secret>>: {text}");
            let Some(out) = redacted(&redaction, text) else {
                return problems.push(format!("{name} finds nothing in {text:?}"));
            };
            if !claimed(&out).any(|claimed| claimed == name || examples.also.contains(&claimed)) {
                problems.push(format!("{name} does not claim the secret in {text:?}: {out:?}"));
            }
            if secrets.iter().any(|secret| leaks(secret, &out)) {
                problems.push(format!("{name} leaves a part of {secrets:?} in {out:?}"));
            }
        },
    );
    hold(&problems);
}

/// Contexts in which a token may occur: the surrounding text neither hides the token nor belongs to it.
const CONTEXTS: [&str; 18] = [
    "{}",
    "\u{1b}[32m{}\u{1b}[0m",
    r"first\n{}\nlast",
    r#"{\"value\": \"{}\"}"#,
    "x%3D{}%26y",
    "({})",
    "see {}.",
    "a, {}, b",
    "value='{}'",
    "`{}`",
    "<b>{}</b>",
    "label:{}",
    "- {}\r\n",
    "+{}\n",
    "https://corp.net/hook/{}/call",
    "https://corp.net/list?q=1&v={}&page=2",
    "https://dev:{}@corp.net/r.git",
    "|{}|\t{}\t|",
];

#[test]
fn tokens_are_found_wherever_they_stand() {
    let redaction = redaction();
    let mut problems = Vec::new();
    let mut random = Random(7);
    for examples in EXAMPLES {
        let rule = RULES.iter().find(|rule| rule.name == examples.name).unwrap();
        let is_whole = |rule: &&PatternRule| {
            !expressions(rule).any(|expression| expression.contains("?P<secret>"))
        };
        let Some(pattern) = pattern(rule).filter(is_whole) else { continue };
        let from = made_from(rule, examples);
        for context in CONTEXTS {
            let (_, made) = filled(&[Part::Secret], &from, pattern.entropy, &mut random);
            let text = context.replace("{}", &made[0]);
            let out = redacted(&redaction, &text).unwrap_or_else(|| text.clone());
            if leaks(&made[0], &out) {
                problems.push(format!("{} leaves a secret in {text:?}: {out:?}", rule.name));
            }
        }
    }
    hold(&problems);
}

#[test]
fn negative_examples_stay_as_they_are() {
    let redaction = redaction();
    let mut problems = Vec::new();
    each(
        |examples| examples.negative,
        |rule, _, text, secrets| {
            assert!(secrets.is_empty(), "{}: a negative example holds a <<secret>>", rule.name);
            if let Some(out) = redacted(&redaction, text) {
                problems.push(format!("an example of {} is altered, {text:?}: {out:?}", rule.name));
            }
        },
    );
    hold(&problems);
}

#[test]
fn every_pattern_compiles_within_the_limit() {
    for rule in RULES {
        let Some(pattern) = pattern(rule) else { continue };
        let names = pattern.commands.iter().map(|command| command.name);
        for expression in expressions(pattern).chain(names) {
            let mut builder = RegexBuilder::new(expression);
            let built = builder.unicode(false).size_limit(COMPILED_LIMIT).build();
            assert!(built.is_ok(), "{}: {}", rule.name, built.unwrap_err());
            assert!(!built.unwrap().is_match(b""), "{} matches nothing at all", rule.name);
        }
        for command in pattern.commands {
            assert!(command.flag.contains("(?P<secret>"), "{}: a flag without a secret", rule.name);
        }
    }
}

#[test]
fn every_match_has_an_anchor_within_reach() {
    let mut matching = HashMap::new();
    each(
        |examples| examples.positive,
        |rule, _, text, _| {
            let Some(pattern) = pattern(rule) else { return };
            let expression = matching.entry(rule.name).or_insert_with(|| compiled(pattern));
            let Some(all) = expression.find(text.as_bytes()) else { return };
            let lowercase = all.as_bytes().to_ascii_lowercase();
            let at = rule
                .anchors
                .iter()
                .filter_map(|anchor| find(&lowercase, anchor.to_ascii_lowercase().as_bytes()))
                .min();
            assert!(
                at.is_some_and(|at| at <= pattern.reach),
                "{}: no anchor within reach in {text:?}",
                rule.name
            );
            assert!(all.len() <= pattern.length, "{}: {} bytes match", rule.name, all.len());
        },
    );
}
