//! Errors at every system call of saving, appending and compacting: the error is reported with code
//! and path, or handled; old data is intact, no files are left over, and the next call of the same
//! process works.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod support;

use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt,
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering},
    time::{Duration, Instant},
};

use agent_context_core::{Code, Error};
use storage::{Durability, FileSystem, LocalDisk, LogRegistry};

use support::{
    At,
    child::{self, Running},
    contexts, evidence, histories,
    mutations::{self, Mutation, Outcomes},
    points::{self, Ready, Tally, on_two_threads},
    tracer::{Point, Tracer},
};

const TEST: &str = "system_errors";
/// The approximate number of points, which is reported if they cannot be tested.
const CHECKS: usize = 1700;
const ERRORS: [&str; 6] = ["EIO", "ENOSPC", "EACCES", "EXDEV", "EINTR", "EMFILE"];
/// Calls that cannot be interrupted, according to any standard.
const UNINTERRUPTED: [&str; 3] = ["mkdir", "readlink", "statx"];
/// The round with the error, and another one.
const ROUNDS: usize = 2;

#[test]
#[ignore = "a part of the other tests, in a process of its own"]
fn child() {
    match child::role() {
        Some((role, directory)) if role == "unlocked" => unlocked(&directory),
        Some((role, directory)) => mutations::child(&role, &directory),
        None => {}
    }
}

const MUTATIONS: [Mutation; 11] = [
    Mutation::Save { full: false, named: false, fresh: false },
    Mutation::Save { full: true, named: false, fresh: false },
    Mutation::Save { full: false, named: true, fresh: false },
    Mutation::Save { full: true, named: true, fresh: false },
    Mutation::Save { full: true, named: false, fresh: true },
    Mutation::Append { full: false, torn: false, fresh: false },
    Mutation::Append { full: true, torn: false, fresh: false },
    Mutation::Append { full: false, torn: true, fresh: false },
    Mutation::Append { full: true, torn: true, fresh: false },
    Mutation::Append { full: true, torn: false, fresh: true },
    Mutation::Compact,
];

/// A new log has its name, and synchronising the directory fails: the log cannot be rolled back.
fn may_be_done_all_the_same(mutation: Mutation, point: &Point, ready: &Ready) -> bool {
    mutation == Mutation::Compact
        && (point.shown.contains(&format!("<{}>", ready.directory.display()))
            || point.shown.contains(&format!("\"{}\", O_RDONLY", ready.directory.display())))
}

/// Checks that an error has a code and names the file or its directory.
fn check_told(mutation: Mutation, outcomes: &Outcomes, ready: &Ready) {
    for (code, message) in outcomes.failed.values() {
        // If the log cannot be compared with the planned one, the compaction reports a conflict.
        let is_conflict = mutation == Mutation::Compact && code == Code::Conflict.as_str();
        assert!(code == Code::Io.as_str() || is_conflict, "{code} {message}");
        let is_named = message.contains(ready.directory.to_str().unwrap());
        assert!(is_named, "{message:?} names no path");
    }
}

fn visit(mutation: Mutation, point: &Point, error: &str, tally: &Tally) {
    let Point { thread, call, number, shown } = point;
    let _at = At(format!("{mutation:?}, {error} at {thread:?} {call} {number}: {shown}"));
    support::runtime().block_on(async {
        let mut ready = Ready::start(mutation, ROUNDS).await;
        let (outcomes, is_well) = ready.go_with(point, &format!("error={error}"));
        assert!(is_well, "the child lives on");
        // If a directory cannot be closed, the standard library panics, without a path.
        if call != "close" {
            check_told(mutation, &outcomes, &ready);
        }
        assert!(outcomes.done.contains(&ROUNDS), "the next call works: {outcomes:?}");
        tally.add(if outcomes.failed.is_empty() { "overcome" } else { "told" });
        if error == "EINTR" && !UNINTERRUPTED.contains(&call.as_str()) {
            assert!(outcomes.failed.is_empty(), "an interruption is no failure: {outcomes:?}");
        }
        let mut possible = vec![outcomes.done.clone()];
        if may_be_done_all_the_same(mutation, point, &ready) {
            possible.push((1..=ROUNDS).collect());
        }
        mutations::check(mutation, &ready.directory, &ready.before, &possible).await;
        // Before a sweep.
        if call != "unlink" {
            assert_eq!(contexts::temporaries(&ready.directory), 0, "nothing is left over");
            assert_eq!(histories::replacements(&ready.directory), 0, "nothing is left over");
        }
        mutations::check_next(mutation, &ready.directory).await;
    });
}

