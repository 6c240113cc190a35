//! What callers ask of a log: records to append, and rewrites.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{
    error::{AppendError, LogError},
    reader::Snapshot,
};
use crate::durable::Durability;

/// What a log is to become: `head`, the kept parts of what a snapshot saw, and everything since.
#[derive(Debug)]
pub struct Rewrite {
    /// What was looked at.
    pub snapshot: Snapshot,
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
    Append { line: LineSource<E>, durability: Durability, waiting: Waiting, done: Done<E> },
    Rewrite { rewrite: Rewrite, waiting: Waiting, done: oneshot::Sender<Result<u64, LogError>> },
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
    pub durability: Durability,
    pub waiting: Waiting,
}
