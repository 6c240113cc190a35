//! Decides from the index which documents match a query plan, and for which the texts must be read.

use crate::analysis::words::begins_stop_word;
use crate::index::inverted_index::Index;
use crate::index::sequences::Sequences;
use crate::query::completions::shorter_terms;
use crate::query::having::Having;
use crate::query::matcher::{has_unsegmented, plain};
use crate::query::phrase::{certain_terms, has_date};
use crate::query::plan::{Part, QueryPlan, Words, tokens};
use crate::query::search_syntax::Excluded;

/// What the index decides about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The document matches the plan.
    Met,
    /// The document does not match.
    Failed,
    /// The texts must be read to decide.
    Open,
}

/// The decisions for all documents of an index. `None` means all documents.
#[derive(Debug, Default)]
pub struct Judgement {
    certain: Option<Sequences>,
    possible: Option<Sequences>,
    failed: Sequences,
    doubtful: Option<Sequences>,
    has_exclusions: bool,
    /// For OR queries: the ranked documents that certainly contain one of the words.
    worded: Option<Sequences>,
}

impl Judgement {
    /// The decision for a document. A partial document has text that is not in the index.
    #[must_use]
    pub fn of(&self, sequence: u64, is_partial: bool) -> Verdict {
        let has = |set: &Option<Sequences>| set.as_ref().is_none_or(|set| set.contains(sequence));
        if self.failed.contains(sequence) || !(is_partial || has(&self.possible)) {
            Verdict::Failed
        } else if has(&self.certain)
            && !(if is_partial { self.has_exclusions } else { has(&self.doubtful) })
        {
            Verdict::Met
        } else {
            Verdict::Open
        }
    }

    /// For OR queries: whether a ranked document certainly contains one of the words or prefixes.
    #[must_use]
    pub fn has_word(&self, sequence: u64) -> bool {
        self.worded.as_ref().is_none_or(|worded| worded.contains(sequence))
    }

    /// Whether all ranked documents certainly contain one.
    #[must_use]
    pub fn has_word_in_all(&self) -> bool {
        self.worded.is_none()
    }

    /// Adds a requirement: `certain` documents meet it, for `possible` ones the index cannot decide.
    fn require(&mut self, certain: Sequences, possible: Option<&Sequences>) {
        let narrow = |set: &mut Option<Sequences>, by: &Sequences| match set {
            Some(set) => set.intersect(by),
            None => *set = Some(by.clone()),
        };
        narrow(&mut self.certain, &certain);
        if let Some(possible) = possible {
            narrow(&mut self.possible, possible);
        }
    }
}

impl QueryPlan {
    /// The decisions of an index for this plan.
    #[must_use]
    pub fn judge(&self, index: &Index) -> Judgement {
        Index::having(&[index], |having| {
            let mut judgement = Judgement {
                doubtful: Some(Sequences::default()),
                has_exclusions: !self.excluded.is_empty(),
                ..Judgement::default()
            };
            match &self.words {
                Words::Any { .. } => judgement.worded = self.having_any_word(having),
                Words::All { clauses, stop_words } => {
                    for clause in clauses {
                        let (mut certain, mut possible) = <(Sequences, Sequences)>::default();
                        for parts in clause {
                            let (of_parts, perhaps) = self.having_parts(having, parts);
                            certain.unite(&of_parts);
                            possible.unite(&perhaps);
                        }
                        judgement.require(certain, Some(&possible));
                    }
                    if !stop_words.is_empty() {
                        let certain = having.stop_words(stop_words);
                        judgement.require(certain.clone(), Some(&certain));
                    }
                }
            }
            for planned in &self.phrases {
                let possible = having.all_terms(&planned.certain_terms);
                judgement.require(Sequences::default(), possible.as_ref());
            }
            for excluded in &self.excluded {
                exclude(having, excluded, &mut judgement);
            }
            judgement
        })
    }

    /// The documents that contain one of the words or prefixes. `None` when every ranked document contains one, because
    /// no indexed term is shared between words with a prefix and other words.
    fn having_any_word(&self, having: &Having<'_>) -> Option<Sequences> {
        let mut shared = self.prefixes.iter().flat_map(|prefix| &prefix.shorter);
        shared.any(|term| having.has_term(term)).then(|| {
            let mut certain = Sequences::default();
            self.terms.iter().for_each(|term| certain.unite(&having.term(term)));
            for prefix in &self.prefixes {
                certain.unite(&having.beginning(&prefix.text));
            }
            certain
        })
    }

    /// The documents that contain all parts, and those that may contain them.
    fn having_parts(&self, having: &Having<'_>, parts: &[Part]) -> (Sequences, Sequences) {
        let (mut all, mut perhaps_all) = (None::<Sequences>, None::<Sequences>);
        let narrow = |all: &mut Option<Sequences>, by: &Sequences| match all {
            Some(all) => all.intersect(by),
            None => *all = Some(by.clone()),
        };
        for part in parts {
            let mut certain = Sequences::default();
            if let Some(term) = part.term.and_then(|number| self.terms.get(number)) {
                certain.unite(&having.term(term));
            }
            let mut perhaps = Sequences::default();
            if let Some(prefix) = part.prefix.and_then(|number| self.prefixes.get(number)) {
                certain.unite(&having.beginning(&prefix.text));
                for term in &prefix.shorter {
                    perhaps.unite(&having.term(term));
                }
            }
            perhaps.unite(&certain);
            narrow(&mut all, &certain);
            narrow(&mut perhaps_all, &perhaps);
        }
        (all.unwrap_or_default(), perhaps_all.unwrap_or_default())
    }
}

