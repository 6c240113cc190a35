//! Groups of single writes of different items, each with or without a condition, in one statement.

use database::Parameters;

use super::{
    claim::{Claim, Recorded, claim, found_at, recorded, revisions},
    store::Store,
};
use crate::{
    error::Result,
    state::{
        operation::{MAX_TIME, Outcome, Put, conflict},
        revision::{Expected, Revision, random},
    },
};

/// What the writes of a group expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expectation {
    /// Nothing.
    None,
    /// That the items do not exist.
    Absent,
    /// That the items have certain revisions.
    Revision,
}

impl Expectation {
    pub fn of(put: &Put) -> Self {
        match put.expected {
            None => Self::None,
            Some(Expected::Absent) => Self::Absent,
            Some(Expected::Revision(_)) => Self::Revision,
        }
    }
}

/// The parameters after those of the claim: the arrays of the writes, and the random part of their revisions.
macro_rules! given {
    () => {
        "unnest($9::bigint[], $10::bytea[], $11::bytea[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bytea[], $16::bytea[], $17::bigint[], $18::bigint[]) AS g (number, namespace, key, expires_at, ttl, kind, media_type, value, sequence, nonce)"
    };
}
macro_rules! expiry {
    () => {
        "CASE WHEN g.ttl IS NULL THEN g.expires_at ELSE least(c.at + g.ttl, 8640000000000000) END"
    };
}
/// Removes the chunks of the items before, records the changes, and returns the claim with them.
macro_rules! recorded {
    () => {
        ", chunks AS (
          DELETE FROM {schema}.document_chunk AS k USING {schema}.document AS d, written AS x
          WHERE d.store = $1 AND d.namespace = x.namespace AND d.key = x.key AND d.value IS NULL AND k.store = $1 AND k.sequence = d.sequence
        ), recorded AS (
          INSERT INTO {schema}.document_change (store, sequence, nonce, type, namespace, key, at, created_at)
          SELECT $1, x.sequence, $8, 0, x.namespace, x.key, x.updated_at, x.created_at FROM written AS x
          RETURNING sequence, at, created_at
        )
        SELECT c.before, c.at, r.sequence, r.created_at FROM claimed AS c LEFT JOIN recorded AS r ON true"
    };
}

const WRITE: &str = concat!(
    claim!(),
    ", written AS (
      INSERT INTO {schema}.document AS d (store, namespace, key, sequence, nonce, created_at, updated_at, expires_at, kind, media_type, length, value)
      SELECT $1, g.namespace, g.key, c.before + g.number, $8, c.at, c.at, ",
    expiry!(),
    ", g.kind, g.media_type, length(g.value), g.value FROM claimed AS c, ",
    given!(),
    " ON CONFLICT (store, namespace, key) DO UPDATE SET sequence = excluded.sequence, nonce = excluded.nonce,
        created_at = CASE WHEN d.expires_at <= excluded.updated_at THEN excluded.created_at ELSE d.created_at END,
        updated_at = excluded.updated_at, expires_at = excluded.expires_at, kind = excluded.kind,
        media_type = excluded.media_type, length = excluded.length, value = excluded.value
      WHERE $19 OR d.expires_at <= excluded.updated_at
      RETURNING d.namespace, d.key, d.sequence, d.updated_at, d.created_at
    )",
    recorded!()
);
const REPLACE: &str = concat!(
    claim!(),
    ", written AS (
      UPDATE {schema}.document AS d SET sequence = c.before + g.number, nonce = $8, updated_at = c.at, expires_at = ",
    expiry!(),
    ", kind = g.kind, media_type = g.media_type, length = length(g.value), value = g.value FROM claimed AS c, ",
    given!(),
    " WHERE d.store = $1 AND d.namespace = g.namespace AND d.key = g.key AND d.sequence = g.sequence AND d.nonce = g.nonce
        AND (d.expires_at IS NULL OR d.expires_at > c.at)
      RETURNING d.namespace, d.key, d.sequence, d.updated_at, d.created_at
    )",
    recorded!()
);
const _: () = assert!(MAX_TIME == 8_640_000_000_000_000, "the statements contain it");

fn parameters(
    claim: &Claim,
    store: &Store,
    puts: &[&Put],
    expectation: Expectation,
    nonce: u32,
) -> Parameters {
    let all = |of: &dyn Fn(&Put) -> Option<i64>| puts.iter().map(|put| of(put)).collect();
    let bytes = |of: &dyn Fn(&Put) -> Vec<u8>| puts.iter().map(|put| of(put)).collect();
    let expected = |put: &Put| match &put.expected {
        Some(Expected::Revision(text)) => Revision::parse(text),
        _ => None,
    };
    claim
        .parameters(store)
        .number(i64::from(nonce))
        .numbers((1..).take(puts.len()).map(Some).collect())
        .byte_strings(bytes(&|put| put.place.namespace.clone()))
        .byte_strings(bytes(&|put| put.place.key.clone()))
        .numbers(all(&|put| put.expires_at.map(|time| time.min(MAX_TIME))))
        .numbers(all(&|put| put.ttl.map(|ttl| ttl.min(MAX_TIME))))
        .numbers(all(&|put| Some(put.kind.number())))
        .byte_strings(bytes(&|put| put.media_type.clone().unwrap_or_default().into_bytes()))
        .byte_strings(bytes(&|put| put.value.clone()))
        .numbers(all(&|put| expected(put).map(|revision| revision.sequence)))
        .numbers(all(&|put| expected(put).map(|revision| i64::from(revision.nonce))))
        .boolean(expectation == Expectation::None)
}

/// Writes a group of different items.
pub(super) async fn write(
    store: &Store,
    claim: Claim,
    puts: &[&Put],
    expectation: Expectation,
) -> Result<Vec<Result<Vec<Outcome>>>> {
    let nonce = random();
    let sql = if expectation == Expectation::Revision { REPLACE } else { WRITE };
    let rows = store.write(sql, &parameters(&claim, store, puts, expectation, nonce)).await?;
    let written = recorded(store, claim, rows).await?;
    let found = match written.iter().all(Option::is_some) {
        true => Vec::new(),
        false => revisions(store, puts.iter().map(|put| &put.place)).await?,
    };
    let outcomes = (0..).zip(puts).zip(written).map(|((number, put), written)| match written {
        Some(Recorded { claimed, created_at }) => {
            let revision = Revision { sequence: claimed.before + number + 1, nonce };
            Ok(vec![put.written(revision, created_at, claimed.at)])
        }
        None => {
            let expected = put.expected.as_ref().unwrap_or(&Expected::Absent);
            Err(conflict(&put.place, expected, found_at(&found, number)))
        }
    });
    Ok(outcomes.collect())
}
