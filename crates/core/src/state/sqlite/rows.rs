//! Rows of items in SQLite: reads them, and stores long values in chunks.

use std::io;

use rusqlite::{Connection, Row, params};

use crate::state::{
    item::{Content, Kind, LongJson, Meta, SeparateValue},
    revision::Revision,
};

/// Longer values are stored in chunks of this many bytes, because SQLite copies what it stores in one piece.
pub(super) const CHUNK: usize = 1024 * 1024;

/// The columns that [`Item::read`] reads, in its order; the value may follow.
macro_rules! meta_columns {
    () => {
        "id, namespace, key, sequence, nonce, created_at, updated_at, expires_at, kind, media_type, length"
    };
}
pub(super) use meta_columns;

/// The index of the value's column.
pub(super) const VALUE_COLUMN: usize = 11;

/// An item with the number of its row.
pub(super) struct Item {
    pub id: i64,
    pub meta: Meta,
}

impl Item {
    pub fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let meta = Meta {
            namespace: row.get(1)?,
            key: row.get(2)?,
            revision: Revision { sequence: row.get(3)?, nonce: row.get(4)? },
            created_at: row.get(5)?,
            updated_at: row.get(6)?,
            expires_at: row.get(7)?,
            kind: Kind::of_number(row.get(8)?),
            media_type: row.get(9)?,
            length: usize::try_from(row.get::<_, i64>(10)?).unwrap_or_default(),
        };
        Ok(Self { id: row.get(0)?, meta })
    }

    /// The value as [`crate::state::ItemText`] takes it, read from chunks if it is not `inline`.
    pub fn content<'a>(
        &self,
        connection: &Connection,
        inline: Option<&'a [u8]>,
    ) -> rusqlite::Result<Content<'a>> {
        match (self.meta.kind, inline) {
            (_, Some(value)) => Ok(Content::Inline(value)),
            (Kind::Json, None) => {
                let mut json = LongJson::new(self.meta.length);
                self.for_each_chunk(connection, |chunk| json.push(chunk).map_err(no_pages))?;
                json.finish().map(Content::Separate).ok_or_else(missing_chunks)
            }
            (Kind::Bytes, None) => {
                let mut bytes = Vec::with_capacity(self.meta.length);
                self.append_value(connection, None, &mut bytes)?;
                Ok(Content::Separate(SeparateValue::Bytes(bytes)))
            }
        }
    }

    /// Appends the value: `inline`, or its chunks.
    pub fn append_value(
        &self,
        connection: &Connection,
        inline: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> rusqlite::Result<()> {
        if let Some(value) = inline {
            out.extend_from_slice(value);
            return Ok(());
        }
        let start = out.len();
        self.for_each_chunk(connection, |chunk| {
            out.extend_from_slice(chunk);
            Ok(())
        })?;
        if out.len() - start == self.meta.length { Ok(()) } else { Err(missing_chunks()) }
    }

    fn for_each_chunk(
        &self,
        connection: &Connection,
        mut take: impl FnMut(&[u8]) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut chunks =
            connection.prepare_cached("SELECT bytes FROM chunk WHERE item = ?1 ORDER BY number")?;
        let mut rows = chunks.query([self.id])?;
        while let Some(row) = rows.next()? {
            take(row.get_ref(0)?.as_blob()?)?;
        }
        Ok(())
    }
}

fn no_pages(error: io::Error) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOMEM),
        Some(error.to_string()),
    )
}

/// The error for a damaged file in which chunks are missing.
fn missing_chunks() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
        Some("parts of a value are missing".to_owned()),
    )
}

/// Writes the chunks of a long value.
pub(super) fn insert_chunks(
    connection: &Connection,
    item: i64,
    value: &[u8],
) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO chunk (item, number, bytes) VALUES (?1, ?2, ?3)")?;
    for (number, bytes) in value.chunks(CHUNK).enumerate() {
        insert.execute(params![item, i64::try_from(number).unwrap_or(i64::MAX), bytes])?;
    }
    Ok(())
}
