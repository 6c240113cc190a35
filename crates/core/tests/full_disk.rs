//! A disk of 1 MB that is filled in steps of 4 KB: every save, append and compaction either
//! succeeds completely or fails with a code, existing data stays intact, and no files are left
//! over.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod support;

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use agent_context_core::{Code, Error};
use storage::Durability;

use support::{
    At,
    child::{self, Running},
    contexts, evidence, histories,
    named_disk::NAMED_DISK,
    tracer::Tracer,
};

const TEST: &str = "full_disk";
const STEP: usize = 4096;
const STEPS: usize = 256;
/// The size of saves and appends, in bytes.
const SIZE: usize = 100_000;
/// The number of existing entries, with which a compaction needs about as much space as a save.
const ENTRIES: usize = 12;
const ENTRY: usize = 12_000;
const KEPT: usize = 8;

#[test]
#[ignore = "a part of the other tests, in a process of its own"]
fn child() {
    if let Some((_, directory)) = child::role() {
        append_when_told(&directory);
    }
}

/// Appends an entry for each line of input.
fn append_when_told(directory: &Path) {
    let orders = child::listen();
    support::runtime().block_on(async {
        let history = histories::history(histories::options(directory, Durability::Process));
        child::say(&format!("ready {}", child::thread_id()));
        for number in 0..2 {
            orders.recv().unwrap();
            let appended = histories::append(&history, &format!("new-{number}"), SIZE).await;
            child::say(&appended.map_or_else(|error| error.message, |()| "appended".to_owned()));
        }
    });
}

