//! The error type of the crate, with stable codes.

use std::{fmt, io, path::Path};

use database::{Failure, FailureKind};
use storage::{FileError, Origin};

/// The cause of an error, as a stable code for callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// An argument has the wrong type or an impossible value.
    InvalidArgument,
    /// The context, entry or file does not exist.
    NotFound,
    /// The path leads out of the directory, or through a symbolic link.
    OutsideDirectory,
    /// The file exists but is not valid.
    Corrupt,
    /// A file system operation failed.
    Io,
    /// The value exceeds a configured limit.
    TooLarge,
    /// The state that the call depends on was changed, or is in use by another session or process.
    Conflict,
    /// Another process held a lock for longer than the timeout.
    LockTimeout,
    /// The changes after a watcher's position are no longer stored.
    CursorExpired,
    /// The file system does not support the operation.
    Unsupported,
    /// The value could not be redacted, and was not written.
    Redaction,
    /// The directory belongs to another user.
    UnsafeDirectory,
    /// A database cannot be reached, or cannot store anything now.
    Storage,
    /// A database did not answer in time.
    Timeout,
    /// A database refused the user or a permission.
    Access,
    /// A bug in this package.
    Internal,
}

impl Code {
    /// The code in JavaScript.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "ERR_CONTEXT_INVALID_ARGUMENT",
            Self::NotFound => "ERR_CONTEXT_NOT_FOUND",
            Self::OutsideDirectory => "ERR_CONTEXT_OUTSIDE_DIRECTORY",
            Self::Corrupt => "ERR_CONTEXT_CORRUPT",
            Self::Io => "ERR_CONTEXT_IO",
            Self::TooLarge => "ERR_CONTEXT_TOO_LARGE",
            Self::Conflict => "ERR_CONTEXT_CONFLICT",
            Self::LockTimeout => "ERR_CONTEXT_LOCK_TIMEOUT",
            Self::CursorExpired => "ERR_CONTEXT_CURSOR_EXPIRED",
            Self::Unsupported => "ERR_CONTEXT_UNSUPPORTED",
            Self::Redaction => "ERR_CONTEXT_REDACTION",
            Self::UnsafeDirectory => "ERR_CONTEXT_UNSAFE_DIRECTORY",
            Self::Storage => "ERR_CONTEXT_STORAGE",
            Self::Timeout => "ERR_CONTEXT_TIMEOUT",
            Self::Access => "ERR_CONTEXT_ACCESS",
            Self::Internal => "ERR_CONTEXT_INTERNAL",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The result of fallible functions in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: its code, a message with the path and the remedy, and the file system's error if there
/// is one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The stable code.
    pub code: Code,
    /// What happened to which file, and what to do.
    pub message: String,
    /// The file system's error that caused this one.
    #[source]
    pub cause: Option<FileError>,
}

impl From<redaction::Error> for Error {
    fn from(error: redaction::Error) -> Self {
        let code = match error.kind {
            redaction::ErrorKind::InvalidOption => Code::InvalidArgument,
            redaction::ErrorKind::Failed => Code::Redaction,
        };
        Self::new(code, error.message)
    }
}

impl From<text_index::SyntaxError> for Error {
    fn from(error: text_index::SyntaxError) -> Self {
        Self::new(Code::InvalidArgument, error.to_string())
    }
}

impl From<code_map::Error> for Error {
    fn from(error: code_map::Error) -> Self {
        let message = error.to_string();
        match error {
            code_map::Error::WorkspaceNotFound(_) => Self::new(Code::NotFound, message),
            code_map::Error::WorkspaceUnreadable(_) => Self::new(Code::Io, message),
            code_map::Error::Cancelled
            | code_map::Error::Interrupted(_)
            | code_map::Error::Closed => Self::internal(message),
        }
    }
}

