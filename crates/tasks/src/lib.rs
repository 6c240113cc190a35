//! How work runs beside asynchronous tasks: on which threads, how many at once, and in which order.
//!
//! This crate does not start a runtime, and does not know what the work is. Its callers run on a tokio
//! runtime with few worker threads, which work that blocks or computes for long must not occupy.
//!
//! Terms:
//! - *blocking work*: work that waits for files, or computes for long, and yields nowhere meanwhile.
//! - *long*: longer than [`LONG`] bytes, of a text: redacting, parsing or copying it takes milliseconds.
//! - [`Cancelled`]: a flag that the work examines, set when its caller stops waiting.
//! - [`CallOrder`]: lets calls on one object take effect in the order in which they were made.
//! - [`CallTracker`]: knows which calls on one object have not ended; `close` waits for them.

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

mod blocking;
mod call_order;
mod call_tracker;
mod parallel;

pub use blocking::{
    Cancelled, Interrupted, LONG, MAX_LONG_THREADS, in_place, in_place_if_long, run_blocking,
    run_long,
};
pub use call_order::{CallOrder, CallPlace};
pub use call_tracker::{CallTracker, Calls, TrackedCall};
pub use parallel::{filter_map_on_all_cores, map_on_few_threads, thread_count};
