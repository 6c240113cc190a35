//! Evaluates a search query over stored outputs: queries the index, verifies the texts, and selects the snippets to
//! show.

use std::ops::{ControlFlow, Range, RangeInclusive};

use rustc_hash::FxHashSet;

use crate::highlight::snippets::{FieldText, Snippet, bytes_of, cut};
use crate::highlight::windows::{Window, Windows};
use crate::index::fields::Document;
use crate::index::inverted_index::Index;
use crate::query::matcher::Matcher;
use crate::query::phrase::Phrase;
use crate::query::plan::{Operator, QueryPlan, tokens};
use crate::query::prefixes::PrefixRule;
use crate::query::ranking::PlanRanking;
use crate::query::search_syntax::SearchSyntax;
use crate::query::similar::{lengths_of_similar, similar_terms};
use crate::query::verifier::Verifier;
use crate::query::wanted::WantedTerm;
use crate::scoring::collection::Collection;
use crate::scoring::explain::TermMatch;
use crate::scoring::ranked::{RankedList, Which};
use crate::scoring::search::TermStatistics;

/// Once everything was found in a text, this many more bytes are searched for better passages.
const SETTLED_AFTER: usize = 4 * 1024 * 1024;
/// Maximum number of bytes searched in a text after its first match.
const MAXIMUM_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of matches of one phrase that are examined in one text.
const MAXIMUM_PLACES: usize = 10_000;
/// Weights are integers, so that sums are exact.
const WEIGHT_UNIT: f32 = 1000.0;

/// Limits for what is shown of a text.
#[derive(Clone, Copy, Debug)]
pub struct SnippetBounds {
    /// Maximum number of snippets of one stored output.
    pub count: usize,
    /// Approximate number of characters of a snippet.
    pub length: usize,
}

/// The texts of a stored output.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoredTexts<'t> {
    /// The tool's name.
    pub name: &'t str,
    /// A description of what the tool did.
    pub description: &'t str,
    /// Its arguments, as JSON.
    pub arguments: FieldText<'t>,
    /// Its result, as text or JSON.
    pub result: FieldText<'t>,
    /// The recorded outcome of the call, if there is one.
    pub outcome: FieldText<'t>,
}

/// The field in which a snippet was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// In the arguments.
    Arguments,
    /// In the result.
    Result,
    /// In the recorded outcome.
    Outcome,
}

/// The matches in the texts of one stored output.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// The best passages, best first.
    pub snippets: Vec<(Field, Snippet)>,
    /// The share of the query that was found, from 0 to 1, by weight.
    pub share: f32,
    /// The text around the matches: in the arguments, and in the result and the outcome.
    pub evidence: [String; 2],
}

/// An OR search whose best passages are shown.
pub struct TextSearch {
    plan: QueryPlan,
    ranking: PlanRanking,
    verifier: Verifier,
    /// By the numbers of the plan, followed by those of the phrases.
    weights: Vec<u64>,
    /// The score of a document that contains everything with maximum frequency.
    maximum: f32,
    /// For each number, how many documents contain it; unknown for phrases.
    documents: Vec<usize>,
    /// For each number, whether [`TextSearch::note_rare`] found it rare.
    rare: Vec<bool>,
    /// For each number, whether a hit contained it.
    was_seen: Vec<bool>,
    bounds: SnippetBounds,
}

impl TextSearch {
    /// Prepares a query for indexes, which form one collection.
    #[must_use]
    pub fn new(syntax: &SearchSyntax, bounds: SnippetBounds, indexes: &[&Index]) -> Self {
        Self::of_plan(QueryPlan::new(syntax, Operator::Any(PrefixRule::Stems)), bounds, indexes)
    }

    fn of_plan(plan: QueryPlan, bounds: SnippetBounds, indexes: &[&Index]) -> Self {
        let numbers = plan.number_count();
        let mut search = Self {
            ranking: plan.ranking(indexes),
            verifier: plan.verifier(),
            weights: vec![WEIGHT_UNIT as u64; numbers + plan.phrases.len()],
            rare: vec![true; numbers],
            was_seen: vec![false; numbers],
            plan,
            documents: Vec::new(),
            maximum: 0.0,
            bounds,
        };
        search.weigh(indexes);
        search
    }

