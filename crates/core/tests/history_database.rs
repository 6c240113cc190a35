//! `ContextHistory`'s core in a PostgreSQL database, with the failures of servers and connections.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "functions of this file are parts of one test"
)]

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

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    a_call_is_one_statement(&server).await;
    queries_answer_as_those_of_a_file(&server).await;
    pages_reach_the_first_entry(&server).await;
    long_and_short_entries_keep_their_order(&server).await;
    an_operation_is_stored_once(&server).await;
    one_of_several_writers_follows_an_entry(&server).await;
    a_compaction_keeps_operations_and_writes_its_summary_first(&server).await;
    a_plan_of_another_log_is_refused(&server).await;
    bounds_are_kept(&server).await;
    a_tail_returns_every_entry_once(&server).await;
    compaction_loses_nothing_that_others_append(&server).await;
    a_clock_that_was_ahead_changes_no_order(&server).await;
    lost_answers_double_nothing(&server).await;
    a_restart_loses_nothing(&server).await;
    an_unclear_append_says_so(&server).await;
}

async fn a_call_is_one_statement(server: &Server) {
    let database = database(server.port(), server, 20_200);
    let history = history(&database, "/one");
    history.append(entry("first", &json!(1))).outcome().await.unwrap();
    let requests = || database.statistics().requests;
    let before = requests();
    for number in 0..30 {
        history
            .append(with_operation(&number.to_string(), &number.to_string()))
            .outcome()
            .await
            .unwrap();
    }
    assert_eq!(requests() - before, 30);
    let appending: Vec<_> =
        (30..130).map(|number| history.append(entry(&number.to_string(), &json!(1)))).collect();
    for append in appending {
        append.outcome().await.unwrap();
    }
    assert_eq!(requests() - before, 31, "calls that wait share a statement");
    assert_eq!(ids(&history.read(20, usize::MAX).await.unwrap()).len(), 20);
    assert_eq!(requests() - before, 32);
}

async fn queries_answer_as_those_of_a_file(server: &Server) {
    let folder = tempfile::tempdir().unwrap();
    let path = LogPath {
        directory: folder.path().to_owned(),
        prefix: format!("{}/", folder.path().display()),
        name: "context.jsonl".to_owned(),
    };
    let options = HistoryOptions {
        path,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: MAX_ENTRY_BYTES,
        bounds: Bounds::default(),
        trust: Trust::default(),
    };
    let file = History::new(options, Arc::new(LocalDisk), Debug::default());
    let shared = writer(server, "/same", 0);
    let words = ["cookie", "token", "grape", "cookie token", "x\u{0}y"];
    for number in 0..1500_u64 {
        let make = || {
            let word = words[number as usize % words.len()];
            let rest = json!({
                "success": !number.is_multiple_of(3),
                "summary": format!("{word} {number}"),
                "timestamp": format!("2026-01-01T00:{:02}:00Z", number % 60),
                "id": number.to_string(),
            });
            NewEntry {
                tool_name: format!("t{}\u{0}", number % 7),
                rest: rest.to_string(),
                ..entry("", &json!({ "text": word, "number": number }))
            }
        };
        let (first, second) = (file.append(make()), shared.append(make()));
        drop((first.outcome().await.unwrap(), second));
    }
    shared.append(entry("last", &json!(1))).outcome().await.unwrap();
    file.append(entry("last", &json!(1))).outcome().await.unwrap();
    for (limit, bytes) in
        [(0, 9), (1, 9), (20, 9), (20, usize::MAX), (700, 9000), (5000, usize::MAX)]
    {
        let expected = entries(&file.read(limit, bytes).await.unwrap());
        assert_eq!(entries(&shared.read(limit, bytes).await.unwrap()), expected, "{limit}");
    }
    let none = Filter { limit: 100, ..Filter::default() };
    let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    let filters = [
        none.clone(),
        Filter { tool_names: names(&["t1\u{0}", "t2\u{0}"]), limit: 3000, ..none.clone() },
        Filter { tool_names: names(&["t1"]), ..none.clone() },
        Filter { success: Some(false), text: Some("TOKEN".to_owned()), ..none.clone() },
        Filter {
            success: Some(true),
            tool_names: names(&["t3\u{0}"]),
            since: Some(1_767_225_600_000 + 60_000),
            until: Some(1_767_225_600_000 + 1_200_000),
            text: Some("cookie".to_owned()),
            limit: 7,
        },
        Filter { text: Some("grape 2".to_owned()), limit: 5, ..none },
    ];
    for filter in filters {
        let expected = entries(&file.search(filter.clone()).await.unwrap());
        assert_eq!(entries(&shared.search(filter.clone()).await.unwrap()), expected, "{filter:?}");
        let expected = entries(&file.rank(filter.clone(), None).await.unwrap());
        assert_eq!(entries(&shared.rank(filter.clone(), None).await.unwrap()), expected, "{filter:?}");
    }
    let (expected, report) = (file.verify().await.unwrap(), shared.verify().await.unwrap());
    assert_eq!((report.entries, report.bytes), (expected.entries, expected.bytes));
    assert_eq!(report.bad_lines, 0);
}

