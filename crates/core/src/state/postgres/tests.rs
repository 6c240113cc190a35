//! State stores on a real server: conditions of concurrent writers, lost answers, and watchers of other processes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::time::{Duration, Instant};

use database::{Database, Settings, SettingsOptions};
use postgres_test_server::{Proxy, Server};
use serde_json::Value;

use super::*;
use crate::{
    error::Code,
    state::{
        Expected, Filter, ItemText, Kind, Listing, Order, Place, Put, SeparateValue, name,
        watch::Changed,
    },
};

/// A store as of a process of its own: stores with different settings share nothing.
fn open_at(url: &str, name: &str, max_changes: i64, process: u64) -> Arc<State> {
    let timeout = Some(Duration::from_millis(20_000 + process));
    let options = SettingsOptions { timeout, ..SettingsOptions::default() };
    let options = SharedStateOptions {
        database: Database::open(Settings::parse(url, options).unwrap()),
        name: name.to_owned(),
        max_value_bytes: 64 << 20,
        max_changes,
    };
    State::new(options, Debug::default())
}

fn open(server: &Server, name: &str, process: u64) -> Arc<State> {
    open_at(&server.url(), name, 1000, process)
}

fn place(key: &str) -> Place {
    Place { namespace: name::namespace(&["a"]), key: key.as_bytes().to_vec() }
}

fn put(key: &str, json: &str) -> Put {
    Put {
        place: place(key),
        kind: Kind::Json,
        value: json.as_bytes().to_vec(),
        encoded: None,
        expected: None,
        ttl: None,
        expires_at: None,
        media_type: None,
        report: redaction::Report::default(),
    }
}

fn put_if(key: &str, json: &str, revision: Option<&str>) -> Operation {
    let expected = revision.map_or(Expected::Absent, |text| Expected::Revision(text.to_owned()));
    Operation::Put(Put { expected: Some(expected), ..put(key, json) })
}

async fn change(state: &State, operations: Vec<Operation>) -> Result<Vec<Outcome>> {
    state.change(operations, None).outcomes().await
}

fn revision(outcome: &Outcome) -> String {
    let Outcome::Written { members, .. } = outcome else { panic!("{outcome:?}") };
    let members: Value = serde_json::from_str(members).unwrap();
    members["revision"].as_str().unwrap().to_owned()
}

async fn write(state: &State, operation: Operation) -> Result<String> {
    Ok(revision(&change(state, vec![operation]).await?[0]))
}

fn json_of(item: ItemText) -> Value {
    let mut json: Value = serde_json::from_slice(&item.json).unwrap();
    match item.values.into_iter().next() {
        Some(SeparateValue::Json(value)) => json["value"] = serde_json::from_slice(&value).unwrap(),
        Some(SeparateValue::Bytes(bytes)) => json["bytes"] = bytes.len().into(),
        _ => {}
    }
    json
}

async fn read(state: &State, key: &str) -> Option<Value> {
    state.get(place(key)).await.unwrap().map(json_of)
}

async fn value(state: &State, key: &str) -> Value {
    read(state, key).await.map_or(Value::Null, |item| item["value"].clone())
}

fn listed(changed: &Changed) -> Vec<Value> {
    serde_json::from_slice(&changed.changes).unwrap()
}

async fn until(state: &State, mut after: Position, count: usize) -> Vec<Value> {
    let mut all = Vec::new();
    while all.len() < count {
        let waiting = state.changes(after, Vec::new(), 0);
        let changed =
            tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
        all.extend(listed(&changed));
        after = changed.position;
    }
    all
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    items_are_written_read_and_removed_under_their_revisions(&server).await;
    exactly_one_of_eight_writers_wins_each_round(&server).await;
    calls_are_whole_or_nothing_in_their_order(&server).await;
    long_values_come_back_and_leave_no_chunk_behind(&server).await;
    pages_join_in_either_order(&server).await;
    expired_items_are_absent_and_swept(&server).await;
    watchers_see_each_change_of_other_processes_once(&server).await;
    positions_expire(&server).await;
    cut_connections_leave_no_half_call(&server).await;
    lost_answers_are_not_doubled_and_do_not_conflict(&server).await;
}

