//! Statistics, verification, and the removal of old rows.

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use super::{
    State,
    claim::{Claim, claim},
    store::{Store, now},
};
use crate::{
    error::Result,
    state::report::{StateReport, Stats, Swept},
};

/// The expired items that are removed at once.
const STEP: usize = 256;
/// Waiting watchers read a change within this time, after which it may be forgotten.
const WATCHED: Duration = Duration::from_millis(250);

const STATS: &str = concat!(
    "SELECT count(*) FILTER (WHERE d.expires_at IS NULL OR d.expires_at > t.at), coalesce(sum(d.length) FILTER (WHERE d.expires_at IS NULL OR d.expires_at > t.at), 0)::bigint, count(*) FILTER (WHERE d.expires_at <= t.at) FROM {schema}.document AS d, (SELECT ",
    now!(),
    " AS at) AS t WHERE d.store = $1"
);
const CHANGES: &str = "SELECT count(*) FROM {schema}.document_change AS c JOIN {schema}.document_store AS s ON s.store = c.store WHERE c.store = $1 AND c.sequence > s.forgotten";
const EXPIRE: &str = concat!(
    claim!(),
    ", expired AS (
      SELECT namespace, key, sequence FROM {schema}.document WHERE store = $1 AND expires_at IS NOT NULL AND expires_at <= ",
    now!(),
    " ORDER BY expires_at LIMIT $4
    ), removed AS (
      DELETE FROM {schema}.document AS d USING claimed AS c, expired AS e
      WHERE d.store = $1 AND d.namespace = e.namespace AND d.key = e.key AND d.sequence = e.sequence
      RETURNING d.namespace, d.key, d.sequence, c.before, c.at
    ), chunks AS (
      DELETE FROM {schema}.document_chunk AS k USING removed AS r WHERE k.store = $1 AND k.sequence = r.sequence
    ), terms AS (
      DELETE FROM {schema}.document_terms AS t USING removed AS r WHERE t.store = $1 AND t.namespace = r.namespace AND t.key = r.key
    ), recorded AS (
      INSERT INTO {schema}.document_change (store, sequence, nonce, type, namespace, key, at, created_at)
      SELECT $1, r.before + row_number() OVER (ORDER BY r.sequence), $8, 1, r.namespace, r.key, r.at, r.at FROM removed AS r
      RETURNING sequence
    )
    SELECT count(*) FROM recorded"
);
/// Changes that watchers can no longer read stay for five minutes, because repeated writes look for their own.
const REMOVE_CHANGES: &str = concat!(
    "DELETE FROM {schema}.document_change AS c USING {schema}.document_store AS s WHERE c.store = $1 AND s.store = $1 AND c.sequence <= s.forgotten AND c.at < ",
    now!(),
    " - 300000"
);
const REMOVE_WRITERS: &str = concat!(
    "DELETE FROM {schema}.document_writer WHERE store = $1 AND at < ",
    now!(),
    " - 86400000"
);
const REMOVE_CHUNKS: &str = "DELETE FROM {schema}.document_chunk AS k WHERE k.store = $1 AND NOT EXISTS (SELECT 1 FROM {schema}.document AS d WHERE d.store = $1 AND d.sequence = k.sequence)";
/// Terms of items that were written again or removed since.
const REMOVE_TERMS: &str = "DELETE FROM {schema}.document_terms AS t WHERE t.store = $1 AND NOT EXISTS (SELECT 1 FROM {schema}.document AS d WHERE d.store = $1 AND d.namespace = t.namespace AND d.key = t.key AND d.sequence = t.sequence)";
/// The latest change of an item that no longer exists.
const LATEST_OF_GONE: &str = "SELECT max(c.sequence) FROM {schema}.document_change AS c WHERE c.store = $1 AND NOT EXISTS (SELECT 1 FROM {schema}.document AS d WHERE d.store = $1 AND d.namespace = c.namespace AND d.key = c.key)";
const FORGET: &str = "UPDATE {schema}.document_store SET forgotten = greatest(forgotten, $2, sequence - $3) WHERE store = $1";

/// Problems, and the statements that find them.
const CHECKS: [(&str, &str); 3] = [
    (
        "a value is not as long as it was",
        "SELECT 1 FROM {schema}.document WHERE store = $1 AND value IS NOT NULL AND length(value) <> length LIMIT 1",
    ),
    (
        "parts of a value are missing",
        "SELECT 1 FROM {schema}.document AS d WHERE d.store = $1 AND d.value IS NULL AND d.length <> (SELECT coalesce(sum(length(k.bytes)), 0) FROM {schema}.document_chunk AS k WHERE k.store = $1 AND k.sequence = d.sequence) LIMIT 1",
    ),
    (
        "an item is newer than its store",
        "SELECT 1 FROM {schema}.document AS d WHERE d.store = $1 AND NOT EXISTS (SELECT 1 FROM {schema}.document_store AS s WHERE s.store = $1 AND s.sequence >= d.sequence) LIMIT 1",
    ),
];

