//! A question: a query with the order of its words, for ranking by `scoring::question_ranking`.

use crate::analysis::tokens::tokenize;
use crate::index::facts::{self, MAXIMUM_NAME_TERMS};
use crate::query::free_text::Query;

/// Maximum number of terms whose order is read. A caller may pass a complete conversation.
const MAXIMUM_TERMS: usize = 256;
const MAXIMUM_BYTES: usize = 8192;

/// Prefixes of questions that ask for a time.
const ASKS_WHEN: [&str; 9] = [
    "when",
    "since when",
    "how long",
    "what date",
    "what day",
    "what month",
    "what year",
    "what time",
    "on what date",
];

/// A query with the order of its words.
#[derive(Clone, Debug)]
pub struct Question {
    query: Query,
    /// Pairs of adjacent terms, each once.
    pairs: Vec<(Box<str>, Box<str>)>,
    /// Facts about arguments that the question may name.
    arguments: Vec<String>,
    asks_when: bool,
}

impl Question {
    /// Reads a question as [`Query::parse`] reads a query.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut terms: Vec<Box<str>> = Vec::new();
        tokenize(text, MAXIMUM_BYTES, |term| {
            if terms.len() < MAXIMUM_TERMS {
                terms.push(term.into());
            }
        });
        let mut pairs: Vec<(Box<str>, Box<str>)> = Vec::new();
        for (left, right) in terms.iter().zip(terms.iter().skip(1)) {
            if left != right {
                pairs.push((left.clone(), right.clone()));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let runs = (1..=MAXIMUM_NAME_TERMS).flat_map(|length| terms.windows(length));
        let mut arguments: Vec<String> = runs.map(facts::argument).collect();
        arguments.sort_unstable();
        arguments.dedup();
        Self { query: Query::parse(text), pairs, arguments, asks_when: asks_when(text) }
    }

    /// The query with its terms.
    #[must_use]
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Whether nothing can match the question.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.query.is_empty()
    }

    /// The pairs of adjacent terms.
    pub(crate) fn pairs(&self) -> &[(Box<str>, Box<str>)] {
        &self.pairs
    }

    /// Facts of documents with an argument that the question names.
    pub(crate) fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Whether it asks for a time.
    pub(crate) fn asks_when(&self) -> bool {
        self.asks_when
    }
}

fn asks_when(text: &str) -> bool {
    let words: Vec<String> = text
        .split_whitespace()
        .take(3)
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .collect();
    let beginning = words.join(" ");
    ASKS_WHEN.iter().any(|start| {
        beginning
            .strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\'', '’']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_a_time_are_recognised() {
        for when in ["When did it fail?", "how long ago?", "What year was it", "\"When's lunch\""] {
            assert!(asks_when(when), "{when}");
        }
        for other in ["whenever it fails", "what is the time", "fail when", ""] {
            assert!(!asks_when(other), "{other}");
        }
    }

    #[test]
    fn adjacent_terms_are_pairs_in_their_order() {
        let question = Question::parse("the login form of the login form");
        let pairs: Vec<(&str, &str)> =
            question.pairs().iter().map(|(left, right)| (&**left, &**right)).collect();
        assert_eq!(pairs, [("form", "login"), ("login", "form")]);
        assert!(Question::parse("the of").is_empty());
    }
}
