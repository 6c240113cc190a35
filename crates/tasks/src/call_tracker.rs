//! The calls on an object that have not ended, so that closing and clearing can wait for them.

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Numbers the calls on an object, and knows which of them have not ended.
///
/// tokio-util's `TaskTracker` waits for all tasks and for those that start meanwhile; here a caller waits
/// for the calls before its own.
#[derive(Debug, Default)]
pub struct CallTracker(Arc<Tracked>);

#[derive(Debug, Default)]
struct Tracked {
    calls: Mutex<Calls>,
    ended: Notify,
}

/// The calls so far.
#[derive(Debug, Default)]
pub struct Calls {
    next: u64,
    in_flight: BTreeSet<u64>,
}

impl Calls {
    /// How many calls there were.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.next
    }

    /// How many calls have not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// All calls have ended.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }
}

impl Tracked {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallTracker {
    /// A tracker whose first call gets this number.
    #[must_use]
    pub fn starting_at(first: u64) -> Self {
        let tracker = Self::default();
        tracker.calls().next = first;
        tracker
    }

    /// The calls; no new one begins while the guard lives.
    pub fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.calls()
    }

    /// Begins a call, which ends when what is returned is dropped.
    pub fn track(&self) -> TrackedCall {
        self.tracked(self.begin())
    }

    /// Begins a call and returns its number, for [`CallTracker::tracked`]. Calls are numbered in their
    /// order, from 0 unless [`CallTracker::starting_at`] says otherwise.
    pub fn begin(&self) -> u64 {
        self.begin_all(1).start
    }

    /// As [`CallTracker::begin`], for `count` calls; returns their numbers.
    pub fn begin_all(&self, count: u64) -> Range<u64> {
        let mut calls = self.calls();
        let numbers = calls.next..calls.next + count;
        calls.next = numbers.end;
        calls.in_flight.extend(numbers.clone());
        numbers
    }

    /// Ends the call that has begun when what is returned is dropped.
    pub fn tracked(&self, number: u64) -> TrackedCall {
        TrackedCall { tracked: Arc::clone(&self.0), number }
    }

    /// The number that the next call gets: what is below was called before.
    pub fn next(&self) -> u64 {
        self.calls().next
    }

    /// Waits until the calls so far have ended.
    pub async fn wait_for_all(&self) {
        self.wait_before(self.next()).await;
    }

    /// Waits until the calls below `number` have ended.
    pub async fn wait_before(&self, number: u64) {
        self.wait_until(|calls| calls.in_flight.first().is_none_or(|&first| first >= number)).await;
    }

    /// Waits until the call has ended.
    pub async fn wait_for(&self, number: u64) {
        self.wait_until(|calls| !calls.in_flight.contains(&number)).await;
    }

    async fn wait_until(&self, is_over: impl Fn(&Calls) -> bool) {
        loop {
            // Created before the check: a call that ends in between still wakes it.
            let ended = self.0.ended.notified();
            if is_over(&self.calls()) {
                return;
            }
            ended.await;
        }
    }
}

/// A call that has begun. It ends when this is dropped.
#[derive(Debug)]
pub struct TrackedCall {
    tracked: Arc<Tracked>,
    number: u64,
}

impl Drop for TrackedCall {
    fn drop(&mut self) {
        self.tracked.calls().in_flight.remove(&self.number);
        self.tracked.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_caller_waits_for_the_calls_before_its_own_only() {
        let tracker = Arc::new(CallTracker::default());
        tracker.wait_for_all().await;
        let (first, second) = (tracker.track(), tracker.track());
        let waiting = Arc::clone(&tracker);
        let mut waiting = tokio::spawn(async move { waiting.wait_for_all().await });
        tokio::task::yield_now().await;
        let later = tracker.track();
        drop(second);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "the first call has not ended");
        drop(first);
        (&mut waiting).await.unwrap();
        assert!(!tracker.calls().is_idle());
        drop(later);
        assert!(tracker.calls().is_idle());
        assert_eq!(tracker.calls().count(), 3);
    }

    #[tokio::test]
    async fn calls_that_begin_together_end_one_by_one() {
        let tracker = CallTracker::starting_at(7);
        let numbers = tracker.begin_all(3);
        assert_eq!(numbers, 7..10);
        for number in [8, 7] {
            drop(tracker.tracked(number));
            tracker.wait_for(number).await;
            assert!(!tracker.calls().is_idle());
        }
        drop(tracker.tracked(9));
        assert!(tracker.calls().is_idle());
        assert_eq!(tracker.begin(), 10);
    }
}
