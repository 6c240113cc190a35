//! Results are indexed in the background, and searches find all earlier saves.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;

use std::{path::Path, sync::Arc, time::Duration};

use agent_context_core::{
    Debug,
    context::{Candidate, Manager, ManagerOptions, Selection},
};
use contexts::{options, save};
use serde_json::{Value, json};
use storage::LocalDisk;

fn manager(options: ManagerOptions) -> Arc<Manager> {
    Manager::new(options, Arc::new(LocalDisk), Debug::default())
}

/// The file names of the outputs that share a term with the query.
async fn found(manager: &Manager, query: &str) -> Vec<String> {
    let selected = manager.select(query, &Selection::default(), None).await.unwrap();
    if !selected.is_matched {
        return Vec::new();
    }
    let rows =
        selected.texts.iter().flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap());
    rows.map(|row| row[0][0].as_str().unwrap().to_owned()).collect()
}

/// A word that the tokeniser does not split. Words for other numbers begin differently, so that
/// none is taken for a misspelling of another.
fn word(kind: &str, number: usize) -> String {
    let letter = |digit: u8| char::from(b"bcdfghjkmp"[usize::from(digit - b'0')]);
    format!("{}{kind}", format!("{number:03}").bytes().map(letter).collect::<String>())
}

/// Text of about this many bytes, with a unique word in the middle and another one at the end.
fn text(number: usize, bytes: usize) -> String {
    let filler = "some ordinary line of output\n".repeat(bytes / 58 + 1);
    format!("{filler} {} {filler} {}", word("middle", number), word("needle", number))
}

async fn save_texts(manager: &Arc<Manager>, count: usize, bytes: usize) {
    let saves: Vec<_> = (0..count)
        .map(|number| {
            let manager = Arc::clone(manager);
            let arguments = json!({ "path": word("file", number) });
            let text = json!(text(number, bytes));
            tokio::spawn(async move { save(&manager, "read", &arguments, &text).await.unwrap() })
        })
        .collect();
    for save in saves {
        save.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_output_is_found_by_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    save_texts(&manager, 300, 20_000).await;
    save_texts(&manager, 300, 100).await;
    for number in [0, 7, 150, 299] {
        for kind in ["middle", "needle", "file"] {
            assert_eq!(found(&manager, &word(kind, number)).await.len(), 2, "{kind}");
        }
    }
}

#[tokio::test]
async fn an_output_just_saved_is_ranked_by_its_result_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    save_texts(&manager, 3, 30_000).await;
    let candidates = [0, 1, 2].map(Candidate::Known);
    for number in 0..3 {
        let by_result = manager.rank(&word("needle", number), &candidates).unwrap();
        let by_arguments = manager.rank(&word("file", number), &candidates).unwrap();
        assert_eq!((by_result.len(), &by_result), (1, &by_arguments));
    }
}

/// The index completes the output after the save; this thread has not done so when it ranks the first time.
#[tokio::test]
async fn a_short_output_saved_by_itself_is_found_by_its_result_at_once_and_later() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    for number in 0..4 {
        let arguments = json!({ "path": word("file", number) });
        let result = json!(text(number, 100));
        save(&manager, "read", &arguments, &result).await.unwrap();
        let candidates: Vec<_> =
            (0..=number).map(|number| Candidate::Known(number as u64)).collect();
        for _ in 0..2 {
            for kind in ["needle", "file"] {
                let ranked = manager.rank(&word(kind, number), &candidates).unwrap();
                assert_eq!(ranked.len(), 1, "{kind} {number}");
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(found(&manager, &word("needle", number)).await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_may_wait_in_memory_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    save_texts(&manager, 24, 900_000).await;
    for number in 0..24 {
        assert_eq!(found(&manager, &word("needle", number)).await.len(), 1, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_is_given_up_loses_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    save_texts(&manager, 30, 700_000).await;
    for _ in 0..20 {
        let given_up = Arc::clone(&manager);
        let task = tokio::spawn(async move { found(&given_up, "needle").await });
        tokio::task::yield_now().await;
        task.abort();
        let _ = task.await;
    }
    for number in 0..24 {
        assert_eq!(found(&manager, &word("needle", number)).await.len(), 1, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_gone_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    save_texts(&manager, 30, 50_000).await;
    let path = save(&manager, "read", &json!({}), &json!(text(99, 50_000))).await.unwrap();
    assert!(manager.forget(&path).await.unwrap());
    assert!(found(&manager, &word("needle", 99)).await.is_empty());
    assert_eq!(found(&manager, &word("needle", 3)).await.len(), 1);
    manager.clear(manager.begin_clear()).await.unwrap();
    assert!(found(&manager, &word("needle", 3)).await.is_empty());
    save_texts(&manager, 5, 50_000).await;
    assert_eq!(found(&manager, &word("needle", 3)).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_output_whose_file_is_gone_is_found_by_what_describes_it() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    save_texts(&manager, 24, 900_000).await;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            std::fs::remove_file(Path::new(&path)).unwrap();
        }
    }
    for number in 0..24 {
        assert_eq!(found(&manager, &word("file", number)).await.len(), 1, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_stays_within_its_budget() {
    const BUDGET: usize = 800_000;
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(ManagerOptions { index_budget: BUDGET, ..options(folder.path()) });
    for number in 0..1200 {
        let words: Vec<String> = (0..200).map(|other| word("w", number * 200 + other)).collect();
        let arguments = json!({ "path": word("file", number) });
        save(&manager, "read", &arguments, &json!(words.join(" "))).await.unwrap();
    }
    assert_eq!(found(&manager, &word("file", 0)).await.len(), 1);
    assert_eq!(found(&manager, &word("w", 239_807)).await.len(), 1);
    // The text of the oldest results is dropped from the index in the background. The index's size
    // is tested in text-index.
    let thinned = async {
        while !found(&manager, &word("w", 7)).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), thinned).await.unwrap();
    assert_eq!(found(&manager, &word("file", 0)).await.len(), 1);
}
