//! Evaluates a query on a view of the index.

use std::borrow::Cow;

use crate::index::document_terms::DocumentTerms;
use crate::index::fields::{Document, Lengths};
use crate::index::postings::{Frequencies, Posting};
use crate::index::tail::TailDocument;
use crate::index::view::View;
use crate::query::expansion::Expansion;
use crate::query::free_text::{Origin, Query, QueryTerm};
use crate::query::unindexed::match_query;
use crate::scoring::accumulator::{Accumulator, Plan, WeightedTerm};
use crate::scoring::best::Best;
use crate::scoring::factors::{self, Factor};
use crate::scoring::groups::GroupScores;
use crate::scoring::ranked::{Hit, Ranked, RankedList, Which};
use crate::scoring::ranking::{MAXIMUM_SCORE, Scorer, Totals};
use crate::scoring::stop_word_ranking;

pub(crate) fn search(view: &View, query: &Query, limit: Option<usize>) -> RankedList<Hit> {
    let RankedList { maximum, hits } = if query.stop_words().is_empty() {
        let evaluation = Evaluation::new(view, query, &[], &[]);
        let terms = evaluation.weighted_terms();
        let hits = evaluation.run(&terms, Best::new(limit), &|_| true, None).into_sorted();
        RankedList { maximum: evaluation.maximum(&terms), hits }
    } else {
        stop_word_ranking::rank(view, query.stop_words(), &|_| true, &[], Best::new(limit))
    };
    let hit = |Ranked { which, score, timestamp, .. }| match which {
        Which::Known(sequence) => Some(Hit { sequence, score, timestamp }),
        Which::Foreign(_) => None,
    };
    RankedList { maximum, hits: hits.into_iter().filter_map(hit).collect() }
}

