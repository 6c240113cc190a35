//! Crashes and failing disk calls of context stores.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use agent_context_core::{
    Debug, Error,
    store::{
        Draft, Entry, EntryType, Filter, Store, StoreOptions, Superseded, Supersession, Update,
    },
};
use simulator::{SimulatedDisk, Survival};
use storage::Durability;

use crate::{
    cuts::{Found, SUBSETS, cut_everywhere, runtime},
    evidence::Group,
    failures::fail_everywhere,
    process::process_on,
};
use Durability::{Full, Process};

const DIRECTORY: &str = "/shared/store";

/// Random losses of each of the stories.
const EACH: usize = SUBSETS.div_ceil(4);

fn store_on(disk: &SimulatedDisk, durability: Durability) -> Arc<Store> {
    let options = StoreOptions {
        directory: PathBuf::from(DIRECTORY),
        agent: "agent".to_owned(),
        session_id: "session".to_owned(),
        has_session_directory: false,
        durability,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: 1 << 20,
        trust: agent_context_core::Trust::default(),
    };
    Store::new(options, &process_on(disk), Debug::default())
}

fn draft(slug: &str, length: usize) -> Draft {
    Draft {
        entry_type: EntryType::Finding,
        slug: slug.to_owned(),
        content: format!("{slug} {}", "x".repeat(length)),
        tags: vec!["tag".to_owned()],
        links: Vec::new(),
    }
}

async fn write(store: &Arc<Store>, slug: &str, length: usize) -> Result<Entry, Error> {
    store.write(draft(slug, length), None).await.map(|changed| changed.stored)
}

async fn update(store: &Arc<Store>, path: &str, length: usize) -> Result<Entry, Error> {
    let update = Update {
        path: path.to_owned(),
        description: format!("now {length}"),
        content: Some("y".repeat(length)),
        ..Update::default()
    };
    store.update(update, None).await.map(|changed| changed.stored)
}

async fn supersede(store: &Arc<Store>, path: &str, slug: &str) -> Result<Superseded, Error> {
    let supersession = Supersession {
        path: path.to_owned(),
        replacement: draft(slug, 5000),
        reason: "it is better".to_owned(),
    };
    store.supersede(supersession, None).await.map(|changed| changed.stored)
}

/// The whole state that another process reads, by path.
type State = BTreeMap<String, Entry>;

async fn entries(disk: &SimulatedDisk) -> State {
    let all = Filter { limit: usize::MAX, ..Filter::default() };
    let entries = store_on(disk, Process).search(&all, None).await.unwrap();
    entries.into_iter().map(|entry| (entry.summary.path.clone(), entry)).collect()
}

async fn state(disk: &SimulatedDisk) -> State {
    let report = store_on(disk, Process).verify().await.unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert!(report.dangling_links.is_empty(), "{:?}", report.dangling_links);
    entries(disk).await
}

/// The state after each change, and when each was acknowledged.
struct Story {
    disk: SimulatedDisk,
    steps: Vec<(usize, State)>,
}

impl Story {
    async fn step(&mut self) {
        let state = state(&self.disk).await;
        self.steps.push((self.disk.operations(), state));
    }

    async fn check(&self, found: &Found, durability: Durability) {
        let promised = self.steps.iter().rposition(|(at, _)| *at <= found.at).unwrap_or(0);
        let reached = self.steps.iter().take(promised + 2).map(|(_, step)| step);
        if found.is_killed() || durability == Full {
            let state = state(&found.disk).await;
            let is_known = reached.clone().skip(promised).any(|step| *step == state);
            assert!(is_known, "{:?} is neither before nor after the change", state.keys());
        } else {
            // The latest changes may be lost, but no earlier ones.
            let entries = entries(&found.disk).await;
            for (path, before) in &self.steps[0].1 {
                let entry = entries.get(path).unwrap();
                let is_known = |step: &State| step[path].content == entry.content;
                assert!(
                    reached.clone().any(is_known),
                    "{path} has contents that were never written"
                );
                assert!(entry.changelog.starts_with(&before.changelog), "{path}");
                // The replacement is at least as durable as the mark in the old entry.
                let replacement = entry.summary.superseded_by.as_ref();
                assert!(replacement.is_none_or(|path| entries.contains_key(path)), "{path}");
            }
        }
        let store = store_on(&found.disk, Full);
        let next = write(&store, "next", 100).await.unwrap();
        let left = found.disk.crash(usize::MAX, Survival::Nothing);
        let read = store_on(&left, Full).read(&next.summary.path).await.unwrap();
        assert_eq!(read, next);
    }
}

