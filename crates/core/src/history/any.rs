//! A history in a file or in a database: where the two have the same operations, the caller need not know which it is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Appended, Appending, CompactReport, DatabaseAppending, DatabaseHistory, DatabasePlan,
    DatabaseTail, Filter, History, NewEntry, Plan, Policy, Summary, Tail, TailStart, VerifyReport,
    recall::Recalled, record::RedactedEntry,
};
use crate::{
    error::{Error, Result},
    vectors::{Embedded, Vectors},
};

/// A history.
#[derive(Clone)]
pub enum AnyHistory {
    /// In a file.
    File(Arc<History>),
    /// In a database.
    Database(Arc<DatabaseHistory>),
}

/// An append in progress.
#[must_use = "the entry is written when the outcome is awaited, and later ones wait for a long one"]
pub enum AnyAppending {
    /// To a file.
    File(Appending),
    /// To a database.
    Database(DatabaseAppending),
}

/// A position in a history that moves forwards.
#[derive(Clone)]
pub enum AnyTail {
    /// In a file.
    File(Arc<Tail>),
    /// In a database.
    Database(Arc<DatabaseTail>),
}

/// The result of planning a compaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnyPlan {
    /// Of a file.
    File(Plan),
    /// Of a database.
    Database(DatabasePlan),
}

impl AnyHistory {
    /// Queues an entry; its position among those of this process is decided by the order of the calls.
    pub fn append(&self, entry: NewEntry) -> AnyAppending {
        match self {
            Self::File(history) => AnyAppending::File(history.append(entry)),
            Self::Database(history) => AnyAppending::Database(history.append(entry)),
        }
    }

    /// The latest entries; see [`History::read`].
    ///
    /// # Errors
    /// Those of the file or the database, here and below.
    pub async fn read(&self, limit: usize, max_bytes: usize) -> Result<Recalled> {
        match self {
            Self::File(history) => history.read(limit, max_bytes).await,
            Self::Database(history) => history.read(limit, max_bytes).await,
        }
    }

    /// The latest matching entries; see [`History::search`].
    ///
    /// # Errors
    /// As above.
    pub async fn search(&self, filter: Filter) -> Result<Recalled> {
        match self {
            Self::File(history) => history.search(filter).await,
            Self::Database(history) => history.search(filter).await,
        }
    }

    /// The best matching entries; see [`History::rank`].
    ///
    /// # Errors
    /// As above.
    pub async fn rank(&self, filter: Filter, embedded: Option<Embedded>) -> Result<Recalled> {
        match self {
            Self::File(history) => history.rank(filter, embedded).await,
            Self::Database(history) => history.rank(filter, embedded).await,
        }
    }

    /// The vectors of entries by the embedding model with this name; without a name, new ones in memory.
    #[must_use]
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        match self {
            Self::File(history) => history.vectors(model),
            Self::Database(history) => history.vectors(model),
        }
    }

    /// The texts without a vector of entries that a ranked search would rank; see [`History::texts_without_vector`].
    ///
    /// # Errors
    /// As above.
    pub async fn texts_without_vector(
        &self,
        filter: Filter,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<Vec<String>> {
        match self {
            Self::File(history) => history.texts_without_vector(filter, vectors, limit).await,
            Self::Database(history) => history.texts_without_vector(filter, vectors, limit).await,
        }
    }

    /// A position to follow the history from. Reads nothing yet.
    #[must_use]
    pub fn tail(&self, start: TailStart) -> AnyTail {
        match self {
            Self::File(history) => AnyTail::File(history.tail(start)),
            Self::Database(history) => AnyTail::Database(history.tail(start)),
        }
    }

    /// Decides which entries would be dropped; see [`History::plan`].
    ///
    /// # Errors
    /// As above.
    pub async fn plan(&self, policy: Policy, wants_entries: bool) -> Result<(AnyPlan, Recalled)> {
        Ok(match self {
            Self::File(history) => {
                let (plan, entries) = history.plan(policy, wants_entries).await?;
                (AnyPlan::File(plan), entries)
            }
            Self::Database(history) => {
                let (plan, entries) = history.plan(policy, wants_entries).await?;
                (AnyPlan::Database(plan), entries)
            }
        })
    }

    /// Carries out a plan of the same history; see [`History::compact`].
    ///
    /// # Errors
    /// As above, and `Conflict` if the history was changed since the plan.
    pub async fn compact(
        &self,
        plan: AnyPlan,
        summary: Option<Summary>,
    ) -> Result<(CompactReport, Option<RedactedEntry>)> {
        match (self, plan) {
            (Self::File(history), AnyPlan::File(plan)) => history.compact(plan, summary).await,
            (Self::Database(history), AnyPlan::Database(plan)) => {
                history.compact(plan, summary).await
            }
            _ => Err(Error::internal("the plan is that of another kind of history")),
        }
    }

    /// Reads every line; see [`History::verify`].
    ///
    /// # Errors
    /// As above.
    pub async fn verify(&self) -> Result<VerifyReport> {
        match self {
            Self::File(history) => history.verify().await,
            Self::Database(history) => history.verify().await,
        }
    }

    /// Waits for all queued appends, and for a background compaction.
    pub async fn close(&self) {
        match self {
            Self::File(history) => history.close().await,
            Self::Database(history) => history.close().await,
        }
    }
}

impl AnyAppending {
    /// Returns once the entry, or the existing one of the same operation, is stored.
    ///
    /// # Errors
    /// Those of [`Appending::outcome`] or [`DatabaseAppending::outcome`].
    pub async fn outcome(self) -> Result<Appended> {
        match self {
            Self::File(appending) => appending.outcome().await,
            Self::Database(appending) => appending.outcome().await,
        }
    }
}

impl AnyTail {
    /// The next entries, up to the size of one answer; empty if there are none yet.
    ///
    /// # Errors
    /// `NotFound` if the entry to begin after does not exist, or the error of reading.
    pub async fn next(&self) -> Result<Recalled> {
        match self {
            Self::File(tail) => tail.next().await,
            Self::Database(tail) => tail.next().await,
        }
    }
}
