//! Storage: file systems, atomic files, logs, and locks between processes. Used by the crates `core` and `code-map`, and
//! by the addon.
//!
//! All file access, durability and file names of the package are implemented here, except those of the state store's
//! database, which SQLite reads and writes. This crate does not know what its callers store. It reports failures as
//! [`FileError`], [`LockError`], [`LogError`] and [`AppendError`], without error codes or advice for users.
//!
//! Terms:
//! - [`FileSystem`]: the few operations on whole files from which everything is built, asynchronous. An
//!   implementation is the operating system's or one that the caller injects.
//! - [`Disk`]: a file system that keeps files open and locks them; its operations block.
//! - [`Durability`]: what an acknowledged write survives: the end of the process, or a loss of power.
//! - *temporary file*: a file under a name of its own, before a rename gives it the name that readers know.
//! - [`Spool`]: a temporary file that collects streamed data. Its contents are copied into the final file, and it is
//!   removed when it is dropped.
//! - *leftover*: a temporary file that a process which ended did not remove.
//! - [`FileLock`]: a lock between processes, on an empty file that is never removed.
//! - [`Lease`]: a locked file that shows which sessions of a process are alive.
//! - [`Log`]: an append-only file of lines that several processes write.
//! - [`cache_file`]: the frame of files that can be rebuilt.
//! - [`Registry`]: objects that a process shares, by key, while they are in use.
//! - [`layout`]: the names of all files.

#![cfg_attr(not(test), deny(unused_crate_dependencies))]

mod atomic_file;
pub mod cache_file;
mod directory_sync;
mod file_lock;
mod file_system;
pub mod layout;
mod lease;
mod leftovers;
mod log;
mod registry;
mod shared_files;
mod spool;

pub use atomic_file::{
    Durability, Pieces, Target, create_file, create_file_of_pieces, replace_cache_file,
    replace_file,
};
pub use directory_sync::{DirectorySync, sync_ancestors};
pub use file_lock::{FileLock, LockError, LockGuard};
pub use file_system::{
    Access, Children, Contents, Coverage, Disk, FileEntry, FileError, FileFuture, FileKind,
    FileResult, FileSystem, FileSystemKind, FileTerms, FileWithoutTerms, FoundFiles, ListedFile,
    LocalDisk, LockAttempt, MatchingFile, OpenFile, Origin, Ownership, Payload, QueryTerm,
    TermCondition, TermQuery, TermsOfFile, Volume,
};
pub use lease::{Lease, LiveSessions, Liveness, UnprovenLease, live_sessions};
pub use leftovers::remove_leftovers;
pub use log::{
    AppendError, Check, Line, LinesBackwards, LinesForwards, Log, LogError, LogPath, LogReader,
    LogRegistry, LogSnapshot, LogView, MakeLine, Pending, ReadAt, Rewrite, Verdict,
};
pub use registry::Registry;
pub use shared_files::{SharedFiles, Turn};
pub use spool::Spool;
