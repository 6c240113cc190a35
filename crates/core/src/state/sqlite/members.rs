//! The index of members of JSON values, which makes filters fast: maintenance by writes, and declaration of new
//! members.

use rusqlite::{Connection, params};

use super::rows::{Item, meta_columns};
use crate::state::{
    filter::spelling,
    item::Kind,
    scalar::{Scalar, member},
};

/// The indexed members of a file, as of one transaction.
#[derive(Debug, Default)]
pub(super) struct MemberPaths {
    newest: i64,
    paths: Vec<MemberPath>,
}

#[derive(Debug)]
struct MemberPath {
    id: i64,
    spelling: String,
    keys: Vec<String>,
}

impl MemberPaths {
    /// Reads the members again if another connection has declared some. They are never removed.
    pub fn refresh(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let newest: i64 = connection
            .prepare_cached("SELECT ifnull(max(id), 0) FROM member_path")?
            .query_row([], |row| row.get(0))?;
        if newest == self.newest {
            return Ok(());
        }
        let mut select =
            connection.prepare_cached("SELECT id, path FROM member_path ORDER BY id")?;
        let paths = select.query_map([], |row| {
            let spelling: String = row.get(1)?;
            Ok(MemberPath { id: row.get(0)?, keys: keys(&spelling), spelling })
        })?;
        self.paths = paths.collect::<rusqlite::Result<_>>()?;
        self.newest = newest;
        Ok(())
    }

    /// The number of an indexed member.
    pub fn id(&self, spelling: &str) -> Option<i64> {
        self.paths.iter().find(|path| path.spelling == spelling).map(|path| path.id)
    }

    /// Whether no member is indexed.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Adds an item's value to the index.
    pub fn insert(&self, connection: &Connection, item: i64, json: &[u8]) -> rusqlite::Result<()> {
        self.paths.iter().try_for_each(|path| path.insert(connection, item, json))
    }

    /// Removes an item from the index.
    pub fn remove(&self, connection: &Connection, item: i64) -> rusqlite::Result<()> {
        if !self.is_empty() {
            connection.prepare_cached("DELETE FROM member WHERE item = ?1")?.execute([item])?;
        }
        Ok(())
    }

    /// Declares members; new ones are indexed for all items.
    pub fn declare(
        &mut self,
        connection: &Connection,
        paths: &[Vec<String>],
    ) -> rusqlite::Result<()> {
        for keys in paths {
            let spelling = spelling(keys);
            if self.id(&spelling).is_some() {
                continue;
            }
            connection.execute("INSERT INTO member_path (path) VALUES (?1)", [&spelling])?;
            let path =
                MemberPath { id: connection.last_insert_rowid(), spelling, keys: keys.clone() };
            index_all(connection, &path)?;
        }
        self.refresh(connection)
    }
}

impl MemberPath {
    fn insert(&self, connection: &Connection, item: i64, json: &[u8]) -> rusqlite::Result<()> {
        if let Some(token) = member(json, &self.keys) {
            connection
                .prepare_cached("INSERT INTO member (path, value, item) VALUES (?1, ?2, ?3)")?
                .execute(params![self.id, Scalar::of_token(token).indexed(), item])?;
        }
        Ok(())
    }
}

fn index_all(connection: &Connection, path: &MemberPath) -> rusqlite::Result<()> {
    let mut select = connection.prepare(concat!(
        "SELECT ",
        meta_columns!(),
        ", value FROM item WHERE kind = 0"
    ))?;
    let mut rows = select.query([])?;
    let mut json = Vec::new();
    while let Some(row) = rows.next()? {
        let item = Item::read(row)?;
        json.clear();
        item.append_value(connection, row.get_ref("value")?.as_blob_or_null()?, &mut json)?;
        debug_assert_eq!(item.meta.kind, Kind::Json);
        path.insert(connection, item.id, &json)?;
    }
    Ok(())
}

/// Parses a path that [`spelling`] wrote.
fn keys(spelling: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let bytes = spelling.as_bytes();
    let mut at = 1;
    while bytes.get(at) == Some(&b'.') {
        let Ok(end) = json_text::skip_value(bytes, at + 1) else { break };
        let token = bytes.get(at + 1..end).unwrap_or_default();
        keys.extend(json_text::decode_string(token).map(std::borrow::Cow::into_owned));
        at = end;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_spelt() {
        for path in [vec!["a"], vec!["a", "b.c"], vec!["\"", "é\n"]] {
            let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
            assert_eq!(keys(&spelling(&path)), path);
        }
    }
}
