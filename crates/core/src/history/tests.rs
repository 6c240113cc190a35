use std::{fs, path::Path};

use json_text::Encoded;
use serde_json::{Value, json};
use storage::{LocalDisk, layout};
use text_index::Query;

use super::ranked::{Ranking, Window};
use super::*;

fn options(directory: &Path) -> HistoryOptions {
    let path = LogPath {
        directory: directory.to_owned(),
        prefix: format!("{}/", directory.display()),
        name: "context.jsonl".to_owned(),
    };
    HistoryOptions {
        path,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: 1 << 20,
        bounds: crate::history::Bounds::default(),
        trust: crate::safety::Trust::default(),
    }
}

fn history_in(directory: &Path) -> Arc<History> {
    History::new(options(directory), Arc::new(LocalDisk), Debug::default())
}

fn told_in(directory: &Path) -> (Arc<History>, Arc<Mutex<Vec<Value>>>) {
    // A file of another program that other users can read would be reported as well.
    #[cfg(unix)]
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let debug = Debug::new(move |_, data| heard.lock().unwrap().push(data));
    (History::new(options(directory), Arc::new(LocalDisk), debug), told)
}

fn entry(tool: &str, result: &Value, timestamp: &str) -> NewEntry {
    let text = |value: &Value| Encoded::Text(value.to_string().encode_utf16().collect());
    let rest = json!({"success": true, "summary": null, "timestamp": timestamp, "id": tool});
    NewEntry {
        tool_name: tool.to_owned(),
        params: text(&json!({})),
        result: text(result),
        rest: rest.to_string(),
        operation_id: None,
        previous: None,
        redaction: None,
    }
}

fn told(line: &str) -> Summary {
    Summary { line: line.to_owned(), redaction: None }
}

async fn append(history: &Arc<History>, tool: &str, result: Value) {
    history.append(entry(tool, &result, "2026-01-01T00:00:00Z")).outcome().await.unwrap();
}

fn entries(recalled: &Recalled) -> Vec<Value> {
    recalled.iter().flat_map(|text| serde_json::from_slice::<Vec<Value>>(text).unwrap()).collect()
}

async fn tools(history: &Arc<History>, limit: usize) -> Vec<String> {
    let read = entries(&history.read(limit, usize::MAX).await.unwrap());
    read.iter().map(|entry| entry["toolName"].as_str().unwrap().to_owned()).collect()
}

async fn found(history: &Arc<History>, filter: Filter) -> Vec<u64> {
    let found = entries(&history.search(filter).await.unwrap());
    found.iter().map(|entry| entry["result"].as_u64().unwrap()).collect()
}

use super::recall::Recalled;

fn filter() -> Filter {
    Filter { limit: 100, ..Filter::default() }
}

#[tokio::test]
async fn what_was_appended_is_read_most_recent_last() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    assert!(tools(&history, 10).await.is_empty());
    for tool in ["a", "b", "c"] {
        append(&history, tool, json!(1)).await;
    }
    assert_eq!(tools(&history, 10).await, ["a", "b", "c"]);
    assert_eq!(tools(&history, 2).await, ["b", "c"]);
    assert!(tools(&history, 0).await.is_empty());
    let line = fs::read_to_string(folder.path().join("context.jsonl")).unwrap();
    assert_eq!(
        line.lines().next().unwrap(),
        r#"{"tool_name":"a","params":{},"result":1,"success":true,"summary":null,"timestamp":"2026-01-01T00:00:00Z","id":"a"}"#
    );
}

#[tokio::test]
async fn much_is_read_on_a_thread_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    write_long(folder.path(), 2500);
    let history = history_in(folder.path());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut reading = std::pin::pin!(history.read(2000, usize::MAX));
    assert!(reading.as_mut().poll(&mut context).is_pending(), "it keeps the worker");
    assert_eq!(entries(&reading.await.unwrap()).len(), 2000);
}

#[tokio::test]
async fn reading_ends_with_the_entry_that_fills_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    for tool in ["a", "b", "c"] {
        append(&history, tool, json!("x".repeat(1000))).await;
    }
    for (bound, expected) in [(0, 0), (1, 1), (1000, 1), (1500, 2), (usize::MAX, 3)] {
        let read = entries(&history.read(10, bound).await.unwrap());
        assert_eq!(read.len(), expected, "{bound}");
        assert!(read.last().is_none_or(|last| last["toolName"] == "c"));
    }
}

