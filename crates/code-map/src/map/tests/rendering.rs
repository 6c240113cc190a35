//! A map fits into its limit, and uses it.

use std::sync::Arc;

use proptest::prelude::*;

use super::{
    super::{
        Limits, Snapshot,
        outline::units,
        record::{SourceFile, Symbols},
        skipped::Skipped,
    },
    support::{Workspace, parse, snapshot},
};
use crate::symbols::Language;

/// A snapshot of files that do not exist on disk.
fn of_texts(files: Vec<(String, String)>) -> Snapshot {
    let mut files: Vec<SourceFile> = files
        .into_iter()
        .map(|(path, text)| SourceFile {
            path: path.into(),
            language: Language::TypeScript,
            symbols: Arc::new(Symbols::of(parse(text.as_bytes()), Language::TypeScript)),
        })
        .collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    Snapshot::new("/workspace".into(), files, Skipped::default())
}

#[tokio::test]
async fn files_come_with_what_matters_in_them() {
    let snapshot = snapshot(&[
        (
            "src/log.ts",
            "const LIMIT\nmethod append in Log\nclass Log\nfunction helper\nmethod close in Log\nmethod outer in Elsewhere",
        ),
        ("src/index.ts", "use Log\nuse LIMIT\nuse helper\nuse outer"),
    ])
    .await;
    let map = snapshot.render(&snapshot.rank(&[]), 1000);
    assert_eq!(
        map.text,
        "src/log.ts\n  export const LIMIT\n  export class Log\n    export method append in Log\n    export method close in Log\n  export function helper\n  Elsewhere\n    export method outer in Elsewhere\nsrc/index.ts"
    );
    let names: Vec<&str> = map.files[0].symbols.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["LIMIT", "append", "Log", "helper", "close", "outer"]);
    assert_eq!((map.files[1].path.as_str(), map.files[1].symbols.len()), ("src/index.ts", 0));
    assert_eq!((map.total_files, map.is_truncated), (2, false));
}

#[tokio::test]
async fn what_contains_a_definition_comes_with_it() {
    let snapshot = snapshot(&[
        (
            "a.ts",
            "class Outer\nclass Inner in Outer\nmethod deepestThing in Inner\nfunction unrelated",
        ),
        ("b.ts", "use deepestThing"),
    ])
    .await;
    let ranking = snapshot.rank(&["deepestThing".to_owned()]);
    let expected = "a.ts\n  export class Outer\n    export class Inner in Outer\n      export method deepestThing in Inner";
    let map = snapshot.render(&ranking, expected.len());
    assert_eq!(map.text, expected);
    assert_eq!(snapshot.render(&ranking, expected.len() - 1).files[0].symbols.len(), 0);
}

#[test]
fn containers_that_contain_each_other_are_shown() {
    let text =
        "class A in B\nclass B in A\nclass C in C\nmethod C in C\nclass D in E\nclass E in D";
    let snapshot = of_texts(vec![("a.ts".to_owned(), text.to_owned())]);
    let map = snapshot.render(&snapshot.rank(&[]), 1000);
    assert_eq!(map.files[0].symbols.len(), 6);
    for line in text.lines() {
        assert!(map.text.contains(&format!("export {line}")), "{}", map.text);
    }
    let nested: String = (0..40).map(|n| format!("class N{} in N{n}\n", n + 1)).collect();
    let snapshot = of_texts(vec![("a.ts".to_owned(), format!("class N0\n{nested}"))]);
    let map = snapshot.render(&snapshot.rank(&[]), 100_000);
    assert_eq!(map.text.lines().count(), 42);
    let deepest = map.text.lines().map(|line| line.len() - line.trim_start().len()).max();
    assert_eq!(deepest, Some(18), "{}", map.text);
}

