//! Logs on the local and on the simulated disk.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use simulator::SimulatedDisk;
use storage::{
    AppendError, Disk, Durability, FileLock, FileSystem, LinesForwards, LocalDisk, Log, LogError,
    LogPath, LogRegistry, LogSnapshot, MakeLine, ReadAt, Rewrite, Verdict, layout,
};
use tokio::sync::oneshot;

type TestLog = Log<&'static str>;

fn path_in(directory: &std::path::Path) -> LogPath {
    let directory = directory.to_owned();
    let prefix = format!("{}/", directory.display());
    LogPath { directory, prefix, name: "x.jsonl".to_owned() }
}

/// A log with a queue of its own, as in another process.
fn log_in(directory: &std::path::Path) -> Arc<TestLog> {
    let file_system: Arc<dyn FileSystem> = Arc::new(LocalDisk);
    LogRegistry::new().log(&file_system, &path_in(directory))
}

const PATIENCE: Duration = Duration::from_secs(20);

async fn append_at(
    log: &Arc<TestLog>,
    text: &str,
    durability: Durability,
) -> Result<(), AppendError<&'static str>> {
    let line = text.as_bytes().to_vec();
    log.append(Box::new(move || Ok(line)), durability, PATIENCE).outcome().await.unwrap()
}

async fn append(log: &Arc<TestLog>, text: &str) {
    append_at(log, text, Durability::Process).await.unwrap();
}

async fn lines_of(log: &TestLog) -> Vec<(String, bool)> {
    let Some(reader) = log.reader().await.unwrap() else { return Vec::new() };
    let mut lines = LinesForwards::new(&reader, 0, usize::MAX);
    let mut found = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        found.push((String::from_utf8(line.bytes.unwrap()).unwrap(), line.is_terminated));
    }
    found
}

async fn snapshot_of(log: &TestLog) -> LogSnapshot {
    let reader = log.reader().await.unwrap().unwrap();
    LogSnapshot::of(&reader, reader.identity(), reader.length().unwrap()).unwrap()
}

fn one(range: std::ops::Range<u64>) -> Vec<std::ops::Range<u64>> {
    std::iter::once(range).collect()
}

fn names_in(directory: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn records_stand_in_the_order_of_the_calls() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("a/b");
    let log = log_in(&directory);
    assert!(log.reader().await.unwrap().is_none(), "nothing is created by looking");
    let pending: Vec<_> = (0..1000)
        .map(|number| {
            let make: MakeLine<&str> = Box::new(move || Ok(number.to_string().into_bytes()));
            let durability = if number % 7 == 0 { Durability::Full } else { Durability::Process };
            log.append(make, durability, PATIENCE)
        })
        .collect();
    let tasks: Vec<_> =
        pending.into_iter().map(|pending| tokio::spawn(pending.outcome())).collect();
    for task in tasks {
        task.await.unwrap().unwrap().unwrap();
    }
    let expected: Vec<_> = (0..1000).map(|number| (number.to_string(), true)).collect();
    assert_eq!(lines_of(&log).await, expected);
    assert_eq!(names_in(&directory), ["x.jsonl", "x.jsonl.lock"]);
    assert_eq!(log.has_locks(), Some(true));
}

#[tokio::test]
async fn a_line_that_cannot_be_made_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    append(&log, "one").await;
    let failed = log.append(Box::new(|| Err("no")), Durability::Process, PATIENCE);
    let next = log.append(Box::new(|| Ok(b"two".to_vec())), Durability::Process, PATIENCE);
    assert!(matches!(failed.outcome().await, Some(Err(AppendError::Line("no")))));
    next.outcome().await.unwrap().unwrap();
    assert_eq!(lines_of(&log).await, [("one".to_owned(), true), ("two".to_owned(), true)]);
}

#[tokio::test]
async fn records_before_a_line_that_is_still_made_do_not_wait_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    let (made, line) = oneshot::channel();
    let make = |text: &'static str| -> MakeLine<&str> { Box::new(move || Ok(text.into())) };
    let before = log.append(make("one"), Durability::Process, PATIENCE);
    let arriving = log.append_arriving(line, None, Durability::Process, PATIENCE);
    let after = log.append(make("three"), Durability::Process, PATIENCE);
    let arriving = tokio::spawn(arriving.outcome());
    let after = tokio::spawn(after.outcome());
    before.outcome().await.unwrap().unwrap();
    assert_eq!(lines_of(&log).await, [("one".to_owned(), true)]);
    assert!(!after.is_finished(), "lines stand in the order of the calls");
    made.send(b"two".to_vec()).unwrap();
    arriving.await.unwrap().unwrap().unwrap();
    after.await.unwrap().unwrap().unwrap();
    let lines: Vec<_> = lines_of(&log).await.into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, ["one", "two", "three"]);
}

