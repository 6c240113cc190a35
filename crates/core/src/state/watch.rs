//! The changes that watchers get.

use super::{
    name::{write_namespace, write_token},
    revision::{Position, Revision},
};
use crate::error::{Code, Error};

/// The most changes that are read at once.
pub(super) const MAX_CHANGES: i64 = 512;

/// Changes after a position, and the position after them.
#[derive(Debug)]
pub struct Changed {
    /// The changes in order, as a JSON array.
    pub changes: Vec<u8>,
    /// Whether there are none.
    pub is_empty: bool,
    pub(super) position: Position,
}

impl Changed {
    /// The position after them.
    #[must_use]
    pub fn cursor(&self) -> String {
        self.position.to_string()
    }
}

/// A list of changes while it is written.
pub(super) struct ChangeList {
    json: Vec<u8>,
    count: i64,
    last: i64,
}

impl ChangeList {
    /// An empty list, after the change with this number.
    pub fn new(after: i64) -> Self {
        Self { json: vec![b'['], count: 0, last: after }
    }

    /// Appends a change. `identity` is that of the store, `root` the number of segments that are not shown.
    pub fn push(
        &mut self,
        (namespace, key): (&[u8], &[u8]),
        revision: Revision,
        is_removal: bool,
        identity: &str,
        root: usize,
    ) {
        if self.count > 0 {
            self.json.push(b',');
        }
        self.json.extend_from_slice(b"{\"namespace\":");
        write_namespace(namespace, root, &mut self.json);
        self.json.extend_from_slice(b",\"key\":");
        write_token(key, &mut self.json);
        let position = Position { identity: identity.to_owned(), sequence: revision.sequence };
        let name = if is_removal { "delete" } else { "put" };
        let rest =
            format!(",\"revision\":\"{revision}\",\"type\":\"{name}\",\"cursor\":\"{position}\"}}");
        self.json.extend_from_slice(rest.as_bytes());
        self.last = revision.sequence;
        self.count += 1;
    }

    /// The changes and the position after them, `current` if all changes were read.
    pub fn finish(mut self, current: Position) -> Changed {
        self.json.push(b']');
        // Once all changes were read, those of other namespaces need not be read again.
        let position = if self.count == MAX_CHANGES {
            Position { sequence: self.last, ..current }
        } else {
            current
        };
        Changed { changes: self.json, is_empty: self.count == 0, position }
    }
}

/// The error for a cursor whose changes are not in the store named `name` any more.
pub(super) fn expired(name: &str) -> Error {
    Error::new(
        Code::CursorExpired,
        format!(
            "the changes after this cursor are not in the state store {name} any more: read the items again, and watch from the cursor of stats()"
        ),
    )
}

/// The position that a cursor names.
pub(super) fn position_of(cursor: &str) -> crate::error::Result<Position> {
    Position::parse(cursor).ok_or_else(|| {
        Error::new(Code::InvalidArgument, "since must be the cursor of a change or of stats()")
    })
}
