//! Converts SQLite's errors to this crate's.

use std::{io, path::Path};

use rusqlite::{Error as SqliteError, ErrorCode};
use storage::FileError;

use crate::error::{Code, Error, Result};

/// Adds to an error the file and what was done with it.
pub(super) trait During<T> {
    fn during(self, what: &str, path: &Path) -> Result<T>;
}

impl<T> During<T> for rusqlite::Result<T> {
    fn during(self, what: &str, path: &Path) -> Result<T> {
        self.map_err(|error| failure(what, path, &error))
    }
}

/// Whether another connection holds the lock that a statement needs.
pub(super) fn is_busy(error: &SqliteError) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The error of a statement, while doing `what` (“write to”) with the store at `path`.
pub(super) fn failure(what: &str, path: &Path, error: &SqliteError) -> Error {
    let name = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::new(
            Code::LockTimeout,
            format!(
                "could not {what} the state store {name}: other processes kept it locked; try again, or raise lockTimeout"
            ),
        ),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            corrupt(path, &error.to_string())
        }
        Some(ErrorCode::TooBig) => Error::new(
            Code::TooLarge,
            format!(
                "could not {what} the state store {name}: a value is too large; store less of it"
            ),
        ),
        Some(code) => match kind_of(code) {
            Some(kind) => {
                let cause =
                    FileError::system("sqlite", path, io::Error::new(kind, error.to_string()));
                Error::from_file(&format!("{what} the state store"), path, "path", cause)
            }
            None => Error::internal(format!("could not {what} the state store {name}: {error}")),
        },
        None => Error::internal(format!("could not {what} the state store {name}: {error}")),
    }
}

/// The kind of a file system's error; `None` for other errors.
fn kind_of(code: ErrorCode) -> Option<io::ErrorKind> {
    match code {
        ErrorCode::DiskFull => Some(io::ErrorKind::StorageFull),
        ErrorCode::ReadOnly => Some(io::ErrorKind::ReadOnlyFilesystem),
        ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            Some(io::ErrorKind::PermissionDenied)
        }
        ErrorCode::OutOfMemory => Some(io::ErrorKind::OutOfMemory),
        ErrorCode::CannotOpen
        | ErrorCode::SystemIoFailure
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::NoLargeFileSupport => Some(io::ErrorKind::Other),
        _ => None,
    }
}

/// The error for a file that is damaged or no state store.
pub(super) fn corrupt(path: &Path, reason: &str) -> Error {
    Error::new(
        Code::Corrupt,
        format!(
            "{} is damaged, or no state store ({reason}); it was not changed: restore it from a backup, move it away, or set path",
            path.display()
        ),
    )
}
