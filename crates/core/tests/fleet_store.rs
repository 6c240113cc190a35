//! Searches of a store in a database, on a real server: the index of terms narrows them, and they find what a search of a
//! directory on disk finds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod databases;
mod narrowed;

use std::{path::Path, sync::Arc, time::Duration};

use agent_context_core::{
    Trust,
    store::{EntryType, Filter, Store, StoreOptions},
};
use databases::open;
use narrowed::{Messages, WITHOUT_INDEX, count, create_reader, listening};
use postgres_test_server::Server;
use storage::{Durability, FileSystem, LocalDisk, Payload};

const ENTRIES: usize = 600;
const MAX_ENTRY: u64 = 1 << 20;

/// A store, with the messages of its debug callback.
fn store(files: &Arc<dyn FileSystem>, directory: &Path) -> (Arc<Store>, Messages) {
    let (debug, messages) = listening();
    let options = StoreOptions {
        directory: directory.to_owned(),
        agent: "reader".to_owned(),
        session_id: "s".to_owned(),
        has_session_directory: false,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: MAX_ENTRY,
        trust: Trust::default(),
    };
    (Store::new(options, files, debug), messages)
}

/// The path and the text of an entry. Most of its words are in many of them.
fn entry(number: usize) -> (String, String) {
    let agent = ["scout", "reviewer", "builder"][number % 3];
    let folder = if number.is_multiple_of(5) { "/run-1" } else { "" };
    let time =
        format!("2026-02-{:02}T{:02}:{:02}:00Z", 1 + number / 60 % 28, number / 1680, number % 60);
    let kind = EntryType::ALL[number % 4].as_str();
    let tags = if number % 100 == 99 { "rare, common" } else { "common" };
    let mut body = format!("report {number} about topic{} ", number % 40);
    for word in 0..200 {
        body.push_str(&format!("word{} ", (number * 7 + word * 13) % 900));
    }
    if number % 50 == 7 {
        body.push_str("a login form was found in the connections");
    }
    if number == 123 {
        body.push_str("kubernetes");
    }
    if number == 300 {
        body.push_str(&"filler words ".repeat(40_000));
        body.push_str("a needle");
    }
    let text = format!(
        "---\nagent: {agent}\nsessionId: s{}\ntimestamp: {time}\ntype: {kind}\ntags: [{tags}]\n---\n\n{body}\n",
        number % 7
    );
    (format!("{agent}{folder}/e{number}.md"), text)
}

async fn write(files: &Arc<dyn FileSystem>, directory: &Path, path: &str, text: String) {
    let path = directory.join(path);
    files.create_directories(path.parent().unwrap()).await.unwrap();
    files.write_new(&path, Payload::new(text.into_bytes()), false).await.unwrap();
}

async fn fill(files: &Arc<dyn FileSystem>, directory: &Path) {
    for number in 0..ENTRIES {
        let (path, text) = entry(number);
        write(files, directory, &path, text).await;
    }
}

fn asking(query: &str) -> Filter {
    Filter { query: Some(query.to_owned()), limit: 10, ..Filter::default() }
}

async fn found(store: &Arc<Store>, filter: &Filter) -> Vec<String> {
    let listed: Vec<String> =
        store.list(filter).await.unwrap().into_iter().map(|summary| summary.path).collect();
    let entries = store.search(filter, None).await.unwrap();
    assert!(entries.iter().map(|entry| &entry.summary.path).eq(&listed), "{filter:?}");
    listed
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    hits_are_those_of_a_directory_and_few_bytes_are_read(&server).await;
    a_role_that_may_not_write_searches(&server).await;
}

async fn hits_are_those_of_a_directory_and_few_bytes_are_read(server: &Server) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let on_disk: Arc<dyn FileSystem> = Arc::new(LocalDisk);
    fill(&on_disk, &root).await;
    let directory = Path::new("/store");
    let (_, files) = open(&server.url(), "store");
    fill(&files, directory).await;
    write(&files, directory, "scout/broken.md", "no entry".to_owned()).await;
    write(&files, directory, "scout/other.txt", "report".to_owned()).await;
    // The first search adds the terms, and writes the metadata for other processes.
    let (database, files) = open(&server.url(), "store");
    let (first, _) = store(&files, directory);
    assert_eq!(found(&first, &asking("kubernetes")).await, ["scout/e123.md"]);
    first.close().await;
    let all = database.statistics().bytes_received;
    assert_eq!(count(&database, "file_terms").await, ENTRIES as i64);
    let (database, files) = open(&server.url(), "store");
    let (second, messages) = store(&files, directory);
    second.list(&Filter::default()).await.unwrap();
    let before = database.statistics();
    let ranked = Filter { ranked: true, ..asking("kubernetes") };
    assert_eq!(second.search(&ranked, None).await.unwrap().len(), 1);
    let after = database.statistics();
    let received = after.bytes_received - before.bytes_received;
    println!(
        "{received} of {all} bytes, {before:?} before, {} statements",
        after.requests - before.requests
    );
    assert!(before.bytes_received * 4 < all, "{} of {all} bytes", before.bytes_received);
    assert!(received * 20 < all, "{received} of {all} bytes");
    let (local, _) = store(&on_disk, &root);
    compare(&local, &second).await;
    let expected = ["Skipped a file that is no entry"];
    assert_eq!(*messages.lock().unwrap(), expected);
    written_entries_are_found_and_removed_ones_are_not(server, &second).await;
}

