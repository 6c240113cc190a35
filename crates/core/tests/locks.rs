//! The lock between processes: a stopped holder keeps it, a killed holder releases it at once, and
//! all waiting processes get it eventually.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod support;

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use agent_context_core::{Code, history::HistoryOptions};
use storage::{Durability, layout};

use support::{
    child::{self, Running},
    evidence, histories, mutations,
};

const TEST: &str = "locks";
const STOPPED: Duration = Duration::from_secs(1);
const KILLS: usize = 20;
/// A process that has waited for more than a second polls less often; this many kills happen after
/// that.
const LATE_KILLS: usize = 3;
/// The time after the holder's death within which another process must get the lock.
const TAKEOVER: Duration = Duration::from_millis(50);
const HAMMERING: Duration = Duration::from_secs(3);
const HAMMERERS: usize = 4;
/// The time that each process holds the lock in the stress test.
const WORK: Duration = Duration::from_micros(200);

#[test]
#[ignore = "a part of the other tests, in a process of its own"]
fn child() {
    match child::role() {
        Some((role, directory)) if role == "hammer" => hammer(&directory),
        Some((_, directory)) => hold(&directory),
        None => {}
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Holds the history's lock until a line of input, then appends.
fn hold(directory: &Path) {
    let orders = child::listen();
    support::runtime().block_on(async {
        let guard = mutations::lock(directory).acquire(soon()).await.unwrap();
        assert!(guard.is_exclusive());
        child::say("holds");
        orders.recv().unwrap();
        drop(guard);
        let history = histories::history(histories::options(directory, Durability::Process));
        histories::append(&history, "holder", 10).await.unwrap();
        child::say("appended");
    });
}

/// Takes the lock again and again; checks that no other process holds it meanwhile.
fn hammer(directory: &Path) {
    let orders = child::listen();
    support::runtime().block_on(async {
        let lock = mutations::lock(directory);
        let within = directory.join("within");
        child::say("ready");
        orders.recv().unwrap();
        let (begun, mut turns, mut longest) = (Instant::now(), 0, Duration::ZERO);
        while begun.elapsed() < HAMMERING {
            let waiting = Instant::now();
            let guard = lock.acquire(soon()).await.unwrap();
            longest = longest.max(waiting.elapsed());
            let entered = fs::File::create_new(&within);
            assert!(entered.is_ok(), "nobody else is within: {entered:?}");
            std::thread::sleep(WORK);
            fs::remove_file(&within).unwrap();
            drop(guard);
            turns += 1;
        }
        child::say(&format!("turns {turns} {}", longest.as_micros()));
    });
}

fn impatient(directory: &Path) -> HistoryOptions {
    HistoryOptions {
        lock_timeout: Duration::from_millis(100),
        ..histories::options(directory, Durability::Process)
    }
}

#[test]
fn a_stopped_holder_keeps_the_lock_and_goes_on_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let mut holder = Running::start("hold", folder.path());
    holder.expect("holds");
    holder.signal("STOP");
    let stopped = Instant::now();
    let lock = mutations::lock(folder.path());
    let (mut attempts, mut timeouts) = (0, 0);
    support::runtime().block_on(async {
        let history = histories::history(impatient(folder.path()));
        while stopped.elapsed() < STOPPED {
            for _ in 0..100 {
                assert!(lock.try_acquire().unwrap().is_none(), "nobody is admitted");
                attempts += 1;
            }
            let error = histories::append(&history, "refused", 10).await.unwrap_err();
            assert_eq!(error.code, Code::LockTimeout);
            let file = folder.path().join(histories::NAME);
            assert!(error.message.contains(file.to_str().unwrap()), "{}", error.message);
            timeouts += 1;
        }
        assert_eq!(histories::text(folder.path()), "");
        let patient = histories::history(histories::options(folder.path(), Durability::Process));
        let waiting = tokio::spawn(async move { histories::append(&patient, "waiter", 10).await });
        holder.signal("CONT");
        holder.tell("go");
        waiting.await.unwrap().unwrap();
        holder.expect("appended");
        let mut ids = histories::ids(&history).await;
        ids.sort();
        assert_eq!(ids, ["holder", "waiter"]);
    });
    assert!(holder.finish().1);
    evidence::record(
        TEST,
        &format!(
            "stopped holder: {} ms, {attempts} attempts and {timeouts} appends by others, 0 admitted; checks skipped: 0",
            stopped.elapsed().as_millis()
        ),
    );
}

#[test]
fn a_killed_holder_is_followed_at_once() {
    let mut waits = Vec::new();
    for number in 0..KILLS {
        let folder = tempfile::tempdir().unwrap();
        let mut holder = Running::start("hold", folder.path());
        holder.expect("holds");
        let directory = folder.path().to_owned();
        let waiter = std::thread::spawn(move || {
            support::runtime().block_on(async {
                let options = histories::options(&directory, Durability::Process);
                let history = histories::history(options);
                histories::append(&history, "waiter", 10).await.unwrap();
                Instant::now()
            })
        });
        let pause = if number < LATE_KILLS { 1200 } else { 20 + layout::random() % 40 };
        std::thread::sleep(Duration::from_millis(pause));
        assert!(!waiter.is_finished(), "it waits");
        let killed = Instant::now();
        holder.kill();
        waits.push(waiter.join().unwrap().duration_since(killed));
        assert_eq!(histories::text(folder.path()), histories::line("waiter", 10));
    }
    waits.sort();
    let (median, worst) = (waits[KILLS / 2], waits[KILLS - 1]);
    assert!(median < TAKEOVER, "{waits:?}");
    evidence::record(
        TEST,
        &format!(
            "killed holder: {KILLS} kills, the waiting append was through after {:.1} ms (median), {:.1} ms (worst); checks skipped: 0",
            median.as_secs_f64() * 1000.0,
            worst.as_secs_f64() * 1000.0
        ),
    );
}

#[test]
fn everybody_who_hammers_gets_turns_and_is_alone_within() {
    let folder = tempfile::tempdir().unwrap();
    let mut hammerers: Vec<Running> =
        (0..HAMMERERS).map(|_| Running::start("hammer", folder.path())).collect();
    hammerers.iter_mut().for_each(|hammerer| drop(hammerer.expect("ready")));
    hammerers.iter_mut().for_each(|hammerer| hammerer.tell("go"));
    let (mut turns, mut longest) = (Vec::new(), Duration::ZERO);
    for mut hammerer in hammerers {
        let told = hammerer.expect("turns");
        let (count, wait) = told.split_once(' ').unwrap();
        turns.push(count.parse::<u64>().unwrap());
        longest = longest.max(Duration::from_micros(wait.parse().unwrap()));
        assert!(hammerer.finish().1);
    }
    turns.sort_unstable();
    assert!(turns[0] > 0 && turns[HAMMERERS - 1] / turns[0] < 20, "{turns:?}");
    evidence::record(
        TEST,
        &format!(
            "fairness: {HAMMERERS} processes, {} s, turns {turns:?}, longest wait {:.1} ms; checks skipped: 0",
            HAMMERING.as_secs(),
            longest.as_secs_f64() * 1000.0
        ),
    );
}
