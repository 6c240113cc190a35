//! The Node-API binding: the only place that knows JavaScript.
//!
//! Values cross as text or flat snapshots (`json`, `text`), what Rust has to say crosses back through
//! one queue per environment (`outbox`), work runs on one thread pool (`runtime`). Each exported class
//! has a file of its own (a large one several) and no logic: `agent-context-core` does the work, `lib/` gives it its
//! public face.

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
mod delimited;
mod error;
mod file_system;
mod numbers;
mod outbox;
mod pointers;
mod redaction;
mod redaction_stream;
mod repo_memory;
mod request;
mod runtime;
mod save_details;
mod search;
mod selection;
mod sessions;
mod state_requests;
mod state_store;
mod text;
mod value;

/// What the JavaScript thread allocates, workers free: the system allocators pay for that on the
/// JavaScript thread, a fifth of the cost of a small save.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