/// A file system of 1 MB, which is unmounted when this is dropped.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    fn mount() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(folder.path())
            .status();
        assert!(mount.unwrap().success(), "mounting a tmpfs");
        Self { folder }
    }

    /// Creates an empty directory.
    fn fresh(&self, name: &str) -> PathBuf {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap()
            } else {
                fs::remove_file(path).unwrap()
            }
        }
        let directory = self.folder.path().join(name);
        fs::create_dir(&directory).unwrap();
        directory
    }

    /// Uses up to this many pages; returns the file that has them.
    fn fill(&self, pages: usize) -> PathBuf {
        let path = self.folder.path().join("filler");
        let mut file = fs::File::create(&path).unwrap();
        for _ in 0..pages {
            match file.write_all(&[0; STEP]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("{error}"),
            }
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, because a failed test may still have a file open.
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}

/// Checks that an error names the full disk, the path and the remedy.
fn check_refusal(error: &Error, directory: &Path) {
    assert_eq!(error.code, Code::Io, "{error}");
    assert_eq!(error.cause.as_ref().unwrap().kind, ErrorKind::StorageFull, "{error}");
    assert!(error.message.contains(directory.to_str().unwrap()), "{error}");
    assert!(error.message.contains("free some space"), "{error}");
}

/// The numbers of operations that succeeded and failed.
#[derive(Default)]
struct Counts {
    whole: usize,
    refused: usize,
}

impl Counts {
    fn add(&mut self, is_whole: bool) {
        if is_whole { self.whole += 1 } else { self.refused += 1 }
    }
}

fn new_contexts(directory: &Path, before: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    contexts::contexts(directory).into_keys().filter(|name| !before.contains_key(name)).collect()
}

async fn save_on_full(disk: &SmallDisk, pages: usize, named: bool) -> bool {
    let directory = disk.fresh("contexts");
    let full = if pages.is_multiple_of(2) { Durability::Full } else { Durability::Process };
    let options = contexts::options(&directory, "saver", full);
    let manager =
        if named { contexts::manager_on(NAMED_DISK, options) } else { contexts::manager(options) };
    let kept = contexts::save(&manager, "stays", &contexts::text(0, SIZE / 5)).await.unwrap();
    let before = contexts::contexts(&directory);
    let filler = disk.fill(pages);
    let text = contexts::text(1, SIZE);
    let saved = contexts::save(&manager, "new", &text).await;
    assert_eq!(contexts::temporaries(&directory), 0, "nothing is left over");
    match &saved {
        Ok(path) => assert_eq!(contexts::load(&manager, path).await, text),
        Err(error) => {
            check_refusal(error, &directory);
            assert!(new_contexts(&directory, &before).is_empty(), "nothing is left over");
        }
    }
    assert_eq!(contexts::load(&manager, &kept).await, contexts::text(0, SIZE / 5));
    fs::remove_file(filler).unwrap();
    let next = contexts::save(&manager, "new", &contexts::text(2, SIZE)).await.unwrap();
    assert_eq!(contexts::load(&manager, &next).await, contexts::text(2, SIZE));
    manager.close(manager.calls()).await;
    saved.is_ok()
}

async fn prepare_log(directory: &Path) -> String {
    let history = histories::history(histories::options(directory, Durability::Full));
    for number in 0..ENTRIES {
        histories::append(&history, &format!("kept-{number}"), ENTRY).await.unwrap();
    }
    histories::text(directory)
}

async fn append_on_full(disk: &SmallDisk, pages: usize) -> bool {
    let directory = disk.fresh("history");
    let mut expected = prepare_log(&directory).await;
    let full = if pages.is_multiple_of(2) { Durability::Full } else { Durability::Process };
    let history = histories::history(histories::options(&directory, full));
    let filler = disk.fill(pages);
    let appended = histories::append(&history, "new", SIZE).await;
    match &appended {
        Ok(()) => expected += &histories::line("new", SIZE),
        Err(error) => check_refusal(error, &directory),
    }
    assert!(histories::text(&directory) == expected, "whole, or as it was to the byte");
    fs::remove_file(filler).unwrap();
    histories::append(&history, "next", SIZE).await.unwrap();
    expected += &histories::line("next", SIZE);
    assert!(histories::text(&directory) == expected, "the next call works");
    appended.is_ok()
}

async fn compact_on_full(disk: &SmallDisk, pages: usize) -> bool {
    let directory = disk.fresh("history");
    let mut expected = prepare_log(&directory).await;
    let history = histories::history(histories::options(&directory, Durability::Process));
    let filler = disk.fill(pages);
    let compacted = histories::compact(&history, KEPT as u64, "summary-0").await;
    match &compacted {
        Ok(()) => expected = histories::compacted(&expected, KEPT, "summary-0"),
        Err(error) => check_refusal(error, &directory),
    }
    assert!(histories::text(&directory) == expected, "the new log, or the old one");
    assert_eq!(histories::replacements(&directory), 0, "nothing is left over");
    fs::remove_file(filler).unwrap();
    histories::compact(&history, 2, "summary-1").await.unwrap();
    expected = histories::compacted(&expected, 2, "summary-1");
    assert!(histories::text(&directory) == expected, "the next call works");
    compacted.is_ok()
}

#[test]
fn whatever_is_written_to_a_full_disk_is_whole_or_refused() {
    if !evidence::can_mount(TEST, 4 * STEPS) {
        return;
    }
    let begun = Instant::now();
    let disk = SmallDisk::mount();
    let [mut saves, mut named, mut appends, mut compactions]: [Counts; 4] = Default::default();
    support::runtime().block_on(async {
        for pages in 0..STEPS {
            let _at = At(format!("{pages} pages are filled"));
            saves.add(save_on_full(&disk, pages, false).await);
            named.add(save_on_full(&disk, pages, true).await);
            appends.add(append_on_full(&disk, pages).await);
            compactions.add(compact_on_full(&disk, pages).await);
        }
    });
    let shown = [
        ("saves", &saves),
        ("saves under a temporary name", &named),
        ("appends", &appends),
        ("compactions", &compactions),
    ];
    let told: Vec<String> = shown
        .iter()
        .map(|(what, counts)| {
            assert!(counts.whole > 0 && counts.refused > 0, "both kinds of {what}");
            format!("{what} {} whole, {} refused", counts.whole, counts.refused)
        })
        .collect();
    evidence::record(
        TEST,
        &format!(
            "steps: {STEPS} of 4 KB, {:.0} s; {}; checks skipped: 0",
            begun.elapsed().as_secs_f64(),
            told.join("; ")
        ),
    );
}

/// If a failed write leaves a part that cannot be truncated, the log has an incomplete line, which
/// the next record ends. This is the only case in which an error leaves something.
#[test]
fn a_part_that_cannot_be_cut_off_is_a_torn_line() {
    if !evidence::can_mount(TEST, 1) || !evidence::can_trace(TEST, 1) {
        return;
    }
    let disk = SmallDisk::mount();
    let directory = disk.fresh("history");
    let kept = support::runtime().block_on(prepare_log(&directory));
    let filler = disk.fill(STEPS);
    // Space for a part of the record.
    let file = fs::OpenOptions::new().write(true).open(&filler).unwrap();
    file.set_len(file.metadata().unwrap().len() - 10 * STEP as u64).unwrap();
    drop(file);
    let mut appender = Running::start("append", &directory);
    let thread = appender.expect("ready").parse().unwrap();
    let tracer = Tracer::tamper(&[thread], &["ftruncate:error=EIO".to_owned()]);
    appender.tell("append");
    appender.expect("could not append to");
    let torn = histories::text(&directory);
    let line = histories::line("new-0", SIZE);
    assert!(torn.len() > kept.len() && torn.len() < kept.len() + line.len(), "a part is there");
    assert!(torn[..kept.len()] == kept && line.starts_with(&torn[kept.len()..]));
    fs::remove_file(filler).unwrap();
    appender.tell("append");
    appender.expect("appended");
    assert!(appender.finish().1);
    tracer.finish();
    assert!(histories::text(&directory) == torn + "\n" + &histories::line("new-1", SIZE));
    support::runtime().block_on(histories::check_next(&directory));
}
