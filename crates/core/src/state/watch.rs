//! Reads the changes since a position, for watchers.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{
    change::{DELETE, ERASED, PUT},
    failure::During,
    housekeeping::latest,
    name::{below, write_namespace, write_token},
    revision::{Position, Revision},
    schema,
};
use crate::error::{Code, Error, Result};

/// The most changes that are read at once.
const MAX_CHANGES: i64 = 512;

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

/// The position of the latest change.
pub(super) fn current(connection: &Connection, path: &Path) -> Result<Position> {
    let read = || -> rusqlite::Result<_> {
        Ok(Position { identity: schema::identity(connection)?, sequence: latest(connection)? })
    };
    read().during("read", path)
}

/// The changes below a prefix after a position.
pub(super) fn changes(
    connection: &Connection,
    path: &Path,
    after: &Position,
    prefix: &[u8],
    root: usize,
) -> Result<Changed> {
    let current = current(connection, path)?;
    let oldest: i64 = connection
        .prepare_cached("SELECT ifnull(min(sequence), 1) FROM change")
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .during("read", path)?;
    let is_known = after.identity == current.identity
        && after.sequence <= current.sequence
        && after.sequence >= oldest - 1;
    if !is_known {
        return Err(expired(path));
    }
    read(connection, after, current, prefix, root).during("read", path)
}

fn read(
    connection: &Connection,
    after: &Position,
    current: Position,
    prefix: &[u8],
    root: usize,
) -> rusqlite::Result<Changed> {
    let range = below(prefix);
    let mut select = connection.prepare_cached(
        "SELECT sequence, nonce, type, namespace, key FROM change
         WHERE sequence > ?1 AND namespace >= ?2 AND namespace < ?3 AND type <> ?5 ORDER BY sequence LIMIT ?4",
    )?;
    let mut rows =
        select.query(params![after.sequence, range.start, range.end, MAX_CHANGES, ERASED])?;
    let mut json = vec![b'['];
    let mut count = 0;
    let mut last = after.sequence;
    while let Some(row) = rows.next()? {
        let revision = Revision { sequence: row.get(0)?, nonce: row.get(1)? };
        let change: i64 = row.get(2)?;
        debug_assert!(change == PUT || change == DELETE);
        let namespace: Vec<u8> = row.get(3)?;
        let key: Vec<u8> = row.get(4)?;
        json.extend_from_slice(if count == 0 { b"{\"namespace\":" } else { b",{\"namespace\":" });
        write_namespace(&namespace, root, &mut json);
        json.extend_from_slice(b",\"key\":");
        write_token(&key, &mut json);
        let position = Position { identity: current.identity.clone(), sequence: revision.sequence };
        let name = if change == DELETE { "delete" } else { "put" };
        let rest =
            format!(",\"revision\":\"{revision}\",\"type\":\"{name}\",\"cursor\":\"{position}\"}}");
        json.extend_from_slice(rest.as_bytes());
        last = revision.sequence;
        count += 1;
    }
    json.push(b']');
    // If all changes were read, those of other namespaces need not be read again.
    let position =
        if count == MAX_CHANGES { Position { sequence: last, ..current } } else { current };
    Ok(Changed { changes: json, is_empty: count == 0, position })
}

fn expired(path: &Path) -> Error {
    Error::new(
        Code::CursorExpired,
        format!(
            "the changes after this cursor are not in the state store {} any more: read the items again, and watch from the cursor of stats()",
            path.display()
        ),
    )
}
