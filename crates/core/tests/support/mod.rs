//! Helpers for the tests with real processes on a real disk.

#![allow(dead_code, reason = "every test uses its part of it")]

pub mod child;
pub mod contexts;
pub mod evidence;
pub mod histories;
pub mod mutations;
pub mod named_disk;
pub mod points;
pub mod tracer;

/// A runtime on this thread, with one thread for blocking work, so that the system calls of each
/// can be distinguished and counted.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .thread_keep_alive(std::time::Duration::from_secs(600))
        .build()
        .unwrap()
}

/// Prints the position in a test if it fails.
pub struct At(pub String);

impl Drop for At {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("FAILED AT {}", self.0);
        }
    }
}
