//! The plan of a query: the conditions for documents, in the form in which the index and the texts are searched.
//!
//! Every search turns its [`SearchSyntax`] into a plan and takes the same steps: `ranking` and `judgement` select
//! candidates from posting lists, and `verifier` reads the texts where the index cannot decide.

use crate::analysis::stop_words::StopWords;
use crate::analysis::tokens::{is_ascii_separator, tokenize};
use crate::query::free_text::Query;
use crate::query::matcher::{has_unsegmented, plain, words_of};
use crate::query::phrase::{Phrase, certain_terms, has_date};
use crate::query::prefixes::{Prefix, PrefixRule};
use crate::query::search_syntax::{Excluded, SearchSyntax};

/// Minimum number of characters of a word that is also searched for as a prefix.
const LEAST_BEGINNING: usize = 3;

/// How the words of a query are combined. Phrases and exclusions always apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// AND: every word must occur, in any of its forms or as the prefix of a longer one, and one of the prefixes must
    /// occur.
    All,
    /// OR: one of the words or prefixes suffices. They rank the documents.
    Any(PrefixRule),
}

/// The conditions for documents.
#[derive(Clone, Debug)]
pub struct QueryPlan {
    /// Terms and prefixes that texts are searched for. They are numbered like those of a matcher: the terms in order,
    /// then the prefixes, then the stop words of [`Words::Any`].
    pub(crate) terms: Vec<Box<str>>,
    pub(crate) prefixes: Vec<Prefix>,
    pub(crate) words: Words,
    pub(crate) phrases: Vec<PlannedPhrase>,
    pub(crate) excluded: Vec<Excluded>,
}

/// How terms and prefixes are combined.
#[derive(Clone, Debug)]
pub(crate) enum Words {
    All {
        /// One alternative of each clause must occur.
        clauses: Vec<Vec<Parts>>,
        /// All must occur. Empty if there are terms or prefixes.
        stop_words: StopWords,
    },
    Any {
        /// The terms of the words and phrases, by which documents are ranked.
        query: Query,
        /// One must occur. Empty if there are terms or prefixes.
        stop_words: Vec<String>,
    },
}

/// Parts that must all occur for a word to match.
pub(crate) type Parts = Vec<Part>;

/// A term, a prefix, or either, by their indices in [`QueryPlan::terms`] and [`QueryPlan::prefixes`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    pub(crate) term: Option<usize>,
    pub(crate) prefix: Option<usize>,
}

/// A phrase that must occur.
#[derive(Clone, Debug)]
pub(crate) struct PlannedPhrase {
    pub(crate) text: String,
    pub(crate) phrase: Phrase,
    /// Terms that every document with the phrase has.
    pub(crate) certain_terms: Vec<Box<str>>,
}

impl QueryPlan {
    /// The plan of a query.
    #[must_use]
    pub fn new(syntax: &SearchSyntax, operator: Operator) -> Self {
        let phrases = syntax.phrases.iter().filter_map(|text| {
            let (text, phrase) = (text.clone(), Phrase::new(text)?);
            Some(PlannedPhrase { certain_terms: certain_terms(&text), text, phrase })
        });
        let words = Words::All { clauses: Vec::new(), stop_words: StopWords::default() };
        let (phrases, excluded) = (phrases.collect(), syntax.excluded.clone());
        let mut plan = Self { terms: Vec::new(), prefixes: Vec::new(), words, phrases, excluded };
        plan.words = match operator {
            Operator::All => plan.all_words(syntax),
            Operator::Any(rule) => plan.any_word(syntax, rule),
        };
        plan
    }

    /// The plan for an OR query of these terms, with the same phrases and exclusions.
    pub(crate) fn for_terms(&self, terms: Vec<Box<str>>) -> Self {
        let query = Query::builder().build().with_own_terms(terms.iter().cloned());
        Self {
            terms,
            prefixes: Vec::new(),
            words: Words::Any { query, stop_words: Vec::new() },
            phrases: self.phrases.clone(),
            excluded: self.excluded.clone(),
        }
    }

    /// Whether there is something to rank documents by.
    #[must_use]
    pub fn is_ranked(&self) -> bool {
        match &self.words {
            Words::All { .. } => false,
            Words::Any { query, .. } => !(query.is_empty() && self.prefixes.is_empty()),
        }
    }

    /// Whether there are conditions other than words and prefixes.
    #[must_use]
    pub fn has_filters(&self) -> bool {
        !(self.phrases.is_empty() && self.excluded.is_empty())
    }

