//! agent-context: a place where agents keep what they learn.
//!
//! The crate is the core of the npm package of the same name. Without the feature `node` it knows
//! nothing of Node-API. Parts that need nothing else of it are crates of their own: `json_text`,
//! `javascript_regex`, `redaction`, `tasks`,
//! `storage`, `text_index` and `code_map`.
//!
//! | module | its one job |
//! |---|---|
//! | [`context`] | `ContextManager`: every tool output of a session |
//! | [`history`] | `ContextHistory`: the log of tool invocations |
//! | [`store`] | `ContextStore`: the Markdown memory that agents share |
//! | [`memory`] | `RepoMemory`: what is known about a repository |
//! | [`slices`] | parts of a stored result |
//! | [`safety`] | who else can read or change what is stored |
//! | [`blocking`] | work that blocks or takes long, on threads for such work |
//! | [`debug`] | the caller's debug callback |
//! | [`error`] | the one error type and its codes |

pub mod blocking;
pub mod context;
pub mod debug;
pub mod error;
pub mod history;
pub mod memory;
#[cfg(feature = "node")]
mod node;
pub mod safety;
pub mod slices;
pub mod store;
