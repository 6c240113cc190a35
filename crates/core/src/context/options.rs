//! What a manager is told at its construction.

use storage::Durability;

use crate::safety::Trust;

/// Bounds of what dead sessions leave behind, and of any single result.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Contexts of dead sessions older than this many ms go.
    pub max_age: i64,
    /// More contexts of dead sessions than this go, oldest first.
    pub max_files: usize,
    /// Contexts of dead sessions that take more bytes than this go, oldest first.
    pub max_bytes: u64,
    /// A paused session that was not used for this many ms is over.
    pub keep_paused: i64,
    /// Paused sessions whose contexts take more bytes than this end, least recently used first.
    pub max_paused_bytes: u64,
    /// Contexts of this session that take more bytes on disk than this go, least recently used first.
    pub max_live_bytes: u64,
    /// More contexts of this session on disk than this go, least recently used first.
    pub max_live_files: usize,
    /// A result whose JSON is longer than this many bytes is refused.
    pub max_result_bytes: usize,
}

/// What a manager is told at its construction.
#[derive(Debug, Clone)]
pub struct ManagerOptions {
    /// The directory, absolute, as the caller spells it.
    pub directory: String,
    /// The directory with its separator: a context's path is this and its file name.
    pub prefix: String,
    /// The session's id.
    pub session: String,
    /// The session's id is the caller's, so that it shows in file names and others may share it.
    pub session_is_named: bool,
    /// The pointers of the session's earlier processes are restored.
    pub resumes: bool,
    /// Results whose JSON takes at least this many bytes are large.
    pub persist_threshold: u64,
    /// Small outputs are written, too.
    pub persist_all: bool,
    /// Bytes of small outputs kept in memory.
    pub memory_budget: usize,
    /// Bytes of the index; beyond, the oldest outputs are found by what describes them only.
    pub index_budget: usize,
    /// Bounds.
    pub retention: Retention,
    /// What an acknowledged save survives.
    pub durability: Durability,
    /// What the caller vouches for.
    pub trust: Trust,
}
