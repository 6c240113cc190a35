//! Reading entries: by path, by what they say, by what they are linked to.

use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use storage::Payload;
use tasks::in_place;

use super::{
    Entry, Filter, Location, Problem, Store, Summary,
    index::{Direction, EntryIndex},
    write::read_back,
};
use crate::error::{Code, Error, Result};

/// Which entries are near another one.
#[derive(Debug, Clone, Deserialize)]
pub struct Related {
    /// Where to begin.
    pub path: String,
    /// Links between that entry and the farthest, at most.
    pub depth: usize,
    /// Which way links are followed.
    pub direction: Direction,
    /// At most this many.
    pub limit: usize,
}

/// What is in a store, and what is wrong with it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// How many entries there are.
    pub entries: usize,
    /// Files that should be entries and are not.
    pub problems: Vec<FileProblem>,
    /// Links to entries that are not there.
    pub dangling_links: Vec<DanglingLink>,
}

/// What is wrong with which file.
#[derive(Debug, Clone, Serialize)]
pub struct FileProblem {
    /// Relative to the store.
    pub path: String,
    /// What and where.
    #[serde(flatten)]
    pub problem: Problem,
}

/// A link that leads nowhere.
#[derive(Debug, Clone, Serialize)]
pub struct DanglingLink {
    /// The entry that has it.
    pub path: String,
    /// Where it should lead.
    pub link: String,
}

impl Store {
    /// Reads an entry.
    ///
    /// # Errors
    /// `InvalidArgument`, `OutsideDirectory`, `NotFound`, `Corrupt` with file and line, `TooLarge`, `Io`
    pub async fn read(&self, path: &str) -> Result<Entry> {
        let location = Location::parse(path)?;
        let root = self.root_of(&location).await?;
        self.settle(&root).await;
        let bytes = self.bytes_of(&root, &location).await?;
        read_back(&location, Payload::new(bytes)).await
    }

    /// The entries that meet every condition, newest first, or the best first.
    ///
    /// # Errors
    /// `InvalidArgument` for a query that cannot be read, `Io`
    pub async fn search(&self, filter: &Filter) -> Result<Vec<Entry>> {
        let Some((root, index)) = self.fresh_index().await? else { return Ok(Vec::new()) };
        let found = index.find(filter).await?;
        self.entries_at(&root, found).await
    }

    /// As [`Store::search`], without the texts: no file is read.
    ///
    /// # Errors
    /// Those of [`Store::search`].
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Summary>> {
        let Some((_, index)) = self.fresh_index().await? else { return Ok(Vec::new()) };
        index.summaries(filter).await
    }

    /// The entries that an entry links to and those that link to it, the nearest first.
    ///
    /// # Errors
    /// `InvalidArgument`, `OutsideDirectory`, `NotFound` when there is no such entry, `Io`
    pub async fn related(&self, related: &Related) -> Result<Vec<Entry>> {
        let Related { path, depth, direction, limit } = related;
        let location = Location::parse(path)?;
        let Some((root, index)) = self.fresh_index().await? else {
            return Err(self.not_found(&location));
        };
        if index.summary(path).is_none() {
            return Err(self.not_found(&location));
        }
        let found = in_place(|| index.related(path, *depth, *direction, *limit)).await;
        self.entries_at(&root, found).await
    }

    /// What is in the store, and what is wrong with it. Changes nothing.
    ///
    /// # Errors
    /// `Io`
    pub async fn verify(&self) -> Result<VerifyReport> {
        let mut report =
            VerifyReport { entries: 0, problems: Vec::new(), dangling_links: Vec::new() };
        let Some((_, index)) = self.fresh_index().await? else { return Ok(report) };
        report.entries = index.known().len();
        let problems = index.problems().into_iter();
        report.problems = problems.map(|(path, problem)| FileProblem { path, problem }).collect();
        let dangling = index.dangling_links().into_iter();
        report.dangling_links = dangling.map(|(path, link)| DanglingLink { path, link }).collect();
        Ok(report)
    }

    /// What is known of the entries, brought up to date; `None` when there is no store yet.
    pub(super) async fn fresh_index(&self) -> Result<Option<(PathBuf, Arc<EntryIndex>)>> {
        let Some(root) = self.root().await? else { return Ok(None) };
        self.settle(&root).await;
        let index = self.shared.index(&root, self.options.max_entry_bytes);
        index.refresh(&self.debug).await?;
        Ok(Some((root, index)))
    }

    /// Reads entries; those that have gone meanwhile are left out.
    async fn entries_at(&self, root: &Path, locations: Vec<Location>) -> Result<Vec<Entry>> {
        let mut entries = Vec::with_capacity(locations.len());
        for location in locations {
            // A cancelled search stops here.
            tokio::task::yield_now().await;
            match self.bytes_of(root, &location).await {
                Ok(bytes) => entries.extend(read_back(&location, Payload::new(bytes)).await),
                Err(Error { code: Code::Io, message, cause }) => {
                    return Err(Error { code: Code::Io, message, cause });
                }
                Err(_) => {}
            }
        }
        Ok(entries)
    }
}
