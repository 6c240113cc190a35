//! Searching items with a question.

use std::cell::RefCell;

use rusqlite::Connection;
use text_index::{Analysed, Document, Index, Query};

use super::{
    filter::Filter,
    item::{ItemText, Kind, Meta, VALUE_COLUMN, meta_columns},
    listing::{Listing, Order, each_item},
    words::{ItemWords, Words},
};
use crate::error::Result;

/// So many items are ranked, the latest written ones that pass the filter…
const MAX_ITEMS: usize = 20_000;
/// … and no more than have so many bytes of text.
const MAX_TEXT: usize = 64 * 1024 * 1024;
/// No more bytes of a value's text are looked at.
const MAX_VALUE_TEXT: usize = 64 * 1024;

/// What is searched.
#[derive(Debug)]
pub struct Search {
    /// What the namespaces begin with, in the form of the database.
    pub prefix: Vec<u8>,
    /// The question.
    pub query: String,
    /// What values have to meet.
    pub filter: Filter,
    /// At most this many.
    pub limit: usize,
    /// How many segments of the namespaces are not shown.
    pub root: usize,
}

/// What is ranked: the items from the latest written one on.
#[derive(Default)]
struct Candidates {
    /// Which item a change wrote, by falling numbers of changes.
    items: Vec<(i64, i64)>,
    analysed: Vec<Analysed>,
    text_bytes: usize,
}

impl Candidates {
    /// Takes an item in; whether there is room for more.
    fn push(&mut self, id: i64, sequence: i64, words: ItemWords) -> bool {
        self.items.push((sequence, id));
        self.text_bytes += words.text_bytes;
        self.analysed.push(words.analysed);
        self.items.len() < MAX_ITEMS && self.text_bytes < MAX_TEXT
    }

    fn id(&self, sequence: i64) -> Option<i64> {
        let at = self.items.binary_search_by(|(other, _)| sequence.cmp(other)).ok()?;
        self.items.get(at).map(|(_, id)| *id)
    }
}

/// The items that share a term with the query, best first; of equally good ones the latest written first. The
/// scores depend on the items that are ranked and on nothing else, so that every process gives the same.
pub(super) fn search(
    connection: &Connection,
    words: &Words,
    search: Search,
) -> Result<rusqlite::Result<ItemText>> {
    let query = Query::parse(&search.query);
    let listing = Listing {
        prefix: search.prefix,
        key_prefix: Vec::new(),
        filter: search.filter,
        order: Order::Updated,
        limit: MAX_ITEMS,
        cursor: None,
        root: search.root,
    };
    let candidates = RefCell::new(Candidates::default());
    if !query.is_empty() && search.limit > 0 {
        let number = words.begin();
        let mut known = |id, sequence| {
            let words = words.get(sequence, number)?;
            Some(candidates.borrow_mut().push(id, sequence, words))
        };
        let done = each_item(connection, &listing, &mut known, &mut |meta, value| {
            let sequence = meta.revision.sequence;
            let kept = words.get(sequence, number);
            let counted = kept.unwrap_or_else(|| {
                let counted = count_words(meta, value);
                words.insert(sequence, number, counted.clone());
                counted
            });
            Ok(candidates.borrow_mut().push(meta.id, sequence, counted))
        })?;
        if let Err(error) = done {
            return Ok(Err(error));
        }
    }
    let mut candidates = candidates.into_inner();
    let analysed = std::mem::take(&mut candidates.analysed);
    let ranked = Index::rank_analysed(&query, analysed, Some(search.limit));
    let best = ranked.hits.into_iter().filter_map(|hit| {
        let sequence = i64::try_from(hit.sequence).ok()?;
        candidates.id(sequence).map(|id| (id, hit.score))
    });
    Ok(read(connection, best, search.root))
}

fn count_words(meta: &Meta, value: &[u8]) -> ItemWords {
    let text = text_of(meta.kind, value);
    let key = String::from_utf8_lossy(&meta.key);
    let document =
        Document { name: &key, result: &text, timestamp: meta.updated_at, ..Document::default() };
    let sequence = u64::try_from(meta.revision.sequence).unwrap_or_default();
    ItemWords { analysed: Analysed::new(sequence, &document), text_bytes: text.len() + key.len() }
}

/// The words of a value; those of bytes where they are text.
fn text_of(kind: Kind, value: &[u8]) -> String {
    let mut text = String::new();
    match kind {
        Kind::Json => json_text::append_text(value, &mut text, MAX_VALUE_TEXT),
        Kind::Bytes => {
            if let Ok(whole) = std::str::from_utf8(value) {
                text.push_str(
                    whole.get(..whole.floor_char_boundary(MAX_VALUE_TEXT)).unwrap_or_default(),
                );
            }
        }
    }
    text
}

fn read(
    connection: &Connection,
    best: impl Iterator<Item = (i64, f32)>,
    root: usize,
) -> rusqlite::Result<ItemText> {
    let mut items = ItemText::default();
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        meta_columns!(),
        ", value FROM item WHERE id = ?1"
    ))?;
    for (id, score) in best {
        let mut rows = select.query([id])?;
        if let Some(row) = rows.next()? {
            let meta = Meta::read(row)?;
            let inline = row.get_ref(VALUE_COLUMN)?.as_blob_or_null()?;
            items.push(connection, &meta, inline, Some(root), Some(score))?;
        }
    }
    Ok(items)
}
