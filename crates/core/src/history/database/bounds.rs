//! Automatic compaction of a history in a database, as that of a file: after a part of a bound was appended by this process, the
//! log is counted, and compacted in the background if it is beyond. Two processes that compact at the same time do not disturb
//! each other: one of the plans is refused, and made again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use super::{
    super::bounds::{Bounds, COUNTED, MAX_ATTEMPTS, tell_compaction, tell_failure},
    DatabaseHistory,
};
use crate::error::{Code, Result};
use database::{Intent, Parameters};

const COUNT: &str = "
SELECT count(*), coalesce(sum(octet_length(line) + 1), 0)::bigint FROM {schema}.entry
WHERE namespace = $1 AND NOT is_record";

/// The state of a history's background compactions.
pub(super) struct Housekeeper {
    is_running: AtomicBool,
    /// The entries and bytes that were appended since the log was counted.
    entries: AtomicU64,
    bytes: AtomicU64,
}

impl Default for Housekeeper {
    fn default() -> Self {
        // The first append counts the log.
        let much = || AtomicU64::new(u64::MAX / 2);
        Self { is_running: AtomicBool::new(false), entries: much(), bytes: much() }
    }
}

impl DatabaseHistory {
    /// Checks the bounds; called after each append.
    pub(super) fn keep_within_bounds(self: &Arc<Self>, bytes: usize) {
        let Bounds { max_bytes, max_entries } = self.options.bounds;
        if max_bytes.is_none() && max_entries.is_none() {
            return;
        }
        self.housekeeper.entries.fetch_add(1, Ordering::Relaxed);
        self.housekeeper.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
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
        let is_due = |bound: Option<u64>, appended: &AtomicU64| {
            bound.is_some_and(|most| appended.load(Ordering::SeqCst) >= (most / COUNTED).max(1))
        };
        (is_due(max_entries, &keeper.entries) || is_due(max_bytes, &keeper.bytes))
            && !keeper.is_running.swap(true, Ordering::SeqCst)
    }

    async fn compact_in_background(self: &Arc<Self>) {
        self.housekeeper.entries.store(0, Ordering::SeqCst);
        self.housekeeper.bytes.store(0, Ordering::SeqCst);
        if let Err(error) = self.compact_to_bounds().await {
            tell_failure(&self.debug, self.path(), &error);
        }
    }

    async fn compact_to_bounds(self: &Arc<Self>) -> Result<()> {
        // Only compactions of other processes refuse a plan, so the log is compacted whoever succeeds.
        for _ in 0..MAX_ATTEMPTS {
            if !self.is_beyond_bounds().await? {
                break;
            }
            let (plan, _) = self.plan(self.options.bounds.policy(), false).await?;
            if plan.dropped_entries == 0 {
                break;
            }
            match self.compact(plan, None).await {
                Err(error) if error.code == Code::Conflict => {}
                Err(error) => return Err(error),
                Ok((report, _)) => {
                    tell_compaction(&self.debug, self.path(), &report);
                    break;
                }
            }
        }
        Ok(())
    }

    async fn is_beyond_bounds(&self) -> Result<bool> {
        let Bounds { max_bytes, max_entries } = self.options.bounds;
        let parameters = Parameters::new().text(self.namespace());
        let rows = self.database.statement(Intent::Read, COUNT, &parameters).await;
        let rows = rows.map_err(|failure| self.unreadable(failure))?;
        let Some(row) = rows.first() else { return Ok(false) };
        let count = |column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or_default();
        Ok(max_entries.is_some_and(|most| count(0) > most)
            || max_bytes.is_some_and(|most| count(1) > most))
    }
}
