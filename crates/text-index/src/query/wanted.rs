//! The terms that a query asks for, so that an index elsewhere, such as that of a database, can be asked for candidates.

use crate::index::start::START_BYTES;
use crate::query::expansion::Expansion;
use crate::query::free_text::{Origin, Query};
use crate::query::plan::{QueryPlan, Words};

/// A term that a query asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedTerm {
    /// The term, or the beginning of terms.
    pub text: Box<str>,
    /// Whether all terms that begin with the text are asked for.
    pub is_prefix: bool,
    /// Its weight; 1 is the usual one.
    pub weight: f32,
    /// Terms with the same number stand for the same part of the query.
    pub part: u32,
    /// Whether it is a synonym: a document that contains only such terms is not found.
    pub is_synonym: bool,
}

impl Query {
    /// The terms of the query. A query of stop words has none.
    #[must_use]
    pub fn wanted(&self) -> Vec<WantedTerm> {
        let terms = self.terms().iter().map(|term| WantedTerm {
            text: term.text.clone(),
            is_prefix: false,
            weight: term.weight,
            part: term.part,
            is_synonym: term.origin == Origin::Synonym,
        });
        terms.collect()
    }
}

impl Query {
    /// The beginnings of terms that may replace those of which `is_absent` says that no document contains them.
    #[must_use]
    pub fn starts_of_similar(&self, is_absent: &dyn Fn(&str) -> bool) -> Vec<String> {
        let absent = Expansion::new(self, |number| self.is_absent(number, is_absent));
        let mut starts: Vec<String> = absent
            .terms()
            .map(|term| term.get(..term.floor_char_boundary(START_BYTES)).unwrap_or_default())
            .filter(|start| !start.is_empty())
            .map(str::to_owned)
            .collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// The query with the terms of a vocabulary that are most similar to its absent ones, at a lower weight.
    #[must_use]
    pub fn with_similar<'v>(
        &self,
        is_absent: &dyn Fn(&str) -> bool,
        vocabulary: impl Iterator<Item = &'v str>,
    ) -> Self {
        let mut expansion = Expansion::new(self, |number| self.is_absent(number, is_absent));
        vocabulary.for_each(|term| expansion.see(term));
        self.with_terms(expansion.into_terms().into_iter())
    }

    fn is_absent(&self, number: usize, is_absent: &dyn Fn(&str) -> bool) -> bool {
        self.terms().get(number).is_some_and(|term| is_absent(&term.text))
    }
}

impl QueryPlan {
    /// The terms by which an OR query ranks documents, with its prefixes, each followed by shorter terms of words that
    /// may begin with it. No other document can be a hit, unless the query has no terms.
    #[must_use]
    pub fn wanted(&self) -> Vec<WantedTerm> {
        let Words::Any { query, .. } = &self.words else { return Vec::new() };
        let mut wanted = query.wanted();
        let first = wanted.len() as u32;
        for (part, prefix) in (first..).zip(&self.prefixes) {
            let (beginning, terms) = prefix.wanted();
            let term = |text: Box<str>, is_prefix| WantedTerm {
                text,
                is_prefix,
                weight: 1.0,
                part,
                is_synonym: false,
            };
            wanted.push(term(beginning, true));
            wanted.extend(terms.into_iter().map(|text| term(text, false)));
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::plan::Operator;
    use crate::query::prefixes::PrefixRule;
    use crate::query::search_syntax::SearchSyntax;
    use crate::{Analysed, Document};

    fn wanted(query: &str, rule: PrefixRule) -> Vec<WantedTerm> {
        QueryPlan::new(&SearchSyntax::parse(query).unwrap(), Operator::Any(rule)).wanted()
    }

    #[test]
    fn synonyms_are_distinguished() {
        let wanted = Query::parse("delete the login login").wanted();
        let term = |text: &str| wanted.iter().find(|term| &*term.text == text).unwrap();
        assert!(!term("delet").is_synonym && !term("login").is_synonym);
        assert!(term("remov").is_synonym && term("remov").part == term("delet").part);
        assert!(term("login").weight > term("delet").weight);
        assert!(Query::parse("the").wanted().is_empty());
    }

    #[test]
    fn words_with_a_prefix_have_a_wanted_term() {
        for rule in [PrefixRule::Completions, PrefixRule::Stems] {
            for (prefix, word) in
                [("connecti*", "connections"), ("conn*", "Connector"), ("happin*", "happiness")]
            {
                let wanted = wanted(prefix, rule);
                let document = Document { result: word, ..Document::default() };
                let analysed = Analysed::new(1, &document);
                let is_found = analysed.terms().any(|term| {
                    wanted.iter().any(|wanted| match wanted.is_prefix {
                        true => term.starts_with(&*wanted.text),
                        false => *term == *wanted.text,
                    })
                });
                assert!(is_found, "{prefix} {word}");
            }
        }
    }

    #[test]
    fn absent_terms_are_replaced_by_similar_ones_of_a_vocabulary() {
        let query = Query::parse("kubernetex 東京 login abc");
        let is_absent = |term: &str| term != "login";
        assert_eq!(query.starts_of_similar(&is_absent), ["kub"]);
        let more = query.with_similar(&is_absent, ["kubernet", "kubectl"].into_iter()).wanted();
        assert!(more.iter().any(|term| &*term.text == "kubernet" && term.weight < 0.7));
        assert_eq!(more.len(), query.wanted().len() + 1);
        assert!(query.starts_of_similar(&|_| false).is_empty());
    }

    #[test]
    fn phrases_are_wanted_and_exclusions_are_not() {
        let wanted = wanted("\"login form\" page -secret", PrefixRule::Stems);
        let mut texts: Vec<&str> = wanted.iter().map(|term| &*term.text).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["form", "login", "page"]);
    }
}