#[tokio::test]
async fn bad_lines_are_skipped_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let (history, told) = told_in(folder.path());
    let long = format!("{{\"tool_name\":\"{}\"}}", "x".repeat(2 << 20));
    let text = format!(
        "{{\"tool_name\":\"a\"}}\r\n\n  \nnot json\n{{\"tool_name\":5}}\n{long}\n{{\"tool_name\":\"b\"}}\n{{\"tool_na"
    );
    fs::write(folder.path().join("context.jsonl"), text).unwrap();
    assert_eq!(tools(&history, 10).await, ["a", "b"]);
    {
        let told = told.lock().unwrap();
        assert_eq!((&told[0]["badLines"], &told[0]["firstOffset"]), (&json!(3), &json!(23)));
    }
    let report = history.verify().await.unwrap();
    assert_eq!((report.entries, report.bad_lines, report.has_torn_tail), (2, 4, true));
    let lines: Vec<u64> = report.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [4, 5, 6, 8]);
    assert_eq!(report.problems[3].reason, "torn: its end is missing");
    append(&history, "c", json!(1)).await;
    assert_eq!(tools(&history, 10).await, ["a", "b", "c"]);
    assert_eq!(history.verify().await.unwrap().bad_lines, 4, "the torn line was ended");
}

#[tokio::test]
async fn a_last_line_without_its_end_counts_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    fs::write(folder.path().join("context.jsonl"), "{\"tool_name\":\"a\"}").unwrap();
    assert_eq!(tools(&history, 10).await, ["a"]);
    append(&history, "b", json!(1)).await;
    assert_eq!(tools(&history, 10).await, ["a", "b"]);
}

#[tokio::test]
async fn entries_beyond_the_bound_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    let long = entry("a", &json!("x".repeat(1 << 20)), "");
    let error = history.append(long).outcome().await.unwrap_err();
    assert_eq!(error.code, Code::TooLarge);
    assert!(error.message.contains("maxEntryBytes"));
    let malformed = NewEntry {
        result: Encoded::Flat { operations: vec![9], units: Vec::new() },
        ..entry("a", &json!(1), "")
    };
    let error = history.append(malformed).outcome().await.unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert!(tools(&history, 10).await.is_empty());
    history.close().await;
}

#[tokio::test]
async fn closing_waits_for_what_was_appended_before_and_not_for_what_came_after() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    append(&history, "first", json!(1)).await;
    let lock = folder.path().join(layout::lock("context.jsonl"));
    let lock = storage::FileLock::new(Arc::new(LocalDisk), lock);
    let guard = lock.try_acquire().unwrap().unwrap();
    let before = history.append(entry("before", &json!(1), ""));
    let closing = tokio::spawn({
        let history = Arc::clone(&history);
        async move { history.close().await }
    });
    tokio::task::yield_now().await;
    let refused = history.append(entry("a", &json!("x".repeat(1 << 20)), ""));
    let before = tokio::spawn(before.outcome());
    assert_eq!(refused.outcome().await.unwrap_err().code, Code::TooLarge);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!closing.is_finished(), "one that was refused stands for no other");
    drop(guard);
    before.await.unwrap().unwrap();
    closing.await.unwrap();
    assert_eq!(tools(&history, 10).await, ["first", "before"]);
}

/// A log long enough for an index: entry `n` is of tool `t<n % 10>`, at `n` seconds, failed if odd.
fn write_long(directory: &Path, count: u64) {
    let mut text = String::new();
    for number in 0..count {
        let time = chrono::DateTime::from_timestamp_millis(1000 * i64::try_from(number).unwrap());
        let line = json!({
            "tool_name": format!("t{}", number % 10),
            "params": {"padding": "x".repeat(100)},
            "result": number,
            "success": number % 2 == 0,
            "timestamp": time.unwrap().to_rfc3339(),
        });
        text.push_str(&line.to_string());
        text.push('\n');
        if number == 100 {
            text.push_str("broken\n");
        }
    }
    fs::write(directory.join("context.jsonl"), text).unwrap();
}

