//! Ranked search of items for a question.

use std::{collections::HashMap, sync::Arc};

use database::Transaction;

use super::{
    State,
    reading::{is_accepted, next_items, sequences},
    rows::{StoredItem, item_columns},
    store::{StatementResult, Store},
};
use crate::{
    error::Result,
    state::{
        item::ItemText,
        listing::{Last, Listing},
        ranking::{Candidates, Search, count_words},
        words::{ItemWords, Words},
    },
};

/// The items that are read at once.
const BATCH: usize = 256;
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

fn words_of(words: &Words, number: u64, item: &StoredItem) -> ItemWords {
    words.of_item(item.meta.revision.sequence, number, || {
        count_words(&item.meta, item.value.as_deref().unwrap_or_default())
    })
}

/// The items of a listing without a filter. Only those are read whose words are not cached.
async fn all(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    words: &Words,
) -> StatementResult<Candidates> {
    let mut candidates = Candidates::default();
    let number = words.begin();
    for batch in sequences(transaction, store, listing).await?.chunks(BATCH) {
        let cached = |sequence: &i64| words.get(*sequence, number);
        let missing: Vec<i64> =
            batch.iter().copied().filter(|sequence| cached(sequence).is_none()).collect();
        let items = match missing.is_empty() {
            true => HashMap::new(),
            false => read(transaction, store, missing).await?,
        };
        for sequence in batch {
            let item = items.get(sequence).map(|item| words_of(words, number, item));
            let is_full =
                item.or_else(|| cached(sequence)).is_some_and(|item| !candidates.push(item));
            if is_full {
                return Ok(candidates);
            }
        }
    }
    Ok(candidates)
}

/// The items of a listing that pass its filter.
async fn filtered(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    words: &Words,
) -> StatementResult<Candidates> {
    let mut candidates = Candidates::default();
    let number = words.begin();
    let mut last = None;
    loop {
        let items = next_items(transaction, store, listing, last.as_ref()).await?;
        let Some(end) = items.last() else { return Ok(candidates) };
        last = Some(Last::at(&end.meta, listing.order));
        for item in items.iter().filter(|item| is_accepted(listing, item)) {
            if !candidates.push(words_of(words, number, item)) {
                return Ok(candidates);
            }
        }
    }
}

impl State {
    /// The items that share a term with the query: best first, of equal ones the latest written first.
    pub async fn search(&self, search: Search) -> Result<ItemText> {
        let _call = self.calls.track();
        let Some((query, listing, limit)) = search.parse() else {
            return Ok(ItemText::default());
        };
        let root = listing.root;
        let request = Arc::new((query, listing));
        let found = self.store.snapshot(|transaction| {
            let (store, words) = (Arc::clone(&self.store), Arc::clone(&self.words));
            let request = Arc::clone(&request);
            async move {
                let (query, listing) = request.as_ref();
                let candidates = match listing.filter.is_empty() {
                    true => all(&transaction, &store, listing, &words).await?,
                    false => filtered(&transaction, &store, listing, &words).await?,
                };
                let best = candidates.best(query, limit);
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
