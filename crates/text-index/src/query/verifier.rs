//! Verifies on the texts of a document whether it matches a query plan.

use std::ops::ControlFlow;

use crate::analysis::stop_words::StopWords;
use crate::analysis::tokens::{Token, tokenize_all};
use crate::query::matcher::{Matcher, has_unsegmented};
use crate::query::phrase::{Phrase, has_date};
use crate::query::plan::{Part, QueryPlan, Words, tokens};
use crate::query::search_syntax::Excluded;

/// Searches texts for the parts of a plan. It is large, so a thread creates one and uses it for many texts.
pub struct Verifier {
    /// Searches for the words. Its numbers are those of the plan.
    pub(crate) matcher: Matcher,
    pub(crate) phrases: Vec<Phrase>,
    words: Words,
    prefixes_begin: usize,
    number_count: usize,
    /// Whether a phrase contains a word of the query, so that every text with all phrases also contains a word.
    have_phrases_words: bool,
    excluded: Matcher,
    excluded_phrases: Vec<Phrase>,
}

impl QueryPlan {
    /// A verifier for this plan.
    #[must_use]
    pub fn verifier(&self) -> Verifier {
        let prefixes: Vec<String> =
            self.prefixes.iter().map(|prefix| prefix.text.clone()).collect();
        let stop_words = match &self.words {
            Words::All { .. } => &[],
            Words::Any { stop_words, .. } => &**stop_words,
        };
        let terms = self.terms.iter().map(|term| &**term);
        let (excluded, excluded_phrases) = exclusions(&self.excluded);
        Verifier {
            matcher: Matcher::new(terms, &prefixes, stop_words),
            phrases: self.phrases.iter().map(|planned| planned.phrase.clone()).collect(),
            words: self.words.clone(),
            prefixes_begin: self.terms.len(),
            number_count: self.number_count(),
            have_phrases_words: self
                .phrases
                .iter()
                .any(|planned| !tokens(&planned.text).is_empty()),
            excluded,
            excluded_phrases,
        }
    }
}

impl Verifier {
    /// Whether these texts of one document match the plan. If `needs_words` is false, the words and prefixes are known
    /// to match.
    pub fn is_met_by(&mut self, texts: &[&str], needs_words: bool) -> bool {
        self.passes(texts) && (!needs_words || self.has_words(texts))
    }

    /// Whether the texts contain all phrases and nothing that is excluded.
    pub(crate) fn passes(&mut self, texts: &[&str]) -> bool {
        let is_anywhere = |phrase: &Phrase| texts.iter().any(|text| phrase.is_in(text));
        self.phrases.iter().all(is_anywhere)
            && !self.excluded_phrases.iter().any(is_anywhere)
            && !texts.iter().any(|text| self.excluded.is_in(text))
    }

    /// Whether the plan has exclusions.
    pub(crate) fn excludes(&self) -> bool {
        !(self.excluded.is_empty() && self.excluded_phrases.is_empty())
    }

    /// Whether texts that pass also contain the words.
    fn has_words(&mut self, texts: &[&str]) -> bool {
        let Self { matcher, words, prefixes_begin, number_count, .. } = self;
        let (clauses, stop_words) = match words {
            Words::All { clauses, stop_words } => (clauses, stop_words),
            Words::Any { .. } => {
                return self.have_phrases_words || texts.iter().any(|text| matcher.is_in(text));
            }
        };
        let mut seen = vec![false; *number_count];
        for text in texts {
            let _ = matcher.find(text, |_, number| {
                seen.get_mut(number).into_iter().for_each(|seen| *seen = true);
                ControlFlow::Continue(())
            });
        }
        let was_seen = |number: usize| seen.get(number) == Some(&true);
        let is_there = |part: &Part| {
            part.term.is_some_and(was_seen)
                || part.prefix.is_some_and(|number| was_seen(*prefixes_begin + number))
        };
        clauses.iter().all(|clause| clause.iter().any(|parts| parts.iter().all(is_there)))
            && (stop_words.is_empty() || stop_words_of(texts).common(stop_words) == *stop_words)
    }
}

fn stop_words_of(texts: &[&str]) -> StopWords {
    let mut stop_words = StopWords::default();
    for text in texts {
        tokenize_all(text, usize::MAX, |token| {
            if let Token::StopWord(number) = token {
                stop_words.insert(number);
            }
        });
    }
    stop_words
}

/// The matcher and the phrases of what is excluded.
fn exclusions(excluded: &[Excluded]) -> (Matcher, Vec<Phrase>) {
    let (mut words, mut prefixes) = (Vec::new(), Vec::new());
    let mut phrases = Vec::new();
    for exclusion in excluded {
        match exclusion {
            Excluded::Phrase(phrase) => phrases.extend(Phrase::new(phrase)),
            Excluded::Prefix(prefix) if !has_unsegmented(prefix) => prefixes.push(prefix.clone()),
            Excluded::Word(word) | Excluded::Prefix(word) => {
                // Several characters of a script without spaces are searched for as a phrase, and so is a date.
                if has_unsegmented(word) || has_date(word) {
                    phrases.extend(Phrase::new(word));
                } else {
                    words.push(word.clone());
                }
            }
        }
    }
    let mut terms: Vec<Box<str>> = Vec::new();
    let mut stop_words = Vec::new();
    for word in words {
        // The last token is the complete word.
        match tokens(&word).pop() {
            Some(term) => terms.push(term),
            None => stop_words.push(word),
        }
    }
    terms.sort_unstable();
    terms.dedup();
    (Matcher::new(terms.iter().map(|term| &**term), &prefixes, &stop_words), phrases)
}
