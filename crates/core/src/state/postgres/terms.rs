//! Rows with the terms of items, which the database's full-text index finds candidates by.
//!
//! Writers of items do not write them: most items are never searched for. A search first writes the terms of the items below
//! its prefix that have none, at most [`MAX_ADDED`], latest first. The row of an item is replaced when a later version of it is
//! added, and removed with the item. Of what a race leaves behind, candidates are no hits, and sweeps remove the rows.
//!
//! An *extent* says below a prefix which items have their terms: those that changes from `above` to `latest` wrote. Changes are
//! committed in the order of their numbers, so that no earlier one becomes visible later.

use std::sync::Arc;

use database::{
    Parameters, Row, Transaction,
    terms::{AskedTerm, Candidates, Tag, asked, beginning},
};
use text_index::{Analysed, Collection, Query};

use super::{
    reading::is_alive,
    rows::{StoredItem, item_columns},
    search::words_of,
    store::{StatementResult, Store},
};
use crate::{
    error::Result,
    state::{listing::Listing, name::below, ranking::MAX_ITEMS, words::Words},
};

/// The most items whose terms one search adds.
const MAX_ADDED: usize = MAX_ITEMS;
/// The items whose terms are added at once.
const BATCH: usize = 256;
/// So many later changes are left to the next search that adds terms: their items are read in any case.
const MAX_LATER: i64 = 64;
/// The statistics are counted again after the store has changed by more than this share of the documents.
const COUNTED_SHARE: u64 = 20;

