//! Rows of items, and chunks of long values.

use database::{Row, StatementError, Transaction};

use super::store::Store;
use crate::{
    error::{Code, Error},
    state::{
        item::{Content, ItemText, Kind, Meta, SeparateValue},
        revision::Revision,
    },
};

/// Longer values are stored in chunks of this many bytes, so that rows stay small.
pub(super) const CHUNK: usize = 256 * 1024;
/// The chunks that are read or written at once.
pub(super) const CHUNKS: usize = 16;

/// The columns that [`StoredItem::read`] reads, in its order.
macro_rules! item_columns {
    () => {
        "d.namespace, d.key, d.sequence, d.nonce, d.created_at, d.updated_at, d.expires_at, d.kind, d.media_type, d.length, d.value"
    };
}
pub(super) use item_columns;

const READ_CHUNKS: &str = "SELECT bytes FROM {schema}.document_chunk WHERE store = $1 AND sequence = $2 AND n >= $3 AND n < $4 ORDER BY n";

/// An item with its value, unless that is in chunks or was not selected.
pub(super) struct StoredItem {
    pub meta: Meta,
    pub value: Option<Vec<u8>>,
}

impl StoredItem {
    pub fn read(row: &Row) -> Result<Self, StatementError> {
        let media_type: Vec<u8> = row.try_get(8)?;
        let media_type = String::from_utf8(media_type).ok().filter(|text| !text.is_empty());
        let meta = Meta {
            namespace: row.try_get(0)?,
            key: row.try_get(1)?,
            revision: Revision {
                sequence: row.try_get(2)?,
                nonce: u32::try_from(row.try_get::<_, i64>(3)?).unwrap_or_default(),
            },
            created_at: row.try_get(4)?,
            updated_at: row.try_get(5)?,
            expires_at: row.try_get(6)?,
            kind: Kind::of_number(row.try_get(7)?),
            media_type,
            length: usize::try_from(row.try_get::<_, i64>(9)?).unwrap_or_default(),
        };
        Ok(Self { meta, value: row.try_get(10)? })
    }

    pub fn read_all(rows: &[Row]) -> Result<Vec<Self>, StatementError> {
        rows.iter().map(Self::read).collect()
    }

    /// Whether the value is in chunks.
    pub fn is_chunked(&self) -> bool {
        self.meta.length > CHUNK
    }

    /// Reads the value if it is in chunks.
    pub async fn complete(
        &mut self,
        transaction: &Transaction,
        store: &Store,
    ) -> Result<(), StatementError> {
        if self.is_chunked() && self.value.is_none() {
            let mut value = Vec::with_capacity(self.meta.length);
            let mut chunks = Chunks::of(&self.meta);
            while let Some(rows) = chunks.next(transaction, store).await? {
                for row in &rows {
                    value.extend_from_slice(row.try_get(0)?);
                }
            }
            self.value = Some(value);
        }
        Ok(())
    }

    /// Appends the item to a text, as [`ItemText::push`] does. With `is_separate`, a long JSON value is passed
    /// separately.
    pub fn push_to(
        self,
        text: &mut ItemText,
        is_separate: bool,
        place: Option<usize>,
        score: Option<f32>,
    ) -> Result<(), Damaged> {
        let is_chunked = self.is_chunked();
        let value = self.value.filter(|value| value.len() == self.meta.length).ok_or(Damaged)?;
        let content = match self.meta.kind {
            Kind::Bytes => Content::Separate(SeparateValue::Bytes(value)),
            Kind::Json if is_chunked && is_separate => {
                Content::Separate(SeparateValue::Json(value))
            }
            Kind::Json => Content::Inline(&value),
        };
        text.push(&self.meta, content, place, score);
        Ok(())
    }
}

/// Parts of a value are missing.
#[derive(Debug)]
pub(super) struct Damaged;

impl Damaged {
    pub fn error(&self, store: &Store) -> Error {
        Error::new(
            Code::Corrupt,
            format!(
                "the state store {} is damaged: parts of a value are missing; restore it from a backup",
                store.name
            ),
        )
    }
}

/// The chunks of a value, some at a time.
struct Chunks {
    sequence: i64,
    next: usize,
    count: usize,
}

impl Chunks {
    fn of(meta: &Meta) -> Self {
        Self { sequence: meta.revision.sequence, next: 0, count: meta.length.div_ceil(CHUNK) }
    }

    async fn next(
        &mut self,
        transaction: &Transaction,
        store: &Store,
    ) -> Result<Option<Vec<Row>>, StatementError> {
        if self.next >= self.count {
            return Ok(None);
        }
        let number = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
        let (from, to) = (self.next, self.next + CHUNKS);
        let parameters =
            store.parameters().number(self.sequence).number(number(from)).number(number(to));
        self.next = to;
        transaction.statement(READ_CHUNKS, &parameters).await.map(Some)
    }
}
