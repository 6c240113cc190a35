//! Searches of all sessions in a database, on a real server: the index of terms narrows them, and they find what a search of
//! a directory on disk finds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;
mod databases;
mod narrowed;

use std::{path::Path, sync::Arc};

use agent_context_core::{
    Debug,
    context::{Manager, ManagerOptions, SaveRequest, SearchRequest},
};
use contexts::{options, request};
use databases::open;
use narrowed::{Messages, WITHOUT_INDEX, count, create_reader, listening};
use postgres_test_server::Server;
use serde_json::{Value, json};
use storage::{FileSystem, LocalDisk, Payload};

const CONTEXTS: usize = 400;

fn of_session(session: &str, directory: &Path) -> ManagerOptions {
    let (session, session_is_named) = (session.to_owned(), true);
    ManagerOptions { session, session_is_named, ..options(directory) }
}

/// A manager that searches, with the messages of its debug callback.
fn searcher(files: &Arc<dyn FileSystem>, directory: &Path) -> (Arc<Manager>, Messages) {
    let (debug, messages) = listening();
    (Manager::new(of_session("searcher", directory), Arc::clone(files), debug), messages)
}

async fn save(manager: &Arc<Manager>, number: usize, tool: &str, result: &str) -> String {
    let timestamp = 1_700_000_000_000 + number as i64 * 1000;
    let request = request(tool, &json!({ "number": number }), &json!(result));
    let sequence = manager.begin_save();
    manager.save(sequence, SaveRequest { timestamp, ..request }).await.unwrap()
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
    let hit =
        |hit: Value| (hit["args"]["number"].as_u64().unwrap(), hit["score"].as_f64().unwrap());
    hits.map(hit).collect()
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
    let on_disk =
        Manager::new(of_session("own", folder.path()), Arc::clone(&local), Debug::default());
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
    let (none, mut differing) = (json!({}), Vec::new());
    for (query, filter) in [
        ("login form", &none),
        ("\"login form\"", &none),
        ("\"form login\"", &none),
        ("topic7 word123", &none),
        ("report topic5", &none),
        ("connecti*", &none),
        ("topic1* login", &none),
        ("\"topic5\" -word5", &none),
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
        let is_near = |(one, other): (&(u64, f64), &(u64, f64))| (one.1 - other.1).abs() < 0.01;
        if numbers(&found) != numbers(&expected) || !found.iter().zip(&expected).all(is_near) {
            differing.push(format!("{query} {filter}\n  {found:?}\n  {expected:?}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(messages.lock().unwrap().is_empty(), "{messages:?}");
    removed_and_replaced_contexts_are_not_found(server, &second, &paths).await;
}

async fn removed_and_replaced_contexts_are_not_found(
    server: &Server,
    second: &Arc<Manager>,
    paths: &[String],
) {
    let none = json!({});
    let directory = Path::new("/searched");
    let (database, files) = open(&server.url(), "searched");
    let name = paths[123].rsplit('/').next().unwrap();
    let contents = files.read(directory, Path::new(name), 1 << 20).await.unwrap().bytes;
    files.remove(Path::new(&paths[123])).await.unwrap();
    assert!(search(second, "kubernetes", &none).await.is_empty());
    assert_eq!(count(&database, "file_terms").await, CONTEXTS as i64 - 1);
    // Another record takes the name: the file has another id.
    let record = String::from_utf8(contents).unwrap().replace("kubernetes", "nomad");
    let replacing = Payload::new(record.into_bytes());
    files.replace(Path::new(&paths[200]), replacing, false).await.unwrap();
    assert_eq!(search(second, "nomad", &none).await[0].0, 123);
    assert!(search(second, "\"report 200 about\"", &none).await.is_empty());
    assert_eq!(count(&database, "file_terms").await, CONTEXTS as i64 - 1);
    // What another process saves is found at once.
    let late = Manager::new(of_session("late", directory), Arc::clone(&files), Debug::default());
    let path = save(&late, 1000, "tool", "a zeppelin").await;
    assert_eq!(search(second, "zeppelin", &none).await[0].0, 1000);
    files.remove(Path::new(&path)).await.unwrap();
    assert!(search(second, "zeppelin", &none).await.is_empty());
    late.close(late.calls()).await;
    // A file that is no record is read once.
    let other = Payload::new(b"[1]".to_vec());
    files.replace(&directory.join("other.json"), other, false).await.unwrap();
    search(second, "nomad", &none).await;
    let without = "file WHERE coverage IS NULL AND name LIKE '%.json'";
    assert_eq!(count(&database, without).await, 0);
}

async fn a_role_that_may_not_write_searches(server: &Server) {
    let directory = Path::new("/read");
    let (database, files) = open(&server.url(), "read");
    let own = Manager::new(of_session("own", directory), Arc::clone(&files), Debug::default());
    save(&own, 1, "tool", "the first zeppelin").await;
    create_reader(&database, "reader").await;
    let (_, of_reader) = open(&server.url().replace("agent@", "reader@"), "read");
    let (reader, messages) = searcher(&of_reader, directory);
    let none = json!({});
    assert_eq!(search(&reader, "zeppelin", &none).await.len(), 1);
    assert_eq!(messages.lock().unwrap().pop().as_deref(), Some(WITHOUT_INDEX));
    // Once another process has added the terms, it uses them.
    let (writer, _) = searcher(&files, directory);
    search(&writer, "zeppelin", &none).await;
    assert_eq!(search(&reader, "zeppelin", &none).await.len(), 1);
    assert!(messages.lock().unwrap().is_empty());
    own.close(own.calls()).await;
}

async fn parts_of_long_texts_that_have_no_terms_are_searched(server: &Server) {
    let directory = Path::new("/long");
    let (_, files) = open(&server.url(), "long");
    let own = Manager::new(of_session("own", directory), Arc::clone(&files), Debug::default());
    let long = format!("{} zeppelin {}", "word ".repeat(60_000), "other ".repeat(20_000));
    save(&own, 1, "tool", &long).await;
    save(&own, 2, "tool", "a word").await;
    let (second, _) = searcher(&files, directory);
    let none = json!({});
    assert_eq!(search(&second, "zeppelin", &none).await[0].0, 1);
    assert_eq!(search(&second, "zeppelin tool:other", &none).await.len(), 0);
    own.close(own.calls()).await;
}

async fn own_contexts_are_found_once(server: &Server) {
    let directory = Path::new("/own");
    let (_, files) = open(&server.url(), "own");
    let own = Manager::new(of_session("run", directory), Arc::clone(&files), Debug::default());
    let (arguments, result) = (json!({ "number": 1 }), json!("the first zeppelin"));
    contexts::save(&own, "tool", &arguments, &result).await.unwrap();
    let none = json!({});
    assert_eq!(search(&own, "zeppelin", &none).await.len(), 1);
    own.close(own.calls()).await;
    let resumed = ManagerOptions { resumes: true, ..of_session("run", directory) };
    let resumed = Manager::new(resumed, Arc::clone(&files), Debug::default());
    save(&resumed, 2, "tool", "another zeppelin").await;
    assert_eq!(search(&resumed, "zeppelin", &none).await.len(), 2);
    resumed.close(resumed.calls()).await;
}
