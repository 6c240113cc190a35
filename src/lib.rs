//! The Node-API binding, the only crate that knows JavaScript.
//!
//! Values from JavaScript are text or flat snapshots (`value`, `text`). Answers, debug messages and calls of
//! injected file systems go through one completion queue per environment (`outbox`); work runs on one thread
//! pool (`runtime`). Each exported class has one file or several, without logic: `agent-context-core` does
//! the work, and `lib/` has the public classes.

#![cfg(feature = "node")]
#![deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)]
#![allow(unsafe_code, reason = "Node-API is C")]
#![allow(
    missing_docs,
    dead_code,
    reason = "napi-derive generates undocumented items, and registers exports only in the addon itself"
)]

mod answers;
mod context_bytes;
mod context_grep;
mod context_history;
mod context_import;
mod context_manager;
mod context_slices;
mod context_store;
mod context_stream;
mod copying;
mod database;
mod delimited;
mod environment;
mod error;
mod file_system;
mod memory;
mod numbers;
mod outbox;
mod pointers;
mod redaction;
mod redaction_stream;
mod repo_memory;
mod request;
mod runtime;
mod save_batch;
mod save_details;
mod search;
mod selection;
mod sessions;
mod state_requests;
mod state_search;
mod state_store;
mod text;
mod value;
mod vectors;
