//! A query and its terms.

use rustc_hash::FxHashMap;

use super::ranking::query_weight;
use super::tokens::tokenize;
use super::words::hash;

/// No more of a query is read: a whole conversation may be handed in as one.
const MAXIMUM_BYTES: usize = 8192;

/// What somebody looks for, as weighted terms.
#[derive(Clone, Debug)]
pub struct Query {
    terms: Vec<QueryTerm>,
}

#[derive(Clone, Debug)]
pub(super) struct QueryTerm {
    pub(super) text: Box<str>,
    pub(super) hash: u32,
    pub(super) weight: f32,
}

impl Query {
    /// Reads a query as documents are read: stop words are dropped, so a query of nothing else has no terms.
    pub fn parse(text: &str) -> Self {
        let mut occurrences: FxHashMap<Box<str>, u32> = FxHashMap::default();
        tokenize(text, MAXIMUM_BYTES, |token| match occurrences.get_mut(token) {
            Some(count) => *count += 1,
            None => {
                occurrences.insert(token.into(), 1);
            }
        });
        let term = |(text, count): (Box<str>, u32)| QueryTerm {
            hash: hash(&text),
            weight: query_weight(count),
            text,
        };
        let mut terms: Vec<QueryTerm> = occurrences.into_iter().map(term).collect();
        terms.sort_unstable_by(|left, right| {
            (left.hash, &left.text).cmp(&(right.hash, &right.text))
        });
        Self { terms }
    }

    /// Whether nothing can match it.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Distinct, ordered by hash, then text.
    pub(super) fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// The place of a term among [`Self::terms`].
    pub(super) fn position(&self, hash: u32, term: &str) -> Option<usize> {
        self.terms.binary_search_by(|other| (other.hash, &*other.text).cmp(&(hash, term))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_stop_words_is_empty() {
        assert!(Query::parse("please show me what you could find").is_empty());
        assert!(Query::parse("").is_empty());
        assert!(Query::parse(" ... ?!").is_empty());
        assert!(!Query::parse("show the login form").is_empty());
    }

    #[test]
    fn repeated_terms_weigh_more() {
        let query = Query::parse("login error login logins");
        let weights: Vec<(&str, f32)> =
            query.terms().iter().map(|term| (&*term.text, term.weight)).collect();
        assert_eq!(weights.len(), 2);
        assert!(weights.contains(&("login", 1.0 + 3_f32.ln())));
        assert!(weights.contains(&("error", 1.0)));
    }
}
