//! Redaction reaches every part of an entry's file.

use std::sync::Arc;

use proptest::{collection::vec, prelude::*, sample::select};
use redaction::{
    CustomFind, CustomRule, EnvironmentValues, Redaction, RedactionOptions, RedactionSession,
    Redactor,
};

use super::{Change, Document, EntryType, NewEntry};

/// Built from two parts: hosting services refuse pushes with a complete secret.
fn secret() -> String {
    ["gh", "p_", "Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq"].concat()
}

fn private_key(indentation: &str) -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let kind = "PRIVATE KEY-----";
    format!(
        "-----BEGIN {kind}\n{indentation}{line}\n{indentation}{line}\n{indentation}-----END {kind}"
    )
}

fn redaction() -> Redaction {
    let redactor = Redactor::new(RedactionOptions::default()).unwrap();
    Redaction::new(redactor, Arc::new(EnvironmentValues::default()))
}

fn redacted(document: &Document) -> Document {
    let mut redacted = document.clone();
    redacted.redact(&mut RedactionSession::new(Some(redaction()))).unwrap();
    let text = redacted.to_text();
    let read = Document::parse(&text).unwrap_or_else(|problem| panic!("{problem:?} in {text}"));
    assert_eq!(read.to_text(), text);
    read
}

fn parse(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|problem| panic!("{problem:?} in {text}"))
}

