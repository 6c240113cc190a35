//! Lists items and namespaces in pages.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::{
    members::MemberPaths,
    rows::{Item, VALUE_COLUMN, meta_columns},
};
use crate::{
    error::Result,
    state::{
        item::{Content, Kind},
        listing::{Last, Listing, MAX_PAGE_BYTES, NamespaceListing, Namespaces, Order, Page},
        name::{after_all_with, below},
        time::now,
    },
};

/// The number of a listing's parameters before those of ranges.
const PARAMETERS: usize = 8;
/// With more ranges than this, the index is not used, because reading all values is as fast.
const MAX_RANGES: usize = 200;
/// Calls `take` with the numbers of items and of the changes that wrote them, in order, until it returns `false`.
fn each_id(
    connection: &Connection,
    listing: &Listing,
    last: Option<&Last>,
    ranges: Option<(i64, Vec<Range<Vec<u8>>>)>,
    take: &mut dyn FnMut(i64, i64) -> rusqlite::Result<bool>,
) -> rusqlite::Result<()> {
    let Range { start, end } = below(&listing.prefix);
    let keys_end = after_all_with(&listing.key_prefix);
    let (last_namespace, last_key) = match last {
        Some(Last::Place(namespace, key)) => (namespace.clone(), key.clone()),
        _ => (Vec::new(), Vec::new()),
    };
    let last_sequence = match last {
        Some(Last::Sequence(sequence)) => *sequence,
        _ => i64::MAX,
    };
    let order = match listing.order {
        Order::Key => "namespace, key",
        Order::Updated => "sequence DESC",
    };
    let conditions = "namespace >= ?1 AND namespace < ?2 AND key >= ?3 AND key < ?4
        AND (namespace, key) > (?5, ?6) AND sequence < ?7 AND (expires_at IS NULL OR expires_at > ?8)";
    let (from, found) = match &ranges {
        None => ("item INDEXED BY item_place", String::new()),
        // The index of a member does not keep the order of items.
        Some((path, ranges)) => ("item", found_in(*path, ranges.len())),
    };
    let sql = format!("SELECT id, sequence FROM {from} WHERE {conditions}{found} ORDER BY {order}");
    let mut select = connection.prepare_cached(&sql)?;
    let now = now();
    // The previous page ended in this namespace, or before.
    let start = start.max(last_namespace.clone());
    let mut parameters: Vec<&dyn ToSql> = vec![
        &start,
        &end,
        &listing.key_prefix,
        &keys_end,
        &last_namespace,
        &last_key,
        &last_sequence,
        &now,
    ];
    for range in ranges.iter().flat_map(|(_, ranges)| ranges) {
        parameters.push(&range.start);
        parameters.push(&range.end);
    }
    let mut rows = select.query(parameters.as_slice())?;
    while let Some(row) = rows.next()? {
        if !take(row.get(0)?, row.get(1)?)? {
            break;
        }
    }
    Ok(())
}

/// The SQL condition that an item's value is in one of this many ranges of a member's index. Their bounds follow the
/// other parameters.
fn found_in(path: i64, ranges: usize) -> String {
    let ranges: Vec<String> = (0..ranges)
        .map(|number| {
            let first = PARAMETERS + 2 * number + 1;
            format!("(value >= ?{first} AND value < ?{})", first + 1)
        })
        .collect();
    let ranges = if ranges.is_empty() { "0".to_owned() } else { ranges.join(" OR ") };
    format!(" AND id IN (SELECT item FROM member WHERE path = {path} AND ({ranges}))")
}

/// Calls `take` with each listed item and its value, until it returns `false`. If no filter needs the value, calls
/// `known` first, with the numbers of the item and of the change that wrote it: if that returns a result, the item is
/// not read.
pub(super) fn each_item(
    connection: &Connection,
    listing: &Listing,
    known: &mut dyn FnMut(i64, i64) -> Option<bool>,
    take: &mut dyn FnMut(&Item, &[u8]) -> rusqlite::Result<bool>,
) -> Result<rusqlite::Result<()>> {
    let last =
        listing.cursor.as_deref().map(|cursor| Last::parse(cursor, listing.order)).transpose()?;
    Ok(each_found(connection, listing, last.as_ref(), known, take))
}

