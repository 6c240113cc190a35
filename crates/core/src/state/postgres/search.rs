//! Ranked search of items for a question. Of more than a few items, the full-text index first narrows the search to candidates
//! ([`super::terms`]). Searches with vectors, or for nothing but stop words, rank the latest items without it.

use std::{collections::HashMap, path::Path, sync::Arc};

use database::Transaction;
use serde_json::json;
use text_index::Query;

use super::{
    State,
    reading::{is_accepted, later, next_items, sequences},
    rows::{StoredItem, item_columns},
    store::{StatementResult, Store},
    terms::{Extent, similar},
};
use crate::{
    debug::Debug,
    error::Result,
    state::{
        item::ItemText,
        listing::{Last, Listing},
        ranking::{Candidates, MissingTexts, Question, Search, Texts},
        words::{ItemWords, Words},
    },
    vectors::Vectors,
};

/// The items that are read at once.
const BATCH: usize = 256;
/// The least number of candidates, …
const MIN_CANDIDATES: usize = 200;
/// … and how many there are for each item that a search may return.
const CANDIDATES_PER_ITEM: usize = 20;
/// The most further candidates that are asked for at once.
const MAX_PAGE: usize = 5000;
/// So many candidates that pass a filter are enough for each item that a search may return.
const ACCEPTED: usize = 5;
const READ: &str = concat!(
    "SELECT ",
    item_columns!(),
    " FROM {schema}.document AS d WHERE d.store = $1 AND d.sequence = ANY($2)"
);

/// Reads the items that these changes wrote.
async fn read(
    transaction: &Transaction,
    store: &Store,
    sequences: Vec<i64>,
) -> StatementResult<HashMap<i64, StoredItem>> {
    let parameters = store.parameters().numbers(sequences.into_iter().map(Some).collect());
    let rows = transaction.statement(READ, &parameters).await?;
    let mut items = HashMap::with_capacity(rows.len());
    for row in &rows {
        let mut item = StoredItem::read(row)?;
        item.complete(transaction, store).await?;
        items.insert(item.meta.revision.sequence, item);
    }
    Ok(items)
}

fn texts_of(item: &StoredItem) -> Texts<'_> {
    Texts::of(&item.meta, item.value.as_deref().unwrap_or_default())
}

/// The candidates of a search for so many items. No index is needed for so few items.
fn few(limit: usize) -> usize {
    limit.saturating_mul(CANDIDATES_PER_ITEM).max(MIN_CANDIDATES)
}

pub(super) fn words_of(words: &Words, number: u64, item: &StoredItem) -> ItemWords {
    words.of_item(item.meta.revision.sequence, number, || texts_of(item).words(&item.meta))
}