#[test]
fn no_part_of_a_file_keeps_a_secret() {
    let secret = secret();
    let escaped = format!("\\x{:02x}{}", b'g', &secret[1..]);
    let key = private_key("  ");
    let text = format!(
        "---
# above {secret}
agent: a # {secret}
sessionId: \"{escaped}\"
type: finding
tags: [a, # {secret}
  \"b, {secret}\"] # c
links:
  - x/{secret}.md
  # {secret}
title: {secret}
\"{secret}\": x
nested:
  - password: \"{secret}\"
    # {secret}
key: |
  {key}
---

Content {secret}

## Changelog

By hand {secret}
- 2026-02-21T15:10:00Z [{secret}]: Key {secret}

# After

{secret}
"
    );
    let before = parse(&text);
    assert_eq!(before.session_id(), Some(secret.as_str()));
    let after = redacted(&before);
    let text = after.to_text();
    assert!(!text.contains(&secret[8..]) && !text.contains("MIIE"), "{text}");
    assert!(text.matches("[REDACTED:").count() >= 15, "{text}");
    assert_eq!((after.agent(), after.entry_type()), (Some("a"), EntryType::Finding));
    assert!(after.session_id().unwrap().starts_with("[REDACTED:"), "{text}");
    assert_eq!((after.tags().len(), after.tags()[0].as_str(), after.links().len()), (2, "a", 1));
    assert!(after.tags()[1].starts_with("b, [REDACTED:"), "{text}");
    assert!(after.links()[0].starts_with("x/[REDACTED:"), "{text}");
    assert!(after.content().starts_with("Content [REDACTED:"), "{text}");
    assert!(after.content().contains("# After\n\n[REDACTED:"), "{text}");
    assert_eq!(after.changelog().len(), 1);
    assert!(after.changelog()[0].description.starts_with("Key [REDACTED:"), "{text}");
    assert!(text.contains("By hand [REDACTED:"), "{text}");
    assert_eq!(redacted(&after).to_text(), text);
}

#[test]
fn what_holds_no_secret_stays_as_it_is() {
    let text = "---\r\nsessionId: 'a1b2c3d4-e5f6-7890-abcd-ef1234567890' # x\r\ntype:   \"finding\"\r\ntags:\r\n- a\r\nx: {y}\r\n---\r\nText.";
    assert_eq!(redacted(&parse(text)).to_text(), text);
    let secret = secret();
    let mut document = parse(&format!("---\ntype: finding\ntags: [{secret}]\n---\n{secret}"));
    document.redact(&mut RedactionSession::new(None)).unwrap();
    assert!(document.to_text().matches(&secret).count() == 2);
}

/// Redacting a secret over several lines may remove line ends that the file's structure needs.
#[test]
fn what_redaction_takes_leaves_a_file() {
    let key = private_key("");
    for text in [
        format!("---\ntype: finding\n---\n{key}\n## Changelog\n\n- 2026-02-21T15:10:00Z [a]: b\n"),
        format!(
            "---\ntype: finding\n---\nA\n\n## Changelog\n\n- 2026-02-21T15:10:00Z [a]: b\n{key}\n# After\n"
        ),
    ] {
        let after = redacted(&parse(&text));
        assert!(!after.to_text().contains("MIIE"), "{}", after.to_text());
        assert_eq!(after.changelog().len(), 1, "{}", after.to_text());
    }
    // A private key that begins in one comment and ends in the next.
    let key = private_key("# ");
    let after = redacted(&parse(&format!("---\n# {key}\ntype: finding # a\n---\n")));
    assert!(!after.to_text().contains("MIIE"), "{}", after.to_text());
}

/// A caller's rule may match the `#` of a comment, or the key of a line.
#[test]
fn what_a_rule_takes_of_foreign_lines_leaves_lines_of_their_kind() {
    let rule = CustomRule {
        name: "own".to_owned(),
        find: CustomFind::Expression {
            source: "(# )?gone[^]*?end:?".to_owned(),
            flags: String::new(),
        },
    };
    let options = RedactionOptions { rules: vec![rule], ..RedactionOptions::default() };
    let redaction =
        Redaction::new(Redactor::new(options).unwrap(), Arc::new(EnvironmentValues::default()));
    let mut document = parse(
        "---\n# a\n# gone\n# end b\ntype: finding # gone end\ngone end: x\nkept:\n  - gone\n# end\ntags: [a]\n---\n",
    );
    document.redact(&mut RedactionSession::new(Some(redaction))).unwrap();
    let text = document.to_text();
    let expected = "---\n# a\n# [REDACTED:own] b\ntype: finding # [REDACTED:own]\n\"[REDACTED:own]\": \"[REDACTED:own] x\"\nkept:\n  - [REDACTED:own]\ntags: [a]\n---\n";
    assert_eq!(text, expected);
    assert_eq!(parse(&text).to_text(), text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_redacted_file_says_the_same_beside_its_secrets(
        pieces in vec(select(vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), 0..6),
        tags in vec("[a-z #:]{0,4}", 0..3),
    ) {
        let secret = secret();
        let words = ["SECRET", "password=SECRET", "\n", "## Changelog\n", "```\n", "- 2026-02-21T15:10:00Z [SECRET]: SECRET\n", "'", "# SECRET\n", "token: SECRET\n", "a"];
        let text: String = pieces.iter().map(|piece| format!("{} ", words[*piece])).collect::<String>().replace("SECRET", &secret);
        let mut document = Document::new(NewEntry {
            agent: "a",
            session_id: "s",
            timestamp: 0,
            entry_type: EntryType::Summary,
            tags: tags.iter().cloned().chain([text.clone()]).collect(),
            links: vec![text.clone()],
            content: &text,
        });
        document.add_change(&Change { timestamp: "2026-02-21T15:10:00Z".to_owned(), agent: text.clone(), description: text.clone() });
        let after = redacted(&document);
        prop_assert!(!after.to_text().contains(&secret), "{}", after.to_text());
        prop_assert_eq!(after.tags().len(), tags.len() + 1);
        prop_assert_eq!(after.changelog().len(), document.changelog().len());
        if !text.contains(&secret) {
            prop_assert_eq!(after.to_text(), document.to_text());
        }
        let foreign = Document::parse(&format!("---\ntype: finding\n# {}\nx: {}\n---\n{text}", text.replace('\n', " "), text.replace('\n', "\n  ")));
        if let Ok(foreign) = foreign {
            let after = redacted(&foreign);
            prop_assert!(!after.to_text().contains(&secret), "{}", after.to_text());
            prop_assert_eq!(after.changelog().len(), foreign.changelog().len());
        }
    }
}
