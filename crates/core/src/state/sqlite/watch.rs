//! Reads the changes since a position, for watchers.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{
    change::{DELETE, ERASED, PUT},
    failure::During,
    housekeeping::latest,
    schema,
};
use crate::{
    error::Result,
    state::{
        name::below,
        revision::{Position, Revision},
        watch::{ChangeList, Changed, MAX_CHANGES, expired},
    },
};

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
        return Err(expired(&path.to_string_lossy()));
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
    let mut list = ChangeList::new(after.sequence);
    while let Some(row) = rows.next()? {
        let revision = Revision { sequence: row.get(0)?, nonce: row.get(1)? };
        let change: i64 = row.get(2)?;
        debug_assert!(change == PUT || change == DELETE);
        let namespace: Vec<u8> = row.get(3)?;
        let key: Vec<u8> = row.get(4)?;
        list.push((&namespace, &key), revision, change == DELETE, &current.identity, root);
    }
    Ok(list.finish(current))
}
