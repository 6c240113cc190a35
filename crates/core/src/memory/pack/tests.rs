use proptest::prelude::*;
use serde_json::json;

use super::{entry::utf16_length, *};

fn document(conventions: &[(&str, &str)], decisions: &[&str], notes: &[&str]) -> Document {
    let mut document = Document::default();
    let drafts = conventions
        .iter()
        .map(|(title, content)| json!({ "kind": "convention", "title": title, "content": content }))
        .chain(decisions.iter().map(|summary| json!({ "kind": "decision", "summary": summary })))
        .chain(notes.iter().map(|content| json!({ "kind": "note", "content": content })));
    for (number, draft) in drafts.enumerate() {
        let time = format!("2026-01-01T00:00:{:02}.000Z", number % 60);
        document.upsert(serde_json::from_value(draft).unwrap(), &time).unwrap();
    }
    document
}

fn summary(step: &str, text: &str) -> Summary {
    Summary {
        run_id: "run".to_owned(),
        step_id: step.to_owned(),
        timestamp: "2026-02-03T04:05:06.000Z".to_owned(),
        summary: text.to_owned(),
        tags: None,
        operation_id: None,
    }
}

fn request(query: Option<&str>) -> PackRequest {
    PackRequest {
        query: query.map(str::to_owned),
        latest_summaries: 10,
        repo_map: false,
        focus: Vec::new(),
    }
}

/// A map of numbered lines that fills the space.
fn map_of(lines: usize) -> RenderMap {
    Arc::new(move |most| {
        let mut text = String::new();
        for number in 0..lines {
            let line = format!("src/file-{number}.rs");
            if text.len() + line.len() + 1 > most {
                break;
            }
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&line);
        }
        text
    })
}

#[test]
fn everything_is_there_when_there_is_room() {
    let document = document(
        &[("Tabs", "Use tabs.\n\n# Always\nReally.")],
        &["Use Rust"],
        &["First", "Second"],
    );
    let summaries = [summary("one", "Done."), summary("two", "Done, too.")];
    let pack = Pack::new(&document, &summaries, &request(None), None, Some(map_of(2)));
    let expected = "## Conventions
- **Tabs**: Use tabs.
  # Always
  Really.

## Latest steps
- **run / two** [2026-02-03]: Done, too.
- **run / one** [2026-02-03]: Done.

## Decisions
- **Use Rust** [2026-01-01]

## Notes
- Second [2026-01-01]
- First [2026-01-01]

## Repository map
```
src/file-0.rs
src/file-1.rs
```";
    assert_eq!(pack.fill(usize::MAX).text, expected);
    assert_eq!(pack.fill(utf16_length(expected)).text, expected);
    assert_ne!(pack.fill(utf16_length(expected) - 1).text, expected);
}

#[test]
fn what_answers_the_query_comes_first() {
    let document = document(
        &[("Indentation", "Use tabs."), ("Errors", "Wrap database failures.")],
        &["Postgres as the database"],
        &["The deployment runs on Fridays"],
    );
    let render = |query: &str, most: usize| {
        Pack::new(&document, &[], &request(Some(query)), None, None).fill(most).text
    };
    let all = render("when does the deployment run", usize::MAX);
    assert!(all.starts_with("## Notes\n- The deployment"), "{all}");
    let all = render("database", usize::MAX);
    assert!(
        all.starts_with("## Decisions\n- **Postgres")
            || all.starts_with("## Conventions\n- **Errors"),
        "{all}"
    );
    assert!(all.find("Wrap").unwrap() < all.find("Indentation").unwrap(), "{all}");
    // If one entry fits, it is this one.
    let one = render("deployment", 120);
    assert_eq!(
        one,
        "## Notes\n- The deployment runs on Fridays [2026-01-01]\n\n_Left out for lack of room: 2 conventions, 1 decision._"
    );
}

#[test]
fn a_record_is_cut_only_where_it_exceeds_the_budget() {
    let long = "long ".repeat(200);
    let document = document(&[("Long", &long), ("Short", "Tabs.")], &[], &[]);
    let render = |most| Pack::new(&document, &[], &request(None), None, None).fill(most).text;
    assert!(render(5000).contains(long.trim_end()));
    let cut = render(300);
    assert!(cut.contains("**Short**: Tabs.") && cut.contains("long…"), "{cut}");
    // It fits as a whole, but not beside the other.
    let whole = render(1060);
    assert!(whole.contains(long.trim_end()) && !whole.contains('…'), "{whole}");
    assert!(
        whole.ends_with("_Left out for lack of room: 1 convention._") || whole.contains("Short"),
        "{whole}"
    );
    assert_eq!(render(10), "");
}

