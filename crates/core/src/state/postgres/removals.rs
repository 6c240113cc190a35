//! Groups of single removals of different items, each with or without an expected revision, in one statement.

use super::{
    claim::{Claim, claim, found_at, recorded, revisions},
    store::Store,
};
use crate::{
    error::Result,
    state::{
        name::Place,
        operation::{Outcome, conflict},
        revision::{Expected, Revision, random},
    },
};

/// The parameters after those of the claim: the random part of revisions, and the arrays of the removals. The change of
/// an item that had expired has no time of its creation.
const REMOVE: &str = concat!(
    claim!(),
    ", removed AS (
      DELETE FROM {schema}.document AS d USING claimed AS c, unnest($9::bigint[], $10::bytea[], $11::bytea[], $12::bigint[], $13::bigint[]) AS g (number, namespace, key, sequence, nonce)
      WHERE d.store = $1 AND d.namespace = g.namespace AND d.key = g.key AND (g.sequence IS NULL
        OR (d.sequence = g.sequence AND d.nonce = g.nonce AND (d.expires_at IS NULL OR d.expires_at > c.at)))
      RETURNING d.namespace, d.key, d.sequence AS old, c.before + g.number AS sequence, c.at, CASE WHEN d.expires_at <= c.at THEN 0 ELSE d.created_at END AS created_at
    ), chunks AS (
      DELETE FROM {schema}.document_chunk AS k USING removed AS r WHERE k.store = $1 AND k.sequence = r.old
    ), terms AS (
      DELETE FROM {schema}.document_terms AS t USING removed AS r WHERE t.store = $1 AND t.namespace = r.namespace AND t.key = r.key
    ), recorded AS (
      INSERT INTO {schema}.document_change (store, sequence, nonce, type, namespace, key, at, created_at)
      SELECT $1, r.sequence, $8, 1, r.namespace, r.key, r.at, r.created_at FROM removed AS r
      RETURNING sequence, created_at
    )
    SELECT c.before, c.at, r.sequence, r.created_at FROM claimed AS c LEFT JOIN recorded AS r ON true"
);

/// Removes a group of different items. None of them is expected to be absent.
pub(super) async fn remove(
    store: &Store,
    claim: Claim,
    removals: &[(&Place, Option<&Expected>)],
) -> Result<Vec<Result<Vec<Outcome>>>> {
    // A text that is no revision is that of no item.
    let revision = |expected: &Expected| match expected {
        Expected::Revision(text) => Revision::parse(text),
        Expected::Absent => None,
    };
    let expected: Vec<Option<Revision>> = removals
        .iter()
        .map(|(_, expected)| expected.map(|expected| revision(expected).unwrap_or(NO_REVISION)))
        .collect();
    let parameters = claim
        .parameters(store)
        .number(i64::from(random()))
        .numbers((1..).take(removals.len()).map(Some).collect())
        .byte_strings(removals.iter().map(|(place, _)| place.namespace.clone()).collect())
        .byte_strings(removals.iter().map(|(place, _)| place.key.clone()).collect())
        .numbers(expected.iter().map(|expected| Some((*expected)?.sequence)).collect())
        .numbers(expected.iter().map(|expected| Some(i64::from((*expected)?.nonce))).collect());
    let rows = store.write(REMOVE, &parameters).await?;
    let removed = recorded(store, claim, rows).await?;
    let is_refused = |(removed, (_, expected)): (&Option<_>, &(_, Option<&Expected>))| {
        removed.is_none() && expected.is_some()
    };
    let found = match removed.iter().zip(removals).any(is_refused) {
        true => revisions(store, removals.iter().map(|(place, _)| *place)).await?,
        false => Vec::new(),
    };
    let outcomes =
        (0..).zip(removals).zip(removed).map(|((number, (place, expected)), removed)| {
            match (removed, expected) {
                (None, Some(expected)) => Err(conflict(place, expected, found_at(&found, number))),
                (None, None) => Ok(vec![Outcome::Deleted(false)]),
                (Some(change), _) => Ok(vec![Outcome::Deleted(change.created_at > 0)]),
            }
        });
    Ok(outcomes.collect())
}

/// A revision that no item has: the first change has the number 1.
const NO_REVISION: Revision = Revision { sequence: 0, nonce: 0 };
