//! The operations that callers queue on a log: appends and rewrites.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{
    check::Check,
    error::{AppendError, LogError},
    reader::LogSnapshot,
};
use crate::Durability;

/// The new contents of a log: `head`, the kept parts of a snapshot, and all records since.
#[derive(Debug)]
pub struct Rewrite {
    /// The state of the log that the caller read.
    pub snapshot: LogSnapshot,
    /// Complete lines that come first.
    pub head: Vec<u8>,
    /// The parts of the snapshot to keep, each of complete lines, in order.
    pub kept: Vec<std::ops::Range<u64>>,
}

/// Creates a record's line, without the newline character.
pub type MakeLine<E> = Box<dyn FnOnce() -> Result<Vec<u8>, E> + Send>;

/// The source of a record's line.
pub(super) enum LineSource<E> {
    /// Created on the thread that writes.
    Make(MakeLine<E>),
    /// Created elsewhere, while earlier records are written.
    Arriving(oneshot::Receiver<Vec<u8>>),
}

pub(super) type Done<E> = oneshot::Sender<Result<(), AppendError<E>>>;

/// An operation in a log's queue.
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

/// When a job began to wait, and how long it waits for other processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub since: Instant,
    pub patience: Duration,
}

impl Waiting {
    pub fn new(patience: Duration) -> Self {
        Self { since: Instant::now(), patience }
    }

    /// When the job times out. Time in which the queue before it makes progress does not count.
    pub fn deadline(self, progress: Option<Instant>) -> Instant {
        progress.map_or(self.since, |progress| progress.max(self.since)) + self.patience
    }
}

/// A line to write, with its newline character.
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