async fn items_are_written_read_and_removed_under_their_revisions(server: &Server) {
    let state = open(server, "/plain", 0);
    assert!(read(&state, "k").await.is_none());
    let first = write(&state, Operation::Put(put("k", "{\"n\":1}"))).await.unwrap();
    let item = read(&state, "k").await.unwrap();
    assert_eq!((&item["value"]["n"], &item["revision"]), (&1.into(), &first.clone().into()));
    let second = write(&state, put_if("k", "2", Some(&first))).await.unwrap();
    assert_eq!(read(&state, "k").await.unwrap()["createdAt"], item["createdAt"]);
    for refused in
        [put_if("k", "3", Some(&first)), put_if("k", "3", None), put_if("x", "3", Some(&first))]
    {
        let error = write(&state, refused).await.unwrap_err();
        assert_eq!(error.code, Code::Conflict, "{error}");
    }
    let error = write(&state, put_if("k", "3", Some("nonsense"))).await.unwrap_err();
    assert!(error.message.contains(&second), "{error}");
    let remove = |expected: &str| Operation::Delete {
        place: place("k"),
        expected: Some(Expected::Revision(expected.to_owned())),
    };
    assert_eq!(change(&state, vec![remove(&first)]).await.unwrap_err().code, Code::Conflict);
    let outcomes = change(&state, vec![remove(&second)]).await.unwrap();
    assert!(matches!(outcomes[0], Outcome::Deleted(true)));
    assert!(read(&state, "k").await.is_none());
    write(&state, put_if("k", "4", None)).await.unwrap();
    let other = open(server, "/other", 0);
    assert!(read(&other, "k").await.is_none(), "stores have names");
    let long = "x".repeat(3000);
    let error = write(&state, Operation::Put(put(&long, "1"))).await.unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument, "{error}");
    assert_eq!(state.verify().await.unwrap().problems, Vec::<String>::new());
    state.close().await;
    assert_eq!(value(&state, "k").await, 4);
}

async fn exactly_one_of_eight_writers_wins_each_round(server: &Server) {
    let first = open(server, "/race", 0);
    let mut last = write(&first, Operation::Put(put("counter", "0"))).await.unwrap();
    let writers: Vec<_> = (1..=8).map(|process| open(server, "/race", process)).collect();
    for round in 0..12 {
        let tasks: Vec<_> = writers
            .iter()
            .enumerate()
            .map(|(number, writer)| {
                let (writer, last) = (Arc::clone(writer), last.clone());
                tokio::spawn(async move {
                    let json = format!("[{round},{number}]");
                    match number % 2 {
                        0 => write(&writer, put_if("counter", &json, Some(&last))).await,
                        _ => {
                            let operations = vec![
                                put_if("counter", &json, Some(&last)),
                                Operation::Put(put(&format!("seen{number}"), &json)),
                            ];
                            change(&writer, operations).await.map(|all| revision(&all[0]))
                        }
                    }
                })
            })
            .collect();
        let mut won = Vec::new();
        for task in tasks {
            match task.await.unwrap() {
                Ok(revision) => won.push(revision),
                Err(error) => assert_eq!(error.code, Code::Conflict, "{error}"),
            }
        }
        assert_eq!(won.len(), 1, "round {round}");
        last = won.remove(0);
        assert_eq!(read(&first, "counter").await.unwrap()["revision"], last);
    }
}

async fn calls_are_whole_or_nothing_in_their_order(server: &Server) {
    let state = open(server, "/whole", 0);
    let refused = vec![
        Operation::Put(put("a", "1")),
        Operation::Delete { place: place("b"), expected: None },
        put_if("missing", "1", Some("1-00000000")),
    ];
    let pending = [
        state.change(vec![Operation::Put(put("b", "1"))], None),
        state.change(refused, None),
        state.change(vec![Operation::Put(put("b", "2")), Operation::Get(place("b"))], None),
        state.change(vec![Operation::Put(put("b", "3"))], None),
        state.change(vec![Operation::Put(put("b", "4")), Operation::Put(put("c", "1"))], None),
        state.change(vec![Operation::Delete { place: place("c"), expected: None }], None),
    ];
    let mut outcomes = Vec::new();
    for pending in pending {
        outcomes.push(pending.outcomes().await);
    }
    assert_eq!(outcomes[1].as_ref().unwrap_err().code, Code::Conflict);
    let read_within = outcomes[2].as_mut().unwrap().remove(1);
    let Outcome::Item(Some(item)) = read_within else { panic!("{read_within:?}") };
    assert_eq!(json_of(item)["value"], 2);
    assert_eq!([value(&state, "a").await, value(&state, "b").await], [Value::Null, 4.into()]);
    assert!(matches!(outcomes[5].as_ref().unwrap()[0], Outcome::Deleted(true)));
    assert!(read(&state, "c").await.is_none());
}

