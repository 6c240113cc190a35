//! Sweeps: remove expired items and the changes that watchers need no longer, and overwrite what remains of removed
//! content in the file and its write-ahead log.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};
use tasks::TrackedCall;

use super::{
    Pending, State,
    change::{Changes, ERASED},
    erasure,
    failure::During,
    readers::snapshot,
    writer::{Request, Response},
};
use crate::{
    error::Result,
    state::{operation::interrupted, report::Swept},
};

/// The most rows of each kind that are removed along with a group of calls.
pub(super) const STEP: i64 = 256;
/// The most pages that are overwritten in one transaction.
const PAGES: usize = 256;
/// Waiting watchers read a change within this time, after which it may be removed.
const WATCHED: Duration = Duration::from_millis(250);
/// The pauses between attempts to truncate the log.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The result of a sweep's first step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Removed {
    pub expired_items: usize,
    pub changes: usize,
    /// The number of the latest change.
    pub sequence: i64,
}

/// A sweep that has its place in the order of the store's calls.
pub(in crate::state) struct PendingSweep {
    pending: Pending,
    /// Keeps the file open between the steps.
    _call: TrackedCall,
}

/// Removes expired items and old changes, at most `limit` of each.
pub(super) fn remove_old(
    changes: &mut Changes<'_>,
    max_changes: i64,
    limit: Option<i64>,
) -> rusqlite::Result<Removed> {
    let limit = limit.unwrap_or(-1);
    let expired = {
        let mut select = changes.connection.prepare_cached(
            "SELECT id, value IS NULL, namespace, key FROM item WHERE expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2",
        )?;
        let rows = select.query_map(params![changes.now, limit], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
        rows.collect::<rusqlite::Result<Vec<(i64, bool, Vec<u8>, Vec<u8>)>>>()?
    };
    for (id, is_chunked, namespace, key) in &expired {
        changes.remove(*id, *is_chunked, namespace, key)?;
    }
    // The latest change is kept, because the next one continues its number.
    let kept_from = changes.sequence - max_changes.max(1) + 1;
    let removed = changes
        .connection
        .prepare_cached(
            "DELETE FROM change WHERE sequence IN (SELECT sequence FROM change WHERE sequence < ?1 ORDER BY sequence LIMIT ?2)",
        )?
        .execute([kept_from, limit])?;
    Ok(Removed { expired_items: expired.len(), changes: removed, sequence: changes.sequence })
}

/// The number of the latest change, up to `until`, of an item that no longer exists.
fn latest_of_gone(connection: &Connection, until: i64) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT sequence FROM change WHERE sequence <= ?1 AND type <> ?2 AND NOT EXISTS
             (SELECT 1 FROM item WHERE item.namespace = change.namespace AND item.key = change.key)
             ORDER BY sequence DESC LIMIT 1",
        )?
        .query_row([until, ERASED], |row| row.get(0))
        .optional()
}

/// Removes all changes up to a number.
pub(super) fn forget(changes: &mut Changes<'_>, until: i64) -> rusqlite::Result<usize> {
    if until >= changes.sequence {
        // The latest row is kept, because the next change continues its number.
        changes.record(ERASED, &[], &[])?;
    }
    changes
        .connection
        .prepare_cached("DELETE FROM change WHERE sequence <= ?1 AND type <> ?2")?
        .execute([until, ERASED])
}

/// Writes the log back and truncates it; returns `false` if another process is reading or writing.
pub(super) fn cut_log(connection: &Connection) -> rusqlite::Result<bool> {
    let is_busy: i64 = connection
        .prepare_cached("PRAGMA wal_checkpoint(TRUNCATE)")?
        .query_row([], |row| row.get(0))?;
    Ok(is_busy == 0)
}

impl State {
    /// Removes all expired items, the changes beyond `max_changes`, and the remains of removed items, after earlier
    /// calls.
    pub fn sweep(&self) -> PendingSweep {
        let call = self.attach();
        PendingSweep { pending: self.submit(Request::Sweep), _call: call }
    }

    /// Waits for a sweep; returns its report.
    ///
    /// # Errors
    /// `LockTimeout`, `Corrupt`, `Unsupported`, `UnsafeDirectory`, `Io`
    pub async fn swept(&self, sweep: PendingSweep) -> Result<Swept> {
        let Response::Removed(removed) = sweep.pending.response().await? else {
            return Err(interrupted());
        };
        let Removed { expired_items, mut changes, sequence } = removed;
        let gone = self
            .read(move |reader, opening| {
                latest_of_gone(reader.connection(), sequence).during("read", &opening.path)
            })
            .await?;
        if let Some(gone) = gone {
            tokio::time::sleep(WATCHED).await;
            let Response::Forgotten(forgotten) =
                self.submit(Request::Forget(gone)).response().await?
            else {
                return Err(interrupted());
            };
            changes += forgotten;
        }
        let erased = self.overwrite().await? && self.cut_log().await?;
        Ok(Swept { expired_items, changes, erased })
    }

    /// Overwrites the remains in unused parts of pages; returns `false` if the file is too large to find them.
    async fn overwrite(&self) -> Result<bool> {
        let pages = self
            .read(|reader, opening| {
                snapshot(reader.connection(), &opening.path, |connection| {
                    erasure::stale_pages(connection).during("read", &opening.path)
                })
            })
            .await?;
        let Some(pages) = pages else { return Ok(false) };
        for pages in pages.chunks(PAGES) {
            self.submit(Request::Overwrite(pages.to_vec())).response().await?;
        }
        Ok(true)
    }

    /// Truncates the log; returns `false` if other processes prevented it until the timeout.
    async fn cut_log(&self) -> Result<bool> {
        let deadline = Instant::now() + self.opening.lock_timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            let Response::Cut(is_cut) = self.submit(Request::CutLog).response().await? else {
                return Err(interrupted());
            };
            if is_cut || Instant::now() >= deadline {
                return Ok(is_cut);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
