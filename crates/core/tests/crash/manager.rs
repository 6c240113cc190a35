//! Crashes of managers.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use agent_context_core::{
    Debug,
    context::{Manager, ManagerOptions, Retention},
};
use serde_json::Value;
use simulator::{SimulatedDisk, Survival};
use storage::{Disk, Durability, layout};

use crate::{
    contexts_story::{
        Contexts, DIRECTORY, bytes_without_record, context_names, hidden, load, manager_on,
        path_of, save, save_bytes, save_stream, strict,
    },
    cuts::{Found, SUBSETS, cut_everywhere, runtime},
    evidence::Group,
    process::process_on,
};
use Durability::{Full, Process};

/// Random losses of each of the stories.
const EACH: usize = SUBSETS.div_ceil(10);

/// Lengths of results, from less than a block to several blocks.
const LENGTHS: [usize; 5] = [20, 5000, 100, 9000, 4000];

/// Checks that the directory stays usable after a crash: with a save, a power failure and a sweep.
async fn goes_on(story: &Contexts, found: &Found) {
    let before = story.check(found).await;
    let next = manager_on(&found.disk, "next", Full);
    let path = save(&next, "next", 5000).await;
    let record = load(&next, &path).await.unwrap();
    let disk = found.disk.crash(usize::MAX, Survival::Nothing);
    let reader = manager_on(&disk, "reader", Process);
    assert!(load(&reader, &path).await.unwrap() == record);
    for (name, record) in &before {
        assert!(load(&reader, &path_of(name)).await.unwrap() == *record, "a save disturbed {name}");
    }
    redeem_all(&reader, &before).await;
    resume_all(&disk, &before).await;
    // All sessions except `next` are dead.
    next.sweep().await.unwrap();
    assert_eq!(hidden(&found.disk), (1, 0), "leases and temporary files");
    assert!(load(&next, &path).await.unwrap() == record);
    for name in before.keys() {
        assert!(!context_names(&found.disk).contains(name), "{name} is left");
    }
    // A power failure may lose the line that names the session of binary data; such a file is kept
    // until it is old.
    if found.is_killed() {
        assert_eq!(bytes_without_record(&found.disk), 0, "bytes that no record names");
    }
    assert_eq!(next.clear(next.begin_clear()).await.unwrap(), 1);
    assert_eq!(hidden(&found.disk), (0, 0));
}

/// A member of a record.
fn noted<'a>(record: &'a Value, key: &str) -> &'a str {
    record.get(key).and_then(Value::as_str).unwrap()
}

/// Every context is found by its handle, whatever is left of the table of handles.
async fn redeem_all(reader: &Arc<Manager>, records: &BTreeMap<String, Vec<u8>>) {
    for (name, record) in records {
        let value: Value = serde_json::from_slice(record).unwrap();
        let redeemed = load(reader, noted(&value, "handle")).await;
        assert!(redeemed.as_ref() == Ok(record), "{name}: {redeemed:?}");
    }
}

/// A process that resumes a session has all of its durable contexts.
async fn resume_all(disk: &SimulatedDisk, records: &BTreeMap<String, Vec<u8>>) {
    let mut sessions: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (name, record) in records {
        let value: Value = serde_json::from_slice(record).unwrap();
        let session = noted(&value, "sessionId");
        if layout::may_be_of_session(name, session) {
            sessions.entry(session.to_owned()).or_default().insert(name);
        }
    }
    for (session, names) in sessions {
        let own = ManagerOptions { session, session_is_named: true, resumes: true, ..strict() };
        let manager = Manager::new(own, process_on(disk), Debug::default());
        manager.resume().await.unwrap();
        let (_, rows) = manager.pointers_from(0, usize::MAX);
        let rows: Vec<Vec<Value>> = serde_json::from_str(&rows).unwrap();
        let resumed: BTreeSet<&str> =
            rows.iter().filter_map(|row| row.first().and_then(Value::as_str)).collect();
        // A removal that was not durable may be undone.
        assert!(resumed.is_superset(&names), "{resumed:?} of {names:?}");
        manager.close(manager.calls()).await;
    }
}

