//! All stored data is redacted; data that cannot be redacted is not stored.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;

use std::{fs, path::Path, sync::Arc, time::Duration};

use agent_context_core::{
    Code, Debug,
    context::{ContextFilter, Details, Manager, OffloadRequest, SaveRequest, SearchRequest},
    history::{Filter, History, HistoryOptions, NewEntry, Policy, Summary},
};
use contexts::{options, request, save};
use json_text::Encoded;
use redaction::{EnvironmentValues, Redacted, Redaction, RedactionOptions, Redactor};
use serde_json::{Value, json};
use storage::{Durability, LocalDisk, LogPath};

/// Built from two parts: hosting services refuse pushes with a complete secret.
fn secret(number: usize) -> String {
    ["gh", "p_", "Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa", &format!("{:04}", number * 7 + 1234)].concat()
}

fn redaction() -> Option<Redaction> {
    let redactor = Redactor::new(RedactionOptions::default()).unwrap();
    Some(Redaction::new(redactor, Arc::new(EnvironmentValues::default())))
}

fn manager(directory: &Path) -> Arc<Manager> {
    Manager::new(options(directory), Arc::new(LocalDisk), Debug::default())
}

fn history(directory: &Path, max_entry_bytes: usize) -> Arc<History> {
    let path = LogPath {
        directory: directory.to_owned(),
        prefix: format!("{}/", directory.display()),
        name: "context.jsonl".to_owned(),
    };
    let options = HistoryOptions {
        path,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes,
        bounds: agent_context_core::history::Bounds::default(),
        trust: agent_context_core::Trust::default(),
    };
    History::new(options, Arc::new(LocalDisk), Debug::default())
}

/// All names and contents of the files below a directory.
fn everything(directory: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        all.push_str(&path.display().to_string());
        all.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
    }
    all
}

fn encoded(value: &Value) -> Encoded {
    Encoded::Text(value.to_string().encode_utf16().collect())
}

/// A value that only a bug in the JavaScript code could pass.
fn broken() -> Encoded {
    Encoded::Text("{\"a\":[1,".encode_utf16().collect())
}

/// A request with a secret in every part.
fn secrets_everywhere() -> SaveRequest {
    let token = |number| Some(json!(secret(number)).to_string());
    SaveRequest {
        task: token(1),
        query: token(2),
        details: Some(Box::new(Details {
            description: Some(format!("described {}", secret(3))),
            source_urls: Some(json!([format!("https://host/{}", secret(4))]).to_string()),
            error: token(5),
            message: token(6),
            offload: Some(OffloadRequest { preview: Some(4096), ..OffloadRequest::default() }),
            ..Details::default()
        })),
        redaction: redaction(),
        ..request(&secret(7), &json!({ "a": secret(8) }), &json!([secret(9), "the rest"]))
    }
}

#[tokio::test]
async fn a_context_holds_no_secret_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    let Redacted { stored: saved, report } =
        manager.store(manager.begin_save(), secrets_everywhere()).await.unwrap();
    let shown = [
        everything(folder.path()),
        manager.pointers_from(0, 10).1,
        String::from_utf8_lossy(&manager.load(&saved.path).await.unwrap().record()).into_owned(),
        saved.path.clone(),
        saved.tool_name,
        saved.placeholder.unwrap(),
        format!("{:?}", report),
    ];
    for (place, text) in shown.iter().enumerate() {
        for number in 1..10 {
            assert!(!text.contains(&secret(number)), "{number} at {place}: {text}");
        }
    }
    assert!(shown[0].contains("described [REDACTED:") && shown[0].contains("the rest"));
    assert_eq!(report.total(), 9);
    assert_eq!(manager.stats().redactions, 9);
    let found = |query: String| SearchRequest {
        query,
        all_sessions: false,
        limit: 10,
        snippets: 1,
        snippet_length: 100,
        explain: false,
        filter: ContextFilter::default(),
    };
    let hits = manager.search(&found(secret(9)), None).await.unwrap();
    assert!(!hits.concat().contains(&saved.path), "found by a secret: {hits:?}");
    let rest = found("\"the rest\"".to_owned());
    assert!(manager.search(&rest, None).await.unwrap().concat().len() > 2);
}

#[tokio::test]
async fn names_and_handles_tell_nothing_of_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    let mut told = Vec::new();
    for number in 1..3 {
        let request = SaveRequest {
            redaction: redaction(),
            ..request("tool", &json!({ "a": secret(number) }), &json!(1))
        };
        let saved = manager.store(manager.begin_save(), request).await.unwrap();
        let name = saved.stored.path.rsplit('/').next().unwrap().to_owned();
        let hash = name.split('_').nth(1).unwrap().to_owned();
        told.push((hash, saved.stored.handle));
    }
    assert_eq!(told[0], told[1], "a digest of a secret can be guessed");
}

