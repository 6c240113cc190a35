//! Automatic compaction: if an append leaves the log longer than its bounds (in bytes or entries), a
//! compaction starts in the background. The append does not wait for it.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde_json::json;
use storage::{FileLock, LockGuard};

use super::{CompactReport, History, Policy};
use crate::{
    debug::Debug,
    error::{Code, Error, Result},
};

/// The size that a compaction aims at, as a percentage of the bound, so that not every append starts one.
const TARGET: u64 = 80;
/// Entries are counted when this fraction of the bound was appended.
pub(super) const COUNTED: u64 = 16;
/// The most attempts, if other changes of the log keep a compaction from being applied.
pub(super) const MAX_ATTEMPTS: usize = 5;

/// The bounds that a history keeps itself within.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// The size of the log in bytes.
    pub max_bytes: Option<u64>,
    /// The number of entries of the log.
    pub max_entries: Option<u64>,
}

impl Bounds {
    pub(super) fn policy(self) -> Policy {
        let target = |most: u64| most.saturating_mul(TARGET) / 100;
        Policy {
            keep_last: self.max_entries.map(|most| target(most).max(1)),
            max_bytes: self.max_bytes.map(target),
            max_age: None,
            keeps_latest: true,
        }
    }
}

/// Reports a compaction in the background.
pub(super) fn tell_compaction(debug: &Debug, path: &Path, report: &CompactReport) {
    debug.say("Compacted the history in the background", || {
        json!({
            "path": path,
            "keptEntries": report.kept_entries,
            "droppedEntries": report.dropped_entries,
            "bytesBefore": report.bytes_before,
            "bytesAfter": report.bytes_after,
        })
    });
}

/// Reports that a compaction in the background failed.
pub(super) fn tell_failure(debug: &Debug, path: &Path, error: &Error) {
    debug.say(
        "Failed to compact the history in the background",
        || json!({ "path": path, "error": error.to_string() }),
    );
}

/// The state of a history's background compactions.
pub(super) struct Housekeeper {
    is_running: AtomicBool,
    /// Whether a compaction was refused as unsupported.
    is_refused: AtomicBool,
    /// The number of appends since the entries were counted.
    appends: AtomicU64,
    /// A log size at which a compaction would gain little.
    settled: AtomicU64,
    /// The lock that a process holds during a background compaction.
    lock: Option<Arc<FileLock>>,
}

impl Housekeeper {
    pub fn new(lock: Option<FileLock>) -> Self {
        Self {
            is_running: AtomicBool::new(false),
            is_refused: AtomicBool::new(false),
            // Makes the first append count the entries.
            appends: AtomicU64::new(u64::MAX / 2),
            settled: AtomicU64::new(0),
            lock: lock.map(Arc::new),
        }
    }
}

impl History {
    /// Checks the bounds; called after each append.
    pub(super) fn keep_within_bounds(self: &Arc<Self>) {
        let Bounds { max_bytes, max_entries } = self.options.bounds;
        if max_bytes.is_none() && max_entries.is_none() {
            return;
        }
        self.housekeeper.appends.fetch_add(1, Ordering::Relaxed);
        if !self.claims_compaction() {
            return;
        }
        // `close` waits for the compaction as for an append.
        let (history, call) = (Arc::clone(self), self.appends.track());
        tokio::spawn(async move {
            let _call = call;
            loop {
                history.compact_in_background().await;
                history.housekeeper.is_running.store(false, Ordering::SeqCst);
                // Appends during the compaction did not start another one, so the bounds are checked again.
                if !history.claims_compaction() {
                    break;
                }
            }
        });
    }

    /// Whether the log may be beyond a bound, and no other task of this history is compacting.
    fn claims_compaction(&self) -> bool {
        let Bounds { max_bytes, max_entries } = self.options.bounds;
        let keeper = &self.housekeeper;
        let settled = keeper.settled.load(Ordering::Relaxed);
        let is_long = max_bytes.is_some_and(|most| self.log.length() > most.max(settled));
        let appends = keeper.appends.load(Ordering::SeqCst);
        let is_uncounted = max_entries.is_some_and(|most| appends >= (most / COUNTED).max(1));
        (is_long || is_uncounted)
            && !keeper.is_refused.load(Ordering::Relaxed)
            && !keeper.is_running.swap(true, Ordering::SeqCst)
    }

    async fn compact_in_background(self: &Arc<Self>) {
        self.housekeeper.appends.store(0, Ordering::SeqCst);
        let outcome = match self.compaction_lock() {
            // Another process is compacting.
            Ok(None) => {
                self.settle(self.log.length());
                return;
            }
            Ok(Some(_lock)) => self.compact_to_bounds().await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(None) => {}
            Ok(Some(report)) => tell_compaction(&self.debug, &self.path(), &report),
            Err(error) => {
                self.settle(self.log.length());
                if error.code == Code::Unsupported {
                    self.housekeeper.is_refused.store(true, Ordering::Relaxed);
                }
                tell_failure(&self.debug, &self.path(), &error);
            }
        }
    }

    /// Takes the lock for compactions; `None` if another process holds it. On file systems without locks, the
    /// inner value is `None`.
    fn compaction_lock(&self) -> Result<Option<Option<LockGuard>>> {
        let Some(lock) = &self.housekeeper.lock else { return Ok(Some(None)) };
        let guard = lock.try_acquire().map_err(|error| self.failed("compact", error.into()))?;
        Ok(guard.map(Some))
    }

    /// Compacts the log; `None` if it is within its bounds.
    async fn compact_to_bounds(self: &Arc<Self>) -> Result<Option<CompactReport>> {
        let Bounds { max_bytes, max_entries } = self.options.bounds;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (plan, _) = self.plan(self.options.bounds.policy(), false).await?;
            let entries = plan.kept_entries + plan.dropped_entries;
            let is_beyond = max_bytes.is_some_and(|most| plan.length() > most)
                || max_entries.is_some_and(|most| entries > most);
            if !is_beyond {
                self.housekeeper.settled.store(0, Ordering::Relaxed);
                return Ok(None);
            }
            if plan.drops_nothing() {
                self.settle(plan.length());
                return Ok(None);
            }
            let fits = max_bytes.is_none_or(|most| plan.kept_bytes() <= most);
            match self.compact(plan, None).await {
                Err(error) if error.code == Code::Conflict && attempts < MAX_ATTEMPTS => {}
                Err(error) => return Err(error),
                Ok((report, _)) => {
                    if fits {
                        // What exceeds the bound now was appended meanwhile, and is worth another compaction.
                        self.housekeeper.settled.store(0, Ordering::Relaxed);
                    } else {
                        self.settle(report.bytes_after);
                    }
                    return Ok(Some(report));
                }
            }
        }
    }

    /// Sets the size from which on the next compaction is worthwhile: the log has to grow by a part of its
    /// bound.
    fn settle(&self, length: u64) {
        let step = self.options.bounds.max_bytes.unwrap_or_default() / 100 * (100 - TARGET);
        self.housekeeper.settled.store(length.saturating_add(step), Ordering::Relaxed);
    }
}
