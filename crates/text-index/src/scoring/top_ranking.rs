//! Finds the best documents for a question without scoring all matching documents. The documents and scores are those
//! of [`crate::Index::rank_for`] and [`crate::boost`].
//!
//! The levels of the postings (see [`crate::index::bounds`]) give an upper bound of the text score of each document,
//! which is near the score and takes a fraction of the time. Only documents are scored that can be among the best by
//! their bounds. The search has two parts:
//!
//! First, the documents with the best text scores are found. The scores of linked identifiers and of pairs of terms depend
//! on them (see [`crate::scoring::question_ranking`]).
//!
//! Second, the best documents with the boosts of groups, neighbours and recency are found
//! ([`crate::scoring::top_boosted`]).

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::index::maintenance::GroupUnits;
use crate::index::postings::Posting;
use crate::index::segment::Segment;
use crate::index::view::View;
use crate::query::free_text::Query;
use crate::query::question::Question;
use crate::scoring::best::better_first;
use crate::scoring::boosts::{Boosts, Scored};
use crate::scoring::document_bounds::{DocumentBounds, Place};
use crate::scoring::factors::Factor;
use crate::scoring::question_ranking::{PAIRED, Sketches, add_pairs, linked_terms};
use crate::scoring::ranked::{Ranked, Which};
use crate::scoring::search::{Evaluation, scores};
use crate::scoring::threshold::Threshold;
use crate::scoring::unit_scores::{Places, Scoring};

/// The documents that a question is ranked over, in the order of their sequences.
pub trait Candidates {
    /// The number of candidates.
    fn len(&self) -> usize;

    /// Whether there are no candidates.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of candidates before the given one; `None` if it is not a candidate.
    fn position(&self, sequence: u64) -> Option<usize>;

    /// The sequence of the candidate at a position.
    fn sequence(&self, position: usize) -> Option<u64>;
}

/// The best candidates for a question.
#[derive(Clone, Debug, PartialEq)]
pub struct TopList {
    /// As in [`crate::RankedList`].
    pub maximum: f32,
    /// The best score without recency.
    pub best: f32,
    /// Best first, with all boosts.
    pub hits: Vec<Scored>,
}

/// The best `limit` candidates that share a term with the question.
pub(crate) fn rank(
    view: &View,
    group_units: &GroupUnits,
    question: &Question,
    candidates: &dyn Candidates,
    boosts: &Boosts,
    limit: usize,
) -> TopList {
    let factors = Factor::of(question);
    let recent = view.recent();
    let sketches = Sketches::new(view, &recent, &[]);
    let evaluation = Evaluation::with_recent(view, &recent, question.query(), &[], &factors);
    let (linked_query, linked_evaluation);
    let mut top = Top::new(view, group_units, &evaluation, &factors, candidates);
    let maximum = evaluation.maximum(&top.main.terms);
    top.score_best_texts(PAIRED);
    let hits: Vec<Ranked> = top.best_texts().into_iter().map(|(_, hit)| hit).collect();
    let linked = linked_terms(&evaluation, &hits, &sketches);
    if !linked.is_empty() {
        linked_query = Query::of_weighted(linked.into_iter());
        linked_evaluation = Evaluation::with_recent(view, &recent, &linked_query, &[], &factors);
        top.link(Scoring::new(&linked_evaluation));
        top.score_best_texts(PAIRED);
    }
    let (numbers, mut hits): (Vec<usize>, Vec<Ranked>) = top.best_texts().into_iter().unzip();
    add_pairs(&evaluation, question, &mut hits, &sketches);
    let more: Vec<f32> =
        numbers.into_iter().zip(hits).map(|(number, hit)| top.pair(number, hit.score)).collect();
    top.more += more.into_iter().fold(0.0, f32::max);
    let (hits, best) = top.into_best(boosts, limit);
    TopList { maximum, best, hits }
}

/// A scored document that shares a term with the question.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) sequence: u64,
    pub(super) position: usize,
    pub(super) text: f32,
    pub(super) group: u64,
    pub(super) timestamp: i64,
    /// Unused for a document outside segments.
    pub(super) place: Place,
}

impl Found {
    pub(super) fn scored(&self, group_score: f32) -> Scored {
        let Self { position, text, group, timestamp, .. } = *self;
        Scored { position, score: text, group, group_score, timestamp, ..Scored::default() }
    }
}

