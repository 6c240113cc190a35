//! Files as people and other programs write them, valid and damaged.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use agent_context_core::store::{Change, Document, Entry, EntryType, Location};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/context-store")
}

fn location() -> Location {
    Location::parse("the-agent/the-session/20260221T143022-name.md").unwrap()
}

/// The parsed parts of a file, one per line, or the error.
fn said(bytes: &[u8]) -> String {
    match Entry::read(&location(), bytes) {
        Ok(entry) => described(&entry),
        Err(problem) => format!("line {}: {}", problem.line, problem.reason),
    }
}

fn described(entry: &Entry) -> String {
    let summary = &entry.summary;
    let mut parts = vec![format!(
        "{} by {} in {} at {}",
        summary.entry_type.as_str(),
        summary.agent,
        summary.session_id.as_deref().unwrap_or("no session"),
        summary.timestamp
    )];
    for (name, list) in [("tags", &summary.tags), ("links", &summary.links)] {
        if !list.is_empty() {
            parts.push(format!("{name} {list:?}"));
        }
    }
    parts.push(format!("{:?}", entry.content));
    parts.extend(
        entry.changelog.iter().map(|change| {
            format!("{} [{}] {}", change.timestamp, change.agent, change.description)
        }),
    );
    parts.extend(summary.superseded_by.as_ref().map(|path| format!("superseded by {path}")));
    parts.join("\n")
}

fn files() -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(directory()).unwrap().map(|file| file.unwrap().path());
    files
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())
        })
        .collect()
}

