//! agent-context: a place where agents keep what they learn.
//!
//! The crate is the core of the npm package of the same name. Without the feature `node` it knows
//! nothing of Node-API. Parts that need nothing else of it are crates of their own: `json_text`,
//! `javascript_regex` and `redaction`.
//!
//! | module | its one job |
//! |---|---|
//! | [`context`] | `ContextManager`: every tool output of a session |
//! | [`history`] | `ContextHistory`: the log of tool invocations |
//! | [`store`] | `ContextStore`: the Markdown memory that agents share |
//! | [`memory`] | `RepoMemory`: what is known about a repository |
//! | [`retrieval`] | tokens, ranking and the inverted index |
//! | [`durable`] | whole files, logs, locks, leases: the only code that promises durability |
//! | [`file_system`] | the local disk, and the seams for injected file systems and the crash simulator |
//! | [`names`] | every on-disk name |
//! | [`safety`] | who else can read or change what is stored |
//! | [`call_order`] | calls that take effect in the order in which they were made |
//! | [`aside`] | work that takes long, on a thread of its own |
//! | `parallel` | work on several threads at once |
//! | [`debug`] | the caller's debug callback |
//! | [`error`] | the one error type and its codes |

pub mod aside;
pub mod call_order;
pub mod context;
pub mod debug;
pub mod durable;
pub mod error;
pub mod file_system;
pub mod history;
pub mod memory;
pub mod names;
#[cfg(feature = "node")]
mod node;
mod parallel;
pub mod retrieval;
pub mod safety;
pub mod store;