/// Factors with the postings of the documents that they apply to.
type FactorPostings<'a> = Vec<(f32, Vec<&'a [Posting]>)>;

pub(super) struct Top<'a> {
    pub(super) view: &'a View,
    pub(super) group_units: &'a GroupUnits,
    pub(super) candidates: &'a dyn Candidates,
    pub(super) main: Scoring<'a>,
    linked: Option<Scoring<'a>>,
    /// For each segment, each factor with the postings of the documents that it applies to.
    factors: Vec<FactorPostings<'a>>,
    /// An upper bound of the product of the factors of a document.
    pub(super) raise: f32,
    /// The most that linked identifiers and pairs of terms add to a text score.
    pub(super) more: f32,
    /// Upper bounds of the text scores of documents in segments.
    pub(super) bounds: DocumentBounds,
    /// The scored documents. The first `loose` are those outside segments.
    pub(super) found: Vec<Found>,
    pub(super) loose: usize,
    /// For each group, the best score of each term among the documents outside segments.
    pub(super) loose_groups: FxHashMap<u64, Vec<f32>>,
    /// The text scores of documents, including pairs of terms.
    pub(super) paired: FxHashMap<u64, f32>,
}

impl<'a> Top<'a> {
    fn new(
        view: &'a View,
        group_units: &'a GroupUnits,
        evaluation: &'a Evaluation<'a>,
        factors: &'a [Factor],
        candidates: &'a dyn Candidates,
    ) -> Self {
        let of_segment = |segment: &'a Arc<Segment>| {
            let factors = factors.iter();
            factors.map(|factor| (factor.factor(), factor.postings(segment).collect())).collect()
        };
        let factors: Vec<FactorPostings<'_>> = view.segments.iter().map(of_segment).collect();
        let main = Scoring::new(evaluation);
        // The coverage of a group does not count all terms of a long question.
        let more = if main.terms.len() > main.width() { f32::INFINITY } else { 0.0 };
        let mut top = Self {
            view,
            group_units,
            candidates,
            main,
            linked: None,
            raise: raise(&factors),
            factors,
            more,
            bounds: DocumentBounds::new(view),
            found: Vec::new(),
            loose: 0,
            loose_groups: FxHashMap::default(),
            paired: FxHashMap::default(),
        };
        for (number, segment) in view.segments.iter().enumerate() {
            let bounds = top.bounds.of_segment(number);
            top.main.add_bounds((number, segment), bounds);
            multiply_bounds(top.factors.get(number), bounds);
        }
        top.bounds.update();
        top.score_loose();
        top
    }

    /// Scores the documents outside segments.
    fn score_loose(&mut self) {
        let Scoring { evaluation, ref terms, ref scorer } = self.main;
        let width = self.main.width();
        for (document, found) in evaluation.matching_loose(terms) {
            let Which::Known(sequence) = document.which else { continue };
            let Some(position) = self.candidates.position(sequence) else { continue };
            let mut sum = 0.0;
            let mut best = (document.group != 0).then(|| {
                self.loose_groups.entry(document.group).or_insert_with(|| vec![0.0; width])
            });
            for (number, score) in scores(terms, found, &document.lengths, scorer) {
                sum += score;
                let column = terms.iter().position(|term| term.number == number);
                let slot =
                    best.as_mut().zip(column).and_then(|(best, column)| best.get_mut(column));
                slot.into_iter().for_each(|slot| *slot = slot.max(score));
            }
            let (text, group, timestamp) =
                (sum * document.factor, document.group, document.timestamp);
            self.found.push(Found { sequence, position, text, group, timestamp, place: (0, 0) });
        }
        self.loose = self.found.len();
    }

    /// Scores documents until the `count` with the best text scores are scored.
    pub(super) fn score_best_texts(&mut self, count: usize) {
        // Mostly those with the highest bounds, which are near the scores.
        self.score_from(self.bounds.least_of_best(count));
        let mut best = Threshold::new(count);
        self.found.iter().for_each(|found| best.push(found.text));
        self.score_from(best.get());
    }

    /// Scores all documents whose text score may be at least `least`.
    fn score_from(&mut self, least: f32) {
        let places = self.bounds.take_unscored(least);
        let found = self.score(&places);
        // Those that do not match are no candidates, or have only terms that are merely extra.
        places.into_iter().for_each(|place| self.bounds.set(place, 0.0));
        found.iter().for_each(|found| self.bounds.set(found.place, found.text));
        self.found.extend(found);
    }

    /// Scores documents in segments, given in ascending order. Returns those that match and are candidates.
    pub(super) fn score(&self, places: &[Place]) -> Vec<Found> {
        let mut all = Vec::with_capacity(places.len());
        for of_segment in places.chunk_by(|left, right| left.0 == right.0) {
            let number = of_segment.first().map_or(0, |place| place.0);
            let Some(segment) = self.view.segments.get(number as usize) else { continue };
            let mut documents = Places::of(segment);
            documents.push(of_segment.iter().map(|place| place.1));
            let texts = self.texts(number, segment, &documents, &mut []);
            let range = 0..documents.places.len();
            all.extend(self.found_in(number, segment, &documents, &texts, &range));
        }
        all
    }

    /// The documents with the best text scores, best first, with their indexes in `found`.
    fn best_texts(&self) -> Vec<(usize, Ranked)> {
        let ranked = |(place, found): (usize, &Found)| {
            let Found { sequence, text: score, group, timestamp, .. } = *found;
            let which = Which::Known(sequence);
            (place, Ranked { which, score, group, group_score: 0.0, timestamp })
        };
        let mut best = Threshold::new(PAIRED);
        self.found.iter().for_each(|found| best.push(found.text));
        let least = best.get();
        let found = self.found.iter().enumerate().filter(|(_, found)| found.text >= least);
        let mut hits: Vec<(usize, Ranked)> = found.map(ranked).collect();
        let order =
            |left: &(usize, Ranked), right: &(usize, Ranked)| better_first(&left.1, &right.1);
        if hits.len() > PAIRED {
            hits.select_nth_unstable_by(PAIRED, order);
            hits.truncate(PAIRED);
        }
        hits.sort_unstable_by(order);
        hits
    }

    /// Sets the text score of a found document to its score including pairs of terms. Returns the difference.
    fn pair(&mut self, number: usize, text: f32) -> f32 {
        let Some(found) = self.found.get_mut(number) else { return 0.0 };
        let more = text - found.text;
        found.text = text;
        self.paired.insert(found.sequence, text);
        if number >= self.loose {
            self.bounds.set(found.place, text);
        }
        more
    }

    /// The documents that match and are candidates, with their text scores.
    pub(super) fn found_in(
        &self,
        number: u32,
        segment: &Segment,
        documents: &Places,
        texts: &[f32],
        range: &Range<usize>,
    ) -> Vec<Found> {
        let places = documents.places.get(range.clone()).unwrap_or_default();
        let texts = texts.get(range.clone()).unwrap_or_default();
        let matching = places.iter().zip(texts).filter(|(_, text)| **text > 0.0);
        let found = matching.filter_map(|(&place, &text)| {
            let (sequence, position) = self.position(segment, place)?;
            let text = self.paired.get(&sequence).copied().unwrap_or(text);
            let (group, timestamp) = (segment.group(place), segment.timestamp(place));
            let place = (number, place);
            Some(Found { sequence, position, text, group, timestamp, place })
        });
        found.collect()
    }

    /// The text scores of documents; not positive for documents that do not match or are not candidates. `best` receives the
    /// best score of each term, by unit.
    pub(super) fn texts(
        &self,
        number: u32,
        segment: &Segment,
        documents: &Places,
        best: &mut [f32],
    ) -> Vec<f32> {
        let mut texts = vec![0.0; documents.places.len()];
        let accepts = |place| self.position(segment, place).is_some();
        self.main.sum((number as usize, segment), documents, accepts, &mut texts, best);
        self.multiply(number, documents, &mut texts);
        let linked = self.linked_texts(number, segment, documents);
        // A document that matches only linked identifiers shares no term with the question.
        let matching = texts.iter_mut().zip(linked).filter(|(text, _)| **text > 0.0);
        matching.for_each(|(text, linked)| *text += linked);
        texts
    }

    /// The sequence and the position of a candidate in a segment; `None` if the document is not a candidate.
    pub(super) fn position(&self, segment: &Segment, place: u32) -> Option<(u64, usize)> {
        if segment.has_removed() && segment.is_removed(place) {
            return None;
        }
        let sequence = segment.sequence(place)?;
        let is_announced = self.view.has_announced() && self.view.is_announced(sequence);
        let position = if is_announced { None } else { self.candidates.position(sequence) };
        Some((sequence, position?))
    }

    /// Multiplies the scores of documents by the factors that apply.
    fn multiply(&self, segment: u32, documents: &Places, scores: &mut [f32]) {
        let mut applies = vec![false; scores.len()];
        let factors = self.factors.get(segment as usize);
        for (factor, postings) in factors.into_iter().flatten() {
            for postings in postings {
                documents.for_each(postings, |_, document, _| {
                    applies.get_mut(document).into_iter().for_each(|applies| *applies = true);
                });
            }
            for (score, applies) in scores.iter_mut().zip(&mut applies) {
                if std::mem::take(applies) {
                    *score *= factor;
                }
            }
        }
    }

    /// The contributions of linked identifiers to documents; empty if there are none.
    fn linked_texts(&self, number: u32, segment: &Segment, documents: &Places) -> Vec<f32> {
        let Some(linked) = &self.linked else { return Vec::new() };
        let mut texts = vec![0.0; documents.places.len()];
        linked.sum((number as usize, segment), documents, |_| true, &mut texts, &mut []);
        self.multiply(number, documents, &mut texts);
        texts
    }

    /// Adds the contributions of linked identifiers.
    fn link(&mut self, linked: Scoring<'a>) {
        let mut bounds = DocumentBounds::new(self.view);
        let mut most = 0.0;
        for (number, segment) in self.view.segments.iter().enumerate() {
            let of_linked = bounds.of_segment(number);
            linked.add_bounds((number, segment), of_linked);
            multiply_bounds(self.factors.get(number), of_linked);
            most = of_linked.iter().copied().fold(most, f32::max);
            let of_main = self.bounds.of_segment(number);
            // A document that matches only linked identifiers shares no term with the question.
            for (bound, more) in
                of_main.iter_mut().zip(of_linked).filter(|(bound, _)| **bound > 0.0)
            {
                *bound += *more;
            }
        }
        self.bounds.update();
        self.more += most;
        let mut loose: FxHashMap<Which, f32> = FxHashMap::default();
        let Scoring { evaluation, ref terms, ref scorer } = linked;
        for (document, found) in evaluation.matching_loose(terms) {
            let scores = scores(terms, found, &document.lengths, scorer);
            let sum = scores.map(|(_, score)| score).fold(0.0, |sum, score| sum + score);
            loose.insert(document.which, sum * document.factor);
        }
        for found in self.found.iter_mut().take(self.loose) {
            found.text += loose.get(&Which::Known(found.sequence)).copied().unwrap_or_default();
        }
        self.linked = Some(linked);
        let (_, found) = self.found.split_at_mut(self.loose);
        found.sort_unstable_by_key(|found| found.place);
        let mut texts: Vec<f32> = Vec::with_capacity(found.len());
        let (_, found) = self.found.split_at(self.loose);
        for of_segment in found.chunk_by(|left, right| left.place.0 == right.place.0) {
            let number = of_segment.first().map_or(0, |found| found.place.0);
            let Some(segment) = self.view.segments.get(number as usize) else { continue };
            let mut documents = Places::of(segment);
            documents.push(of_segment.iter().map(|found| found.place.1));
            texts.extend(self.linked_texts(number, segment, &documents));
        }
        let found = self.found.iter_mut().skip(self.loose);
        for (found, text) in found.zip(texts) {
            found.text += text;
            self.bounds.set(found.place, found.text);
        }
    }
}

/// An upper bound of the product of the factors of a document.
fn raise(factors: &[FactorPostings<'_>]) -> f32 {
    let of_segment = |factors: &FactorPostings<'_>| -> f32 {
        let some = factors.iter().filter(|(_, postings)| !postings.is_empty());
        some.map(|(factor, _)| factor.max(1.0)).product()
    };
    factors.iter().map(of_segment).fold(1.0, f32::max)
}

/// Multiplies upper bounds of scores by the factors that apply to the documents.
fn multiply_bounds(factors: Option<&FactorPostings<'_>>, bounds: &mut [f32]) {
    for (factor, postings) in factors.into_iter().flatten() {
        // A document may have several of the facts; its bound only becomes higher then, as no factor with several lowers scores.
        for posting in postings.iter().copied().flatten() {
            let bound = bounds.get_mut(posting.document() as usize);
            bound.into_iter().for_each(|bound| *bound *= factor);
        }
    }
}

#[cfg(test)]
mod tests;
