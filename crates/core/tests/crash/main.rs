//! Crash tests of files, logs, histories, managers, stores and memories on a simulated disk: a
//! power failure after every operation, and every call failing.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

#[path = "../contexts/mod.rs"]
mod contexts;
mod contexts_story;
mod cuts;
mod evidence;
mod failures;
mod files;
mod history;
mod history_failures;
mod history_index;
mod log;
mod log_failures;
mod manager;
mod manager_failures;
mod memory;
mod process;
mod store;
mod story;