/// The files' names, with the parsed parts of each.
const EXPECTED: &str = r##"@block-list
finding by the-agent in the-session at 2026-02-21T14:30:22Z
tags ["a", "b, c", "d", "2", "true"]
links ["x/y.md"]
"Text."
@block-list-at-column-0
finding by the-agent in the-session at 2026-02-21T14:30:22Z
tags ["a", "b"]
links ["x/y.md"]
"Text."
@block-list-below-dash
finding by the-agent in the-session at 2026-02-21T14:30:22Z
tags ["a", "b c d", "e"]
"Text."
@body-of-any-bytes
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Nul \0 and \u{1b} and \u{85} and \u{2028}.\rEnd\r"
@broken-alias
line 3: `type`: anchors, aliases and tags are not read here
@broken-alias-in-list
line 5: `tags`: anchors, aliases and tags are not read here
@broken-anchor
line 3: `tags`: anchors, aliases and tags are not read here
@broken-bare-carriage-return
line 2: front matter cannot hold the character U+000D
@broken-complex-key
line 3: this is no `key: value`
@broken-duplicate
line 5: `tags` stands here twice
@broken-empty
line 1: there is no front matter: the first line is not `---`
@broken-empty-item
line 3: `tags`: a text is missing before the comma
@broken-escape
line 3: `agent`: this is no escape of YAML
@broken-flow-mapping
line 3: `tags`: a mapping stands where a text belongs
@broken-indentation
line 5: `tags`: this line does not belong to the value above it
@broken-indented-keys
line 2: this belongs to no key
@broken-list-not-closed
line 3: `tags`: the list is not closed with `]`
@broken-mapping
line 4: `tags`: a mapping stands where a text belongs
@broken-mapping-in-list
line 5: `tags`: a mapping stands where a text belongs
@broken-marker-with-text
line 1: there is no front matter: the first line is not `---`
@broken-nested-block-list
line 4: `tags`: a list stands where a text belongs
@broken-nested-list
line 3: `tags`: a list stands where a text belongs
@broken-no-front-matter
line 1: there is no front matter: the first line is not `---`
@broken-no-key
line 3: this is no `key: value`
@broken-not-closed
line 1: front matter is not closed: a line `---` is missing
@broken-nul
line 3: front matter cannot hold the character U+0000
@broken-quote-not-closed
line 4: `tags`: the quoted text is not closed
@broken-reserved
line 3: `agent`: a text that begins with this character must be quoted
@broken-surrogate
line 3: `agent`: this is no escape of YAML
@broken-tab
line 4: `tags`: a tab indents this line; YAML wants spaces
@broken-tag
line 2: `type`: anchors, aliases and tags are not read here
@broken-text-before
line 1: there is no front matter: the first line is not `---`
@broken-text-behind-quotes
line 3: `agent`: there is text behind the end of the value
@broken-timestamp
line 3: `timestamp`: "yesterday" is no time of ISO 8601
@broken-timestamp-number
line 3: `timestamp`: "1771684222" is no time of ISO 8601
@broken-too-long
line 3: front matter is longer than 64 KiB, or `---` is missing behind it
@broken-type-capital
line 2: `type`: "Finding" is none of finding, decision, artifact, reference, summary
@broken-type-list
line 2: `type`: a list stands where a text belongs
@broken-type-missing
line 1: `type` is missing
@broken-type-null
line 3: `type`: "" is none of finding, decision, artifact, reference, summary
@broken-type-unknown
line 4: `type`: "opinion" is none of finding, decision, artifact, reference, summary
@broken-utf-8
line 6: this is no UTF-8
@byte-order-mark
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
@byte-order-mark-crlf
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
@changelog-behind-open-fence
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"````\ncode\n```"
2026-02-21T15:10:00Z [fixer] Seen
@changelog-in-fence
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text.\n\n```md\n## Changelog\n\n- 2026-02-21T15:10:00Z [fixer]: Fenced\n```\n\n~~~~\n~~~\n## Changelog\n~~~~"
@changelog-in-the-middle
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"# Title\n\nBefore.\n\n## Next\n\nAfter."
2026-02-21T15:10:00Z [fixer] One
@changelog-list-item-fence
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"- ```\n  ## Changelog\n  ```"
2026-02-21T15:10:00Z [fixer] One
@changelog-of-other-lines
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
2026-02-21T16:10:00Z [a ] b] With spaces
2026-02-21T16:10:00Z [fixer] Offset: and [brackets]: too
@changelog-spellings
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
2026-02-21T15:10:00Z [fixer] Close
@changelog-that-is-none
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text.\n\n    ## Changelog\n\n##Changelog\n\n### Changelog\n\n# Changelog\n\n## Changelog of it\n\n- ## Changelog"
@changelog-twice
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text.\n\n## Changelog\n\n- 2026-02-21T15:10:00Z [fixer]: Quoted"
2026-02-21T16:10:00Z [fixer] Real
@comment-needs-blank
finding by the-agent in the-session at 2026-02-21T14:30:22Z
tags ["c#", "#a", "a#b"]
"Text."
@comments
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
@crlf
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
tags ["a", "b"]
links ["x/y.md"]
"First.\r\n\r\nSecond."
2026-02-21T15:10:00Z [fixer] Changed
@dots-close
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
@empty-lines-around
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"\n\nText.\n\n"
@empty-lists
finding by the-agent in the-session at 2026-02-21T14:30:22Z
"Text."
@folded-by-other-writers
finding by code-reviewer in the-session at 2026-02-21T14:30:22Z
tags ["a tag that was folded", "kept", "a plain one over two lines"]
links ["code-reviewer/20260221T143022-a-name-that-is-so-long-that-other-writers-put-it-on-a-line-of-its-own.md"]
"Text."
@inline-list-below-key
finding by the-agent in the-session at 2026-02-21T14:30:22Z
tags ["a", "b"]
"Text."
@inline-list-over-lines
finding by the-agent in the-session at 2026-02-21T14:30:22Z
tags ["a", "b, c", "d", "e f"]
links ["x/y.md"]
"Text."
@marker-in-body
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Before.\n\n---\ntype: decision\n---\n\nAfter."
@microseconds-offset
finding by the-agent in the-session at 2026-02-21T14:30:22.123Z
"Text."
@milliseconds
finding by the-agent in the-session at 2026-02-21T14:30:22.123Z
"Text."
@no-empty-line
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
@no-final-line-end
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
@no-offset
finding by the-agent in the-session at 2026-02-21T14:30:22Z
"Text."
@nothing-behind
finding by the-agent in the-session at 2026-02-21T14:30:22Z
""
@nothing-known-but-type
finding by the-agent in the-session at 2026-02-21T14:30:22Z
"Text."
@null-lists
finding by the-agent in the-session at 2026-02-21T14:30:22Z
"Text."
@numbers-as-text
finding by 007 in 12 at 2026-02-21T14:30:22Z
tags ["1", "2.50", "true", "2026-02-21", "0x1F", ".5", "-1", "yes"]
"Text."
@plain-texts
finding by it's a:b c/d-e?f in the-session at 2026-02-21T14:30:22Z
tags ["a:b", "http://x.y/z?q=1&r", "it's", "-a", "x", "?y", "a b", "é", "中文"]
links ["a, b [c] {d}", "x/ü.md"]
"Text."
@quoted
finding by code-reviewer in it's "one" at 2026-02-21T14:30:22Z
tags ["a, b", "c: d", "e \"f\" \\ \téA😀😀/\u{1b}"]
"Text."
@quoted-keys
finding by code-reviewer in the-session at 2026-02-21T14:30:22Z
tags ["a"]
"Text."
@quoted-over-lines
finding by code-  reviewer in the-session at 2026-02-21T14:30:22Z
tags ["one two\nthree four", "five six"]
"Text."
@single-scalar-as-list
finding by the-agent in the-session at 2026-02-21T14:30:22Z
tags ["security"]
links ["x/y.md"]
"Text."
@spaces-behind-markers
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
@specification
finding by code-reviewer in a1b2c3d4-e5f6-7890-abcd-ef1234567890 at 2026-02-21T14:30:22Z
tags ["security", "authentication", "sql-injection"]
links ["code-reviewer/20260221T143022-auth-vulnerability.md"]
"Tokens are compared byte by byte."
2026-02-21T15:10:00Z [code-fixer] Updated severity from medium to high after patch analysis
2026-02-21T16:00:00Z [summarizer] Marked as superseded, see code-reviewer/20260221T160000-updated-finding.md
superseded by code-reviewer/20260221T160000-updated-finding.md
@superseded
finding by code-reviewer in a1b2 at 2026-02-21T14:30:22Z
"Text."
2026-02-21T15:10:00Z [a] Marked as superseded, see a/old.md: too old
2026-02-21T16:10:00Z [a] Marked as superseded, see b/new.md: found: more
2026-02-21T17:10:00Z [a] Link added
superseded by b/new.md
@type-last
summary by the-agent in the-session at 2026-02-21T14:30:22Z
tags ["a"]
"Text."
@unknown-keys
finding by the-agent in the-session at 2026-02-21T14:30:22Z
"Text."
@yaml-timestamp
finding by the-agent in the-session at 2026-02-21T14:30:22Z
"Text."
"##;