fn filters() -> Vec<Filter> {
    let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    vec![
        filter(),
        Filter { tool_names: names(&["t3"]), ..filter() },
        Filter { tool_names: names(&["t3", "t4"]), limit: 7, ..filter() },
        Filter { tool_names: names(&["unknown"]), ..filter() },
        Filter { tool_names: names(&[]), ..filter() },
        Filter { success: Some(false), limit: 3, ..filter() },
        Filter { since: Some(10_000), until: Some(12_000), ..filter() },
        Filter { since: Some(2_000_000), ..filter() },
        Filter { text: Some("PADDING".to_owned()), limit: 2, ..filter() },
        Filter { tool_names: names(&["t5"]), text: Some("195".to_owned()), ..filter() },
        Filter { limit: 0, ..filter() },
    ]
}

async fn all_found(history: &Arc<History>) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    for filter in filters() {
        all.push(found(history, filter).await);
    }
    all
}

#[tokio::test]
async fn an_index_finds_what_a_scan_finds_and_is_only_a_cache() {
    let short = tempfile::tempdir().unwrap();
    let long = tempfile::tempdir().unwrap();
    let count = 2500;
    write_long(long.path(), count);
    // The same entries without an index, which an injected file system does not have.
    fs::copy(long.path().join("context.jsonl"), short.path().join("context.jsonl")).unwrap();
    let scanned: Vec<Vec<u64>> = {
        let text = fs::read(short.path().join("context.jsonl")).unwrap();
        let reader = LogReader::Text(text);
        let plain = history_in(short.path());
        filters()
            .into_iter()
            .map(|filter| {
                let filter = filter.prepared();
                let found = recall::scan_for_tests(&reader, &filter, &plain);
                entries(&found).iter().map(|entry| entry["result"].as_u64().unwrap()).collect()
            })
            .collect()
    };
    assert_eq!(scanned[1].len(), 100);
    assert_eq!(scanned[6], [10, 11, 12]);
    let index = long.path().join(layout::index("context.jsonl"));
    let history = history_in(long.path());
    assert_eq!(all_found(&history).await, scanned);
    assert!(index.exists());
    assert_eq!(history.verify().await.unwrap().index, IndexState::Valid);
    // Another process finds the same, also with an index that is damaged at any position, or missing.
    let whole = fs::read(&index).unwrap();
    for at in [0, 70, whole.len() / 2, whole.len() - 2] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&index, damaged).unwrap();
        let other = history_in(long.path());
        assert_eq!(other.verify().await.unwrap().index, IndexState::Damaged);
        *other.index.lock().unwrap() = None;
        assert_eq!(all_found(&other).await, scanned);
        assert_eq!(other.verify().await.unwrap().index, IndexState::Valid);
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(history.verify().await.unwrap().index, IndexState::Missing);
    assert_eq!(all_found(&history).await, scanned);
}

#[tokio::test]
async fn an_index_follows_the_log() {
    let folder = tempfile::tempdir().unwrap();
    write_long(folder.path(), 2500);
    let (history, told) = told_in(folder.path());
    let of_t3 = Filter { tool_names: Some(vec!["t3".to_owned()]), limit: 2, ..filter() };
    assert_eq!(found(&history, of_t3.clone()).await, [2483, 2493]);
    assert_eq!(told.lock().unwrap()[0]["badLines"], 1);
    append(&history, "t3", json!(9999)).await;
    assert_eq!(found(&history, of_t3.clone()).await, [2493, 9999]);
    // A different log under the same name.
    write_long(folder.path(), 2000);
    assert_eq!(found(&history, of_t3.clone()).await, [1983, 1993]);
    let policy = Policy { keep_last: Some(1600), ..Policy::default() };
    let (plan, _) = history.plan(policy, false).await.unwrap();
    let (report, _) = history.compact(plan, None).await.unwrap();
    assert_eq!(
        (report.kept_entries, report.dropped_entries, report.dropped_bad_lines),
        (1600, 400, 1)
    );
    assert_eq!(found(&history, of_t3).await, [1983, 1993]);
    assert_eq!(history.verify().await.unwrap().bad_lines, 0);
}

