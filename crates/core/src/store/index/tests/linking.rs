//! Following links between entries.

use super::{
    super::{Direction, Known, Location},
    support::{Note, Store},
};

async fn linked() -> Store {
    let store = Store::new();
    let links: [(&str, u32, &[&str]); 6] = [
        ("a/start.md", 1, &["a/first.md", "a/second.md", "b/missing.md"]),
        ("a/first.md", 2, &["a/far.md", "a/start.md"]),
        ("a/second.md", 3, &["a/second.md", "a/far.md"]),
        ("a/far.md", 4, &["a/end.md"]),
        ("a/end.md", 5, &["a/start.md"]),
        ("a/other.md", 6, &["a/start.md"]),
    ];
    for (path, seconds, links) in links {
        store.note(path, Note { seconds, links, ..Note::default() });
    }
    store.refresh().await;
    store
}

fn related(store: &Store, path: &str, depth: usize, direction: Direction) -> Vec<String> {
    let found = store.index.related(path, depth, direction, usize::MAX);
    found.iter().map(|location| location.as_str().to_owned()).collect()
}

#[tokio::test]
async fn the_nearest_come_first_then_the_newest() {
    let store = linked().await;
    let from = |depth, direction| related(&store, "a/start.md", depth, direction);
    assert_eq!(from(0, Direction::Both), [""; 0]);
    assert_eq!(from(1, Direction::Links), ["a/second.md", "a/first.md"]);
    assert_eq!(from(2, Direction::Links), ["a/second.md", "a/first.md", "a/far.md"]);
    let all = ["a/second.md", "a/first.md", "a/far.md", "a/end.md"];
    assert_eq!(from(9, Direction::Links), all);
    assert_eq!(from(usize::MAX, Direction::Links), all);
    assert_eq!(from(1, Direction::Backlinks), ["a/other.md", "a/end.md", "a/first.md"]);
    assert_eq!(from(1, Direction::Both), ["a/other.md", "a/end.md", "a/second.md", "a/first.md"]);
    assert_eq!(related(&store, "a/other.md", 9, Direction::Backlinks), [""; 0]);
    assert_eq!(related(&store, "b/missing.md", 9, Direction::Both), [""; 0]);
    assert_eq!(store.index.related("a/start.md", 9, Direction::Links, 3).len(), 3);
}

#[tokio::test]
async fn links_follow_changes() {
    let store = linked().await;
    let dangling = || store.index.dangling_links();
    let missing = |path: &str| ("a/start.md".to_owned(), path.to_owned());
    assert_eq!(dangling(), [missing("b/missing.md")]);
    store.note("b/missing.md", Note { seconds: 7, ..Note::default() });
    store.refresh().await;
    assert_eq!(dangling(), []);
    assert_eq!(related(&store, "b/missing.md", 1, Direction::Backlinks), ["a/start.md"]);
    std::fs::remove_file(store.path("b/missing.md")).unwrap();
    std::fs::remove_file(store.path("a/end.md")).unwrap();
    store.refresh().await;
    assert_eq!(dangling().len(), 2);
    store.note("a/start.md", Note { seconds: 1, links: &["a/other.md"], ..Note::default() });
    store.refresh().await;
    assert_eq!(related(&store, "a/start.md", 1, Direction::Links), ["a/other.md"]);
    assert_eq!(related(&store, "a/second.md", 1, Direction::Backlinks), ["a/second.md"; 0]);
    assert_eq!(dangling(), [("a/far.md".to_owned(), "a/end.md".to_owned())]);
}

#[tokio::test]
async fn what_tells_whether_an_entry_may_go_is_known() {
    let store = Store::new();
    let body = "Text.\n\n## Changelog\n\n- 2026-02-23T00:00:00Z [x]: Later\n- 2026-02-22T00:00:00Z [x]: Earlier";
    let note = Note { agent: "writer", links: &["a/b.md"], body, ..Note::default() };
    store.note("a/20260221T140000-one.md", note.clone());
    store.refresh().await;
    assert_eq!(
        store.index.known(),
        [Known {
            location: Location::parse("a/20260221T140000-one.md").unwrap(),
            agent: "writer".to_owned(),
            changed: 1_771_804_800_000,
            links: vec!["a/b.md".to_owned()],
            length: note.text().len() as u64,
        }]
    );
}
