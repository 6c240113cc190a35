//! Statistics, verification and backups of the database file.

use std::path::Path;

use rusqlite::Connection;
use storage::{Disk, LocalDisk, layout};

use super::{
    change::ERASED,
    failure::During,
    opening::{Opening, length, log_of},
    schema,
};
use crate::{
    error::{Code, Error, Result},
    state::{
        report::{StateReport, Stats},
        revision::Position,
        time::now,
    },
};

/// The most problems that a verification reports.
const MAX_PROBLEMS: u32 = 100;

pub(super) fn stats(connection: &Connection, opening: &Opening) -> Result<Stats> {
    let path = &opening.path;
    let file_bytes = length(path) + length(&log_of(path));
    read_stats(connection, file_bytes).during("read", path)
}

fn read_stats(connection: &Connection, file_bytes: u64) -> rusqlite::Result<Stats> {
    let number = |sql: &str| -> rusqlite::Result<u64> {
        let number: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        Ok(u64::try_from(number).unwrap_or_default())
    };
    let (items, value_bytes, expired_items): (i64, i64, i64) = connection.query_row(
        "SELECT count(*) FILTER (WHERE alive), ifnull(sum(length) FILTER (WHERE alive), 0), count(*) FILTER (WHERE NOT alive)
         FROM (SELECT length, expires_at IS NULL OR expires_at > ?1 AS alive FROM item)",
        [now()],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let whole = |number: i64| u64::try_from(number).unwrap_or_default();
    let position =
        Position { identity: schema::identity(connection)?, sequence: latest(connection)? };
    Ok(Stats {
        items: whole(items),
        value_bytes: whole(value_bytes),
        expired_items: whole(expired_items),
        changes: number(&format!("SELECT count(*) FROM change WHERE type <> {ERASED}"))?,
        file_bytes,
        cursor: position.to_string(),
    })
}

/// The number of the latest change.
pub(super) fn latest(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT ifnull(max(sequence), 0) FROM change")?
        .query_row([], |row| row.get(0))
}

/// Reads the whole file: SQLite's integrity check, and the invariants between the tables.
pub(super) fn verify(connection: &Connection, path: &Path) -> Result<StateReport> {
    let problems = match check(connection) {
        Ok(problems) => problems,
        // Damage that stops the check itself is a problem as well.
        Err(error)
            if matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseCorrupt)) =>
        {
            vec![error.to_string()]
        }
        Err(error) => return Err(error).during("verify", path),
    };
    let items = connection
        .query_row("SELECT count(*) FROM item", [], |row| row.get::<_, i64>(0))
        .map_or(0, |items| u64::try_from(items).unwrap_or_default());
    Ok(StateReport { items, problems })
}

fn check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let texts = |sql: &str| -> rusqlite::Result<Vec<String>> {
        let mut select = connection.prepare(sql)?;
        let rows = select.query_map([], |row| row.get(0))?;
        rows.collect()
    };
    let mut problems = texts(&format!("PRAGMA integrity_check({MAX_PROBLEMS})"))?;
    problems.retain(|problem| problem != "ok");
    for (problem, sql) in [
        (
            "several items have one key",
            "SELECT 1 FROM item GROUP BY namespace, key HAVING count(*) > 1 LIMIT 1",
        ),
        (
            "a value is not as long as it was",
            "SELECT 1 FROM item WHERE value IS NOT NULL AND length(value) <> length LIMIT 1",
        ),
        (
            "parts of a value are missing",
            "SELECT 1 FROM item WHERE value IS NULL AND length <> (SELECT ifnull(sum(length(bytes)), 0) FROM chunk WHERE chunk.item = item.id) LIMIT 1",
        ),
        (
            "parts of a value belong to no item",
            "SELECT 1 FROM chunk WHERE item NOT IN (SELECT id FROM item WHERE value IS NULL) LIMIT 1",
        ),
        (
            "an index has a value of no item",
            "SELECT 1 FROM member WHERE item NOT IN (SELECT id FROM item) LIMIT 1",
        ),
    ] {
        if connection.prepare(sql)?.exists([])? {
            problems.push(problem.to_owned());
        }
    }
    Ok(problems)
}

/// Writes a copy of the file in its current state. The copy gets its name when it is complete.
pub(super) fn backup(connection: &Connection, opening: &Opening, target: &Path) -> Result<()> {
    let failed = |cause| Error::from_file("write the backup", target, "another file", cause);
    let directory = target.parent().unwrap_or(target);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temporary = directory.join(layout::replacement(&name));
    LocalDisk.write_new(&temporary, b"", false).map_err(failed)?;
    let copied = copy(connection, opening, target, &temporary, directory);
    // After a successful move, the temporary file no longer exists.
    let _ = LocalDisk.remove(&temporary);
    copied
}

fn copy(
    connection: &Connection,
    opening: &Opening,
    target: &Path,
    temporary: &Path,
    directory: &Path,
) -> Result<()> {
    let failed = |cause| Error::from_file("write the backup", target, "another file", cause);
    connection
        .execute("VACUUM INTO ?1", [temporary.to_string_lossy()])
        .during("copy", &opening.path)?;
    LocalDisk
        .open(temporary, storage::Access::Append)
        .and_then(|file| file.sync())
        .map_err(failed)?;
    match LocalDisk.rename_new(temporary, target) {
        Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => Err(Error::new(
            Code::Conflict,
            format!(
                "{} is there already, and a backup replaces nothing; name another file",
                target.display()
            ),
        )),
        moved => moved.map_err(failed),
    }?;
    LocalDisk.sync_directory(directory).or_else(|error| match error.kind {
        std::io::ErrorKind::Unsupported | std::io::ErrorKind::InvalidInput => Ok(()),
        _ => Err(failed(error)),
    })
}