/// Adds the documents that contain, or may contain, what is excluded.
fn exclude(having: &Having<'_>, excluded: &Excluded, judgement: &mut Judgement) {
    let mut doubt = |perhaps: Option<Sequences>| match (&mut judgement.doubtful, perhaps) {
        (Some(doubtful), Some(perhaps)) => doubtful.unite(&perhaps),
        (doubtful, _) => *doubtful = None,
    };
    match excluded {
        Excluded::Phrase(phrase) => doubt(having.all_terms(&certain_terms(phrase))),
        Excluded::Word(word) | Excluded::Prefix(word)
            if has_unsegmented(word) || has_date(word) =>
        {
            doubt(having.all_terms(&certain_terms(word)));
        }
        Excluded::Word(word) => match tokens(word).last() {
            Some(term) => judgement.failed.unite(&having.term::<Sequences>(term)),
            None => doubt(None),
        },
        Excluded::Prefix(prefix) => {
            let beginning = plain(prefix, &mut String::new());
            judgement.failed.unite(&having.beginning(&beginning));
            // Stop words are not indexed as terms.
            if begins_stop_word(&beginning) {
                return doubt(None);
            }
            shorter_terms(&beginning).iter().for_each(|term| doubt(Some(having.term(term))));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Document;
    use crate::query::plan::Operator;
    use crate::query::search_syntax::SearchSyntax;

    fn plan(query: &str) -> QueryPlan {
        QueryPlan::new(&SearchSyntax::parse(query).unwrap(), Operator::All)
    }

    fn index(texts: &[&str]) -> Index {
        let index = Index::new();
        for (sequence, result) in (0..).zip(texts) {
            index.add(sequence, &Document { result, ..Document::default() });
        }
        index
    }

    /// The texts that match the plan, decided by the index where possible. Both methods must agree.
    fn found(query: &str, texts: &[&str]) -> Vec<usize> {
        let plan = plan(query);
        let judgement = plan.judge(&index(texts));
        let mut verifier = plan.verifier();
        let found = texts.iter().enumerate().filter(|(number, text)| {
            let is_met = verifier.is_met_by(&[text], true);
            match judgement.of(*number as u64, false) {
                Verdict::Open => {}
                Verdict::Met => assert!(is_met, "{query}: {text}"),
                Verdict::Failed => assert!(!is_met, "{query}: {text}"),
            }
            is_met
        });
        found.map(|(number, _)| number).collect()
    }

    #[test]
    fn every_word_must_be_there_in_some_form() {
        let texts = [
            "the authentication of users",
            "user authors",
            "LoginForm with login_form",
            "login form",
            "loginform",
            "organization of organs",
            "organ 2",
        ];
        for (query, expected) in [
            ("auth user", &[0, 1][..]),
            ("authenticat", &[0]),
            ("authentications", &[0]),
            ("user auth*", &[0, 1]),
            ("auth* organ*", &[0, 1, 5, 6]),
            ("LoginForm", &[2, 3, 4]),
            ("login_form", &[2, 3, 4]),
            ("login form", &[2, 3]),
            ("organiz", &[5]),
            ("organ", &[5, 6]),
            ("the", &[0]),
            ("the user", &[0, 1]),
            ("of the", &[0]),
            ("absent", &[]),
            ("-user", &[2, 3, 4, 5, 6]),
            ("-organiz* organ", &[6]),
            ("-the -form", &[1, 4, 5, 6]),
            ("\"login form\"", &[3]),
            ("\"form\" -with", &[3]),
            ("organs -\"of organs\"", &[6]),
            ("us", &[]),
            ("organ2", &[]),
        ] {
            assert_eq!(found(query, &texts), expected, "{query}");
        }
    }

    #[test]
    fn case_accents_and_scripts_do_not_matter() {
        let texts = ["Café ÉTÉ", "cafe", "東京都の天気", "京都", "2024-05-07 report", "O'Brien’s"];
        for (query, expected) in [
            ("CAFE", &[0, 1][..]),
            ("café été", &[0]),
            ("東京", &[2]),
            ("京都", &[2, 3]),
            ("2024-05-07", &[4]),
            ("2024", &[4]),
            ("o'brien", &[5]),
        ] {
            assert_eq!(found(query, &texts), expected, "{query}");
        }
    }

    #[test]
    fn an_index_that_knows_suffices() {
        let judge = |query: &str| {
            let judgement = plan(query).judge(&index(&["login form", "form", "organ"]));
            [0, 1, 2].map(|sequence| judgement.of(sequence, false))
        };
        let (met, failed, open) = (Verdict::Met, Verdict::Failed, Verdict::Open);
        assert_eq!(judge("login form"), [met, failed, failed]);
        assert_eq!(judge("form -login"), [failed, met, failed]);
        assert_eq!(judge("organiz"), [failed, failed, open]);
        assert_eq!(judge("\"login form\""), [open, failed, failed]);
        assert_eq!(judge("-\"login form\""), [open, met, met]);
        assert_eq!(judge(""), [met, met, met]);
        let judgement = plan("form").judge(&index(&["login", "form"]));
        assert_eq!([0, 1].map(|sequence| judgement.of(sequence, true)), [open, met]);
        let judgement = plan("form -login").judge(&index(&["login", "form"]));
        assert_eq!([0, 1].map(|sequence| judgement.of(sequence, true)), [failed, open]);
    }

    proptest! {
        #[test]
        fn the_index_and_the_texts_agree(
            texts in prop::collection::vec("((login|form|LoginForm|auth|authentic|authenticated|organization|organ|the|went|go|東京|user_name|é)[ .,_-]){0,6}", 1..8),
            query in "((-|)(login|form|LoginForm|auth|authenticat|organiz|organ\\*|organiza\\*|the|going|東|user_name|\"organ the\")[ ]){0,4}",
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            found(&query, &texts);
        }
    }
}
