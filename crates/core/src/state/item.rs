//! Items: reads their rows, stores long values in chunks, and writes their JSON text for JavaScript.

use std::{collections::VecDeque, io, ops::Deref};

use chrono::DateTime;
use memmap2::MmapMut;
use rusqlite::{Connection, Row, params};

use super::{
    name::{write_namespace, write_token},
    revision::Revision,
};

/// Longer values are stored in chunks of this many bytes, because SQLite copies what it stores in one piece.
pub(super) const CHUNK: usize = 1024 * 1024;

/// The columns that [`Meta::read`] reads, in its order; the value may follow.
macro_rules! meta_columns {
    () => {
        "id, namespace, key, sequence, nonce, created_at, updated_at, expires_at, kind, media_type, length"
    };
}
pub(super) use meta_columns;

/// The index of the value's column.
pub(super) const VALUE_COLUMN: usize = 11;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// JSON text.
    Json,
    /// Bytes.
    Bytes,
}

impl Kind {
    /// The number in the database.
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Json => 0,
            Self::Bytes => 1,
        }
    }
}

/// An item without its value.
#[derive(Debug)]
pub(super) struct Meta {
    pub id: i64,
    pub namespace: Vec<u8>,
    pub key: Vec<u8>,
    pub revision: Revision,
    pub created_at: i64,
    pub updated_at: i64,
    pub expires_at: Option<i64>,
    pub kind: Kind,
    pub media_type: Option<String>,
    pub length: usize,
}

impl Meta {
    pub fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            namespace: row.get(1)?,
            key: row.get(2)?,
            revision: Revision { sequence: row.get(3)?, nonce: row.get(4)? },
            created_at: row.get(5)?,
            updated_at: row.get(6)?,
            expires_at: row.get(7)?,
            kind: if row.get::<_, i64>(8)? == 0 { Kind::Json } else { Kind::Bytes },
            media_type: row.get(9)?,
            length: usize::try_from(row.get::<_, i64>(10)?).unwrap_or_default(),
        })
    }

    /// Appends the members after the value, and the closing brace. With `place`, appends namespace and key, the
    /// namespace without its first `place` segments.
    fn write_rest(&self, place: Option<usize>, out: &mut Vec<u8>) {
        if let Some(root) = place {
            out.extend_from_slice(b"\"namespace\":");
            write_namespace(&self.namespace, root, out);
            out.extend_from_slice(b",\"key\":");
            write_token(&self.key, out);
            out.push(b',');
        }
        out.extend_from_slice(format!("\"revision\":\"{}\"", self.revision).as_bytes());
        write_times(self.created_at, self.updated_at, self.expires_at, out);
        if let Some(media_type) = &self.media_type {
            out.extend_from_slice(b",\"mediaType\":");
            json_text::escape_string(media_type, out);
        }
    }
}

/// Appends the members with times.
pub(super) fn write_times(created: i64, updated: i64, expires: Option<i64>, out: &mut Vec<u8>) {
    let members =
        [("createdAt", Some(created)), ("updatedAt", Some(updated)), ("expiresAt", expires)];
    for (name, time) in members {
        if let Some(time) = time {
            out.extend_from_slice(format!(",\"{name}\":\"{}\"", iso(time)).as_bytes());
        }
    }
}

