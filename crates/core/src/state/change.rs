//! Applies the operations of one call (get, put, delete, check). `writer` calls it within the transaction that it opens
//! for a group of calls.

use json_text::Encoded;
use redaction::{Redaction, RedactionSession, Report};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    item::{CHUNK, ItemText, Kind, Meta, VALUE_COLUMN, insert_chunks, meta_columns, write_times},
    members::MemberPaths,
    name::{Place, segments},
    revision::{Expected, Revision},
};
use crate::error::{Code, Error, Result};

/// Values of `type` in the table `change`.
pub(super) const PUT: i64 = 0;
pub(super) const DELETE: i64 = 1;
/// Replaces the latest change, which was forgotten: watchers skip it.
pub(super) const ERASED: i64 = 2;

/// One operation of a call.
#[derive(Debug)]
pub enum Operation {
    /// Reads an item.
    Get(Place),
    /// Writes an item.
    Put(Put),
    /// Removes an item.
    Delete {
        /// The item's place.
        place: Place,
        /// The expected revision.
        expected: Option<Expected>,
    },
    /// Changes nothing, and fails if the item does not have the expected revision.
    Check {
        /// The item's place.
        place: Place,
        /// The expected revision.
        expected: Expected,
    },
    /// Returns the position of the latest change.
    Position,
}

/// The arguments of a write.
#[derive(Debug)]
pub struct Put {
    /// The item's place.
    pub place: Place,
    /// The type of the value.
    pub kind: Kind,
    /// The value; empty if it is in `encoded`.
    pub value: Vec<u8>,
    /// JSON from JavaScript, which the writer's thread turns into the value.
    pub encoded: Option<Encoded>,
    /// The expected revision of an existing item.
    pub expected: Option<Expected>,
    /// The time until it expires, in ms.
    pub ttl: Option<i64>,
    /// The time at which it expires, in ms since 1970; set instead of `ttl`.
    pub expires_at: Option<i64>,
    /// The media type of the value, for its readers.
    pub media_type: Option<String>,
    /// The report on redacted secrets in the value.
    pub report: Report,
}

/// The result of an operation.
#[derive(Debug)]
pub enum Outcome {
    /// The item that was read, without namespace and key.
    Item(Option<ItemText>),
    /// The item was written.
    Written {
        /// Its members except namespace, key, value and media type, as JSON.
        members: String,
        /// Its value with the report, if secrets in it were redacted.
        redacted: Option<(Kind, Vec<u8>, Report)>,
    },
    /// Whether the item existed.
    Deleted(bool),
    /// The item has the expected revision.
    Checked,
    /// The number of the latest change.
    Position(i64),
}

impl Put {
    /// Encodes and redacts the value.
    ///
    /// # Errors
    /// `TooLarge`, `Redaction`
    pub(super) fn prepare(
        &mut self,
        max_bytes: usize,
        redaction: Option<&Redaction>,
    ) -> Result<()> {
        if let Some(encoded) = self.encoded.take() {
            encoded.write(&mut self.value).map_err(|_| {
                Error::new(Code::InvalidArgument, "value could not be turned into JSON")
            })?;
        }
        if self.value.len() > max_bytes {
            return Err(Error::new(
                Code::TooLarge,
                format!(
                    "the value of {:?} takes {} bytes, and {max_bytes} are allowed; raise maxValueBytes or store less of it",
                    String::from_utf8_lossy(&self.place.key),
                    self.value.len()
                ),
            ));
        }
        redaction.map_or(Ok(()), |redaction| self.redact(redaction.clone()))
    }

    /// Redacts the value. Bytes are redacted if they are UTF-8 text.
    fn redact(&mut self, redaction: Redaction) -> Result<()> {
        let mut session = RedactionSession::new(Some(redaction));
        match self.kind {
            Kind::Json => session.json(&mut self.value, 0)?,
            Kind::Bytes => match String::from_utf8(std::mem::take(&mut self.value)) {
                Ok(mut text) => {
                    session.text(&mut text)?;
                    self.value = text.into_bytes();
                }
                Err(error) => self.value = error.into_bytes(),
            },
        }
        self.report = session.report();
        Ok(())
    }
}

impl Operation {
    /// The approximate number of bytes that it writes.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Put(put) => {
                put.value.len() + put.encoded.as_ref().map_or(0, Encoded::length_hint)
            }
            _ => 0,
        }
    }
}

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
        let expires_at = put.expires_at.or_else(|| Some(self.now.saturating_add(put.ttl?)));
        let expires_at = expires_at.map(|time| time.min(MAX_TIME));
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
        let mut members = format!("{{\"revision\":\"{revision}\"").into_bytes();
        write_times(created_at, self.now, expires_at, &mut members);
        members.push(b'}');
        let redacted =
            (!put.report.is_empty()).then(|| (put.kind, put.value.clone(), put.report.clone()));
        let members = String::from_utf8(members).unwrap_or_default();
        Ok(Outcome::Written { members, redacted })
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

/// The latest time of a JavaScript `Date`.
const MAX_TIME: i64 = 8_640_000_000_000_000;

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
    let meta = Meta::read(row)?;
    if meta.expires_at.is_some_and(|time| time <= now) {
        return Ok(None);
    }
    let mut item = ItemText::default();
    let inline = row.get_ref(VALUE_COLUMN)?.as_blob_or_null()?;
    item.push(connection, &meta, inline, None, None)?;
    Ok(Some(item))
}

fn conflict(place: &Place, expected: &Expected, found: Option<Revision>) -> Error {
    let namespace: Vec<_> = segments(&place.namespace)
        .iter()
        .map(|segment| String::from_utf8_lossy(segment).into_owned())
        .collect();
    let key = String::from_utf8_lossy(&place.key);
    let found = found
        .map_or_else(|| "is not there".to_owned(), |revision| format!("has revision {revision}"));
    let wanted = match expected {
        Expected::Absent => "must not exist".to_owned(),
        Expected::Revision(revision) => format!("must have revision {revision:?}"),
    };
    Error::new(
        Code::Conflict,
        format!(
            "the item {key:?} of {namespace:?} {found}, and {wanted}; read it again and decide again"
        ),
    )
}