#[test]
fn units_are_those_of_javascript() {
    for (text, expected) in [("", 0), ("abc", 3), ("é", 1), ("日本", 2), ("😀", 2), ("a😀é", 4)]
    {
        assert_eq!(units(text), expected, "{text}");
    }
    let snapshot = of_texts(vec![("日本/😀.ts".to_owned(), "class 名前😀".to_owned())]);
    let ranking = snapshot.rank(&[]);
    let text = "日本/😀.ts\n  export class 名前😀";
    let length = text.encode_utf16().count();
    assert_eq!(length, 28);
    assert_eq!(snapshot.render(&ranking, length).text, text);
    assert_eq!(snapshot.render(&ranking, length - 1).text, "日本/😀.ts");
    assert_eq!(snapshot.render(&ranking, 8).text, "日本/😀.ts");
    assert_eq!(snapshot.render(&ranking, 7).text, "");
}

#[tokio::test]
async fn an_empty_workspace_has_an_empty_map() {
    let workspace = Workspace::with(Limits::default());
    let snapshot = workspace.refresh().await;
    let map = snapshot.render(&snapshot.rank(&["a".to_owned()]), 1000);
    assert_eq!((map.text.as_str(), map.files.len(), map.total_files), ("", 0, 0));
}

#[test]
fn a_ranking_of_another_snapshot_harms_nothing() {
    let large = of_texts((0..20).map(|n| (format!("{n}.ts"), "class A\nclass B".into())).collect());
    let small = of_texts(vec![("a.ts".to_owned(), "class A".to_owned())]);
    assert_eq!(small.render(&large.rank(&[]), 1000).files.len(), 1);
}

#[test]
fn most_of_the_room_is_used() {
    let files = (0..300).map(|number| {
        let text: String = (0..10)
            .map(|line| format!("class Type{number}x{line}\nmethod run{line} in Type{number}x{line}\nuse Type{}x3\n", number * 7 % 300))
            .collect();
        (format!("src/part{}/file{number}.ts", number % 10), text)
    });
    let snapshot = of_texts(files.collect());
    let ranking = snapshot.rank(&[]);
    for room in (200..20_000).step_by(313) {
        let used = units(&snapshot.render(&ranking, room).text);
        assert!(used <= room && used * 100 >= room * 85, "{used} of {room}");
    }
    let all = snapshot.render(&ranking, usize::MAX);
    assert_eq!(all.files.iter().map(|file| file.symbols.len()).sum::<usize>(), 6000);
}

fn any_file() -> impl Strategy<Value = (String, String)> {
    let name = "[a-e]{1,3}|日本|😀é|new|saveContext";
    let line = ("class|function|method|const|use", name, proptest::option::of(name)).prop_map(
        |(kind, name, container)| match container {
            Some(container) if kind != "use" => format!("{kind} {name} in {container}"),
            _ => format!("{kind} {name}"),
        },
    );
    let path = "(src/|日本/|😀/|tests/){0,2}[a-z]{1,12}\\.ts";
    (path, proptest::collection::vec(line, 0..25))
        .prop_map(|(path, lines)| (path, lines.join("\n")))
}

proptest! {
    #[test]
    fn a_map_fits_and_more_room_shows_no_less(
        files in proptest::collection::vec(any_file(), 0..25),
        mut rooms in proptest::collection::vec(0_usize..5000, 12),
        small in 0_usize..200,
    ) {
        let snapshot = of_texts(files);
        let ranking = snapshot.rank(&[]);
        prop_assert_eq!(&ranking, &snapshot.rank(&[]));
        rooms.push(small);
        rooms.sort_unstable();
        let mut before = 0;
        for room in rooms {
            let map = snapshot.render(&ranking, room);
            prop_assert!(map.text.encode_utf16().count() <= room);
            let count: usize = map.files.iter().map(|file| file.symbols.len()).sum();
            prop_assert!(count >= before, "{} symbols in {}, {} in less", count, room, before);
            before = count;
            let lines = map.text.lines().count();
            prop_assert!(lines >= map.files.len() + count);
            let mut rest = map.text.as_str();
            for file in &map.files {
                // In this order, each at the start of a line.
                let place = rest.find(&file.path);
                prop_assert!(place.is_some(), "{}", file.path);
                rest = &rest[place.unwrap() + file.path.len()..];
            }
            prop_assert!(map.text.is_empty() || !map.text.ends_with('\n'));
        }
    }
}
