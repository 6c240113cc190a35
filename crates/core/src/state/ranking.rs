//! The arguments of searches, and the ranking of items by their words.

use text_index::{Analysed, Document, Index, Query};

use super::{
    filter::Filter,
    item::{Kind, Meta},
    listing::{Listing, Order},
    words::ItemWords,
};

/// The most items that are ranked: the latest written ones that pass the filter, …
pub(super) const MAX_ITEMS: usize = 20_000;
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

impl Search {
    /// The query and the listing of the items to rank; `None` if nothing can be found.
    pub(super) fn parse(self) -> Option<(Query, Listing, usize)> {
        let query = Query::parse(&self.query);
        let listing = Listing {
            prefix: self.prefix,
            key_prefix: Vec::new(),
            filter: self.filter,
            order: Order::Updated,
            limit: MAX_ITEMS,
            cursor: None,
            root: self.root,
        };
        (!query.is_empty() && self.limit > 0).then_some((query, listing, self.limit))
    }
}

/// The items to rank.
#[derive(Default)]
pub(super) struct Candidates {
    analysed: Vec<Analysed>,
    text_bytes: usize,
}

impl Candidates {
    /// Adds an item; returns whether more can be added.
    pub fn push(&mut self, words: ItemWords) -> bool {
        self.text_bytes += words.text_bytes;
        self.analysed.push(words.analysed);
        self.analysed.len() < MAX_ITEMS && self.text_bytes < MAX_TEXT
    }

    /// The changes that wrote the best items, best first, with scores. Scores depend only on the ranked items, so that
    /// every process returns the same.
    pub fn best(self, query: &Query, limit: usize) -> Vec<(i64, f32)> {
        let ranked = Index::rank_analysed(query, self.analysed, Some(limit));
        let best = ranked.hits.into_iter();
        best.filter_map(|hit| Some((i64::try_from(hit.sequence).ok()?, hit.score))).collect()
    }
}

/// The words of an item.
pub(super) fn count_words(meta: &Meta, value: &[u8]) -> ItemWords {
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
