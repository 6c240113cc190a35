//! Calls with several operations, long values and removals: a group of them in one transaction, in which the store is
//! locked.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use database::{Intent, Isolation, Transaction};

use super::{
    claim::{Claim, Claimed, DELETE, PUT, claim},
    rows::{CHUNK, CHUNKS, StoredItem},
    store::{StatementResult, Store},
};
use crate::{
    error::{Error, Result},
    state::{
        item::{ItemText, Meta},
        name::Place,
        operation::{Operation, Outcome, Put, conflict, interrupted},
        revision::{Expected, Revision, random},
    },
};

const CLAIM: &str = concat!(claim!(), " SELECT before, at FROM claimed");
/// The items at these places. Values that are not wanted are not sent.
const READ: &str = "SELECT d.namespace, d.key, d.sequence, d.nonce, d.created_at, d.updated_at, d.expires_at, d.kind, d.media_type, d.length, CASE WHEN g.wanted = 1 THEN d.value END FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS g (namespace, key, wanted) JOIN {schema}.document AS d ON d.store = $1 AND d.namespace = g.namespace AND d.key = g.key";
/// Writes items, removes the chunks of old values, and records the changes.
const WRITE: &str = "WITH written AS (
  INSERT INTO {schema}.document (store, namespace, key, sequence, nonce, created_at, updated_at, expires_at, kind, media_type, length, value)
  SELECT $1, g.namespace, g.key, g.sequence, $2, g.created_at, $3, g.expires_at, g.kind, g.media_type, g.length, CASE WHEN g.chunked = 0 THEN g.value END
  FROM unnest($4::bytea[], $5::bytea[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bytea[], $11::bigint[], $12::bytea[], $13::bigint[])
    AS g (namespace, key, sequence, created_at, expires_at, kind, media_type, length, value, chunked)
  ON CONFLICT (store, namespace, key) DO UPDATE SET sequence = excluded.sequence, nonce = excluded.nonce, created_at = excluded.created_at,
    updated_at = excluded.updated_at, expires_at = excluded.expires_at, kind = excluded.kind, media_type = excluded.media_type,
    length = excluded.length, value = excluded.value
), chunks AS (
  DELETE FROM {schema}.document_chunk WHERE store = $1 AND sequence = ANY($14)
)
INSERT INTO {schema}.document_change (store, sequence, nonce, type, namespace, key, at, created_at)
SELECT $1, g.sequence, $2, g.type, g.namespace, g.key, $3, g.created_at
FROM unnest($15::bigint[], $16::bigint[], $17::bytea[], $18::bytea[], $19::bigint[]) AS g (sequence, type, namespace, key, created_at)";
/// A statement of its own, because not all engines change a table twice in one.
const REMOVE: &str = "WITH given AS (SELECT * FROM unnest($2::bytea[], $3::bytea[]) AS g (namespace, key)), terms AS (DELETE FROM {schema}.document_terms AS t USING given AS g WHERE t.store = $1 AND t.namespace = g.namespace AND t.key = g.key) DELETE FROM {schema}.document AS d USING given AS g WHERE d.store = $1 AND d.namespace = g.namespace AND d.key = g.key";
const WRITE_CHUNKS: &str = "INSERT INTO {schema}.document_chunk (store, sequence, n, bytes) SELECT $1, $2, g.n, g.bytes FROM unnest($3::bigint[], $4::bytea[]) AS g (n, bytes)";

/// The operations of the calls of a group.
pub(super) type Calls = Vec<Vec<Operation>>;

/// The outcomes of a group's calls.
type Outcomes = Vec<Result<Vec<Outcome>>>;

/// An item as the operations so far leave it.
#[derive(Clone)]
struct Present<'a> {
    meta: Meta,
    value: Option<&'a [u8]>,
}

/// A recorded change.
struct Change {
    sequence: i64,
    kind: i64,
    place: Place,
    created_at: i64,
}

