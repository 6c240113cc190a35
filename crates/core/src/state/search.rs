//! Ranked search of items for a question.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
};

use rusqlite::Connection;
use rustc_hash::FxHashSet;
use text_index::{Analysed, Document, Hit, Index, Query, fuse};

use super::{
    filter::Filter,
    item::{ItemText, Kind, Meta, VALUE_COLUMN, meta_columns},
    listing::{Listing, Order, each_item},
    words::{ItemWords, Words},
};
use crate::{
    error::Result,
    vectors::{Embedded, TextDigest, Vectors, embedded_text},
};

/// The most items that are ranked: the latest written ones that pass the filter, …
const MAX_ITEMS: usize = 20_000;
/// … as long as their text does not exceed this many bytes.
const MAX_TEXT: usize = 64 * 1024 * 1024;
/// The most bytes of a value's text.
const MAX_VALUE_TEXT: usize = 64 * 1024;

/// The arguments of a search.
pub struct Search {
    /// The prefix of the namespaces, in the form of the database.
    pub prefix: Vec<u8>,
    /// The question.
    pub query: String,
    /// The conditions on the values.
    pub filter: Filter,
    /// The most items.
    pub limit: usize,
    /// The embedding of the question.
    pub embedded: Option<Embedded>,
    /// The number of segments of the namespaces that are not shown.
    pub root: usize,
}

/// The items to rank, latest written first.
#[derive(Default)]
struct Candidates {
    /// Pairs of a change and the item that it wrote, with decreasing numbers of changes.
    items: Vec<(i64, i64)>,
    analysed: Vec<Analysed>,
    /// The texts that embedding models get.
    embedded: Vec<TextDigest>,
    text_bytes: usize,
}

impl Candidates {
    /// Adds an item; returns whether more can be added.
    fn push(&mut self, id: i64, sequence: i64, words: ItemWords) -> bool {
        self.items.push((sequence, id));
        self.text_bytes += words.text_bytes;
        self.analysed.push(words.analysed);
        self.embedded.push(words.embedded);
        self.items.len() < MAX_ITEMS && self.text_bytes < MAX_TEXT
    }

    fn position(&self, sequence: u64) -> Option<usize> {
        let sequence = i64::try_from(sequence).ok()?;
        self.items.binary_search_by(|(other, _)| sequence.cmp(other)).ok()
    }
}

/// The items that share a term with the query or are near to it by their vectors: best first, of equal ones the latest
/// written first. Scores by terms depend only on the ranked items, so that every process returns the same.
pub(super) fn search(
    connection: &Connection,
    words: &Words,
    search: Search,
) -> Result<rusqlite::Result<ItemText>> {
    let Search { prefix, query, filter, limit, embedded, root } = search;
    let query = Query::parse(&query);
    let listing = ranked_items(prefix, filter, root);
    let candidates = RefCell::new(Candidates::default());
    if !(query.is_empty() && embedded.is_none()) && limit > 0 {
        let number = words.begin();
        let mut known = |id, sequence| {
            let words = words.get(sequence, number)?;
            Some(candidates.borrow_mut().push(id, sequence, words))
        };
        let done = each_item(connection, &listing, &mut known, &mut |meta, value| {
            let sequence = meta.revision.sequence;
            let kept = words.get(sequence, number);
            let counted = kept.unwrap_or_else(|| {
                let counted = Texts::of(meta, value).words(meta);
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
    let near = embedded
        .and_then(|embedded| embedded.nearness(candidates.embedded.iter().copied().map(Some)));
    let most = near.is_none().then_some(limit);
    let ranked = Index::rank_analysed(&query, analysed, most).hits.into_iter();
    let at = |hit: Hit| Some((candidates.position(hit.sequence)?, hit.score));
    let mut ranked: Vec<(usize, f32)> = ranked.filter_map(at).collect();
    if let Some(near) = near {
        fuse(&mut ranked, &near);
    }
    let best = ranked
        .into_iter()
        .take(limit)
        .filter_map(|(position, score)| candidates.items.get(position).map(|(_, id)| (*id, score)));
    Ok(read(connection, best, root))
}

/// The texts without a vector of items that a search would rank: at most `limit`, latest written first.
pub(super) fn texts_without_vector(
    connection: &Connection,
    words: &Words,
    search: Search,
    vectors: &Vectors,
    limit: usize,
) -> Result<rusqlite::Result<Vec<String>>> {
    let listing = ranked_items(search.prefix, search.filter, search.root);
    let number = words.begin();
    let count = Cell::new(0);
    let room = MAX_ITEMS.min(vectors.room());
    let goes_on = || {
        count.set(count.get() + 1);
        count.get() < room
    };
    let (mut texts, mut seen) = (Vec::new(), FxHashSet::default());
    let mut known = |_, sequence| {
        let words = words.get(sequence, number)?;
        vectors.has(words.embedded).then(&goes_on)
    };
    let done = each_item(connection, &listing, &mut known, &mut |meta, value| {
        let sequence = meta.revision.sequence;
        let kept = words.get(sequence, number);
        if kept.as_ref().is_some_and(|words| vectors.has(words.embedded)) {
            return Ok(goes_on());
        }
        let item = Texts::of(meta, value);
        if kept.is_none() {
            words.insert(sequence, number, item.words(meta));
        }
        let text = item.embedded();
        let digest = TextDigest::of(&text);
        if !vectors.has(digest) && seen.insert(digest) {
            texts.push(text);
        }
        Ok(goes_on() && texts.len() < limit)
    })?;
    Ok(done.map(|()| texts))
}

/// The items that a search with this prefix and filter ranks.
fn ranked_items(prefix: Vec<u8>, filter: Filter, root: usize) -> Listing {
    Listing {
        prefix,
        key_prefix: Vec::new(),
        filter,
        order: Order::Updated,
        limit: MAX_ITEMS,
        cursor: None,
        root,
    }
}

/// The texts of an item.
struct Texts<'i> {
    key: Cow<'i, str>,
    value: String,
}

impl<'i> Texts<'i> {
    fn of(meta: &'i Meta, value: &[u8]) -> Self {
        Self { key: String::from_utf8_lossy(&meta.key), value: text_of(meta.kind, value) }
    }

    /// The text that embedding models get.
    fn embedded(&self) -> String {
        embedded_text(&[&self.key, &self.value])
    }

    fn words(&self, meta: &Meta) -> ItemWords {
        let Self { key, value } = self;
        let timestamp = meta.updated_at;
        let document = Document { name: key, result: value, timestamp, ..Document::default() };
        let sequence = u64::try_from(meta.revision.sequence).unwrap_or_default();
        ItemWords {
            analysed: Analysed::new(sequence, &document),
            embedded: TextDigest::of(&self.embedded()),
            text_bytes: value.len() + key.len(),
        }
    }
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