#[test]
fn an_error_at_any_system_call_is_told_or_overcome_and_leaves_nothing() {
    if !evidence::can_trace(TEST, CHECKS) {
        return;
    }
    let begun = Instant::now();
    let mut visits = Vec::new();
    for mutation in MUTATIONS {
        for point in points::of(mutation, 1) {
            visits.extend(ERRORS.map(|error| (mutation, point.clone(), error)));
        }
    }
    let tally = Tally::default();
    on_two_threads(&visits, |(mutation, point, error)| visit(*mutation, point, error, &tally));
    let calls = points::tally(visits.iter().map(|(_, point, _)| point.call.clone()));
    evidence::record(
        TEST,
        &format!(
            "points: {} ({} told, {} overcome) in {} mutations, {:.0} s; {calls}; checks skipped: 0",
            visits.len(),
            tally.count("told"),
            tally.count("overcome"),
            MUTATIONS.len(),
            begun.elapsed().as_secs_f64()
        ),
    );
}

/// An append that can be neither synchronised nor rolled back is reported as failed; the record may
/// be there, complete or not at all.
#[test]
fn a_record_that_cannot_be_taken_back_is_whole_or_gone() {
    if !evidence::can_trace(TEST, 2) {
        return;
    }
    let mutation = Mutation::Append { full: true, torn: false, fresh: false };
    for first in ["fdatasync:error=EIO:when=1", "fsync:error=EIO:when=1"] {
        let _at = At(first.to_owned());
        support::runtime().block_on(async {
            let mut ready = Ready::start(mutation, ROUNDS).await;
            let refused = "ftruncate:error=EIO".to_owned();
            let (outcomes, is_well) = ready.go_with_all(&[first.to_owned(), refused]);
            assert!(is_well && outcomes.failed.contains_key(&1), "{outcomes:?}");
            check_told(mutation, &outcomes, &ready);
            let possible = [outcomes.done, BTreeSet::from_iter(1..=ROUNDS)];
            mutations::check(mutation, &ready.directory, &ready.before, &possible).await;
            mutations::check_next(mutation, &ready.directory).await;
        });
    }
}

/// A child on a file system without locks: it saves, appends, and tries to compact.
fn unlocked(directory: &std::path::Path) {
    let orders = child::listen();
    support::runtime().block_on(async {
        let told = Arc::new(AtomicUsize::new(0));
        let history = histories::history_with(
            histories::options(directory, Durability::Process),
            mutations::counting(&told),
        );
        let manager = contexts::manager(contexts::options(directory, "child", Durability::Full));
        child::say(&format!("ready {}", child::thread_id()));
        orders.recv().unwrap();
        for number in 0..2 {
            histories::append(&history, &format!("new-{number}"), 100).await.unwrap();
        }
        let code = histories::compact(&history, 1, "summary").await.unwrap_err().code;
        child::say(&format!("told {} compacting {code}", told.load(Ordering::SeqCst)));
        let path = contexts::save(&manager, "new", "saved").await.unwrap();
        child::say(&format!("loaded {}", contexts::load(&manager, &path).await));
    });
}

#[test]
fn without_locks_appending_and_saving_work_and_compacting_is_refused() {
    if !evidence::can_trace(TEST, 1) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kept = histories::line("kept", 100);
    let history = folder.path().join(histories::NAME);
    std::fs::write(&history, &kept).unwrap();
    // A file that other users can read would be reported as well.
    std::fs::set_permissions(&history, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut child = Running::start("unlocked", folder.path());
    let thread = child.expect("ready").parse().unwrap();
    let tracer = Tracer::tamper(&[thread], &["flock:error=ENOLCK".to_owned()]);
    child.tell("go");
    child.expect("told 1 compacting ERR_CONTEXT_UNSUPPORTED");
    child.expect("loaded saved");
    assert!(child.finish().1);
    tracer.finish();
    let appended = [kept, histories::line("new-0", 100), histories::line("new-1", 100)];
    assert_eq!(histories::text(folder.path()), appended.concat(), "nothing was compacted");
}

/// The task that processes a log's queue panics.
#[tokio::test]
async fn a_panic_while_a_log_is_served_keeps_nobody_waiting() {
    static LOGS: LogRegistry<Error> = LogRegistry::new();
    let folder = tempfile::tempdir().unwrap();
    let file_system: Arc<dyn FileSystem> = Arc::new(LocalDisk);
    let log = LOGS.log(&file_system, &histories::log_path(folder.path()));
    let patience = Duration::from_secs(5);
    let append = |line: Option<&'static str>| {
        let make = move || Ok(line.unwrap().into());
        log.append(Box::new(make), Durability::Process, patience)
    };
    let (dying, waiting) = (append(None), append(Some("waiting")));
    assert!(dying.outcome().await.is_none(), "who died has no outcome");
    let later = async { (waiting.outcome().await, append(Some("later")).outcome().await) };
    let (waiting, later) = tokio::time::timeout(patience, later).await.expect("nobody waits");
    assert!(waiting.is_none() && later.is_some_and(|outcome| outcome.is_ok()));
    assert_eq!(histories::text(folder.path()), "later\n");
}
