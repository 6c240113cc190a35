//! Ranked search of items for a question.

use std::{collections::HashMap, path::Path, sync::Arc};

use database::Transaction;

use super::{
    State,
    reading::{is_accepted, next_items, sequences},
    rows::{StoredItem, item_columns},
    store::{StatementResult, Store},
};
use crate::{
    debug::Debug,
    error::Result,
    state::{
        item::ItemText,
        listing::{Last, Listing},
        ranking::{Candidates, MissingTexts, Search, Texts},
        words::{ItemWords, Words},
    },
    vectors::Vectors,
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

fn texts_of(item: &StoredItem) -> Texts<'_> {
    Texts::of(&item.meta, item.value.as_deref().unwrap_or_default())
}

fn words_of(words: &Words, number: u64, item: &StoredItem) -> ItemWords {
    words.of_item(item.meta.revision.sequence, number, || texts_of(item).words(&item.meta))
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
            let is_full = item
                .or_else(|| cached(sequence))
                .is_some_and(|item| !candidates.push(*sequence, item));
            if is_full {
                return Ok(candidates);
            }
        }
    }
    Ok(candidates)
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

    /// The items that share a term with the question or are near to it: best first, of equal ones the latest written
    /// first.
    pub async fn search(&self, search: Search) -> Result<ItemText> {
        let _call = self.calls.track();
        let Some((question, listing)) = search.parse() else {
            return Ok(ItemText::default());
        };
        let root = listing.root;
        let request = Arc::new((question, listing));
        let found = self.store.snapshot(|transaction| {
            let (store, words) = (Arc::clone(&self.store), Arc::clone(&self.words));
            let request = Arc::clone(&request);
            async move {
                let (question, listing) = request.as_ref();
                let candidates = match listing.filter.is_empty() {
                    true => all(&transaction, &store, listing, &words).await?,
                    false => filtered(&transaction, &store, listing, &words).await?,
                };
                let best = candidates.best(question);
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