impl Error {
    /// An error without a cause.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), cause: None }
    }

    /// A copy, for another caller that waited for the same operation.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self {
            code: self.code,
            message: self.message.clone(),
            cause: self.cause.as_ref().map(FileError::duplicate),
        }
    }

    /// The error of a file system operation while doing `what` (“save the context”) with `path`;
    /// `setting` is the option to choose another path.
    #[must_use]
    pub fn from_file(what: &str, path: &Path, setting: &str, cause: FileError) -> Self {
        if let Some(failure) = failure_of(&cause) {
            let message = format!("could not {what} {}: {failure}", path.display());
            return Self { code: code_of(failure.kind), message, cause: Some(cause) };
        }
        let remedy = remedy(cause.kind)
            .map_or_else(String::new, |remedy| format!("; {remedy} or set {setting}"));
        let message = format!("could not {what} {}: {cause}{remedy}", path.display());
        Self { code: Code::Io, message, cause: Some(cause) }
    }

    /// The error of a database while doing `what` (“append to”) with `name`, the namespace.
    #[must_use]
    pub fn from_database(what: &str, name: &str, failure: Failure) -> Self {
        let path = Path::new(name);
        Self::from_file(
            what,
            path,
            "storage",
            FileError::system(STATEMENT, path, io::Error::other(failure)),
        )
    }

    /// Whether a database may have carried out the write that failed.
    #[must_use]
    pub fn may_exist(&self) -> bool {
        self.cause.as_ref().and_then(failure_of).is_some_and(|failure| failure.may_exist)
    }

    /// Whether a file or a directory did not exist.
    #[must_use]
    pub fn is_missing_file(&self) -> bool {
        self.cause.as_ref().is_some_and(FileError::is_not_found)
    }

    /// A bug in this package, which users can only report.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, format!("{}; please report it", message.into()))
    }

    /// The error for a path without a context.
    #[must_use]
    pub fn not_found(path: &str) -> Self {
        Self::new(Code::NotFound, format!("context file not found: {path}"))
    }

    /// The error for a file at `path` that is no valid record.
    #[must_use]
    pub fn corrupt(path: &str, reason: &str) -> Self {
        Self::new(
            Code::Corrupt,
            format!("{path} holds no whole context record ({reason}); run the tool again"),
        )
    }

    /// The error for a `path` outside `directory`.
    #[must_use]
    pub fn outside(path: &str, directory: &str) -> Self {
        Self::new(
            Code::OutsideDirectory,
            format!(
                "{path} is outside the context directory {directory}, or behind a symbolic link; pass a pointer's filepath"
            ),
        )
    }
}

/// The operation of errors that a database reports for a whole call.
const STATEMENT: &str = "statement";

/// Whether a database failed, or a file system did not answer: the error says nothing about the file.
pub(crate) fn is_without_answer(error: &FileError) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut};
    failure_of(error).is_some() || matches!(error.kind, Interrupted | TimedOut)
}

/// The failure of a database that is behind a file's error.
fn failure_of(error: &FileError) -> Option<&Failure> {
    match &error.origin {
        Origin::System(error) => error.get_ref()?.downcast_ref(),
        Origin::Injected { .. } => None,
    }
}

fn code_of(kind: FailureKind) -> Code {
    match kind {
        FailureKind::Access => Code::Access,
        FailureKind::Timeout => Code::Timeout,
        FailureKind::Unavailable => Code::Storage,
        FailureKind::Unsupported => Code::Unsupported,
        FailureKind::Rejected => Code::Internal,
    }
}

/// What a user can do about common errors, beside choosing another path.
fn remedy(kind: std::io::ErrorKind) -> Option<&'static str> {
    use std::io::ErrorKind as Kind;
    match kind {
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Some("make the directory writable"),
        Kind::StorageFull | Kind::QuotaExceeded => Some("free some space"),
        Kind::NotADirectory | Kind::AlreadyExists => {
            Some("remove the file that is in the directory's place")
        }
        _ => None,
    }
}