fn changed(name: &'static str, disk: SimulatedDisk, durability: Durability) {
    let mut story = Story { disk, steps: Vec::new() };
    let store = store_on(&story.disk, durability);
    runtime().block_on(async {
        story.step().await;
        let first = write(&store, "first", 100).await.unwrap().summary.path;
        story.step().await;
        update(&store, &first, 9000).await.unwrap();
        story.step().await;
        let Superseded { replacement, .. } = supersede(&store, &first, "second").await.unwrap();
        story.step().await;
        update(&store, &replacement.summary.path, 10).await.unwrap();
        story.step().await;
        supersede(&store, &replacement.summary.path, "third").await.unwrap();
        story.step().await;
    });
    let counts: Vec<usize> = story.steps.iter().map(|(_, state)| state.len()).collect();
    assert_eq!(counts, [0, 1, 1, 2, 2, 3]);
    cut_everywhere(Group::Store, name, &story.disk, DIRECTORY, EACH, async |found| {
        story.check(found, durability).await;
    });
}

#[test]
fn changes_are_whole_at_full() {
    changed("entries, full", SimulatedDisk::new(), Full);
    changed("entries, full, temporary names", SimulatedDisk::new().without_unnamed_files(), Full);
}

#[test]
fn changes_are_whole_at_process() {
    changed("entries, process", SimulatedDisk::new(), Process);
}

/// A store with an entry, all of it durable.
async fn at_rest() -> (SimulatedDisk, String) {
    let (disk, InUse { path, .. }) = in_use(Full).await;
    (disk.kill(usize::MAX), path)
}

#[test]
fn changes_at_process_lose_nothing_that_was_there_before() {
    let (disk, path) = runtime().block_on(at_rest());
    let mut story = Story { disk, steps: Vec::new() };
    let store = store_on(&story.disk, Process);
    runtime().block_on(async {
        story.step().await;
        update(&store, &path, 9000).await.unwrap();
        story.step().await;
        supersede(&store, &path, "second").await.unwrap();
        story.step().await;
        update(&store, &path, 10).await.unwrap();
        story.step().await;
    });
    cut_everywhere(Group::Store, "entries at rest, process", &story.disk, DIRECTORY, EACH, {
        async |found| story.check(found, Process).await
    });
}

/// An open store, its entry, and its contents.
struct InUse {
    store: Arc<Store>,
    path: String,
    before: State,
}

async fn in_use(durability: Durability) -> (SimulatedDisk, InUse) {
    let disk = SimulatedDisk::new();
    let store = store_on(&disk, durability);
    let path = write(&store, "first", 100).await.unwrap().summary.path;
    let before = state(&disk).await;
    (disk, InUse { store, path, before })
}

/// A failing call changes everything or nothing, and later calls work.
fn fails(
    story: &'static str,
    durability: Durability,
    act: impl AsyncFn(&InUse) -> Result<usize, Error>,
) {
    let act = async |_: &SimulatedDisk, used: &InUse| act(used).await;
    let begin = async || in_use(durability).await;
    fail_everywhere(Group::Store, story, begin, act, async |disk, used, failed| {
        let found = state(disk).await;
        match &failed.outcome {
            Ok(entries) => assert_eq!(found.len(), *entries),
            Err(error) => assert!(error.message.contains(DIRECTORY), "{error}"),
        }
        let old = &found[&used.path];
        if old.changelog.is_empty() {
            assert!(found == used.before, "a part of the change is there");
        } else {
            let replaced = usize::from(old.summary.superseded_by.is_some());
            assert_eq!(found.len(), used.before.len() + replaced, "a part of the change is there");
        }
        update(&used.store, &used.path, 20).await.unwrap();
        let after = state(disk).await;
        assert_eq!(after[&used.path].changelog.len(), old.changelog.len() + 1);
        if durability == Full {
            assert!(state(&disk.crash(usize::MAX, Survival::Nothing)).await == after);
        }
    });
}

#[test]
fn calls_fail_without_half_a_change() {
    for (durability, stories) in [
        (Full, ["an update, full, calls fail", "a supersession, full, calls fail"]),
        (Process, ["an update, process, calls fail", "a supersession, process, calls fail"]),
    ] {
        let [updates, supersessions] = stories;
        fails(updates, durability, async |used| {
            update(&used.store, &used.path, 5000).await.map(|_| 1)
        });
        fails(supersessions, durability, async |used| {
            supersede(&used.store, &used.path, "second").await.map(|_| 2)
        });
    }
}
