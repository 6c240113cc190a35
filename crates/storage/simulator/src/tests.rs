//! What the simulator may lose and what it must keep.

use std::{collections::BTreeSet, io, path::Path, sync::Arc};

use storage::{
    Access, DirectorySync, Disk, Durability, FileResult, LockAttempt, OpenFile, Origin, Target,
    create_file,
};

use super::{SimulatedDisk, Survival, medium::BLOCK};

const EXTREMES: [Survival; 5] = [
    Survival::Nothing,
    Survival::Everything,
    Survival::EntriesOnly,
    Survival::EntriesAndLengths,
    Survival::DataOnly,
];

#[test]
fn the_simulator_and_the_local_disk_do_what_every_disk_does() {
    let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new());
    super::contract::check(&disk, Path::new("/"));
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(storage::LocalDisk);
    super::contract::check(&disk, &root);
}

fn survivals(seeds: u64) -> impl Iterator<Item = Survival> {
    EXTREMES.into_iter().chain((0..seeds).map(Survival::Random))
}

fn contents(disk: &SimulatedDisk, path: &str) -> Option<Vec<u8>> {
    match disk.read(Path::new("/"), Path::new(path), u64::MAX) {
        Ok(contents) => Some(contents.bytes),
        Err(error) => {
            assert!(error.is_not_found(), "{error}");
            None
        }
    }
}

/// All contents that a file may have after a power cut behind the last operation.
fn outcomes(disk: &SimulatedDisk, path: &str, seeds: u64) -> BTreeSet<Option<Vec<u8>>> {
    let at = disk.operations();
    survivals(seeds).map(|survival| contents(&disk.crash(at, survival), path)).collect()
}

fn open(disk: &SimulatedDisk, path: &str) -> Box<dyn OpenFile> {
    disk.open(Path::new(path), Access::Append).unwrap()
}

fn sync_root(disk: &SimulatedDisk) {
    disk.sync_directory(Path::new("/")).unwrap();
}

#[test]
fn an_unsynchronised_file_may_vanish_be_empty_zeros_torn_or_whole() {
    let disk = SimulatedDisk::new();
    let whole = vec![7; 2 * BLOCK + 100];
    disk.write_new(Path::new("/x"), &whole, false).unwrap();
    let found = outcomes(&disk, "x", 2000);
    let torn = [vec![7; BLOCK], vec![0; BLOCK], vec![7; 100]].concat();
    let cut = vec![7; BLOCK];
    for expected in [None, Some(vec![]), Some(vec![0; whole.len()]), Some(torn), Some(cut)] {
        assert!(found.contains(&expected), "{:?}", expected.map(|bytes| bytes.len()));
    }
    assert!(found.contains(&Some(whole.clone())));
    let is_cut_within =
        |bytes: &Vec<u8>| !bytes.len().is_multiple_of(BLOCK) && bytes.len() < whole.len();
    assert!(found.iter().flatten().any(is_cut_within));
    for bytes in found.iter().flatten() {
        for block in bytes.chunks(BLOCK) {
            assert!(block.iter().all(|byte| *byte == block[0]), "a block is there or not");
            assert!(matches!(block[0], 0 | 7), "nothing else comes from nowhere");
        }
    }
}

#[test]
fn the_extremes_are_what_they_say() {
    let disk = SimulatedDisk::new();
    disk.write_new(Path::new("/old"), b"old", true).unwrap();
    sync_root(&disk);
    open(&disk, "/old").append(b"+new").unwrap();
    disk.write_new(Path::new("/x"), b"data", false).unwrap();
    let found = EXTREMES.map(|survival| {
        let crashed = disk.crash(disk.operations(), survival);
        (contents(&crashed, "old").unwrap(), contents(&crashed, "x"))
    });
    let expected: [(&[u8], Option<&[u8]>); 5] = [
        (b"old", None),
        (b"old+new", Some(b"data")),
        (b"old", Some(b"")),
        (b"old\0\0\0\0", Some(b"\0\0\0\0")),
        (b"old+new", None),
    ];
    let expected = expected.map(|(old, x)| (old.to_vec(), x.map(<[u8]>::to_vec)));
    assert_eq!(found, expected);
}

#[test]
fn a_synchronised_file_may_vanish_until_its_directory_is_synchronised() {
    let disk = SimulatedDisk::new();
    disk.write_new(Path::new("/x"), b"data", true).unwrap();
    let whole = Some(b"data".to_vec());
    assert_eq!(outcomes(&disk, "x", 200), BTreeSet::from([None, whole.clone()]));
    sync_root(&disk);
    assert_eq!(outcomes(&disk, "x", 200), BTreeSet::from([whole]));
}