async fn pages_reach_the_first_entry(server: &Server) {
    let history = writer(server, "/pages", 0);
    let long = "x".repeat(400_000);
    let mut appending = Vec::new();
    for number in 0..40 {
        appending.push(history.append(entry(&number.to_string(), &json!(long))));
    }
    for append in appending {
        append.outcome().await.unwrap();
    }
    let expected: Vec<String> = (0..40).map(|number: u32| number.to_string()).collect();
    assert_eq!(all(&history).await, expected);
    assert_eq!(ids(&history.read(3, usize::MAX).await.unwrap()), ["37", "38", "39"]);
    assert_eq!(history.verify().await.unwrap().entries, 40);
    let filter = Filter { text: Some("x".to_owned()), limit: 30, ..Filter::default() };
    assert_eq!(ids(&history.search(filter).await.unwrap()).len(), 30);
}

async fn long_and_short_entries_keep_their_order(server: &Server) {
    let history = writer(server, "/order", 0);
    let appending: Vec<_> = (0..300_u32)
        .map(|number| {
            let length = if number.is_multiple_of(50) { 100_000 } else { 3 };
            history.append(entry(&number.to_string(), &json!("y".repeat(length))))
        })
        .collect();
    let tasks: Vec<_> =
        appending.into_iter().map(|append| tokio::spawn(append.outcome())).collect();
    for task in tasks.into_iter().rev() {
        task.await.unwrap().unwrap();
    }
    let expected: Vec<String> = (0..300_u32).map(|number| number.to_string()).collect();
    assert_eq!(all(&history).await, expected);
}

async fn an_operation_is_stored_once(server: &Server) {
    let tasks: Vec<_> = (0..8_u64)
        .map(|number| {
            let history = writer(server, "/operations", number);
            tokio::spawn(async move {
                let mut earlier = 0;
                for operation in 0..50 {
                    let appending: Vec<_> = (0..2)
                        .map(|copy| {
                            let id = format!("{number}-{operation}-{copy}");
                            history.append(with_operation(&id, &format!("operation {operation}")))
                        })
                        .collect();
                    for append in appending {
                        let outcome = append.outcome().await.unwrap();
                        earlier += usize::from(matches!(outcome, Appended::Earlier { .. }));
                    }
                }
                earlier
            })
        })
        .collect();
    let mut earlier = 0;
    for task in tasks {
        earlier += task.await.unwrap();
    }
    assert_eq!(earlier, 8 * 50 * 2 - 50);
    assert_eq!(all(&writer(server, "/operations", 0)).await.len(), 50);
}

