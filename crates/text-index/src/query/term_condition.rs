//! Conditions for the terms of documents, so that an index elsewhere, such as that of a database, can say which documents
//! may match a plan and which certainly do.

use crate::query::plan::{Part, QueryPlan, Words};

/// A condition for the terms of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermCondition {
    /// The document has this term.
    Term(Box<str>),
    /// The document has a term that begins with this text.
    Beginning(Box<str>),
    /// It meets all of these conditions.
    All(Vec<Self>),
    /// It meets one of these conditions.
    Any(Vec<Self>),
}

impl QueryPlan {
    /// What every document meets that matches the plan and whose terms are all known.
    #[must_use]
    pub fn needed_terms(&self) -> TermCondition {
        let clauses = match &self.words {
            Words::All { clauses, .. } => self.clauses(clauses, true),
            Words::Any { .. } => Vec::new(),
        };
        let phrases = self.phrases.iter().flat_map(|planned| planned.certain_terms.iter().cloned());
        TermCondition::All(clauses.into_iter().chain(phrases.map(TermCondition::Term)).collect())
    }

    /// What no document meets that does not match the plan. `None` if the texts must be read to decide. Only the plan of an
    /// AND query has one.
    #[must_use]
    pub fn sufficient_terms(&self) -> Option<TermCondition> {
        match &self.words {
            Words::All { clauses, stop_words } if !self.has_filters() && stop_words.is_empty() => {
                Some(TermCondition::All(self.clauses(clauses, false)))
            }
            _ => None,
        }
    }

    fn clauses(&self, clauses: &[Vec<Vec<Part>>], has_shorter: bool) -> Vec<TermCondition> {
        let alternative = |parts: &Vec<Part>| {
            TermCondition::All(parts.iter().map(|part| self.part(*part, has_shorter)).collect())
        };
        let clause = |alternatives: &Vec<Vec<Part>>| {
            TermCondition::Any(alternatives.iter().map(alternative).collect())
        };
        clauses.iter().map(clause).collect()
    }

    /// The condition for a part; with the shorter terms of words that may begin with its prefix.
    fn part(&self, part: Part, has_shorter: bool) -> TermCondition {
        let term = part.term.and_then(|number| self.terms.get(number));
        let mut any: Vec<TermCondition> =
            term.cloned().map(TermCondition::Term).into_iter().collect();
        if let Some(prefix) = part.prefix.and_then(|number| self.prefixes.get(number)) {
            any.push(TermCondition::Beginning(prefix.text.as_str().into()));
            let shorter = prefix.shorter.iter().filter(|_| has_shorter);
            any.extend(shorter.cloned().map(TermCondition::Term));
        }
        TermCondition::Any(any)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::query::plan::Operator;
    use crate::query::search_syntax::SearchSyntax;
    use crate::{Analysed, Document, PrefixRule};

    fn is_met(condition: &TermCondition, terms: &[&str]) -> bool {
        match condition {
            TermCondition::Term(text) => terms.contains(&&**text),
            TermCondition::Beginning(text) => terms.iter().any(|term| term.starts_with(&**text)),
            TermCondition::All(all) => all.iter().all(|one| is_met(one, terms)),
            TermCondition::Any(any) => any.iter().any(|one| is_met(one, terms)),
        }
    }

    /// Whether the text matches, and what the conditions say of it: needed and sufficient.
    fn judged(query: &str, text: &str, operator: Operator) -> (bool, bool, Option<bool>) {
        let plan = QueryPlan::new(&SearchSyntax::parse(query).unwrap(), operator);
        let analysed = Analysed::new(1, &Document { result: text, ..Document::default() });
        let terms: Vec<&str> = analysed.terms().collect();
        let sufficient = plan.sufficient_terms().map(|condition| is_met(&condition, &terms));
        let matches = plan.verifier().is_met_by(&[text], true);
        (matches, is_met(&plan.needed_terms(), &terms), sufficient)
    }

    #[test]
    fn words_are_decided_by_terms_and_phrases_by_texts() {
        let all = |query, text| judged(query, text, Operator::All);
        assert_eq!(all("auth user", "users and authors"), (true, true, Some(true)));
        assert_eq!(all("auth user", "users and others"), (false, false, Some(false)));
        assert_eq!(all("organiz", "an organ"), (false, true, Some(false)));
        assert_eq!(all("\"login form\"", "form of a login"), (false, true, None));
        assert_eq!(all("form -login", "a form"), (true, true, None));
        assert_eq!(all("the", "the form"), (true, true, None));
        let any = Operator::Any(PrefixRule::Completions);
        assert_eq!(judged("\"login form\" page", "form", any), (false, false, None));
        assert_eq!(judged("login page", "page", any), (true, true, None));
    }

    proptest! {
        #[test]
        fn conditions_agree_with_the_texts(
            text in "((login|form|LoginForm|auth|authentic|authenticated|organization|organ|the|went|go|東京|user_name|é)[ .,_-]){0,6}",
            query in "((-|)(login|form|LoginForm|auth|authenticat|organiz|organ\\*|organiza\\*|the|going|東|user_name|\"organ the\")[ ]){0,4}",
        ) {
            for operator in [Operator::All, Operator::Any(PrefixRule::Completions)] {
                let (matches, needed, sufficient) = judged(&query, &text, operator);
                prop_assert!(needed || !matches, "{} is needed in {}", query, text);
                prop_assert!(matches || sufficient != Some(true), "{} is not enough for {}", query, text);
            }
        }
    }
}
