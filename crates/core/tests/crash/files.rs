//! Atomic creation of files, and locks.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use simulator::SimulatedDisk;
use storage::{DirectorySync, Disk, Durability, FileError, FileLock, LockError, Target};

use crate::{
    cuts::{cut_everywhere, names, raw, runtime},
    evidence::Group,
    failures::fail_everywhere,
    log::EACH,
};

const STORE: &str = "/store";

fn path(name: &str) -> PathBuf {
    Path::new(STORE).join(name)
}

/// A disk with the directory and a file, both durable.
fn begin(has_unnamed_files: bool) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    disk.create_directories(Path::new(STORE)).unwrap();
    disk.write_new(&path("old"), b"old", false).unwrap();
    let disk = disk.kill(usize::MAX);
    if has_unnamed_files { disk } else { disk.without_unnamed_files() }
}

async fn create(
    disk: &SimulatedDisk,
    name: &str,
    contents: &[u8],
    durability: Durability,
) -> Result<(), FileError> {
    let (temporary, file) = (path(&format!("{name}.tmp")), path(name));
    let target = Target { directory: Path::new(STORE), temporary: &temporary, path: &file };
    let contents = Arc::new(contents.to_vec());
    storage::create_file(disk, target, contents, durability, &DirectorySync::default()).await
}

async fn replace(
    disk: &SimulatedDisk,
    contents: &[u8],
    durability: Durability,
) -> Result<(), FileError> {
    // A unique name: a crash may have left a temporary file, and their names are never used again.
    let (temporary, file) = (path(&format!("{}.tmp", disk.calls())), path("old"));
    let target = Target { directory: Path::new(STORE), temporary: &temporary, path: &file };
    let contents = Arc::new(contents.to_vec());
    storage::replace_file(disk, target, contents, durability, &DirectorySync::default()).await
}

fn contents(disk: &SimulatedDisk, name: &str) -> Option<Vec<u8>> {
    raw(disk, STORE).into_iter().find(|(found, _)| found == name).map(|(_, contents)| contents)
}

fn created(story: &'static str, has_unnamed_files: bool, durability: Durability) {
    let disk = begin(has_unnamed_files);
    let wholes: Vec<(String, Vec<u8>)> = [10, 4096, 4106, 12_298, 20_000]
        .into_iter()
        .map(|length: usize| (length.to_string(), vec![b'x'; length]))
        .collect();
    let mut acknowledged = Vec::new();
    runtime().block_on(async {
        for (name, whole) in &wholes {
            create(&disk, name, whole, durability).await.unwrap();
            acknowledged.push(disk.operations());
        }
    });
    cut_everywhere(Group::Kernel, story, &disk, STORE, EACH, async |found| {
        let is_promised = found.is_killed() || durability == Durability::Full;
        assert_eq!(contents(&found.disk, "old").unwrap(), b"old");
        for ((name, whole), place) in wholes.iter().zip(&acknowledged) {
            match contents(&found.disk, name) {
                Some(contents) if is_promised => assert_eq!(contents, *whole, "{name} is damaged"),
                Some(_) => {}
                None => assert!(!is_promised || *place > found.at, "{name} is lost"),
            }
        }
        for name in names(&found.disk, STORE) {
            let is_temporary = name.ends_with(".tmp") && !has_unnamed_files;
            let is_known = name == "old" || wholes.iter().any(|(known, _)| *known == name);
            assert!(is_temporary || is_known, "{name} is left");
        }
        create(&found.disk, "next", b"next", Durability::Full).await.unwrap();
        let again = found.disk.crash(usize::MAX, simulator::Survival::Nothing);
        assert_eq!(contents(&again, "next").unwrap(), b"next");
    });
}

#[test]
fn unnamed_at_process() {
    created("a file created unnamed, process", true, Durability::Process);
}

#[test]
fn unnamed_at_full() {
    created("a file created unnamed, full", true, Durability::Full);
}

#[test]
fn temporary_at_process() {
    created("a file created under a temporary name, process", false, Durability::Process);
}

#[test]
fn temporary_at_full() {
    created("a file created under a temporary name, full", false, Durability::Full);
}

fn replaced(story: &'static str, durability: Durability) {
    let disk = begin(true);
    let versions: Vec<Vec<u8>> = std::iter::once(b"old".to_vec())
        .chain([10, 4096, 12_298, 20].map(|length: usize| vec![b'x'; length]))
        .collect();
    let mut acknowledged = vec![0];
    runtime().block_on(async {
        for version in versions.iter().skip(1) {
            replace(&disk, version, durability).await.unwrap();
            acknowledged.push(disk.operations());
        }
    });
    cut_everywhere(Group::Kernel, story, &disk, STORE, EACH, async |found| {
        let is_promised = found.is_killed() || durability == Durability::Full;
        let least = match is_promised {
            true => acknowledged.iter().rposition(|place| *place <= found.at).unwrap(),
            false => 0,
        };
        let now = contents(&found.disk, "old").unwrap();
        let version = versions.iter().position(|version| *version == now);
        assert!(version.is_some_and(|version| version >= least), "neither old nor new");
        for name in names(&found.disk, STORE) {
            assert!(name == "old" || name.ends_with(".tmp"), "{name} is left");
        }
    });
}

