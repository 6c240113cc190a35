//! Failing disk calls of logs.

use std::{
    io,
    path::Path,
    sync::{Arc, mpsc},
};

use simulator::{SimulatedDisk, Survival};
use storage::{AppendError, Durability, LogError, sync_ancestors};
use tokio::runtime::{Builder, Runtime};

use crate::{
    cuts::{cut_everywhere, names, runtime},
    evidence::Group,
    failures::{Failed, fail_everywhere},
    log::{EACH, TestLog, append, line, log_on, queue, replacements, rewrite, torn},
    story::{DIRECTORY, Line, NAME, disk_with, text, whole_lines},
};
use Durability::{Full, Process};

/// An open log, with its text.
struct InUse {
    log: Arc<TestLog>,
    text: Vec<u8>,
}

async fn in_use(disk: SimulatedDisk, is_open: bool) -> (SimulatedDisk, InUse) {
    let log = log_on(&disk);
    if is_open {
        append(&log, line("first", 100), Full).await.unwrap();
    }
    let text = text(&disk);
    (disk, InUse { log, text })
}

fn kind(error: LogError) -> io::ErrorKind {
    match error {
        LogError::File(error) => error.kind,
        other => panic!("{other:?}"),
    }
}

/// Whether the texts are equal, except for a blank line where a synchronisation failed.
fn is_same_but_for_a_blank_line(text: &[u8], old: &[u8]) -> bool {
    text == old || text.strip_suffix(b"\n") == Some(old)
}

fn append_kind(error: AppendError<&str>) -> io::ErrorKind {
    match error {
        AppendError::Log(error) => kind(error),
        AppendError::Line(error) => panic!("{error}"),
    }
}

/// Checks that there are no files except the log and its lock.
fn check_names(disk: &SimulatedDisk) {
    let lock = format!("{NAME}.lock");
    for name in names(disk, DIRECTORY) {
        assert!(name == NAME || name == lock, "{name} is left");
    }
}

/// Checks that this and another process can use the log, and that a power failure loses nothing.
async fn goes_on(disk: &SimulatedDisk, log: &Arc<TestLog>) {
    let mut expected = whole_lines(&text(disk));
    append(log, line("next", 100), Process).await.unwrap();
    append(&log_on(disk), line("other", 100), Process).await.unwrap();
    append(log, line("last", 100), Full).await.unwrap();
    expected.extend(["next", "other", "last"].map(|id| line(id, 100)));
    let left = disk.crash(usize::MAX, Survival::Nothing);
    assert_eq!(whole_lines(&text(&left)), expected);
    rewrite(log, 1, line("head", 10)).await.unwrap();
    expected[0] = line("head", 10);
    let left = disk.crash(usize::MAX, Survival::Nothing);
    assert_eq!(whole_lines(&text(&left)), expected);
    assert_eq!(replacements(disk), 0);
}

fn append_fails(
    story: &'static str,
    begin: fn() -> SimulatedDisk,
    is_open: bool,
    durability: Durability,
) {
    let begin = async || in_use(begin(), is_open).await;
    let act = async |_: &SimulatedDisk, used: &InUse| {
        append(&used.log, line("new", 5000), durability).await.map_err(append_kind)
    };
    fail_everywhere(Group::Kernel, story, begin, act, async |disk, used, failed| {
        let mut expected = whole_lines(&used.text);
        // An ancestor directory that may not be opened is not synchronised.
        let is_lost =
            !is_open && failed.outcome.is_ok() && failed.kind() == io::ErrorKind::PermissionDenied;
        match failed.outcome {
            Ok(()) => {
                expected.push(line("new", 5000));
                assert_eq!(whole_lines(&text(disk)), expected);
                if durability == Full && !is_lost {
                    let left = disk.crash(usize::MAX, Survival::Nothing);
                    assert_eq!(whole_lines(&text(&left)), expected);
                }
            }
            Err(kind) => {
                assert_eq!(kind, failed.kind());
                assert!(
                    is_same_but_for_a_blank_line(&text(disk), &used.text),
                    "what failed is taken back, to the last byte"
                );
            }
        }
        check_names(disk);
        if is_lost {
            sync_ancestors(disk, Path::new(DIRECTORY)).unwrap();
        }
        goes_on(disk, &used.log).await;
    });
}

fn old() -> SimulatedDisk {
    disk_with(&[line("old", 4000).0.as_slice(), b"\n"].concat())
}

#[test]
fn appends_fail_without_a_trace() {
    append_fails("a first append, process, calls fail", SimulatedDisk::new, false, Process);
    append_fails("a first append, full, calls fail", SimulatedDisk::new, false, Full);
    append_fails("an append, process, calls fail", old, true, Process);
    append_fails("an append, full, calls fail", old, true, Full);
    append_fails("an append to a torn tail, process, calls fail", torn, false, Process);
    append_fails("an append to a torn tail, full, calls fail", torn, false, Full);
}