/// The items that a group's operations use, and what they change.
struct Decision<'a> {
    items: HashMap<Place, Present<'a>>,
    changed: BTreeSet<Place>,
    changes: Vec<Change>,
    claimed: Claimed,
    nonce: u32,
}

impl<'a> Decision<'a> {
    /// Carries out all operations of one call, or none.
    fn call(&mut self, operations: &'a [Operation]) -> Result<Vec<Outcome>> {
        let mut before: Vec<(&Place, Option<Present<'a>>)> = Vec::new();
        let changes = self.changes.len();
        let mut outcomes = Vec::with_capacity(operations.len());
        for operation in operations {
            if let Operation::Put(Put { place, .. }) | Operation::Delete { place, .. } = operation {
                before.push((place, self.items.get(place).cloned()));
            }
            match self.operation(operation) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    self.changes.truncate(changes);
                    for (place, item) in before.into_iter().rev() {
                        match item {
                            Some(item) => self.items.insert(place.clone(), item),
                            None => self.items.remove(place),
                        };
                    }
                    return Err(error);
                }
            }
        }
        Ok(outcomes)
    }

    fn operation(&mut self, operation: &'a Operation) -> Result<Outcome> {
        match operation {
            Operation::Get(place) => self.get(place),
            Operation::Put(put) => {
                self.check(&put.place, put.expected.as_ref())?;
                Ok(self.put(put))
            }
            Operation::Delete { place, expected } => {
                self.check(place, expected.as_ref())?;
                let was_there = self.alive(place).is_some();
                if self.items.remove(place).is_some() {
                    self.record(DELETE, place, self.claimed.at);
                }
                Ok(Outcome::Deleted(was_there))
            }
            Operation::Check { place, expected } => {
                self.check(place, Some(expected))?;
                Ok(Outcome::Checked)
            }
            Operation::Position => Ok(Outcome::Position(self.latest())),
        }
    }

    fn latest(&self) -> i64 {
        self.claimed.before + i64::try_from(self.changes.len()).unwrap_or_default()
    }

    fn alive(&self, place: &Place) -> Option<&Present<'a>> {
        let at = self.claimed.at;
        self.items.get(place).filter(|item| item.meta.expires_at.is_none_or(|time| time > at))
    }

    fn check(&self, place: &Place, expected: Option<&Expected>) -> Result<()> {
        let found = self.alive(place).map(|item| item.meta.revision);
        match expected {
            Some(expected) if !expected.is_met(found) => Err(conflict(place, expected, found)),
            _ => Ok(()),
        }
    }

    fn get(&self, place: &Place) -> Result<Outcome> {
        let Some(Present { meta, value }) = self.alive(place) else {
            return Ok(Outcome::Item(None));
        };
        let item = StoredItem { meta: meta.clone(), value: value.map(<[u8]>::to_vec) };
        let mut text = ItemText::default();
        let pushed = item.push_to(&mut text, true, None, None);
        pushed.map_err(|_| Error::internal("an operation lacks the value of its item"))?;
        Ok(Outcome::Item(Some(text)))
    }

    fn put(&mut self, put: &'a Put) -> Outcome {
        let now = self.claimed.at;
        let created_at = self.alive(&put.place).map_or(now, |item| item.meta.created_at);
        let revision = self.record(PUT, &put.place, created_at);
        let meta = Meta {
            namespace: put.place.namespace.clone(),
            key: put.place.key.clone(),
            revision,
            created_at,
            updated_at: now,
            expires_at: put.expiry(now),
            kind: put.kind,
            media_type: put.media_type.clone(),
            length: put.value.len(),
        };
        self.items.insert(put.place.clone(), Present { meta, value: Some(&put.value) });
        put.written(revision, created_at, now)
    }

    fn record(&mut self, kind: i64, place: &Place, created_at: i64) -> Revision {
        let sequence = self.latest() + 1;
        self.changed.insert(place.clone());
        self.changes.push(Change { sequence, kind, place: place.clone(), created_at });
        Revision { sequence, nonce: self.nonce }
    }
}

