//! The contexts of other sessions that may match a query, as the index of a database names them: the best candidates by the
//! terms of the query, and more of them if a search needs more. Terms of files that have none are added first, so that a
//! search finds every context that was saved before it.

use std::{ops::RangeInclusive, sync::Arc};

use rustc_hash::FxHashSet;
use storage::{FileEntry, FileResult, FileTerms, TermCondition, TermQuery};
use text_index::{Collection as Statistics, TextSearch};

use super::{
    admission::Admission,
    directory_index::{DirectoryIndex, is_own},
    file_terms,
    session::Session,
};
use crate::{
    error::{Error, Result},
    facet::is_facet,
    term_query::{query_terms, statistics_of},
};

/// The number of candidates that are asked for first, and the factor by which more are asked for.
const FIRST: usize = 256;
const MORE: usize = 4;
/// The most contexts whose unindexed text a search may read.
const PARTLY_COVERED: usize = 4096;
/// The latest contexts among whose terms similar words are looked for.
const LATEST: usize = 2000;

/// The candidates of one query.
pub(super) struct Narrowing<'m> {
    session: &'m Arc<Session>,
    index: &'m DirectoryIndex,
    terms: &'m dyn FileTerms,
    query: TermQuery,
    facets: Vec<TermCondition>,
    asked: usize,
    is_all: bool,
    statistics: Statistics,
    admitted: FxHashSet<u64>,
}

/// Why there are no candidates.
pub(super) enum NotNarrowed {
    /// The database refused, or could not be asked.
    Storage(storage::FileError),
    /// The search cannot go on.
    Search(Error),
}

impl From<storage::FileError> for NotNarrowed {
    fn from(error: storage::FileError) -> Self {
        Self::Storage(error)
    }
}

impl From<Error> for NotNarrowed {
    fn from(error: Error) -> Self {
        Self::Search(error)
    }
}

impl<'m> Narrowing<'m> {
    /// The first candidates; `None` if the file system has no index or the query has no terms.
    ///
    /// # Errors
    /// [`NotNarrowed`]
    pub async fn new(
        session: &'m Arc<Session>,
        index: &'m DirectoryIndex,
        search: &TextSearch,
        admission: &Admission,
    ) -> std::result::Result<Option<Self>, NotNarrowed> {
        let Some(terms) = session.directory.file_system.terms() else { return Ok(None) };
        let facets = admission.facets();
        let query = query_of(search, &facets);
        if query.any.is_empty() {
            return Ok(None);
        }
        session.directory.check()?;
        {
            let _turn = index.turn().await?;
            file_terms::add_missing(session, terms, index).await?;
        }
        let mut narrowing = Self {
            session,
            index,
            terms,
            query,
            facets,
            asked: 0,
            is_all: false,
            statistics: Statistics::default(),
            admitted: FxHashSet::default(),
        };
        narrowing.ask(FIRST).await?;
        Ok(Some(narrowing))
    }

    /// Whether a context is among the candidates.
    pub fn covers(&self, number: u64) -> bool {
        self.admitted.contains(&number)
    }

    /// The statistics of the directory for the terms of the query.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Adds further candidates; returns whether there may be any.
    ///
    /// # Errors
    /// [`NotNarrowed`]
    pub async fn more(&mut self) -> std::result::Result<bool, NotNarrowed> {
        if self.is_all {
            return Ok(false);
        }
        self.ask(self.asked.saturating_mul(MORE)).await?;
        Ok(true)
    }

    /// Replaces the candidates by those of another query.
    ///
    /// # Errors
    /// [`NotNarrowed`]
    pub async fn change(&mut self, search: &TextSearch) -> std::result::Result<(), NotNarrowed> {
        self.query = query_of(search, &self.facets);
        self.admitted.clear();
        self.ask(FIRST).await
    }

    async fn ask(&mut self, count: usize) -> std::result::Result<(), NotNarrowed> {
        let directory = self.session.directory.path();
        let found = self.terms.candidates(directory, &self.query, count).await?;
        self.asked = count;
        self.is_all = found.is_all;
        self.statistics = statistics_of(&self.query.any, &found);
        self.admit(found.entries).await?;
        Ok(())
    }

    async fn admit(&mut self, mut entries: Vec<FileEntry>) -> Result<()> {
        entries.retain(|entry| !is_own(self.session, &entry.name));
        self.admitted.extend(self.index.admit(self.session, entries).await?);
        Ok(())
    }

    /// Adds the contexts of which only a part has terms: the latest, with at most `bytes` bytes.
    ///
    /// # Errors
    /// [`NotNarrowed`]
    pub async fn add_partly_covered(&mut self, bytes: u64) -> std::result::Result<(), NotNarrowed> {
        let directory = self.session.directory.path();
        let mut entries = self.terms.partly_covered(directory, PARTLY_COVERED).await?;
        let mut left = bytes;
        entries.retain(|entry| {
            let rest = left.checked_sub(entry.length.unwrap_or_default());
            left = rest.unwrap_or_default();
            rest.is_some()
        });
        self.admit(entries).await?;
        Ok(())
    }

    /// Terms of the latest contexts, of these lengths in characters.
    ///
    /// # Errors
    /// The file system's.
    pub async fn vocabulary(&self, lengths: RangeInclusive<usize>) -> FileResult<Vec<String>> {
        let directory = self.session.directory.path();
        let mut terms = self.terms.vocabulary(directory, LATEST, lengths).await?;
        terms.retain(|term| !is_facet(term));
        Ok(terms)
    }
}

/// The terms of a search, and those of what it admits.
fn query_of(search: &TextSearch, facets: &[TermCondition]) -> TermQuery {
    let all = search.terms_of_phrases().into_iter().map(|term| TermCondition::Term(term.into()));
    TermQuery {
        any: query_terms(search.wanted()),
        all: all.chain(facets.iter().cloned()).collect(),
    }
}
