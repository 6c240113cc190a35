//! SIGKILL before every system call of every mutation, on a real disk: acknowledged data is intact,
//! the interrupted mutation is done completely or not at all, and the next process cleans up after
//! it.
//!
//! See `support/tracer.rs` for how the calls are found and counted. The process is killed when it
//! enters a call, before the kernel does anything, which covers the states between all calls. Kills
//! within a call are tested in `random_kill.rs`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod support;

use std::{collections::BTreeSet, time::Instant};

use support::{
    At, child, evidence,
    mutations::{self, Mutation},
    points::{self, Ready, on_two_threads},
    tracer::Point,
};

const TEST: &str = "kill";
/// The approximate number of points, which is reported if they cannot be tested.
const CHECKS: usize = 600;

#[test]
#[ignore = "a part of the other tests, in a process of its own"]
fn child() {
    if let Some((role, directory)) = child::role() {
        mutations::child(&role, &directory);
    }
}

/// In the second round of a mutation, all files are open already.
fn rounds(mutation: Mutation) -> usize {
    match mutation {
        Mutation::Save { .. } | Mutation::Append { .. } => 2,
        _ => 1,
    }
}

/// Kills the child at the point, and checks the files.
fn visit(mutation: Mutation, point: &Point) {
    let _at = At(format!(
        "{mutation:?}, {:?} {} {}: {}",
        point.thread, point.call, point.number, point.shown
    ));
    support::runtime().block_on(async {
        let rounds = rounds(mutation);
        let mut ready = Ready::start(mutation, rounds).await;
        let (outcomes, is_well) = ready.go_with(point, "signal=SIGKILL");
        assert!(!is_well, "the child reached the point");
        assert!(outcomes.failed.is_empty(), "{outcomes:?}");
        let done = outcomes.done;
        let next: BTreeSet<usize> = (1..=rounds.min(done.len() + 1)).collect();
        mutations::check(mutation, &ready.directory, &ready.before, &[done, next]).await;
        mutations::check_next(mutation, &ready.directory).await;
    });
}

#[test]
fn death_at_any_system_call_loses_and_mixes_nothing() {
    if !evidence::can_trace(TEST, CHECKS) {
        return;
    }
    let begun = Instant::now();
    let visits: Vec<(Mutation, Point)> = Mutation::ALL
        .into_iter()
        .flat_map(|mutation| {
            let points = points::of(mutation, rounds(mutation));
            points.into_iter().map(move |point| (mutation, point))
        })
        .collect();
    on_two_threads(&visits, |(mutation, point)| visit(*mutation, point));
    let calls = points::tally(visits.iter().map(|(_, point)| point.call.clone()));
    evidence::record(
        TEST,
        &format!(
            "points: {} in {} mutations, {:.0} s; {calls}; checks skipped: 0",
            visits.len(),
            Mutation::ALL.len(),
            begun.elapsed().as_secs_f64()
        ),
    );
}