    /// The statistics of indexes as one collection, for the terms of this search.
    #[must_use]
    pub fn collection_of(&self, indexes: &[&Index]) -> Collection {
        self.ranking.collection_of(indexes)
    }

    /// Adapts the search to indexes that have changed, or to the statistics of a collection of which they have only a part.
    pub fn renew(&mut self, indexes: &[&Index], collection: Option<Collection>) {
        let ranking = self.plan.ranking(indexes);
        self.ranking = match collection {
            Some(collection) => ranking.within(collection),
            None => ranking,
        };
        self.weigh(indexes);
    }

    /// See [`QueryPlan::wanted`].
    #[must_use]
    pub fn wanted(&self) -> Vec<WantedTerm> {
        self.plan.wanted()
    }

    /// The terms that every hit contains, because they are terms of phrases.
    #[must_use]
    pub fn terms_of_phrases(&self) -> Vec<Box<str>> {
        let phrases = self.plan.phrases.iter();
        phrases.flat_map(|planned| planned.certain_terms.iter().cloned()).collect()
    }

    /// The terms of those words of the query that occur neither in the indexes nor in the examined texts.
    #[must_use]
    pub fn absent(&self, syntax: &SearchSyntax) -> Vec<Box<str>> {
        let is_absent = |term: &str| {
            let number = self.plan.terms.iter().position(|other| **other == *term);
            number.is_some_and(|number| {
                self.documents.get(number) == Some(&0) && self.was_seen.get(number) == Some(&false)
            })
        };
        let words = syntax.words.iter().map(|word| tokens(word));
        words.filter(|terms| terms.iter().all(|term| is_absent(term))).flatten().collect()
    }

    /// The lengths of terms that may be similar to one of these, in characters. `None` if none is long enough to be
    /// misspelt.
    #[must_use]
    pub fn lengths_of_similar(absent: &[Box<str>]) -> Option<RangeInclusive<usize>> {
        lengths_of_similar(absent)
    }

    /// A search for terms that may be meant by `absent`: terms of the indexes, and of `vocabulary`. `None` if there are no
    /// similar terms.
    #[must_use]
    pub fn similar(
        &self,
        absent: &[Box<str>],
        indexes: &[&Index],
        vocabulary: &[String],
    ) -> Option<Self> {
        let terms = similar_terms(indexes, vocabulary, absent);
        if terms.is_empty() {
            return None;
        }
        Some(Self::of_plan(self.plan.for_terms(terms), self.bounds, indexes))
    }

    /// Whether the index can select candidates; otherwise all texts have to be read.
    #[must_use]
    pub fn is_indexed(&self) -> bool {
        !self.ranking.query.is_empty()
    }

    /// Whether texts have to be read to decide what is a hit.
    #[must_use]
    pub fn has_conditions(&self) -> bool {
        self.verifier.excludes() || !self.plan.phrases.is_empty() || !self.plan.prefixes.is_empty()
    }

    /// Records which parts of the query occur in fewer than `limit` documents of the indexes. Returns whether there are
    /// any.
    pub fn note_rare(&mut self, limit: usize) -> bool {
        for (rare, documents) in self.rare.iter_mut().zip(&self.documents) {
            *rare = *documents < limit;
        }
        self.rare.contains(&true)
    }

    /// The candidate documents, best first, with scores from 0 to 1.
    #[must_use]
    pub fn rank(
        &self,
        indexes: &[&Index],
        limit: Option<usize>,
        accepts: &dyn Fn(u64) -> bool,
    ) -> Vec<(u64, f32)> {
        let RankedList { maximum, hits } = self.ranking.rank(indexes, limit, accepts);
        hits.into_iter().map(|(sequence, score)| (sequence, self.share(score, maximum))).collect()
    }

