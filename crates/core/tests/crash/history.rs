//! Crashes of histories.

use std::{path::Path, sync::Arc, time::Duration};

use agent_context_core::{
    Code, Debug, Result,
    history::{
        Appended, CompactReport, Filter, History, HistoryOptions, NewEntry, Policy, Previous,
        Summary,
    },
};
use json_text::Encoded;
use serde_json::{Value, json};
use simulator::{SimulatedDisk, Survival};
use storage::{Access, Disk, Durability, layout};

use crate::{
    cuts::{Found, SUBSETS, cut_everywhere, runtime},
    evidence::Group,
    log::{LENGTHS, log_path, replacements, torn},
    process::process_on,
    story::{DIRECTORY, Line, NAME, Story, text, whole_lines},
};
use Durability::{Full, Process};

/// Random losses of each story: four stories are short, two are long.
const EACH: usize = 4800;
const EACH_LONG: usize = 400;
const _: () = assert!(4 * EACH + 2 * EACH_LONG >= SUBSETS);

/// The history, as another process would have it.
pub fn history_on(disk: &SimulatedDisk, durability: Durability) -> Arc<History> {
    let options = HistoryOptions {
        path: log_path(),
        durability,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: 1 << 20,
        bounds: agent_context_core::history::Bounds::default(),
        trust: agent_context_core::Trust::default(),
    };
    History::new(options, process_on(disk), Debug::default())
}

/// A unique entry of at least this many bytes.
pub fn entry(id: &str, length: usize) -> NewEntry {
    let encode = |value: &Value| Encoded::Text(value.to_string().encode_utf16().collect());
    let rest = json!({"success": true, "timestamp": "2026-01-01T00:00:00Z", "id": id});
    NewEntry {
        tool_name: "tool".to_owned(),
        params: encode(&json!({ "of": id })),
        result: encode(&json!("x".repeat(length))),
        rest: rest.to_string(),
        operation_id: None,
        previous: None,
        redaction: None,
    }
}

pub async fn append(history: &Arc<History>, id: &str, length: usize) -> Result<()> {
    history.append(entry(id, length)).outcome().await.map(drop)
}

/// Keeps the last entries, with a summary before them.
pub async fn compact(history: &Arc<History>, kept: u64) -> Result<CompactReport> {
    compact_while(history, kept, async || {}).await
}

/// As [`compact`]; `meanwhile` runs between the plan and its execution.
async fn compact_while(
    history: &Arc<History>,
    kept: u64,
    meanwhile: impl AsyncFnOnce(),
) -> Result<CompactReport> {
    let policy = Policy { keep_last: Some(kept), ..Policy::default() };
    let (plan, dropped) = history.plan(policy, true).await?;
    let dropped: Vec<Value> = values(&dropped);
    let ids: Vec<&Value> = dropped.iter().map(|entry| &entry["id"]).collect();
    let summary = json!({"tool_name": "summary", "result": ids, "padding": "s".repeat(5000)});
    meanwhile().await;
    let summary = Summary { line: summary.to_string(), redaction: None };
    history.compact(plan, Some(summary)).await.map(|(report, _)| report)
}

/// Parses the entries that were read.
pub fn values(texts: &[Vec<u8>]) -> Vec<Value> {
    texts.iter().flat_map(|text| serde_json::from_slice::<Vec<Value>>(text).unwrap()).collect()
}

/// The entry that a line is read as, with the names of JavaScript.
fn public(line: &Line) -> Value {
    let mut entry: Value = serde_json::from_slice(&line.0).unwrap();
    let members = entry.as_object_mut().unwrap();
    let name = members.remove("tool_name").unwrap();
    members.insert("toolName".to_owned(), name);
    for (key, value) in [
        ("params", Value::Null),
        ("result", Value::Null),
        ("success", json!(true)),
        ("summary", Value::Null),
        ("timestamp", Value::Null),
    ] {
        members.entry(key).or_insert(value);
    }
    entry
}

/// Checks that a history reads, finds and counts exactly these lines.
pub async fn check_read(disk: &SimulatedDisk, lines: &[Line]) {
    let history = history_on(disk, Process);
    let mut read = values(&history.read(usize::MAX, usize::MAX).await.unwrap());
    let expected: Vec<Value> = lines.iter().map(public).collect();
    for (entry, expected) in read.iter_mut().zip(&expected) {
        if expected.get("id").is_none() {
            entry.as_object_mut().unwrap().remove("id");
        }
    }
    assert!(read == expected, "{} entries are read, {} are there", read.len(), expected.len());
    let report = history.verify().await.unwrap();
    assert_eq!(report.entries, lines.len() as u64);
    assert_eq!(report.bytes, text(disk).len() as u64);
}