async fn long_values_come_back_and_leave_no_chunk_behind(server: &Server) {
    let state = open(server, "/long", 0);
    let chunks = async || {
        let sql = "SELECT count(*) FROM {schema}.document_chunk WHERE store = $1";
        let rows = state.store.read(sql, &state.store.parameters()).await.unwrap();
        rows[0].get::<_, i64>(0)
    };
    let text = "é".repeat(3 * rows::CHUNK);
    let long = || Operation::Put(put("k", &format!("\"{text}\"")));
    write(&state, long()).await.unwrap();
    assert_eq!(value(&state, "k").await, text.as_str());
    let bytes = Put { kind: Kind::Bytes, value: vec![7; 40 * rows::CHUNK + 1], ..put("b", "") };
    write(&state, Operation::Put(bytes)).await.unwrap();
    assert_eq!(read(&state, "b").await.unwrap()["bytes"], 40 * rows::CHUNK + 1);
    assert_eq!(chunks().await, 7 + 41);
    write(&state, long()).await.unwrap();
    assert_eq!(chunks().await, 7 + 41);
    write(&state, Operation::Put(put("k", "1"))).await.unwrap();
    assert_eq!(chunks().await, 41);
    change(&state, vec![Operation::Delete { place: place("b"), expected: None }]).await.unwrap();
    assert_eq!(chunks().await, 0);
    assert_eq!(state.verify().await.unwrap().problems, Vec::<String>::new());
}

async fn pages_join_in_either_order(server: &Server) {
    let state = open(server, "/pages", 0);
    let calls: Vec<_> = (0..700)
        .map(|number| {
            let json = format!("{{\"even\":{}}}", number % 2 == 0);
            state.change(vec![Operation::Put(put(&format!("{number:03}"), &json))], None)
        })
        .collect();
    for call in calls {
        call.outcomes().await.unwrap();
    }
    for (order, filter, limit) in [
        (Order::Key, "[]", 100),
        (Order::Updated, "[]", 100),
        (Order::Key, "[]", 1000),
        (Order::Updated, r#"[{"path":["even"],"operator":"$eq","value":true}]"#, 40),
    ] {
        let (mut keys, mut cursor) = (Vec::new(), None);
        loop {
            let listing = Listing {
                prefix: Vec::new(),
                key_prefix: b"0".to_vec(),
                filter: Filter::new(serde_json::from_str(filter).unwrap()),
                order,
                limit,
                cursor: cursor.clone(),
                root: 0,
            };
            let page = state.list(listing).await.unwrap();
            let items: Vec<Value> =
                serde_json::from_slice(&[b"[", &page.items.json[..], b"]"].concat()).unwrap();
            keys.extend(items.iter().map(|item| item["key"].as_str().unwrap().to_owned()));
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        let step = if filter == "[]" { 1 } else { 2 };
        let mut expected: Vec<String> =
            (0..100).step_by(step).map(|number| format!("{number:03}")).collect();
        if order == Order::Updated {
            expected.reverse();
        }
        assert_eq!(keys, expected);
    }
}

async fn expired_items_are_absent_and_swept(server: &Server) {
    let state = open(server, "/expiry", 0);
    let short = |key: &str| Operation::Put(Put { ttl: Some(1), ..put(key, "1") });
    write(&state, short("a")).await.unwrap();
    write(&state, short("b")).await.unwrap();
    write(&state, Operation::Put(put("c", "1"))).await.unwrap();
    let position = state.store.head().await.unwrap().position;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(read(&state, "a").await.is_none());
    write(&state, put_if("a", "2", None)).await.unwrap();
    assert_eq!(state.stats().await.unwrap().expired_items, 1);
    let swept = state.sweep().await.unwrap();
    assert_eq!((swept.expired_items, swept.erased), (1, false));
    let stats = state.stats().await.unwrap();
    assert_eq!((stats.items, stats.expired_items, stats.changes), (2, 0, 0));
    let error = state.changes(position, Vec::new(), 0).await.unwrap_err();
    assert_eq!(error.code, Code::CursorExpired);
}

async fn watchers_see_each_change_of_other_processes_once(server: &Server) {
    let watcher = open(server, "/watched", 0);
    let begin = watcher.change(vec![Operation::Position], None).position().await.unwrap();
    let tasks: Vec<_> = (1..=4_u64)
        .map(|process| {
            let state = open(server, "/watched", process);
            tokio::spawn(async move {
                let mut calls = Vec::new();
                for number in 0..60 {
                    let key = format!("{process}.{number:02}");
                    let operation = Operation::Put(put(&key, "1"));
                    let operations = match number % 7 {
                        0 => vec![
                            operation,
                            Operation::Delete { place: place("gone"), expected: None },
                        ],
                        _ => vec![operation],
                    };
                    calls.push(state.change(operations, None));
                    if number % 5 == 0 {
                        for call in calls.drain(..) {
                            call.outcomes().await.unwrap();
                        }
                    }
                }
                for call in calls {
                    call.outcomes().await.unwrap();
                }
            })
        })
        .collect();
    let changes = until(&watcher, begin.clone(), 240).await;
    for task in tasks {
        task.await.unwrap();
    }
    for process in 1..=4 {
        let prefix = format!("{process}.");
        let keys = changes.iter().map(|change| change["key"].as_str().unwrap());
        let keys: Vec<&str> = keys.filter(|key| key.starts_with(&prefix)).collect();
        let expected: Vec<String> = (0..60).map(|number| format!("{prefix}{number:02}")).collect();
        assert_eq!(keys, expected);
    }
    let middle = changes[99]["cursor"].as_str().unwrap();
    let middle = crate::state::watch::position_of(middle).unwrap();
    assert_eq!(until(&watcher, middle, 140).await, changes[100..]);
}

async fn positions_expire(server: &Server) {
    let state = open_at(&server.url(), "/bounded", 5, 0);
    let begin = state.store.head().await.unwrap().position;
    for number in 0..6 {
        write(&state, Operation::Put(put(&number.to_string(), "1"))).await.unwrap();
    }
    assert_eq!(state.stats().await.unwrap().changes, 5);
    let error = state.changes(begin.clone(), Vec::new(), 0).await.unwrap_err();
    assert_eq!(error.code, Code::CursorExpired);
    let after = Position { sequence: 1, ..begin.clone() };
    assert_eq!(until(&state, after, 5).await.len(), 5);
    let other = Position { identity: "other".to_owned(), sequence: 3 };
    let error = state.changes(other, Vec::new(), 0).await.unwrap_err();
    assert_eq!(error.code, Code::CursorExpired);
}

async fn cut_connections_leave_no_half_call(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let state = open_at(&server.url_at(proxy.port()), "/cut", 100_000, 0);
    let end = Instant::now() + Duration::from_secs(3);
    let cutting = tokio::spawn(async move {
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(37)).await;
            proxy.cut();
        }
    });
    let mut revisions: Vec<Option<String>> = vec![None; 4];
    let mut rounds = 0;
    while Instant::now() < end {
        let calls: Vec<_> = revisions
            .iter()
            .enumerate()
            .map(|(lane, revision)| {
                let (one, other) = (format!("{lane}.one"), format!("{lane}.other"));
                let json = rounds.to_string();
                let conditional = put_if(&one, &json, revision.as_deref());
                state.change(vec![conditional, Operation::Put(put(&other, &json))], None)
            })
            .collect();
        for (call, revision) in calls.into_iter().zip(&mut revisions) {
            *revision = Some(self::revision(&call.outcomes().await.unwrap()[0]));
        }
        rounds += 1;
    }
    cutting.await.unwrap();
    assert!(state.store.database.statistics().retries > 0 && rounds > 3, "{rounds} rounds");
    let observer = open(server, "/cut", 1);
    for lane in 0..4 {
        let one = value(&observer, &format!("{lane}.one")).await;
        assert_eq!(
            (&one, &one),
            (&value(&observer, &format!("{lane}.other")).await, &(rounds - 1).into())
        );
    }
    let stats = observer.stats().await.unwrap();
    assert_eq!(stats.changes, 8 * u64::try_from(rounds).unwrap(), "each call is recorded once");
}