#[test]
fn a_directory_that_its_parent_does_not_hold_vanishes_with_all_in_it() {
    let disk = SimulatedDisk::new();
    let inner = Path::new("/a/b");
    disk.create_directories(inner).unwrap();
    disk.write_new(&inner.join("x"), b"data", true).unwrap();
    disk.sync_directory(inner).unwrap();
    let whole = Some(b"data".to_vec());
    assert_eq!(outcomes(&disk, "a/b/x", 200), BTreeSet::from([None, whole.clone()]));
    disk.sync_directory(Path::new("/a")).unwrap();
    assert_eq!(outcomes(&disk, "a/b/x", 200), BTreeSet::from([None, whole.clone()]));
    let lost = disk.crash(disk.operations(), Survival::Nothing);
    assert!(lost.canonical(Path::new("/a")).unwrap_err().is_not_found());
    sync_root(&disk);
    assert_eq!(outcomes(&disk, "a/b/x", 200), BTreeSet::from([whole]));
}

/// Replaces `/x`, which contains `old`, and returns every outcome of a power cut at every operation since.
fn outcomes_of_replacing(synchronises: bool) -> BTreeSet<Option<Vec<u8>>> {
    let disk = SimulatedDisk::new();
    disk.write_new(Path::new("/x"), b"old", true).unwrap();
    sync_root(&disk);
    let before = disk.operations();
    disk.write_new(Path::new("/x.tmp"), b"new", synchronises).unwrap();
    disk.rename_over(Path::new("/x.tmp"), Path::new("/x")).unwrap();
    sync_root(&disk);
    let mut found = BTreeSet::new();
    for at in before..=disk.operations() {
        for survival in survivals(200) {
            found.insert(contents(&disk.crash(at, survival), "x"));
        }
    }
    if synchronises {
        assert_eq!(outcomes(&disk, "x", 200), BTreeSet::from([Some(b"new".to_vec())]));
    }
    found
}

#[test]
fn write_synchronise_rename_gives_old_or_new_and_nothing_else() {
    let expected = [b"old", b"new"].map(|bytes| Some(bytes.to_vec()));
    assert_eq!(outcomes_of_replacing(true), BTreeSet::from(expected));
}

#[test]
fn a_rename_without_synchronising_the_file_may_leave_it_empty() {
    let found = outcomes_of_replacing(false);
    for expected in [&b"old"[..], b"new", b"", b"\0\0\0"] {
        assert!(found.contains(&Some(expected.to_vec())), "{expected:?}");
    }
    assert!(!found.contains(&None), "a rename is one change");
}

#[test]
fn a_logged_rename_is_durable_with_the_next_fsync_of_any_file_and_its_data_is_not() {
    let disk = SimulatedDisk::new().with_entry_log();
    disk.write_new(Path::new("/x"), b"old", true).unwrap();
    disk.write_new(Path::new("/other"), b"", true).unwrap();
    disk.write_new(Path::new("/x.tmp"), b"new", false).unwrap();
    disk.rename_over(Path::new("/x.tmp"), Path::new("/x")).unwrap();
    let some = |bytes: &[u8]| Some(bytes.to_vec());
    let (old, new) = (some(b"old"), some(b"new"));
    let damaged = [&b""[..], b"n", b"ne", b"\0", b"\0\0", b"\0\0\0"].map(some);
    let found = outcomes(&disk, "x", 2000);
    assert_eq!(found, damaged.iter().cloned().chain([old, new.clone()]).collect());
    open(&disk, "/other").sync().unwrap();
    let found = outcomes(&disk, "x", 2000);
    assert_eq!(found, damaged.iter().cloned().chain([new.clone()]).collect());
    open(&disk, "/x").sync().unwrap();
    assert_eq!(outcomes(&disk, "x", 200), BTreeSet::from([new]));
}

