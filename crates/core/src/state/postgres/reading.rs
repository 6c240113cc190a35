//! Reads items and pages of them.

use std::{ops::Range, sync::Arc};

use database::{Parameters, Transaction};

use super::{
    State,
    rows::{Damaged, StoredItem, item_columns},
    store::{StatementResult, Store},
};
use crate::{
    error::Result,
    state::{
        item::{ItemText, Kind},
        listing::{Last, Listing, MAX_PAGE_BYTES, NamespaceListing, Namespaces, Order, Page},
        name::{Place, after_all_with, below},
        operation::Outcome,
        ranking::MAX_ITEMS,
    },
};

/// The rows that are read at once.
const BATCH: usize = 256;

macro_rules! is_alive {
    () => {
        $crate::state::postgres::reading::is_alive!("d")
    };
    ($row:expr) => {
        concat!(
            "(",
            $row,
            ".expires_at IS NULL OR ",
            $row,
            ".expires_at > ",
            $crate::state::postgres::store::now!(),
            ")"
        )
    };
}
pub(super) use is_alive;

const GET: &str = concat!(
    "SELECT ",
    item_columns!(),
    " FROM {schema}.document AS d WHERE d.store = $1 AND d.namespace = $2 AND d.key = $3 AND ",
    is_alive!()
);
/// The items of a listing: those of the namespaces from $2 to $3 and the keys from $4 to $5 after a place or before a
/// number.
macro_rules! listed {
    ($columns:expr, $order:expr) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM {schema}.document AS d WHERE d.store = $1 AND d.namespace >= $2 AND d.namespace < $3 AND d.key >= $4 AND d.key < $5 AND (d.namespace, d.key) > ($6, $7) AND d.sequence < $8 AND ",
            is_alive!(),
            " ORDER BY ",
            $order,
            " LIMIT $9"
        )
    };
}
const BY_KEY: &str = listed!(item_columns!(), "d.namespace, d.key");
const BY_UPDATE: &str = listed!(item_columns!(), "d.sequence DESC");
const SEQUENCES: &str = listed!("d.sequence", "d.sequence DESC");
const LATER: &str = concat!(
    "SELECT d.sequence FROM {schema}.document AS d WHERE d.store = $1 AND d.namespace >= $2 AND d.namespace < $3 AND d.sequence > $4 AND ",
    is_alive!(),
    " ORDER BY d.sequence DESC LIMIT $5"
);
const NAMESPACES: &str = concat!(
    "SELECT DISTINCT d.namespace FROM {schema}.document AS d WHERE d.store = $1 AND d.namespace >= $2 AND d.namespace < $3 AND ",
    is_alive!(),
    " ORDER BY d.namespace LIMIT $4"
);

/// The parameters of a listing's statement.
fn parameters(store: &Store, listing: &Listing, last: Option<&Last>, limit: usize) -> Parameters {
    let Range { start, end } = below(&listing.prefix);
    let (namespace, key) = match last {
        Some(Last::Place(namespace, key)) => (namespace.clone(), key.clone()),
        _ => (Vec::new(), Vec::new()),
    };
    let sequence = match last {
        Some(Last::Sequence(sequence)) => *sequence,
        _ => i64::MAX,
    };
    store
        .parameters()
        // The previous page ended in this namespace, or before.
        .bytes(start.max(namespace.clone()))
        .bytes(end)
        .bytes(listing.key_prefix.clone())
        .bytes(after_all_with(&listing.key_prefix))
        .bytes(namespace)
        .bytes(key)
        .number(sequence)
        .number(i64::try_from(limit).unwrap_or(i64::MAX))
}

fn sql(order: Order) -> &'static str {
    match order {
        Order::Key => BY_KEY,
        Order::Updated => BY_UPDATE,
    }
}

/// The next items of a listing with their values, before the filter.
pub(super) async fn next_items(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    last: Option<&Last>,
) -> StatementResult<Vec<StoredItem>> {
    let parameters = parameters(store, listing, last, BATCH);
    let rows = transaction.statement(sql(listing.order), &parameters).await?;
    let mut items = StoredItem::read_all(&rows)?;
    for item in &mut items {
        if listing.filter.is_empty() || item.meta.kind == Kind::Json {
            item.complete(transaction, store).await?;
        }
    }
    Ok(items)
}

