//! Which entries a search returns, and in which order.

use std::time::{Duration, SystemTime};

use super::{
    super::{super::EntryType, Filter},
    support::{Note, Store, asking},
};
use crate::{debug::Debug, error::Code};

async fn filled() -> Store {
    let store = Store::new();
    store.note("reviewer/20260221T140001-auth-flaw.md", Note {
        seconds: 1,
        tags: "security, Auth",
        body: "The authentication of users fails.\n\n## Changelog\n\n- 2026-02-21T15:10:00Z [fixer]: Severity raised after triage",
        ..Note::default()
    });
    store.note(
        "fixer/20260221T140002-fix.md",
        Note {
            agent: "fixer",
            session: "s2",
            seconds: 2,
            kind: "artifact",
            tags: "security",
            body: "Users log in again. A login form.",
            ..Note::default()
        },
    );
    store.note(
        "reviewer/s9/20260221T140003-sql.md",
        Note {
            seconds: 3,
            kind: "decision",
            tags: "sql",
            body: "Form of the login: use café-style prepared statements.",
            ..Note::default()
        },
    );
    store
}

const AUTH: &str = "reviewer/20260221T140001-auth-flaw.md";
const FIX: &str = "fixer/20260221T140002-fix.md";
const SQL: &str = "reviewer/s9/20260221T140003-sql.md";

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn filters_narrow() {
    let store = filled().await;
    assert_eq!(store.all().await, [SQL, FIX, AUTH], "newest first");
    let by = |filter: Filter| store.find(filter);
    let none = Filter::default;
    assert_eq!(by(Filter { limit: 2, ..none() }).await, [SQL, FIX]);
    assert_eq!(by(Filter { limit: 0, ..none() }).await, [""; 0]);
    assert_eq!(by(Filter { agents: Some(texts(&["fixer", "no"])), ..none() }).await, [FIX]);
    assert_eq!(by(Filter { agents: Some(texts(&[])), ..none() }).await, [""; 0]);
    assert_eq!(by(Filter { sessions: Some(texts(&["s2"])), ..none() }).await, [FIX]);
    assert_eq!(by(Filter { sessions: Some(texts(&["s9"])), ..none() }).await, [SQL], "directory");
    assert_eq!(by(Filter { sessions: Some(texts(&["s1"])), ..none() }).await, [SQL, AUTH]);
    let types = Some(vec![EntryType::Decision, EntryType::Finding]);
    assert_eq!(by(Filter { types, ..none() }).await, [SQL, AUTH]);
    assert_eq!(by(Filter { tags_all: texts(&["security"]), ..none() }).await, [FIX, AUTH]);
    assert_eq!(by(Filter { tags_all: texts(&["security", "Auth"]), ..none() }).await, [AUTH]);
    assert_eq!(by(Filter { tags_all: texts(&["auth"]), ..none() }).await, [""; 0], "by letter");
    assert_eq!(by(Filter { tags_any: texts(&["Auth", "sql", "x"]), ..none() }).await, [SQL, AUTH]);
    assert_eq!(by(Filter { tags_any: texts(&["x"]), ..none() }).await, [""; 0]);
    let second = 1_771_682_402_000;
    assert_eq!(by(Filter { since: Some(second), ..none() }).await, [SQL, FIX]);
    assert_eq!(by(Filter { until: Some(second), ..none() }).await, [FIX, AUTH]);
    let (since, until) = (Some(second), Some(second));
    assert_eq!(by(Filter { since, until, ..none() }).await, [FIX]);
    assert_eq!(
        by(Filter { since: Some(second), ..asking("before:2026-02-21T14:00:03") }).await,
        [FIX]
    );
}

#[tokio::test]
async fn every_word_of_a_query_must_be_there() {
    let store = filled().await;
    for (query, expected) in [
        ("users", &[FIX, AUTH][..]),
        ("auth", &[AUTH]),
        ("AUTHENTICATION user", &[AUTH]),
        ("users login", &[FIX]),
        ("login form", &[SQL, FIX]),
        ("\"login form\"", &[FIX]),
        ("\"form of the login\"", &[SQL]),
        ("cafe", &[SQL]),
        ("flaw", &[AUTH]),
        ("severity triage", &[AUTH]),
        ("reviewer", &[SQL, AUTH]),
        ("security", &[FIX, AUTH]),
        ("\"security Auth\"", &[]),
        ("log* -form", &[]),
        ("users -form", &[AUTH]),
        ("users -\"login form\"", &[AUTH]),
        ("-users", &[SQL]),
        ("-\"no such\"", &[SQL, FIX, AUTH]),
        ("auth* sql", &[]),
        ("auth* sq*", &[SQL, AUTH]),
        ("absent", &[]),
        ("", &[SQL, FIX, AUTH]),
        (" \t ", &[SQL, FIX, AUTH]),
        ("after:2026-02-21T14:00:03", &[SQL]),
        ("tool:grep", &[]),
    ] {
        assert_eq!(store.query(query).await, expected, "{query}");
    }
    let both = Filter { types: Some(vec![EntryType::Finding]), ..asking("users") };
    assert_eq!(store.find(both).await, [AUTH]);
    assert_eq!(store.find(Filter { limit: 1, ..asking("-\"no such\"") }).await, [SQL]);
    let refused =
        store.index.find(&asking("after:lunch"), None, &Debug::default()).await.unwrap_err();
    assert_eq!(refused.code, Code::InvalidArgument);
}