#[test]
fn the_map_has_its_share() {
    let notes: Vec<String> =
        (0..100).map(|number| format!("Note {number} about something")).collect();
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    let document = document(&[], &[], &notes);
    let pack = Pack::new(&document, &[], &request(None), None, Some(map_of(1000)));
    let text = pack.fill(2000).text;
    let map = text.split("```").nth(1).unwrap();
    assert!(map.len() > 400 && map.len() < 700, "{}", map.len());
    assert!(text.len() > 1900, "{}", text.len());
    // Without entries, the map gets the whole budget.
    let empty = Pack::new(&Document::default(), &[], &request(None), None, Some(map_of(1000)));
    assert!(empty.fill(2000).text.len() > 1950);
    assert_eq!(empty.fill(30).text, "");
    let lacks_map = |most| empty.fill(most).lacks_repo_map;
    assert_eq!([lacks_map(2000), lacks_map(30)], [false, true]);
}

#[test]
fn only_the_latest_summaries_are_there() {
    let summaries: Vec<Summary> =
        (0..20).map(|number| summary(&format!("s{number}."), "x")).collect();
    let text = Pack::new(&Document::default(), &summaries, &request(None), None, None)
        .fill(usize::MAX)
        .text;
    assert_eq!(text.lines().count(), 11);
    assert!(text.contains("s19.") && text.contains("s10.") && !text.contains("s9."), "{text}");
}

proptest! {
    #[test]
    fn no_budget_is_exceeded(
        conventions in proptest::collection::vec(("[a-z😀日]{1,12}", "[a-z😀日\n# ]{1,200}"), 0..8),
        notes in proptest::collection::vec("[a-z😀日\n# `]{1,80}", 0..8),
        steps in proptest::collection::vec("[a-z😀]{1,60}", 0..4),
        query in proptest::option::of("[a-z ]{0,20}"),
        lines in proptest::option::of(0_usize..60),
        most in 0_usize..1500,
    ) {
        let conventions: Vec<(&str, &str)> = conventions
            .iter()
            .filter(|(_, content)| !content.trim().is_empty())
            .map(|(title, content)| (title.as_str(), content.as_str()))
            .collect();
        let notes: Vec<&str> = notes.iter().map(String::as_str).filter(|note| !note.trim().is_empty()).collect();
        let document = document(&conventions, &[], &notes);
        let summaries: Vec<Summary> = steps.iter().map(|text| summary("step", text)).collect();
        let pack = Pack::new(&document, &summaries, &request(query.as_deref()), None, lines.map(map_of));
        let filled = pack.fill(most);
        prop_assert_eq!(filled.included.len() + filled.left_out.len(), pack.entries.len());
        let text = filled.text;
        let items = text.lines().filter(|line| line.starts_with("- ")).count();
        prop_assert_eq!(filled.included.len(), items);
        prop_assert_eq!(filled.cut.is_empty(), !text.contains('…'));
        prop_assert_eq!(filled.has_repo_map, text.contains("## Repository map"));
        prop_assert!(text.encode_utf16().count() <= most, "{} > {most}", text.encode_utf16().count());
        prop_assert_eq!(&text, &pack.fill(most).text);
        // Each line of the lists is a line of the complete pack, or cut if it is too long.
        let whole = pack.fill(usize::MAX).text;
        for line in text.lines().filter(|line| line.starts_with("- ")) {
            prop_assert!(whole.lines().any(|one| one == line) || line.contains('…'), "{line}");
        }
        if text.contains('…') {
            prop_assert!(pack.entries.iter().any(|entry| entry.length + 20 > most));
        }
        // Omitted entries are mentioned, if there is space.
        let missing = pack.entries.iter().filter(|entry| !text.contains(&entry.text)).count();
        let has_room = text.encode_utf16().count() + 150 <= most;
        if missing > 0 && !text.contains('…') && has_room && !text.is_empty() {
            prop_assert!(text.contains("_Left out"), "{text}");
        }
    }
}
