//! The arguments of searches, and the ranking of items by their words and vectors.

use std::{borrow::Cow, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};
use text_index::{Analysed, Collection, Document, Index, Query, fuse};

use super::{
    filter::Filter,
    item::{Kind, Meta},
    listing::{Listing, Order},
    words::ItemWords,
};
use crate::vectors::{Embedded, TextDigest, Vectors, embedded_text};

/// The most items that are ranked: the latest written ones that pass the filter, …
pub(super) const MAX_ITEMS: usize = 20_000;
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

/// A question, by which items are ranked.
pub(super) struct Question {
    query: Query,
    embedded: Option<Embedded>,
    limit: usize,
}

impl Question {
    /// The terms to look for in a full-text index, and the most items. `None` if terms alone do not decide.
    pub fn narrowing(&self) -> Option<(&Query, usize)> {
        let is_decided = self.embedded.is_none() && !self.query.wanted().is_empty();
        is_decided.then_some((&self.query, self.limit))
    }
}

impl Search {
    /// The question and the listing of the items to rank; `None` if nothing can be found.
    pub(super) fn parse(mut self) -> Option<(Question, Listing)> {
        let (query, embedded) = (Query::parse(&self.query), self.embedded.take());
        let question = Question { query, embedded, limit: self.limit };
        let asks = !question.query.is_empty() || question.embedded.is_some();
        (asks && self.limit > 0).then(|| (question, self.listing()))
    }

    /// The listing of the items to rank.
    pub(super) fn listing(self) -> Listing {
        Listing {
            prefix: self.prefix,
            key_prefix: Vec::new(),
            filter: self.filter,
            order: Order::Updated,
            limit: MAX_ITEMS,
            cursor: None,
            root: self.root,
        }
    }
}

/// The items to rank, latest written first.
#[derive(Default)]
pub(super) struct Candidates {
    sequences: Vec<i64>,
    analysed: Vec<Analysed>,
    /// The texts that embedding models get.
    embedded: Vec<TextDigest>,
    text_bytes: usize,
}

impl Candidates {
    /// Adds the item that a change wrote; returns whether more can be added.
    pub fn push(&mut self, sequence: i64, words: ItemWords) -> bool {
        self.text_bytes += words.text_bytes;
        self.sequences.push(sequence);
        self.analysed.push(words.analysed);
        self.embedded.push(words.embedded);
        self.analysed.len() < MAX_ITEMS && self.text_bytes < MAX_TEXT
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// The words of the items.
    pub fn analysed(&self) -> &[Analysed] {
        &self.analysed
    }

    /// As [`Candidates::best`], by the terms of a query and by the statistics of all items of which these are a part.
    pub fn best_within(
        self,
        query: &Query,
        collection: Collection,
        limit: usize,
    ) -> Vec<(i64, f32)> {
        rank(query, self.analysed, Some(Arc::new(collection)), Some(limit))
    }

    /// The changes that wrote the best items, best first, with scores: those that share a term with the question or are near
    /// to it by their vectors; of equal ones the latest written first. Scores by terms depend only on the ranked items, so
    /// that every process returns the same.
    pub fn best(self, question: &Question) -> Vec<(i64, f32)> {
        let Self { sequences, analysed, embedded, .. } = self;
        let near = question
            .embedded
            .as_ref()
            .and_then(|question| question.nearness(embedded.iter().copied().map(Some)));
        let most = near.is_none().then_some(question.limit);
        let ranked = rank(&question.query, analysed, None, most);
        let Some(near) = near else { return ranked };
        let positions: FxHashMap<i64, usize> = sequences
            .iter()
            .enumerate()
            .map(|(position, sequence)| (*sequence, position))
            .collect();
        let mut ranked: Vec<(usize, f32)> = ranked
            .into_iter()
            .filter_map(|(sequence, score)| Some((*positions.get(&sequence)?, score)))
            .collect();
        fuse(&mut ranked, &near);
        let best = ranked.into_iter().take(question.limit);
        best.filter_map(|(position, score)| Some((*sequences.get(position)?, score))).collect()
    }
}

/// The sequences and scores of the best documents.
fn rank(
    query: &Query,
    documents: Vec<Analysed>,
    collection: Option<Arc<Collection>>,
    most: Option<usize>,
) -> Vec<(i64, f32)> {
    let hits = Index::rank_analysed(query, documents, collection, most).hits.into_iter();
    hits.filter_map(|hit| Some((i64::try_from(hit.sequence).ok()?, hit.score))).collect()
}

/// Collects the texts of items that have no vector, latest written first.
pub(super) struct MissingTexts {
    vectors: Vectors,
    limit: usize,
    /// The most items that are looked at.
    room: usize,
    items: usize,
    texts: Vec<String>,
    seen: FxHashSet<TextDigest>,
}

impl MissingTexts {
    pub fn new(vectors: Vectors, limit: usize) -> Self {
        let room = MAX_ITEMS.min(vectors.room());
        Self { vectors, limit, room, items: 0, texts: Vec::new(), seen: FxHashSet::default() }
    }

    /// Whether the item with these words needs no vector.
    pub fn has_vector(&self, words: &ItemWords) -> bool {
        self.vectors.has(words.embedded)
    }

    /// Passes an item that needs none; returns whether to go on.
    pub fn pass(&mut self) -> bool {
        self.items += 1;
        self.items < self.room
    }

    /// Adds the text of an item; returns whether to go on.
    pub fn push(&mut self, item: &Texts<'_>) -> bool {
        let text = item.embedded();
        let digest = TextDigest::of(&text);
        if !self.vectors.has(digest) && self.seen.insert(digest) {
            self.texts.push(text);
        }
        self.pass() && self.texts.len() < self.limit
    }

    pub fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

/// The texts of an item.
pub(super) struct Texts<'i> {
    key: Cow<'i, str>,
    value: String,
}

impl<'i> Texts<'i> {
    pub fn of(meta: &'i Meta, value: &[u8]) -> Self {
        Self { key: String::from_utf8_lossy(&meta.key), value: text_of(meta.kind, value) }
    }

    /// The text that embedding models get.
    fn embedded(&self) -> String {
        embedded_text(&[&self.key, &self.value])
    }

    /// The words of the item.
    pub fn words(&self, meta: &Meta) -> ItemWords {
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