async fn one_of_several_writers_follows_an_entry(server: &Server) {
    let first = writer(server, "/follow", 0);
    let refused = first.append(after("x", Previous::Entry("none".to_owned()))).outcome().await;
    assert_eq!(refused.unwrap_err().code, Code::Conflict);
    let tasks: Vec<_> = (0..6_u64)
        .map(|number| {
            let history = writer(server, "/follow", number);
            tokio::spawn(async move {
                let mut written = 0;
                for round in 0..30_u32 {
                    let last = ids(&history.read(1, usize::MAX).await.unwrap()).pop();
                    let previous = last.map_or(Previous::Nothing, Previous::Entry);
                    let id = format!("{number}-{round}");
                    // Some append without a condition.
                    let conditional = !round.is_multiple_of(7);
                    let name = match &previous {
                        Previous::Entry(id) => id.clone(),
                        Previous::Nothing => String::new(),
                    };
                    let new = if conditional {
                        NewEntry { previous: Some(previous), ..entry(&id, &json!(name)) }
                    } else {
                        entry(&id, &Value::Null)
                    };
                    match history.append(new).outcome().await {
                        Ok(_) => written += 1,
                        Err(error) => assert_eq!(error.code, Code::Conflict, "{error}"),
                    }
                }
                written
            })
        })
        .collect();
    let mut written = 0;
    for task in tasks {
        written += task.await.unwrap();
    }
    let log = entries(&first.read(1000, usize::MAX).await.unwrap());
    assert_eq!(log.len(), written);
    let mut before = "";
    for entry in &log {
        if let Some(expected) = entry["result"].as_str() {
            assert_eq!(before, expected, "an entry is between the two");
        }
        before = entry["id"].as_str().unwrap();
    }
}

async fn a_compaction_keeps_operations_and_writes_its_summary_first(server: &Server) {
    let history = writer(server, "/compact", 0);
    for number in 0..10 {
        let (id, operation) = (number.to_string(), format!("operation {number}"));
        history.append(with_operation(&id, &operation)).outcome().await.unwrap();
    }
    let (plan, dropped) = history.plan(keep_last(3), true).await.unwrap();
    assert_eq!((plan.kept_entries, plan.dropped_entries), (3, 7));
    assert_eq!(ids(&dropped), ["0", "1", "2", "3", "4", "5", "6"]);
    // It goes through JavaScript as JSON.
    let plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    let line = json!({"tool_name": "summary", "id": "s", "summary": "seven"}).to_string();
    let summary = Some(Summary { line, redaction: None });
    let (report, _) = history.compact(plan, summary).await.unwrap();
    assert_eq!(report.bytes_after, history.verify().await.unwrap().bytes);
    assert_eq!(all(&history).await, ["s", "7", "8", "9"]);
    let repeated = history.append(with_operation("again", "operation 2")).outcome().await.unwrap();
    let Appended::Earlier { entry } = repeated else { panic!("it was written again") };
    let entry: Value = serde_json::from_slice(&entry).unwrap();
    assert_eq!((&entry["id"], &entry["compacted"]), (&json!("2"), &json!(true)));
    let (plan, _) = history.plan(keep_last(1), false).await.unwrap();
    let line = json!({"tool_name": "summary", "id": "t"}).to_string();
    history.compact(plan, Some(Summary { line, redaction: None })).await.unwrap();
    assert_eq!(all(&history).await, ["t", "9"]);
    let (plan, _) = history.plan(keep_last(0), false).await.unwrap();
    history.compact(plan, None).await.unwrap();
    assert!(all(&history).await.is_empty());
    history.append(after("new", Previous::Nothing)).outcome().await.unwrap();
    assert_eq!(all(&history).await, ["new"]);
}

async fn a_plan_of_another_log_is_refused(server: &Server) {
    let history = writer(server, "/plans", 0);
    for number in 0..10 {
        history.append(entry(&number.to_string(), &json!(1))).outcome().await.unwrap();
    }
    let (one, _) = history.plan(keep_last(5), false).await.unwrap();
    let (two, _) = history.plan(keep_last(4), false).await.unwrap();
    history.append(entry("late", &json!(1))).outcome().await.unwrap();
    history.compact(one, None).await.unwrap();
    let refused = history.compact(two, None).await.unwrap_err();
    assert_eq!(refused.code, Code::Conflict);
    assert_eq!(all(&history).await, ["5", "6", "7", "8", "9", "late"]);
}

