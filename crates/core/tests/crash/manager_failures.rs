//! Failing disk calls of managers.

use std::{collections::BTreeMap, pin::Pin, sync::Arc};

use agent_context_core::{
    Code, Debug, Error,
    context::{Manager, ManagerOptions},
};
use simulator::{SimulatedDisk, Survival};
use storage::Durability;

use crate::{
    contexts_story::{
        DIRECTORY, context_names, hidden, load, manager_on, path_of, save, strict, try_save,
    },
    cuts::runtime,
    evidence::Group,
    failures::{Failed, fail_everywhere},
    manager::after_a_death,
    process::process_on,
};
use Durability::{Full, Process};

/// An open manager, with the records of its directory.
struct InUse {
    manager: Arc<Manager>,
    records: BTreeMap<String, Vec<u8>>,
}

/// Every record of the directory.
async fn records(disk: &SimulatedDisk) -> BTreeMap<String, Vec<u8>> {
    let reader = manager_on(disk, "reader", Process);
    let mut records = BTreeMap::new();
    for name in context_names(disk) {
        let record = load(&reader, &path_of(&name)).await.unwrap();
        records.insert(name, record);
    }
    records
}

async fn in_use(
    manager: Arc<Manager>,
    disk: SimulatedDisk,
    saves: usize,
) -> (SimulatedDisk, InUse) {
    for number in 0..saves {
        save(&manager, &number.to_string(), 5000).await;
    }
    let records = records(&disk).await;
    (disk, InUse { manager, records })
}

fn check_error<T>(error: &Error, failed: &Failed<T, Error>) {
    assert_eq!(error.code, Code::Io);
    assert_eq!(error.cause.as_ref().unwrap().kind, failed.kind());
    assert!(error.message.contains(DIRECTORY));
}

/// Checks that the session stays usable: the next save is stored, also after a power failure, and a
/// sweep by another session removes nothing of this session, and everything else.
async fn goes_on(disk: &SimulatedDisk, manager: &Arc<Manager>, durability: Durability) {
    let before = records(disk).await;
    assert_eq!(hidden(disk).1, 0, "a temporary file is left");
    let path = save(manager, "next", 5000).await;
    let after = records(disk).await;
    assert_eq!(after.len(), before.len() + 1);
    assert!(before.iter().all(|(name, record)| after[name] == *record));
    if durability == Full {
        let left = disk.crash(usize::MAX, Survival::Nothing);
        let record = load(&manager_on(&left, "reader", Process), &path).await.unwrap();
        assert!(after.values().any(|saved| *saved == record));
    }
    manager_on(disk, "sweeper", Process).sweep().await.unwrap();
    assert!(records(disk).await == after, "a sweep took what lives");
    assert_eq!(hidden(disk), (1, 0));
}

fn save_fails(
    story: &'static str,
    disk: fn() -> SimulatedDisk,
    saves: usize,
    durability: Durability,
) {
    let begin = async || {
        let disk = disk();
        in_use(manager_on(&disk, "session", durability), disk, saves).await
    };
    let act = async |_: &SimulatedDisk, used: &InUse| try_save(&used.manager, "new", 5000).await;
    fail_everywhere(Group::Manager, story, begin, act, async |disk, used, failed| {
        let found = records(disk).await;
        assert!(used.records.iter().all(|(name, record)| found[name] == *record));
        let added = found.len() - used.records.len();
        match &failed.outcome {
            Ok(path) => {
                assert_eq!(added, 1);
                assert!(load(&used.manager, path).await.is_ok());
                // An ancestor directory that may not be opened is not synchronised.
                let is_lost = saves == 0 && failed.kind() == std::io::ErrorKind::PermissionDenied;
                if durability == Full && !is_lost {
                    let left = disk.crash(usize::MAX, Survival::Nothing);
                    assert!(records(&left).await == found);
                }
            }
            Err(error) => {
                check_error(error, failed);
                assert_eq!(added, 0, "what failed left a file");
                assert_eq!(used.manager.len(), saves);
            }
        }
        let is_certain = saves > 0 || failed.kind() != std::io::ErrorKind::PermissionDenied;
        goes_on(disk, &used.manager, if is_certain { durability } else { Process }).await;
    });
}

#[test]
fn saves_fail_without_a_trace() {
    let temporary = || SimulatedDisk::new().without_unnamed_files();
    save_fails("a first save, process, calls fail", SimulatedDisk::new, 0, Process);
    save_fails("a first save, full, calls fail", SimulatedDisk::new, 0, Full);
    save_fails("a save, process, calls fail", SimulatedDisk::new, 2, Process);
    save_fails("a save, full, calls fail", SimulatedDisk::new, 2, Full);
    save_fails("a save under a temporary name, process, calls fail", temporary, 2, Process);
    save_fails("a save under a temporary name, full, calls fail", temporary, 2, Full);
}