#[test]
fn logged_entries_survive_in_their_order() {
    let disk = SimulatedDisk::new().with_entry_log();
    disk.create_directories(Path::new("/d")).unwrap();
    for name in ["/a", "/d/b", "/c"] {
        disk.write_new(Path::new(name), b"", false).unwrap();
    }
    disk.rename_new(Path::new("/c"), Path::new("/d/c")).unwrap();
    let found: BTreeSet<_> = survivals(500)
        .map(|survival| {
            let crashed = disk.crash(disk.operations(), survival);
            ["a", "d/b", "c", "d/c"].map(|path| contents(&crashed, path).is_some())
        })
        .collect();
    let expected = [
        [false, false, false, false],
        [true, false, false, false],
        [true, true, false, false],
        [true, true, true, false],
        [true, true, false, true],
    ];
    assert_eq!(found, BTreeSet::from(expected), "no change without those before it");
    let restarted = disk.crash(0, Survival::Nothing);
    restarted.write_new(Path::new("/x"), b"", false).unwrap();
    restarted.write_new(Path::new("/d"), b"", true).unwrap();
    assert_eq!(outcomes(&restarted, "x", 200), BTreeSet::from([Some(Vec::new())]));
}

#[test]
fn what_was_synchronised_stays_whatever_is_added() {
    let disk = SimulatedDisk::new();
    let file = open(&disk, "/x");
    let kept = vec![1; BLOCK + 1000];
    file.append(&kept).unwrap();
    file.sync().unwrap();
    sync_root(&disk);
    file.append(&vec![2; BLOCK]).unwrap();
    file.append(&[3; 10]).unwrap();
    let found = outcomes(&disk, "x", 1000);
    let torn = [kept.clone(), vec![2; BLOCK - 1000], vec![0; 1000]].concat();
    assert!(found.contains(&Some(torn)), "blocks begin where the file's do");
    for bytes in found.iter().flatten() {
        assert!(bytes.starts_with(&kept), "the synchronised is damaged");
        let (first, second) = bytes.split_at(bytes.len().min(2 * BLOCK));
        let is_whole = |bytes: &[u8]| bytes.iter().all(|byte| *byte == bytes[0]);
        assert!(is_whole(&first[kept.len()..]), "torn within a block");
        assert!(is_whole(&second[..second.len().min(1000)]), "torn within a block");
    }
    assert!(!found.contains(&None));
    assert!(found.len() > 10, "{}", found.len());
}

#[test]
fn a_cut_may_be_lost_and_what_follows_it_may_not_wait_for_it() {
    let disk = SimulatedDisk::new();
    let file = open(&disk, "/x");
    file.append(b"abcdef").unwrap();
    file.sync().unwrap();
    sync_root(&disk);
    file.truncate(2).unwrap();
    let expected = [&b"ab"[..], b"abcdef", b"ab\0\0\0\0"].map(|bytes| Some(bytes.to_vec()));
    assert_eq!(outcomes(&disk, "x", 500), BTreeSet::from(expected));
    file.append(b"XY").unwrap();
    let found = outcomes(&disk, "x", 2000);
    for expected in [&b"abcdef"[..], b"ab", b"abXY", b"abcd", b"ab\0\0", b"abXYef"] {
        assert!(found.contains(&Some(expected.to_vec())), "{expected:?}");
    }
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, "x", 200), BTreeSet::from([Some(b"abXY".to_vec())]));
}

#[test]
fn every_outcome_of_two_entries_occurs() {
    let disk = SimulatedDisk::new();
    disk.write_new(Path::new("/a"), b"", true).unwrap();
    disk.write_new(Path::new("/b"), b"", true).unwrap();
    let listings = |disk: &SimulatedDisk| -> BTreeSet<Vec<String>> {
        let names = |seed| {
            let crashed = disk.crash(disk.operations(), Survival::Random(seed));
            let entries = crashed.list(Path::new("/")).unwrap();
            entries.into_iter().map(|entry| entry.name).collect()
        };
        (0..200).map(names).collect()
    };
    let all = |names: &[&[&str]]| -> BTreeSet<Vec<String>> {
        names.iter().map(|names| names.iter().map(|&name| name.to_owned()).collect()).collect()
    };
    assert_eq!(listings(&disk), all(&[&[], &["a"], &["b"], &["a", "b"]]));
    sync_root(&disk);
    assert!(disk.remove(Path::new("/a")).unwrap());
    assert_eq!(listings(&disk), all(&[&["b"], &["a", "b"]]), "a removal may be lost");
    sync_root(&disk);
    disk.rename_new(Path::new("/b"), Path::new("/c")).unwrap();
    assert_eq!(listings(&disk), all(&[&["b"], &["c"]]), "a rename is one change");
}

