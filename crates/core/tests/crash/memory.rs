//! Crashes and failing disk calls of repository memories.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent_context_core::{
    Debug, Error,
    memory::{
        Draft, Identity, Memory, MemoryOptions, Migrated, Origin, RecordKind, Repository, Summary,
        SummaryBounds, directory_of, migrate,
    },
};
use serde_json::{Value, json};
use simulator::{SimulatedDisk, Survival};
use storage::Durability;

use crate::{
    cuts::{Found, SUBSETS, cut_everywhere, runtime},
    evidence::Group,
    failures::fail_everywhere,
    process::process_on,
};
use Durability::{Full, Process};

const ROOT: &str = "/shared/memory";
/// Random losses of each of the stories.
const EACH: usize = SUBSETS.div_ceil(4);

fn hash(digit: char) -> String {
    digit.to_string().repeat(64)
}

fn identity(digit: char) -> Identity {
    let workspace = PathBuf::from(format!("/work/{digit}"));
    let path = workspace.clone();
    Identity { repo_hash: hash(digit), workspace, path, remote: None, branch: None }
}

fn options(digit: char, durability: Durability) -> MemoryOptions {
    MemoryOptions {
        directory: directory_of(Path::new(ROOT), &hash(digit)),
        prefix: None,
        repository: Some(Repository::of(&identity(digit))),
        workspace: None,
        durability,
        lock_timeout: Duration::from_secs(20),
        summaries: SummaryBounds { entries: 2, bytes: 1 << 20 },
        trust: agent_context_core::Trust::default(),
    }
}

fn memory_on(disk: &SimulatedDisk, digit: char, durability: Durability) -> Arc<Memory> {
    Memory::new(options(digit, durability), &process_on(disk), Debug::default())
}

async fn upsert(memory: &Arc<Memory>, draft: Value) -> Result<String, Error> {
    let draft: Draft = serde_json::from_value(draft).unwrap();
    let stored = memory.upsert(draft, None).await?.stored;
    Ok(serde_json::from_str::<Value>(&stored).unwrap()["id"].as_str().unwrap().to_owned())
}

fn convention(title: &str, length: usize) -> Value {
    json!({ "kind": "convention", "title": title, "content": "x".repeat(length) })
}

async fn append(memory: &Arc<Memory>, step: &str, length: usize) -> Result<(), Error> {
    let summary = Summary {
        run_id: "run".to_owned(),
        step_id: step.to_owned(),
        timestamp: String::new(),
        summary: "y".repeat(length),
        tags: None,
        operation_id: None,
    };
    memory.append_summary(summary, None).await.map(drop)
}

/// The whole state that another process reads.
async fn state(disk: &SimulatedDisk, digit: char) -> Value {
    let contents = memory_on(disk, digit, Process).contents().await.unwrap();
    serde_json::from_slice(&contents).unwrap()
}

/// The state after each change, and when each was acknowledged.
struct Story {
    disk: SimulatedDisk,
    steps: Vec<(usize, Value)>,
}

impl Story {
    async fn step(&mut self) {
        let state = state(&self.disk, 'a').await;
        self.steps.push((self.disk.operations(), state));
    }

    async fn check(&self, found: &Found, durability: Durability) {
        let state = state(&found.disk, 'a').await;
        let promised = self.steps.iter().rposition(|(at, _)| *at <= found.at).unwrap_or(0);
        let mut reached = self.steps.iter().take(promised + 2).map(|(_, step)| step);
        let is_known = if found.is_killed() || durability == Full {
            reached.skip(promised).any(|step| *step == state)
        } else {
            // The latest changes may be lost, but no earlier ones.
            let (found, before) = (steps(&state), steps(self.first()));
            assert!(found.contains("two") || found.is_superset(&before), "{state}");
            let lists = ["conventions", "decisions", "notes"];
            reached.any(|step| lists.iter().all(|list| step[list] == state[list]))
        };
        assert!(is_known, "{state} is neither before nor after a change");
        let memory = memory_on(&found.disk, 'a', Full);
        upsert(&memory, convention("next", 100)).await.unwrap();
        append(&memory, "next", 100).await.unwrap();
        let left = self::state(&found.disk.crash(usize::MAX, Survival::Nothing), 'a').await;
        let latest = left["conventions"].as_array().unwrap().last().unwrap();
        assert_eq!(latest["title"], "next");
        assert_eq!(left["summaries"].as_array().unwrap().last().unwrap()["stepId"], "next");
    }