/// Checks that the history stays usable after a crash: with an append, a power failure and a
/// compaction.
async fn goes_on(story: &Story, found: &Found) {
    let before = story.check(found);
    check_read(&found.disk, &before).await;
    append(&history_on(&found.disk, Full), "after", 50).await.unwrap();
    let disk = found.disk.crash(usize::MAX, Survival::Nothing);
    let lines = whole_lines(&text(&disk));
    let (after, rest) = lines.split_last().unwrap();
    assert_eq!(rest, before, "an append to what a crash left");
    assert_eq!(public(after)["id"], "after");
    assert_eq!(replacements(&disk), 0, "the next append removes what is left");
    let history = history_on(&disk, Full);
    compact(&history, 1).await.unwrap();
    append(&history, "last", 50).await.unwrap();
    let disk = disk.crash(usize::MAX, Survival::Nothing);
    let lines = whole_lines(&text(&disk));
    let dropped: Vec<Value> = before.iter().map(|line| public(line)["id"].clone()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(public(&lines[0])["result"].as_array().unwrap().len(), dropped.len());
    assert_eq!((lines[1].clone(), &public(&lines[2])["id"]), (after.clone(), &json!("last")));
    check_read(&disk, &lines).await;
}

fn cut_history(name: &'static str, story: &Story) {
    cut_everywhere(Group::History, name, &story.disk, DIRECTORY, EACH, async |found| {
        goes_on(story, found).await;
    });
}

fn appended(name: &'static str, durability: Durability) {
    let mut story = Story::new(torn());
    runtime().block_on(async {
        let history = history_on(&story.disk, durability);
        for (number, length) in LENGTHS.into_iter().enumerate() {
            append(&history, &number.to_string(), length).await.unwrap();
            story.appended(1, durability);
        }
        let together: Vec<_> =
            (0..5).map(|number| history.append(entry(&format!("t{number}"), 2000))).collect();
        for appending in together {
            appending.outcome().await.unwrap();
        }
        story.appended(5, durability);
        history.close().await;
    });
    cut_history(name, &story);
}

#[test]
fn appended_at_process() {
    appended("appends, process", Process);
}

#[test]
fn appended_at_full() {
    appended("appends, full", Full);
}

/// Two processes append alternately, one compacts, and the other appends to the result.
fn compacted(name: &'static str, durability: Durability) {
    let mut story = Story::new(SimulatedDisk::new());
    runtime().block_on(async {
        let [one, other] = [(); 2].map(|()| history_on(&story.disk, durability));
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let history = if number % 2 == 0 { &one } else { &other };
            append(history, &number.to_string(), length).await.unwrap();
            story.appended(1, durability);
        }
        let meanwhile = async || {
            append(&other, "meanwhile", 5000).await.unwrap();
            story.appended(1, durability);
        };
        let report = compact_while(&one, 2, meanwhile).await.unwrap();
        assert_eq!((report.kept_entries, report.dropped_entries), (2, 3));
        story.rewritten();
        // The summary, the kept entries, and those that were appended meanwhile.
        assert_eq!(story.lines().len(), 4);
        for (number, length) in LENGTHS.into_iter().enumerate() {
            append(&other, &format!("later{number}"), length).await.unwrap();
            story.appended(1, durability);
        }
        let report = compact(&other, 1).await.unwrap();
        assert_eq!((report.kept_entries, report.dropped_entries), (1, 8));
        story.rewritten();
        append(&one, "end", 10).await.unwrap();
        story.appended(1, durability);
    });
    assert_eq!(story.lines().len(), 3);
    cut_history(name, &story);
}

#[test]
fn compacted_at_process() {
    compacted("appends of two processes and compactions, process", Process);
}

#[test]
fn compacted_at_full() {
    compacted("appends of two processes and compactions, full", Full);
}

const OPERATIONS: usize = 6;

