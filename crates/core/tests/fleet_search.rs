//! Searches of all sessions in a database, on a real server: the index of terms narrows them, and they find what a search of
//! a directory on disk finds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_context_core::{
    Debug,
    context::{Manager, ManagerOptions, SearchRequest},
};
use contexts::{options, request};
use database::{Database, Intent, Parameters, Settings, SettingsOptions};
use postgres_test_server::Server;
use serde_json::{Value, json};
use storage::{FileSystem, LocalDisk, Payload};

const CONTEXTS: usize = 400;

/// A database of its own, as in another process: each has another timeout.
fn open(url: &str, schema: &str) -> (Arc<Database>, Arc<dyn FileSystem>) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let timeout = Duration::from_millis(30_000 + NUMBER.fetch_add(1, Ordering::Relaxed));
    let options = SettingsOptions {
        schema: Some(schema.to_owned()),
        timeout: Some(timeout),
        ..SettingsOptions::default()
    };
    let database = Database::open(Settings::parse(url, options).unwrap());
    let files = database::file_system(&database, None);
    (database, files)
}

fn of_session(session: &str, directory: &Path) -> ManagerOptions {
    let (session, session_is_named) = (session.to_owned(), true);
    ManagerOptions { session, session_is_named, ..options(directory) }
}

/// A manager that searches, with the messages of its debug callback.
fn searcher(
    files: &Arc<dyn FileSystem>,
    directory: &Path,
) -> (Arc<Manager>, Arc<Mutex<Vec<String>>>) {
    let messages: Arc<Mutex<Vec<String>>> = Arc::default();
    let sent = Arc::clone(&messages);
    let debug = Debug::new(move |message, _| sent.lock().unwrap().push(message.to_owned()));
    (Manager::new(of_session("searcher", directory), Arc::clone(files), debug), messages)
}

async fn save(manager: &Arc<Manager>, number: usize, tool: &str, result: &str) -> String {
    let timestamp = 1_700_000_000_000 + number as i64 * 1000;
    let request = request(tool, &json!({ "number": number }), &json!(result));
    let sequence = manager.begin_save();
    manager.save(sequence, agent_context_core::context::SaveRequest { timestamp, ..request }).await.unwrap()
}

/// Saves contexts, most of whose words are in many of them.
async fn fill(manager: &Arc<Manager>) -> Vec<String> {
    let mut paths = Vec::new();
    for number in 0..CONTEXTS {
        let mut result = format!("report {number} about topic{} ", number % 40);
        for word in 0..300 {
            result.push_str(&format!("word{} ", (number * 7 + word * 13) % 900));
        }
        if number % 50 == 7 {
            result.push_str("a login form was found in the connections");
        }
        if number == 123 {
            result.push_str("kubernetes");
        }
        let tool = if number % 100 == 99 { "rare_tool" } else { "tool" };
        paths.push(save(manager, number, tool, &result).await);
    }
    paths
}

/// The numbers of the hits of a search of all sessions, best first, with their scores.
async fn search(manager: &Arc<Manager>, query: &str, filter: &Value) -> Vec<(u64, f64)> {
    let request = json!({
        "query": query, "allSessions": true, "limit": 10, "snippets": 1, "snippetLength": 80,
        "explain": false, "filter": filter,
    });
    let request: SearchRequest = serde_json::from_value(request).unwrap();
    let found = manager.search(&request, None).await.unwrap();
    let hits = found.iter().flat_map(|list| serde_json::from_str::<Vec<Value>>(list).unwrap());
    let hit = |hit: Value| {
        (hit["args"]["number"].as_u64().unwrap(), hit["score"].as_f64().unwrap())
    };
    hits.map(hit).collect()
}

async fn count(database: &Database, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {{schema}}.{table}");
    database.statement(Intent::Read, &sql, &Parameters::new()).await.unwrap()[0].get(0)
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    hits_are_those_of_a_directory_and_few_bytes_are_read(&server).await;
    a_role_that_may_not_write_searches(&server).await;
    parts_of_long_texts_that_have_no_terms_are_searched(&server).await;
    own_contexts_are_found_once(&server).await;
}