/// The extent of a prefix, and the number of items below it, which are counted up to $4.
const EXTENT: &str = concat!(
    "SELECT s.sequence, e.above, e.latest, e.counted, e.documents, e.tokens, e.filled,
      (SELECT count(*) FROM (SELECT 1 FROM {schema}.document AS d WHERE d.store = $1 AND d.namespace >= $2 AND d.namespace < $3 AND ",
    is_alive!(),
    " LIMIT $4) AS i)
    FROM {schema}.document_store AS s LEFT JOIN {schema}.document_terms_extent AS e ON e.store = s.store AND e.prefix = $2 WHERE s.store = $1"
);
const SAVE_EXTENT: &str = "INSERT INTO {schema}.document_terms_extent AS e (store, prefix, above, latest, counted, documents, tokens, filled)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (store, prefix) DO UPDATE SET above = excluded.above, latest = excluded.latest, counted = excluded.counted,
      documents = excluded.documents, tokens = excluded.tokens, filled = excluded.filled WHERE e.latest <= excluded.latest";
/// Items without terms that changes after $4 up to $5 wrote, latest first.
const MISSING: &str = concat!(
    "SELECT ",
    item_columns!(),
    " FROM {schema}.document AS d WHERE d.store = $1 AND d.namespace >= $2 AND d.namespace < $3 AND d.sequence > $4 AND d.sequence <= $5 AND ",
    is_alive!(),
    " AND NOT EXISTS (SELECT 1 FROM {schema}.document_terms AS t WHERE t.store = $1 AND t.namespace = d.namespace AND t.key = d.key AND t.sequence = d.sequence)
    ORDER BY d.sequence DESC LIMIT $6"
);
const ADD: &str = "INSERT INTO {schema}.document_terms AS t (store, namespace, key, sequence, expires_at, length, lengths, terms)
    SELECT $1, g.namespace, g.key, g.sequence, g.expires_at, g.length, g.lengths::integer[], g.terms::tsvector
    FROM unnest($2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[]) AS g (namespace, key, sequence, expires_at, length, lengths, terms)
    ORDER BY g.namespace, g.key
    ON CONFLICT (store, namespace, key) DO UPDATE SET sequence = excluded.sequence, expires_at = excluded.expires_at, length = excluded.length,
      lengths = excluded.lengths, terms = excluded.terms WHERE t.sequence < excluded.sequence";
/// The number of documents, and for each field the sum of its lengths and in how many documents it is not empty.
const COUNT: &str = concat!(
    "WITH document AS MATERIALIZED (
      SELECT d.lengths FROM {schema}.document_terms AS d WHERE d.store = $1 AND d.namespace >= $2 AND d.namespace < $3 AND ",
    is_alive!(),
    ")
    SELECT (SELECT count(*) FROM document), coalesce(array_agg(f.tokens ORDER BY f.n), '{}'), coalesce(array_agg(f.filled ORDER BY f.n), '{}') FROM (
      SELECT u.n, sum(u.length)::bigint AS tokens, count(*) FILTER (WHERE u.length > 0) AS filled
      FROM document AS d, unnest(d.lengths) WITH ORDINALITY AS u (length, n) GROUP BY u.n
    ) AS f"
);
/// The rows of a listing's items.
macro_rules! listed {
    ($store:expr, $start:expr, $end:expr) => {
        concat!(
            "t.store = ",
            $store,
            " AND t.namespace >= ",
            $start,
            " AND t.namespace < ",
            $end,
            " AND ",
            is_alive!("t")
        )
    };
}
const FIND: &str = database::candidates!(
    "document_terms",
    "sequence",
    listed!("$8", "$9", "$10"),
    "EXISTS (SELECT 1 FROM {schema}.document AS d WHERE d.store = $8 AND d.sequence = b.id)"
);
const VOCABULARY: &str =
    database::vocabulary!("document_terms", "sequence", listed!("$4", "$5", "$6"));

/// What is known of the items below a prefix.
#[derive(Default)]
pub(super) struct Extent {
    /// Of the items that changes after this one …
    above: i64,
    /// … and up to this one wrote, the terms are there.
    pub latest: i64,
    /// The change after which the statistics were counted.
    counted: i64,
    documents: u64,
    /// For each field, the sum of its lengths and in how many documents it is not empty.
    fields: Vec<(u64, u64)>,
}

fn whole(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn fields_of(tokens: Vec<i64>, filled: Vec<i64>) -> Vec<(u64, u64)> {
    tokens.into_iter().map(whole).zip(filled.into_iter().map(whole)).collect()
}

impl Extent {
    /// The extent, after the terms were added that are missing. `None` if there are at most `few` items: they
    /// need no index.
    pub async fn prepare(
        store: &Arc<Store>,
        words: &Arc<Words>,
        listing: &Arc<Listing>,
        few: usize,
    ) -> Result<Option<Self>> {
        let most = i64::try_from(few).unwrap_or(i64::MAX).saturating_add(1);
        let rows = store.read(EXTENT, &below_prefix(store, listing).number(most)).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let items: i64 = store.decoded(row.try_get(7))?;
        if items < most {
            return Ok(None);
        }
        let head: i64 = store.decoded(row.try_get(0))?;
        let known = store.decoded(Self::read(row))?;
        let mut extent = known.unwrap_or(Self { above: head, latest: head, ..Self::default() });
        if extent.above > 0 || head - extent.latest > MAX_LATER {
            extent.add_missing(store, words, listing, head).await?;
        }
        Ok(Some(extent))
    }

    fn read(row: &Row) -> StatementResult<Option<Self>> {
        let Some(above) = row.try_get(1)? else { return Ok(None) };
        Ok(Some(Self {
            above,
            latest: row.try_get(2)?,
            counted: row.try_get(3)?,
            documents: whole(row.try_get(4)?),
            fields: fields_of(row.try_get(5)?, row.try_get(6)?),
        }))
    }

    /// Adds the terms that are missing of items that changes up to `head` wrote.
    async fn add_missing(
        &mut self,
        store: &Arc<Store>,
        words: &Arc<Words>,
        listing: &Arc<Listing>,
        head: i64,
    ) -> Result<()> {
        let mut room = MAX_ADDED;
        let above = self.above;
        let end = add(store, words, listing, (self.latest, head), &mut room).await?;
        if end > self.latest {
            // Too many are new. What was added before is passed over when it is reached.
            self.above = end;
        } else {
            self.above = add(store, words, listing, (0, self.above), &mut room).await?;
        }
        self.latest = head;
        let changes = whole(self.latest - self.counted);
        if self.above != above || changes * COUNTED_SHARE > self.documents {
            self.count(store, listing).await?;
        }
        let (tokens, filled): (Vec<u64>, Vec<u64>) = self.fields.iter().copied().unzip();
        let numbers =
            |numbers: Vec<u64>| numbers.into_iter().map(|n| i64::try_from(n).ok()).collect();
        let parameters = store
            .parameters()
            .bytes(listing.prefix.clone())
            .number(self.above)
            .number(self.latest)
            .number(self.counted)
            .number(i64::try_from(self.documents).unwrap_or(i64::MAX))
            .numbers(numbers(tokens))
            .numbers(numbers(filled));
        store.write(SAVE_EXTENT, &parameters).await?;
        Ok(())
    }

    /// Counts the statistics.
    async fn count(&mut self, store: &Store, listing: &Listing) -> Result<()> {
        let rows = store.read(COUNT, &below_prefix(store, listing)).await?;
        if let Some(row) = rows.first() {
            self.documents = whole(store.decoded(row.try_get(0))?);
            let (tokens, filled) = (store.decoded(row.try_get(1))?, store.decoded(row.try_get(2))?);
            self.fields = fields_of(tokens, filled);
            self.counted = self.latest;
        }
        Ok(())
    }

    /// The best candidates for a query: at most `most` after the first `skipped`.
    pub async fn find(
        &self,
        transaction: &Transaction,
        store: &Store,
        listing: &Listing,
        query: &Query,
        page: (usize, usize),
    ) -> StatementResult<Candidates<i64>> {
        let wanted = query.wanted().into_iter();
        let terms: Vec<AskedTerm> = wanted
            .map(|term| AskedTerm {
                text: term.text.into_string(),
                is_prefix: term.is_prefix,
                weight: term.weight,
                is_extra: term.is_synonym,
            })
            .collect();
        let tokens: u64 = self.fields.iter().map(|(tokens, _)| tokens).sum();
        let mean = tokens as f64 / self.documents.max(1) as f64;
        let parameters = asked(&tag(store), &terms, self.documents, mean, page);
        let parameters = with_prefix(parameters.id(store.id), listing);
        let rows = transaction.statement(FIND, &parameters).await?;
        Candidates::read(&terms, &rows)
    }

    /// The statistics of the items, with those of the `later` ones, whose terms are not among the rows.
    pub fn collection(
        &self,
        found: &Candidates<i64>,
        query: &Query,
        later: &[Analysed],
    ) -> Collection {
        let mut collection = Collection::new(self.documents, self.fields.iter().copied());
        for ((term, _), documents) in &found.containing {
            collection.set_containing(term, *documents);
        }
        collection.add(&Collection::of_documents(later, query));
        collection
    }
}

/// The query with similar terms of the latest documents in place of those that no document contains. `None` if there are
/// none.
pub(super) async fn similar(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    query: &Query,
    collection: &Collection,
) -> StatementResult<Option<Query>> {
    let is_absent = |term: &str| collection.containing(term) == 0;
    let starts = query.starts_of_similar(&is_absent);
    if starts.is_empty() {
        return Ok(None);
    }
    let tag = tag(store);
    let parameters = with_prefix(beginning(&tag, &starts).id(store.id), listing);
    let rows = transaction.statement(VOCABULARY, &parameters).await?;
    let mut vocabulary = Vec::with_capacity(rows.len());
    for row in &rows {
        vocabulary.extend(tag.term_of(row.try_get(0)?));
    }
    let with_similar = query.with_similar(&is_absent, vocabulary.into_iter());
    Ok((with_similar.wanted().len() > query.wanted().len()).then_some(with_similar))
}

fn tag(store: &Store) -> Tag {
    Tag::of(store.id.as_bytes())
}

/// The store and the namespaces of a listing.
fn below_prefix(store: &Store, listing: &Listing) -> Parameters {
    with_prefix(store.parameters(), listing)
}

fn with_prefix(parameters: Parameters, listing: &Listing) -> Parameters {
    let namespaces = below(&listing.prefix);
    parameters.bytes(namespaces.start).bytes(namespaces.end)
}

/// The terms of an item that has no row.
struct Added {
    item: StoredItem,
    analysed: Analysed,
}

/// Adds terms that are missing of items that changes after `after` and up to `upto` wrote, latest first, and takes their
/// number from `room`. Returns the change after which none is missing.
async fn add(
    store: &Arc<Store>,
    words: &Arc<Words>,
    listing: &Arc<Listing>,
    (after, mut upto): (i64, i64),
    room: &mut usize,
) -> Result<i64> {
    while upto > after {
        if *room == 0 {
            return Ok(upto);
        }
        let missing = store
            .snapshot(|transaction| {
                let (store, words) = (Arc::clone(store), Arc::clone(words));
                let listing = Arc::clone(listing);
                async move { missing(&transaction, &store, &words, &listing, (after, upto)).await }
            })
            .await?;
        if !missing.is_empty() {
            store.write(ADD, &added(store, &missing)).await?;
        }
        *room = room.saturating_sub(missing.len());
        match missing.last() {
            Some(last) if missing.len() == BATCH => upto = last.item.meta.revision.sequence - 1,
            _ => break,
        }
    }
    Ok(after)
}

async fn missing(
    transaction: &Transaction,
    store: &Store,
    words: &Words,
    listing: &Listing,
    (after, upto): (i64, i64),
) -> StatementResult<Vec<Added>> {
    let parameters = below_prefix(store, listing).number(after).number(upto).number(BATCH as i64);
    let rows = transaction.statement(MISSING, &parameters).await?;
    let number = words.begin();
    let mut missing = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut item = StoredItem::read(row)?;
        item.complete(transaction, store).await?;
        let analysed = words_of(words, number, &item).analysed;
        item.value = None;
        missing.push(Added { item, analysed });
    }
    Ok(missing)
}

fn added(store: &Store, items: &[Added]) -> Parameters {
    let tag = tag(store);
    let lengths = |added: &Added| {
        let lengths: Vec<String> = added.analysed.lengths().iter().map(u16::to_string).collect();
        Some(format!("{{{}}}", lengths.join(",")))
    };
    let length =
        |added: &Added| Some(added.analysed.lengths().iter().copied().map(i64::from).sum());
    let metas = || items.iter().map(|added| &added.item.meta);
    store
        .parameters()
        .byte_strings(metas().map(|meta| meta.namespace.clone()).collect())
        .byte_strings(metas().map(|meta| meta.key.clone()).collect())
        .numbers(metas().map(|meta| Some(meta.revision.sequence)).collect())
        .numbers(metas().map(|meta| meta.expires_at).collect())
        .numbers(items.iter().map(length).collect())
        .texts(items.iter().map(lengths).collect())
        .texts(items.iter().map(|added| Some(tag.vector(added.analysed.terms()))).collect())
}
