//! Decides when the index is compared with the files. For a store of fewer than 10 000 entries,
//! before every search. For a larger one, in the background while searches come, and before a
//! search only if the last comparison is older than 10 s.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::EntryIndex;

/// When files are compared and when the cache is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Stores with fewer entries are compared with their files before every search.
    pub large: usize,
    /// A search of a larger store accepts a comparison that began at most this long ago.
    pub window: Duration,
    /// The background comparison of a large store ends when no search came for this long.
    pub idle: Duration,
    /// The cache is written after this many changed entries, if they are also a twentieth of all
    /// entries.
    pub least_changes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            large: 10_000,
            window: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            least_changes: 256,
        }
    }
}

/// The times of the last comparison and the last search.
#[derive(Debug, Default)]
pub(super) struct Freshness {
    /// When the latest comparison of all files began.
    compared: Mutex<Option<Instant>>,
    searched: Mutex<Option<Instant>>,
    is_watched: AtomicBool,
    /// The number of passes that began, and the number of the latest one that ended.
    begun: AtomicU64,
    done: AtomicU64,
}

impl Freshness {
    /// Whether the latest comparison of all files began within `window`.
    pub fn is_within(&self, window: Duration) -> bool {
        is_within(&self.compared, window)
    }

    pub fn was_searched_within(&self, time: Duration) -> bool {
        is_within(&self.searched, time)
    }

    pub fn note_search(&self) {
        set(&self.searched, Instant::now());
    }

    /// Records that all files were compared by a pass that began at `start`.
    pub fn note_comparison(&self, start: Instant) {
        set(&self.compared, start);
    }

    /// The number of the next pass to begin.
    pub fn next_pass(&self) -> u64 {
        self.begun.load(Ordering::SeqCst) + 1
    }

    /// Whether the pass with this number, or a later one, has ended.
    pub fn is_done(&self, pass: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= pass
    }

    /// Begins a pass and returns its number. Passes do not overlap.
    pub fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn end(&self, pass: u64) {
        self.done.fetch_max(pass, Ordering::SeqCst);
    }
}

fn is_within(time: &Mutex<Option<Instant>>, window: Duration) -> bool {
    let time = time.lock().unwrap_or_else(PoisonError::into_inner);
    time.is_some_and(|time| time.elapsed() < window)
}

fn set(time: &Mutex<Option<Instant>>, now: Instant) {
    *time.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
}

impl EntryIndex {
    /// Starts the background comparison of a large store, which runs as long as searches come. It
    /// holds a weak reference to the index, and does not keep the process from exiting.
    pub(super) fn watch(self: &Arc<Self>) {
        if self.freshness.is_watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let index = Arc::downgrade(self);
        let pause = self.limits.window / 2;
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(index) = index.upgrade() else { return };
                if !index.is_large() || !index.freshness.was_searched_within(index.limits.idle) {
                    index.freshness.is_watched.store(false, Ordering::SeqCst);
                    return;
                }
                // Without a search since the last comparison, nothing needs to be compared.
                if index.freshness.was_searched_within(pause) {
                    // The error is dropped here: the next search that compares files itself reports
                    // it.
                    let _ = index.compare_aside().await;
                }
            }
        });
    }
}
