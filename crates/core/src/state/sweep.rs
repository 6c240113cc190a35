//! Sweeping: expired items, old changes, and what is left in the file of items that are gone.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use tasks::TrackedCall;

use super::{
    Pending, State,
    change::{Changes, ERASED},
    erasure,
    failure::During,
    readers::snapshot,
    writer::{Request, Response, interrupted},
};
use crate::error::Result;

/// As many rows of each kind are removed beside a group of calls.
pub(super) const STEP: i64 = 256;
/// Pages that are overwritten in one transaction.
const PAGES: usize = 256;
/// Changes are seen within this time by the watchers that wait for them: then they may go.
const WATCHED: Duration = Duration::from_millis(250);
/// The pauses between attempts to cut the log.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What a sweep removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// Expired items.
    pub expired_items: usize,
    /// Changes, which no watcher can see any more.
    pub changes: usize,
    /// Whether nothing is left of items that were removed or changed before, in the file and its log.
    pub erased: bool,
}

/// What the first step of a sweep removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Removed {
    pub expired_items: usize,
    pub changes: usize,
    /// The number of the latest change.
    pub sequence: i64,
}

/// A sweep that has its place in the order of the store's calls.
pub struct PendingSweep {
    pending: Pending,
    /// The file is not closed between two steps.
    _call: TrackedCall,
}

/// Removes expired items and old changes, `limit` of each at most.
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
    // The latest stays: its number is where the next one goes on.
    let kept_from = changes.sequence - max_changes.max(1) + 1;
    let removed = changes
        .connection
        .prepare_cached(
            "DELETE FROM change WHERE sequence IN (SELECT sequence FROM change WHERE sequence < ?1 ORDER BY sequence LIMIT ?2)",
        )?
        .execute([kept_from, limit])?;
    Ok(Removed { expired_items: expired.len(), changes: removed, sequence: changes.sequence })
}

/// The number of the latest change of an item that is gone, up to a number.
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
        // The latest row has the number where the next change goes on.
        changes.record(ERASED, &[], &[])?;
    }
    changes
        .connection
        .prepare_cached("DELETE FROM change WHERE sequence <= ?1 AND type <> ?2")?
        .execute([until, ERASED])
}

/// Writes the log back and cuts it to nothing; `false` where another process reads or writes.
pub(super) fn cut_log(connection: &Connection) -> rusqlite::Result<bool> {
    let is_busy: i64 = connection
        .prepare_cached("PRAGMA wal_checkpoint(TRUNCATE)")?
        .query_row([], |row| row.get(0))?;
    Ok(is_busy == 0)
}

impl State {
    /// Removes all expired items, the changes that are not kept, and what is left of items that are gone, after the calls
    /// before.
    pub fn sweep(&self) -> PendingSweep {
        let call = self.attach();
        PendingSweep { pending: self.submit(Request::Sweep), _call: call }
    }

    /// What a sweep removed.
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

    /// Overwrites what is left in unused parts of pages; `false` where they cannot be told.
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

    /// Cuts the log; `false` where other processes did not let it happen in time.
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
