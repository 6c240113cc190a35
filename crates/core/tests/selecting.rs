//! Selecting among a manager's contexts, without JavaScript.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;

use std::{path::Path, sync::Arc};

use agent_context_core::{
    Debug,
    context::{Bounds, ContextFilter, Manager, ManagerOptions, SaveRequest, Selection},
    vectors::Vectors,
};
use contexts::{options, request};
use serde_json::{Value, json};
use storage::LocalDisk;

fn manager(directory: &Path) -> Arc<Manager> {
    Manager::new(options(directory), Arc::new(LocalDisk), Debug::default())
}

/// Saves an output of a query, which `text` matches.
async fn save(manager: &Arc<Manager>, query: Option<&str>, text: &str) -> String {
    let (arguments, result) = (json!({ "q": text }), json!(text));
    let Some(query) = query else {
        return contexts::save(manager, "tool", &arguments, &result).await.unwrap();
    };
    let query = Some(json!(query).to_string());
    let request = SaveRequest { query, ..request("tool", &arguments, &result) };
    manager.save(manager.begin_save(), request).await.unwrap()
}

struct Found {
    is_matched: bool,
    /// For each context: its first argument, its score, and whether it is a neighbour.
    chosen: Vec<(String, f64, bool)>,
}

async fn select(manager: &Arc<Manager>, question: &str, selection: Selection) -> Found {
    near(manager, question, selection, None).await
}

async fn near(
    manager: &Arc<Manager>,
    question: &str,
    selection: Selection,
    embedded: Option<(&Vectors, &[f32])>,
) -> Found {
    let embedded = embedded.map(|(vectors, query)| vectors.query(query).unwrap());
    let selected = manager.select(question, &selection, embedded).await.unwrap();
    let rows =
        selected.texts.iter().flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap());
    let chosen = rows.map(|row| {
        let text = row[0][3]["q"].as_str().unwrap().to_owned();
        (text, row[1].as_f64().unwrap(), row[2].as_bool().unwrap())
    });
    Found { is_matched: selected.is_matched, chosen: chosen.collect() }
}

impl Found {
    fn texts(&self) -> Vec<&str> {
        self.chosen.iter().map(|(text, ..)| text.as_str()).collect()
    }
}

fn bounds(limit: usize) -> Bounds {
    Bounds { limit: Some(limit), ..Bounds::default() }
}

#[tokio::test]
async fn where_nothing_matches_the_latest_are_offered_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    assert!(select(&manager, "login", Selection::default()).await.chosen.is_empty());
    for text in ["one", "two", "three"] {
        save(&manager, None, text).await;
    }
    let all = select(&manager, "zebra", Selection::default()).await;
    assert_eq!((all.is_matched, all.texts()), (false, vec!["one", "two", "three"]));
    let limited = Selection { bounds: bounds(2), ..Selection::default() };
    assert_eq!(select(&manager, "", limited.clone()).await.texts(), ["two", "three"]);
    let open = Selection { is_open: true, ..limited.clone() };
    assert_eq!(select(&manager, "", open).await.texts(), ["three", "two", "one"]);
    let demanding = Selection { min_score: 0.001, ..limited };
    assert!(select(&manager, "zebra", demanding).await.chosen.is_empty());
}