#[tokio::test]
async fn what_cannot_be_redacted_is_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    let plain = request("tool", &json!({}), &json!(1));
    for request in [
        SaveRequest {
            arguments: broken(),
            redaction: redaction(),
            ..request("t", &json!({}), &json!(1))
        },
        SaveRequest {
            result: broken(),
            redaction: redaction(),
            ..request("t", &json!({}), &json!(1))
        },
        SaveRequest { task: Some("[".to_owned()), redaction: redaction(), ..plain },
    ] {
        let error = manager.save(manager.begin_save(), request).await.unwrap_err();
        assert_eq!(error.code, Code::Redaction, "{error}");
    }
    let history = history(folder.path(), 1 << 20);
    let entry = NewEntry {
        tool_name: "t".to_owned(),
        params: broken(),
        result: encoded(&json!(1)),
        rest: json!({ "id": "x" }).to_string(),
        operation_id: None,
        previous: None,
        redaction: redaction(),
    };
    let error = history.append(entry).outcome().await.unwrap_err();
    assert_eq!(error.code, Code::Redaction, "{error}");
    assert!(manager.is_empty());
    assert_eq!(everything(folder.path()), "", "something was written");
}

#[tokio::test]
async fn without_redaction_everything_is_stored_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    let request = SaveRequest { redaction: None, ..secrets_everywhere() };
    let saved = manager.store(manager.begin_save(), request).await.unwrap();
    let text = everything(folder.path());
    for number in 1..10 {
        assert!(text.contains(&secret(number)), "{number}: {text}");
    }
    assert!(saved.report.is_empty());
    assert_eq!(manager.stats().redactions, 0);
}

#[tokio::test]
async fn filters_find_what_is_stored_under_a_redacted_name() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path());
    manager.save(manager.begin_save(), secrets_everywhere()).await.unwrap();
    save(&manager, "other", &json!({}), &json!("the rest")).await.unwrap();
    let token = |number| Some(vec![json!(secret(number)).to_string()]);
    for filter in [
        ContextFilter { tasks: token(1), ..ContextFilter::default() },
        ContextFilter { queries: token(2), ..ContextFilter::default() },
        ContextFilter { tools: Some(vec![secret(7)]), ..ContextFilter::default() },
    ] {
        let count = async |filter: ContextFilter| {
            let selection = agent_context_core::context::Selection { filter, ..Default::default() };
            let texts = manager.select("rest", &selection, None).await.unwrap().texts;
            serde_json::from_str::<Vec<Value>>(texts.first().map_or("[]", String::as_str))
                .unwrap()
                .len()
        };
        assert_eq!(count(filter.clone()).await, 0, "as it was given: {filter:?}");
        assert_eq!(count(filter.redacted(redaction()).unwrap()).await, 1);
    }
}

#[tokio::test]
async fn a_history_holds_no_secret_and_says_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let history = history(folder.path(), 1 << 20);
    let rest = json!({
        "success": true,
        "summary": secret(4),
        "timestamp": "2026-01-01T00:00:00Z",
        "id": "x",
        "other": [secret(5)],
    });
    let entry = |redaction| NewEntry {
        tool_name: secret(1),
        params: encoded(&json!({ "a": secret(2) })),
        result: encoded(&json!([secret(3)])),
        rest: rest.to_string(),
        operation_id: None,
        previous: None,
        redaction,
    };
    let redacted = history.append(entry(redaction())).outcome().await.unwrap().redacted().unwrap();
    let text = everything(folder.path());
    assert!((1..6).all(|number| !text.contains(&secret(number))), "{text}");
    assert_eq!(redacted.report.total(), 5);
    let told: Value = serde_json::from_slice(&redacted.stored).unwrap();
    let read: Vec<Value> =
        serde_json::from_slice(&history.read(1, usize::MAX).await.unwrap().concat()).unwrap();
    assert_eq!(told, read[0]);
    assert_eq!(told["id"], "x");

    let filter = Filter { tool_names: Some(vec![secret(1)]), limit: 5, ..Filter::default() };
    let filter = filter.redacted(redaction()).unwrap();
    assert!(history.search(filter).await.unwrap().concat().len() > 2);

    let plan = async || {
        let policy = Policy { keep_last: Some(0), ..Policy::default() };
        history.plan(policy, false).await.unwrap().0
    };
    let line = json!({ "tool_name": "summary", "summary": secret(6), "id": "y" }).to_string();
    let summary = Some(Summary { line: line.clone(), redaction: redaction() });
    let (_, redacted) = history.compact(plan().await, summary).await.unwrap();
    assert!(!everything(folder.path()).contains(&secret(6)));
    let told: Value = serde_json::from_slice(&redacted.unwrap().stored).unwrap();
    assert_eq!(told["id"], "y");

    assert!(history.append(entry(None)).outcome().await.unwrap().redacted().is_none());
    let text = everything(folder.path());
    assert!((1..6).all(|number| text.contains(&secret(number))), "{text}");
}

#[tokio::test]
async fn a_line_that_grew_too_long_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // Shorter than its replacement.
    let params = json!({ "password": "k7#pQ2w" });
    let entry = || NewEntry {
        tool_name: "t".to_owned(),
        params: encoded(&params),
        result: encoded(&json!(1)),
        rest: json!({ "id": "x" }).to_string(),
        operation_id: None,
        previous: None,
        redaction: redaction(),
    };
    let plain = format!(r#"{{"tool_name":"t","params":{params},"result":1,"id":"x"}}"#).len();
    let error = history(folder.path(), plain).append(entry()).outcome().await.unwrap_err();
    assert_eq!(error.code, Code::TooLarge, "{error}");
    let stored = history(folder.path(), plain + 30).append(entry()).outcome().await.unwrap();
    assert!(stored.redacted().is_some());
}