/// Appends an entry with an operation id; returns whether it was written now.
async fn operate(history: &Arc<History>, number: usize, previous: Option<Previous>) -> bool {
    let id = format!("operation {number}");
    let plain = entry(&layout::random().to_string(), LENGTHS[number % LENGTHS.len()]);
    let rest = plain.rest.strip_suffix('}').unwrap();
    let rest = format!(r#"{rest},"operationId":"{id}"}}"#);
    let entry = NewEntry { rest, operation_id: Some(id), previous, ..plain };
    matches!(history.append(entry).outcome().await.unwrap(), Appended::Written { .. })
}

/// Repeats every operation after the crash; each is in the log once at the end.
async fn repeats(found: &Found) {
    let history = history_on(&found.disk, Full);
    for number in 0..OPERATIONS {
        operate(&history, number, None).await;
    }
    let again = history_on(&found.disk, Full);
    for number in 0..OPERATIONS {
        assert!(!operate(&again, number, Some(Previous::Nothing)).await, "it is known");
    }
    let disk = found.disk.crash(usize::MAX, Survival::Nothing);
    let lines: Vec<Value> = whole_lines(&text(&disk))
        .iter()
        .map(|line| serde_json::from_slice(&line.0).unwrap())
        .collect();
    for number in 0..OPERATIONS {
        let id = format!("operation {number}");
        let count = lines.iter().filter(|line| line["operationId"] == *id).count();
        assert_eq!(count, 1, "{id}");
    }
}

/// Two processes append the same operations, one compacts, and both repeat them.
fn operated(name: &'static str, durability: Durability) {
    let mut story = Story::new(SimulatedDisk::new());
    runtime().block_on(async {
        let [one, other] = [(); 2].map(|()| history_on(&story.disk, durability));
        for number in 0..OPERATIONS - 1 {
            let previous = (number == 0).then_some(Previous::Nothing);
            assert!(operate(&one, number, previous).await);
            story.appended(1, durability);
            assert!(!operate(&other, number, None).await);
        }
        let report = compact(&other, 2).await.unwrap();
        assert_eq!((report.kept_entries, report.dropped_entries), (2, 3));
        story.rewritten();
        // A record for each dropped operation, the summary, and the kept entries.
        assert_eq!(story.lines().len(), 3 + 1 + 2);
        for history in [&one, &other] {
            for number in 0..OPERATIONS - 1 {
                assert!(!operate(history, number, None).await);
            }
        }
        assert!(operate(&one, OPERATIONS - 1, None).await);
        story.appended(1, durability);
        let refused = history_on(&story.disk, durability);
        let late = NewEntry { previous: Some(Previous::Nothing), ..entry("late", 10) };
        let error = refused.append(late).outcome().await.unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        story.appended(0, durability);
    });
    cut_everywhere(Group::History, name, &story.disk, DIRECTORY, EACH_LONG, async |found| {
        story.check(found);
        repeats(found).await;
    });
}

#[test]
fn operations_at_process() {
    operated("operations of two processes and a compaction, process", Process);
}

#[test]
fn operations_at_full() {
    operated("operations of two processes and a compaction, full", Full);
}

/// The block size of the simulated disk: losses begin and end at line boundaries.
const BLOCK: usize = 4096;

/// A durable history that is long enough for an index.
pub async fn long() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let history = history_on(&disk, Process);
    for number in 0..22 {
        history.append(numbered(number, 3 * BLOCK).await).outcome().await.unwrap();
    }
    disk.kill(usize::MAX)
}

/// A long history with entries that may not be durable, its index, and the indexes of a shorter
/// one.
fn indexed(name: &'static str, is_on_medium: bool) {
    let mut story = Story::new(runtime().block_on(long()));
    runtime().block_on(async {
        let history = history_on(&story.disk, Process);
        for number in 22..28 {
            history.append(numbered(number, BLOCK).await).outcome().await.unwrap();
            story.appended(1, Process);
        }
        assert_eq!(text(&story.disk).len() % BLOCK, 0);
        if is_on_medium {
            history_on(&story.disk, Full).append(numbered(28, 500).await).outcome().await.unwrap();
            story.appended(1, Full);
        }
        let found = history.search(filters().remove(1)).await.unwrap();
        assert_eq!(values(&found).len(), story.lines().len().div_ceil(3));
        let index = format!("{NAME}.index");
        let directory = Path::new(DIRECTORY);
        assert!(Disk::read(&story.disk, directory, Path::new(&index), 1).is_ok(), "is written");
        // A shorter log, with the index of the longer one.
        compact(&history, 24).await.unwrap();
        story.rewritten();
        history.append(numbered(40, 500).await).outcome().await.unwrap();
        story.appended(1, Process);
        history.search(filters().remove(1)).await.unwrap();
    });
    cut_everywhere(Group::History, name, &story.disk, DIRECTORY, EACH_LONG, async |found| {
        story.check(found);
        check_search(&found.disk).await;
    });
}

