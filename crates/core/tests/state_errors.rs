//! Errors at every system call of a state store's mutations: each call succeeds or fails with a
//! code, old data is intact, acknowledged changes are stored, and the next process can open the
//! file. Also a full disk, and a read-only one.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use agent_context_core::{
    Code, Debug, Result, Trust,
    state::{Kind, Operation, Outcome, Place, Put, State, StateOptions},
};
use redaction::Report;
use storage::Durability;

use support::{
    At,
    child::{self, Running},
    evidence,
    points::{self, Tally, on_two_threads},
    tracer::{Point, Thread, Tracer, points},
};

const TEST: &str = "state_errors";
/// The approximate number of points, which is reported if they cannot be tested.
const CHECKS: usize = 400;
/// The suffix of the role of a child whose calls are recorded.
const OBSERVED: &str = " observed";
/// `npm test` tests one point in this many, and `just storm` all of them.
const SAMPLE: usize = 8;
/// Calls that cannot fail because of a full disk.
const READING: [&str; 10] = [
    "pread64",
    "read",
    "fcntl",
    "close",
    "stat",
    "lstat",
    "fstat",
    "newfstatat",
    "statx",
    "unlink",
];
/// The lengths of the existing items, some of which have pages of their own.
const LENGTHS: [usize; 5] = [10, 300, 900, 5_000, 12_000];

fn open(directory: &Path, durability: Durability) -> Arc<State> {
    let options = StateOptions {
        path: directory.join("state.db"),
        durability,
        lock_timeout: Duration::from_secs(2),
        max_value_bytes: 64 << 20,
        max_changes: 1000,
        indexes: Vec::new(),
        trust: Trust { locks: true, shared: true },
    };
    State::new(options, Debug::default())
}

fn place(key: &str) -> Place {
    Place { namespace: b"a\0".to_vec(), key: key.as_bytes().to_vec() }
}

fn text(key: &str, length: usize) -> String {
    format!("\"{}\"", key.repeat(length / key.len() + 1))
}

async fn put(state: &State, key: &str, length: usize) -> Result<()> {
    let put = Put {
        place: place(key),
        kind: Kind::Json,
        value: text(key, length).into_bytes(),
        encoded: None,
        expected: None,
        ttl: None,
        expires_at: None,
        media_type: None,
        report: Report::default(),
    };
    state.change(vec![Operation::Put(put)], None).outcomes().await.map(drop)
}

async fn delete(state: &State, key: &str) -> Result<bool> {
    let delete = Operation::Delete { place: place(key), expected: None };
    let outcomes = state.change(vec![delete], None).outcomes().await?;
    Ok(matches!(outcomes.as_slice(), [Outcome::Deleted(true)]))
}

/// Whether an item exists; if so, it must be complete.
async fn is_there(state: &State, key: &str, length: usize) -> bool {
    let Some(item) = state.get(place(key)).await.unwrap() else { return false };
    let item: serde_json::Value = serde_json::from_slice(&item.json).unwrap();
    assert_eq!(item["value"].to_string(), text(key, length), "{key} is whole");
    true
}

/// The operations of the child, which reports the result of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mutation {
    /// In an existing store.
    Change { full: bool },
    /// In a new store.
    Create,
}

const MUTATIONS: [Mutation; 3] =
    [Mutation::Change { full: false }, Mutation::Change { full: true }, Mutation::Create];

impl Mutation {
    fn durability(self) -> Durability {
        match self {
            Self::Change { full: true } => Durability::Full,
            _ => Durability::Process,
        }
    }
}

#[test]
#[ignore = "a part of the other tests, in a process of its own"]
fn child() {
    let Some((role, directory)) = child::role() else { return };
    let (number, is_observed) = match role.strip_suffix(OBSERVED) {
        Some(number) => (number, true),
        None => (role.as_str(), false),
    };
    let mutation = MUTATIONS[number.parse::<usize>().unwrap()];
    let orders = child::listen();
    support::runtime().block_on(async {
        let aside = tokio::task::spawn_blocking(child::thread_id).await.unwrap();
        child::say(&format!("ready {aside}"));
        orders.recv().unwrap();
        let state = open(&directory, mutation.durability());
        let said = |step: &str, result: Result<()>| match result {
            Ok(()) => child::say(&format!("done {step}")),
            Err(error) => child::say(&format!("failed {step} {} {}", error.code, error.message)),
        };
        said("small", put(&state, "small", 40).await);
        said("large", put(&state, "large", 9_000).await);
        said("delete", delete(&state, "old-4").await.map(drop));
        said("sweep", state.swept(state.sweep()).await.map(drop));
        said("get", state.get(place("old-0")).await.map(drop));
        said("again", put(&state, "again", 700).await);
        state.close().await;
        // Its calls are not points: it succeeds, whatever happened before.
        if !is_observed {
            said("last", put(&state, "last", 40).await);
        }
    });
}

