//! agent-context: a place where agents keep what they learn.
//!
//! This crate is the core of the npm package of the same name. It does not know Node-API or JavaScript:
//! the addon at the root of the repository binds it. Searching, redaction, storage, the code map and JSON as
//! text are crates of their own.
//!
//! | module | contents |
//! |---|---|
//! | [`context`] | `ContextManager`: every tool output of a session |
//! | [`history`] | `ContextHistory`: the log of tool invocations |
//! | [`store`] | `ContextStore`: the Markdown memory that agents share |
//! | [`memory`] | `RepoMemory`: what is known about a repository |
//! | [`state`] | `StateStore`: keyed documents in a database |
//! | [`slices`] | parts of a stored result |
//!
//! Terms:
//! - *context*: a tool's output, stored as one record under a name of its own.
//! - *session*: the contexts of one agent's run, alive as long as its lease.
//! - *pointer*: what describes a context and leads to it.
//! - *entry*: one line of a history, or one Markdown file of a store.
//! - *memory*: conventions, decisions, notes and summaries about one repository.
//! - [`Error`], [`Code`]: a failure with a code that callers rely on; errors of the other crates become such.
//! - [`struct@Debug`]: the caller's debug callback.
//! - [`Trust`]: what the caller vouches for about locks and shared directories.

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

mod blocking;
pub mod context;
mod debug;
mod error;
pub mod history;
pub mod memory;
mod safety;
pub mod slices;
pub mod state;
pub mod store;

pub use blocking::{run_blocking, run_long};
pub use debug::Debug;
pub use error::{Code, Error, Result};
pub use safety::Trust;
