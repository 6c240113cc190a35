//! The arguments of listings, and their pages.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::{
    filter::Filter,
    item::{ItemText, Meta},
    name::{below, namespace, segments, write_namespace},
};
use crate::error::{Code, Error, Result};

/// The size of values from which on a page takes no more items.
pub(super) const MAX_PAGE_BYTES: usize = 32 * 1024 * 1024;
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
pub(super) enum Last {
    Place(Vec<u8>, Vec<u8>),
    Sequence(i64),
}

pub(super) fn invalid_cursor() -> Error {
    Error::new(
        Code::InvalidArgument,
        "cursor must be one that the page before gave, of a listing in the same order",
    )
}

impl Last {
    pub fn parse(cursor: &str, order: Order) -> Result<Self> {
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

    /// The position of an item.
    pub fn at(meta: &Meta, order: Order) -> Self {
        match order {
            Order::Key => Self::Place(meta.namespace.clone(), meta.key.clone()),
            Order::Updated => Self::Sequence(meta.revision.sequence),
        }
    }

    pub fn of(meta: &Meta, order: Order) -> String {
        match order {
            Order::Key => {
                let encode = |bytes| percent_encode(bytes, ENCODED);
                format!("k{}.{}", encode(&meta.namespace), encode(&meta.key))
            }
            Order::Updated => format!("u{}", meta.revision.sequence),
        }
    }
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

/// A page of namespaces while it is collected.
pub(super) struct Namespaces<'a> {
    listing: &'a NamespaceListing,
    suffix: Vec<Vec<u8>>,
    json: Vec<u8>,
    count: usize,
    cursor: Option<String>,
    from: Vec<u8>,
}

impl<'a> Namespaces<'a> {
    /// An empty page.
    ///
    /// # Errors
    /// `InvalidArgument` for a cursor of another listing.
    pub fn new(listing: &'a NamespaceListing) -> Result<Self> {
        let from = match listing.cursor.as_deref() {
            None => Vec::new(),
            Some(cursor) => {
                let encoded = cursor.strip_prefix('n').ok_or_else(invalid_cursor)?;
                percent_decode_str(encoded).collect()
            }
        };
        let from = from.max(below(&listing.prefix).start);
        let suffix = segments(&listing.suffix);
        Ok(Self { listing, suffix, json: vec![b'['], count: 0, cursor: None, from })
    }

    /// The least namespace that is looked at next; `None` if the page is full.
    pub fn next(&self) -> Option<&[u8]> {
        self.cursor.is_none().then_some(self.from.as_slice())
    }

    /// Whether a namespace is shown if it has an item.
    pub fn is_shown(&self, found: &[u8]) -> bool {
        let parts = segments(found);
        parts.len() >= self.listing.root + self.suffix.len() && parts.ends_with(&self.suffix)
    }

    /// Continues after a namespace that is not shown.
    pub fn skip(&mut self, found: &[u8]) {
        self.from = after(found);
    }

    /// Adds a namespace that is shown.
    pub fn push(&mut self, found: &[u8]) {
        let NamespaceListing { max_depth, limit, root, .. } = *self.listing;
        if self.count == limit {
            self.cursor = Some(format!("n{}", percent_encode(&self.from, ENCODED)));
            return;
        }
        let parts = segments(found);
        let cut = namespace(parts.get(..max_depth).unwrap_or(&parts));
        if self.count > 0 {
            self.json.push(b',');
        }
        write_namespace(&cut, root, &mut self.json);
        self.count += 1;
        // All namespaces below a cut one would give the same result, so they are skipped.
        let is_cut = parts.len() >= max_depth;
        self.from = if is_cut { below(&cut).end } else { after(found) };
    }

    /// The page as a JSON array, and the cursor of the next one.
    pub fn finish(mut self) -> (Vec<u8>, Option<String>) {
        self.json.push(b']');
        (self.json, self.cursor)
    }
}

/// The least bytes that are greater than a namespace.
fn after(namespace: &[u8]) -> Vec<u8> {
    let mut bytes = namespace.to_vec();
    bytes.push(0);
    bytes
}
