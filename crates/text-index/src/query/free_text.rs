//! Free-text queries and their weighted terms.

use rustc_hash::FxHashMap;

use crate::analysis::stop_words::StopWords;
use crate::analysis::thesaurus::{SYNONYM_WEIGHT, synonyms};
use crate::analysis::tokens::{Token, tokenize_all};
use crate::analysis::words::hash;
use crate::scoring::ranking::query_weight;

/// Maximum length of a query that is read. A caller may pass a complete conversation as the query.
const MAXIMUM_BYTES: usize = 8192;

/// A free-text query as weighted terms.
#[derive(Clone, Debug)]
pub struct Query {
    terms: Vec<QueryTerm>,
    /// The stop words, set only if there are no terms.
    stop_words: StopWords,
}

#[derive(Clone, Debug)]
pub(crate) struct QueryTerm {
    pub(crate) text: Box<str>,
    pub(crate) hash: u32,
    pub(crate) weight: f32,
    /// Terms with the same number stand for the same part of the query.
    pub(crate) part: u32,
    pub(crate) origin: Origin,
}

/// How a term came into a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The caller asked for it.
    Own,
    /// It is spelt similarly.
    Similar,
    /// It is a synonym. A document that matches only synonyms is not found.
    Synonym,
}

impl Query {
    /// Tokenises a query like a document. Stop words are dropped, so a query of stop words has no terms. Synonyms of
    /// its terms are added with little weight.
    pub fn parse(text: &str) -> Self {
        Self::builder().text(text, 1.0).synonyms().build()
    }

    /// A builder for a query with several parts.
    pub fn builder() -> QueryBuilder {
        QueryBuilder::default()
    }

    /// A query from index terms and their weights.
    pub(crate) fn of_weighted(terms: impl Iterator<Item = (Box<str>, f32)>) -> Self {
        let term = |(part, (text, weight)): (u32, (Box<str>, f32))| QueryTerm {
            hash: hash(&text),
            weight,
            part,
            origin: Origin::Own,
            text,
        };
        Self::builder().build().with_terms((0..).zip(terms).map(term))
    }

    /// The query with additional index terms.
    pub(crate) fn with_own_terms(&self, terms: impl Iterator<Item = Box<str>>) -> Self {
        let first = self.terms.len() as u32;
        let term = |(part, text): (u32, Box<str>)| QueryTerm {
            hash: hash(&text),
            weight: 1.0,
            part,
            origin: Origin::Own,
            text,
        };
        self.with_terms((first..).zip(terms).map(term))
    }

    /// The index of a term in the query.
    pub(crate) fn number_of(&self, term: &str) -> Option<usize> {
        self.position(hash(term), term)
    }

    /// Whether nothing can match the query.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.stop_words.is_empty()
    }

    /// The distinct terms, ordered by hash, then text.
    pub(crate) fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    pub(crate) fn stop_words(&self) -> &StopWords {
        &self.stop_words
    }

    /// The index of a term in [`Self::terms`].
    pub(crate) fn position(&self, hash: u32, term: &str) -> Option<usize> {
        self.terms.binary_search_by(|other| (other.hash, &*other.text).cmp(&(hash, term))).ok()
    }

    /// The query with additional terms. Of equal terms, the first counts.
    pub(crate) fn with_terms(&self, more: impl Iterator<Item = QueryTerm>) -> Self {
        let mut terms: Vec<QueryTerm> = self.terms.iter().cloned().chain(more).collect();
        terms.sort_by(|left, right| (left.hash, &left.text).cmp(&(right.hash, &right.text)));
        terms.dedup_by(|later, first| later.text == first.text);
        let stop_words = if terms.is_empty() { self.stop_words } else { StopWords::default() };
        Self { terms, stop_words }
    }
}

/// Builds a query.
#[derive(Debug, Default)]
pub struct QueryBuilder {
    occurrences: FxHashMap<Box<str>, Occurrences>,
    stop_words: StopWords,
    synonyms: bool,
    keeps_stop_words: bool,
}

#[derive(Debug, Default)]
struct Occurrences {
    count: u32,
    weight: f32,
    place: usize,
}