#[test]
fn a_move_to_another_directory_may_leave_both_names_or_none() {
    let disk = SimulatedDisk::new();
    disk.create_directories(Path::new("/d")).unwrap();
    disk.write_new(Path::new("/x"), b"data", true).unwrap();
    sync_root(&disk);
    disk.rename_new(Path::new("/x"), Path::new("/d/x")).unwrap();
    let at = disk.operations();
    let found: BTreeSet<_> = survivals(100)
        .map(|survival| {
            let crashed = disk.crash(at, survival);
            (contents(&crashed, "x").is_some(), contents(&crashed, "d/x").is_some())
        })
        .collect();
    assert_eq!(found.len(), 4);
    for at in 0..=at {
        let killed = disk.kill(at);
        let names = ["x", "d/x"].map(|path| contents(&killed, path).is_some());
        assert_ne!(names, [true, true], "the running system sees one name");
    }
}

#[test]
fn a_directory_that_is_lost_keeps_no_file_alive() {
    let disk = SimulatedDisk::new();
    disk.create_directories(Path::new("/d")).unwrap();
    disk.write_new(Path::new("/d/x"), b"data", true).unwrap();
    disk.sync_directory(Path::new("/d")).unwrap();
    disk.rename_new(Path::new("/d/x"), Path::new("/x")).unwrap();
    let mut moved = 0;
    for survival in survivals(100) {
        let crashed = disk.crash(disk.operations(), survival);
        let is_lost = crashed.canonical(Path::new("/d")).is_err();
        if is_lost && contents(&crashed, "x").is_some() {
            let file = open(&crashed, "/x");
            assert!(file.is_linked() && crashed.remove(Path::new("/x")).unwrap());
            assert!(!file.is_linked());
            moved += 1;
        }
    }
    assert_ne!(moved, 0);
}

#[test]
fn data_whose_synchronisation_failed_is_not_written_by_the_next() {
    let disk = SimulatedDisk::new();
    let file = open(&disk, "/x");
    sync_root(&disk);
    file.append(b"one").unwrap();
    disk.fail(disk.calls(), io::Error::from_raw_os_error(5));
    assert_eq!(file.sync().unwrap_err().operation, "fsync");
    file.append(b"two").unwrap();
    file.sync().unwrap();
    assert_eq!(contents(&disk, "x").unwrap(), b"onetwo");
    let expected = [&b"onetwo"[..], b"\0\0\0two"].map(|bytes| Some(bytes.to_vec()));
    assert_eq!(outcomes(&disk, "x", 200), BTreeSet::from(expected));
}

#[test]
fn the_end_of_the_process_loses_nothing() {
    let disk = SimulatedDisk::new();
    let file = open(&disk, "/x");
    file.append(b"one").unwrap();
    let before = disk.operations();
    file.append(b"two").unwrap();
    assert_eq!(contents(&disk.kill(before), "x").unwrap(), b"one");
    let killed = disk.kill(usize::MAX);
    assert_eq!(contents(&killed, "x").unwrap(), b"onetwo");
    assert_eq!((killed.operations(), killed.calls()), (0, 1));
    assert_ne!(Disk::scope(&killed), Disk::scope(&disk));
    open(&killed, "/x").append(b"three").unwrap();
    assert_eq!(contents(&disk, "x").unwrap(), b"onetwo", "the disks are apart");
    let again = killed.crash(killed.operations(), Survival::Nothing);
    assert_eq!(contents(&again, "x").unwrap(), b"onetwo", "what a restart finds is durable");
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let disk = SimulatedDisk::new();
    let file = open(&disk, "/x");
    for byte in 0..10 {
        file.append(&[byte; 1000]).unwrap();
    }
    let found: BTreeSet<_> = (0..100)
        .map(|seed| {
            let [one, two] = [(); 2].map(|()| {
                // The second call computes from the start of the journal again.
                let crashed = disk.crash(disk.operations(), Survival::Random(seed));
                assert_eq!(contents(&disk.crash(0, Survival::Everything), "x"), None);
                contents(&crashed, "x")
            });
            assert_eq!(one, two);
            one
        })
        .collect();
    assert!(found.len() > 20, "{}", found.len());
}

