//! Saves under way, so that clearing and closing can wait for those called before them.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Numbers the calls of a manager and knows which are under way.
#[derive(Debug, Default)]
pub struct InFlight {
    calls: Mutex<Calls>,
    done: Notify,
}

/// The calls so far.
#[derive(Debug, Default)]
pub struct Calls {
    next: u64,
    under_way: BTreeSet<u64>,
}

impl Calls {
    /// How many calls there were.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.next
    }

    /// No call is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}

impl InFlight {
    /// The calls; no new one begins while the guard lives.
    pub fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers a call, in the order of the calls.
    pub fn begin(&self) -> u64 {
        let mut calls = self.calls();
        let sequence = calls.next;
        calls.next += 1;
        calls.under_way.insert(sequence);
        sequence
    }

    /// The number that the next call gets: what is below was called before.
    pub fn next(&self) -> u64 {
        self.calls().next
    }

    /// The call is over when the guard is dropped.
    pub fn guard(&self, sequence: u64) -> InFlightGuard<'_> {
        InFlightGuard { in_flight: self, sequence }
    }

    /// Waits until no call below `sequence` is under way.
    pub async fn wait_before(&self, sequence: u64) {
        self.wait_until(|calls| calls.under_way.first().is_none_or(|&first| first >= sequence))
            .await;
    }

    /// Waits until the call is not under way.
    pub async fn wait_for(&self, sequence: u64) {
        self.wait_until(|calls| !calls.under_way.contains(&sequence)).await;
    }

    async fn wait_until(&self, is_over: impl Fn(&Calls) -> bool) {
        loop {
            // Made before the look: a call that ends in between still wakes it.
            let done = self.done.notified();
            if is_over(&self.calls()) {
                return;
            }
            done.await;
        }
    }
}

/// Ends a call when it is dropped.
#[derive(Debug)]
pub struct InFlightGuard<'a> {
    in_flight: &'a InFlight,
    sequence: u64,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.in_flight.calls().under_way.remove(&self.sequence);
        self.in_flight.done.notify_waiters();
    }
}