struct Ready {
    directory: PathBuf,
    folder: tempfile::TempDir,
    child: Running,
    aside: u32,
}

impl Ready {
    fn start(mutation: Mutation, suffix: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().canonicalize().unwrap().join("store");
        fs::create_dir(&directory).unwrap();
        if mutation != Mutation::Create {
            support::runtime().block_on(async {
                let state = open(&directory, Durability::Full);
                for (number, length) in LENGTHS.iter().enumerate() {
                    put(&state, &format!("old-{number}"), *length).await.unwrap();
                }
                state.close().await;
            });
        }
        let number = MUTATIONS.iter().position(|other| *other == mutation).unwrap();
        let mut child = Running::start(&format!("{number}{suffix}"), &directory);
        let aside = child.expect("ready").parse().unwrap();
        Self { directory, folder, child, aside }
    }

    fn go(&mut self, tracer: Tracer) -> Vec<String> {
        self.child.tell("go");
        let (lines, is_well) = self.child.finish();
        tracer.finish();
        assert!(is_well, "the child lives on: {lines:?}");
        lines
    }
}

/// The calls of a mutation that access the store's directory.
fn points_of(mutation: Mutation) -> Vec<Point> {
    let mut ready = Ready::start(mutation, OBSERVED);
    let file = ready.folder.path().join("trace");
    let tracer = Tracer::observe(ready.aside, &file);
    let lines = ready.go(tracer);
    assert!(lines.iter().all(|line| !line.starts_with("failed")), "{lines:?}");
    let found = points(&file, Thread::Aside, &ready.directory);
    assert!(found.len() > 30, "{mutation:?} touches files");
    found
}

fn visit(mutation: Mutation, point: &Point, error: &str, tally: &Tally) {
    let Point { call, number, shown, .. } = point;
    let _at = At(format!("{mutation:?}, {error} at {call} {number}: {shown}"));
    let mut ready = Ready::start(mutation, "");
    let expression = format!("{call}:error={error}:when={number}");
    let tracer = Tracer::tamper(&[ready.aside], &[expression]);
    let lines = ready.go(tracer);
    let done = |step: &str| lines.contains(&format!("done {step}"));
    let failed: Vec<&String> = lines.iter().filter(|line| line.starts_with("failed")).collect();
    tally.add(if failed.is_empty() { "overcome" } else { "reported" });
    for line in &failed {
        let code = line.split(' ').nth(2).unwrap_or_default();
        // SQLite reports a page that cannot be read as damage.
        let is_unreadable = code == "ERR_CONTEXT_CORRUPT" && call.contains("read");
        let is_coded =
            is_unreadable || ["ERR_CONTEXT_IO", "ERR_CONTEXT_LOCK_TIMEOUT"].contains(&code);
        assert!(is_coded && line.contains("state.db"), "{line}");
    }
    assert!(done("last"), "the next calls work: {lines:?}");
    support::runtime().block_on(async {
        let state = open(&ready.directory, Durability::Process);
        for (number, length) in LENGTHS.iter().enumerate() {
            let key = format!("old-{number}");
            let is_there = is_there(&state, &key, *length).await;
            let may_be_gone = mutation == Mutation::Create || number == 4;
            assert!(is_there || may_be_gone, "{key} is lost: {lines:?}");
        }
        for (step, length) in [("small", 40), ("large", 9_000), ("again", 700), ("last", 40)] {
            assert!(is_there(&state, step, length).await || !done(step), "{step}: {lines:?}");
        }
        let is_left = is_there(&state, "old-4", LENGTHS[4]).await;
        assert!(!(is_left && done("delete")), "{lines:?}");
        assert_eq!(state.verify().await.unwrap().problems, Vec::<String>::new());
        put(&state, "next", 40).await.unwrap();
        state.close().await;
    });
}

#[test]
fn an_error_at_a_sample_of_the_system_calls_keeps_the_old_data_and_the_file() {
    visit_one_in(SAMPLE);
}

