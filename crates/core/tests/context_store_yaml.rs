//! Compares the front matter reader with a YAML parser: both read the same values.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::{fs, path::PathBuf};

use agent_context_core::store::{Document, EntryType, NewEntry};
use proptest::{collection::vec, prelude::*, sample::select};
use saphyr::{LoadableYamlNode, ScalarStyle, Yaml, YamlLoader};
use saphyr_parser::Parser;

/// Front matter as the YAML parser reads it, with scalars as spelled.
fn parsed(text: &str) -> Result<Yaml<'static>, String> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let lines = text.split_inclusive('\n').skip(1);
    let inner: String =
        lines.take_while(|line| !matches!(line.trim_end(), "---" | "...")).collect();
    // In YAML, a bracket that closes a list must be indented; the store accepts others as well.
    let inner = inner.replace("\n]", "\n ]");
    let mut loader = YamlLoader::<Yaml>::default();
    loader.early_parse(false);
    Parser::new_from_str(inner.leak())
        .load(&mut loader, true)
        .map_err(|error| error.to_string())?;
    if let Some(error) = loader.error() {
        return Err(error.to_string());
    }
    loader.into_documents().into_iter().next().ok_or_else(|| "no document".to_owned())
}

/// A value as the store reads it: `None` for no value.
fn text_of(value: &Yaml) -> Option<String> {
    match value {
        Yaml::Representation(text, ScalarStyle::Plain, _)
            if matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL") =>
        {
            None
        }
        Yaml::Representation(text, ..) => Some(text.to_string()),
        other => panic!("no text: {other:?}"),
    }
}

fn list_of(value: Option<&Yaml>) -> Vec<String> {
    match value {
        None => Vec::new(),
        Some(Yaml::Sequence(items)) => items.iter().filter_map(text_of).collect(),
        Some(scalar) => text_of(scalar).into_iter().collect(),
    }
}

fn value<'a>(yaml: &'a Yaml<'static>, name: &str) -> Option<&'a Yaml<'static>> {
    let is_key = |key: &Yaml| matches!(key, Yaml::Representation(text, ..) if text == name);
    yaml.as_mapping().unwrap().iter().find(|(key, _)| is_key(key)).map(|(_, value)| value)
}

fn check(document: &Document, yaml: &Yaml<'static>, text: &str) {
    let scalar = |name| value(yaml, name).and_then(text_of).filter(|text| !text.is_empty());
    assert_eq!(document.agent(), scalar("agent").as_deref(), "{text}");
    assert_eq!(document.session_id(), scalar("sessionId").as_deref(), "{text}");
    assert_eq!(Some(document.entry_type().as_str()), scalar("type").as_deref(), "{text}");
    assert_eq!(document.tags(), list_of(value(yaml, "tags")), "{text}");
    assert_eq!(document.links(), list_of(value(yaml, "links")), "{text}");
}

/// The YAML parser rejects pairs of escapes for one character, which JSON has.
const NOT_OF_YAML: [&str; 1] = ["quoted"];

#[test]
fn files_are_read_as_the_parser_reads_them() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/context-store");
    let mut checked = 0;
    for file in fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Ok(document) = Document::parse(&text) else { continue };
        match parsed(&text) {
            Ok(yaml) => check(&document, &yaml, &text),
            Err(error) => {
                let name = path.file_stem().unwrap().to_str().unwrap();
                assert!(NOT_OF_YAML.contains(&name), "{name}: {error}");
            }
        }
        checked += 1;
    }
    assert!(checked >= 40, "only {checked} files");
}

/// Texts with a meaning in YAML, and any others.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "null",
            "~",
            "Null",
            "yes",
            "No",
            "ON",
            "y",
            "1",
            "0x1F",
            "1e3",
            "12e03",
            "2026-02-21",
            "12:30",
            "1:2:3",
            "a: b",
            "a:",
            ":a",
            "a #b",
            "#a",
            "- a",
            "-",
            "?",
            "? a",
            "&a",
            "*a",
            "!t",
            "|",
            ">-",
            "%a",
            "@a",
            "`a`",
            "{a}",
            "[a]",
            "a,b",
            "a]",
            "'",
            "'a'",
            "\"",
            "\"a\"",
            "\\",
            "\\n",
            " a",
            "a ",
            "  ",
            "",
            "---",
            "...",
            "=",
            "<<",
            ".inf",
            "-.INF",
            ".NaN",
            ".5",
            "5.",
            "+1",
            "1_000",
            "0o17",
            "017",
            "0b1",
            "true",
            "False",
            "\u{85}",
            "\u{2028}",
            "\u{2029}a",
            "\u{FEFF}a",
            "a\u{FEFF}",
            "\u{FFFE}",
            "\u{1FFFF}",
            "é",
            "中文",
            "e\u{301}",
            "\u{1F600}",
            "\u{7F}",
            "\u{9F}",
            "a\nb",
            "\na\n",
            "\t",
            "a\tb",
            "\r",
            "a\r\nb",
            "a\u{A0}",
            "\u{A0}",
            "\0",
        ])
        .prop_map(str::to_owned),
        ".{0,10}",
        "[a-z0-9.:/ #_+,-]{0,12}",
        any::<String>(),
    ]
}