    /// The scores of documents that are not in an index, from 0 to 1, in their order.
    #[must_use]
    pub fn score(&self, indexes: &[&Index], documents: &[Document<'_>]) -> Vec<f32> {
        let mut scores = vec![0.0; documents.len()];
        let RankedList { maximum, hits } = self.ranking.score(indexes, documents);
        for (position, score) in hits {
            if let Some(slot) = scores.get_mut(position) {
                *slot = self.share(score, maximum);
            }
        }
        scores
    }

    /// For each document, the contributions of the terms to its score, largest first: first the indexed documents, in the order of
    /// `sequences`, then `documents`, which are in no index. A query of stop words has no terms.
    #[must_use]
    pub fn explain(
        &self,
        indexes: &[&Index],
        sequences: &[u64],
        documents: &[Document<'_>],
    ) -> Vec<Vec<TermMatch>> {
        let known: Vec<Which> = sequences.iter().copied().map(Which::Known).collect();
        let mut explained = self.ranking.explain(indexes, &known, &[]);
        if !documents.is_empty() {
            let foreign: Vec<Which> = (0..documents.len()).map(Which::Foreign).collect();
            explained.extend(self.ranking.explain(indexes, &foreign, documents));
        }
        explained
    }

    /// The documents that contain every indexed term of the phrases. No other indexed text contains the phrases. `None`
    /// when phrases have no indexed terms.
    #[must_use]
    pub fn having_phrases(&self, indexes: &[&Index]) -> Option<FxHashSet<u64>> {
        let terms = self.terms_of_phrases();
        if terms.is_empty() {
            return None;
        }
        Index::having(indexes, |having| having.all_terms(&terms))
    }

    /// Examines the texts of a stored output; `None` when it is not a hit. With `needs_rare`, a part of the query must
    /// occur that [`TextSearch::note_rare`] recorded.
    pub fn examine(
        &mut self,
        texts: &StoredTexts<'_>,
        is_known: bool,
        needs_rare: bool,
    ) -> Option<Examined> {
        let fields = [
            texts.name,
            texts.description,
            texts.arguments.plain,
            texts.result.plain,
            texts.outcome.plain,
        ];
        if !self.verifier.passes(&fields) {
            return None;
        }
        let Self { plan, verifier, weights, rare, bounds, .. } = self;
        let Verifier { matcher, phrases, .. } = verifier;
        let numbers = plan.number_count();
        let mut seen: Vec<bool> = vec![false; numbers];
        seen.resize(weights.len(), true);
        for text in [texts.name, texts.description] {
            let _ = matcher.find(text, |_, number| {
                if let Some(seen) = seen.get_mut(number) {
                    *seen = true;
                }
                ControlFlow::Continue(())
            });
        }
        let mut windows: Vec<(Field, Window)> = Vec::new();
        for (field, text) in [
            (Field::Result, texts.result),
            (Field::Outcome, texts.outcome),
            (Field::Arguments, texts.arguments),
        ] {
            let span = bytes_of(text.plain, bounds.length);
            let mut best = Windows::new(weights, span, bounds.count.max(1));
            find_all(text.plain, matcher, phrases, numbers, &mut best);
            for (seen, now) in seen.iter_mut().zip(best.seen()) {
                *seen |= now;
            }
            windows.extend(best.finish().into_iter().map(|window| (field, window)));
        }
        let looks_for_words = numbers > 0;
        let counts = |number: usize| !needs_rare || rare.get(number) == Some(&true);
        let has_some = (0..numbers).any(|number| seen.get(number) == Some(&true) && counts(number));
        // A document that the index found to match does match, if its terms were the only criterion.
        let must_have = looks_for_words
            && ((phrases.is_empty() && (!is_known || !plan.prefixes.is_empty())) || needs_rare);
        if must_have && !has_some {
            return None;
        }
        windows.sort_by_key(|(_, window)| std::cmp::Reverse(window.worth));
        windows.truncate(bounds.count.max(1));
        for (was_seen, seen) in self.was_seen.iter_mut().zip(&seen) {
            *was_seen |= *seen;
        }
        let mut examined = Examined { share: share_of(weights, &seen), ..Examined::default() };
        for (field, window) in windows {
            let (text, slot) = match field {
                Field::Arguments => (texts.arguments, 0),
                Field::Result => (texts.result, 1),
                Field::Outcome => (texts.outcome, 1),
            };
            let snippet = cut(text, &window, bounds.length, matcher, phrases);
            if let Some(evidence) = examined.evidence.get_mut(slot) {
                let end = snippet.byte_offset + snippet.text.len();
                evidence.push_str(text.plain.get(snippet.byte_offset..end).unwrap_or_default());
                evidence.push('\n');
            }
            if examined.snippets.len() < bounds.count {
                examined.snippets.push((field, snippet));
            }
        }
        Some(examined)
    }

    /// A score from 0 to 1. Stop words have a different maximum.
    fn share(&self, score: f32, of_stop_words: f32) -> f32 {
        let maximum = if self.maximum > 0.0 { self.maximum } else { of_stop_words };
        if maximum > 0.0 { (score / maximum).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Takes the weights of the query's parts from the statistics of the collection.
    fn weigh(&mut self, indexes: &[&Index]) {
        let query = &self.ranking.query;
        let statistics = self.ranking.statistics(indexes);
        let of = |term: &str| {
            let number = query.number_of(term);
            number.and_then(|number| statistics.get(number)).copied().unwrap_or_default()
        };
        let words = self.plan.terms.iter().map(|term| of(term));
        // One of the terms of a prefix suffices.
        let prefixes = self.ranking.expansions.iter().map(|terms| {
            let terms = terms.iter().map(|term| of(term));
            terms.fold(TermStatistics::default(), |sum, term| TermStatistics {
                maximum: sum.maximum.max(term.maximum),
                documents: sum.documents + term.documents,
            })
        });
        let found: Vec<TermStatistics> = words.chain(prefixes).collect();
        let in_words: FxHashSet<&str> = self.plan.terms.iter().map(|term| &**term).collect();
        let of_phrases = self.plan.phrases.iter().flat_map(|planned| tokens(&planned.text));
        let of_phrases: FxHashSet<Box<str>> =
            of_phrases.filter(|term| !in_words.contains(&**term)).collect();
        let phrases: f32 = of_phrases.iter().map(|term| of(term).maximum).sum();
        self.maximum = found.iter().map(|term| term.maximum).sum::<f32>() + phrases;
        for (weight, term) in self.weights.iter_mut().zip(&found) {
            *weight = 1 + (term.maximum * WEIGHT_UNIT) as u64;
        }
        self.documents = found.iter().map(|term| term.documents).collect();
        let heaviest = self.weights.iter().max().copied().unwrap_or(1);
        for weight in self.weights.iter_mut().skip(self.plan.number_count()) {
            *weight = heaviest * 2;
        }
    }
}

/// Finds words and phrases, ordered by their starts.
fn find_all(
    text: &str,
    matcher: &mut Matcher,
    phrases: &[Phrase],
    first_phrase: usize,
    windows: &mut Windows<'_>,
) {
    let mut places: Vec<(Range<usize>, usize)> = Vec::new();
    for (number, phrase) in (first_phrase..).zip(phrases) {
        let before = places.len();
        let _ = phrase.find(text, |place| {
            places.push((place, number));
            if places.len() - before < MAXIMUM_PLACES {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
    }
    places.sort_by_key(|(place, _)| place.start);
    let mut places = places.into_iter().peekable();
    let mut unseen = vec![true; first_phrase];
    let (mut first, mut latest_new) = (None, 0);
    let _ = matcher.find(text, |range, number| {
        while let Some((place, number)) = places.next_if(|(place, _)| place.start <= range.start) {
            windows.push(place, number);
        }
        let at = range.start;
        if let Some(unseen) = unseen.get_mut(number)
            && std::mem::take(unseen)
        {
            latest_new = at;
        }
        windows.push(range, number);
        let is_settled = at > latest_new + SETTLED_AFTER && !unseen.contains(&true);
        if is_settled || at > *first.get_or_insert(at) + MAXIMUM_BYTES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    places.for_each(|(place, number)| windows.push(place, number));
}

/// The share of the query's parts that was found, by weight.
fn share_of(weights: &[u64], seen: &[bool]) -> f32 {
    let all: u64 = weights.iter().sum();
    let there = weights.iter().zip(seen).filter(|(_, seen)| **seen).map(|(weight, _)| weight);
    if all == 0 { 1.0 } else { there.sum::<u64>() as f32 / all as f32 }
}

#[cfg(test)]
mod tests;
