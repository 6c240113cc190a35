//! Terms that stand for what a filter compares, such as the tool of a context or the tag of an entry, so that the index of a
//! database narrows by filters as well. No word of a text is such a term.

use storage::TermCondition;

/// The first character of these terms, which texts are split at.
const FIRST: char = '\u{1}';

/// The term for a value of a kind.
pub(crate) fn facet(kind: char, value: &str) -> String {
    format!("{FIRST}{kind}{value}")
}

/// The condition that one of the terms is there; no file meets it if there are none.
pub(crate) fn one_of(terms: impl Iterator<Item = String>) -> TermCondition {
    let any: Vec<TermCondition> = terms.map(TermCondition::Term).collect();
    // No file has this term.
    let never = || TermCondition::Term(FIRST.to_string());
    if any.is_empty() { never() } else { TermCondition::Any(any) }
}

/// Whether a term is none of a text.
pub(crate) fn is_facet(term: &str) -> bool {
    term.starts_with(FIRST)
}
