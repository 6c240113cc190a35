//! SIGKILL at random moments, also within system calls: three writers of one history, and several
//! processes that save contexts in one directory. Each killed process is replaced at once.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod support;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use agent_context_core::context::Manager;
use storage::{Durability, layout};

use support::{
    At,
    child::{self, Running},
    contexts, evidence, histories, mutations,
    named_disk::NAMED_DISK,
};

const TEST: &str = "random_kill";
const WRITERS: usize = 3;
/// The number of kills after which a log is checked and the next one begins.
const KILLS_PER_LOG: usize = 25;
const LOGS: usize = 20;
const SAVER_KILLS: usize = 100;
const LARGEST: u64 = 200_000;

#[test]
#[ignore = "a part of the other tests, in a process of its own"]
fn child() {
    match child::role() {
        Some((role, directory)) if role.starts_with("writer") => write(&role, &directory),
        Some((role, directory)) => save(&role, &directory),
        None => {}
    }
}

/// One in three entries is large, so that some writers are killed within a write.
fn random_size() -> usize {
    let bound = if layout::random().is_multiple_of(3) { LARGEST } else { 4000 };
    usize::try_from(layout::random() % bound).unwrap()
}

/// Writes entries as fast as possible, and reports each: `begins <number> <size>`, `done`.
fn write(role: &str, directory: &Path) {
    drop(child::listen());
    support::runtime().block_on(async {
        let options = histories::options(directory, Durability::Process);
        let history = histories::history(options);
        for number in 0_u64.. {
            let size = random_size();
            child::say(&format!("begins {number} {size}"));
            histories::append(&history, &id(role, number), size).await.unwrap();
            child::say("done");
        }
    });
}

fn id(role: &str, number: u64) -> String {
    format!("{role} {number}")
}

/// Saves results; reports number, size and path of each after the save.
fn save(role: &str, directory: &Path) {
    drop(child::listen());
    support::runtime().block_on(async {
        let options = contexts::options(directory, role, Durability::Process);
        let manager: Arc<Manager> = if role.ends_with("named") {
            contexts::manager_on(NAMED_DISK, options)
        } else {
            contexts::manager(options)
        };
        for number in 0.. {
            let size = random_size();
            let path = contexts::save(&manager, "t", &contexts::text(number, size)).await.unwrap();
            child::say(&format!("saved {number} {size} {path}"));
        }
    });
}

/// The reports of a writer: the size of each entry that it began, and the number of acknowledged
/// ones.
#[derive(Default)]
struct Written {
    sizes: Vec<usize>,
    done: usize,
}

fn written(lines: &[String]) -> Written {
    let mut written = Written::default();
    for line in lines {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["begins", _, size] => written.sizes.push(size.parse().unwrap()),
            ["done"] => written.done += 1,
            // The report was cut short by the kill.
            _ => {}
        }
    }
    written
}

fn random_pause() -> Duration {
    Duration::from_micros(layout::random() % 8000)
}

/// Kills random ones of `count` children and replaces them; returns the reports of all children.
fn kill_at_random(
    roles: impl Fn(usize) -> String,
    count: usize,
    kills: usize,
    directory: &Path,
) -> BTreeMap<String, Vec<String>> {
    let mut said = BTreeMap::new();
    let mut started = 0;
    let mut start = || {
        let role = roles(started);
        started += 1;
        let mut running = Running::start(&role, directory);
        // A child that has not begun would not be a useful victim.
        running.next().unwrap();
        (role, running)
    };
    let mut children: Vec<(String, Running)> = (0..count).map(|_| start()).collect();
    for _ in 0..kills {
        std::thread::sleep(random_pause());
        let victim = usize::try_from(layout::random() % count as u64).unwrap();
        children[victim].1.kill();
        let (role, mut dead) = std::mem::replace(&mut children[victim], start());
        said.insert(role, dead.finish().0);
    }
    for (role, mut last) in children {
        last.kill();
        said.insert(role, last.finish().0);
    }
    said
}

/// The kinds of lines in one log.
#[derive(Default)]
struct Counts {
    acknowledged: usize,
    whole: usize,
    torn: usize,
    bytes: usize,
}

