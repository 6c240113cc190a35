//! Overwrites the remains of deleted content in the database file; the last step of a sweep (see `sweep`).
//!
//! SQLite overwrites deleted content with zeros (`secure_delete`), with one exception: when it distributes the cells of
//! a b-tree page over several pages, copies of the moved cells remain in the unused part of the page, between its cell
//! pointers and its cells, and deleting a cell later does not reach its copy. This module finds and overwrites these
//! parts through SQLite's table `sqlite_dbpage`, so they are changed in transactions like everything else.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, params};

/// From this number of pages on, the first byte of an overflow page can be that of a b-tree page.
const MAX_PAGES: i64 = 0x0200_0000;
/// The length of the file's header, on its first page.
const FILE_HEADER: usize = 100;

/// The pages with data in their unused parts. `None` if the file is so large that the types of pages cannot be
/// distinguished.
pub(super) fn stale_pages(connection: &Connection) -> rusqlite::Result<Option<Vec<i64>>> {
    let count: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if count >= MAX_PAGES {
        return Ok(None);
    }
    let mut select = connection.prepare_cached("SELECT pgno, data FROM sqlite_dbpage")?;
    let mut rows = select.query([])?;
    let mut stale = Vec::new();
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let page = row.get_ref(1)?.as_blob()?;
        if is_stale(page, number) {
            stale.push(number);
        }
    }
    Ok(Some(stale))
}

/// Overwrites the unused parts of pages with zeros. Pages that are used otherwise by now are not changed.
pub(super) fn overwrite(connection: &Connection, pages: &[i64]) -> rusqlite::Result<()> {
    let mut select = connection.prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")?;
    let mut update =
        connection.prepare_cached("UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1")?;
    for &number in pages {
        let page: Option<Vec<u8>> = select.query_row([number], |row| row.get(0)).optional()?;
        let Some(mut page) = page.filter(|page| is_stale(page, number)) else { continue };
        if let Some(part) = unused(&page, number).and_then(|range| page.get_mut(range)) {
            part.fill(0);
            update.execute(params![number, page])?;
        }
    }
    Ok(())
}

fn is_stale(page: &[u8], number: i64) -> bool {
    let part = unused(page, number).and_then(|range| page.get(range));
    part.is_some_and(|part| part.iter().any(|&byte| byte != 0))
}

/// The unused part of a b-tree page, between its cell pointers and its cells; `None` for other pages.
fn unused(page: &[u8], number: i64) -> Option<Range<usize>> {
    let header = if number == 1 { FILE_HEADER } else { 0 };
    let pointers = header
        + match page.get(header)? {
            0x02 | 0x05 => 12,
            0x0a | 0x0d => 8,
            _ => return None,
        };
    let word = |at: usize| {
        let bytes = page.get(header + at..header + at + 2)?;
        Some(usize::from(u16::from_be_bytes(bytes.try_into().ok()?)))
    };
    let start = pointers + 2 * word(3)?;
    let end = match word(5)? {
        0 => 0x1_0000,
        cells => cells,
    };
    (start <= end && end <= page.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Writes, changes and removes items of many sizes, until pages were split and joined many times.
    fn worked(rounds: u32) -> (tempfile::TempDir, Connection, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("file.db")).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;
                 CREATE TABLE item (id INTEGER PRIMARY KEY, key BLOB, value BLOB); CREATE INDEX place ON item (key)",
            )
            .unwrap();
        let mut random = 7_u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % below
        };
        let (mut kept, mut gone): (Vec<String>, Vec<String>) = Default::default();
        for number in 0..rounds {
            if number % 50 == 0 {
                connection
                    .execute_batch(if number == 0 { "BEGIN" } else { "COMMIT; BEGIN" })
                    .unwrap();
            }
            let text = |key: &str, times: u32| key.repeat(times as usize).into_bytes();
            match next(10) {
                0..6 => {
                    let key = format!("<key-{number:06}>");
                    let value = text(&key, 1 + next(40));
                    connection
                        .execute(
                            "INSERT INTO item (key, value) VALUES (?1, ?2)",
                            params![key.as_bytes(), value],
                        )
                        .unwrap();
                    kept.push(key);
                }
                6..8 if !kept.is_empty() => {
                    let key = kept.swap_remove(next(kept.len() as u32) as usize);
                    connection
                        .execute("DELETE FROM item WHERE key = ?1", [key.as_bytes()])
                        .unwrap();
                    gone.push(key);
                }
                _ if !kept.is_empty() => {
                    let key = &kept[next(kept.len() as u32) as usize];
                    let value = text(key, 1 + next(40));
                    connection
                        .execute(
                            "UPDATE item SET value = ?2 WHERE key = ?1",
                            params![key.as_bytes(), value],
                        )
                        .unwrap();
                }
                _ => {}
            }
        }
        connection.execute_batch("COMMIT").unwrap();
        (folder, connection, gone)
    }

    fn left(folder: &tempfile::TempDir, connection: &Connection, gone: &[String]) -> usize {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let bytes = std::fs::read(folder.path().join("file.db")).unwrap();
        let found: HashSet<&[u8]> = memchr::memmem::find_iter(&bytes, "<key-")
            .filter_map(|at| bytes.get(at..at + "<key-000000>".len()))
            .collect();
        gone.iter().filter(|key| found.contains(key.as_bytes())).count()
    }

    #[test]
    fn copies_that_stay_behind_are_found_and_overwritten() {
        let (folder, connection, gone) = worked(6000);
        assert!(left(&folder, &connection, &gone) > 0, "secure_delete alone leaves copies");
        let contents = |connection: &Connection| -> Vec<(Vec<u8>, Vec<u8>)> {
            let mut select =
                connection.prepare("SELECT key, value FROM item ORDER BY key").unwrap();
            let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.collect::<rusqlite::Result<_>>().unwrap()
        };
        let before = contents(&connection);
        let pages = stale_pages(&connection).unwrap().unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        overwrite(&connection, &pages).unwrap();
        connection.execute_batch("COMMIT").unwrap();
        assert_eq!(stale_pages(&connection).unwrap(), Some(Vec::new()));
        assert_eq!(left(&folder, &connection, &gone), 0);
        assert_eq!(contents(&connection), before);
        let check: String =
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
    }

    #[test]
    fn pages_that_are_no_b_trees_are_left_alone() {
        let overflow = [0, 0, 0, 9, 1, 2, 3, 4];
        assert_eq!(unused(&overflow, 2), None);
        let leaf = [0x0d, 0, 0, 0, 1, 0, 14, 0, 0, 14, 7, 0, 0, 0, 1, 2];
        assert_eq!(unused(&leaf, 2), Some(10..14));
        assert!(is_stale(&leaf, 2));
        for cut in 0..leaf.len() {
            assert_eq!(unused(&leaf[..cut], 2).filter(|range| range.end > cut), None);
        }
    }
}
