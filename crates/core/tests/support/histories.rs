//! Histories for the tests with real processes, and checks of their files.

use std::{fs, path::Path, sync::Arc, time::Duration};

use agent_context_core::{
    Debug, Result,
    history::{History, HistoryOptions, NewEntry, Policy, Summary},
};
use json_text::Encoded;
use serde_json::Value;
use storage::{Durability, LocalDisk, LogPath, layout};

pub const NAME: &str = "context.jsonl";
/// An incomplete line, as a crash leaves it.
pub const TORN: &str = r#"{"tool_name":"torn","params":{"a":"#;

pub fn log_path(directory: &Path) -> LogPath {
    LogPath {
        directory: directory.to_owned(),
        prefix: format!("{}/", directory.display()),
        name: NAME.to_owned(),
    }
}

pub fn options(directory: &Path, durability: Durability) -> HistoryOptions {
    HistoryOptions {
        path: log_path(directory),
        durability,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: 1 << 30,
        bounds: agent_context_core::history::Bounds::default(),
        trust: agent_context_core::Trust::default(),
    }
}

pub fn history(options: HistoryOptions) -> Arc<History> {
    history_with(options, Debug::default())
}

pub fn history_with(options: HistoryOptions, debug: Debug) -> Arc<History> {
    History::new(options, Arc::new(LocalDisk), debug)
}

/// An entry with this id, of about `size` bytes.
pub fn entry(id: &str, size: usize) -> NewEntry {
    NewEntry {
        tool_name: "t".to_owned(),
        params: Encoded::Text("{}".encode_utf16().collect()),
        result: Encoded::Text("null".encode_utf16().collect()),
        rest: rest(id, size),
        operation_id: None,
        previous: None,
        redaction: None,
    }
}

fn rest(id: &str, size: usize) -> String {
    let filling = id.as_bytes().last().map_or('x', |&byte| char::from(byte));
    let filling = String::from(filling).repeat(size);
    format!(
        r#"{{"success":true,"summary":"{filling}","timestamp":"2026-01-01T00:00:00.000Z","id":"{id}"}}"#
    )
}

/// The line of [`entry`], with its newline character.
pub fn line(id: &str, size: usize) -> String {
    format!(r#"{{"tool_name":"t","params":{{}},"result":null,{}"#, &rest(id, size)[1..]) + "\n"
}

pub async fn append(history: &Arc<History>, id: &str, size: usize) -> Result<()> {
    history.append(entry(id, size)).outcome().await.map(drop)
}

/// The ids of all entries that the library reads.
pub async fn ids(history: &Arc<History>) -> Vec<String> {
    let mut ids = Vec::new();
    for text in history.read(usize::MAX, usize::MAX).await.unwrap() {
        for entry in serde_json::from_slice::<Vec<Value>>(&text).unwrap() {
            ids.push(entry["id"].as_str().unwrap().to_owned());
        }
    }
    ids
}

pub fn text(directory: &Path) -> String {
    fs::read_to_string(directory.join(NAME)).unwrap_or_default()
}

pub fn replacements(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let is_replacement =
        |name: &std::ffi::OsStr| layout::is_replacement(name.to_str().unwrap(), NAME);
    entries.filter(|entry| is_replacement(&entry.as_ref().unwrap().file_name())).count()
}

/// Keeps the last `count` entries, with a summary before them.
pub async fn compact(history: &Arc<History>, count: u64, summary: &str) -> Result<()> {
    let policy = Policy { keep_last: Some(count), ..Policy::default() };
    let (plan, _) = history.plan(policy, true).await?;
    let line = line(summary, 50).trim_end().to_owned();
    history.compact(plan, Some(Summary { line, redaction: None })).await.map(drop)
}

/// The text of a log after [`compact`].
pub fn compacted(text: &str, count: usize, summary: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    line(summary, 50) + &lines[lines.len() - count..].concat()
}

/// Checks the next process: every complete line is an entry, it can append, and left-over files are
/// removed by that.
pub async fn check_next(directory: &Path) {
    let log = text(directory);
    let fresh = history(options(directory, Durability::Process));
    let is_whole = |line: &&str| line.ends_with("}\n");
    let whole = log.split_inclusive('\n').filter(is_whole).count();
    let before = ids(&fresh).await;
    assert_eq!(before.len(), whole, "every whole line is read as one entry");
    append(&fresh, "after", 10).await.unwrap();
    assert_eq!(ids(&fresh).await, [before, vec!["after".to_owned()]].concat());
    let expected = if log.is_empty() || log.ends_with('\n') { log } else { log + "\n" };
    assert!(text(directory) == expected + &line("after", 10), "nothing else was changed");
    assert_eq!(replacements(directory), 0, "no replacement outlives the first append");
    assert!(directory.join(layout::lock(NAME)).exists(), "the lock file stays");
}