/// Records that cannot be written to disk stay in memory.
#[test]
fn spills_fail_and_lose_nothing() {
    let begin = async || {
        let disk = SimulatedDisk::new();
        let own = ManagerOptions {
            persist_all: false,
            memory_budget: 2000,
            durability: Full,
            ..strict()
        };
        let manager = Manager::new(own, process_on(&disk), Debug::default());
        let mut paths = Vec::new();
        for number in 0..2 {
            paths.push(save(&manager, &number.to_string(), 900).await);
        }
        (disk, (manager, paths))
    };
    let act = async |_: &SimulatedDisk, (manager, _): &(Arc<Manager>, Vec<String>)| {
        try_save(manager, "new", 900).await
    };
    let story = "a save that pushes others to disk, full, calls fail";
    fail_everywhere(Group::Manager, story, begin, act, async |disk, used, failed| {
        let (manager, paths) = used;
        let new = failed.outcome.as_ref().unwrap();
        for path in paths.iter().chain([new]) {
            assert!(load(manager, path).await.is_ok(), "{path} is lost");
        }
        assert_eq!(hidden(disk).1, 0, "a temporary file is left");
        save(manager, "next", 900).await;
        for path in paths.iter().chain([new]) {
            assert!(load(manager, path).await.is_ok(), "{path} is lost");
        }
        assert!(manager.stats().spills > 1 && manager.stats().memory_bytes <= 2000);
        let there = records(disk).await;
        assert_eq!(there.len() as u64, manager.stats().disk_contexts);
    });
}

/// A removal in progress: the number of removed files.
type Removal<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + 'a>>;
/// One of the ways to remove a session's contexts.
type Remove = fn(&InUse) -> Removal<'_>;

fn forget(used: &InUse) -> Removal<'_> {
    Box::pin(async {
        let name = used.records.keys().next().unwrap();
        used.manager.forget(&path_of(name)).await.map(u64::from)
    })
}

fn clear(used: &InUse) -> Removal<'_> {
    Box::pin(async { used.manager.clear(used.manager.begin_clear()).await })
}

fn clear_directory(used: &InUse) -> Removal<'_> {
    Box::pin(async { used.manager.clear_directory(used.manager.begin_clear()).await })
}

fn removal_fails(story: &'static str, remove: Remove, removed: usize, durability: Durability) {
    let dead = runtime().block_on(after_a_death());
    let begin = async || {
        let disk = dead.kill(0);
        in_use(manager_on(&disk, "session", durability), disk, 2).await
    };
    let act = async |_: &SimulatedDisk, used: &InUse| remove(used).await;
    fail_everywhere(Group::Manager, story, begin, act, async |disk, used, failed| {
        let left = records(disk).await;
        assert!(left.iter().all(|(name, record)| used.records[name] == *record));
        assert!(left.len() >= used.records.len() - removed, "too much is gone");
        let is_done = match &failed.outcome {
            Ok(_) => left.len() == used.records.len() - removed,
            Err(error) => {
                check_error(error, failed);
                false
            }
        };
        if !is_done {
            remove(used).await.unwrap();
        }
        let left = records(disk).await;
        assert_eq!(left.len(), used.records.len() - removed);
        if durability == Full {
            let after = disk.crash(usize::MAX, Survival::Nothing);
            assert!(records(&after).await == left, "something is back");
        }
        manager_on(disk, "sweeper", Process).sweep().await.unwrap();
        goes_on(disk, &used.manager, durability).await;
    });
}

#[test]
fn removals_fail_and_are_done_again() {
    removal_fails("forgetting, process, calls fail", forget, 1, Process);
    removal_fails("forgetting, full, calls fail", forget, 1, Full);
    removal_fails("clearing, process, calls fail", clear, 2, Process);
    removal_fails("clearing, full, calls fail", clear, 2, Full);
    removal_fails("clearing the directory, process, calls fail", clear_directory, 7, Process);
    removal_fails("clearing the directory, full, calls fail", clear_directory, 7, Full);
}

/// A session sweeps while another is live: whatever fails, only files of dead sessions are removed.
#[test]
fn sweeps_fail_and_take_nothing_that_lives() {
    let dead = runtime().block_on(after_a_death());
    let begin = async || {
        let disk = dead.kill(0);
        let sweeper = manager_on(&disk, "sweeper", Process);
        let (disk, live) = in_use(manager_on(&disk, "session", Full), disk, 2).await;
        (disk, (sweeper, live))
    };
    let act = async |_: &SimulatedDisk, (sweeper, _): &(Arc<Manager>, InUse)| sweeper.sweep().await;
    let story = "a sweep, calls fail";
    fail_everywhere(Group::Manager, story, begin, act, async |disk, (sweeper, used), failed| {
        if let Err(error) = &failed.outcome {
            check_error(error, failed);
        }
        let left = records(disk).await;
        let taken = used.records.keys().filter(|name| !left.contains_key(*name));
        for name in taken {
            assert!(
                String::from_utf8_lossy(&used.records[name]).contains("\"of\":\"dead"),
                "{name}"
            );
        }
        sweeper.sweep().await.unwrap();
        let left = records(disk).await;
        assert_eq!((left.len(), hidden(disk)), (2, (1, 0)));
        assert_eq!(used.manager.len(), 2);
        goes_on(disk, &used.manager, Full).await;
    });
}

#[test]
fn loads_fail_with_a_code_and_work_again() {
    let dead = runtime().block_on(after_a_death());
    let begin = async || {
        let disk = dead.kill(0);
        let reader = manager_on(&disk, "reader", Process);
        in_use(reader, disk, 0).await
    };
    let act = async |_: &SimulatedDisk, used: &InUse| {
        let path = path_of(used.records.keys().next().unwrap());
        used.manager.load(&path).await.map(|held| held.record().to_vec())
    };
    let story = "a load, calls fail";
    fail_everywhere(Group::Manager, story, begin, act, async |_, used, failed| {
        let (name, expected) = used.records.iter().next().unwrap();
        match &failed.outcome {
            Ok(record) => assert!(record == expected),
            Err(error) => check_error(error, failed),
        }
        assert!(load(&used.manager, &path_of(name)).await.unwrap() == *expected);
    });
}
