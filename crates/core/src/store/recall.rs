//! Queries: reading entries by path, by filters, and by links.

use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use storage::{Payload, layout};
use tasks::in_place;

use super::{
    Entry, Filter, Location, Problem, Store, Summary,
    index::{Direction, EntryIndex},
    read_ahead::{AT_ONCE, ReadAhead},
    write::read_back,
};
use crate::{
    error::{Code, Error, Result},
    vectors::{Embedded, Vectors},
};

/// The arguments of [`Store::related`].
#[derive(Debug, Clone, Deserialize)]
pub struct Related {
    /// The entry to start at.
    pub path: String,
    /// The greatest number of links between the two entries.
    pub depth: usize,
    /// The direction in which links are followed.
    pub direction: Direction,
    /// The greatest number of results.
    pub limit: usize,
}

/// The result of [`Store::verify`].
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// The number of valid entries.
    pub entries: usize,
    /// Files at an entry's path that are no valid entries.
    pub problems: Vec<FileProblem>,
    /// Links to missing entries.
    pub dangling_links: Vec<DanglingLink>,
}

/// A file with an error.
#[derive(Debug, Clone, Serialize)]
pub struct FileProblem {
    /// The path relative to the store.
    pub path: String,
    /// The error and its line.
    #[serde(flatten)]
    pub problem: Problem,
}

/// A link to a missing entry.
#[derive(Debug, Clone, Serialize)]
pub struct DanglingLink {
    /// The entry with the link.
    pub path: String,
    /// The missing path.
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

    /// The entries that match the filter: newest first, or by score if the filter is ranked. `embedded` is the embedding of a
    /// ranked query.
    ///
    /// # Errors `InvalidArgument` for a query with a syntax error, `Io`
    pub async fn search(&self, filter: &Filter, embedded: Option<Embedded>) -> Result<Vec<Entry>> {
        let Some((root, index)) = self.fresh_index().await? else { return Ok(Vec::new()) };
        let found = index.find(filter, embedded, &self.debug).await?;
        self.entries_at(&root, found).await
    }

    /// The vectors of entries by the embedding model with this name; without a name, new ones in memory.
    #[must_use]
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        let folder = self.options.directory.join(layout::vectors(layout::STORE));
        Vectors::open(self.shared.file_system.disk(), &folder, model, self.debug.clone())
    }

    /// What a filter's query searches for, and the texts of entries that the filter admits and that have no vector: at most
    /// `limit`, latest first.
    ///
    /// # Errors
    /// Those of [`Store::search`].
    pub async fn texts_without_vector(
        &self,
        filter: &Filter,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<(Option<String>, Vec<String>)> {
        match self.fresh_index().await? {
            Some((_, index)) => index.texts_without_vector(filter, vectors, limit).await,
            None => Ok((None, Vec::new())),
        }
    }

    /// As [`Store::search`], but returns metadata from the index and reads no file.
    ///
    /// # Errors
    /// Those of [`Store::search`].
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Summary>> {
        let Some((_, index)) = self.fresh_index().await? else { return Ok(Vec::new()) };
        index.summaries(filter, &self.debug).await
    }

    /// The entries that an entry links to and those that link to it, nearest first.
    ///
    /// # Errors
    /// `InvalidArgument`, `OutsideDirectory`, `NotFound` if the entry does not exist, `Io`
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

    /// Counts the entries and lists invalid files and links to missing entries. Changes nothing.
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

    /// The refreshed index; `None` if the store's directory does not exist.
    pub(super) async fn fresh_index(&self) -> Result<Option<(PathBuf, Arc<EntryIndex>)>> {
        let Some(root) = self.root().await? else { return Ok(None) };
        self.settle(&root).await;
        let index = self.shared.index(&root, self.options.max_entry_bytes);
        index.refresh(&self.debug).await?;
        Ok(Some((root, index)))
    }

    /// Reads entries; those that were removed meanwhile are left out.
    async fn entries_at(&self, root: &Path, locations: Vec<Location>) -> Result<Vec<Entry>> {
        let mut entries = Vec::with_capacity(locations.len());
        for locations in locations.chunks(AT_ONCE) {
            let file_system = self.shared.file_system.as_ref();
            let ahead = ReadAhead::of(file_system, root, locations.iter().cloned()).await;
            for location in locations {
                // A cancelled search stops at this await.
                tokio::task::yield_now().await;
                let limit = self.options.max_entry_bytes;
                let bytes = match ahead.as_ref().and_then(|ahead| ahead.take(location, limit)) {
                    Some(read) => self.bytes_in(location, read),
                    None => self.bytes_of(root, location).await,
                };
                match bytes {
                    Ok(bytes) => entries.extend(read_back(location, Payload::new(bytes)).await),
                    Err(Error { code: Code::Io, message, cause }) => {
                        return Err(Error { code: Code::Io, message, cause });
                    }
                    Err(_) => {}
                }
            }
        }
        Ok(entries)
    }
}