#[tokio::test]
async fn the_best_come_first_where_they_are_ranked() {
    let store = filled().await;
    let ranked = |query: &str| Filter { ranked: true, ..asking(query) };
    assert_eq!(store.find(ranked("users login form")).await, [FIX, SQL, AUTH]);
    assert_eq!(store.find(ranked("prepared users")).await[0], SQL);
    assert_eq!(store.find(ranked("login login users -\"login form\"")).await, [SQL, AUTH]);
    assert_eq!(store.find(ranked("users login -authentication")).await, [FIX, SQL]);
    assert_eq!(store.find(ranked("severi*")).await, [AUTH]);
    assert_eq!(store.find(ranked("severa* form")).await, [FIX, SQL]);
    assert_eq!(store.find(ranked("-users")).await, [SQL]);
    assert_eq!(store.find(ranked("")).await, [SQL, FIX, AUTH]);
    assert_eq!(store.find(ranked("absent")).await, [""; 0]);
    assert_eq!(store.find(Filter { limit: 1, ..ranked("users login form") }).await, [FIX]);
    let of_agent = Filter { agents: Some(texts(&["reviewer"])), ..ranked("users login") };
    assert_eq!(store.find(of_agent).await, [AUTH, SQL]);
}

#[tokio::test]
async fn equal_times_are_ordered_by_the_file_then_by_path() {
    let store = Store::new();
    for name in ["c", "a", "d", "b"] {
        store.note(&format!("x/{name}.md"), Note { body: "same words", ..Note::default() });
    }
    let time = SystemTime::now() - Duration::from_secs(50);
    for (name, seconds) in [("a", 3), ("b", 1), ("c", 1), ("d", 2)] {
        store.set_modified(&format!("x/{name}.md"), time + Duration::from_secs(seconds));
    }
    let expected = ["x/a.md", "x/d.md", "x/c.md", "x/b.md"];
    assert_eq!(store.all().await, expected);
    assert_eq!(store.query("same").await, expected);
    assert_eq!(store.find(Filter { ranked: true, ..asking("same") }).await, expected);
    store.set_modified("x/b.md", time + Duration::from_secs(9));
    assert_eq!(store.all().await, ["x/b.md", "x/a.md", "x/d.md", "x/c.md"], "touched");
}

#[tokio::test]
async fn superseded_entries_can_be_left_out() {
    let store = filled().await;
    let old = std::fs::read_to_string(store.path(FIX)).unwrap();
    let change = super::super::super::changelog::superseded(SQL, "better");
    store.write(FIX, &format!("{old}\n## Changelog\n\n- 2026-02-22T00:00:00Z [x]: {change}\n"));
    let by = |superseded| Filter { superseded: Some(superseded), ..Filter::default() };
    assert_eq!(store.find(by(true)).await, [FIX]);
    assert_eq!(store.find(by(false)).await, [SQL, AUTH]);
    assert_eq!(store.index.summary(FIX).unwrap().superseded_by.as_deref(), Some(SQL));
    assert!(store.index.summary("fixer/none.md").is_none());
}

#[tokio::test]
async fn long_entries_are_found_by_all_their_text() {
    let store = filled().await;
    let filler = "filler ".repeat(200_000);
    let body = format!("beginning {filler} needle at the very end");
    store.note("long/20260221T140000-long.md", Note { body: &body, ..Note::default() });
    const LONG: &str = "long/20260221T140000-long.md";
    assert_eq!(store.query("beginning").await, [LONG]);
    store.disk.reads();
    assert_eq!(store.query("needle").await, [LONG]);
    assert_eq!(store.query("\"very end\"").await, [LONG]);
    assert_eq!(store.query("beginning -needle").await, [""; 0]);
    assert_eq!(store.query("-needle").await, [SQL, FIX, AUTH]);
    let ranked = |query: &str| Filter { ranked: true, ..asking(query) };
    assert_eq!(store.find(ranked("needle users")).await, [AUTH, FIX, LONG]);
    assert_eq!(store.find(ranked("users -filler")).await, [AUTH, FIX]);
}

#[tokio::test]
async fn only_what_the_index_cannot_tell_is_read() {
    let store = Store::new();
    for number in 0..100 {
        let animals = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"];
        let body = format!("{} common phrase", animals[number as usize % 10]);
        let path = format!("x/{number:03}.md");
        store.note(&path, Note { seconds: number, body: &body, ..Note::default() });
    }
    store.refresh().await;
    let find = |filter: Filter| super::support::found(&store.index, filter);
    store.disk.reads();
    assert_eq!(find(asking("common dog")).await.len(), 10);
    assert_eq!(find(Filter { ranked: true, ..asking("dog -eel") }).await.len(), 10);
    assert_eq!(find(asking("-eel")).await.len(), 90);
    assert_eq!(store.disk.reads(), 0);
    assert_eq!(find(Filter { limit: 5, ..asking("\"common phrase\"") }).await.len(), 5);
    // Once for `find` and once for `summaries`.
    assert!(store.disk.reads() <= 2 * 32);
    assert_eq!(find(asking("\"phrase common\"")).await.len(), 0);
}
