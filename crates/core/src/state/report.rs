//! The results of statistics, verifications and sweeps.

use serde::Serialize;

/// The statistics of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Items that have not expired.
    pub items: u64,
    /// The size of their values in bytes.
    pub value_bytes: u64,
    /// Items that have expired and were not removed yet.
    pub expired_items: u64,
    /// Changes that watchers can still read.
    pub changes: u64,
    /// The size of the file and its write-ahead log in bytes.
    pub file_bytes: u64,
    /// The position of the latest change.
    pub cursor: String,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateReport {
    /// The number of items.
    pub items: u64,
    /// Descriptions of the problems; only the first if there are many.
    pub problems: Vec<String>,
}

/// The report of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// Expired items.
    pub expired_items: usize,
    /// Changes that watchers can no longer read.
    pub changes: usize,
    /// Whether the file and its log have no remains of items that were removed or changed before.
    pub erased: bool,
}
