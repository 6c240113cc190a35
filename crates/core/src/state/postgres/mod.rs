//! A state store in tables of a PostgreSQL server, which any number of machines share.
//!
//! | module | contents |
//! |---|---|
//! | `store` | the store's place in the database |
//! | `rows` | rows of items, and chunks of long values |
//! | `reading` | items and pages of them |
//! | `search`, `watch` | ranked search, and changes since a position |
//! | `terms` | rows with the terms of items, by which a search is narrowed |
//! | `writer` | the queue of calls, in groups |
//! | `claim` | the number of a write, by which a repeated one is recognised, and the lock of the store |
//! | `puts`, `removals` | groups of single writes or removals, in one statement |
//! | `changes` | all other calls, in one transaction |
//! | `housekeeping` | statistics, verification, sweeps |
//!
//! Every write first locks the row of its store and takes its numbers from it, so the changes of a store are committed in
//! the order of their numbers: a watcher that has read up to a number misses none. The lock is held until the commit. A
//! process writes all waiting calls at once, so it needs the lock seldom. The server's clock sets all times.

mod changes;
mod claim;
mod housekeeping;
mod puts;
mod reading;
mod removals;
mod rows;
mod search;
mod store;
mod terms;
mod watch;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use redaction::Redaction;
use tasks::{CallTracker, TrackedCall};
use tokio::sync::oneshot;

use super::{
    Operation, Outcome, SharedStateOptions, operation::interrupted, revision::Position,
    words::Words,
};
use crate::{debug::Debug, error::Result};
use store::Store;
use writer::{Call, Writer};

/// A state store.
pub(super) struct State {
    store: Arc<Store>,
    writer: Arc<Writer>,
    words: Arc<Words>,
    calls: CallTracker,
    debug: Debug,
}

/// A call in the writer's queue.
pub(super) struct Pending {
    answer: oneshot::Receiver<Result<Vec<Outcome>>>,
    writer: Arc<Writer>,
    store: Arc<Store>,
    _call: TrackedCall,
}

impl Pending {
    /// The outcomes of the operations.
    pub async fn outcomes(self) -> Result<Vec<Outcome>> {
        self.writer.start();
        self.answer.await.unwrap_or_else(|_| Err(interrupted()))
    }

    /// The position that a call returned.
    pub async fn position(self) -> Result<Position> {
        let store = Arc::clone(&self.store);
        let outcomes = self.outcomes().await?;
        let Some(Outcome::Position(sequence)) = outcomes.into_iter().next() else {
            return Err(interrupted());
        };
        Ok(Position { sequence, ..store.head().await?.position })
    }
}

impl State {
    /// A store. Opens no connection.
    pub fn new(options: SharedStateOptions, debug: Debug) -> Arc<Self> {
        let store = Arc::new(Store::new(options));
        Arc::new(Self {
            writer: Arc::new(Writer::new(Arc::clone(&store))),
            store,
            words: Arc::default(),
            calls: CallTracker::default(),
            debug,
        })
    }

    /// Carries out operations, all or none of them, after those of earlier calls.
    pub fn change(&self, operations: Vec<Operation>, redaction: Option<Redaction>) -> Pending {
        let (sender, answer) = oneshot::channel();
        self.writer.submit(Call { operations, redaction, answer: sender });
        Pending {
            answer,
            writer: Arc::clone(&self.writer),
            store: Arc::clone(&self.store),
            _call: self.calls.track(),
        }
    }

    /// Waits for the calls so far, and closes the connections that nothing uses.
    pub async fn close(&self) {
        self.calls.wait_for_all().await;
        self.store.database.close_idle();
    }
}
