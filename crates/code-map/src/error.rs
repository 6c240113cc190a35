//! Errors of this crate.

/// Why a workspace could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace does not exist.
    #[error("could not read the workspace: {0}; pass a directory")]
    WorkspaceNotFound(String),
    /// The workspace cannot be read.
    #[error("could not read the workspace: {0}; pass a directory")]
    WorkspaceUnreadable(String),
    /// The caller dropped the future.
    #[error("reading the workspace was interrupted")]
    Cancelled,
    /// The work panicked, or the runtime ended.
    #[error(transparent)]
    Interrupted(#[from] tasks::Interrupted),
    /// The semaphore of the map was closed, which never happens.
    #[error("the map of the repository was closed")]
    Closed,
}

/// A result with the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;
