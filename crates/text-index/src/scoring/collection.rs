//! Statistics of a collection of which only some documents are ranked, such as the candidates of a database. The candidates
//! all contain terms of the query, so that their own statistics would make these terms common.

use rustc_hash::FxHashMap;

use crate::index::analysed::Analysed;
use crate::index::inverted_index::Index;
use crate::index::view::View;
use crate::query::free_text::Query;
use crate::scoring::ranking::Totals;
use crate::scoring::search::{TermStatistics, statistics};

/// Statistics of a collection. Ranking uses them in place of those of the ranked documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    totals: Totals,
    containing: FxHashMap<Box<str>, u64>,
}

impl Collection {
    /// A collection of so many documents. `fields` has for each field, in the order of [`crate::Analysed::lengths`], the
    /// sum of the lengths and the number of documents in which the field is not empty.
    #[must_use]
    pub fn new(documents: u64, fields: impl IntoIterator<Item = (u64, u64)>) -> Self {
        Self { totals: Totals::new(documents, fields), containing: FxHashMap::default() }
    }

    /// The statistics of documents, for the terms of a query.
    #[must_use]
    pub fn of_documents(documents: &[Analysed], query: &Query) -> Self {
        Self::of_view(&Analysed::view(documents.iter().cloned()), query)
    }

    /// The statistics of indexes as one collection, for the terms of a query.
    pub(crate) fn of_indexes(indexes: &[&Index], query: &Query) -> Self {
        Self::of_view(&Index::view_of(indexes), query)
    }

    fn of_view(view: &View, query: &Query) -> Self {
        let (totals, terms) = statistics(view, query);
        let counted = query.terms().iter().zip(terms);
        let containing = counted
            .map(|(term, TermStatistics { documents, .. })| (term.text.clone(), documents as u64));
        Self { totals, containing: containing.collect() }
    }

    /// Sets the number of documents that contain a term. Of other terms, the ranked documents that contain them are
    /// counted.
    pub fn set_containing(&mut self, term: &str, documents: u64) {
        self.containing.insert(term.into(), documents);
    }

    /// Adds the documents of another collection, which has none of these.
    pub fn add(&mut self, other: &Self) {
        self.totals.add_all(&other.totals);
        for (term, documents) in &other.containing {
            *self.containing.entry(term.clone()).or_default() += documents;
        }
    }

    /// The number of documents.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.totals.documents
    }

    /// The number of documents that contain a term, if it was set.
    #[must_use]
    pub fn containing(&self, term: &str) -> u64 {
        self.containing.get(term).copied().unwrap_or_default()
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The number of documents that contain a term, of which `ranked` are ranked.
    pub(crate) fn at_least(&self, term: &str, ranked: usize) -> usize {
        (self.containing(term) as usize).max(ranked)
    }
}