/// Removes some expired items; returns how many.
async fn expire(store: &Store) -> Result<usize> {
    // A writer of its own, because the store's writer may be in the middle of a write.
    let claim = Claim { writer: Uuid::new_v4(), number: 1, changes: STEP };
    let nonce = i64::from(crate::state::revision::random());
    let rows = store.write(EXPIRE, &claim.parameters(store).number(nonce)).await?;
    let removed: i64 = rows.first().map_or(Ok(0), |row| store.decoded(row.try_get(0)))?;
    Ok(usize::try_from(removed).unwrap_or_default())
}

/// Removes some expired items and the changes that nothing reads any more.
pub(super) async fn clean(store: &Store) -> Result<()> {
    let expired = store.read(HAS_EXPIRED, &store.parameters()).await?;
    if !expired.is_empty() {
        expire(store).await?;
    }
    store.write(REMOVE_CHANGES, &store.parameters()).await?;
    Ok(())
}

const HAS_EXPIRED: &str = concat!(
    "SELECT 1 FROM {schema}.document WHERE store = $1 AND expires_at IS NOT NULL AND expires_at <= ",
    now!(),
    " LIMIT 1"
);

impl State {
    /// The statistics of the store.
    pub async fn stats(&self) -> Result<Stats> {
        let _call = self.calls.track();
        let head = self.store.head().await?;
        let (items, value_bytes, expired_items, changes) = self
            .store
            .snapshot(|transaction| {
                let store = Arc::clone(&self.store);
                async move {
                    let rows = transaction.statement(STATS, &store.parameters()).await?;
                    let changes = transaction.statement(CHANGES, &store.parameters()).await?;
                    let number = |rows: &[database::Row], column| {
                        rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(column))
                    };
                    Ok((
                        number(&rows, 0)?,
                        number(&rows, 1)?,
                        number(&rows, 2)?,
                        number(&changes, 0)?,
                    ))
                }
            })
            .await?;
        let whole = |number: i64| u64::try_from(number).unwrap_or_default();
        Ok(Stats {
            items: whole(items),
            value_bytes: whole(value_bytes),
            expired_items: whole(expired_items),
            changes: whole(changes),
            file_bytes: 0,
            cursor: head.position.to_string(),
        })
    }

    /// Verifies all rows of the store.
    pub async fn verify(&self) -> Result<StateReport> {
        let _call = self.calls.track();
        self.store
            .snapshot(|transaction| {
                let store = Arc::clone(&self.store);
                async move {
                    let mut problems = Vec::new();
                    for (problem, sql) in CHECKS {
                        if !transaction.statement(sql, &store.parameters()).await?.is_empty() {
                            problems.push(problem.to_owned());
                        }
                    }
                    let sql = "SELECT count(*) FROM {schema}.document WHERE store = $1";
                    let rows = transaction.statement(sql, &store.parameters()).await?;
                    let items: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
                    Ok(StateReport { items: u64::try_from(items).unwrap_or_default(), problems })
                }
            })
            .await
    }

    /// Removes all expired items, the changes beyond `max_changes`, those of removed items and before, and rows that
    /// nothing needs. The database's own vacuum frees and overwrites their space later, so `erased` is `false`.
    pub async fn sweep(&self) -> Result<Swept> {
        let _call = self.calls.track();
        let store = &self.store;
        let mut expired_items = 0;
        loop {
            let removed = expire(store).await?;
            expired_items += removed;
            if removed < STEP {
                break;
            }
        }
        let before = store.head().await?.forgotten;
        let rows = store.read(LATEST_OF_GONE, &store.parameters()).await?;
        let gone: Option<i64> =
            rows.first().map_or(Ok(None), |row| store.decoded(row.try_get(0)))?;
        if gone.is_some_and(|gone| gone > before) {
            tokio::time::sleep(WATCHED).await;
        }
        let changes = self.readable_changes().await?;
        let forget = store.parameters().number(gone.unwrap_or_default()).number(store.max_changes);
        store.write(FORGET, &forget).await?;
        let changes = changes.saturating_sub(self.readable_changes().await?);
        for sql in [REMOVE_CHANGES, REMOVE_WRITERS, REMOVE_CHUNKS, REMOVE_TERMS] {
            store.write(sql, &store.parameters()).await?;
        }
        Ok(Swept { expired_items, changes, erased: false })
    }

    async fn readable_changes(&self) -> Result<usize> {
        let rows = self.store.read(CHANGES, &self.store.parameters()).await?;
        let count: i64 = rows.first().map_or(Ok(0), |row| self.store.decoded(row.try_get(0)))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }
}