/// Carries out the calls of a group, each whole or not at all.
pub(super) async fn write(store: &Arc<Store>, claim: Claim, calls: Arc<Calls>) -> Result<Outcomes> {
    // The outcomes of the latest attempt that was committed, or may have been.
    let decided: Arc<Mutex<Option<Outcomes>>> = Arc::default();
    let done = store.database.transaction(Intent::Write, Isolation::ReadCommitted, |transaction| {
        let (store, calls, decided) = (Arc::clone(store), Arc::clone(&calls), Arc::clone(&decided));
        async move {
            let rows = transaction.statement(CLAIM, &claim.parameters(&store)).await?;
            let Some(row) = rows.first() else { return Ok(()) };
            let outcomes = run(&transaction, &store, Claimed::read(row)?, &calls).await?;
            *decided.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcomes);
            Ok(())
        }
    });
    done.await.map_err(|failure| store.failed("write to", failure))?;
    let outcomes = decided.lock().unwrap_or_else(PoisonError::into_inner).take();
    outcomes.ok_or_else(interrupted)
}

async fn run(
    transaction: &Transaction,
    store: &Store,
    claimed: Claimed,
    calls: &Calls,
) -> StatementResult<Outcomes> {
    let stored = read(transaction, store, calls).await?;
    let items = stored.iter().map(|item| {
        let StoredItem { meta, value } = item;
        let place = Place { namespace: meta.namespace.clone(), key: meta.key.clone() };
        (place, Present { meta: meta.clone(), value: value.as_deref() })
    });
    let (outcomes, written) = {
        let mut decision = Decision {
            items: items.collect(),
            changed: BTreeSet::new(),
            changes: Vec::new(),
            claimed,
            nonce: random(),
        };
        let outcomes: Outcomes = calls.iter().map(|operations| decision.call(operations)).collect();
        (outcomes, decision)
    };
    if !written.changes.is_empty() {
        let old = stored.iter().filter(|item| item.is_chunked()).map(|item| {
            let Meta { namespace, key, revision, .. } = &item.meta;
            (Place { namespace: namespace.clone(), key: key.clone() }, revision.sequence)
        });
        store_all(transaction, store, &written, old.collect()).await?;
    }
    Ok(outcomes)
}

/// Reads the items that the operations use, with the values of those that they return.
async fn read(
    transaction: &Transaction,
    store: &Store,
    calls: &Calls,
) -> StatementResult<Vec<StoredItem>> {
    let mut places: BTreeMap<&Place, bool> = BTreeMap::new();
    for operation in calls.iter().flatten() {
        match operation {
            Operation::Get(place) => {
                places.insert(place, true);
            }
            Operation::Put(Put { place, .. })
            | Operation::Delete { place, .. }
            | Operation::Check { place, .. } => {
                places.entry(place).or_default();
            }
            Operation::Position => {}
        }
    }
    let parameters = store
        .parameters()
        .byte_strings(places.keys().map(|place| place.namespace.clone()).collect())
        .byte_strings(places.keys().map(|place| place.key.clone()).collect())
        .numbers(places.values().map(|wanted| Some(i64::from(*wanted))).collect());
    let rows = transaction.statement(READ, &parameters).await?;
    let mut items = StoredItem::read_all(&rows)?;
    let wanted: BTreeSet<&Place> =
        places.iter().filter(|(_, wanted)| **wanted).map(|(place, _)| *place).collect();
    for item in &mut items {
        let Meta { namespace, key, .. } = &item.meta;
        if wanted.contains(&Place { namespace: namespace.clone(), key: key.clone() }) {
            item.complete(transaction, store).await?;
        }
    }
    Ok(items)
}

