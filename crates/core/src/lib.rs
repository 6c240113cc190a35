//! The core of agent-context, an npm package that stores tool outputs, histories and shared
//! knowledge of agents.
//!
//! The crate does not depend on Node-API or JavaScript; the addon at the root of the repository
//! binds it. Text search, redaction, storage, the code map and JSON text are crates of their own.
//!
//! | module | contents |
//! |---|---|
//! | [`context`] | `ContextManager`: stores every tool output of a session |
//! | [`history`] | `ContextHistory`: the log of tool invocations |
//! | [`store`] | `ContextStore`: Markdown files that agents share |
//! | [`memory`] | `RepoMemory`: knowledge about one repository |
//! | [`state`] | `StateStore`: keyed documents in a database |
//! | [`copying`] | copies the files of all these between directories and databases |
//! | [`vectors`] | vectors of texts by the caller's embedding model, and their cache |
//! | [`slices`] | reading parts of a stored result |
//!
//! Terms:
//! - *context*: a tool's output, stored as one record with a unique name.
//! - *session*: the contexts of one agent's run, live while a process holds its lease,
//!   a locked file.
//! - *pointer*: the metadata of a context, with the path of its record.
//! - *entry*: one line of a history, or one Markdown file of a store.
//! - *memory*: conventions, decisions, notes and summaries about one repository.
//! - [`Error`], [`Code`]: the error type, with stable codes; errors of the other crates are
//!   converted to it.
//! - [`struct@Debug`]: the caller's debug callback.
//! - [`Trust`]: guarantees by the caller about locks and shared directories.

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

mod blocking;
pub mod context;
pub mod copying;
mod debug;
mod error;
mod facet;
pub mod history;
pub mod memory;
mod safety;
pub mod slices;
pub mod state;
pub mod store;
mod term_query;
pub mod vectors;

pub use blocking::{run_blocking, run_long};
pub use debug::Debug;
pub use error::{Code, Error, Result};
pub use safety::Trust;
