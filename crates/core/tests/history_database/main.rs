//! `ContextHistory`'s core in a PostgreSQL database, with the failures of servers and connections.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "functions of this file are parts of one test"
)]

mod compaction;
mod faults;
mod queries;
mod writers;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_context_core::{
    Code, Debug, Trust,
    history::{
        Appended, Bounds, DatabaseHistory, DatabaseHistoryOptions, Filter, History, HistoryOptions,
        NewEntry, Policy, Previous, Summary, TailStart,
    },
};
use database::{Database, Intent, Parameters, Settings, SettingsOptions};
use json_text::Encoded;
use postgres_test_server::{Proxy, Server, Stop};
use serde_json::{Value, json};
use storage::{Durability, LocalDisk, LogPath};

const MAX_ENTRY_BYTES: usize = 1 << 20;

/// A database. Different timeouts are different settings, which share nothing, as in processes of their own.
fn database(port: u16, server: &Server, timeout: u64) -> Arc<Database> {
    let timeout = Some(Duration::from_millis(timeout));
    let options = SettingsOptions { timeout, pool: Some(2), ..SettingsOptions::default() };
    Database::open(Settings::parse(&server.url_at(port), options).unwrap())
}

fn with_bounds(database: &Arc<Database>, namespace: &str, bounds: Bounds) -> Arc<DatabaseHistory> {
    let namespace = namespace.to_owned();
    let options = DatabaseHistoryOptions { namespace, max_entry_bytes: MAX_ENTRY_BYTES, bounds };
    DatabaseHistory::new(options, Arc::clone(database), Debug::default())
}

fn history(database: &Arc<Database>, namespace: &str) -> Arc<DatabaseHistory> {
    with_bounds(database, namespace, Bounds::default())
}

/// A history of another process, as far as the server can see.
fn writer(server: &Server, namespace: &str, number: u64) -> Arc<DatabaseHistory> {
    history(&database(server.port(), server, 20_000 + number), namespace)
}

fn entry(id: &str, result: &Value) -> NewEntry {
    let text = |value: &Value| Encoded::Text(value.to_string().encode_utf16().collect());
    let rest =
        json!({"success": true, "summary": null, "timestamp": "2026-01-01T00:00:00Z", "id": id});
    NewEntry {
        tool_name: "tool".to_owned(),
        params: text(&json!({})),
        result: text(result),
        rest: rest.to_string(),
        operation_id: None,
        previous: None,
        redaction: None,
    }
}

fn with_operation(id: &str, operation: &str) -> NewEntry {
    let rest = json!({"success": true, "summary": null, "timestamp": null, "id": id, "operationId": operation});
    NewEntry {
        rest: rest.to_string(),
        operation_id: Some(operation.to_owned()),
        ..entry(id, &json!(1))
    }
}

fn after(id: &str, previous: Previous) -> NewEntry {
    NewEntry { previous: Some(previous), ..entry(id, &json!(1)) }
}

fn entries(texts: &[Vec<u8>]) -> Vec<Value> {
    texts.iter().flat_map(|text| serde_json::from_slice::<Vec<Value>>(text).unwrap()).collect()
}

fn ids(texts: &[Vec<u8>]) -> Vec<String> {
    entries(texts).iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

async fn all(history: &Arc<DatabaseHistory>) -> Vec<String> {
    ids(&history.read(1_000_000, usize::MAX).await.unwrap())
}

fn keep_last(count: u64) -> Policy {
    Policy { keep_last: Some(count), ..Policy::default() }
}

/// Each entry once, and those of a writer in their order.
fn assert_in_order_of_writers(ids: &[String]) {
    let mut last: BTreeMap<&str, i64> = BTreeMap::new();
    for id in ids {
        let (writer, number) = id.split_once('-').unwrap();
        let number: i64 = number.parse().unwrap();
        let before = last.insert(writer, number).unwrap_or(-1);
        assert!(before < number, "{id} follows {writer}-{before}");
    }
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    queries::a_call_is_one_statement(&server).await;
    queries::queries_answer_as_those_of_a_file(&server).await;
    queries::pages_reach_the_first_entry(&server).await;
    queries::long_and_short_entries_keep_their_order(&server).await;
    writers::an_operation_is_stored_once(&server).await;
    writers::one_of_several_writers_follows_an_entry(&server).await;
    compaction::a_compaction_keeps_operations_and_writes_its_summary_first(&server).await;
    compaction::a_plan_of_another_log_is_refused(&server).await;
    compaction::bounds_are_kept(&server).await;
    writers::a_tail_returns_every_entry_once(&server).await;
    compaction::compaction_loses_nothing_that_others_append(&server).await;
    faults::a_clock_that_was_ahead_changes_no_order(&server).await;
    faults::lost_answers_double_nothing(&server).await;
    faults::a_restart_loses_nothing(&server).await;
    faults::an_unclear_append_says_so(&server).await;
}
