//! What a process has asked of a database.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a [`crate::Database`] since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Statements that were sent, with repeated ones.
    pub requests: u64,
    /// Calls that were repeated.
    pub retries: u64,
    /// Transactions that the server aborted because of others: a part of `retries`.
    pub conflicts: u64,
    /// Connections that were opened.
    pub connections: u64,
}

/// The counters while they change.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub requests: AtomicU64,
    pub retries: AtomicU64,
    pub conflicts: AtomicU64,
    pub connections: AtomicU64,
}

impl Counters {
    pub fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub fn read(&self) -> Statistics {
        Statistics {
            requests: self.requests.load(Ordering::Relaxed),
            retries: self.retries.load(Ordering::Relaxed),
            conflicts: self.conflicts.load(Ordering::Relaxed),
            connections: self.connections.load(Ordering::Relaxed),
        }
    }
}
