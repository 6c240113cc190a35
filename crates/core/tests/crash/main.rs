//! Every change of the kernel, the history, the manager, the store and the memory, with the power cut
//! behind every operation and with every call failing, on the simulated disk.

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
