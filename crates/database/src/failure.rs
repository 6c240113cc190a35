//! Which errors of statements are repeated, and what the others mean for the caller.

use std::{error::Error as _, io};

use tokio_postgres::{Error, error::SqlState};

/// What a failed call means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The server refused the user, the password, the certificate or a permission.
    Access,
    /// The timeout ended first.
    Timeout,
    /// The server cannot be reached, or cannot store anything now.
    Unavailable,
    /// The database was created by a newer version of this package, or lacks a feature.
    Unsupported,
    /// The server refused the statement: a bug in this package.
    Rejected,
}

/// A call that was given up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What it means.
    pub kind: FailureKind,
    /// What happened at which server, and what to do. Contains no credentials.
    pub message: String,
    /// The error of the server or of the connection that caused it, without credentials.
    pub cause: Option<String>,
    /// Whether a write may have been carried out nevertheless.
    pub may_exist: bool,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cause: None, may_exist: false }
    }

    pub(crate) fn with_cause(self, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }
}

/// What to do after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Repeat: the server did nothing.
    Repeat,
    /// Repeat: the server aborted the transaction because of another one.
    RepeatAfterConflict,
    /// Repeat: it is not known whether the server has carried it out.
    RepeatUnclear,
    /// The table is missing: create the schema, then repeat.
    Migrate,
    /// Give up.
    GiveUp(FailureKind),
}

pub(crate) fn remedy(error: &Error) -> Remedy {
    let Some(state) = error.code() else {
        let io = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        // Certificates that do not fit stay as they are.
        if io.and_then(io::Error::get_ref).is_some_and(|source| source.is::<rustls::Error>()) {
            return Remedy::GiveUp(FailureKind::Access);
        }
        return if error.is_closed() || io.is_some() {
            Remedy::RepeatUnclear
        } else if is_about_password(error) {
            Remedy::GiveUp(FailureKind::Access)
        } else {
            Remedy::GiveUp(FailureKind::Rejected)
        };
    };
    match state {
        state
            if *state == SqlState::T_R_SERIALIZATION_FAILURE
                || *state == SqlState::T_R_DEADLOCK_DETECTED
                // Another statement has claimed the same position or operation: a repetition sees it.
                || *state == SqlState::UNIQUE_VIOLATION =>
        {
            Remedy::RepeatAfterConflict
        }
        state if *state == SqlState::UNDEFINED_TABLE || *state == SqlState::INVALID_SCHEMA_NAME => {
            Remedy::Migrate
        }
        state
            if *state == SqlState::TOO_MANY_CONNECTIONS
                || *state == SqlState::CANNOT_CONNECT_NOW
                || *state == SqlState::LOCK_NOT_AVAILABLE =>
        {
            Remedy::Repeat
        }
        state
            if *state == SqlState::ADMIN_SHUTDOWN
            || *state == SqlState::CRASH_SHUTDOWN
            || *state == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
            // The outcome of a COMMIT is unknown.
            || *state == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
            || state.code().starts_with("08") =>
        {
            Remedy::RepeatUnclear
        }
        state if *state == SqlState::QUERY_CANCELED => Remedy::GiveUp(FailureKind::Timeout),
        state
            if *state == SqlState::INSUFFICIENT_PRIVILEGE
                || *state == SqlState::READ_ONLY_SQL_TRANSACTION
                || state.code().starts_with("28")
                || state.code().starts_with("3D") =>
        {
            Remedy::GiveUp(FailureKind::Access)
        }
        // Full disk, no memory, limits; errors of the system.
        state if state.code().starts_with("53") || state.code().starts_with("58") => {
            Remedy::GiveUp(FailureKind::Unavailable)
        }
        state if *state == SqlState::FEATURE_NOT_SUPPORTED => {
            Remedy::GiveUp(FailureKind::Unsupported)
        }
        _ => Remedy::GiveUp(FailureKind::Rejected),
    }
}

/// Whether the driver has no password, or none that it can send as the server asks. Its text is the only sign of that.
fn is_about_password(error: &Error) -> bool {
    let text = error.to_string();
    text.starts_with("invalid configuration") || text.starts_with("authentication error")
}

/// The error with its cause, in one line: the driver's own text says only where it happened.
pub(crate) fn describe(error: &Error) -> String {
    match error.as_db_error() {
        Some(server) => format!("{} (SQLSTATE {})", server.message(), server.code().code()),
        None => match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