/// Checks that every line is one that a writer wrote, or the beginning of one that was being
/// written at a kill.
fn check_log(directory: &Path, said: &BTreeMap<String, Vec<String>>) -> Counts {
    let log = std::fs::read(directory.join(histories::NAME)).unwrap();
    let writers: BTreeMap<&str, Written> =
        said.iter().map(|(role, lines)| (role.as_str(), written(lines))).collect();
    // The entry that a killed writer may have been writing: its first one that was not
    // acknowledged.
    let unfinished: Vec<String> = writers
        .iter()
        .filter_map(|(role, written)| {
            let size = written.sizes.get(written.done)?;
            Some(histories::line(&id(role, written.done as u64), *size))
        })
        .collect();
    let mut next = BTreeMap::<&str, usize>::new();
    let mut counts = Counts { bytes: log.len(), ..Counts::default() };
    for line in log.split_inclusive(|&byte| byte == b'\n') {
        let at_end = line.strip_suffix(b"}\n").and_then(|line| {
            let tail = std::str::from_utf8(&line[line.len().saturating_sub(60)..]).ok()?;
            let (_, id) = tail.strip_suffix('"')?.rsplit_once("\"id\":\"")?;
            let (role, number) = id.rsplit_once(' ')?;
            let number: usize = number.parse().ok()?;
            let (role, written) = writers.get_key_value(role)?;
            let size = written.sizes.get(number)?;
            (line.len() + 2 == histories::line(id, *size).len()).then_some((*role, number, *size))
        });
        if let Some((role, number, size)) = at_end {
            let expected = histories::line(&id(role, number as u64), size);
            assert!(line == expected.as_bytes(), "{role} {number} is mixed with something");
            let next = next.entry(role).or_default();
            assert_eq!(number, *next, "the order of {role}");
            *next += 1;
            counts.whole += 1;
        } else {
            let part = line.strip_suffix(b"\n").unwrap_or(line);
            let is_beginning = unfinished.iter().any(|whole| whole.as_bytes().starts_with(part));
            assert!(is_beginning, "a line of {} bytes is nobody's beginning", line.len());
            counts.torn += 1;
        }
    }
    for (role, written) in &writers {
        let there = next.get(role).copied().unwrap_or_default();
        assert!(there >= written.done, "{role}: {} acknowledged, {there} there", written.done);
        counts.acknowledged += written.done;
    }
    counts
}

/// Checks that the library reads every complete line as an entry, and skips and counts the
/// incomplete ones.
async fn check_reading(directory: &Path, counts: &Counts) {
    let told = Arc::new(AtomicUsize::new(0));
    let options = histories::options(directory, Durability::Process);
    let history = histories::history_with(options, mutations::counting(&told));
    histories::append(&history, "after", 10).await.unwrap();
    let report = history.verify().await.unwrap();
    assert_eq!(report.entries, counts.whole as u64 + 1);
    assert_eq!((report.bad_lines, report.has_torn_tail), (counts.torn as u64, false));
    let ids = histories::ids(&history).await;
    assert_eq!(ids.len(), counts.whole + 1);
    assert_eq!(ids.last().unwrap(), "after");
    assert_eq!(told.load(Ordering::SeqCst), usize::from(counts.torn > 0), "skipping is told");
}

#[test]
fn writers_that_die_lose_nothing_acknowledged_and_spoil_nobodys_record() {
    let begun = Instant::now();
    let mut total = Counts::default();
    for number in 0..LOGS {
        let _at = At(format!("log {number}"));
        let folder = tempfile::tempdir().unwrap();
        let role = |number| format!("writer-{number}");
        let said = kill_at_random(role, WRITERS, KILLS_PER_LOG, folder.path());
        let counts = check_log(folder.path(), &said);
        support::runtime().block_on(check_reading(folder.path(), &counts));
        total.acknowledged += counts.acknowledged;
        total.whole += counts.whole;
        total.torn += counts.torn;
        total.bytes += counts.bytes;
    }
    let Counts { acknowledged, whole, torn, bytes } = total;
    assert!(acknowledged > LOGS * KILLS_PER_LOG, "the writers wrote");
    assert!(torn > 0, "some died within a write");
    evidence::record(
        TEST,
        &format!(
            "history: {} kills of {WRITERS} writers, {:.0} s; {acknowledged} records acknowledged, 0 lost, 0 mixed; {whole} whole, {torn} torn lines skipped, {} MB; checks skipped: 0",
            LOGS * KILLS_PER_LOG,
            begun.elapsed().as_secs_f64(),
            bytes / 1_000_000,
        ),
    );
}

#[test]
fn savers_that_die_lose_nothing_acknowledged_and_leave_nothing() {
    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let role = |number: usize| {
        format!("saver-{number}-{}", if number.is_multiple_of(2) { "named" } else { "unnamed" })
    };
    let said = kill_at_random(role, 2, SAVER_KILLS, folder.path());
    let (temporaries, leases) =
        (contexts::temporaries(folder.path()), contexts::leases(folder.path()));
    let mut saved = BTreeMap::new();
    for line in said.values().flatten() {
        if let ["saved", number, size, path] = line.split(' ').collect::<Vec<_>>()[..] {
            let text = contexts::text(number.parse().unwrap(), size.parse().unwrap());
            saved.insert(path.to_owned(), text);
        }
    }
    let there = contexts::contexts(folder.path());
    support::runtime().block_on(async {
        let options = contexts::options(folder.path(), "check", Durability::Process);
        let manager = contexts::manager(options);
        for (path, text) in &saved {
            assert!(contexts::load(&manager, path).await == *text, "{path} is what was saved");
        }
        for name in there.keys() {
            contexts::load(&manager, &format!("{}/{name}", folder.path().display())).await;
        }
        contexts::check_next(folder.path()).await;
    });
    assert!(saved.len() > SAVER_KILLS, "the savers saved");
    evidence::record(
        TEST,
        &format!(
            "contexts: {SAVER_KILLS} kills of 2 savers, {:.0} s; {} contexts acknowledged, 0 lost; {} whole; {temporaries} temporary files and {leases} leases swept; checks skipped: 0",
            begun.elapsed().as_secs_f64(),
            saved.len(),
            there.len(),
        ),
    );
}