    /// Before the first change.
    fn first(&self) -> &Value {
        &self.steps[0].1
    }
}

/// A memory whose contents are all durable.
fn at_rest() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    runtime().block_on(async {
        let memory = memory_on(&disk, 'a', Full);
        for number in 0..20 {
            let content = format!("note {number}");
            upsert(&memory, json!({ "kind": "note", "content": content })).await.unwrap();
        }
        append(&memory, "at rest", 100).await.unwrap();
    });
    disk.kill(usize::MAX)
}

fn changed(name: &'static str, disk: SimulatedDisk, durability: Durability) {
    let mut story = Story { disk, steps: Vec::new() };
    let memory = memory_on(&story.disk, 'a', durability);
    runtime().block_on(async {
        story.step().await;
        let id = upsert(&memory, convention("first", 100)).await.unwrap();
        story.step().await;
        append(&memory, "one", 100).await.unwrap();
        story.step().await;
        upsert(&memory, convention("first", 9000)).await.unwrap();
        story.step().await;
        append(&memory, "two", 9000).await.unwrap();
        story.step().await;
        // The oldest summary is pruned.
        append(&memory, "three", 10).await.unwrap();
        story.step().await;
        memory.remove(RecordKind::Convention, id, None).await.unwrap();
        story.step().await;
    });
    let count = |list: &str| -> Vec<usize> {
        story.steps.iter().map(|(_, state)| state[list].as_array().unwrap().len()).collect()
    };
    let before = count("summaries")[0];
    assert_eq!(count("conventions"), [0, 1, 1, 1, 1, 1, 0]);
    assert_eq!(count("summaries"), [0, 0, 1, 1, 2, 2, 2].map(|count| 2.min(before + count)));
    cut_everywhere(Group::Memory, name, &story.disk, ROOT, EACH, async |found| {
        story.check(found, durability).await;
    });
}

#[test]
fn changes_are_whole_at_full() {
    changed("memory, full", SimulatedDisk::new(), Full);
}

#[test]
fn changes_are_whole_at_process() {
    changed("memory, process", SimulatedDisk::new(), Process);
}

#[test]
fn changes_at_process_lose_nothing_that_was_there_before() {
    changed("memory at rest, process", at_rest(), Process);
}

async fn moved(disk: &SimulatedDisk, durability: Durability) -> Result<Vec<Migrated>, Error> {
    migrate(
        &process_on(disk),
        Path::new(ROOT),
        Origin::Hash(hash('a')),
        &identity('b'),
        &options('b', durability),
        None,
        &Debug::default(),
    )
    .await
}

/// A memory that is to be moved to an existing one.
async fn about_to_move() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let (old, new) = (memory_on(&disk, 'a', Full), memory_on(&disk, 'b', Full));
    upsert(&old, convention("both", 100)).await.unwrap();
    upsert(&new, convention("both", 200)).await.unwrap();
    upsert(&old, json!({ "kind": "note", "content": "moves" })).await.unwrap();
    append(&old, "moves", 9000).await.unwrap();
    append(&new, "stays", 100).await.unwrap();
    disk
}

fn steps(state: &Value) -> BTreeSet<&str> {
    let steps = state["summaries"].as_array().unwrap().iter();
    steps.map(|summary| summary["stepId"].as_str().unwrap()).collect()
}