fn each_found(
    connection: &Connection,
    listing: &Listing,
    last: Option<&Last>,
    known: &mut dyn FnMut(i64, i64) -> Option<bool>,
    take: &mut dyn FnMut(&Item, &[u8]) -> rusqlite::Result<bool>,
) -> rusqlite::Result<()> {
    let ranges = if listing.filter.is_empty() {
        None
    } else {
        let mut paths = MemberPaths::default();
        paths.refresh(connection)?;
        let lookup = listing.filter.lookup(|spelling| paths.id(spelling).is_some());
        lookup
            .filter(|(_, ranges)| ranges.len() <= MAX_RANGES)
            .and_then(|(spelling, ranges)| Some((paths.id(&spelling)?, ranges)))
    };
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        meta_columns!(),
        ", value FROM item WHERE id = ?1"
    ))?;
    let mut value = Vec::new();
    each_id(connection, listing, last, ranges, &mut |id, sequence| {
        let is_filtered = !listing.filter.is_empty();
        if !is_filtered && let Some(goes_on) = known(id, sequence) {
            return Ok(goes_on);
        }
        let mut rows = select.query([id])?;
        let Some(row) = rows.next()? else { return Ok(true) };
        let item = Item::read(row)?;
        if is_filtered && item.meta.kind != Kind::Json {
            return Ok(true);
        }
        value.clear();
        item.append_value(connection, row.get_ref(VALUE_COLUMN)?.as_blob_or_null()?, &mut value)?;
        if is_filtered && !listing.filter.accepts(&value) {
            return Ok(true);
        }
        take(&item, &value)
    })
}

/// A page of items.
pub(super) fn list(connection: &Connection, listing: &Listing) -> Result<rusqlite::Result<Page>> {
    let mut page = Page::default();
    let mut count = 0;
    let mut bytes = 0;
    let mut end = None;
    let done = each_item(connection, listing, &mut |_, _| None, &mut |item, value| {
        if count == listing.limit || bytes >= MAX_PAGE_BYTES {
            page.cursor = end.take();
            return Ok(false);
        }
        page.items.push(&item.meta, Content::Inline(value), Some(listing.root), None);
        count += 1;
        bytes += value.len();
        end = Some(Last::of(&item.meta, listing.order));
        Ok(true)
    })?;
    Ok(done.map(|()| page))
}

/// A page of namespaces with items, as a JSON array, and the cursor of the next page.
pub(super) fn namespaces(
    connection: &Connection,
    listing: &NamespaceListing,
) -> Result<rusqlite::Result<(Vec<u8>, Option<String>)>> {
    let page = Namespaces::new(listing)?;
    Ok(read_namespaces(connection, below(&listing.prefix).end, page))
}

fn read_namespaces(
    connection: &Connection,
    end: Vec<u8>,
    mut page: Namespaces<'_>,
) -> rusqlite::Result<(Vec<u8>, Option<String>)> {
    let mut next = connection.prepare_cached(
        "SELECT namespace FROM item INDEXED BY item_place WHERE namespace >= ?1 AND namespace < ?2 ORDER BY namespace LIMIT 1",
    )?;
    let mut alive = connection.prepare_cached(
        "SELECT 1 FROM item INDEXED BY item_place WHERE namespace = ?1 AND (expires_at IS NULL OR expires_at > ?2) LIMIT 1",
    )?;
    let now = now();
    while let Some(from) = page.next() {
        let found: Option<Vec<u8>> =
            next.query_row(params![from, end], |row| row.get(0)).optional()?;
        let Some(found) = found else { break };
        if page.is_shown(&found) && alive.exists(params![found, now])? {
            page.push(&found);
        } else {
            page.skip(&found);
        }
    }
    Ok(page.finish())
}
