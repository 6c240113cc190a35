//! Ranked search of items for a question.

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

/// The most items that are ranked: the latest written ones that pass the filter, …
const MAX_ITEMS: usize = 20_000;
/// … as long as their text does not exceed this many bytes.
const MAX_TEXT: usize = 64 * 1024 * 1024;
/// The most bytes of a value's text.
const MAX_VALUE_TEXT: usize = 64 * 1024;

/// The arguments of a search.
#[derive(Debug)]
pub struct Search {
    /// The prefix of the namespaces, in the form of the database.
    pub prefix: Vec<u8>,
    /// The question.
    pub query: String,
    /// The conditions on the values.
    pub filter: Filter,
    /// The most items.
    pub limit: usize,
    /// The number of segments of the namespaces that are not shown.
    pub root: usize,
}

/// The items to rank, latest written first.
#[derive(Default)]
struct Candidates {
    /// Pairs of a change and the item that it wrote, with decreasing numbers of changes.
    items: Vec<(i64, i64)>,
    analysed: Vec<Analysed>,
    text_bytes: usize,
}

impl Candidates {
    /// Adds an item; returns whether more can be added.
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

/// The items that share a term with the query: best first, of equal ones the latest written first. Scores depend only
/// on the ranked items, so that every process returns the same.
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

/// The text of a value; of bytes if they are UTF-8.
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