/// The numbers of the changes after `after` that wrote the items of a listing, latest first, at most [`MAX_ITEMS`].
pub(super) async fn later(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    after: i64,
) -> StatementResult<Vec<i64>> {
    let Range { start, end } = below(&listing.prefix);
    let parameters = store
        .parameters()
        .bytes(start)
        .bytes(end)
        .number(after)
        .number(i64::try_from(MAX_ITEMS).unwrap_or(i64::MAX));
    let rows = transaction.statement(LATER, &parameters).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// The numbers of the changes that wrote the items of a listing, latest first.
pub(super) async fn sequences(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
) -> StatementResult<Vec<i64>> {
    let parameters = parameters(store, listing, None, listing.limit);
    let rows = transaction.statement(SEQUENCES, &parameters).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Whether an item passes the filter of a listing.
pub(super) fn is_accepted(listing: &Listing, item: &StoredItem) -> bool {
    listing.filter.is_empty()
        || (item.meta.kind == Kind::Json
            && item.value.as_ref().is_some_and(|value| listing.filter.accepts(value)))
}

/// A page while it is collected.
#[derive(Default)]
struct Collected {
    page: Page,
    count: usize,
    bytes: usize,
    end: Option<String>,
}

impl Collected {
    /// Adds an item; returns `false` if the page was full.
    fn push(&mut self, listing: &Listing, item: StoredItem) -> std::result::Result<bool, Damaged> {
        if self.count == listing.limit || self.bytes >= MAX_PAGE_BYTES {
            self.page.cursor = self.end.take();
            return Ok(false);
        }
        self.count += 1;
        self.bytes += item.meta.length;
        self.end = Some(Last::of(&item.meta, listing.order));
        item.push_to(&mut self.page.items, false, Some(listing.root), None)?;
        Ok(true)
    }
}

/// Collects a page in batches.
async fn collect(
    transaction: &Transaction,
    store: &Store,
    listing: &Listing,
    from: Option<&Last>,
) -> StatementResult<std::result::Result<Page, Damaged>> {
    let mut collected = Collected::default();
    let mut last = None;
    loop {
        let items = next_items(transaction, store, listing, last.as_ref().or(from)).await?;
        let is_end = items.len() < BATCH;
        last = items.last().map(|item| Last::at(&item.meta, listing.order));
        for item in items.into_iter().filter(|item| is_accepted(listing, item)) {
            match collected.push(listing, item) {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(collected.page)),
                Err(damaged) => return Ok(Err(damaged)),
            }
        }
        if is_end {
            return Ok(Ok(collected.page));
        }
    }
}

impl State {
    /// Reads an item, without namespace and key.
    pub async fn get(&self, place: Place) -> Result<Option<ItemText>> {
        let _call = self.calls.track();
        let Place { namespace, key } = place.clone();
        let parameters = self.store.parameters().bytes(namespace).bytes(key);
        let rows = self.store.read(GET, &parameters).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let item = self.store.decoded(StoredItem::read(row))?;
        if item.is_chunked() {
            let outcome = self.get_all(vec![place]).await?.into_iter().next();
            return Ok(match outcome {
                Some(Outcome::Item(item)) => item,
                _ => None,
            });
        }
        self.text(item).map(Some)
    }

    fn text(&self, item: StoredItem) -> Result<ItemText> {
        let mut text = ItemText::default();
        item.push_to(&mut text, true, None, None).map_err(|damaged| damaged.error(&self.store))?;
        Ok(text)
    }

    /// Reads several items at one moment.
    pub async fn get_all(&self, places: Vec<Place>) -> Result<Vec<Outcome>> {
        let _call = self.calls.track();
        let places = Arc::new(places);
        let read = self.store.snapshot(|transaction| {
            let (store, places) = (Arc::clone(&self.store), Arc::clone(&places));
            async move {
                let mut items = Vec::with_capacity(places.len());
                for Place { namespace, key } in places.iter() {
                    let parameters = store.parameters().bytes(namespace.clone()).bytes(key.clone());
                    let rows = transaction.statement(GET, &parameters).await?;
                    let mut item = rows.first().map(StoredItem::read).transpose()?;
                    if let Some(item) = &mut item {
                        item.complete(&transaction, &store).await?;
                    }
                    items.push(item);
                }
                Ok(items)
            }
        });
        let items = read.await?.into_iter();
        items.map(|item| item.map(|item| self.text(item)).transpose().map(Outcome::Item)).collect()
    }

    /// A page of items.
    pub async fn list(&self, listing: Listing) -> Result<Page> {
        let _call = self.calls.track();
        let last = listing
            .cursor
            .as_deref()
            .map(|cursor| Last::parse(cursor, listing.order))
            .transpose()?;
        if listing.filter.is_empty() && listing.limit < BATCH {
            // One more shows whether there is another page.
            let parameters = parameters(&self.store, &listing, last.as_ref(), listing.limit + 1);
            let rows = self.store.read(sql(listing.order), &parameters).await?;
            let items = self.store.decoded(StoredItem::read_all(&rows))?;
            if !items.iter().any(StoredItem::is_chunked) {
                let mut collected = Collected::default();
                for item in items {
                    let pushed = collected.push(&listing, item);
                    if !pushed.map_err(|damaged| damaged.error(&self.store))? {
                        break;
                    }
                }
                return Ok(collected.page);
            }
        }
        let request = Arc::new((listing, last));
        let read = self.store.snapshot(|transaction| {
            let (store, request) = (Arc::clone(&self.store), Arc::clone(&request));
            async move { collect(&transaction, &store, &request.0, request.1.as_ref()).await }
        });
        read.await?.map_err(|damaged| damaged.error(&self.store))
    }

    /// A page of namespaces as a JSON array, and the cursor of the next page.
    pub async fn namespaces(&self, listing: NamespaceListing) -> Result<(Vec<u8>, Option<String>)> {
        let _call = self.calls.track();
        let mut page = Namespaces::new(&listing)?;
        let end = below(&listing.prefix).end;
        while let Some(from) = page.next() {
            let count = BATCH.min(listing.limit.saturating_add(1));
            let parameters = self
                .store
                .parameters()
                .bytes(from)
                .bytes(end.clone())
                .number(i64::try_from(count).unwrap_or(i64::MAX));
            let rows = self.store.read(NAMESPACES, &parameters).await?;
            for row in &rows {
                let found: Vec<u8> = self.store.decoded(row.try_get(0))?;
                match page.next() {
                    None => break,
                    // A namespace above it was cut to the same one.
                    Some(next) if found.as_slice() < next => {}
                    Some(_) if page.is_shown(&found) => page.push(&found),
                    Some(_) => page.skip(&found),
                }
            }
            if rows.len() < count {
                break;
            }
        }
        Ok(page.finish())
    }
}
