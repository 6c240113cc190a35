//! The tables of the database, their versions, and the recognition of a store's file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::failure::{During, corrupt};
use crate::{
    error::{Code, Error, Result},
    state::revision::random,
};

/// Identifies the file as a state store in SQLite's header: "aCst".
const APPLICATION: i64 = 0x6143_7374;

/// The SQL that migrates each version to the next. Released versions are never changed.
const MIGRATIONS: &[&str] = &[VERSION_1];

/// - `item`: the documents. `kind` is 0 for JSON and 1 for bytes; `value` is null if it is in chunks.
/// - `chunk`: the parts of long values, in the order of their numbers.
/// - `change`: the changes, newest last. Numbers are never used again, so the newest row is kept.
/// - `member_path`: the members of JSON values that are indexed for filters.
/// - `member`: their values as index keys, whose bytes sort like the values.
/// - `property`: properties of the file.
const VERSION_1: &str = "
CREATE TABLE item (
  id INTEGER PRIMARY KEY,
  namespace BLOB NOT NULL,
  key BLOB NOT NULL,
  sequence INTEGER NOT NULL,
  nonce INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  kind INTEGER NOT NULL,
  media_type TEXT,
  length INTEGER NOT NULL,
  value BLOB
) STRICT;
CREATE INDEX item_place ON item (namespace, key, sequence, expires_at);
CREATE INDEX item_expiry ON item (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE chunk (
  item INTEGER NOT NULL,
  number INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;
CREATE INDEX chunk_place ON chunk (item, number);
CREATE TABLE change (
  sequence INTEGER PRIMARY KEY,
  nonce INTEGER NOT NULL,
  type INTEGER NOT NULL,
  namespace BLOB NOT NULL,
  key BLOB NOT NULL
) STRICT;
CREATE TABLE member_path (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE member (
  path INTEGER NOT NULL,
  value BLOB NOT NULL,
  item INTEGER NOT NULL,
  PRIMARY KEY (path, value, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_item ON member (item);
CREATE TABLE property (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Refuses an existing file that is not a store of a known version. Changes nothing.
///
/// The file is opened only through SQLite, even to read its header: if the process opened the file otherwise and closed
/// it again, the system would drop SQLite's locks on it.
pub(super) fn inspect(path: &Path) -> Result<()> {
    let connection = open_unchanged(path).during("open", path)?;
    let header = Header::read(&connection).during("open", path)?;
    header.check(path)
}

/// Opens a file without reading its log, taking locks, or recovering it.
fn open_unchanged(path: &Path) -> rusqlite::Result<Connection> {
    let name = path.to_string_lossy();
    let mut uri = String::from("file:");
    if !name.starts_with('/') {
        uri.push('/'); // a drive letter
    }
    for &byte in name.as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.push_str(&format!("%{byte:02x}")),
            b'\\' if cfg!(windows) => uri.push('/'),
            byte if byte.is_ascii() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags)
}

struct Header {
    application: i64,
    version: i64,
    tables: i64,
}

impl Header {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get(0));
        Ok(Self {
            application: number("PRAGMA application_id")?,
            version: number("PRAGMA user_version")?,
            tables: number("SELECT count(*) FROM sqlite_schema")?,
        })
    }

    fn is_empty(&self) -> bool {
        self.application == 0 && self.version == 0 && self.tables == 0
    }

    fn check(&self, path: &Path) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if self.application != APPLICATION {
            return Err(corrupt(path, "it is the database of another program"));
        }
        if self.version > newest() {
            let (name, version) = (path.display(), self.version);
            return Err(Error::new(
                Code::Unsupported,
                format!(
                    "the state store {name} has schema version {version}, and this version of agent-context knows versions up to {}; update agent-context, or set path",
                    newest()
                ),
            ));
        }
        Ok(())
    }
}

fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Creates the tables of a new file, or migrates those of an older version, in one transaction.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<()> {
    let header = Header::read(connection).during("open", path)?;
    header.check(path)?;
    if header.version == newest() {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .during("migrate", path)?;
    // Another process may have migrated the file first.
    let header = Header::read(&transaction).during("migrate", path)?;
    header.check(path)?;
    apply(&transaction, header.version).during("migrate", path)?;
    transaction.commit().during("migrate", path)
}

fn apply(transaction: &Transaction<'_>, version: i64) -> rusqlite::Result<()> {
    let known = usize::try_from(version).unwrap_or_default();
    for migration in MIGRATIONS.get(known..).unwrap_or_default() {
        transaction.execute_batch(migration)?;
    }
    if version == 0 {
        let identity = format!("{:08x}", random());
        transaction
            .execute("INSERT INTO property (name, value) VALUES ('identity', ?1)", [identity])?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", newest())
}

/// The random identity by which cursors recognise this file.
pub(super) fn identity(connection: &Connection) -> rusqlite::Result<String> {
    connection
        .prepare_cached("SELECT value FROM property WHERE name = 'identity'")?
        .query_row([], |row| row.get(0))
}