#[tokio::test]
async fn a_line_that_never_arrives_interrupts_its_append_only() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    let (made, line) = oneshot::channel();
    let lost = log.append_arriving(line, None, Durability::Process, PATIENCE);
    let next = log.append(Box::new(|| Ok(b"next".to_vec())), Durability::Process, PATIENCE);
    drop(made);
    assert!(lost.outcome().await.is_none());
    next.outcome().await.unwrap().unwrap();
    assert_eq!(lines_of(&log).await, [("next".to_owned(), true)]);
}

#[tokio::test]
async fn waiting_for_a_line_is_no_waiting_for_other_processes() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    let (made, line) = oneshot::channel();
    let patience = Duration::from_millis(20);
    let arriving = log.append_arriving(line, None, Durability::Process, patience);
    let make: MakeLine<&str> = Box::new(|| Ok(b"two".to_vec()));
    let next = log.append(make, Durability::Process, patience);
    let sending = tokio::spawn(async move {
        tokio::time::sleep(2 * patience).await;
        made.send(b"one".to_vec()).unwrap();
    });
    arriving.outcome().await.unwrap().unwrap();
    next.outcome().await.unwrap().unwrap();
    sending.await.unwrap();
}

#[tokio::test]
async fn a_torn_line_is_ended_before_the_next_record() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    append(&log, "one").await;
    let file = folder.path().join("x.jsonl");
    for torn in ["tor", "n"] {
        let text = fs::read_to_string(&file).unwrap() + torn;
        fs::write(&file, text).unwrap();
        append(&log, "next").await;
    }
    let lines: Vec<_> = lines_of(&log).await.into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, ["one", "tor", "next", "n", "next"]);
}

#[tokio::test]
async fn a_log_that_was_removed_or_replaced_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("a");
    let log = log_in(&directory);
    append(&log, "one").await;
    fs::remove_file(directory.join("x.jsonl")).unwrap();
    append(&log, "two").await;
    assert_eq!(lines_of(&log).await, [("two".to_owned(), true)]);
    fs::remove_dir_all(&directory).unwrap();
    append(&log, "three").await;
    assert_eq!(lines_of(&log).await, [("three".to_owned(), true)]);
}

#[tokio::test]
async fn a_rewrite_keeps_what_was_appended_since() {
    let folder = tempfile::tempdir().unwrap();
    let (log, other) = (log_in(folder.path()), log_in(folder.path()));
    for text in ["one", "two", "three"] {
        append(&log, text).await;
    }
    let snapshot = snapshot_of(&log).await;
    append(&other, "since").await;
    let rewrite = Rewrite { snapshot: snapshot.clone(), head: b"head\n".to_vec(), kept: one(4..8) };
    let length = log.rewrite(rewrite, PATIENCE).outcome().await.unwrap().unwrap();
    append(&other, "after").await;
    append(&log, "last").await;
    let lines: Vec<_> = lines_of(&log).await.into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, ["head", "two", "since", "after", "last"]);
    assert_eq!(length, "head\ntwo\nsince\n".len() as u64);
    assert_eq!(names_in(folder.path()), ["x.jsonl", "x.jsonl.lock"]);
    // The snapshot's contents are not there any more.
    let again = Rewrite { snapshot, head: Vec::new(), kept: Vec::new() };
    let refused = other.rewrite(again, PATIENCE).outcome().await.unwrap();
    assert!(matches!(refused, Err(LogError::Replaced)));
    assert_eq!(lines_of(&log).await.len(), 5);
}

#[tokio::test]
async fn a_rewrite_ends_what_a_crash_left_open() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    append(&log, "one").await;
    let file = folder.path().join("x.jsonl");
    fs::write(&file, "one\ntorn").unwrap();
    let snapshot = snapshot_of(&log).await;
    let rewrite = Rewrite { kept: one(0..snapshot.length), snapshot, head: Vec::new() };
    log.rewrite(rewrite, PATIENCE).outcome().await.unwrap().unwrap();
    append(&log, "two").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntorn\ntwo\n");
}

#[tokio::test]
async fn large_rewrites_are_copied_whole() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    let texts: Vec<String> =
        (0..9).map(|number| number.to_string().repeat(100_000 + number)).collect();
    for text in &texts {
        append(&log, text).await;
    }
    let snapshot = snapshot_of(&log).await;
    let rewrite = Rewrite { kept: one(0..snapshot.length), snapshot, head: Vec::new() };
    log.rewrite(rewrite, PATIENCE).outcome().await.unwrap().unwrap();
    let lines: Vec<_> = lines_of(&log).await.into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, texts);
}

