//! Compiles `rules.toml` into Rust statics during the build, so that the program parses no rules when it runs. Called
//! by the build script (`main.rs`).

use std::collections::HashSet;
use std::fmt::Write as _;

use serde::Deserialize;

/// Minimum length of an anchor in bytes. Shorter anchors occur in almost every text and would not narrow the search.
const SHORTEST_ANCHOR: usize = 3;
const DEFAULT_LENGTH: usize = 512;

/// The contents of the two files that the crate includes.
pub struct Compiled {
    /// The statics `RULES` and `NAMES`.
    pub rules: String,
    /// The static `EXAMPLES`, which only the tests use.
    pub examples: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<Rule>,
    names: Names,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    finds: String,
    source: String,
    #[serde(default)]
    anchors: Vec<String>,
    detector: Option<Detector>,
    pattern: Option<String>,
    #[serde(default)]
    commands: Vec<Command>,
    reach: Option<usize>,
    before: Option<String>,
    length: Option<usize>,
    run: Option<bool>,
    bounded: Option<bool>,
    entropy: Option<f32>,
    generate: Option<String>,
    #[serde(default)]
    also: Vec<String>,
    positive: Vec<String>,
    negative: Vec<String>,
}

/// A command that takes a secret as the value of a flag.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    name: String,
    gap: usize,
    #[serde(default)]
    stops: String,
    flag: String,
}

/// Methods of detection that are written in code, because a regular expression cannot express them.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
enum Detector {
    Assignment,
    Basic,
    DottedToken,
    PrivateKey,
    Vendor,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    passwords: Vec<String>,
    secrets: Vec<String>,
    machine: Vec<String>,
    weak: Vec<String>,
    harmless: Vec<String>,
    neutral: Vec<String>,
    literals: Vec<String>,
    placeholders: Vec<String>,
    references: Vec<String>,
    vendors: Vec<String>,
}

/// # Errors
/// Names the rule that is wrong, and the error.
pub fn compile(source: &str) -> Result<Compiled, String> {
    let file: File = toml::from_str(source).map_err(|error| error.to_string())?;
    let mut seen = HashSet::new();
    for rule in &file.rule {
        check(rule).map_err(|problem| format!("rule {:?}: {problem}", rule.name))?;
        if !seen.insert(rule.name.as_str()) {
            return Err(format!("rule {:?}: there are two of this name", rule.name));
        }
    }
    for rule in &file.rule {
        if let Some(name) = rule.also.iter().find(|name| !seen.contains(name.as_str())) {
            return Err(format!(
                "rule {:?}: `also` names {name:?}, which is not a rule",
                rule.name
            ));
        }
    }
    let rules = rules(&file).map_err(|error| error.to_string())?;
    let examples = examples(&file.rule).map_err(|error| error.to_string())?;
    Ok(Compiled { rules, examples })
}

fn check(rule: &Rule) -> Result<(), String> {
    let kebab = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if rule.name.is_empty() || !kebab(&rule.name) {
        return Err("`name` is not kebab-case".into());
    }
    for (field, text) in [("finds", &rule.finds), ("source", &rule.source)] {
        if text.trim().is_empty() {
            return Err(format!("`{field}` is empty"));
        }
    }
    if rule.positive.is_empty() || rule.negative.is_empty() {
        return Err("at least one `positive` and one `negative` example are needed".into());
    }
    if let Some(anchor) = rule.anchors.iter().find(|anchor| anchor.len() < SHORTEST_ANCHOR) {
        return Err(format!("the anchor {anchor:?} has fewer than {SHORTEST_ANCHOR} bytes"));
    }
    if rule.before.as_ref().is_some_and(|before| before.len() != 1 || rule.reach.is_none()) {
        return Err("`before` is one sign of ASCII, and needs a `reach`".into());
    }
    let has_pattern = rule.pattern.is_some() || !rule.commands.is_empty();
    if !rule.commands.is_empty() && rule.reach.is_some() {
        return Err("`commands` begin with an anchor, and take no `reach`".into());
    }
    match (has_pattern, &rule.detector) {
        (true, Some(_)) => Err("`detector` excludes `pattern` and `commands`".into()),
        (false, None) => Err("`pattern`, `commands` or `detector` is missing".into()),
        (true, None) if rule.anchors.is_empty() => Err("`anchors` is missing".into()),
        (true, None) => Ok(()),
        (false, Some(_)) => {
            let of_patterns = rule.reach.is_some()
                || rule.length.is_some()
                || rule.run.is_some()
                || rule.bounded.is_some()
                || rule.entropy.is_some();
            if of_patterns {
                return Err(
                    "`reach`, `length`, `run`, `bounded` and `entropy` belong to a `pattern`"
                        .into(),
                );
            }
            Ok(())
        }
    }
}

fn rules(file: &File) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let mut commands = 0_usize..;
    writeln!(out, "pub(super) static RULES: &[Rule] = &[")?;
    for rule in &file.rule {
        let Rule { name, anchors, .. } = rule;
        write!(out, "Rule {{ name: {name:?}, anchors: &{anchors:?}, method: ")?;
        if let Some(detector) = &rule.detector {
            write!(out, "Method::Detector(Detector::{detector:?})")?;
        } else {
            let pattern = rule.pattern.as_deref().unwrap_or_default();
            let reach = rule.reach.unwrap_or(0);
            let before = rule.before.as_deref().unwrap_or_default();
            let length = rule.length.unwrap_or(DEFAULT_LENGTH);
            let run = rule.run.unwrap_or(false);
            let bounded = rule.bounded.unwrap_or(true);
            let entropy = rule.entropy.unwrap_or(0.0);
            write!(
                out,
                "Method::Pattern(PatternRule {{ pattern: {pattern:?}, reach: {reach}, \
                 before: {before:?}, length: {length}, run: {run}, bounded: {bounded}, entropy: {entropy:?}, commands: &["
            )?;
            for (Command { name, gap, stops, flag }, number) in
                rule.commands.iter().zip(&mut commands)
            {
                write!(
                    out,
                    "Command {{ number: {number}, name: {name:?}, gap: {gap}, stops: {stops:?}, \
                     flag: {flag:?} }}, "
                )?;
            }
            write!(out, "] }})")?;
        }
        writeln!(out, " }},")?;
    }
    writeln!(out, "];")?;
    writeln!(out, "pub(super) const COMMANDS: usize = {};", commands.start)?;
    let names = &file.names;
    let lists = [
        ("passwords", &names.passwords),
        ("secrets", &names.secrets),
        ("machine", &names.machine),
        ("weak", &names.weak),
        ("harmless", &names.harmless),
        ("neutral", &names.neutral),
        ("literals", &names.literals),
        ("placeholders", &names.placeholders),
        ("references", &names.references),
        ("vendors", &names.vendors),
    ];
    write!(out, "pub(super) static NAMES: Names = Names {{")?;
    for (list, words) in lists {
        write!(out, "{list}: &{words:?}, ")?;
    }
    writeln!(out, "}};")?;
    Ok(out)
}

fn examples(rules: &[Rule]) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(out, "static EXAMPLES: &[Examples] = &[")?;
    for Rule { name, generate, also, positive, negative, .. } in rules {
        writeln!(
            out,
            "Examples {{ name: {name:?}, generate: {generate:?}, also: &{also:?}, \
             positive: &{positive:?}, negative: &{negative:?} }},"
        )?;
    }
    writeln!(out, "];")?;
    Ok(out)
}