fn saved_streams(name: &'static str, durability: Durability) {
    let mut story = Contexts::new(SimulatedDisk::new(), durability);
    let manager = manager_on(&story.disk, "session", durability);
    runtime().block_on(async {
        let first = save_stream(&manager, "first", &[b"text", b"of", b"pieces"]).await;
        story.step().await;
        save_stream(&manager, "second", &[b"text", b"\xff", b"bytes"]).await;
        story.step().await;
        assert!(manager.forget(&first).await.unwrap());
        story.step().await;
        manager.close(manager.calls()).await;
        story.step().await;
        let other = manager_on(&story.disk, "other", durability);
        save(&other, "other", 100).await;
        story.step().await;
        other.sweep().await.unwrap();
        story.swept().await;
        other.close(other.calls()).await;
    });
    assert_eq!(story.counts(), (3, 1));
    assert_eq!(bytes_without_record(&story.disk), 0);
    cut_contexts(name, &story);
}

#[test]
fn streams_at_process() {
    saved_streams("streams, process", Process);
}

#[test]
fn streams_at_full() {
    saved_streams("streams, full", Full);
}

fn saved_bytes(name: &'static str, disk: SimulatedDisk, durability: Durability) {
    let mut story = Contexts::new(disk, durability);
    let manager = manager_on(&story.disk, "session", durability);
    runtime().block_on(async {
        let first = save_bytes(&manager, "first", 5000).await;
        story.step().await;
        save_bytes(&manager, "second", 300).await;
        story.step().await;
        assert!(manager.forget(&first).await.unwrap());
        story.step().await;
        manager.close(manager.calls()).await;
        story.step().await;
        let other = manager_on(&story.disk, "other", durability);
        save(&other, "other", 100).await;
        story.step().await;
        // The first session is over.
        other.sweep().await.unwrap();
        story.swept().await;
        other.close(other.calls()).await;
    });
    assert_eq!(story.counts(), (3, 1));
    assert_eq!(bytes_without_record(&story.disk), 0);
    cut_contexts(name, &story);
}

#[test]
fn bytes_at_process() {
    saved_bytes("bytes, process", SimulatedDisk::new(), Process);
}

#[test]
fn bytes_at_full() {
    saved_bytes("bytes, full", SimulatedDisk::new(), Full);
}

fn cut_contexts(name: &'static str, story: &Contexts) {
    cut_everywhere(Group::Manager, name, &story.disk, DIRECTORY, EACH, async |found| {
        goes_on(story, found).await;
    });
}

fn saved(name: &'static str, disk: SimulatedDisk, durability: Durability) {
    let mut story = Contexts::new(disk, durability);
    let manager = manager_on(&story.disk, "session", durability);
    runtime().block_on(async {
        for (number, length) in LENGTHS.into_iter().enumerate() {
            save(&manager, &number.to_string(), length).await;
            story.step().await;
        }
        manager.close(manager.calls()).await;
        story.step().await;
        save(&manager, "again", 10).await;
        story.step().await;
    });
    assert_eq!(story.counts(), (LENGTHS.len() + 1, LENGTHS.len() + 1));
    cut_contexts(name, &story);
}

#[test]
fn saved_at_process() {
    saved("saves, process", SimulatedDisk::new(), Process);
}

#[test]
fn saved_at_full() {
    saved("saves, full", SimulatedDisk::new(), Full);
}

#[test]
fn saved_under_temporary_names() {
    let disk = || SimulatedDisk::new().without_unnamed_files();
    saved("saves under temporary names, process", disk(), Process);
    saved("saves under temporary names, full", disk(), Full);
}

/// Large outputs are written to disk, small ones when the memory cache is full.
fn spilled(name: &'static str, durability: Durability) {
    let mut story = Contexts::new(SimulatedDisk::new(), durability);
    let own = ManagerOptions { persist_all: false, memory_budget: 3000, durability, ..strict() };
    let manager = Manager::new(own, process_on(&story.disk), Debug::default());
    runtime().block_on(async {
        for (number, length) in [900, 900, 900, 5000, 900, 100, 900, 9000].into_iter().enumerate() {
            save(&manager, &number.to_string(), length).await;
            story.step().await;
        }
    });
    assert!(manager.stats().spills >= 3 && manager.stats().memory_contexts > 0);
    assert_eq!(story.counts().0 as u64, manager.stats().disk_contexts);
    cut_contexts(name, &story);
}

