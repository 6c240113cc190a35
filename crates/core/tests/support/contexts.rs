//! Managers for the tests with real processes, and checks of their directory.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
};

use agent_context_core::{
    Debug, Result,
    context::{Manager, ManagerOptions, Retention, SaveRequest},
};
use json_text::Encoded;
use serde_json::{Value, json};
use storage::{Durability, FileSystem, LocalDisk, layout};

/// Every context is large, so it is only on disk, and loading it reads the file.
pub fn options(directory: &Path, session: &str, durability: Durability) -> ManagerOptions {
    let directory = directory.to_str().unwrap().to_owned();
    ManagerOptions {
        prefix: format!("{directory}/"),
        directory,
        session: session.to_owned(),
        session_is_named: false,
        resumes: false,
        persist_threshold: 0,
        persist_all: true,
        memory_budget: 0,
        index_budget: usize::MAX,
        retention: Retention {
            max_age: i64::MAX,
            max_files: 1_000_000,
            max_bytes: u64::MAX,
            max_result_bytes: 1 << 30,
            keep_paused: 7 * 86_400_000,
            max_paused_bytes: 1 << 30,
            max_live_bytes: u64::MAX,
            max_live_files: usize::MAX,
        },
        durability,
        trust: agent_context_core::Trust::default(),
    }
}

pub fn manager(options: ManagerOptions) -> Arc<Manager> {
    manager_on(LocalDisk, options)
}

pub fn manager_on(file_system: impl FileSystem, options: ManagerOptions) -> Arc<Manager> {
    Manager::new(options, Arc::new(file_system), Debug::default())
}

/// Saves text under a tool's name, with which the file's name begins.
pub async fn save(manager: &Arc<Manager>, tool: &str, result: &str) -> Result<String> {
    let request = SaveRequest {
        tool_name: tool.to_owned(),
        arguments: Encoded::Text("{}".encode_utf16().collect()),
        result: Encoded::String(result.encode_utf16().collect()),
        timestamp: 1_700_000_000_000,
        task: None,
        query: None,
        details: None,
        redaction: None,
    };
    manager.save(manager.begin_save(), request).await
}

/// The text that round `number` of a mutation saves, of about `size` bytes.
pub fn text(number: usize, size: usize) -> String {
    format!("<{number}>{}</{number}>", "0123456789abcdef".repeat(size / 16))
}

/// The files of a directory; empty if it does not exist.
pub fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(directory) else { return BTreeMap::new() };
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

/// The contexts among them.
pub fn contexts(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = files(directory);
    files.retain(|name, _| layout::parse_context(name).is_some());
    files
}

pub fn temporaries(directory: &Path) -> usize {
    files(directory).keys().filter(|name| layout::parse_temporary(name).is_some()).count()
}

pub fn leases(directory: &Path) -> usize {
    files(directory).keys().filter(|name| layout::parse_lease(name).is_some()).count()
}

/// Loads a context from disk; returns its result.
pub async fn load(manager: &Arc<Manager>, path: &str) -> String {
    let hits = manager.stats().disk_hits;
    let record = manager.load(path).await.unwrap().record();
    assert_eq!(manager.stats().disk_hits, hits + 1, "{path} was read from disk");
    let record: Value = serde_json::from_slice(&record).unwrap();
    record["result"].as_str().unwrap().to_owned()
}

/// Contexts that were acknowledged before: `stays` ones of a session that is live here, `goes` ones
/// of a dead session.
pub struct Kept {
    pub alive: Arc<Manager>,
}

impl Kept {
    pub async fn make(directory: &Path) -> Self {
        let alive = manager(options(directory, "alive", Durability::Full));
        save(&alive, "stays", &text(100, 3000)).await.unwrap();
        Self { alive }
    }

    /// Saves contexts of a dead session; the last `staying` of them are the youngest.
    pub async fn leave(&self, directory: &Path, going: u64, staying: u64) {
        let over = manager(options(directory, "over", Durability::Full));
        for number in 0..going + staying {
            let tool = if number < going { "goes" } else { "stays" };
            let path = save(&over, tool, &text(200, 500)).await.unwrap();
            let time =
                std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000 + number);
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }
        over.close(over.calls()).await;
    }
}

/// The `results` that are in the directory in addition to those in `before`; checks that all
/// contexts are complete.
fn found(
    directory: &Path,
    before: &BTreeMap<String, Vec<u8>>,
    results: &BTreeMap<usize, String>,
) -> BTreeSet<usize> {
    let mut rounds = BTreeSet::new();
    for (name, bytes) in contexts(directory) {
        if let Some(old) = before.get(&name) {
            assert!(*old == bytes, "{name} is what was acknowledged");
            continue;
        }
        assert!(name.starts_with("new_"), "{name} is of the mutation");
        let record: Value = serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            panic!("{name} holds {} bytes and no record: {error}", bytes.len())
        });
        let round = results.iter().find(|(_, result)| record["result"] == json!(result));
        let (round, _) = round.unwrap_or_else(|| panic!("{name} holds what nobody saved"));
        assert!(rounds.insert(*round), "{name} is there twice");
    }
    rounds
}

/// Checks the directory after a mutation: acknowledged contexts are complete, contexts to be
/// removed are complete or gone (gone if that was acknowledged), and new ones are complete. Returns
/// the rounds whose results are present.
pub async fn check(
    directory: &Path,
    before: &BTreeMap<String, Vec<u8>>,
    results: &BTreeMap<usize, String>,
    is_removed: bool,
) -> BTreeSet<usize> {
    let rounds = found(directory, before, results);
    let fresh = manager(options(directory, "check", Durability::Full));
    let now = contexts(directory);
    for name in before.keys().filter(|name| layout::parse_context(name).is_some()) {
        let may_go = name.starts_with("goes_");
        assert!(may_go || now.contains_key(name), "{name} was acknowledged and is gone");
        assert!(!(may_go && is_removed && now.contains_key(name)), "{name} was to go and is there");
    }
    for name in now.keys() {
        load(&fresh, &format!("{}/{name}", directory.display())).await;
    }
    rounds
}

/// Checks the next process: it sweeps the left-over files, saves and loads.
pub async fn check_next(directory: &Path) {
    let fresh = manager(options(directory, "next", Durability::Process));
    let path = save(&fresh, "after", "after").await.unwrap();
    assert_eq!(load(&fresh, &path).await, "after");
    fresh.sweep().await.unwrap();
    assert_eq!(temporaries(directory), 0, "no temporary file outlives a sweep");
    assert_eq!(leases(directory), 1, "no lease of the dead outlives a sweep");
    assert!(fresh.forget(&path).await.unwrap());
    fresh.close(fresh.calls()).await;
}