#[test]
fn every_file_is_read_as_it_is_meant() {
    let expected: BTreeMap<&str, &str> =
        EXPECTED.split('@').filter_map(|part| part.trim_end().split_once('\n')).collect();
    let files = files();
    assert!(files.len() >= 80, "only {} files", files.len());
    assert!(files.keys().eq(expected.keys()), "other files than expected: {:?}", files.keys());
    for (name, bytes) in &files {
        assert_eq!(said(bytes), expected[name.as_str()], "{name}");
    }
}

/// The valid files, with the parsed parts.
fn good_files() -> Vec<(String, String, Document)> {
    let files = files().into_iter().filter(|(name, _)| !name.starts_with("broken-"));
    files
        .map(|(name, bytes)| {
            let text = String::from_utf8(bytes).unwrap();
            let document = Document::parse(&text).unwrap();
            (name, text, document)
        })
        .collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[test]
fn what_is_not_changed_is_kept_byte_for_byte() {
    for (name, text, mut document) in good_files() {
        assert_eq!(document.to_text(), text, "{name}");
        document.set_type(document.entry_type());
        document.set_tags(document.tags().to_vec());
        document.set_links(document.links().to_vec());
        let content = document.content().into_owned();
        document.set_content(&content);
        assert_eq!(document.to_text(), text, "{name}");
    }
}

#[test]
fn a_changed_type_changes_one_line() {
    for (name, text, mut document) in good_files() {
        document.set_type(EntryType::Artifact);
        let changed = document.to_text();
        let differing: Vec<_> = lines(&text)
            .into_iter()
            .zip(lines(&changed))
            .filter(|(before, after)| before != after)
            .collect();
        assert_eq!(lines(&changed).len(), lines(&text).len(), "{name}");
        let [(before, after)] = differing.as_slice() else { panic!("{name}: {differing:?}") };
        let plain = before.replace(['"', '\''], "");
        for kind in ["finding", "summary"] {
            assert!(!after.contains(kind), "{name}: {after:?}");
        }
        assert!(plain.contains("type") && after.contains("artifact"), "{name}: {after:?}");
        assert_eq!(before.ends_with("\r\n"), after.ends_with("\r\n"), "{name}");
        assert_eq!(
            before.split_once('#').map(|it| it.1),
            after.split_once('#').map(|it| it.1),
            "{name}"
        );
    }
}

#[test]
fn changed_lists_leave_comments_and_other_keys() {
    for (name, text, document) in good_files() {
        let mut changed = document.clone();
        changed.set_tags(vec!["new, tag".to_owned()]);
        changed.set_links(vec!["new/link.md".to_owned(), "other/link.md".to_owned()]);
        let read = Document::parse(&changed.to_text()).unwrap();
        assert_eq!(read, changed, "{name}");
        assert_eq!(read.tags(), ["new, tag"], "{name}");
        assert_eq!(read.links(), ["new/link.md", "other/link.md"], "{name}");
        assert_eq!(read.content(), document.content(), "{name}");
        assert_eq!(read.agent(), document.agent(), "{name}");
        let changed = changed.to_text();
        let line_end =
            if text.contains("\r\n") && !name.starts_with("body") { "\r\n" } else { "\n" };
        assert!(
            changed.contains(&format!("links:{line_end}")) || changed.contains("links: #"),
            "{name}: {changed}"
        );
        for comment in text.split('\n').filter_map(|line| Some(&line[line.find(" #")? + 1..])) {
            assert!(changed.contains(comment), "{name} lost {comment:?}: {changed}");
        }
    }
}

#[test]
fn changes_are_added_below_the_last_one() {
    let description = "Line\none ``` ## Changelog\r\n- 2026-02-21T14:30:22Z [x]: y";
    let change = Change {
        timestamp: "2026-02-22T00:00:00Z".to_owned(),
        agent: "an [a]: agent\n".to_owned(),
        description: description.to_owned(),
    };
    for (name, text, document) in good_files() {
        let mut changed = document.clone();
        for number in 1..=3 {
            changed.add_change(&change);
            let read = Document::parse(&changed.to_text()).unwrap();
            assert_eq!(read.content(), document.content(), "{name}");
            assert_eq!(read.changelog().len(), document.changelog().len() + number, "{name}");
            assert_eq!(read.superseded_by(), document.superseded_by(), "{name}");
            let last = read.changelog().pop().unwrap();
            assert_eq!(last.agent, "an [a] : agent", "{name}");
            assert_eq!(
                last.description,
                description.replace(['\n', '\r'], " ").replace("  ", " "),
                "{name}"
            );
        }
        let changed = changed.to_text();
        let mut kept = lines(&changed).into_iter();
        for line in lines(text.trim_end_matches('\n')) {
            assert!(
                kept.any(|other| other.trim_end() == line.trim_end()),
                "{name} lost {line:?}: {changed}"
            );
        }
    }
}