#[tokio::test]
async fn filters_and_paths_come_before_the_ranking() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    save(&manager, Some("a"), "login one").await;
    let second = save(&manager, Some("b"), "login two").await;
    save(&manager, Some("a"), "weather").await;
    let filter = |text: &str| Selection {
        filter: serde_json::from_str::<ContextFilter>(text).unwrap(),
        ..Selection::default()
    };
    let of_a = filter(r#"{"queries":["\"a\""]}"#);
    assert_eq!(select(&manager, "login", of_a.clone()).await.texts(), ["login one"]);
    let unmatched = select(&manager, "zebra", of_a.clone()).await;
    assert_eq!(unmatched.texts(), ["login one", "weather"]);
    assert!(select(&manager, "login", filter(r#"{"tools":["other"]}"#)).await.chosen.is_empty());
    assert!(select(&manager, "login", filter(r#"{"tasks":["1"]}"#)).await.chosen.is_empty());
    let unknown = format!("{}unknown.json", folder.path().display());
    let paths = Some(vec![second.clone(), unknown, second, "/elsewhere".to_owned()]);
    let of_paths = Selection { paths: paths.clone(), ..Selection::default() };
    assert_eq!(select(&manager, "login", of_paths).await.texts(), ["login two"]);
    let neither = Selection { paths, ..of_a };
    assert!(select(&manager, "login", neither).await.chosen.is_empty());
}

#[tokio::test]
async fn scores_fall_from_at_most_one_and_bound_what_is_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    for text in ["login form", "form of trees", "login", "weather today", "login form submit"] {
        save(&manager, None, text).await;
    }
    let all = select(&manager, "login form", Selection::default()).await;
    let scores: Vec<f64> = all.chosen.iter().map(|(_, score, _)| *score).collect();
    assert_eq!(scores.len(), 4);
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    #[expect(clippy::cast_possible_truncation, reason = "it was an f32")]
    let min_score = scores[1] as f32;
    let demanding = Selection { min_score, ..Selection::default() };
    let some = select(&manager, "login form", demanding).await;
    assert_eq!(some.texts(), &all.texts()[..2]);
}

#[tokio::test]
async fn neighbours_are_of_the_same_query() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    let calls = [
        ("a", "first"),
        ("b", "between"),
        ("a", "login"),
        ("b", "after"),
        ("a", "last"),
        ("a", "x"),
    ];
    for (query, text) in calls {
        save(&manager, Some(query), text).await;
    }
    let wanted = Selection { neighbours: 1, ..Selection::default() };
    let found = select(&manager, "login", wanted.clone()).await;
    assert_eq!(found.texts(), ["login", "first", "last"]);
    let marks: Vec<bool> = found.chosen.iter().map(|(_, _, is_neighbour)| *is_neighbour).collect();
    assert_eq!(marks, [false, true, true]);
    let limited = Selection { bounds: bounds(2), ..wanted };
    assert_eq!(select(&manager, "login", limited).await.texts(), ["login", "first"]);
}

#[tokio::test]
async fn texts_to_embed_come_from_memory_and_from_disk_until_there_are_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let in_memory = manager(folder.path());
    let memory_budget = 0;
    let options = ManagerOptions { memory_budget, ..options(folder.path()) };
    let on_disk = Manager::new(options, Arc::new(LocalDisk), Debug::default());
    for manager in [in_memory, on_disk] {
        save(&manager, None, "weather").await;
        save(&manager, None, &"long ".repeat(1000)).await;
        let wanted = Selection::default();
        let vectors = manager.vectors(None);
        let texts = manager.texts_to_select(&wanted, &vectors, 10).await;
        assert_eq!(texts[1], "tool: weather\nweather", "the latest first");
        assert_eq!(texts[0].chars().count(), 1999, "2000 characters, the last of them a space");
        vectors.add(texts.clone(), vec![0.0, 1.0, 1.0, 0.0]).await;
        assert!(manager.texts_to_select(&wanted, &vectors, 10).await.is_empty());
        let query = Some((&vectors, &[1.0, 0.1][..]));
        let found = near(&manager, "nothing shared", wanted.clone(), query).await;
        assert_eq!((found.is_matched, found.texts()), (true, vec!["weather"]));
        let fused = near(&manager, "long", wanted.clone(), query).await;
        assert_eq!(fused.chosen.len(), 2);
        assert!(fused.texts()[0].starts_with("long"), "terms count more");
        let path = manager.list(None).await.unwrap();
        let listed: Vec<Value> = serde_json::from_str(&path[0]).unwrap();
        assert!(manager.forget(listed[0]["filepath"].as_str().unwrap()).await.unwrap());
        let other = Some((&vectors, &[1.0, 0.0, 0.0][..]));
        let other = near(&manager, "nothing shared", wanted.clone(), other).await;
        assert!(!other.is_matched, "vectors of another length do not count");
        let texts = manager.texts_to_select(&wanted, &vectors, 10).await;
        assert_eq!(texts.len(), 1, "and are computed again");
        manager.clear(manager.begin_clear()).await.unwrap();
    }
}
