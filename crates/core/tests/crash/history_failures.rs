//! Failing disk calls of histories.

use std::sync::Arc;

use agent_context_core::{
    Code, Error,
    history::{CompactReport, Filter, History},
};
use simulator::{SimulatedDisk, Survival};
use storage::Durability;

use crate::{
    cuts::{names, runtime},
    evidence::Group,
    failures::{Failed, fail_everywhere},
    history::{append, check_read, compact, filters, history_on, long, values},
    log::replacements,
    story::{DIRECTORY, Line, NAME, text, whole_lines},
};
use Durability::{Full, Process};

/// An open history with its lines.
struct InUse {
    history: Arc<History>,
    lines: Vec<Line>,
}

async fn in_use(durability: Durability) -> (SimulatedDisk, InUse) {
    let disk = SimulatedDisk::new();
    let history = history_on(&disk, durability);
    for id in ["a", "b", "c"] {
        append(&history, id, 3000).await.unwrap();
    }
    let lines = whole_lines(&text(&disk));
    (disk, InUse { history, lines })
}

fn check_names(disk: &SimulatedDisk) {
    let known = [NAME.to_owned(), format!("{NAME}.index"), format!("{NAME}.lock")];
    for name in names(disk, DIRECTORY) {
        assert!(known.contains(&name), "{name} is left");
    }
}

/// Checks that this and another process can use the history, and that a power failure loses
/// nothing.
async fn goes_on(disk: &SimulatedDisk, history: &Arc<History>) {
    let before = whole_lines(&text(disk));
    check_read(disk, &before).await;
    append(history, "next", 100).await.unwrap();
    append(&history_on(disk, Full), "last", 100).await.unwrap();
    let left = disk.crash(usize::MAX, Survival::Nothing);
    let lines = whole_lines(&text(&left));
    assert!(lines.starts_with(&before) && lines.len() == before.len() + 2);
    check_read(&left, &lines).await;
    let report = compact(history, 2).await.unwrap();
    assert_eq!(report.dropped_entries, before.len() as u64);
    let left = disk.crash(usize::MAX, Survival::Nothing);
    check_read(&left, &whole_lines(&text(&left))).await;
    assert_eq!(whole_lines(&text(&left)).len(), 3);
    check_names(disk);
}

fn append_fails(story: &'static str, durability: Durability) {
    let begin = async || in_use(durability).await;
    let act = async |_: &SimulatedDisk, used: &InUse| append(&used.history, "new", 5000).await;
    fail_everywhere(Group::History, story, begin, act, async |disk, used, failed| {
        let lines = whole_lines(&text(disk));
        match &failed.outcome {
            Ok(()) => {
                assert!(lines.starts_with(&used.lines) && lines.len() == used.lines.len() + 1);
                let left = disk.crash(usize::MAX, Survival::Nothing);
                assert!(durability == Process || whole_lines(&text(&left)) == lines);
            }
            Err(error) => {
                check_error(error, failed);
                assert_eq!(lines, used.lines, "what failed is taken back");
            }
        }
        check_names(disk);
        goes_on(disk, &used.history).await;
    });
}

/// Checks the error: its code, the file's path and the reason.
fn check_error<T>(error: &Error, failed: &Failed<T, Error>) {
    assert_eq!(error.code, Code::Io);
    assert_eq!(error.cause.as_ref().unwrap().kind, failed.kind());
    assert!(error.message.contains(DIRECTORY));
}

#[test]
fn appends_fail_without_a_trace() {
    append_fails("an append, process, calls fail", Process);
    append_fails("an append, full, calls fail", Full);
}

fn check_compacted(disk: &SimulatedDisk, used: &InUse, failed: &Failed<CompactReport, Error>) {
    let lines = whole_lines(&text(disk));
    let is_new = lines.len() == 2 && lines[1] == used.lines[2];
    match &failed.outcome {
        Ok(report) => {
            assert_eq!((report.kept_entries, report.dropped_entries), (1, 2));
            assert!(is_new);
            assert_eq!(report.bytes_after, text(disk).len() as u64);
        }
        Err(error) => {
            // The error may not name the file.
            if error.code != Code::Conflict {
                check_error(error, failed);
            }
            assert!(lines == used.lines || is_new);
        }
    }
    check_names(disk);
}

fn compaction_fails(story: &'static str, durability: Durability) {
    let begin = async || in_use(durability).await;
    let act = async |_: &SimulatedDisk, used: &InUse| compact(&used.history, 1).await;
    fail_everywhere(Group::History, story, begin, act, async |disk, used, failed| {
        check_compacted(disk, used, failed);
        goes_on(disk, &used.history).await;
    });
}

#[test]
fn compactions_fail_without_a_trace() {
    compaction_fails("a compaction, process, calls fail", Process);
    compaction_fails("a compaction, full, calls fail", Full);
}

#[test]
fn a_search_whose_index_cannot_be_written_finds_the_same() {
    let disk = runtime().block_on(long());
    let filter = || filters().remove(1);
    let search = async |history: &Arc<History>, filter: Filter| {
        history.search(filter).await.map(|found| values(&found))
    };
    let expected = runtime().block_on(search(&history_on(&disk, Process), filter())).unwrap();
    assert!(!expected.is_empty());
    let begin = async || {
        // Without the index that was written since.
        let disk = disk.kill(0);
        let history = history_on(&disk, Process);
        (disk, history)
    };
    let act = async |_: &SimulatedDisk, history: &Arc<History>| search(history, filter()).await;
    let story = "a search that writes an index, calls fail";
    fail_everywhere(Group::History, story, begin, act, async |disk, history, failed| {
        match &failed.outcome {
            Ok(found) => assert!(*found == expected),
            Err(error) => check_error(error, failed),
        }
        assert_eq!(replacements(disk), 0);
        check_names(disk);
        assert!(search(history, filter()).await.unwrap() == expected);
    });
}

#[test]
fn without_locks_there_are_appends_and_no_compactions() {
    runtime().block_on(async {
        let disk = in_use(Full).await.0.kill(usize::MAX).without_locks();
        let history = history_on(&disk, Full);
        append(&history, "d", 100).await.unwrap();
        let left = disk.crash(usize::MAX, Survival::Nothing);
        let lines = whole_lines(&text(&left));
        assert_eq!(lines.len(), 4);
        check_read(&disk, &lines).await;
        let operations = disk.operations();
        assert_eq!(compact(&history, 1).await.unwrap_err().code, Code::Unsupported);
        assert_eq!(disk.operations(), operations, "nothing changed");
        check_read(&disk, &lines).await;
    });
}