async fn lost_answers_are_not_doubled_and_do_not_conflict(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let state = open_at(&server.url_at(proxy.port()), "/lost", 1000, 0);
    let observer = open(server, "/lost", 1);
    let first = write(&state, Operation::Put(put("k", "0"))).await.unwrap();
    let begin = observer.store.head().await.unwrap().position;
    let lose = || {
        proxy.set_swallows(true);
        let cutting = proxy.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            cutting.set_swallows(false);
            cutting.cut();
        })
    };
    let cases: [(&str, Vec<Operation>); 4] = [
        ("k", vec![put_if("k", "1", Some(&first))]),
        ("new", vec![put_if("new", "1", None)]),
        ("plain", vec![Operation::Put(put("plain", "1"))]),
        (
            "batch",
            vec![
                put_if("batch", "1", None),
                Operation::Check { place: place("x"), expected: Expected::Absent },
            ],
        ),
    ];
    for (key, operations) in cases {
        let cutter = lose();
        let written = revision(&change(&state, operations).await.unwrap()[0]);
        cutter.await.unwrap();
        assert_eq!(read(&observer, key).await.unwrap()["revision"], written, "{key}");
    }
    let changes = until(&observer, begin, 4).await;
    let keys: Vec<&str> = changes.iter().map(|change| change["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["k", "new", "plain", "batch"]);
    assert!(state.store.database.statistics().retries >= 3);
}