/// Checks that nothing is lost by a move, and that the same call completes it.
async fn check_moved(disk: &SimulatedDisk) {
    let (old, new) = (state(disk, 'a').await, state(disk, 'b').await);
    assert!(old["notes"][0]["content"] == "moves" || new["notes"][0]["content"] == "moves");
    assert!(steps(&old).contains("moves") || steps(&new).contains("moves"));
    moved(disk, Full).await.unwrap();
    let (old, new) = (state(disk, 'a').await, state(disk, 'b').await);
    assert_eq!(new["conventions"].as_array().unwrap().len(), 1);
    assert_eq!(new["conventions"][0]["content"], "x".repeat(200));
    assert_eq!(new["notes"].as_array().unwrap().len(), 1);
    assert_eq!(steps(&new), BTreeSet::from(["moves", "stays"]));
    let lists = ["conventions", "decisions", "notes", "summaries"];
    assert!(lists.iter().all(|list| old[list].as_array().unwrap().is_empty()), "{old}");
}

fn a_move(name: &'static str, durability: Durability) {
    let disk = runtime().block_on(async {
        let disk = about_to_move().await;
        let disk = disk.kill(usize::MAX);
        moved(&disk, durability).await.unwrap();
        disk
    });
    cut_everywhere(Group::Memory, name, &disk, ROOT, EACH, async |found| {
        check_moved(&found.disk).await;
    });
}

#[test]
fn a_move_loses_nothing() {
    a_move("a memory moves, full", Full);
    a_move("a memory moves, process", Process);
}

#[test]
fn a_move_fails_without_a_loss() {
    let begin = async || (about_to_move().await, ());
    let act = async |disk: &SimulatedDisk, (): &()| moved(disk, Full).await;
    fail_everywhere(Group::Memory, "a move, calls fail", begin, act, async |disk, (), failed| {
        if let Err(error) = &failed.outcome {
            assert!(error.message.contains(ROOT), "{error}");
        }
        check_moved(disk).await;
    });
}

/// A failing call changes everything or nothing, and later calls work.
fn fails(
    story: &'static str,
    durability: Durability,
    act: impl AsyncFn(&Arc<Memory>) -> Result<(), Error>,
) {
    let begin = async || {
        let disk = SimulatedDisk::new();
        let memory = memory_on(&disk, 'a', durability);
        upsert(&memory, convention("first", 100)).await.unwrap();
        append(&memory, "one", 100).await.unwrap();
        append(&memory, "two", 100).await.unwrap();
        let before = state(&disk, 'a').await;
        (disk, (memory, before))
    };
    let act = async |_: &SimulatedDisk, (memory, _): &(Arc<Memory>, Value)| act(memory).await;
    fail_everywhere(Group::Memory, story, begin, act, async |disk, (memory, before), failed| {
        let found = state(disk, 'a').await;
        let is_changed = found != *before;
        match &failed.outcome {
            Ok(()) => assert!(is_changed, "what was acknowledged is not there"),
            Err(error) => assert!(error.message.contains(ROOT), "{error}"),
        }
        if is_changed {
            let content = found["conventions"][0]["content"].as_str().unwrap().len();
            assert!(
                content == 5000 || steps(&found) == BTreeSet::from(["two", "three"]),
                "{found}"
            );
        }
        append(memory, "last", 20).await.unwrap();
        upsert(memory, convention("last", 20)).await.unwrap();
        let after = state(disk, 'a').await;
        assert_eq!(after["conventions"].as_array().unwrap().len(), 2);
        assert!(steps(&after).contains("last"));
        if durability == Full {
            assert_eq!(state(&disk.crash(usize::MAX, Survival::Nothing), 'a').await, after);
        }
    });
}

#[test]
fn calls_fail_without_half_a_change() {
    for (durability, stories) in [
        (Full, ["an upsert, full, calls fail", "a summary, full, calls fail"]),
        (Process, ["an upsert, process, calls fail", "a summary, process, calls fail"]),
    ] {
        let [upserts, summaries] = stories;
        fails(upserts, durability, async |memory| {
            upsert(memory, convention("first", 5000)).await.map(drop)
        });
        fails(summaries, durability, async |memory| append(memory, "three", 5000).await);
    }
}