    /// The count of numbers for what texts are searched for.
    pub(crate) fn number_count(&self) -> usize {
        let stop_words = match &self.words {
            Words::All { .. } => 0,
            Words::Any { stop_words, .. } => stop_words.len(),
        };
        self.terms.len() + self.prefixes.len() + stop_words
    }

    fn any_word(&mut self, syntax: &SearchSyntax, rule: PrefixRule) -> Words {
        // Text in a script without spaces between words is indexed by characters.
        let is_word = |prefix: &String| rule == PrefixRule::Stems && has_unsegmented(prefix);
        let (spaceless, prefixes): (Vec<_>, Vec<_>) =
            syntax.prefixes.iter().cloned().partition(is_word);
        let text = [&*syntax.words, &*spaceless].concat().join("\n");
        let words = Query::builder().text(&text, 1.0).build();
        self.terms = words.terms().iter().map(|term| term.text.clone()).collect();
        self.prefixes = prefixes.iter().map(|prefix| Prefix::new(prefix, rule)).collect();
        let is_plain = words.is_empty() && prefixes.is_empty() && syntax.phrases.is_empty();
        let mut stop_words = if is_plain { words_of(&text.to_lowercase()) } else { Vec::new() };
        stop_words.sort_unstable();
        stop_words.dedup();
        let query = Query::builder().text(&text, 1.0).text(&syntax.phrases.join("\n"), 1.0);
        Words::Any { query: query.keep_stop_words().build(), stop_words }
    }

    fn all_words(&mut self, syntax: &SearchSyntax) -> Words {
        let mut clauses = Vec::new();
        let mut need = |alternatives: Vec<Parts>| {
            if !alternatives.is_empty() {
                clauses.push(alternatives);
            }
        };
        for words in &syntax.words {
            for run in
                words.split(|character: char| u8::try_from(character).is_ok_and(is_ascii_separator))
            {
                need(self.alternatives_of_word(run));
            }
        }
        let prefixes = syntax.prefixes.iter().map(|prefix| {
            if has_unsegmented(prefix) {
                self.parts_of(&tokens(prefix))
            } else {
                vec![Part { term: None, prefix: Some(self.prefix(prefix)) }]
            }
        });
        need(prefixes.collect());
        let mut stop_words = StopWords::default();
        if clauses.is_empty() && self.phrases.is_empty() {
            let words = Query::builder().text(&syntax.words.join("\n"), 1.0).keep_stop_words();
            stop_words = *words.build().stop_words();
        }
        Words::All { clauses, stop_words }
    }

    /// The alternatives for a run of characters that no separator splits.
    fn alternatives_of_word(&mut self, run: &str) -> Vec<Parts> {
        let tokens = tokens(run);
        let Some((whole, pieces)) = tokens.split_last() else { return Vec::new() };
        // The last token of these is not the complete run.
        let is_sequence = has_unsegmented(run) || has_date(run) || run.contains(['\'', '’']);
        if is_sequence && !pieces.is_empty() {
            return vec![self.parts_of(&tokens)];
        }
        let is_long =
            !is_sequence && plain(run, &mut String::new()).chars().count() >= LEAST_BEGINNING;
        let prefix = is_long.then(|| self.prefix(run));
        let whole = vec![Part { prefix, term: Some(self.term(whole)) }];
        // Digits without letters would match in too many places.
        let has_digit = run.contains(|character: char| character.is_ascii_digit());
        let pieces = self.parts_of(if has_digit { &[] } else { pieces });
        [whole, pieces].into_iter().filter(|parts| !parts.is_empty()).collect()
    }

    fn parts_of(&mut self, terms: &[Box<str>]) -> Parts {
        terms.iter().map(|term| Part { term: Some(self.term(term)), prefix: None }).collect()
    }

    fn term(&mut self, term: &str) -> usize {
        let number = self.terms.iter().position(|other| **other == *term);
        number.unwrap_or_else(|| {
            self.terms.push(term.into());
            self.terms.len() - 1
        })
    }

    fn prefix(&mut self, prefix: &str) -> usize {
        let text = plain(prefix, &mut String::new());
        let number = self.prefixes.iter().position(|other| other.text == text);
        number.unwrap_or_else(|| {
            self.prefixes.push(Prefix::new(&text, PrefixRule::Completions));
            self.prefixes.len() - 1
        })
    }
}

/// The terms of a text, in its order.
pub(crate) fn tokens(text: &str) -> Vec<Box<str>> {
    let mut tokens = Vec::new();
    tokenize(text, usize::MAX, |term| tokens.push(term.into()));
    tokens
}
