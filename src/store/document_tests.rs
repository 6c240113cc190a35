use proptest::{collection::vec, prelude::*, sample::select};

use super::{Change, Document, EntryType, NewEntry};

const TIME: i64 = 1_771_684_222_000;

fn change(description: &str) -> Change {
    Change {
        timestamp: "2026-02-21T15:10:00Z".to_owned(),
        agent: "code-fixer".to_owned(),
        description: description.to_owned(),
    }
}

fn document(content: &str) -> Document {
    Document::new(NewEntry {
        agent: "code-reviewer",
        session_id: "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
        timestamp: TIME,
        entry_type: EntryType::Finding,
        tags: vec!["security".to_owned(), "sql-injection".to_owned()],
        links: vec!["code-reviewer/20260221T143022-auth-vulnerability.md".to_owned()],
        content,
    })
}

fn reread(document: &Document) -> Document {
    let text = document.to_text();
    let read = Document::parse(&text).unwrap_or_else(|problem| panic!("{problem:?} in {text:?}"));
    assert_eq!(read.to_text(), text);
    read
}

#[test]
fn a_new_file_looks_like_the_specification() {
    let mut document = document("SQL is built from input.");
    document.add_change(&change("Updated severity"));
    let expected = "---
agent: code-reviewer
sessionId: a1b2c3d4-e5f6-7890-abcd-ef1234567890
timestamp: 2026-02-21T14:30:22Z
type: finding
tags: [security, sql-injection]
links:
  - code-reviewer/20260221T143022-auth-vulnerability.md
---

SQL is built from input.

## Changelog

- 2026-02-21T15:10:00Z [code-fixer]: Updated severity
";
    assert_eq!(document.to_text(), expected);
    let read = reread(&document);
    assert_eq!(read, document);
    assert_eq!(read.content(), "SQL is built from input.");
    assert_eq!(read.changelog(), [change("Updated severity")]);
}

/// Markdown of which changelogs are made, and what may be taken for one.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => select(vec![
            "## Changelog", "## changelog ##", "   ## Changelog\t#", "# Title", "### Deeper", "```", "~~~~", "````md",
            "- ```", "---", "...", "- 2026-02-21T15:10:00Z [a]: b", "text", "", " ", "    ## Changelog", "#", "\r",
            "1. ~~~", "## Changelog\r", "\u{FEFF}", "\u{2028}",
        ]).prop_map(str::to_owned),
        1 => ".{0,8}",
    ];
    (vec(piece, 0..12), select(vec!["\n", "\n", "\n\n", "\r\n"]))
        .prop_map(|(pieces, end)| pieces.join(end))
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let text = prop_oneof![
        select(vec![
            "null",
            "~",
            "yes",
            "No",
            "1",
            "0x1F",
            "1e3",
            "2026-02-21",
            "12:30",
            "a: b",
            "a #b",
            "- a",
            "?",
            "&a",
            "*a",
            "!t",
            "|",
            ">",
            "%",
            "@",
            "`",
            "{a}",
            "[a]",
            "a,b",
            "'",
            "\"",
            "\\",
            " a",
            "a ",
            "",
            "---",
            "...",
            "=",
            "<<",
            ".inf",
            ".5",
            "+1",
            "-",
            "1_000",
            "0o17",
            "true",
            "\u{85}",
            "\u{2028}",
            "\u{FEFF}a",
            "\u{FFFE}",
            "é",
            "中文",
            "e\u{301}",
            "\u{1F600}",
            "\u{7F}",
            "a\nb",
            "\t",
            "\r",
        ])
        .prop_map(str::to_owned),
        ".{0,10}",
        "[a-z0-9.:/ _-]{0,12}",
        any::<String>(),
    ];
    vec(text, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_new_file_is_read_as_it_was_meant(
        agent in "\\PC{1,20}",
        session in any::<String>().prop_filter("empty is none", |text| !text.is_empty()),
        seconds in 0_i64..200_000_000_000,
        kind in select(EntryType::ALL.to_vec()),
        tags in texts(),
        links in texts(),
        content in prop_oneof![markdown(), any::<String>()],
    ) {
        let document = Document::new(NewEntry {
            agent: &agent,
            session_id: &session,
            timestamp: seconds,
            entry_type: kind,
            tags: tags.clone(),
            links: links.clone(),
            content: &content,
        });
        let read = reread(&document);
        prop_assert_eq!(read.agent(), Some(agent.as_str()));
        prop_assert_eq!(read.session_id(), Some(session.as_str()));
        prop_assert_eq!(read.timestamp(), Some(seconds));
        prop_assert_eq!(read.entry_type(), kind);
        prop_assert_eq!(read.tags(), tags.as_slice());
        prop_assert_eq!(read.links(), links.as_slice());
        prop_assert_eq!(read.content(), content.as_str());
        prop_assert_eq!(&read, &document);
    }

    #[test]
    fn content_is_replaced_and_the_changelog_stays(
        first in markdown(),
        second in markdown(),
        ends_lines_twice in any::<bool>(),
        changes in 0_usize..3,
    ) {
        let mut text = format!("---\ntype: finding\n---\n{first}");
        if ends_lines_twice {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        let mut document = Document::parse(&text).unwrap();
        let (content, listed) = (document.content().into_owned(), document.changelog().len());
        for number in 0..changes {
            document.add_change(&change(&format!("change {number}")));
        }
        let mut read = reread(&document);
        prop_assert_eq!(read.content(), content);
        let changelog = read.changelog();
        prop_assert_eq!(changelog.len(), listed + changes);
        read.set_content(&second);
        let read = reread(&read);
        prop_assert_eq!(read.content(), second);
        prop_assert_eq!(read.changelog(), changelog);
    }

    #[test]
    fn any_text_is_kept_or_refused(
        front_matter in "((agent|tags|links|x|\"type\"|timestamp): ?(a|\\[a, [b'\"]?\\]|\"\\\\?|'|2026|\\||>-|#|~)?[ \t]*(\r?\n)([ \t]{0,3}(- )?(a|b: c|#|\\]|\"|'|\\\\)?\r?\n){0,3}){0,4}",
        rest in any::<String>(),
    ) {
        for text in [format!("---\n{front_matter}type: finding\n---\n{rest}"), format!("---\n{front_matter}"), rest] {
            if let Ok(document) = Document::parse(&text) {
                prop_assert_eq!(document.to_text(), text);
            }
        }
    }
}
