//! Errors of logs.

use std::borrow::Cow;

use crate::{file_lock::LockError, file_system::FileError};

/// Why a log was not changed.
#[derive(Debug)]
pub enum LogError {
    /// The file system failed; a partial write was rolled back.
    File(FileError),
    /// Other processes held the lock too long.
    LockTimeout,
    /// The log is not the one that was read: another process replaced it.
    Replaced,
    /// The record's [`Check`](super::Check) refused it; nothing was written.
    Refused,
    /// The file system has no locks, and without a lock records of other processes could be lost.
    Unlockable,
    /// The locks of this type of file system may bind only one host or mount.
    Untrusted(Cow<'static, str>),
}

impl LogError {
    /// A copy of the error for another caller.
    pub(super) fn duplicate(&self) -> Self {
        match self {
            Self::File(error) => Self::File(error.duplicate()),
            Self::LockTimeout => Self::LockTimeout,
            Self::Replaced => Self::Replaced,
            Self::Refused => Self::Refused,
            Self::Unlockable => Self::Unlockable,
            Self::Untrusted(kind) => Self::Untrusted(kind.clone()),
        }
    }
}

impl From<FileError> for LogError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<LockError> for LogError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::TimedOut => Self::LockTimeout,
            LockError::File(error) => Self::File(error),
        }
    }
}

/// Why a record was not appended: its line could not be created or not written.
#[derive(Debug)]
pub enum AppendError<E> {
    /// The error of creating the line.
    Line(E),
    /// The error of writing the line.
    Log(LogError),
}
