//! What callers ask of a log: records to append, and rewrites.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{
    check::Check,
    error::{AppendError, LogError},
    reader::LogSnapshot,
};
use crate::Durability;

/// What a log is to become: `head`, the kept parts of what a snapshot saw, and everything since.
#[derive(Debug)]
pub struct Rewrite {
    /// What was looked at.
    pub snapshot: LogSnapshot,
    /// Whole lines that come first.
    pub head: Vec<u8>,
    /// Which parts of the snapshot stay, whole lines each, in order.
    pub kept: Vec<std::ops::Range<u64>>,
}

/// Makes a record's line, without the newline character.
pub type MakeLine<E> = Box<dyn FnOnce() -> Result<Vec<u8>, E> + Send>;

/// Where a record's line comes from.
pub(super) enum LineSource<E> {
    /// It is made on the thread that writes.
    Make(MakeLine<E>),
    /// It is made elsewhere, while the records before it are written.
    Arriving(oneshot::Receiver<Vec<u8>>),
}

pub(super) type Done<E> = oneshot::Sender<Result<(), AppendError<E>>>;

/// What waits in a log's queue.
pub(super) enum Job<E> {
    Append {
        line: LineSource<E>,
        check: Option<Check>,
        durability: Durability,
        waiting: Waiting,
        done: Done<E>,
    },
    Rewrite {
        rewrite: Rewrite,
        waiting: Waiting,
        done: oneshot::Sender<Result<u64, LogError>>,
    },
}

/// Since when a job waits, and how long it waits for others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub since: Instant,
    pub patience: Duration,
}

impl Waiting {
    pub fn new(patience: Duration) -> Self {
        Self { since: Instant::now(), patience }
    }

    /// When it gives up. What the queue before it took does not count as long as that moved on.
    pub fn deadline(self, progress: Option<Instant>) -> Instant {
        progress.map_or(self.since, |progress| progress.max(self.since)) + self.patience
    }
}

/// A line to be written: with its newline character.
pub(super) struct Record {
    pub line: Vec<u8>,
    pub check: Option<Check>,
    pub durability: Durability,
    pub waiting: Waiting,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn patience_counts_from_where_the_queue_moved_on_last() {
        let waiting = Waiting::new(PATIENCE);
        let later = waiting.since + Duration::from_secs(5);
        assert_eq!(waiting.deadline(None), waiting.since + PATIENCE);
        assert_eq!(waiting.deadline(Some(later)), later + PATIENCE);
        let earlier = Waiting { since: later, ..waiting };
        assert_eq!(earlier.deadline(Some(waiting.since)), later + PATIENCE);
    }
}