fn has_unknown_key(text: &str) -> bool {
    let lines = text.lines().filter(|line| {
        line.contains(':') && !line.starts_with([' ', '\t', '#']) && !line.starts_with("- ")
    });
    lines
        .map(|line| {
            line.split_once(": ").map_or(line.strip_suffix(':').unwrap_or(line), |(key, _)| key)
        })
        .any(|key| !["agent", "sessionId", "type", "tags", "links"].contains(&key.trim_end()))
}

/// A line of front matter, as people write it.
fn line() -> impl Strategy<Value = String> {
    let token = || {
        select(vec![
            "a", "b c", "\"q\"", "\"q", "'s'", "'s", "it''s", "\\", "\\n", "\\x41", "\\u00e9",
            "\\ ", "~", "null", "1.0", "#", " #", " # c", "-", "- ", "-a", "?", "? ", ":", ": ",
            ":a", ",", ", ", "[", "]", "[]", "{", "}", "&a ", "*a", "!t ", "|", ">", "|-", ">+",
            ">2-", "%", "@", "`", "é", "\u{2028}", " ", "  ", "\t",
        ])
    };
    let key = select(vec![
        "agent: ",
        "tags: ",
        "links: ",
        "tags:",
        "links:",
        "sessionId: ",
        "  - ",
        "- ",
        "    ",
        "  ",
        "",
        "   - ",
        "# ",
        "  # ",
        "tags: [",
        "links: [",
        "agent: \"",
        "agent: '",
        "tags:\n  - ",
        "links:\n- ",
        "agent: |\n  ",
        "sessionId: >-\n   ",
        "tags:\n  - |\n   ",
    ]);
    (key, vec(token(), 0..4)).prop_map(|(key, tokens)| format!("{key}{}", tokens.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_by_the_parser(
        agent in texts(), session in texts(), tags in vec(texts(), 0..5), links in vec(texts(), 0..4),
    ) {
        let text = Document::new(NewEntry {
            agent: &agent,
            session_id: &session,
            timestamp: 1_771_684_222_000,
            entry_type: EntryType::Decision,
            tags: tags.clone(),
            links: links.clone(),
            content: "Text.",
        })
        .to_text();
        let lines = text.split_inclusive('\n').skip(1);
        let inner: String = lines.take_while(|line| line.trim_end() != "---").collect();
        prop_assert_eq!(inner.lines().count(), 5 + if links.is_empty() { 0 } else { 1 + links.len() });
        // With type resolution, so that a plain text must not be read as a number.
        let yaml = Yaml::load_from_str(&inner).map_err(|error| TestCaseError::fail(format!("{error}: {inner}")))?;
        let strings = |value: &Yaml| -> Vec<String> {
            value.as_vec().unwrap().iter().map(|item| item.as_str().unwrap_or("no text").to_owned()).collect()
        };
        prop_assert_eq!(yaml[0]["agent"].as_str(), Some(agent.as_str()));
        prop_assert_eq!(yaml[0]["sessionId"].as_str(), Some(session.as_str()));
        prop_assert_eq!(yaml[0]["timestamp"].as_str(), Some("2026-02-21T14:30:22Z"));
        prop_assert_eq!(strings(&yaml[0]["tags"]), tags);
        if !links.is_empty() {
            prop_assert_eq!(strings(&yaml[0]["links"]), links);
        }
    }

    #[test]
    fn what_is_accepted_the_parser_reads_in_the_same_way(lines in vec(line(), 0..7)) {
        let text = format!("---\ntype: finding\n{}\n---\n", lines.join("\n"));
        if let Ok(document) = Document::parse(&text) {
            prop_assert_eq!(&document.to_text(), &text);
            match parsed(&text) {
                Ok(yaml) => check(&document, &yaml, &text),
                // The store does not parse the values of unknown keys.
                Err(error) => prop_assert!(has_unknown_key(&text), "accepted, but no YAML: {}\n{}", error, text),
            }
        }
    }
}