#[tokio::test]
async fn what_crashed_rewrites_left_goes_with_the_first_write() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join(layout::replacement("x.jsonl"));
    let foreign = folder.path().join(layout::replacement("y.jsonl"));
    fs::write(&left, "half").unwrap();
    fs::write(&foreign, "half").unwrap();
    append(&log_in(folder.path()), "one").await;
    assert!(!left.exists() && foreign.exists());
}

#[tokio::test]
async fn a_lock_timeout_is_reported_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    append(&log, "one").await;
    let lock = FileLock::new(Arc::new(LocalDisk), folder.path().join(layout::lock("x.jsonl")));
    let guard = lock.try_acquire().unwrap().unwrap();
    let patience = Duration::from_millis(20);
    let make: MakeLine<&str> = Box::new(|| Ok(b"two".to_vec()));
    let refused = log.append(make, Durability::Process, patience).outcome().await.unwrap();
    assert!(matches!(refused, Err(AppendError::Log(LogError::LockTimeout))));
    let rewrite = Rewrite { snapshot: snapshot_of(&log).await, head: Vec::new(), kept: Vec::new() };
    let refused = log.rewrite(rewrite, patience).outcome().await.unwrap();
    assert!(matches!(refused, Err(LogError::LockTimeout)));
    drop(guard);
    append(&log, "three").await;
    assert_eq!(lines_of(&log).await, [("one".to_owned(), true), ("three".to_owned(), true)]);
}

#[tokio::test]
async fn everybody_waits_as_long_as_it_said() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    append(&log, "one").await;
    let lock = FileLock::new(Arc::new(LocalDisk), folder.path().join(layout::lock("x.jsonl")));
    let guard = lock.try_acquire().unwrap().unwrap();
    let queue = |text: &'static str, patience: u64| {
        let make: MakeLine<&str> = Box::new(move || Ok(text.into()));
        log.append(make, Durability::Process, Duration::from_millis(patience)).outcome()
    };
    // Both in one batch, whichever is first.
    let patient = tokio::spawn(queue("patient", 20_000));
    let (hasty, last) = (queue("hasty", 20), tokio::spawn(queue("last", 20_000)));
    let begun = Instant::now();
    let refused = hasty.await.unwrap();
    assert!(matches!(refused, Err(AppendError::Log(LogError::LockTimeout))));
    assert!(begun.elapsed() < Duration::from_secs(10));
    drop(guard);
    patient.await.unwrap().unwrap().unwrap();
    last.await.unwrap().unwrap().unwrap();
    let lines: Vec<_> = lines_of(&log).await.into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, ["one", "patient", "last"]);
    // The record with the short timeout first.
    let guard = lock.try_acquire().unwrap().unwrap();
    let hasty = tokio::spawn(queue("hasty", 20));
    let patient = tokio::spawn(queue("patient", 20_000));
    assert!(hasty.await.unwrap().unwrap().is_err());
    drop(guard);
    patient.await.unwrap().unwrap().unwrap();
    assert_eq!(lines_of(&log).await.len(), 4);
}

#[tokio::test]
async fn several_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let log = log_in(folder.path());
            tokio::spawn(async move {
                for number in 0..200 {
                    append(&log, &format!("{writer} {number}")).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let lines = lines_of(&log_in(folder.path())).await;
    assert_eq!(lines.len(), 800);
    for writer in 0..4 {
        let prefix = format!("{writer} ");
        let own: Vec<u32> =
            lines.iter().filter_map(|(line, _)| line.strip_prefix(&prefix)?.parse().ok()).collect();
        assert_eq!(own, (0..200).collect::<Vec<_>>());
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_rewrite_keeps_the_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path());
    append(&log, "one").await;
    let file = folder.path().join("x.jsonl");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
    let snapshot = snapshot_of(&log).await;
    let rewrite = Rewrite { kept: one(0..snapshot.length), snapshot, head: Vec::new() };
    log.rewrite(rewrite, PATIENCE).outcome().await.unwrap().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o664);
}

#[cfg(unix)]
#[tokio::test]
async fn a_symbolic_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, folder.path().join("x.jsonl")).unwrap();
    let refused = append_at(&log_in(folder.path()), "one", Durability::Process).await.unwrap_err();
    assert!(matches!(refused, AppendError::Log(LogError::File(_))));
    assert!(!elsewhere.exists());
}

fn log_on(disk: &SimulatedDisk) -> Arc<TestLog> {
    let file_system: Arc<dyn FileSystem> = Arc::new(disk.clone());
    LogRegistry::new().log(&file_system, &path_in(std::path::Path::new("/d")))
}