/// Checks that searching finds the same as reading every line.
async fn check_search(disk: &SimulatedDisk) {
    check_search_of(&history_on(disk, Process), disk).await;
}

/// As [`check_search`], for an open history.
pub async fn check_search_of(history: &Arc<History>, disk: &SimulatedDisk) {
    let entries: Vec<Value> = whole_lines(&text(disk)).iter().map(public).collect();
    for filter in filters() {
        let expected = entries.iter().filter(|entry| matches(&filter, entry));
        let expected: Vec<&Value> = expected.map(|entry| &entry["params"]).collect();
        let found = values(&history.search(filter).await.unwrap());
        let found: Vec<&Value> = found.iter().map(|entry| &entry["params"]).collect();
        assert_eq!(found, expected);
    }
}

/// The block with a newline is lost, while everything else survived, including the index.
#[test]
fn an_index_finds_no_entry_that_ran_into_what_was_lost() {
    let runtime = runtime();
    let disk = runtime.block_on(long());
    runtime.block_on(check_search(&disk));
    let whole = text(&disk);
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    for end in ends.filter(|end| *end < whole.len()) {
        let mut damaged = whole.clone();
        damaged[end - BLOCK..end].fill(0);
        let disk = disk.kill(usize::MAX);
        overwrite(&disk, &damaged);
        runtime.block_on(check_search(&disk));
    }
}

/// The log is not the one that the index describes: an older index reappeared, or the file got the
/// identity of another one.
#[test]
fn an_index_of_another_log_changes_nothing() {
    let runtime = runtime();
    runtime.block_on(async {
        let disk = long().await;
        check_search(&disk).await;
        let index = format!("{NAME}.index");
        let (directory, path) = (Path::new(DIRECTORY), Path::new(DIRECTORY).join(&index));
        let old = Disk::read(&disk, directory, Path::new(&index), u64::MAX).unwrap().bytes;
        let length = text(&disk).len();
        let history = history_on(&disk, Process);
        compact(&history, 20).await.unwrap();
        for number in 50..60 {
            history.append(numbered(number, 3 * BLOCK).await).outcome().await.unwrap();
        }
        let new = text(&disk);
        assert!(new.len() > length);
        // The removal of the old index was lost.
        Disk::write_new(&disk, &path, &old, false).unwrap();
        check_search(&disk).await;
        let disk = long().await;
        check_search(&disk).await;
        overwrite(&disk, &new);
        check_search(&disk).await;
    });
}

/// Replaces the log's text in place.
fn overwrite(disk: &SimulatedDisk, text: &[u8]) {
    let file = disk.open(&log_path().file(), Access::Append).unwrap();
    file.truncate(0).unwrap();
    file.append(text).unwrap();
}

/// An entry of one of three tools, every fourth of which failed, whose line takes `length` bytes.
pub async fn numbered(number: usize, length: usize) -> NewEntry {
    let with_padding = |padding: usize| NewEntry {
        tool_name: format!("t{}", number % 3),
        rest: json!({"success": !number.is_multiple_of(4), "id": number.to_string()}).to_string(),
        ..entry(&number.to_string(), padding)
    };
    let scratch = SimulatedDisk::new();
    let written = history_on(&scratch, Process).append(with_padding(0)).outcome().await;
    written.unwrap();
    with_padding(length - text(&scratch).len())
}

/// The filters of searches in a long history.
pub fn filters() -> Vec<Filter> {
    let all = || Filter { limit: usize::MAX, ..Filter::default() };
    let of = |tool: &str| Filter { tool_names: Some(vec![tool.to_owned()]), ..all() };
    // First a filter whose result an old index does not have: the index is dropped when it is found
    // to be wrong.
    vec![of("summary"), of("t0"), of("t1"), Filter { success: Some(false), ..all() }]
}

fn matches(filter: &Filter, entry: &Value) -> bool {
    let is_tool = |names: &Vec<String>| names.iter().any(|name| entry["toolName"] == **name);
    filter.tool_names.as_ref().is_none_or(is_tool)
        && filter.success.is_none_or(|success| entry["success"] == success)
}

#[test]
fn an_index_of_what_is_on_the_medium_changes_nothing() {
    indexed("an index of what is on the medium", true);
}

#[test]
fn an_index_of_what_may_be_lost_changes_nothing() {
    indexed("an index of what may be lost", false);
}
