//! Applies the operations of one call (get, put, delete, check). `writer` calls it within the transaction that it opens
//! for a group of calls.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    members::MemberPaths,
    rows::{CHUNK, Item, VALUE_COLUMN, insert_chunks, meta_columns},
};
use crate::{
    error::Error,
    state::{
        item::{ItemText, Kind},
        name::Place,
        operation::{Operation, Outcome, Put, conflict},
        revision::{Expected, Revision},
    },
};

/// Values of `type` in the table `change`.
pub(super) const PUT: i64 = 0;
pub(super) const DELETE: i64 = 1;
/// Replaces the latest change, which was forgotten: watchers skip it.
pub(super) const ERASED: i64 = 2;

/// Why an operation was not carried out.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The item does not have the expected revision; the transaction can continue.
    Refused(Error),
    /// A statement failed.
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for Stopped {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

/// A transaction that changes items.
pub(super) struct Changes<'a> {
    pub connection: &'a Connection,
    pub paths: &'a MemberPaths,
    /// The current time, ms since 1970.
    pub now: i64,
    /// The random part of this transaction's revisions.
    pub nonce: u32,
    /// The number of the latest change.
    pub sequence: i64,
}

/// The present item at a place.
struct Existing {
    id: i64,
    revision: Revision,
    created_at: i64,
    is_expired: bool,
    is_chunked: bool,
}

impl Changes<'_> {
    pub fn apply(&mut self, operation: &Operation) -> std::result::Result<Outcome, Stopped> {
        match operation {
            Operation::Get(place) => Ok(Outcome::Item(get(self.connection, place, self.now)?)),
            Operation::Put(put) => self.put(put),
            Operation::Delete { place, expected } => {
                let existing = self.existing(place)?;
                self.check(place, expected.as_ref(), existing.as_ref())?;
                let Some(existing) = existing else { return Ok(Outcome::Deleted(false)) };
                let was_there = !existing.is_expired;
                self.remove(existing.id, existing.is_chunked, &place.namespace, &place.key)?;
                Ok(Outcome::Deleted(was_there))
            }
            Operation::Check { place, expected } => {
                let existing = self.existing(place)?;
                self.check(place, Some(expected), existing.as_ref())?;
                Ok(Outcome::Checked)
            }
            Operation::Position => Ok(Outcome::Position(self.sequence)),
        }
    }

    fn existing(&self, place: &Place) -> rusqlite::Result<Option<Existing>> {
        let mut select = self.connection.prepare_cached(
            "SELECT id, sequence, nonce, created_at, expires_at, value IS NULL FROM item WHERE namespace = ?1 AND key = ?2",
        )?;
        select
            .query_row(params![place.namespace, place.key], |row| {
                let expires_at: Option<i64> = row.get(4)?;
                Ok(Existing {
                    id: row.get(0)?,
                    revision: Revision { sequence: row.get(1)?, nonce: row.get(2)? },
                    created_at: row.get(3)?,
                    is_expired: expires_at.is_some_and(|time| time <= self.now),
                    is_chunked: row.get(5)?,
                })
            })
            .optional()
    }

    fn check(
        &self,
        place: &Place,
        expected: Option<&Expected>,
        existing: Option<&Existing>,
    ) -> std::result::Result<(), Stopped> {
        let found = existing.filter(|item| !item.is_expired).map(|item| item.revision);
        match expected {
            Some(expected) if !expected.is_met(found) => {
                Err(Stopped::Refused(conflict(place, expected, found)))
            }
            _ => Ok(()),
        }
    }

    fn put(&mut self, put: &Put) -> std::result::Result<Outcome, Stopped> {
        let existing = self.existing(&put.place)?;
        self.check(&put.place, put.expected.as_ref(), existing.as_ref())?;
        let revision = self.record(PUT, &put.place.namespace, &put.place.key)?;
        let created_at = match &existing {
            Some(item) if !item.is_expired => item.created_at,
            _ => self.now,
        };
        let expires_at = put.expiry(self.now);
        let is_chunked = put.value.len() > CHUNK;
        let inline = (!is_chunked).then_some(&put.value);
        let length = i64::try_from(put.value.len()).unwrap_or(i64::MAX);
        let Revision { sequence, nonce } = revision;
        let id = if let Some(item) = &existing {
            self.connection
                .prepare_cached(
                    "UPDATE item SET sequence = ?2, nonce = ?3, created_at = ?4, updated_at = ?5, expires_at = ?6, kind = ?7, media_type = ?8, length = ?9, value = ?10 WHERE id = ?1",
                )?
                .execute(params![
                    item.id, sequence, nonce, created_at, self.now, expires_at, put.kind.number(), put.media_type, length, inline
                ])?;
            if item.is_chunked {
                remove_chunks(self.connection, item.id)?;
            }
            self.paths.remove(self.connection, item.id)?;
            item.id
        } else {
            self.connection
                .prepare_cached(
                    "INSERT INTO item (namespace, key, sequence, nonce, created_at, updated_at, expires_at, kind, media_type, length, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                )?
                .execute(params![
                    put.place.namespace, put.place.key, sequence, nonce, created_at, self.now, expires_at, put.kind.number(), put.media_type, length, inline
                ])?;
            self.connection.last_insert_rowid()
        };
        if is_chunked {
            insert_chunks(self.connection, id, &put.value)?;
        }
        if put.kind == Kind::Json {
            self.paths.insert(self.connection, id, &put.value)?;
        }
        Ok(put.written(revision, created_at, self.now))
    }

    /// Removes an item.
    pub fn remove(
        &mut self,
        id: i64,
        is_chunked: bool,
        namespace: &[u8],
        key: &[u8],
    ) -> rusqlite::Result<()> {
        self.record(DELETE, namespace, key)?;
        self.connection.prepare_cached("DELETE FROM item WHERE id = ?1")?.execute([id])?;
        if is_chunked {
            remove_chunks(self.connection, id)?;
        }
        self.paths.remove(self.connection, id)
    }

    /// Inserts a row into the table of changes, for watchers.
    pub fn record(
        &mut self,
        change: i64,
        namespace: &[u8],
        key: &[u8],
    ) -> rusqlite::Result<Revision> {
        let revision = Revision { sequence: self.sequence + 1, nonce: self.nonce };
        self.connection
            .prepare_cached(
                "INSERT INTO change (sequence, nonce, type, namespace, key) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![revision.sequence, revision.nonce, change, namespace, key])?;
        self.sequence = revision.sequence;
        Ok(revision)
    }
}

fn remove_chunks(connection: &Connection, item: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM chunk WHERE item = ?1")?.execute([item]).map(drop)
}

/// Reads an item that has not expired.
pub(super) fn get(
    connection: &Connection,
    place: &Place,
    now: i64,
) -> rusqlite::Result<Option<ItemText>> {
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        meta_columns!(),
        ", value FROM item WHERE namespace = ?1 AND key = ?2"
    ))?;
    let mut rows = select.query(params![place.namespace, place.key])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let found = Item::read(row)?;
    if found.meta.expires_at.is_some_and(|time| time <= now) {
        return Ok(None);
    }
    let inline = row.get_ref(VALUE_COLUMN)?.as_blob_or_null()?;
    let mut item = ItemText::default();
    item.push(&found.meta, found.content(connection, inline)?, None, None);
    Ok(Some(item))
}
