//! Why a log was not changed.

use std::borrow::Cow;

use crate::{file_lock::LockError, file_system::FileError};

/// Why a log was not changed.
#[derive(Debug)]
pub enum LogError {
    /// The file system refused; what was written in part was taken back.
    File(FileError),
    /// Others held the lock too long.
    LockTimeout,
    /// The log is not the one that was looked at: another process replaced it.
    Replaced,
    /// The record's [`Check`](super::Check) refused it; nothing was written.
    Refused,
    /// There are no locks here, and without one others' records could be lost.
    Unlockable,
    /// The locks of this type of file system may bind one host or mount only.
    Untrusted(Cow<'static, str>),
}

impl LogError {
    /// The same error for another caller.
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

/// Why there is no new record: its line could not be made, or not written.
#[derive(Debug)]
pub enum AppendError<E> {
    /// What making the line said.
    Line(E),
    /// What writing it said.
    Log(LogError),
}
