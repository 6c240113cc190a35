//! The terms of an index that a prefix may mean.

use rustc_hash::FxHashMap;

use crate::index::inverted_index::Index;
use crate::query::free_text::Query;

/// Terms that one prefix stands for at most: those of the most documents.
const MAXIMUM_TERMS: usize = 128;
/// Stemming takes at most so much off a word, in bytes.
const MAXIMUM_SUFFIX: usize = 5;
/// No shorter term is taken for the stem of a word.
const MINIMUM_STEM: usize = 3;

/// The terms of the indexes that a word with this beginning may have: those that begin so, and those
/// that may be what stemming left of one.
pub(crate) fn expand(indexes: &[&Index], prefix: &str) -> Vec<Box<str>> {
    let prefix: String = prefix.to_lowercase().replace(['_', '-'], "");
    let is_meant = |term: &str| {
        term.starts_with(&prefix)
            || (term.len() >= MINIMUM_STEM
                && term.len() + MAXIMUM_SUFFIX >= prefix.len()
                && prefix.starts_with(term))
    };
    let mut counts: FxHashMap<Box<str>, usize> = FxHashMap::default();
    for index in indexes {
        index.for_each_term(|term, documents| {
            if is_meant(term) {
                *counts.entry(term.into()).or_default() += documents;
            }
        });
    }
    let mut terms: Vec<(usize, Box<str>)> =
        counts.into_iter().map(|(term, count)| (count, term)).collect();
    terms.sort_unstable_by(|left, right| right.cmp(left));
    terms.truncate(MAXIMUM_TERMS);
    let whole = Query::builder().text(&prefix, 1.0).build();
    let whole = whole.terms().iter().map(|term| term.text.clone());
    terms.into_iter().map(|(_, term)| term).chain(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::fields::Document;

    #[test]
    fn terms_and_stems_are_expanded() {
        let index = Index::new();
        for (sequence, name) in
            (0..).zip(["connections", "connector", "con", "context", "happiness"])
        {
            index.add(sequence, &Document { name, ..Document::default() });
        }
        let expanded = |prefix| {
            let mut terms = expand(&[&index], prefix);
            terms.sort();
            terms.dedup();
            terms
        };
        assert_eq!(expanded("Connecti"), ["con", "connect", "connecti"].map(Box::from));
        assert_eq!(expanded("conn"), ["con", "conn", "connect", "connector"].map(Box::from));
        assert!(expanded("happy").contains(&Box::from("happi")));
    }
}