#[test]
#[ignore = "takes minutes: a part of `just storm`"]
fn an_error_at_any_system_call_keeps_the_old_data_and_the_file() {
    visit_one_in(1);
}

fn visit_one_in(sample: usize) {
    if !evidence::can_trace(TEST, CHECKS) {
        return;
    }
    let begun = Instant::now();
    let mut visits = Vec::new();
    for mutation in MUTATIONS {
        for point in points_of(mutation) {
            // Releasing a lock does not fail on Linux.
            if point.shown.contains("F_UNLCK") {
                continue;
            }
            let writes = !READING.contains(&point.call.as_str());
            visits.extend(writes.then(|| (mutation, point.clone(), "ENOSPC")));
            visits.push((mutation, point, "EIO"));
        }
    }
    let visits: Vec<_> = visits.into_iter().step_by(sample).collect();
    let tally = Tally::default();
    on_two_threads(&visits, |(mutation, point, error)| visit(*mutation, point, error, &tally));
    let calls = points::tally(visits.iter().map(|(_, point, _)| point.call.clone()));
    evidence::record(
        TEST,
        &format!(
            "points: {} ({} reported, {} overcome) in {} mutations, {:.0} s; {calls}; checks skipped: 0",
            visits.len(),
            tally.count("reported"),
            tally.count("overcome"),
            MUTATIONS.len(),
            begun.elapsed().as_secs_f64()
        ),
    );
}

/// A separate file system, which is unmounted when this is dropped.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(options: &str) -> Self {
        let mounted = Self(tempfile::tempdir().unwrap());
        mounted.mount(&["-t", "tmpfs", "-o", options, "tmpfs"]);
        mounted
    }

    fn mount(&self, parameters: &[&str]) {
        let status = Command::new("mount").args(parameters).arg(self.0.path()).status();
        assert!(status.unwrap().success(), "mounting a tmpfs");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily, because a failed test may still have a file open.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn on_a_full_disk_changes_are_refused_until_there_is_space_again() {
    if !evidence::can_mount(TEST, 1) {
        return;
    }
    let disk = Mounted::new("size=2m");
    let directory = disk.0.path().join("store");
    fs::create_dir(&directory).unwrap();
    let filler = disk.0.path().join("filler");
    fs::write(&filler, vec![1; 512 * 1024]).unwrap();
    let state = open(&directory, Durability::Process);
    put(&state, "old", 1000).await.unwrap();
    let mut written = 0;
    let error = loop {
        match put(&state, &format!("k{written}"), 9000).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "the disk is never full");
    };
    assert_eq!(error.code, Code::Io, "{error}");
    assert!(error.message.contains("state.db"), "{error}");
    assert!(is_there(&state, "old", 1000).await);
    for number in 0..written {
        assert!(is_there(&state, &format!("k{number}"), 9000).await, "k{number}");
    }
    fs::remove_file(filler).unwrap();
    put(&state, "next", 9000).await.unwrap();
    assert!(state.verify().await.unwrap().problems.is_empty());
    state.close().await;
}

#[tokio::test]
async fn on_a_disk_that_may_not_be_written_calls_are_refused_and_the_file_is_unchanged() {
    if !evidence::can_mount(TEST, 1) {
        return;
    }
    let disk = Mounted::new("size=2m");
    let directory = disk.0.path().join("store");
    fs::create_dir(&directory).unwrap();
    let state = open(&directory, Durability::Process);
    put(&state, "old", 1000).await.unwrap();
    state.close().await;
    let file = directory.join("state.db");
    let before = fs::read(&file).unwrap();
    disk.mount(&["-o", "remount,ro"]);
    let state = open(&directory, Durability::Process);
    for error in [
        put(&state, "new", 10).await.unwrap_err(),
        delete(&state, "old").await.unwrap_err(),
        state.swept(state.sweep()).await.unwrap_err(),
    ] {
        assert_eq!(error.code, Code::Io, "{error}");
        assert!(error.message.contains("state.db"), "{error}");
    }
    state.close().await;
    assert_eq!(fs::read(&file).unwrap(), before);
    disk.mount(&["-o", "remount,rw"]);
    let state = open(&directory, Durability::Process);
    assert!(is_there(&state, "old", 1000).await);
    put(&state, "new", 10).await.unwrap();
    state.close().await;
}