async fn bounds_are_kept(server: &Server) {
    let database = database(server.port(), server, 20_100);
    let bounds = Bounds { max_entries: Some(100), max_bytes: None };
    let history = with_bounds(&database, "/bounds", bounds);
    for number in 0..400 {
        history.append(entry(&number.to_string(), &json!(1))).outcome().await.unwrap();
    }
    history.close().await;
    let kept = all(&history).await;
    assert!((80..=107).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().unwrap(), "399");
    let bounds = Bounds { max_entries: None, max_bytes: Some(20_000) };
    let history = with_bounds(&database, "/bytes", bounds);
    for number in 0..400 {
        history
            .append(entry(&number.to_string(), &json!("z".repeat(100))))
            .outcome()
            .await
            .unwrap();
    }
    history.close().await;
    assert!(history.verify().await.unwrap().bytes < 22_000);
}

async fn a_tail_returns_every_entry_once(server: &Server) {
    let reader = writer(server, "/tail", 100);
    for number in 0..5 {
        reader.append(entry(&format!("early-{number}"), &json!(1))).outcome().await.unwrap();
    }
    let last = reader.tail(TailStart::Last(2));
    assert_eq!(ids(&last.next().await.unwrap()), ["early-3", "early-4"]);
    let after = reader.tail(TailStart::After("early-1".to_owned()));
    assert_eq!(ids(&after.next().await.unwrap()), ["early-2", "early-3", "early-4"]);
    let missing = reader.tail(TailStart::After("none".to_owned())).next().await;
    assert_eq!(missing.unwrap_err().code, Code::NotFound);
    let is_over = Arc::new(AtomicBool::new(false));
    let follower = {
        let is_over = Arc::clone(&is_over);
        tokio::spawn(async move {
            let mut seen = Vec::new();
            loop {
                let was_over = is_over.load(Ordering::SeqCst);
                let new = ids(&last.next().await.unwrap());
                if was_over && new.is_empty() {
                    return seen;
                }
                seen.extend(new);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
    };
    let tasks: Vec<_> = (0..6_u64)
        .map(|number| {
            let history = writer(server, "/tail", number);
            tokio::spawn(async move {
                for round in 0..150 {
                    let id = format!("{number}-{round}");
                    history.append(entry(&id, &json!(1))).outcome().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1100)).await;
    is_over.store(true, Ordering::SeqCst);
    let seen = follower.await.unwrap();
    assert_eq!(seen.len(), 900);
    assert_in_order_of_writers(&seen);
    let mut delivered = Vec::new();
    while delivered.len() < 900 {
        delivered.extend(ids(&after.next().await.unwrap()));
    }
    assert_eq!(delivered.len(), 900);
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

async fn compaction_loses_nothing_that_others_append(server: &Server) {
    let is_over = Arc::new(AtomicBool::new(false));
    let dropped = Arc::new(AtomicU64::new(0));
    let compactors: Vec<_> = (0..2_u64)
        .map(|number| {
            let history = writer(server, "/busy", 50 + number);
            let (is_over, dropped) = (Arc::clone(&is_over), Arc::clone(&dropped));
            tokio::spawn(async move {
                let mut removed = BTreeSet::new();
                while !is_over.load(Ordering::SeqCst) {
                    let (plan, entries) = history.plan(keep_last(20), true).await.unwrap();
                    if plan.dropped_entries == 0 {
                        continue;
                    }
                    match history.compact(plan, None).await {
                        Ok((report, _)) => {
                            dropped.fetch_add(report.dropped_entries, Ordering::SeqCst);
                            removed.extend(ids(&entries));
                        }
                        Err(error) => assert_eq!(error.code, Code::Conflict, "{error}"),
                    }
                }
                removed
            })
        })
        .collect();
    let writers: Vec<_> = (0..4_u64)
        .map(|number| {
            let history = writer(server, "/busy", number);
            tokio::spawn(async move {
                for round in 0..200 {
                    let id = format!("{number}-{round}");
                    history.append(entry(&id, &json!(1))).outcome().await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    is_over.store(true, Ordering::SeqCst);
    let mut seen = BTreeSet::new();
    for compactor in compactors {
        for id in compactor.await.unwrap() {
            assert!(seen.insert(id), "it was dropped twice");
        }
    }
    assert_eq!(seen.len() as u64, dropped.load(Ordering::SeqCst));
    let kept = all(&writer(server, "/busy", 0)).await;
    assert_in_order_of_writers(&kept);
    for id in kept {
        assert!(seen.insert(id), "it was dropped, and is there");
    }
    assert_eq!(seen.len(), 800);
}

async fn a_clock_that_was_ahead_changes_no_order(server: &Server) {
    let history = writer(server, "/clock", 0);
    history.append(entry("0-0", &json!(1))).outcome().await.unwrap();
    let sql = "UPDATE {schema}.entry SET at = at + 86400000000 * 1024 WHERE namespace = '/clock'";
    let database = database(server.port(), server, 20_000);
    database.statement(Intent::Write, sql, &Parameters::new()).await.unwrap();
    let tasks: Vec<_> = (0..4_u64)
        .map(|number| {
            let history = writer(server, "/clock", number);
            tokio::spawn(async move {
                for round in 1..20 {
                    let id = format!("{number}-{round}");
                    history.append(entry(&id, &json!(1))).outcome().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let log = all(&history).await;
    assert_eq!((log.len(), log[0].as_str()), (77, "0-0"));
    assert_in_order_of_writers(&log);
}

async fn lost_answers_double_nothing(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let history = history(&database(proxy.port(), server, 20_000), "/lost");
    history.append(entry("0-0", &json!(1))).outcome().await.unwrap();
    let mut last = "0-0".to_owned();
    for round in 1..=6_u32 {
        proxy.set_swallows(true);
        let cutting = proxy.clone();
        let cutter = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            cutting.set_swallows(false);
            cutting.cut();
        });
        let id = format!("0-{round}");
        let new = match round % 3 {
            0 => entry(&id, &json!(1)),
            1 => after(&id, Previous::Entry(last)),
            _ => with_operation(&id, &id),
        };
        let outcome = history.append(new).outcome().await.unwrap();
        assert!(matches!(outcome, Appended::Written { .. }), "{outcome:?}");
        cutter.await.unwrap();
        last = id;
    }
    let expected: Vec<String> = (0..=6).map(|round| format!("0-{round}")).collect();
    assert_eq!(all(&history).await, expected);
}

async fn a_restart_loses_nothing(server: &Server) {
    let acknowledged = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..4_u64)
        .map(|number| {
            let history = writer(server, "/restart", number);
            let acknowledged = Arc::clone(&acknowledged);
            tokio::spawn(async move {
                for round in 0..200 {
                    let id = format!("{number}-{round}");
                    history.append(entry(&id, &json!(1))).outcome().await.unwrap();
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    for least in [100, 400] {
        while acknowledged.load(Ordering::SeqCst) < least {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        server.stop(Stop::Immediate).unwrap();
        server.run().unwrap();
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let log = all(&writer(server, "/restart", 0)).await;
    assert_eq!(log.len(), 800);
    assert_in_order_of_writers(&log);
}

async fn an_unclear_append_says_so(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let history = history(&database(proxy.port(), server, 700), "/unclear");
    history.append(entry("0-0", &json!(1))).outcome().await.unwrap();
    proxy.set_swallows(true);
    let error = history.append(entry("0-1", &json!(1))).outcome().await.unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error}");
    assert!(error.may_exist(), "{error}");
    proxy.set_swallows(false);
    proxy.cut();
    history.append(entry("0-2", &json!(1))).outcome().await.unwrap();
    let log = all(&history).await;
    assert_eq!((log.first().unwrap().as_str(), log.last().unwrap().as_str()), ("0-0", "0-2"));
    assert_in_order_of_writers(&log);
}