fn turn_fails(story: &'static str, durabilities: [Durability; 4]) {
    let lines = || (0..4).map(|number| line(&format!("new{number}"), 3000));
    let act = async |_: &SimulatedDisk, used: &InUse| {
        let queued = lines().zip(durabilities).map(|(line, at)| queue(&used.log, line, at));
        let mut outcomes = Vec::new();
        for pending in queued.collect::<Vec<_>>() {
            outcomes.push(pending.outcome().await.unwrap().map_err(append_kind));
        }
        Ok::<_, ()>(outcomes)
    };
    let begin = async || in_use(old(), true).await;
    fail_everywhere(Group::Kernel, story, begin, act, async |disk, used, failed| {
        let outcomes = failed.outcome.as_ref().unwrap();
        let found = whole_lines(&text(disk));
        assert!(text(disk).ends_with(b"\n"), "no part of a line is left");
        let mut expected = whole_lines(&used.text);
        let is_mixed = durabilities.contains(&Process) && durabilities.contains(&Full);
        for (line, outcome) in lines().zip(outcomes) {
            match outcome {
                Ok(()) => expected.push(line),
                Err(kind) => {
                    assert_eq!(*kind, failed.kind());
                    // Rolling it back would remove acknowledged lines as well.
                    let may_be_there = is_mixed && found.contains(&line);
                    expected.extend(may_be_there.then_some(line));
                }
            }
        }
        assert_eq!(found, expected);
        if durabilities == [Full; 4] {
            let left = disk.crash(usize::MAX, Survival::Nothing);
            assert_eq!(whole_lines(&text(&left)), expected);
        }
        check_names(disk);
        if is_mixed {
            // Lines that were acknowledged only at `process` may be lost with a failed
            // synchronisation.
            append(&used.log, line("next", 100), Full).await.unwrap();
            let left = whole_lines(&text(&disk.crash(usize::MAX, Survival::Nothing)));
            assert!(left.starts_with(&whole_lines(&used.text)));
            assert_eq!(left.last(), Some(&line("next", 100)));
        } else {
            goes_on(disk, &used.log).await;
        }
    });
}

#[test]
fn records_of_a_turn_fail_alone() {
    turn_fails("a turn, process, calls fail", [Process; 4]);
    turn_fails("a turn, full, calls fail", [Full; 4]);
    turn_fails("a turn of both, calls fail", [Process, Full, Full, Process]);
}

/// An append fails, and then rolling it back fails as well.
fn append_fails_twice(durability: Durability) {
    for first in 0..20 {
        for second in 1..8 {
            runtime().block_on(async {
                let (disk, InUse { log, text: before }) = in_use(old(), true).await;
                let error = || io::Error::from_raw_os_error(5);
                disk.fail_partway(disk.calls() + first, error());
                disk.fail(disk.calls() + first + second, error());
                let outcome = append(&log, line("new", 5000), durability).await;
                let (old, new) = (whole_lines(&before), line("new", 5000));
                let both = [old.as_slice(), std::slice::from_ref(&new)].concat();
                // Remaining injected errors have no effect here.
                let disk = disk.kill(usize::MAX);
                let found = whole_lines(&text(&disk));
                assert!(found == both || (outcome.is_err() && found == old));
                let log = log_on(&disk);
                goes_on(&disk, &log).await;
            });
        }
    }
}

/// An append of a batch fails, and then a second call; every other append of the batch reports its
/// own result.
fn turn_fails_twice() {
    for first in 0..20 {
        for second in 1..8 {
            runtime().block_on(async {
                let (disk, InUse { log, .. }) = in_use(old(), true).await;
                let error = || io::Error::from_raw_os_error(5);
                disk.fail_partway(disk.calls() + first, error());
                disk.fail(disk.calls() + first + second, error());
                let lines: Vec<_> = (0..3).map(|n| line(&format!("new{n}"), 3000)).collect();
                let queued: Vec<_> =
                    lines.iter().map(|line| queue(&log, line.clone(), Process)).collect();
                let mut outcomes = Vec::new();
                for pending in queued {
                    outcomes.push(pending.outcome().await.unwrap().is_ok());
                }
                let disk = disk.kill(usize::MAX);
                let found = whole_lines(&text(&disk));
                let are_there: Vec<_> = lines.iter().map(|line| found.contains(line)).collect();
                assert_eq!(are_there, outcomes, "calls {first} and {second} later");
                let log = log_on(&disk);
                goes_on(&disk, &log).await;
            });
        }
    }
}

#[test]
fn what_cannot_be_taken_back_harms_nobody() {
    turn_fails_twice();
    append_fails_twice(Process);
    append_fails_twice(Full);
}

/// Lets a synchronisation fail while `meanwhile` runs.
async fn fail_to_synchronise(
    disk: &SimulatedDisk,
    log: &Arc<TestLog>,
    meanwhile: impl AsyncFnOnce(),
) {
    // Occupies the only thread for blocking work.
    let (release, released) = mpsc::channel();
    let occupied = tokio::task::spawn_blocking(move || released.recv().unwrap());
    let appending = tokio::spawn(queue(log, line("failed", 3000), Full).outcome());
    while !whole_lines(&text(disk)).contains(&line("failed", 3000)) {
        tokio::task::yield_now().await;
    }
    meanwhile().await;
    disk.fail(disk.calls(), io::Error::from_raw_os_error(5));
    release.send(()).unwrap();
    occupied.await.unwrap();
    let outcome = appending.await.unwrap().unwrap();
    assert_eq!(append_kind(outcome.unwrap_err()), io::Error::from_raw_os_error(5).kind());
}