#[tokio::test]
async fn an_index_hides_no_last_line_without_its_end() {
    let folder = tempfile::tempdir().unwrap();
    write_long(folder.path(), 2500);
    let path = folder.path().join("context.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let of_t9 = Filter { tool_names: Some(vec!["t9".to_owned()]), limit: 2, ..filter() };
    fs::write(&path, text.trim_end()).unwrap();
    let history = history_in(folder.path());
    assert_eq!(found(&history, of_t9.clone()).await, [2489, 2499]);
    assert_eq!(found(&history, of_t9.clone()).await, [2489, 2499], "with the index made before");
    assert!(found(&history, Filter { limit: 0, ..of_t9.clone() }).await.is_empty());
    fs::write(&path, &text[..text.len() - 5]).unwrap();
    assert_eq!(found(&history, of_t9).await, [2479, 2489], "a torn one is no entry");
}

#[tokio::test]
async fn an_index_hides_no_entry_that_another_bound_allows() {
    let folder = tempfile::tempdir().unwrap();
    write_long(folder.path(), 2500);
    let history = history_in(folder.path());
    append(&history, "long", json!("x".repeat(1000))).await;
    let of_long = Filter { tool_names: Some(vec!["long".to_owned()]), ..filter() };
    let narrow = HistoryOptions { max_entry_bytes: 500, ..options(folder.path()) };
    let narrow = History::new(narrow, Arc::new(LocalDisk), Debug::default());
    assert!(entries(&narrow.search(of_long.clone()).await.unwrap()).is_empty());
    assert_eq!(history.verify().await.unwrap().index, IndexState::Stale);
    assert_eq!(entries(&history.search(of_long).await.unwrap()).len(), 1);
}

#[tokio::test]
async fn a_policy_keeps_what_every_bound_allows() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    let now = chrono::Utc::now();
    for (tool, age) in [("a", 10), ("b", 1), ("c", 10), ("d", 1), ("e", 1)] {
        let time = (now - chrono::Duration::days(age)).to_rfc3339();
        history.append(entry(tool, &json!(1), &time)).outcome().await.unwrap();
    }
    let kept = async |policy: Policy| {
        let (plan, entries_out) = history.plan(policy, true).await.unwrap();
        let out = entries(&entries_out);
        assert_eq!(plan.dropped_entries as usize, out.len());
        let out: String = out.iter().map(|entry| entry["toolName"].as_str().unwrap()).collect();
        (plan.kept_entries, out)
    };
    let line = fs::read(folder.path().join("context.jsonl")).unwrap().len() as u64 / 5;
    let days = |days: i64| Some(days * 86_400_000);
    assert_eq!(kept(Policy::default()).await, (5, String::new()));
    assert_eq!(kept(Policy { keep_last: Some(2), ..Policy::default() }).await, (2, "abc".into()));
    assert_eq!(kept(Policy { keep_last: Some(0), ..Policy::default() }).await, (0, "abcde".into()));
    assert_eq!(kept(Policy { max_age: days(5), ..Policy::default() }).await, (3, "ac".into()));
    let bytes = Policy { max_bytes: Some(2 * line + 5), ..Policy::default() };
    assert_eq!(kept(bytes).await, (2, "abc".into()));
    let both = Policy { keep_last: Some(3), max_age: days(5), ..Policy::default() };
    assert_eq!(kept(both).await, (3, "ac".into()));
}

#[tokio::test]
async fn a_compaction_puts_the_summary_first_and_loses_nothing_appended_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    for tool in ["a", "b", "c"] {
        append(&history, tool, json!(1)).await;
    }
    let policy = Policy { keep_last: Some(1), ..Policy::default() };
    let (plan, _) = history.plan(policy, false).await.unwrap();
    let (stale, _) = history.plan(policy, false).await.unwrap();
    append(&history, "d", json!(1)).await;
    let summary = json!({"tool_name": "summary", "summary": "a and b"}).to_string();
    let (report, _) = history.compact(plan, Some(told(&summary))).await.unwrap();
    assert_eq!((report.kept_entries, report.dropped_entries), (1, 2));
    assert_eq!(tools(&history, 10).await, ["summary", "c", "d"]);
    let size = fs::metadata(folder.path().join("context.jsonl")).unwrap().len();
    assert_eq!(report.bytes_after, size);
    let error = history.compact(stale, None).await.unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    let (plan, _) = history.plan(policy, false).await.unwrap();
    let error = history.compact(plan, Some(told("no entry"))).await.unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert_eq!(tools(&history, 10).await, ["summary", "c", "d"]);
}