pub(crate) fn rank(
    view: &View,
    query: &Query,
    known: &dyn Fn(u64) -> bool,
    foreign: &[Document<'_>],
) -> RankedList<Ranked> {
    if !query.stop_words().is_empty() {
        return stop_word_ranking::rank(view, query.stop_words(), known, foreign, Best::new(None));
    }
    Evaluation::new(view, query, foreign, &[]).rank(known, None)
}

/// The best documents by the terms of the query only: no replacements of absent terms, and no scores of groups.
pub(crate) fn rank_best(
    view: &View,
    query: &Query,
    limit: Option<usize>,
    known: &dyn Fn(u64) -> bool,
    foreign: &[Document<'_>],
) -> RankedList<Ranked> {
    let best = Best::new(limit);
    if !query.stop_words().is_empty() {
        return stop_word_ranking::rank(view, query.stop_words(), known, foreign, best);
    }
    let evaluation = Evaluation::of_query(view, query, foreign);
    let terms = evaluation.weighted_terms();
    RankedList {
        maximum: evaluation.maximum(&terms),
        hits: evaluation.run(&terms, best, known, None).into_sorted(),
    }
}

/// Statistics of a term in a collection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TermStatistics {
    /// The maximum that the term can add to a score.
    pub(crate) maximum: f32,
    /// The number of documents that contain it.
    pub(crate) documents: usize,
}

/// The statistics of the collection, and of the query's terms, in order.
pub(crate) fn statistics(view: &View, query: &Query) -> (Totals, Vec<TermStatistics>) {
    let evaluation = Evaluation::of_terms(view, &view.recent(), Cow::Borrowed(query.terms()), &[]);
    let mut terms = vec![TermStatistics::default(); query.terms().len()];
    for WeightedTerm { number, weight, .. } in evaluation.weighted_terms() {
        if let Some(slot) = terms.get_mut(number) {
            let (maximum, documents) = (weight * MAXIMUM_SCORE, evaluation.containing(number));
            *slot = TermStatistics { maximum, documents };
        }
    }
    (evaluation.totals, terms)
}

/// A document outside segments that contains a query term.
pub(crate) struct Loose {
    pub(crate) which: Which,
    pub(crate) timestamp: i64,
    pub(crate) group: u64,
    pub(crate) lengths: Lengths,
    pub(crate) factor: f32,
}

pub(crate) struct Evaluation<'a> {
    view: &'a View,
    factors: &'a [Factor],
    pub(crate) terms: Cow<'a, [QueryTerm]>,
    pub(crate) totals: Totals,
    /// By segment and term.
    postings: Vec<&'a [Posting]>,
    loose: Vec<Loose>,
    /// By loose document and term.
    frequencies: Vec<Frequencies>,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(
        view: &'a View,
        query: &'a Query,
        foreign: &[Document<'_>],
        factors: &'a [Factor],
    ) -> Self {
        Self::with_recent(view, &view.recent(), query, foreign, factors)
    }

    /// As [`Evaluation::new`]; `recent` is the value of [`View::recent`].
    pub(crate) fn with_recent(
        view: &'a View,
        recent: &[(&TailDocument, &DocumentTerms)],
        query: &'a Query,
        foreign: &[Document<'_>],
        factors: &'a [Factor],
    ) -> Self {
        let mut evaluation = Self::of_terms(view, recent, Cow::Borrowed(query.terms()), factors);
        let is_absent = |number| evaluation.containing(number) == 0;
        let mut expansion = Expansion::new(query, is_absent);
        if !expansion.is_idle() {
            view.segments.iter().for_each(|segment| expansion.see_segment(segment));
            recent.iter().for_each(|(_, terms)| expansion.see_document(terms));
        }
        evaluation.add_foreign(query, foreign, |text| expansion.see(text));
        let more = expansion.into_terms();
        if more.is_empty() {
            return evaluation;
        }
        let query = query.with_terms(more.into_iter());
        let mut evaluation =
            Self::of_terms(view, recent, Cow::Owned(query.terms().to_vec()), factors);
        evaluation.add_foreign(&query, foreign, |_| {});
        evaluation
    }

    /// Evaluates only the terms of the query.
    pub(crate) fn of_query(view: &'a View, query: &'a Query, foreign: &[Document<'_>]) -> Self {
        let mut evaluation =
            Self::of_terms(view, &view.recent(), Cow::Borrowed(query.terms()), &[]);
        evaluation.add_foreign(query, foreign, |_| {});
        evaluation
    }

    /// Without foreign documents.
    fn of_terms(
        view: &'a View,
        recent: &[(&TailDocument, &DocumentTerms)],
        terms: Cow<'a, [QueryTerm]>,
        factors: &'a [Factor],
    ) -> Self {
        let segments = &view.segments;
        let mut evaluation = Self {
            view,
            factors,
            totals: view.collection().map(|collection| *collection.totals()).unwrap_or_default(),
            postings: Vec::with_capacity(segments.len() * terms.len()),
            loose: Vec::new(),
            frequencies: Vec::new(),
            terms,
        };
        for segment in segments {
            if view.collection().is_none() {
                evaluation.totals.add_all(segment.totals());
            }
            let terms = evaluation.terms.iter();
            evaluation.postings.extend(terms.map(|term| segment.postings(term.hash, &term.text)));
        }
        let mut found = Vec::with_capacity(evaluation.terms.len());
        for (document, document_terms) in recent {
            found.clear();
            let terms = evaluation.terms.iter();
            found.extend(terms.map(|term| document_terms.find(term.hash, &term.text)));
            let which = Which::Known(document.sequence);
            let (timestamp, group) = (document.timestamp, document.group);
            let lengths = document_terms.lengths;
            let loose = Loose { which, timestamp, group, lengths, factor: 1.0 };
            evaluation.add_loose(loose, &found, || factors::of_terms(factors, document_terms));
        }
        evaluation
    }

    fn add_foreign(
        &mut self,
        query: &Query,
        documents: &[Document<'_>],
        mut see: impl FnMut(&str),
    ) {
        let mut found = Vec::with_capacity(query.terms().len());
        for (position, document) in documents.iter().enumerate() {
            let lengths = match_query(document, query, &mut found, &mut see);
            let Document { timestamp, group, .. } = *document;
            let which = Which::Foreign(position);
            let loose = Loose { which, timestamp, group, lengths, factor: 1.0 };
            let factors = self.factors;
            self.add_loose(loose, &found, || factors::of_document(factors, document));
        }
    }

    fn add_loose(&mut self, document: Loose, found: &[Frequencies], factor: impl FnOnce() -> f32) {
        if self.view.collection().is_none() {
            self.totals.add(&document.lengths);
        }
        if !found.iter().all(|frequencies| frequencies.is_empty()) {
            self.loose.push(Loose { factor: factor(), ..document });
            self.frequencies.extend_from_slice(found);
        }
    }

    /// The documents that share a term with the query, with the scores of their groups: best first, or with `leading`
    /// only that many in order and the others in no order.
    pub(crate) fn rank(
        &self,
        known: &dyn Fn(u64) -> bool,
        leading: Option<usize>,
    ) -> RankedList<Ranked> {
        let terms = self.weighted_terms();
        let mut groups = GroupScores::new(terms.iter().map(|term| term.number));
        let best = self.run(&terms, Best::new(None), known, Some(&mut groups));
        let mut hits = match leading {
            Some(count) => best.into_best_first(count),
            None => best.into_sorted(),
        };
        for ranked in &mut hits {
            ranked.group_score = groups.score(ranked.group);
        }
        RankedList { maximum: self.maximum(&terms), hits }
    }

    /// The weight of a term for its rarity; `None` when no document contains it.
    pub(crate) fn rarity(&self, term: &str) -> Option<f32> {
        let number = self.terms.iter().position(|other| *other.text == *term)?;
        let containing = self.containing(number) as u64;
        (containing > 0).then(|| self.totals.inverse_document_frequency(containing))
    }

    fn run(
        &self,
        terms: &[WeightedTerm],
        mut best: Best,
        known: &dyn Fn(u64) -> bool,
        mut groups: Option<&mut GroupScores>,
    ) -> Best {
        let scorer = Scorer::new(&self.totals);
        let in_segments = |sequence| !self.view.is_announced(sequence) && known(sequence);
        let in_segments: &dyn Fn(u64) -> bool =
            if !self.view.has_announced() { known } else { &in_segments };
        let plan = Plan { terms, scorer: &scorer, known: in_segments, factors: self.factors };
        Accumulator::with(|accumulator| {
            let postings = self.postings.chunks(self.terms.len().max(1));
            for (segment, postings) in self.view.segments.iter().zip(postings) {
                accumulator.evaluate(segment, postings, &plan, &mut best, groups.as_deref_mut());
            }
        });
        for (document, found) in self.matching_loose(terms) {
            let accepted = match document.which {
                Which::Known(sequence) => known(sequence),
                Which::Foreign(_) => true,
            };
            if accepted {
                let group = groups.as_mut().and_then(|groups| groups.number(document.group));
                let mut sum = 0.0;
                for (number, score) in scores(terms, found, &document.lengths, &scorer) {
                    sum += score;
                    if let (Some(groups), Some(group)) = (groups.as_deref_mut(), group) {
                        groups.add(group, number, score);
                    }
                }
                let Loose { which, timestamp, group, factor, .. } = *document;
                best.push(Ranked {
                    which,
                    score: sum * factor,
                    group,
                    group_score: 0.0,
                    timestamp,
                });
            }
        }
        best
    }

    /// The documents outside segments that contain a term which is not merely extra, with the frequencies of their terms.
    pub(crate) fn matching_loose(
        &self,
        terms: &[WeightedTerm],
    ) -> impl Iterator<Item = (&Loose, &[Frequencies])> {
        let found = self.frequencies.chunks(self.terms.len().max(1));
        self.loose.iter().zip(found).filter(|(_, found)| is_found(terms, found))
    }

    /// The postings of a term in a segment; both are given by their numbers.
    pub(crate) fn postings(&self, segment: usize, term: usize) -> &'a [Posting] {
        self.postings.get(segment * self.terms.len() + term).copied().unwrap_or_default()
    }

    /// The number of documents that contain a term.
    fn containing(&self, number: usize) -> usize {
        let of_term = self.postings.iter().skip(number).step_by(self.terms.len().max(1));
        let in_segments: usize = of_term.map(|postings| postings.len()).sum();
        let loose = self.frequencies.iter().skip(number).step_by(self.terms.len().max(1));
        let ranked = in_segments + loose.filter(|frequencies| !frequencies.is_empty()).count();
        match (self.view.collection(), self.terms.get(number)) {
            (Some(collection), Some(term)) => collection.at_least(&term.text, ranked),
            _ => ranked,
        }
    }

    /// The terms by maximum contribution, descending. The order is the same for all documents, so that equal documents
    /// get exactly equal scores.
    pub(crate) fn weighted_terms(&self) -> Vec<WeightedTerm> {
        let weight = |(number, term): (usize, &QueryTerm)| {
            let containing = self.containing(number) as u64;
            let weight = term.weight * self.totals.inverse_document_frequency(containing);
            let is_extra = term.origin == Origin::Synonym;
            WeightedTerm { number, weight, is_extra, remaining: 0.0 }
        };
        let mut terms: Vec<WeightedTerm> = self.terms.iter().enumerate().map(weight).collect();
        terms.sort_by(|left, right| {
            left.is_extra.cmp(&right.is_extra).then(right.weight.total_cmp(&left.weight))
        });
        let mut remaining = 0.0;
        for term in terms.iter_mut().rev() {
            remaining += term.weight * MAXIMUM_SCORE;
            term.remaining = remaining;
        }
        terms
    }

    /// The maximum contribution of all terms, where only the heaviest term of each part of the query counts.
    pub(crate) fn maximum(&self, terms: &[WeightedTerm]) -> f32 {
        let part = |term: &WeightedTerm| self.terms.get(term.number).map(|term| term.part);
        let mut parts: Vec<(Option<u32>, f32)> =
            terms.iter().map(|term| (part(term), term.weight)).collect();
        parts.sort_by(|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
        parts.dedup_by_key(|(part, _)| *part);
        MAXIMUM_SCORE * parts.iter().map(|(_, weight)| weight).sum::<f32>()
    }
}

/// Whether a document contains a term that is not merely extra.
fn is_found(terms: &[WeightedTerm], found: &[Frequencies]) -> bool {
    let finding = terms.iter().filter(|term| !term.is_extra);
    finding.filter_map(|term| found.get(term.number)).any(|frequencies| !frequencies.is_empty())
}

/// The contribution of each term to a document that contains it.
pub(crate) fn scores(
    terms: &[WeightedTerm],
    found: &[Frequencies],
    lengths: &Lengths,
    scorer: &Scorer,
) -> impl Iterator<Item = (usize, f32)> {
    let matched = terms.iter().filter_map(|term| Some((term, *found.get(term.number)?)));
    matched
        .filter(|(_, frequencies)| !frequencies.is_empty())
        .map(|(term, frequencies)| (term.number, term.weight * scorer.score(frequencies, lengths)))
}
