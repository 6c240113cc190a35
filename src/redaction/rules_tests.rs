//! The examples of `rules.toml`, with generated values: no literal secret stands in the repository.

use std::collections::HashMap;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::string::{string_regex, string_regex_parsed};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use super::rules::{Method, PatternRule, RULES, Rule};

/// Values that are tried for each example.
const VALUES: usize = 20;
/// Bytes that a compiled pattern may have.
const COMPILED_LIMIT: usize = 4 << 20;

struct Examples {
    name: &'static str,
    generate: Option<&'static str>,
    also: &'static [&'static str],
    positive: &'static [&'static str],
    negative: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/rule_examples.rs"));

fn compiled(rule: &PatternRule) -> Regex {
    RegexBuilder::new(rule.pattern).unicode(false).size_limit(COMPILED_LIMIT).build().unwrap()
}

fn pattern(rule: &Rule) -> Option<&PatternRule> {
    match &rule.method {
        Method::Pattern(pattern) => Some(pattern),
        Method::Detector(_) => None,
    }
}

fn generator() -> TestRunner {
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(Config::default(), seed)
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

/// Secrets of a rule: from `generate`, or from its pattern.
fn secrets(rule: &Rule, examples: &Examples) -> BoxedStrategy<String> {
    let least = pattern(rule).map_or(0.0, |pattern| pattern.entropy);
    let any = match (examples.generate, pattern(rule)) {
        (Some(generate), _) => string_regex(generate).unwrap(),
        (None, Some(pattern)) => {
            let parsed =
                ParserBuilder::new().utf8(false).unicode(false).build().parse(pattern.pattern);
            let hir = parsed.unwrap();
            string_regex_parsed(group_named(&hir, "secret").unwrap_or(&hir)).unwrap()
        }
        (None, None) => panic!("{}: a detector needs `generate`", rule.name),
    };
    any.prop_filter("too regular", move |value| entropy(value.as_bytes()) >= least).boxed()
}

/// The example with made-up values in it, and the secrets among these.
fn filled(
    template: &str,
    rule: &Rule,
    examples: &Examples,
    random: &mut TestRunner,
) -> (String, Vec<String>) {
    let (mut text, mut made, mut rest) = (String::new(), Vec::new(), template);
    while let Some((before, after)) = rest.split_once("<<") {
        let (what, after) = after.split_once(">>").expect("`<<` is closed");
        let values = if what == "secret" {
            secrets(rule, examples)
        } else {
            string_regex(what).unwrap().boxed()
        };
        let value = values.new_tree(random).unwrap().current();
        text.push_str(before);
        text.push_str(&value);
        if what == "secret" {
            made.push(value);
        }
        rest = after;
    }
    text.push_str(rest);
    (text, made)
}

/// Calls `check` with every example, each with several values.
fn each(
    choose: fn(&Examples) -> &'static [&'static str],
    mut check: impl FnMut(&Rule, &Examples, &str, &[String]),
) {
    let rules: HashMap<_, _> = RULES.iter().map(|rule| (rule.name, rule)).collect();
    let mut random = generator();
    for examples in EXAMPLES {
        let rule = rules[examples.name];
        for template in choose(examples) {
            for _ in 0..VALUES {
                let (text, made) = filled(template, rule, examples, &mut random);
                check(rule, examples, &text, &made);
            }
        }
    }
}

/// Whether half of the secret, at least eight characters of it, is still there.
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

/// The text after one rule alone.
fn redacted(rule: &Rule, pattern: &PatternRule, text: &str) -> String {
    let expression = compiled(pattern);
    let lowercase = text.to_ascii_lowercase();
    let (bytes, mut from) = (text.as_bytes(), 0);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    while from < text.len() {
        let anchors = rule.anchors.iter().map(|anchor| anchor.to_ascii_lowercase());
        let next = anchors
            .filter_map(|anchor| find(&lowercase.as_bytes()[from..], anchor.as_bytes()))
            .min();
        let Some(anchor) = next.map(|at| from + at) else { break };
        from = anchor + 1;
        let start = anchor.saturating_sub(pattern.reach);
        let end = text.len().min(anchor + pattern.length);
        let Some(groups) = expression.captures(&bytes[start..end]) else { continue };
        let all = groups.get(0).unwrap();
        let (first, last) = (start + all.start(), start + all.end());
        let touches = first.checked_sub(1).is_some_and(|at| is_word(&bytes[at]))
            || bytes.get(last).is_some_and(is_word);
        let secret = groups.name("secret").unwrap_or(all);
        if first > anchor
            || (pattern.reach == 0 && first != anchor)
            || (pattern.bounded && touches)
            || entropy(secret.as_bytes()) < pattern.entropy
        {
            continue;
        }
        let replaced = format!("{}[REDACTED:{}]", &text[..start + secret.start()], rule.name);
        return replaced + &redacted(rule, pattern, &text[start + secret.end()..]);
    }
    text.to_owned()
}

#[test]
fn positive_examples_lose_their_secrets() {
    each(
        |examples| examples.positive,
        |rule, examples, text, secrets| {
            assert!(
                !secrets.is_empty(),
                "{}: a positive example has no <<secret>>: {text}",
                rule.name
            );
            let Some(pattern) = pattern(rule) else { return };
            let out = redacted(rule, pattern, text);
            let name = out
                .split_once("[REDACTED:")
                .and_then(|(_, rest)| rest.split_once(']'))
                .map(|(name, _)| name);
            let expected =
                name.is_some_and(|name| name == rule.name || examples.also.contains(&name));
            assert!(expected, "{} does not find the secret in {text:?}: {out:?}", rule.name);
            let leak = secrets.iter().find(|secret| leaks(secret, &out));
            assert_eq!(leak, None, "{} leaves a part of it in {out:?}", rule.name);
        },
    );
}

#[test]
fn negative_examples_stay_as_they_are() {
    each(
        |examples| examples.negative,
        |rule, _, text, secrets| {
            assert!(secrets.is_empty(), "{}: a negative example holds a <<secret>>", rule.name);
            for other in RULES {
                let Some(pattern) = pattern(other) else { continue };
                assert_eq!(
                    redacted(other, pattern, text),
                    text,
                    "{} alters an example of {}",
                    other.name,
                    rule.name
                );
            }
        },
    );
}

#[test]
fn every_pattern_compiles_within_the_limit() {
    for rule in RULES {
        let Some(pattern) = pattern(rule) else { continue };
        let mut builder = RegexBuilder::new(pattern.pattern);
        let built = builder.unicode(false).size_limit(COMPILED_LIMIT).build();
        assert!(built.is_ok(), "{}: {}", rule.name, built.unwrap_err());
        assert!(!built.unwrap().is_match(b""), "{} matches nothing at all", rule.name);
    }
}

#[test]
fn every_match_has_an_anchor_within_reach() {
    each(
        |examples| examples.positive,
        |rule, _, text, _| {
            let Some(pattern) = pattern(rule) else { return };
            let Some(all) = compiled(pattern).find(text.as_bytes()) else { return };
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
