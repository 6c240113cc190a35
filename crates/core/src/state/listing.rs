//! Lists items and namespaces in pages.

use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::{
    filter::Filter,
    item::{ItemText, Kind, Meta, VALUE_COLUMN, append_value, meta_columns},
    members::MemberPaths,
    name::{after_all_with, below, namespace, segments, write_namespace},
    time::now,
};
use crate::error::{Code, Error, Result};

/// The size of values from which on a page takes no more items.
const MAX_PAGE_BYTES: usize = 32 * 1024 * 1024;
/// The number of a listing's parameters before those of ranges.
const PARAMETERS: usize = 8;
/// With more ranges than this, the index is not used, because reading all values is as fast.
const MAX_RANGES: usize = 200;
/// The characters that are encoded in cursors: all except letters and digits.
const ENCODED: &AsciiSet = NON_ALPHANUMERIC;

/// The order of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By namespace and key, by code points.
    Key,
    /// Latest written first.
    Updated,
}

/// The arguments of a listing.
#[derive(Debug)]
pub struct Listing {
    /// The prefix of the namespaces, in the form of the database.
    pub prefix: Vec<u8>,
    /// The prefix of the keys.
    pub key_prefix: Vec<u8>,
    /// The conditions on the values.
    pub filter: Filter,
    /// Their order.
    pub order: Order,
    /// The most items.
    pub limit: usize,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
    /// The number of segments of the namespaces that are not shown.
    pub root: usize,
}

/// A page of items.
#[derive(Debug, Default)]
pub struct Page {
    /// The items.
    pub items: ItemText,
    /// The cursor of the next page; `None` if there is none.
    pub cursor: Option<String>,
}

/// The position of the last item of a page.
enum Last {
    Place(Vec<u8>, Vec<u8>),
    Sequence(i64),
}

fn invalid_cursor() -> Error {
    Error::new(
        Code::InvalidArgument,
        "cursor must be one that the page before gave, of a listing in the same order",
    )
}

impl Last {
    fn parse(cursor: &str, order: Order) -> Result<Self> {
        let last = match (order, cursor.split_at_checked(1)) {
            (Order::Key, Some(("k", place))) => place.split_once('.').and_then(|(space, key)| {
                let decode = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
                (!space.is_empty()).then(|| Self::Place(decode(space), decode(key)))
            }),
            (Order::Updated, Some(("u", sequence))) => sequence.parse().ok().map(Self::Sequence),
            _ => None,
        };
        last.ok_or_else(invalid_cursor)
    }

    fn of(meta: &Meta, order: Order) -> String {
        match order {
            Order::Key => {
                let encode = |bytes| percent_encode(bytes, ENCODED);
                format!("k{}.{}", encode(&meta.namespace), encode(&meta.key))
            }
            Order::Updated => format!("u{}", meta.revision.sequence),
        }
    }
}

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
    take: &mut dyn FnMut(&Meta, &[u8]) -> rusqlite::Result<bool>,
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
    take: &mut dyn FnMut(&Meta, &[u8]) -> rusqlite::Result<bool>,
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
        let meta = Meta::read(row)?;
        if is_filtered && meta.kind != Kind::Json {
            return Ok(true);
        }
        value.clear();
        append_value(connection, &meta, row.get_ref(VALUE_COLUMN)?.as_blob_or_null()?, &mut value)?;
        if is_filtered && !listing.filter.accepts(&value) {
            return Ok(true);
        }
        take(&meta, &value)
    })
}

/// A page of items.
pub(super) fn list(connection: &Connection, listing: &Listing) -> Result<rusqlite::Result<Page>> {
    let mut page = Page::default();
    let mut count = 0;
    let mut bytes = 0;
    let mut end = None;
    let done = each_item(connection, listing, &mut |_, _| None, &mut |meta, value| {
        if count == listing.limit || bytes >= MAX_PAGE_BYTES {
            page.cursor = end.take();
            return Ok(false);
        }
        page.items.push(connection, meta, Some(value), Some(listing.root), None)?;
        count += 1;
        bytes += value.len();
        end = Some(Last::of(meta, listing.order));
        Ok(true)
    })?;
    Ok(done.map(|()| page))
}

/// The arguments of a listing of namespaces.
#[derive(Debug)]
pub struct NamespaceListing {
    /// The prefix of the namespaces, in the form of the database.
    pub prefix: Vec<u8>,
    /// The suffix of the namespaces.
    pub suffix: Vec<u8>,
    /// The most segments, including those of `root`; longer namespaces are cut.
    pub max_depth: usize,
    /// The most namespaces.
    pub limit: usize,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
    /// The number of segments that are not shown.
    pub root: usize,
}

/// A page of namespaces with items, as a JSON array, and the cursor of the next page.
pub(super) fn namespaces(
    connection: &Connection,
    listing: &NamespaceListing,
) -> Result<rusqlite::Result<(Vec<u8>, Option<String>)>> {
    let from = match listing.cursor.as_deref() {
        None => Vec::new(),
        Some(cursor) => {
            let encoded = cursor.strip_prefix('n').ok_or_else(invalid_cursor)?;
            percent_decode_str(encoded).collect()
        }
    };
    Ok(read_namespaces(connection, listing, from))
}

fn read_namespaces(
    connection: &Connection,
    listing: &NamespaceListing,
    from: Vec<u8>,
) -> rusqlite::Result<(Vec<u8>, Option<String>)> {
    let Range { start, end } = below(&listing.prefix);
    let mut next = connection.prepare_cached(
        "SELECT namespace FROM item INDEXED BY item_place WHERE namespace >= ?1 AND namespace < ?2 ORDER BY namespace LIMIT 1",
    )?;
    let mut alive = connection.prepare_cached(
        "SELECT 1 FROM item INDEXED BY item_place WHERE namespace = ?1 AND (expires_at IS NULL OR expires_at > ?2) LIMIT 1",
    )?;
    let now = now();
    let suffix = segments(&listing.suffix);
    let mut json = vec![b'['];
    let mut count = 0;
    let mut cursor = None;
    let mut from = from.max(start);
    loop {
        let found: Option<Vec<u8>> =
            next.query_row(params![from, end], |row| row.get(0)).optional()?;
        let Some(found) = found else { break };
        let parts = segments(&found);
        let is_shown = parts.len() >= listing.root + suffix.len()
            && parts.ends_with(&suffix)
            && alive.exists(params![found, now])?;
        if !is_shown {
            from = after(&found);
            continue;
        }
        if count == listing.limit {
            cursor = Some(format!("n{}", percent_encode(&from, ENCODED)));
            break;
        }
        let cut = namespace(parts.get(..listing.max_depth).unwrap_or(&parts));
        if count > 0 {
            json.push(b',');
        }
        write_namespace(&cut, listing.root, &mut json);
        count += 1;
        // All namespaces below a cut one would give the same result, so they are skipped.
        let is_cut = parts.len() >= listing.max_depth;
        from = if is_cut { below(&cut).end } else { after(&found) };
    }
    json.push(b']');
    Ok((json, cursor))
}

/// The least bytes that are greater than a namespace.
fn after(namespace: &[u8]) -> Vec<u8> {
    let mut bytes = namespace.to_vec();
    bytes.push(0);
    bytes
}
