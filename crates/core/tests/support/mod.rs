//! What the tests with real processes on a real disk share.

#![allow(dead_code, reason = "every test uses its part of it")]

pub mod child;
pub mod contexts;
pub mod evidence;
pub mod histories;
pub mod mutations;
pub mod named_disk;
pub mod points;
pub mod tracer;

/// Runs on this thread, with one thread aside for work that waits for the medium: system calls of
/// both can be told apart and counted.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .thread_keep_alive(std::time::Duration::from_secs(600))
        .build()
        .unwrap()
}

/// Says where a test was when it failed.
pub struct At(pub String);

impl Drop for At {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("FAILED AT {}", self.0);
        }
    }
}