#[tokio::test]
async fn compacting_nothing_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    let (plan, dropped) = history.plan(Policy::default(), true).await.unwrap();
    assert_eq!((plan.kept_entries, plan.dropped_entries, dropped.len()), (0, 0, 0));
    assert_eq!(history.compact(plan, None).await.unwrap_err().code, Code::Conflict);
}

async fn ranked(history: &Arc<History>, window: usize, text: &str, limit: usize) -> Vec<u64> {
    let filter = Filter { text: Some(text.to_owned()), limit, ..Filter::default() };
    let found = entries(&history.rank_within(window, filter, None).await.unwrap());
    found.iter().map(|entry| entry["params"]["n"].as_u64().unwrap()).collect()
}

/// Lines of another program, each with its number as a parameter.
fn write_numbered(directory: &Path, results: &[&str]) {
    let line = |(number, result): (usize, &&str)| {
        json!({ "tool_name": "t", "params": { "n": number }, "result": result }).to_string() + "\n"
    };
    let text: String = results.iter().enumerate().map(line).collect();
    fs::write(directory.join("context.jsonl"), text).unwrap();
}

#[tokio::test]
async fn a_ranking_gives_the_best_first_and_what_matches_alone() {
    let folder = tempfile::tempdir().unwrap();
    let history = history_in(folder.path());
    assert!(ranked(&history, 10, "login", 10).await.is_empty(), "no file");
    write_numbered(folder.path(), &["login", "weather", "login form", "the login", "forms"]);
    assert_eq!(ranked(&history, 10, "login form", 10).await, [2, 4, 3, 0]);
    assert_eq!(ranked(&history, 10, "login form", 2).await, [2, 4]);
    assert_eq!(ranked(&history, 2, "login", 10).await, [3], "the window");
    for nothing in ["zebra", "", "the"] {
        assert!(ranked(&history, 10, nothing, 10).await.is_empty(), "{nothing:?}");
    }
}

#[tokio::test]
async fn a_ranking_meets_the_other_conditions_with_an_index_and_without() {
    let folder = tempfile::tempdir().unwrap();
    write_long(folder.path(), 2500);
    let history = history_in(folder.path());
    append(&history, "other", json!("entry of another tool")).await;
    let text = Some("another tool".to_owned());
    let filter = Filter { tool_names: Some(vec!["other".to_owned()]), text, ..filter() };
    let indexed = entries(&history.rank(filter.clone(), None).await.unwrap());
    assert_eq!(indexed.len(), 1);
    assert_eq!(indexed[0]["result"], "entry of another tool");
    assert!(history.index.lock().unwrap().is_some(), "the index helped");
    let reader = LogReader::Text(fs::read(folder.path().join("context.jsonl")).unwrap());
    let query = Query::parse("another tool");
    let filter = Filter { text: None, ..filter };
    let ranking = Ranking { query: &query, embedded: None, window: 10_000 };
    let plain = history.try_rank(&reader, &ranking, &filter, &Cancelled::default());
    assert_eq!(entries(&recall::texts(plain.unwrap().unwrap())), indexed);
}

#[tokio::test]
async fn an_entry_that_changed_under_a_ranking_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    write_numbered(folder.path(), &["login one", "login two"]);
    let text = fs::read(folder.path().join("context.jsonl")).unwrap();
    let history = history_in(folder.path());
    let reader = LogReader::Text(text.clone());
    let window = history.collect(&reader, &filter(), || Window::of(5), &Cancelled::default());
    let candidates = window.unwrap().collected.candidates;
    let last = candidates.first().unwrap();
    assert!(history.read_again(&reader, last).unwrap().is_some());
    let cut = LogReader::Text(text[..text.len() - 5].to_vec());
    assert!(history.read_again(&cut, last).unwrap().is_none(), "cut");
    let other = String::from_utf8(text).unwrap().replace("two", "six").into_bytes();
    let other = LogReader::Text(other);
    assert!(history.read_again(&other, last).unwrap().is_none(), "another line");
}