fn runtime_with_one_waiting_thread() -> Runtime {
    Builder::new_current_thread().enable_time().max_blocking_threads(1).build().unwrap()
}

#[test]
fn what_others_wrote_behind_a_failed_record_stays() {
    runtime_with_one_waiting_thread().block_on(async {
        let (disk, InUse { log, text: before }) = in_use(old(), true).await;
        let other = log_on(&disk);
        fail_to_synchronise(&disk, &log, async || {
            append(&other, line("behind", 100), Process).await.unwrap();
        })
        .await;
        let found = whole_lines(&text(&disk));
        assert!(found.starts_with(&whole_lines(&before)));
        assert_eq!(found.last(), Some(&line("behind", 100)), "acknowledged");
        let (log, disk) = (log_on(&disk), disk);
        append(&log, line("next", 100), Full).await.unwrap();
        let left = whole_lines(&text(&disk.crash(usize::MAX, Survival::Nothing)));
        assert!(left.starts_with(&whole_lines(&before)));
        assert_eq!(left.last(), Some(&line("next", 100)));
    });
}

/// Lines that were appended at `process` before a failed synchronisation may be lost, with their
/// newlines. Lines that are acknowledged at `full` afterwards do not depend on them.
fn synchronisation_failed(story: &'static str, is_same: bool) {
    let disk = old();
    let acknowledged = runtime_with_one_waiting_thread().block_on(async {
        let [log, other] = [(); 2].map(|()| log_on(&disk));
        append(&log, line("full", 10), Full).await.unwrap();
        append(&log, line("process", 5000), Process).await.unwrap();
        fail_to_synchronise(&disk, &log, async || {}).await;
        append(if is_same { &log } else { &other }, line("next", 10), Full).await.unwrap();
        disk.operations()
    });
    cut_everywhere(Group::Kernel, story, &disk, DIRECTORY, EACH, async |found| {
        let lines = whole_lines(&text(&found.disk));
        assert!(lines.contains(&line("old", 4000)));
        if found.at >= acknowledged {
            assert!(lines.contains(&line("full", 10)) && lines.contains(&line("next", 10)));
        }
    });
}

#[test]
fn what_follows_a_failed_synchronisation_stands_alone() {
    synchronisation_failed("a failed synchronisation, the same process goes on", true);
    synchronisation_failed("a failed synchronisation, another process goes on", false);
}

fn rewrite_fails(story: &'static str, begin: fn() -> SimulatedDisk) {
    let begin = async || {
        let (disk, mut used) = in_use(begin(), true).await;
        append(&used.log, line("kept", 9000), Process).await.unwrap();
        used.text = text(&disk);
        (disk, used)
    };
    let act = async |_: &SimulatedDisk, used: &InUse| rewrite(&used.log, 1, line("head", 10)).await;
    fail_everywhere(Group::Kernel, story, begin, act, async |disk, used, failed| {
        check_rewritten(disk, used, failed);
        goes_on(disk, &used.log).await;
    });
}

fn check_rewritten(disk: &SimulatedDisk, used: &InUse, failed: &Failed<u64, LogError>) {
    let old = whole_lines(&used.text);
    let new: Vec<Line> = [line("head", 10)].into_iter().chain(old[1..].iter().cloned()).collect();
    let found = whole_lines(&text(disk));
    match &failed.outcome {
        Ok(length) => {
            assert_eq!(found, new);
            assert_eq!(*length, text(disk).len() as u64);
            let left = disk.crash(usize::MAX, Survival::Nothing);
            assert_eq!(whole_lines(&text(&left)), new);
        }
        Err(error) => {
            // The error may not name the file.
            assert!(matches!(error, LogError::Replaced | LogError::File(_)));
            // The new log is in place if only its synchronisation failed.
            assert!(text(disk) == used.text || found == new);
        }
    }
    check_names(disk);
}

#[test]
fn rewrites_fail_without_a_trace() {
    rewrite_fails("a rewrite, calls fail", old);
    rewrite_fails("a rewrite of a torn log, calls fail", torn);
}

#[test]
fn without_locks_there_are_appends_and_no_rewrites() {
    runtime().block_on(async {
        let disk = old().without_locks();
        let log = log_on(&disk);
        append(&log, line("process", 100), Process).await.unwrap();
        append(&log, line("full", 100), Full).await.unwrap();
        let expected = [line("old", 4000), line("process", 100), line("full", 100)];
        let left = disk.crash(usize::MAX, Survival::Nothing);
        assert_eq!(whole_lines(&text(&left)), expected);
        assert_eq!(log.has_locks(), Some(false));
        let (operations, before) = (disk.operations(), text(&disk));
        let refused = rewrite(&log, 1, line("head", 10)).await.unwrap_err();
        assert!(matches!(refused, LogError::Unlockable));
        assert!(disk.operations() == operations && text(&disk) == before, "nothing changed");
    });
}
