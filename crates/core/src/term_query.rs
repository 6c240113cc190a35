//! What is asked of the index of terms that a file system may have, and its answer: from and to the types of full-text search.

use storage::{FoundFiles, QueryTerm, TermCondition};
use text_index::{Collection, WantedTerm};

/// The terms of a query, by which candidates are found.
pub(crate) fn query_terms(wanted: Vec<WantedTerm>) -> Vec<QueryTerm> {
    let terms = wanted.into_iter().map(|term| QueryTerm {
        text: term.text.into(),
        is_prefix: term.is_prefix,
        weight: term.weight,
        part: term.part,
        is_extra: term.is_synonym,
    });
    terms.collect()
}

/// The statistics of all files for the terms of a query.
pub(crate) fn statistics_of(terms: &[QueryTerm], found: &FoundFiles) -> Collection {
    let mut statistics = Collection::new(found.files, found.fields.iter().copied());
    for (term, files) in terms.iter().zip(&found.containing) {
        if let Some(files) = files.filter(|_| !term.is_prefix) {
            statistics.set_containing(&term.text, files);
        }
    }
    statistics
}

/// A condition of a query's plan.
pub(crate) fn condition_of(condition: text_index::TermCondition) -> TermCondition {
    use text_index::TermCondition as Of;
    let each = |conditions: Vec<Of>| conditions.into_iter().map(condition_of).collect();
    match condition {
        Of::Term(text) => TermCondition::Term(text.into()),
        Of::Beginning(text) => TermCondition::Beginning(text.into()),
        Of::All(all) => TermCondition::All(each(all)),
        Of::Any(any) => TermCondition::Any(each(any)),
    }
}