/// Writes what a group changed. `old` are the items whose values were in chunks.
async fn store_all(
    transaction: &Transaction,
    store: &Store,
    decision: &Decision<'_>,
    old: Vec<(Place, i64)>,
) -> StatementResult<()> {
    let (mut written, mut removed) = (Vec::new(), Vec::new());
    for place in &decision.changed {
        match decision.items.get(place) {
            Some(item) if is_new(item, decision) => written.push(item),
            Some(_) => {}
            None => removed.push(place),
        }
    }
    if !removed.is_empty() {
        let parameters = store
            .parameters()
            .byte_strings(removed.iter().map(|place| place.namespace.clone()).collect())
            .byte_strings(removed.iter().map(|place| place.key.clone()).collect());
        transaction.statement(REMOVE, &parameters).await?;
    }
    for item in &written {
        let value = item.value.unwrap_or_default();
        if value.len() > CHUNK {
            write_chunks(transaction, store, item.meta.revision.sequence, value).await?;
        }
    }
    let number = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let metas = |of: &dyn Fn(&Meta) -> Option<i64>| -> Vec<Option<i64>> {
        written.iter().map(|item| of(&item.meta)).collect()
    };
    let is_chunked = |item: &Present<'_>| item.meta.length > CHUNK;
    let inline = |item: &&Present<'_>| match is_chunked(item) {
        true => Vec::new(),
        false => item.value.unwrap_or_default().to_vec(),
    };
    let media_type =
        |item: &&Present<'_>| item.meta.media_type.clone().unwrap_or_default().into_bytes();
    let gone = old.into_iter().filter(|(place, sequence)| {
        let item = decision.items.get(place);
        item.is_none_or(|item| item.meta.revision.sequence != *sequence)
    });
    let changes = &decision.changes;
    let parameters = store
        .parameters()
        .number(i64::from(decision.nonce))
        .number(decision.claimed.at)
        .byte_strings(written.iter().map(|item| item.meta.namespace.clone()).collect())
        .byte_strings(written.iter().map(|item| item.meta.key.clone()).collect())
        .numbers(metas(&|meta| Some(meta.revision.sequence)))
        .numbers(metas(&|meta| Some(meta.created_at)))
        .numbers(metas(&|meta| meta.expires_at))
        .numbers(metas(&|meta| Some(meta.kind.number())))
        .byte_strings(written.iter().map(media_type).collect())
        .numbers(metas(&|meta| Some(number(meta.length))))
        .byte_strings(written.iter().map(inline).collect())
        .numbers(written.iter().map(|item| Some(i64::from(is_chunked(item)))).collect())
        .numbers(gone.map(|(_, sequence)| Some(sequence)).collect())
        .numbers(changes.iter().map(|change| Some(change.sequence)).collect())
        .numbers(changes.iter().map(|change| Some(change.kind)).collect())
        .byte_strings(changes.iter().map(|change| change.place.namespace.clone()).collect())
        .byte_strings(changes.iter().map(|change| change.place.key.clone()).collect())
        .numbers(changes.iter().map(|change| Some(change.created_at)).collect());
    transaction.statement(WRITE, &parameters).await?;
    Ok(())
}

/// Whether a group wrote an item.
fn is_new(item: &Present<'_>, decision: &Decision<'_>) -> bool {
    item.meta.revision.sequence > decision.claimed.before
}

async fn write_chunks(
    transaction: &Transaction,
    store: &Store,
    sequence: i64,
    value: &[u8],
) -> StatementResult<()> {
    let mut number = 0_i64;
    for bytes in value.chunks(CHUNK * CHUNKS) {
        let chunks: Vec<Vec<u8>> = bytes.chunks(CHUNK).map(<[u8]>::to_vec).collect();
        let end = number + i64::try_from(chunks.len()).unwrap_or(i64::MAX);
        let parameters = store
            .parameters()
            .number(sequence)
            .numbers((number..end).map(Some).collect())
            .byte_strings(chunks);
        number = end;
        transaction.statement(WRITE_CHUNKS, &parameters).await?;
    }
    Ok(())
}