#[test]
fn replaced_at_process() {
    replaced("a file replaced, process", Durability::Process);
}

#[test]
fn replaced_at_full() {
    replaced("a file replaced, full", Durability::Full);
}

fn creation_fails(story: &'static str, has_unnamed_files: bool, durability: Durability) {
    let begin = async || (begin(has_unnamed_files), ());
    let act = async |disk: &SimulatedDisk, (): &()| {
        create(disk, "new", &[b'x'; 5000], durability).await.map_err(|error| error.kind)
    };
    fail_everywhere(Group::Kernel, story, begin, act, async |disk, (), failed| {
        match failed.outcome {
            Ok(()) => assert_eq!(contents(disk, "new").unwrap(), [b'x'; 5000]),
            Err(kind) => {
                assert_eq!(kind, failed.kind());
                assert_eq!(names(disk, STORE), ["old"], "nothing is left");
            }
        }
        assert_eq!(contents(disk, "old").unwrap(), b"old");
        create(disk, "next", b"next", durability).await.unwrap();
        assert_eq!(contents(disk, "next").unwrap(), b"next");
        let taken = create(disk, "old", b"other", durability).await.unwrap_err();
        assert_eq!(taken.kind, std::io::ErrorKind::AlreadyExists);
        assert_eq!(contents(disk, "old").unwrap(), b"old");
    });
}

#[test]
fn creations_fail_without_a_trace() {
    creation_fails("a file created unnamed, process, calls fail", true, Durability::Process);
    creation_fails("a file created unnamed, full, calls fail", true, Durability::Full);
    creation_fails("a file created temporarily, process, calls fail", false, Durability::Process);
    creation_fails("a file created temporarily, full, calls fail", false, Durability::Full);
}

fn replacement_fails(story: &'static str, durability: Durability) {
    let begin = async || (begin(true), ());
    let act = async |disk: &SimulatedDisk, (): &()| {
        replace(disk, &[b'x'; 5000], durability).await.map_err(|error| error.kind)
    };
    fail_everywhere(Group::Kernel, story, begin, act, async |disk, (), failed| {
        let now = contents(disk, "old").unwrap();
        match failed.outcome {
            Ok(()) => assert_eq!(now, [b'x'; 5000]),
            Err(kind) => {
                assert_eq!(kind, failed.kind());
                // The new file is in place if only the directory's synchronisation failed.
                assert!(now == b"old" || (durability == Durability::Full && now == [b'x'; 5000]));
            }
        }
        assert_eq!(names(disk, STORE), ["old"], "nothing is left");
        replace(disk, b"next", durability).await.unwrap();
        assert_eq!(contents(disk, "old").unwrap(), b"next");
    });
}

#[test]
fn replacements_fail_without_a_trace() {
    replacement_fails("a file replaced, process, calls fail", Durability::Process);
    replacement_fails("a file replaced, full, calls fail", Durability::Full);
}

fn lock_on(disk: &SimulatedDisk) -> Arc<FileLock> {
    Arc::new(FileLock::new(Arc::new(disk.clone()), path("x.lock")))
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// A process that acquires the lock excludes others, and releases it.
async fn check_lock(disk: &SimulatedDisk) {
    let (one, other) = (lock_on(disk), lock_on(disk));
    let guard = one.acquire(soon()).await.unwrap();
    assert!(guard.is_exclusive());
    assert!(other.try_acquire().unwrap().is_none(), "two have the lock");
    drop(guard);
    assert!(other.try_acquire().unwrap().is_some());
}

#[test]
fn a_lock_is_free_after_a_crash() {
    let disk = begin(true);
    let held = runtime().block_on(async {
        let lock = lock_on(&disk);
        drop(lock.acquire(soon()).await.unwrap());
        disk.write_new(&path("x"), b"x", true).unwrap();
        let guard = lock.acquire(soon()).await.unwrap();
        disk.sync_directory(Path::new(STORE)).unwrap();
        guard
    });
    cut_everywhere(Group::Kernel, "a lock", &disk, STORE, EACH, async |found| {
        check_lock(&found.disk).await;
        assert!(names(&found.disk, STORE).contains(&"x.lock".to_owned()), "the lock file stays");
    });
    drop(held);
}

#[test]
fn a_lock_that_cannot_be_taken_says_so() {
    let begin = async || {
        let disk = begin(true);
        let lock = lock_on(&disk);
        (disk, lock)
    };
    let act = async |_: &SimulatedDisk, lock: &Arc<FileLock>| match lock.acquire(soon()).await {
        Ok(guard) => Ok(guard.is_exclusive()),
        Err(LockError::File(error)) => Err(error.kind),
        Err(LockError::TimedOut) => panic!("nobody has it"),
    };
    fail_everywhere(Group::Kernel, "a lock, calls fail", begin, act, async |disk, lock, failed| {
        match failed.outcome {
            Ok(is_exclusive) => assert!(is_exclusive),
            Err(kind) => assert_eq!(kind, failed.kind()),
        }
        // A lock whose release failed is released by its next holder, or by closing the file.
        drop(lock.acquire(soon()).await.unwrap());
        check_lock(disk).await;
    });
}
