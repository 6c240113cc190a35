//! The allocator of the addon.

use std::ffi::{c_int, c_long};

/// Memory that the JavaScript thread allocates is freed by worker threads. With the system allocators, this
/// costs the JavaScript thread a fifth of the time of a small save.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc 2.
const PURGE_DELAY: c_int = 15;
/// Its default, in ms.
const DEFAULT_DELAY: c_long = 10;
/// The time after which freed pages are returned to the system, in ms.
const LONGER_DELAY: c_long = 1000;

unsafe extern "C" {
    fn mi_option_get(option: c_int) -> c_long;
    fn mi_option_set(option: c_int, value: c_long);
}

/// Keeps freed pages for a second. A text that waits for its redaction occupies its buffers for longer than the
/// default delay, after which the next texts would fault all their pages in again: that takes the JavaScript
/// thread longer than copying them. Changes nothing if the environment sets the delay.
pub fn keep_freed_pages() {
    // SAFETY: the functions are those of the linked allocator, and take any numbers.
    unsafe {
        if mi_option_get(PURGE_DELAY) == DEFAULT_DELAY {
            mi_option_set(PURGE_DELAY, LONGER_DELAY);
        }
    }
}