#[test]
fn a_planned_failure_meets_its_call_and_no_other() {
    let disk = SimulatedDisk::new();
    let root = Path::new("/");
    let path = Path::new("/x");
    let file = open(&disk, "/x");
    let calls: [&dyn Fn() -> Option<i32>; 9] = [
        &|| system(disk.create_directories(Path::new("/d"))),
        &|| system(disk.canonical(path)),
        &|| system(disk.list(root)),
        &|| system(disk.read(root, Path::new("x"), 1)),
        &|| system(disk.sync_directory(root)),
        &|| system(disk.open(path, Access::Read)),
        &|| system(file.append(b"data")),
        &|| system(file.length()),
        &|| system(file.try_lock()),
    ];
    for call in calls {
        let (before, operations) = (disk.calls(), disk.operations());
        disk.fail(before, io::Error::from_raw_os_error(28));
        assert_eq!(call(), Some(28));
        assert_eq!(disk.operations(), operations, "a failing call does nothing");
        assert_eq!(call(), None);
        assert_eq!(disk.calls(), before + 2);
    }
    disk.fail(disk.calls(), io::Error::from_raw_os_error(5));
    assert!(!file.is_linked() && file.is_linked());
    disk.fail(disk.calls(), io::Error::from_raw_os_error(5));
    assert!(!file.is_at(path) && file.is_at(path));
    disk.fail(disk.calls(), io::Error::from_raw_os_error(5));
    file.unlock();
    assert_eq!(open(&disk, "/x").try_lock().unwrap(), LockAttempt::Held);
}

fn system<T>(result: FileResult<T>) -> Option<i32> {
    match result.err()?.origin {
        Origin::System(error) => error.raw_os_error(),
        Origin::Injected { .. } => None,
    }
}

#[test]
fn a_failure_partway_leaves_half() {
    let disk = SimulatedDisk::new();
    let fail = || disk.fail_partway(disk.calls(), io::Error::from_raw_os_error(28));
    let file = open(&disk, "/x");
    fail();
    assert_eq!(system(file.append(b"abcdef")), Some(28));
    assert_eq!(contents(&disk, "x").unwrap(), b"abc");
    let before = disk.operations();
    fail();
    assert_eq!(system(disk.write_new(Path::new("/y"), b"abcdef", true)), Some(28));
    assert_eq!(contents(&disk, "y"), None, "taken back");
    assert_eq!(contents(&disk.kill(before + 2), "y").unwrap(), b"abc");
    fail();
    assert_eq!(system(disk.create_unnamed(Path::new("/z"), b"abcdef", true)), Some(28));
    assert_eq!(contents(&disk, "z"), None);
}

#[test]
fn synchronised_lines_stay_in_twenty_thousand_crashes() {
    let disk = SimulatedDisk::new();
    let log = open(&disk, "/log");
    sync_root(&disk);
    let mut acknowledged = Vec::new();
    for line in 0_u8..40 {
        log.append(&[line; 50]).unwrap();
        log.sync().unwrap();
        acknowledged.push(disk.operations());
        disk.write_new(Path::new(&format!("/{line}")), &[line; 500], false).unwrap();
    }
    let mut crashes = 0;
    for at in acknowledged[0]..=disk.operations() {
        let lines = acknowledged.iter().filter(|place| **place <= at).count();
        for survival in survivals(150) {
            let found = contents(&disk.crash(at, survival), "log").unwrap();
            assert!(found.len() >= 50 * lines, "{} of {lines} lines", found.len());
            crashes += 1;
        }
    }
    assert!(crashes > 20_000, "{crashes}");
}

/// Creates three files and counts the damaged files after power cuts at every operation.
async fn damage(disk: SimulatedDisk, durability: Durability) -> usize {
    let directory = Path::new("/store");
    disk.create_directories(directory).unwrap();
    sync_root(&disk);
    let wholes = [vec![1; 10], vec![2; BLOCK + 10], vec![3; 3 * BLOCK]];
    let mut acknowledged = Vec::new();
    for (index, whole) in wholes.iter().enumerate() {
        let (temporary, path) =
            (directory.join(format!("{index}.tmp")), directory.join(index.to_string()));
        let target = Target { directory, temporary: &temporary, path: &path };
        let sync = DirectorySync::default();
        let contents = Arc::new(whole.clone());
        create_file(&disk, target, contents, durability, &sync).await.unwrap();
        acknowledged.push(disk.operations());
    }
    let mut damage = 0;
    for at in 0..=disk.operations() {
        for survival in survivals(500) {
            let crashed = disk.crash(at, survival);
            for ((index, whole), place) in wholes.iter().enumerate().zip(&acknowledged) {
                damage += match contents(&crashed, &format!("store/{index}")) {
                    Some(found) => usize::from(found != *whole),
                    None => usize::from(*place <= at),
                };
            }
        }
    }
    damage
}

#[tokio::test]
async fn a_file_created_durably_is_whole_or_missing_and_stays() {
    for disk in [SimulatedDisk::new(), SimulatedDisk::new().without_unnamed_files()] {
        assert_eq!(damage(disk.kill(0), Durability::Full).await, 0);
        assert_ne!(damage(disk, Durability::Process).await, 0, "the check finds damage");
    }
}