/// Adds the items that these changes wrote, if they pass the filter of a listing. Without a filter, only those are read whose
/// words are not cached. Returns whether more can be added.
async fn push_all(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    (words, number): (&Words, u64),
    sequences: &[i64],
    candidates: &mut Candidates,
) -> StatementResult<bool> {
    let cached =
        |sequence: &i64| listing.filter.is_empty().then(|| words.get(*sequence, number)).flatten();
    for batch in sequences.chunks(BATCH) {
        let missing: Vec<i64> =
            batch.iter().copied().filter(|sequence| cached(sequence).is_none()).collect();
        let items = match missing.is_empty() {
            true => HashMap::new(),
            false => read(transaction, store, missing).await?,
        };
        for sequence in batch {
            let item = match items.get(sequence) {
                Some(item) if !is_accepted(listing, item) => None,
                Some(item) => Some(words_of(words, number, item)),
                None => cached(sequence),
            };
            if item.is_some_and(|item| !candidates.push(*sequence, item)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The items of a listing without a filter.
async fn all(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    words: &Words,
) -> StatementResult<Candidates> {
    let mut candidates = Candidates::default();
    let sequences = sequences(transaction, store, listing).await?;
    let words = (words, words.begin());
    push_all(transaction, store, listing, words, &sequences, &mut candidates).await?;
    Ok(candidates)
}

/// The best items for a query, of the candidates that the full-text index finds, and of those items that it does not know yet.
async fn narrowed(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    words: &Words,
    (query, limit): (&Query, usize),
    extent: &Extent,
) -> StatementResult<Vec<(i64, f32)>> {
    let (mut candidates, words) = (Candidates::default(), (words, words.begin()));
    let later = later(transaction, store, listing, extent.latest).await?;
    push_all(transaction, store, listing, words, &later, &mut candidates).await?;
    let mut page = (0, few(limit));
    let mut found = extent.find(transaction, store, listing, query, page).await?;
    let mut collection = extent.collection(&found, query, candidates.analysed());
    let more = similar(transaction, store, listing, query, &collection).await?;
    if let Some(query) = &more {
        found = extent.find(transaction, store, listing, query, page).await?;
        collection = extent.collection(&found, query, candidates.analysed());
    }
    let query = more.as_ref().unwrap_or(query);
    // With a filter, further candidates are read until there are enough.
    let enough = candidates.len() + limit.saturating_mul(ACCEPTED);
    loop {
        let has_room =
            push_all(transaction, store, listing, words, &found.best, &mut candidates).await?;
        let is_enough = listing.filter.is_empty() || candidates.len() >= enough;
        if is_enough || !has_room || found.found < page.1 {
            return Ok(candidates.best_within(query, collection, limit));
        }
        page = (page.0 + page.1, (page.1 * 2).min(MAX_PAGE));
        found = extent.find(transaction, store, listing, query, page).await?;
    }
}

/// Visits the items of a listing that pass its filter, until the visit says that it needs no more.
async fn each_accepted(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    mut visit: impl FnMut(&StoredItem) -> bool,
) -> StatementResult<()> {
    let mut last = None;
    loop {
        let items = next_items(transaction, store, listing, last.as_ref()).await?;
        let Some(end) = items.last() else { return Ok(()) };
        last = Some(Last::at(&end.meta, listing.order));
        if !items.iter().filter(|item| is_accepted(listing, item)).all(&mut visit) {
            return Ok(());
        }
    }
}

/// The items of a listing that pass its filter.
async fn filtered(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    words: &Words,
) -> StatementResult<Candidates> {
    let (mut candidates, number) = (Candidates::default(), words.begin());
    each_accepted(transaction, store, listing, |item| {
        candidates.push(item.meta.revision.sequence, words_of(words, number, item))
    })
    .await?;
    Ok(candidates)
}

/// The texts without a vector of the items of a listing.
async fn without_vector(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    words: &Words,
    mut missing: MissingTexts,
) -> StatementResult<Vec<String>> {
    let number = words.begin();
    each_accepted(transaction, store, listing, |item| {
        if missing.has_vector(&words_of(words, number, item)) {
            missing.pass()
        } else {
            missing.push(&texts_of(item))
        }
    })
    .await?;
    Ok(missing.into_texts())
}

impl State {
    /// The vectors of items by the embedding model with this name. They stay in the memory of this process.
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        Vectors::open(None, Path::new(&self.store.name), model, Debug::default())
    }

    /// The texts without a vector of items that a search would rank: at most `limit`, latest written first.
    pub async fn texts_without_vector(
        &self,
        search: Search,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<Vec<String>> {
        let _call = self.calls.track();
        vectors.refresh().await;
        let listing = Arc::new(search.listing());
        let texts = self.store.snapshot(|transaction| {
            let (store, words) = (Arc::clone(&self.store), Arc::clone(&self.words));
            let (listing, missing) =
                (Arc::clone(&listing), MissingTexts::new(vectors.clone(), limit));
            async move { without_vector(&transaction, &store, &listing, &words, missing).await }
        });
        texts.await
    }

    /// What the full-text index knows of the items below the prefix. `None` if it is not needed, or cannot be used.
    async fn extent(&self, question: &Question, listing: &Arc<Listing>) -> Option<Extent> {
        let (_, limit) = question.narrowing()?;
        let prepared = Extent::prepare(&self.store, &self.words, listing, few(limit)).await;
        prepared.unwrap_or_else(|error| {
            self.debug.say(
                "full-text index not used",
                || json!({ "store": self.store.name, "reason": error.to_string() }),
            );
            None
        })
    }

    /// The items that share a term with the question or are near to it: best first, of equal ones the latest written
    /// first.
    pub async fn search(&self, search: Search) -> Result<ItemText> {
        let _call = self.calls.track();
        let Some((question, listing)) = search.parse() else {
            return Ok(ItemText::default());
        };
        let root = listing.root;
        let listing = Arc::new(listing);
        let extent = Arc::new(self.extent(&question, &listing).await);
        let request = Arc::new((question, listing));
        let found = self.store.snapshot(|transaction| {
            let (store, words) = (Arc::clone(&self.store), Arc::clone(&self.words));
            let (request, extent) = (Arc::clone(&request), Arc::clone(&extent));
            async move {
                let (question, listing) = request.as_ref();
                let best = match (question.narrowing(), extent.as_ref()) {
                    (Some(query), Some(extent)) => {
                        narrowed(&transaction, &store, listing, &words, query, extent).await?
                    }
                    _ if listing.filter.is_empty() => {
                        all(&transaction, &store, listing, &words).await?.best(question)
                    }
                    _ => filtered(&transaction, &store, listing, &words).await?.best(question),
                };
                let sequences = best.iter().map(|(sequence, _)| *sequence).collect();
                let items = read(&transaction, &store, sequences).await?;
                Ok((best, items))
            }
        });
        let (best, mut items) = found.await?;
        let mut text = ItemText::default();
        for (sequence, score) in best {
            if let Some(item) = items.remove(&sequence) {
                item.push_to(&mut text, true, Some(root), Some(score))
                    .map_err(|damaged| damaged.error(&self.store))?;
            }
        }
        Ok(text)
    }
}