async fn hits_are_those_of_a_directory_and_few_bytes_are_read(server: &Server) {
    let folder = tempfile::tempdir().unwrap();
    let local: Arc<dyn FileSystem> = Arc::new(LocalDisk);
    let on_disk = Manager::new(of_session("own", folder.path()), Arc::clone(&local), Debug::default());
    fill(&on_disk).await;
    let directory = Path::new("/searched");
    let (_, files) = open(&server.url(), "searched");
    let own = Manager::new(of_session("own", directory), files, Debug::default());
    let paths = fill(&own).await;
    own.close(own.calls()).await;
    // The first search of all sessions adds the terms.
    let (database, files) = open(&server.url(), "searched");
    let (first, _) = searcher(&files, directory);
    search(&first, "login", &json!({})).await;
    let all = database.statistics().bytes_received;
    assert_eq!(count(&database, "file_terms").await, CONTEXTS as i64);
    let (database, files) = open(&server.url(), "searched");
    let (second, messages) = searcher(&files, directory);
    let before = database.statistics();
    assert_eq!(search(&second, "kubernetes", &json!({})).await.len(), 1);
    let after = database.statistics();
    let received = after.bytes_received - before.bytes_received;
    println!("{received} of {all} bytes, {} statements", after.requests - before.requests);
    assert!(received * 20 < all, "{received} of {all} bytes");
    let (local, _) = searcher(&local, folder.path());
    let none = json!({});
    for (query, filter) in [
        ("login form", &none),
        ("\"login form\"", &none),
        ("\"form login\"", &none),
        ("topic7 word123", &none),
        ("report", &none),
        ("connecti*", &none),
        ("topic1* login", &none),
        ("report -word5", &none),
        ("topic3 -\"login form\"", &none),
        ("report tool:rare_tool", &none),
        ("report -tool:tool", &none),
        ("kubrnetes", &none),
        ("the", &none),
        ("-report", &none),
        ("report", &json!({ "until": 1_700_000_003_000_i64 })),
        ("report", &json!({ "sessions": ["\"other\""] })),
        ("report", &json!({ "tools": [] })),
        ("word1 word2 word3 word4 word5 topic5", &json!({ "sessions": ["\"own\""] })),
    ] {
        let (expected, found) =
            (search(&local, query, filter).await, search(&second, query, filter).await);
        let numbers = |hits: &[(u64, f64)]| hits.iter().map(|hit| hit.0).collect::<Vec<_>>();
        assert_eq!(numbers(&found), numbers(&expected), "{query} {filter}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found.1 - expected.1).abs() < 0.01, "{query} {filter}: {found:?} {expected:?}");
        }
    }
    assert!(messages.lock().unwrap().is_empty(), "{messages:?}");
    removed_and_replaced_contexts_are_not_found(&database, &files, &second, &paths).await;
}

async fn removed_and_replaced_contexts_are_not_found(
    database: &Arc<Database>,
    files: &Arc<dyn FileSystem>,
    second: &Arc<Manager>,
    paths: &[String],
) {
    let none = json!({});
    let read = async |path: &str| {
        let name = path.rsplit('/').next().unwrap();
        files.read(Path::new("/searched"), Path::new(name), 1 << 20).await.unwrap().bytes
    };
    let record = String::from_utf8(read(&paths[123]).await).unwrap();
    files.remove(Path::new(&paths[123])).await.unwrap();
    assert_eq!(search(second, "kubernetes -login", &none).await.len(), 0);
    assert_eq!(count(database, "file_terms").await, CONTEXTS as i64 - 1);
    // The record in place of another one: the file has another id.
    let contents = Payload::new(record.replace("kubernetes", "nomad cluster").into_bytes());
    files.replace(Path::new(&paths[200]), contents, false).await.unwrap();
    assert_eq!(search(second, "nomad", &none).await, [(123, 1.0)].map(|_| search_hit()));
    assert!(search(second, "\"report 200 about\"", &none).await.is_empty());
    // A context that is saved by another process is found at once.
    let (_, others) = open(&database_url(database), "searched");
    let late = Manager::new(of_session("late", Path::new("/searched")), others, Debug::default());
    save(&late, 1000, "tool", "a zeppelin").await;
    assert_eq!(search(second, "zeppelin", &none).await[0].0, 1000);
    late.close(late.calls()).await;
}
