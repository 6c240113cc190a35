//! Appending to a history in a database.

use std::sync::Arc;

use tasks::{LONG, TrackedCall};
use tokio::sync::oneshot;

use super::{
    super::record::{Appended, NewEntry},
    DatabaseHistory,
    lane::{Job, Made, Make, Source},
};
use crate::{
    blocking::run_long,
    error::{Error, Result},
};

/// An append in progress.
#[must_use = "the entry is written when the outcome is awaited, and later ones wait for a long one"]
pub struct DatabaseAppending {
    history: Arc<DatabaseHistory>,
    call: TrackedCall,
    bytes: usize,
    long_line: Option<(Make, oneshot::Sender<Made>)>,
    outcome: oneshot::Receiver<Result<Appended>>,
}

impl DatabaseHistory {
    /// Queues an entry; its position among those of this process is decided by the order of the calls.
    pub fn append(self: &Arc<Self>, entry: NewEntry) -> DatabaseAppending {
        let call = self.appends.track();
        let max_line = self.options.max_entry_bytes;
        let bytes = entry.length_hint();
        let (operation_id, previous) = (entry.operation_id.clone(), entry.previous.clone());
        let make: Make =
            Box::new(move || entry.line(max_line).map(|(line, redacted)| Made { line, redacted }));
        let (source, long_line) = if bytes > LONG {
            let (made, line) = oneshot::channel();
            (Source::Arriving(line), Some((make, made)))
        } else {
            (Source::Make(make), None)
        };
        let (done, outcome) = oneshot::channel();
        self.lane.push(Job { source, operation_id, previous, max_line, done });
        DatabaseAppending { history: Arc::clone(self), call, bytes, long_line, outcome }
    }
}

impl DatabaseAppending {
    /// Returns once the entry, or the existing one of the same operation, is committed.
    ///
    /// # Errors `Conflict` if the last entry is not the expected one, `TooLarge`, `InvalidArgument` for a
    /// value that is not valid, or `Redaction`: nothing was written then. `Storage`, `Timeout` or `Access`:
    /// the error says whether the entry may have been written.
    pub async fn outcome(self) -> Result<Appended> {
        let Self { history, call: _call, bytes, long_line, outcome } = self;
        history.lane.ensure_served();
        if let Some((make, made)) = long_line {
            // On an error, the sender is dropped, and the lane skips the entry.
            let line = run_long(bytes, make).await?;
            // If the lane was dropped, the append below is interrupted.
            let _ = made.send(line);
        }
        let appended = outcome.await.map_err(|_| Error::internal("appending was interrupted"))?;
        if matches!(appended, Ok(Appended::Written { .. })) {
            history.keep_within_bounds(bytes);
        }
        appended
    }
}
