//! The error type of this crate.

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An option is invalid: it names an unknown rule, or a pattern was refused.
    InvalidOption,
    /// A text could not be redacted. It must not be written.
    Failed,
}

/// An error. Its message contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of error it is.
    pub kind: ErrorKind,
    /// What happened and what to do.
    pub message: String,
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