async fn compare(local: &Arc<Store>, in_database: &Arc<Store>) {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut filters: Vec<Filter> = [
        "login form",
        "connecti*",
        "connect",
        "\"login form\"",
        "\"form login\"",
        "topic7 word123",
        "report",
        "report topic5",
        "topic1* login",
        "\"topic5\" -word5",
        "topic3 -\"login form\"",
        "kubernetes",
        "absent",
        "the",
        "-report",
        "needle",
        "filler",
        "topic4 needle",
        "reviewer",
        "topic5 after:2026-02-05",
        "",
    ]
    .map(asking)
    .into();
    let report = || asking("report word1");
    filters.extend([
        Filter { agents: Some(names(&["scout", "absent"])), ..report() },
        Filter { agents: Some(Vec::new()), ..report() },
        Filter { sessions: Some(names(&["run-1"])), ..report() },
        Filter { sessions: Some(names(&["s3"])), ..report() },
        Filter { types: Some(vec![EntryType::Decision]), ..report() },
        Filter { tags_all: names(&["rare", "common"]), ..asking("report") },
        Filter { tags_any: names(&["rare", "absent"]), ..asking("report") },
        Filter { until: Some(1_769_990_000_000), ..report() },
        Filter { superseded: Some(true), ..report() },
        Filter { limit: usize::MAX, ..report() },
        Filter { limit: 0, ..report() },
        Filter { agents: Some(names(&["scout"])), ..asking("-report") },
    ]);
    let mut differing = Vec::new();
    for filter in filters {
        for ranked in [false, true] {
            let filter = Filter { ranked, ..filter.clone() };
            let (expected, hits) = (found(local, &filter).await, found(in_database, &filter).await);
            // Entries that score alike but for the number of their words may be other ones.
            let is_common = ranked && filter.query.as_deref() == Some("report");
            if hits != expected && !(is_common && hits.len() == expected.len()) {
                differing.push(format!("{filter:?}\n  {hits:?}\n  {expected:?}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

async fn written_entries_are_found_and_removed_ones_are_not(server: &Server, second: &Arc<Store>) {
    let directory = Path::new("/store");
    let (database, files) = open(&server.url(), "store");
    let (path, text) = entry(123);
    let replacing = text.replace("kubernetes", "nomad").into_bytes();
    files.replace(&directory.join(&path), Payload::new(replacing), false).await.unwrap();
    let ranked = |query: &str| Filter { ranked: true, ..asking(query) };
    for filter in [asking("nomad"), ranked("nomad")] {
        assert_eq!(found(second, &filter).await, [&*path]);
    }
    for filter in [asking("kubernetes"), ranked("kubernetes")] {
        assert!(found(second, &filter).await.is_empty());
    }
    files.remove(&directory.join(&path)).await.unwrap();
    for filter in [asking("nomad"), ranked("nomad")] {
        assert!(found(second, &filter).await.is_empty());
    }
    assert_eq!(count(&database, "file_terms").await, ENTRIES as i64 - 1);
    let late = text.replace("kubernetes", "a zeppelin");
    write(&files, directory, "late/run/e.md", late).await;
    for filter in [asking("zeppelin"), ranked("zeppelin")] {
        assert_eq!(found(second, &filter).await, ["late/run/e.md"]);
    }
    let without = "file WHERE coverage IS NULL AND name LIKE '%.md'";
    assert_eq!(count(&database, without).await, 0, "what is no entry is read once");
}

async fn a_role_that_may_not_write_searches(server: &Server) {
    let directory = Path::new("/read");
    let (database, files) = open(&server.url(), "read");
    let (path, text) = entry(123);
    write(&files, directory, &path, text).await;
    create_reader(&database, "store_reader").await;
    let (_, of_reader) = open(&server.url().replace("agent@", "store_reader@"), "read");
    let (reader, messages) = store(&of_reader, directory);
    let ranked = Filter { ranked: true, ..asking("kubernetes") };
    for filter in [&asking("kubernetes"), &ranked] {
        assert_eq!(reader.search(filter, None).await.unwrap().len(), 1);
        assert_eq!(messages.lock().unwrap().pop().as_deref(), Some(WITHOUT_INDEX));
    }
    // Once another process has added the terms, it uses them.
    let (writer, _) = store(&files, directory);
    writer.search(&ranked, None).await.unwrap();
    assert_eq!(reader.search(&ranked, None).await.unwrap().len(), 1);
    assert!(messages.lock().unwrap().is_empty());
}