impl QueryBuilder {
    /// Adds the terms of a text. A repeated term has a higher weight; 1 is the usual weight.
    #[must_use]
    pub fn text(mut self, text: &str, weight: f32) -> Self {
        tokenize_all(text, MAXIMUM_BYTES, |token| {
            let token = match token {
                Token::Term(term, _) => term,
                Token::StopWord(number) => return self.stop_words.insert(number),
            };
            if !self.occurrences.contains_key(token) {
                let place = self.occurrences.len();
                self.occurrences
                    .insert(token.into(), Occurrences { place, ..Occurrences::default() });
            }
            if let Some(occurrences) = self.occurrences.get_mut(token) {
                occurrences.count += 1;
                occurrences.weight = occurrences.weight.max(weight);
            }
        });
        self
    }

    /// Adds the synonyms of every term with little weight.
    #[must_use]
    pub fn synonyms(mut self) -> Self {
        self.synonyms = true;
        self
    }

    /// Makes a query of only stop words search for these.
    #[must_use]
    pub fn keep_stop_words(mut self) -> Self {
        self.keeps_stop_words = true;
        self
    }

    /// The query.
    pub fn build(self) -> Query {
        let mut terms: Vec<QueryTerm> = Vec::with_capacity(self.occurrences.len());
        let mut similar = Vec::new();
        for (text, Occurrences { count, weight, place }) in self.occurrences {
            let term = QueryTerm {
                hash: hash(&text),
                weight: weight * query_weight(count),
                part: place as u32,
                origin: Origin::Own,
                text,
            };
            if self.synonyms {
                similar.extend(synonyms(&term.text).map(|text| QueryTerm {
                    hash: hash(text),
                    text: text.into(),
                    weight: term.weight * SYNONYM_WEIGHT,
                    part: term.part,
                    origin: Origin::Synonym,
                }));
            }
            terms.push(term);
        }
        // Of a synonym of several terms, the highest weight counts.
        similar.sort_by(|left: &QueryTerm, right| {
            right.weight.total_cmp(&left.weight).then(left.part.cmp(&right.part))
        });
        let mut query = Query { terms, stop_words: StopWords::default() };
        if query.is_empty() && self.keeps_stop_words {
            query.stop_words = self.stop_words;
        }
        query.terms = query.with_terms(similar.into_iter()).terms;
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(query: &Query) -> Vec<(&str, f32)> {
        query.terms().iter().map(|term| (&*term.text, term.weight)).collect()
    }

    #[test]
    fn a_query_of_stop_words_is_empty() {
        assert!(Query::parse("please show me what you could find").is_empty());
        assert!(Query::parse("").is_empty());
        assert!(Query::parse(" ... ?!").is_empty());
        assert!(!Query::parse("show the login form").is_empty());
    }

    #[test]
    fn stop_words_are_kept_where_there_is_nothing_else() {
        let keeping = |text: &str| Query::builder().text(text, 1.0).keep_stop_words().build();
        let kept = |text: &str| keeping(text).stop_words().iter().count();
        assert_eq!(kept("what is it, what?"), 3);
        assert_eq!(kept("what is the login"), 0);
        assert!(!keeping("the").is_empty());
        assert!(keeping("?!").is_empty());
        let more = keeping("the").with_own_terms(std::iter::once("login".into()));
        assert!(more.stop_words().is_empty());
    }

    #[test]
    fn repeated_terms_weigh_more() {
        let query = Query::builder().text("login page login logins", 1.0).build();
        let weights = weights(&query);
        assert_eq!(weights.len(), 2);
        assert!(weights.contains(&("login", 1.0 + 3_f32.ln())));
        assert!(weights.contains(&("page", 1.0)));
    }

    #[test]
    fn parts_have_weights_of_their_own() {
        let query = Query::builder().text("login", 2.0).text("page login", 0.5).build();
        let weights = weights(&query);
        assert!(weights.contains(&("login", 2.0 * (1.0 + 2_f32.ln()))));
        assert!(weights.contains(&("page", 0.5)));
    }

    #[test]
    fn synonyms_weigh_little_and_own_terms_stay() {
        let query = Query::parse("remove the directory, delete it");
        let weights = weights(&query);
        assert!(weights.contains(&("remov", 1.0)));
        assert!(weights.contains(&("delet", 1.0)));
        assert!(weights.contains(&("dir", SYNONYM_WEIGHT)));
        assert!(query.terms().is_sorted_by_key(|term| term.hash));
        let part = |text: &str| query.terms().iter().find(|term| &*term.text == text).unwrap().part;
        assert_eq!(part("dir"), part("directori"));
    }
}