#[test]
fn spilled_at_process() {
    spilled("spills, process", Process);
}

#[test]
fn spilled_at_full() {
    spilled("spills, full", Full);
}

fn removed(name: &'static str, durability: Durability) {
    let mut story = Contexts::new(SimulatedDisk::new(), durability);
    runtime().block_on(async {
        let own = ManagerOptions { session_is_named: true, durability, ..strict() };
        let [one, other] =
            [(); 2].map(|()| Manager::new(own.clone(), process_on(&story.disk), Debug::default()));
        let mut paths = Vec::new();
        for (number, length) in LENGTHS.into_iter().enumerate() {
            paths.push(save(&one, &number.to_string(), length).await);
            story.step().await;
        }
        assert!(one.forget(&paths[1]).await.unwrap());
        story.step().await;
        // Another process of the session removes contexts that this one saved.
        assert!(other.forget(&paths[3]).await.unwrap());
        story.step().await;
        save(&other, "other", 5000).await;
        story.step().await;
        one.clear_pointers();
        assert_eq!(one.clear(one.begin_clear()).await.unwrap(), 4);
        story.step().await;
        save(&one, "last", 100).await;
        story.step().await;
        one.close(one.calls()).await;
        other.close(other.calls()).await;
        story.step().await;
    });
    assert_eq!(story.counts(), (LENGTHS.len() + 2, 1));
    cut_contexts(name, &story);
}

#[test]
fn removed_at_process() {
    removed("forgotten and cleared, process", Process);
}

#[test]
fn removed_at_full() {
    removed("forgotten and cleared, full", Full);
}

/// A live session stays within its bounds.
fn bounded(name: &'static str, durability: Durability) {
    let mut story = Contexts::new(SimulatedDisk::new(), durability);
    runtime().block_on(async {
        let strict = strict();
        let retention = Retention { max_live_files: 2, ..strict.retention };
        let own = ManagerOptions { session_is_named: true, durability, retention, ..strict };
        let manager = Manager::new(own, process_on(&story.disk), Debug::default());
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let path = save(&manager, &number.to_string(), length).await;
            if number == 0 {
                assert!(manager.pin(&path, true).await.unwrap());
            }
            manager.sweep().await.unwrap();
            story.swept().await;
        }
        manager.close(manager.calls()).await;
        story.step().await;
    });
    assert_eq!(story.counts(), (LENGTHS.len(), 2));
    cut_contexts(name, &story);
}

#[test]
fn bounded_at_process() {
    bounded("bounds of a live session, process", Process);
}

#[test]
fn bounded_at_full() {
    bounded("bounds of a live session, full", Full);
}

/// A disk with a dead session: its contexts, its lease, and an unfinished file.
pub async fn after_a_death() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let dead = manager_on(&disk, "dead", Process);
    for (number, length) in LENGTHS.into_iter().enumerate() {
        save(&dead, &format!("dead{number}"), length).await;
    }
    let temporary = Path::new(DIRECTORY).join(".0123456789abcdef-1.tmp");
    Disk::write_new(&disk, &temporary, b"{\"toolName\"", false).unwrap();
    disk.kill(usize::MAX)
}

fn swept(name: &'static str, durability: Durability) {
    let mut story = Contexts::new(runtime().block_on(after_a_death()), durability);
    runtime().block_on(async {
        story.step().await;
        let [one, other]: [Arc<Manager>; 2] =
            ["one", "other"].map(|session| manager_on(&story.disk, session, durability));
        save(&one, "one", 5000).await;
        story.step().await;
        let report = one.sweep().await.unwrap();
        assert_eq!((report.deleted_files, report.deleted_temporaries), (5, 1));
        story.swept().await;
        save(&other, "other", 100).await;
        save(&other, "other2", 5000).await;
        story.step().await;
        other.close(other.calls()).await;
        story.step().await;
        assert_eq!(one.clear_directory(one.begin_clear()).await.unwrap(), 3);
        story.step().await;
        save(&one, "last", 10).await;
        story.step().await;
    });
    assert_eq!(story.counts(), (LENGTHS.len() + 4, 1));
    cut_contexts(name, &story);
}

#[test]
fn swept_at_process() {
    swept("swept and cleared directories, process", Process);
}

#[test]
fn swept_at_full() {
    swept("swept and cleared directories, full", Full);
}
