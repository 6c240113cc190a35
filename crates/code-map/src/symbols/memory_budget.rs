//! Memory budgets of the parser: for one file, and for all files that are parsed at the same time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tasks::Cancelled;

/// Minimum budget of a file. Source files need 8 to 77 bytes per byte of text.
const SMALLEST_BUDGET: usize = 64 << 20;
const BYTES_PER_SOURCE_BYTE: usize = 512;

/// The total budget of all files.
const TOTAL: usize = 1 << 30;

/// Interval at which a file that waits for memory checks for cancellation.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The pool that all threads of the process share.
static SHARED: MemoryPool = MemoryPool::new(TOTAL);

/// The budget for a file of this size, in bytes.
pub const fn budget(source_bytes: usize) -> usize {
    let budget = source_bytes.saturating_mul(BYTES_PER_SOURCE_BYTE);
    if budget < SMALLEST_BUDGET {
        SMALLEST_BUDGET
    } else if budget > TOTAL {
        TOTAL
    } else {
        budget
    }
}

/// Takes bytes from the shared pool. Returns whether there were enough.
pub fn take(bytes: usize) -> bool {
    SHARED.take(bytes)
}

/// Returns bytes to the pool.
pub fn give_back(bytes: usize) {
    SHARED.give_back(bytes);
}

/// Waits until this many bytes are free, and takes them. `None` when cancelled.
pub fn reserve(bytes: usize, cancelled: &Cancelled) -> Option<Reservation<'static>> {
    SHARED.reserve(bytes, cancelled)
}

/// Memory that several parses share.
struct MemoryPool {
    total: usize,
    used: Mutex<usize>,
    freed: Condvar,
}

impl MemoryPool {
    const fn new(total: usize) -> Self {
        Self { total, used: Mutex::new(0), freed: Condvar::new() }
    }

    // The number is valid even if a thread panicked while it held the lock.
    fn used(&self) -> MutexGuard<'_, usize> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, bytes: usize) -> bool {
        self.take_locked(&mut self.used(), bytes)
    }

    fn take_locked(&self, used: &mut usize, bytes: usize) -> bool {
        let sum = used.saturating_add(bytes);
        let fits = sum <= self.total;
        if fits {
            *used = sum;
        }
        fits
    }

    fn give_back(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut used = self.used();
        *used = used.saturating_sub(bytes);
        drop(used);
        self.freed.notify_all();
    }

    fn reserve(&self, bytes: usize, cancelled: &Cancelled) -> Option<Reservation<'_>> {
        let mut used = self.used();
        while !cancelled.is_set() {
            if self.take_locked(&mut used, bytes) {
                return Some(Reservation { pool: self, bytes });
            }
            let waited = self.freed.wait_timeout(used, CHECK_INTERVAL);
            used = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}

/// Bytes that were taken in advance. They are returned when this is dropped.
pub struct Reservation<'a> {
    pool: &'a MemoryPool,
    bytes: usize,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.pool.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_use_64_mebibytes_or_512_bytes_a_byte() {
        assert_eq!(budget(0), 64 << 20);
        assert_eq!(budget(128 << 10), 64 << 20);
        assert_eq!(budget((128 << 10) + 1), (64 << 20) + 512);
        assert_eq!(budget(1 << 20), 512 << 20);
        assert_eq!(budget(usize::MAX), TOTAL);
    }

    #[test]
    fn all_files_together_use_no_more_than_the_total() {
        let pool = MemoryPool::new(100);
        assert!(pool.take(60) && pool.take(40));
        assert!(!pool.take(1) && pool.take(0) && !pool.take(usize::MAX));
        pool.give_back(60);
        assert!(!pool.take(61) && pool.take(60));
    }

    #[test]
    fn a_reservation_waits_for_memory_and_gives_it_back() {
        let (pool, cancelled) = (MemoryPool::new(100), Cancelled::default());
        assert!(pool.take(80));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.reserve(50, &cancelled).map(|one| one.bytes));
            pool.give_back(80);
            assert_eq!(waiting.join().unwrap(), Some(50));
        });
        let reservation = pool.reserve(100, &cancelled);
        assert!(!pool.take(1));
        assert!(pool.reserve(1, &Cancelled::set()).is_none());
        drop(reservation);
        assert!(pool.take(100));
    }
}
