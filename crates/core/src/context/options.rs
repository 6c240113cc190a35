//! The options of a manager.

use storage::Durability;

use crate::safety::Trust;

/// Bounds for the contexts of dead, paused and live sessions, and for a single result.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// The greatest age of a dead session's contexts, in ms.
    pub max_age: i64,
    /// The most contexts of dead sessions; the oldest are removed first.
    pub max_files: usize,
    /// The most bytes of dead sessions' contexts; the oldest are removed first.
    pub max_bytes: u64,
    /// A paused session ends when it was not used for this many ms.
    pub keep_paused: i64,
    /// The most bytes of paused sessions' contexts; the least recently used sessions end first.
    pub max_paused_bytes: u64,
    /// The most bytes of this session's contexts on disk; the least recently used are removed first.
    pub max_live_bytes: u64,
    /// The most contexts of this session on disk; the least recently used are removed first.
    pub max_live_files: usize,
    /// The longest result, in bytes of JSON; longer ones are refused.
    pub max_result_bytes: usize,
}

/// The options of a manager.
#[derive(Debug, Clone)]
pub struct ManagerOptions {
    /// The directory, absolute, as the caller spells it.
    pub directory: String,
    /// The directory with its separator, to which a file name is appended.
    pub prefix: String,
    /// The session's id.
    pub session: String,
    /// Whether the caller chose the session's id: file names show it then, and other processes may share the session.
    pub session_is_named: bool,
    /// Whether the pointers of the session's earlier processes are restored.
    pub resumes: bool,
    /// The least bytes of JSON from which on a result counts as large.
    pub persist_threshold: u64,
    /// Whether small outputs are written to files, too.
    pub persist_all: bool,
    /// The most bytes of small outputs in memory.
    pub memory_budget: usize,
    /// The most bytes of the index; beyond, the oldest outputs are found by their metadata only.
    pub index_budget: usize,
    /// The retention policy.
    pub retention: Retention,
    /// What an acknowledged save survives.
    pub durability: Durability,
    /// Guarantees by the caller about locks and shared directories.
    pub trust: Trust,
}
