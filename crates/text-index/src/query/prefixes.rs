//! Expands prefixes to the terms of an index. All prefix searches use this module.

use rustc_hash::FxHashMap;

use crate::query::completions::shorter_terms;
use crate::query::free_text::Query;
use crate::query::having::Having;
use crate::query::matcher::plain;

/// Maximum number of terms per prefix; those of the most documents are kept.
const MAXIMUM_TERMS: usize = 128;
/// Maximum number of bytes that stemming removes from a word.
const MAXIMUM_SUFFIX: usize = 5;
/// Minimum length of a term that may be the stem of a word.
const MINIMUM_STEM: usize = 3;

/// Which terms of an index may belong to words with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixRule {
    /// Terms with this prefix, and terms that stemming makes of the prefix with a usual ending.
    Completions,
    /// Terms with this prefix, and every term that is a prefix of it and long enough to be the stem of a word. Prefixes
    /// in scripts without spaces count as words.
    Stems,
}

/// A prefix to search for.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    /// With [`PrefixRule::Completions`], in the form of [`plain`]; else as spelt in the query.
    pub(crate) text: String,
    /// Terms of words with this prefix that are shorter than it. Other words may have them as well.
    /// [`PrefixRule::Stems`] takes them from the index.
    pub(crate) shorter: Vec<Box<str>>,
    rule: PrefixRule,
}

impl Prefix {
    pub(crate) fn new(prefix: &str, rule: PrefixRule) -> Self {
        let (text, shorter) = match rule {
            PrefixRule::Completions => {
                let text = plain(prefix, &mut String::new());
                let shorter = shorter_terms(&text);
                (text, shorter)
            }
            PrefixRule::Stems => (prefix.to_owned(), Vec::new()),
        };
        Self { text, shorter, rule }
    }

    /// The beginning of terms of words with this prefix, and shorter terms that such words may have.
    pub(crate) fn wanted(&self) -> (Box<str>, Vec<Box<str>>) {
        match self.rule {
            PrefixRule::Completions => (self.text.as_str().into(), self.shorter.clone()),
            PrefixRule::Stems => {
                let prefix = self.joined();
                let stems = prefix
                    .char_indices()
                    .map(|(end, _)| end)
                    .filter(|end| *end >= MINIMUM_STEM && end + MAXIMUM_SUFFIX >= prefix.len());
                let stems = stems.filter_map(|end| Some(Box::from(prefix.get(..end)?)));
                let terms = stems.chain(whole_terms(&prefix)).collect();
                (prefix.into(), terms)
            }
        }
    }

    /// The prefix without the characters that join the pieces of identifiers.
    fn joined(&self) -> String {
        self.text.to_lowercase().replace(['_', '-'], "")
    }

    /// The terms of the collection that a word with this prefix may have.
    pub(crate) fn expand(&self, having: &Having<'_>) -> Vec<Box<str>> {
        let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
        let mut count = |term, documents| *counts.entry(term).or_default() += documents;
        let more: Vec<Box<str>> = match self.rule {
            PrefixRule::Completions => {
                having.for_each_term_beginning(&self.text, count);
                let shorter = self.shorter.iter();
                shorter.filter(|term| having.has_term(term)).cloned().collect()
            }
            PrefixRule::Stems => {
                let prefix = self.joined();
                having.for_each_term(|term, documents| {
                    let is_stem = term.len() >= MINIMUM_STEM
                        && term.len() + MAXIMUM_SUFFIX >= prefix.len()
                        && prefix.starts_with(term);
                    if is_stem || term.starts_with(&prefix) {
                        count(term, documents);
                    }
                });
                whole_terms(&prefix)
            }
        };
        let mut terms: Vec<(usize, &str)> =
            counts.into_iter().map(|(term, documents)| (documents, term)).collect();
        terms.sort_unstable_by(|left, right| right.cmp(left));
        let terms = terms.into_iter().take(MAXIMUM_TERMS).map(|(_, term)| Box::from(term));
        terms.chain(more).collect()
    }
}

/// The terms of a prefix as a word.
fn whole_terms(prefix: &str) -> Vec<Box<str>> {
    let whole = Query::builder().text(prefix, 1.0).build();
    whole.terms().iter().map(|term| term.text.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::fields::Document;
    use crate::index::inverted_index::Index;

    #[test]
    fn terms_and_stems_are_expanded() {
        let index = Index::new();
        for (sequence, name) in
            (0..).zip(["connections", "connector", "con", "context", "happiness"])
        {
            index.add(sequence, &Document { name, ..Document::default() });
        }
        let expanded = |prefix| {
            let prefix = Prefix::new(prefix, PrefixRule::Stems);
            let mut terms = Index::having(&[&index], |having| prefix.expand(having));
            terms.sort();
            terms.dedup();
            terms
        };
        assert_eq!(expanded("Connecti"), ["con", "connect", "connecti"].map(Box::from));
        assert_eq!(expanded("conn"), ["con", "conn", "connect", "connector"].map(Box::from));
        assert!(expanded("happy").contains(&Box::from("happi")));
    }
}