async fn empty(log: &Arc<TestLog>) -> Result<u64, LogError> {
    let rewrite = Rewrite { snapshot: snapshot_of(log).await, head: Vec::new(), kept: Vec::new() };
    log.rewrite(rewrite, PATIENCE).outcome().await.unwrap()
}

#[tokio::test]
async fn a_log_on_a_mount_with_locks_of_its_own_is_appended_to_and_not_rewritten() {
    let disk = SimulatedDisk::new();
    let (one, other) = (log_on(&disk.mounted_again()), log_on(&disk.mounted_again()));
    assert_eq!(one.untrusted_locks(), None, "nothing is known before the first write");
    append(&one, "one").await;
    append(&other, "two").await;
    for log in [&one, &other] {
        assert_eq!(log.untrusted_locks().as_deref(), Some("simulated"));
        assert_eq!(log.has_locks(), Some(false));
        assert!(matches!(empty(log).await, Err(LogError::Untrusted(kind)) if kind == "simulated"));
    }
    assert_eq!(lines_of(&one).await.len(), 2);
    other.trust_locks();
    assert_eq!(empty(&other).await.unwrap(), 0);
    assert_eq!(other.untrusted_locks(), None);
}

#[tokio::test]
async fn a_record_that_another_mount_tears_apart_is_written_again() {
    let mount = SimulatedDisk::new().mounted_again();
    let log = log_on(&mount);
    append(&log, "first").await;
    mount.tear_next_append(b"foreign\n");
    append(&log, "torn apart").await;
    append(&log, "last").await;
    let lines: Vec<String> = lines_of(&log).await.into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, ["first", "torn foreign", "apart", "torn apart", "last"]);
}

#[tokio::test]
async fn a_rewrite_takes_nothing_over_from_another_users_log() {
    let disk = SimulatedDisk::new();
    let path = std::path::Path::new("/d/x.jsonl");
    for (user, given, expected) in [(1000, 0o640, 0o640), (4711, 0o666, 0o600)] {
        let log = log_on(&disk);
        append(&log, "one").await;
        disk.set_mode(path, given).unwrap();
        let log = log_on(&disk.used_by(user));
        empty(&log).await.unwrap();
        let ownership = Disk::ownership(&disk, path).unwrap().unwrap();
        assert_eq!((ownership.owner, ownership.mode), (user, expected));
    }
}

/// Appends a line unless the log contains it already.
async fn append_once(
    log: &Arc<TestLog>,
    text: &'static str,
    durability: Durability,
) -> Result<(), AppendError<&'static str>> {
    let make: MakeLine<_> = Box::new(move || Ok(text.as_bytes().to_vec()));
    let check: storage::Check = Box::new(move |view| {
        let mut lines = LinesForwards::new(view, 0, usize::MAX);
        while let Some(line) = lines.next_line()? {
            if line.bytes.as_deref() == Some(text.as_bytes()) {
                return Ok(Verdict::Refuse);
            }
        }
        Ok(Verdict::Write)
    });
    log.append_checked(make, check, durability, PATIENCE).outcome().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_sees_the_records_of_other_processes_and_of_its_own_batch() {
    let directory = tempfile::tempdir().unwrap();
    let logs = [log_in(directory.path()), log_in(directory.path())];
    for durability in [Durability::Process, Durability::Full] {
        let text = if durability == Durability::Full { "full" } else { "process" };
        let calls = (0..40).map(|number| {
            let log = Arc::clone(&logs[number % 2]);
            tokio::spawn(async move { append_once(&log, text, durability).await })
        });
        let mut written = 0;
        for call in calls.collect::<Vec<_>>() {
            match call.await.unwrap() {
                Ok(()) => written += 1,
                Err(error) => assert!(matches!(error, AppendError::Log(LogError::Refused))),
            }
        }
        assert_eq!(written, 1);
    }
    let lines = lines_of(&logs[0]).await;
    assert_eq!(lines, [("process".to_owned(), true), ("full".to_owned(), true)]);
}

#[tokio::test]
async fn a_refused_record_leaves_a_torn_line_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let log = log_in(directory.path());
    fs::write(directory.path().join("x.jsonl"), "one\nto").unwrap();
    let refused = append_once(&log, "one", Durability::Process).await;
    assert!(matches!(refused, Err(AppendError::Log(LogError::Refused))));
    assert_eq!(fs::read(directory.path().join("x.jsonl")).unwrap(), b"one\nto");
    append_once(&log, "two", Durability::Process).await.unwrap();
    assert_eq!(fs::read(directory.path().join("x.jsonl")).unwrap(), b"one\nto\ntwo\n");
}
