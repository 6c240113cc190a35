//! When files are looked at again.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::EntryIndex;

/// How fresh what is known has to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Stores with fewer entries are compared with their files before every search.
    pub large: usize,
    /// What was compared so long ago is good enough for a search of a larger one.
    pub window: Duration,
    /// Without a search for so long nobody keeps a large one fresh in the background.
    pub idle: Duration,
    /// The cache on disk is written when so many entries changed, and a twentieth of all.
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

/// When what was done last.
#[derive(Debug, Default)]
pub(super) struct Freshness {
    /// When the latest comparison of all files began.
    compared: Mutex<Option<Instant>>,
    searched: Mutex<Option<Instant>>,
    is_watched: AtomicBool,
    /// Passes that began, and the latest one that came to its end.
    begun: AtomicU64,
    done: AtomicU64,
}

impl Freshness {
    /// Whether all files were compared so recently.
    pub fn is_within(&self, window: Duration) -> bool {
        is_within(&self.compared, window)
    }

    pub fn was_searched_within(&self, time: Duration) -> bool {
        is_within(&self.searched, time)
    }

    pub fn note_search(&self) {
        set(&self.searched, Instant::now());
    }

    /// All files were compared from `start` on.
    pub fn note_comparison(&self, start: Instant) {
        set(&self.compared, start);
    }

    /// The number of a pass that begins from now on.
    pub fn next_pass(&self) -> u64 {
        self.begun.load(Ordering::SeqCst) + 1
    }

    /// Whether this pass, or one that began later, has come to its end.
    pub fn is_done(&self, pass: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= pass
    }

    /// A pass begins: its number. Passes are made one after the other.
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
    /// Keeps a large store fresh in the background while searches come. It keeps neither the index nor
    /// the process alive.
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
                // Nobody searched since: there is nothing to keep fresh for.
                if index.freshness.was_searched_within(pause) {
                    // The next search that looks itself says what is wrong.
                    let _ = index.compare_aside().await;
                }
            }
        });
    }
}
