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

fn parse(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|problem| panic!("{problem:?} in {text:?}"))
}

#[test]
fn lists_are_changed_in_their_place() {
    let mut document = parse(
        "---\r\n# top\r\ntype: 'finding' # kind\r\ntags: # mine\r\n- a # first\r\n\r\n  # between\r\n- b\r\n# below\r\nx:\r\n- type: y\r\nlinks: [] # none\r\n---\r\nText.",
    );
    document.set_type(EntryType::Decision);
    document.set_tags(vec!["a".to_owned(), "c, d".to_owned()]);
    document.set_links(vec!["x/y.md".to_owned()]);
    document.add_change(&change("Tagged"));
    let expected = "---\r\n# top\r\ntype: decision # kind\r\n# first\r\n# between\r\ntags: [a, \"c, d\"] # mine\r\n# below\r\nx:\r\n- type: y\r\nlinks: # none\r\n  - x/y.md\r\n---\r\nText.\r\n\r\n## Changelog\r\n\r\n- 2026-02-21T15:10:00Z [code-fixer]: Tagged\r\n";
    assert_eq!(document.to_text(), expected);
    assert_eq!(reread(&document), document);
    document.set_links(Vec::new());
    let text = document.to_text();
    assert!(text.contains("x:\r\n- type: y\r\n# none\r\n---\r\n"), "{text}");
    assert!(reread(&document).links().is_empty());
}

#[test]
fn missing_lists_get_their_place() {
    let mut document = parse("---\ntype: finding\nlater: 1\n---\n");
    document.set_links(vec!["x/y.md".to_owned()]);
    document.set_tags(vec!["a".to_owned()]);
    assert_eq!(
        document.to_text(),
        "---\ntype: finding\ntags: [a]\nlinks:\n  - x/y.md\nlater: 1\n---\n"
    );
}

#[test]
fn a_closing_line_without_an_end_gets_one() {
    for edit in [
        |document: &mut Document| document.set_content("Text."),
        |document: &mut Document| {
            document.add_change(&change("Found"));
        },
    ] {
        let mut document = parse("---\ntype: finding\n---");
        document.set_content("");
        assert_eq!(document.to_text(), "---\ntype: finding\n---");
        edit(&mut document);
        assert!(document.to_text().starts_with("---\ntype: finding\n---\n\n"));
        reread(&document);
    }
}

#[test]
fn changes_go_into_the_section_not_to_the_end() {
    let cases = [
        ("## Changelog\n\n- a\n\n# Next\n", "## Changelog\n\n- a\nX\n\n# Next\n"),
        ("## Changelog\n# Next\n", "## Changelog\n\nX\n# Next\n"),
        ("## Changelog\n\n# Next\n", "## Changelog\n\nX\n\n# Next\n"),
        ("## Changelog", "## Changelog\n\nX\n"),
        ("## Changelog\n- a", "## Changelog\n- a\nX\n"),
        ("## Changelog\n- a  \n \n\n", "## Changelog\n- a  \nX\n \n\n"),
        ("Text.", "Text.\n\n## Changelog\n\nX\n"),
        ("Text.\n\n", "Text.\n\n\n## Changelog\n\nX\n"),
        ("", "\n## Changelog\n\nX\n"),
    ];
    for (before, after) in cases {
        let mut document = parse(&format!("---\ntype: finding\n---\n{before}"));
        let content = document.content().into_owned();
        document.add_change(&change("d"));
        let line = "- 2026-02-21T15:10:00Z [code-fixer]: d";
        assert_eq!(
            document.to_text(),
            format!("---\ntype: finding\n---\n{}", after.replace('X', line))
        );
        assert_eq!(document.content(), content, "{before:?}");
    }
}

#[test]
fn content_that_looks_like_a_changelog_is_content() {
    let content = "Text.\n\n## Changelog\n\n- 2026-02-21T15:10:00Z [a]: Mine";
    let mut new = document(content);
    assert!(new.to_text().ends_with("[a]: Mine\n\n## Changelog\n"), "{}", new.to_text());
    assert_eq!((new.content().as_ref(), new.changelog()), (content, Vec::new()));
    new.add_change(&change("Real"));
    assert_eq!((reread(&new).content().as_ref(), new.changelog()), (content, vec![change("Real")]));
}

/// The changelog of another program may have a fence, which must not close one of the new content.
#[test]
fn fences_of_content_and_changelog_do_not_meet() {
    let mut document = parse(
        "---\ntype: finding\n---\nA\n\n## Changelog\n\n- 2026-02-21T15:10:00Z [a]: b\n```\n# c\n```\n",
    );
    document.set_content("```\nopen");
    let read = reread(&document);
    assert_eq!(read.content(), "```\nopen");
    assert_eq!(read.changelog().len(), 1);
    assert!(read.to_text().ends_with("[a]: b\n    ```\n    # c\n    ```\n"), "{}", read.to_text());
}

/// A quadratic algorithm takes minutes for these texts.
#[test]
fn long_texts_take_no_longer_than_they_are() {
    let start = std::time::Instant::now();
    let longest = 60_000;
    for front_matter in [
        format!("tags: {}", "[".repeat(longest)),
        format!("tags: [{}]", "a,".repeat(longest / 2)),
        format!("tags:\n{}", "- a\n".repeat(longest / 4)),
        format!("tags: a{}", "\n".repeat(longest)),
        format!("tags: \"{}", " \n".repeat(longest / 2)),
        format!("x: {}", "#: ".repeat(longest / 3)),
        "x:\n".repeat(longest / 3),
        "# \n".repeat(longest / 3),
        format!("x:{}y", " ".repeat(longest)),
        format!("tags: |\n{}", " \n".repeat(longest / 2)),
        format!("tags: >\n{}", " a\n\n".repeat(longest / 4)),
    ] {
        let _ = Document::parse(&format!("---\ntype: finding\n{front_matter}\n---\n"));
    }
    let fences: String =
        (3..1500).rev().map(|length| format!("{}\n", "`".repeat(length) + "x")).collect();
    for body in [
        fences,
        "````\n```x\n".repeat(30_000),
        "## Changelog\n".repeat(30_000),
        "- [[[]:\n".repeat(30_000),
        format!("## Changelog\n- {}", "2026-".repeat(60_000)),
        "#".repeat(300_000),
        " ".repeat(300_000),
        "\n".repeat(300_000),
    ] {
        let mut document = parse(&format!("---\ntype: finding\n---\n{body}"));
        document.add_change(&change("d"));
        document.set_content(&body);
        assert_eq!(reread(&document).content(), body);
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// Fragments of Markdown that are changelogs or look like them.
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
    #![proptest_config(ProptestConfig::with_cases(1000))]

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