/// ISO 8601 in UTC with milliseconds, as `Date.toISOString` writes it.
pub(super) fn iso(time: i64) -> String {
    DateTime::from_timestamp_millis(time)
        .unwrap_or_default()
        .format("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// A value that is passed separately from its item's JSON.
#[derive(Debug)]
pub enum SeparateValue {
    /// Bytes.
    Bytes(Vec<u8>),
    /// Long JSON text.
    Json(Vec<u8>),
    /// A long JSON string.
    Text(LongText),
}

/// The content of a long JSON string in pieces, none of which ends within a character or an escape sequence. Each piece
/// has its own pages, which are returned to the system when it is dropped, so a consumer that takes the pieces one by
/// one never holds the text twice.
#[derive(Debug, Default)]
pub struct LongText(VecDeque<Piece>);

/// A piece of a [`LongText`].
#[derive(Debug)]
pub struct Piece {
    pages: MmapMut,
    length: usize,
}

impl LongText {
    /// Appends to the text. An incomplete character or escape sequence at its end moves to the new piece.
    fn push(&mut self, text: &[u8]) -> io::Result<()> {
        let mut cut = Vec::new();
        if let Some(last) = self.0.back_mut() {
            let whole = whole_length(last);
            cut.extend_from_slice(last.get(whole..).unwrap_or_default());
            last.length = whole;
        }
        let length = cut.len() + text.len();
        let mut pages = MmapMut::map_anon(length)?;
        let (begin, rest) = pages.split_at_mut(cut.len());
        begin.copy_from_slice(&cut);
        rest.copy_from_slice(text);
        self.0.push_back(Piece { pages, length });
        Ok(())
    }
}

impl Iterator for LongText {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        self.0.pop_front()
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.pages.get(..self.length).unwrap_or_default()
    }
}

/// Items for JavaScript: JSON without binary and long values, and these values.
#[derive(Debug, Default)]
pub struct ItemText {
    /// The object of one item, or several with commas between them.
    pub json: Vec<u8>,
    /// The separate values, in the order of their items.
    pub values: Vec<SeparateValue>,
}

impl ItemText {
    /// Appends an item, and reads its value if it is in chunks. `score` adds a member.
    pub(super) fn push(
        &mut self,
        connection: &Connection,
        meta: &Meta,
        inline: Option<&[u8]>,
        place: Option<usize>,
        score: Option<f32>,
    ) -> rusqlite::Result<()> {
        if !self.json.is_empty() {
            self.json.push(b',');
        }
        self.json.push(b'{');
        match meta.kind {
            Kind::Json if inline.is_none() => {
                self.values.push(read_long_json(connection, meta)?);
            }
            Kind::Json => {
                self.json.reserve(meta.length + 256);
                self.json.extend_from_slice(b"\"value\":");
                append_value(connection, meta, inline, &mut self.json)?;
                self.json.push(b',');
            }
            Kind::Bytes => {
                let mut bytes = Vec::with_capacity(meta.length);
                append_value(connection, meta, inline, &mut bytes)?;
                self.values.push(SeparateValue::Bytes(bytes));
            }
        }
        if let Some(score) = score {
            self.json.extend_from_slice(format!("\"score\":{score},").as_bytes());
        }
        meta.write_rest(place, &mut self.json);
        self.json.push(b'}');
        Ok(())
    }
}

/// Reads a JSON value from its chunks.
fn read_long_json(connection: &Connection, meta: &Meta) -> rusqlite::Result<SeparateValue> {
    let (mut text, mut json, mut length) = (LongText::default(), Vec::new(), 0);
    for_each_chunk(connection, meta, |chunk| {
        let is_last = length + chunk.len() == meta.length;
        let is_text = !text.0.is_empty() || (length == 0 && chunk.first() == Some(&b'"'));
        if is_text {
            let inside = usize::from(length == 0)..chunk.len() - usize::from(is_last);
            text.push(chunk.get(inside).unwrap_or_default()).map_err(no_pages)?;
        } else {
            json.reserve_exact(meta.length - length);
            json.extend_from_slice(chunk);
        }
        length += chunk.len();
        Ok(())
    })?;
    match length == meta.length {
        true if text.0.is_empty() => Ok(SeparateValue::Json(json)),
        true => Ok(SeparateValue::Text(text)),
        false => Err(missing_chunks()),
    }
}

fn no_pages(error: io::Error) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOMEM),
        Some(error.to_string()),
    )
}

/// The length of the longest part of a JSON string that ends neither within a character nor within an escape sequence.
fn whole_length(text: &[u8]) -> usize {
    let end = text.len();
    // The longest escape sequence is `\uXXXX`.
    let window = text.iter().enumerate().rev().take(6);
    let escape = window.filter(|(_, byte)| **byte == b'\\').map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).unwrap_or_default();
        let run = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        let length = if text.get(at + 1) == Some(&b'u') { 6 } else { 2 };
        // After an odd number of other backslashes, a backslash is itself escaped.
        run % 2 == 0 && at + length > end
    });
    let end = escape.unwrap_or(end);
    let text = text.get(..end).unwrap_or_default();
    let start = text.iter().rposition(|byte| byte & 0xC0 != 0x80).unwrap_or(end);
    let is_cut = text.get(start).is_some_and(|first| {
        let length = match first {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        };
        start + length > end
    });
    if is_cut { start } else { end }
}

/// Appends a value: `inline`, or its chunks.
pub(super) fn append_value(
    connection: &Connection,
    meta: &Meta,
    inline: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> rusqlite::Result<()> {
    if let Some(value) = inline {
        out.extend_from_slice(value);
        return Ok(());
    }
    let start = out.len();
    for_each_chunk(connection, meta, |chunk| {
        out.extend_from_slice(chunk);
        Ok(())
    })?;
    if out.len() - start == meta.length { Ok(()) } else { Err(missing_chunks()) }
}

fn for_each_chunk(
    connection: &Connection,
    meta: &Meta,
    mut take: impl FnMut(&[u8]) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut chunks =
        connection.prepare_cached("SELECT bytes FROM chunk WHERE item = ?1 ORDER BY number")?;
    let mut rows = chunks.query([meta.id])?;
    while let Some(row) = rows.next()? {
        take(row.get_ref(0)?.as_blob()?)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_of_a_string_are_strings(
            text in "[a\\\\\"\n\u{1}é€😀]{0,40}",
            lone in any::<bool>(),
            size in 1_usize..12,
        ) {
            let mut json = serde_json::to_string(&text).unwrap();
            if lone {
                json.insert_str(1, "\\ud83d\\\\\\udc00");
            }
            let inside = &json.as_bytes()[1..json.len() - 1];
            let mut text = LongText::default();
            for chunk in inside.chunks(size) {
                text.push(chunk).unwrap();
            }
            let pieces: Vec<Vec<u8>> = text.map(|piece| piece.to_vec()).collect();
            prop_assert_eq!(pieces.concat(), inside);
            let units: Vec<u16> = pieces
                .iter()
                .flat_map(|piece| json_text::decode_utf16(&[b"\"", piece.as_slice(), b"\""].concat()))
                .collect();
            prop_assert_eq!(units, json_text::decode_utf16(json.as_bytes()));
        }
    }
}
