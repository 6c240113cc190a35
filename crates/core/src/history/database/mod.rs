//! A history in a PostgreSQL database, for machines without a common disk. Lines, filters, ranking and redaction are those of the
//! local log; this module keeps the lines in rows.
//!
//! Terms:
//! - *namespace*: the name of a log within its database, which is the option `path`.
//! - *lane*: the rows of one writer, a process that appends to a log. It numbers its rows, and uses a number only after the
//!   outcome of those before it is known, so that a repeated statement changes nothing. Writers do not wait for each other.
//! - *position*: the place of an entry in the log's order, unique in it (`at`): microseconds of the server's clock times 1024,
//!   or more if something later is in the log. The entries of one statement have consecutive positions. An entry with
//!   `ifLast` is at the position after the entry that it names, so that the unique index admits one.
//!
//! | module | contents |
//! |---|---|
//! | `lane` | the queue of a writer, and its batches |
//! | `rows` | writing rows |
//! | `append` | appending to the queue |
//! | `pages` | reading lines in pages |
//! | `recall` | reading, searching, ranking, verifying |
//! | `compact`, `bounds` | compaction on request, and in the background |
//! | `copying` | reading and adding lines as they are |
//! | `tail` | following a log |

mod append;
mod bounds;
mod compact;
mod copying;
mod lane;
mod pages;
mod recall;
mod rows;
mod tail;

use std::{path::Path, sync::Arc};

use database::{Database, Failure};
use storage::Registry;
use tasks::CallTracker;

pub use append::DatabaseAppending;
pub use compact::DatabasePlan;
pub(super) use copying::CopiedLines;
pub use tail::DatabaseTail;

use super::Bounds;
use crate::{debug::Debug, error::Error};
use bounds::Housekeeper;
use lane::Lane;

/// The options of a history in a database.
#[derive(Debug, Clone)]
pub struct DatabaseHistoryOptions {
    /// The name of the log.
    pub namespace: String,
    /// The longest line, in bytes: longer entries are refused when written, and skipped when read.
    pub max_entry_bytes: usize,
    /// Bounds beyond which the history compacts itself.
    pub bounds: Bounds,
}

/// A log of tool invocations in a database.
pub struct DatabaseHistory {
    options: DatabaseHistoryOptions,
    database: Arc<Database>,
    debug: Debug,
    lane: Arc<Lane>,
    housekeeper: Housekeeper,
    appends: CallTracker,
}

/// By the address of the database, which lives as long as the lane, and the namespace.
static LANES: Registry<(usize, String), Lane> = Registry::new();

impl DatabaseHistory {
    /// A history. Opens no connection. All histories of the same database and namespace in this process share a lane.
    #[must_use]
    pub fn new(
        options: DatabaseHistoryOptions,
        database: Arc<Database>,
        debug: Debug,
    ) -> Arc<Self> {
        let key = (Arc::as_ptr(&database).addr(), options.namespace.clone());
        let make = || Arc::new(Lane::new(Arc::clone(&database), options.namespace.clone()));
        let lane = LANES.get_or_insert_with(key, make);
        Arc::new(Self {
            options,
            database,
            debug,
            lane,
            housekeeper: Housekeeper::default(),
            appends: CallTracker::default(),
        })
    }

    /// Waits for all queued appends, and for the background compaction that one of them may have started.
    pub async fn close(&self) {
        self.appends.wait_for_all().await;
    }

    fn namespace(&self) -> String {
        self.options.namespace.clone()
    }

    /// The namespace, for messages.
    fn path(&self) -> &Path {
        Path::new(&self.options.namespace)
    }

    fn failed(&self, what: &str, failure: Failure) -> Error {
        Error::from_database(what, &self.options.namespace, failure)
    }

    fn unreadable(&self, failure: Failure) -> Error {
        self.failed("read the history", failure)
    }
}
