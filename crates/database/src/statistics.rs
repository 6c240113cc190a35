//! What a process has asked of a database.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_postgres::Row;

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
    /// Bytes of the statements that were sent, with their parameters.
    pub bytes_sent: u64,
    /// Bytes of the rows that were received.
    pub bytes_received: u64,
}

/// The counters while they change.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub requests: AtomicU64,
    pub retries: AtomicU64,
    pub conflicts: AtomicU64,
    pub connections: AtomicU64,
    pub bytes_sent: AtomicU64,
    pub bytes_received: AtomicU64,
}

impl Counters {
    pub fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// A statement of so many bytes is sent.
    pub fn sent(&self, bytes: usize) {
        Self::add(&self.requests);
        self.bytes_sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Rows were received.
    pub fn received(&self, rows: &[Row]) {
        let bytes = rows.iter().map(|row| row.raw_size_bytes() as u64).sum();
        self.bytes_received.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn read(&self) -> Statistics {
        Statistics {
            requests: self.requests.load(Ordering::Relaxed),
            retries: self.retries.load(Ordering::Relaxed),
            conflicts: self.conflicts.load(Ordering::Relaxed),
            connections: self.connections.load(Ordering::Relaxed),
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
        }
    }
}
