//! The beginning of every write: it locks the store's row, takes numbers from it, and claims the write's own number.
//!
//! A write is repeated after a lost answer. If the server had carried it out, the repeated one finds that its own number
//! is claimed, and changes nothing; its outcome is then read from the recorded changes, which are kept for a while for
//! this. A repeated write waits at the lock while its first attempt still runs.

use database::{Parameters, Row, StatementError};
use uuid::Uuid;

use super::store::Store;
use crate::{
    error::Result,
    state::{name::Place, revision::Revision},
};

/// Values of `type` in the table of changes.
pub(super) const PUT: i64 = 0;
pub(super) const DELETE: i64 = 1;

/// Parameters: 1 store, 2 its name, 3 its identity if it is new, 4 the most changes of this write, 5 the changes that are
/// kept, 6 the writer, 7 the number of the write. `claimed` has one row, with the number before the first change and the
/// time; none if the write was carried out before.
macro_rules! claim {
    () => {
        "WITH head AS (
          INSERT INTO {schema}.document_store AS s (store, name, identity, sequence, forgotten)
          VALUES ($1, $2, $3, $4, greatest(0, $4 - $5))
          ON CONFLICT (store) DO UPDATE SET sequence = s.sequence + $4, forgotten = greatest(s.forgotten, s.sequence + $4 - $5)
          RETURNING s.sequence - $4 AS before, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at
        ), claimed AS (
          INSERT INTO {schema}.document_writer AS w (store, writer, n, before, at)
          SELECT $1, $6, $7, head.before, head.at FROM head
          ON CONFLICT (store, writer) DO UPDATE SET n = excluded.n, before = excluded.before, at = excluded.at WHERE w.n < excluded.n
          RETURNING w.before, w.at
        )"
    };
}
pub(super) use claim;

/// A writer's next write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub writer: Uuid,
    /// Greater than those of the writer's earlier writes, which have ended.
    pub number: i64,
    /// The most changes.
    pub changes: usize,
}

impl Claim {
    /// The parameters of `claim!`.
    pub fn parameters(&self, store: &Store) -> Parameters {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        store
            .parameters()
            .text(store.name.clone())
            .number(Store::new_identity())
            .number(number(self.changes))
            .number(store.max_changes)
            .id(self.writer)
            .number(self.number)
    }
}

/// The number before a write's first change, and the time of the write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claimed {
    pub before: i64,
    pub at: i64,
}

impl Claimed {
    /// Reads the first columns of a row.
    pub fn read(row: &Row) -> std::result::Result<Self, StatementError> {
        Ok(Self { before: row.try_get(0)?, at: row.try_get(1)? })
    }
}

/// The outcome of a write that was carried out before: its claim with each of its changes.
const REPEATED: &str = "SELECT w.before, w.at, r.sequence, r.created_at FROM {schema}.document_writer AS w LEFT JOIN {schema}.document_change AS r ON r.store = w.store AND r.sequence > w.before AND r.sequence <= w.before + $4 WHERE w.store = $1 AND w.writer = $2 AND w.n = $3";
const REVISIONS: &str = concat!(
    "SELECT g.number, d.sequence, d.nonce FROM unnest($2::bigint[], $3::bytea[], $4::bytea[]) AS g (number, namespace, key) JOIN {schema}.document AS d ON d.store = $1 AND d.namespace = g.namespace AND d.key = g.key WHERE ",
    super::reading::is_alive!()
);

/// A change that a write has made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorded {
    pub claimed: Claimed,
    pub created_at: i64,
}

/// The changes of a statement that returns its claim with each of them, by their numbers within the write. If it returned
/// nothing, it was carried out before.
pub(super) async fn recorded(
    store: &Store,
    claim: Claim,
    mut rows: Vec<Row>,
) -> Result<Vec<Option<Recorded>>> {
    if rows.is_empty() {
        let count = i64::try_from(claim.changes).unwrap_or(i64::MAX);
        let parameters = store.parameters().id(claim.writer).number(claim.number).number(count);
        rows = store.read_written(REPEATED, &parameters).await?;
    }
    let mut changes = vec![None; claim.changes];
    for row in &rows {
        let claimed = store.decoded(Claimed::read(row))?;
        let sequence: Option<i64> = store.decoded(row.try_get(2))?;
        let at = sequence.and_then(|at| usize::try_from(at - claimed.before - 1).ok());
        if let Some(change) = at.and_then(|at| changes.get_mut(at)) {
            *change = Some(Recorded { claimed, created_at: store.decoded(row.try_get(3))? });
        }
    }
    Ok(changes)
}

/// The present revisions of items, with their numbers among the places.
pub(super) async fn revisions(
    store: &Store,
    places: impl Iterator<Item = &Place>,
) -> Result<Vec<(i64, Revision)>> {
    let (mut numbers, mut namespaces, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for (number, place) in (0..).zip(places) {
        numbers.push(Some(number));
        namespaces.push(place.namespace.clone());
        keys.push(place.key.clone());
    }
    let parameters =
        store.parameters().numbers(numbers).byte_strings(namespaces).byte_strings(keys);
    let rows = store.read_written(REVISIONS, &parameters).await?;
    let read = rows.iter().map(|row| {
        let nonce = u32::try_from(row.try_get::<_, i64>(2)?).unwrap_or_default();
        Ok((row.try_get(0)?, Revision { sequence: row.try_get(1)?, nonce }))
    });
    store.decoded(read.collect())
}

/// The revision of the item with this number.
pub(super) fn found_at(revisions: &[(i64, Revision)], number: i64) -> Option<Revision> {
    revisions.iter().find(|(of, _)| *of == number).map(|(_, revision)| *revision)
}
