//! The best documents for a question, without scoring all that match: the same ones with the same scores as
//! [`crate::Index::rank_for`] and [`crate::boost`] give.
//!
//! Each unit of documents (see [`crate::index::bounds`]) has an upper bound of its scores. Units are scored in
//! falling order of their bounds, until no other can have a document among the best. This is done twice: for
//! the best texts, to which linked identifiers and pairs of terms apply, and for the best documents with what
//! their groups and neighbours add.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::index::maintenance::GroupUnits;
use crate::index::postings::Posting;
use crate::index::view::View;
use crate::query::free_text::Query;
use crate::query::question::Question;
use crate::scoring::best::better_first;
use crate::scoring::boosts::{Boosts, Scored};
use crate::scoring::factors::Factor;
use crate::scoring::question_ranking::{PAIRED, Sketches, add_pairs, linked_terms};
use crate::scoring::ranked::{Ranked, Which};
use crate::scoring::search::{Evaluation, scores};
use crate::scoring::threshold::Threshold;
use crate::scoring::unit_scores::{Places, Scoring};

/// Units scored before the first look at how many more are needed.
const FIRST_UNITS: usize = 24;

/// Sums of rounded numbers may exceed the sum of their bounds by this factor.
pub(super) const ROUNDING: f32 = 1.0001;

/// The documents among which a question looks, in the order of their sequences.
pub trait Candidates {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many come before this one; `None` when it is no candidate.
    fn position(&self, sequence: u64) -> Option<usize>;

    /// The candidate at a position.
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

/// The best `limit` of the candidates that share a term with the question.
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
    let evaluation = Evaluation::new(view, question.query(), &[], &factors);
    let (linked_query, linked_evaluation);
    let mut top = Top::new(view, group_units, &evaluation, &factors, candidates);
    let maximum = evaluation.maximum(&top.main.terms);
    top.score_best_texts();
    let hits: Vec<Ranked> = top.best_texts().into_iter().map(|(_, hit)| hit).collect();
    let linked = linked_terms(&evaluation, &hits, &sketches);
    if !linked.is_empty() {
        linked_query = Query::of_weighted(linked.into_iter());
        linked_evaluation = Evaluation::new(view, &linked_query, &[], &factors);
        top.link(Scoring::new(&linked_evaluation));
        top.score_best_texts();
    }
    let (places, mut hits): (Vec<usize>, Vec<Ranked>) = top.best_texts().into_iter().unzip();
    add_pairs(&evaluation, question, &mut hits, &sketches);
    for (place, hit) in places.into_iter().zip(hits) {
        top.found.get_mut(place).into_iter().for_each(|found| found.text = hit.score);
    }
    let (hits, best) = top.into_best(boosts, limit);
    TopList { maximum, best, hits }
}

/// A scored document that shares a term with the question.
pub(super) struct Found {
    pub(super) sequence: u64,
    pub(super) position: usize,
    /// In its segment.
    pub(super) place: u32,
    pub(super) text: f32,
    pub(super) group: u64,
    pub(super) timestamp: i64,
}

impl Found {
    pub(super) fn scored(&self, group_score: f32) -> Scored {
        let Self { position, text, group, timestamp, .. } = *self;
        Scored { position, score: text, group, group_score, timestamp, ..Scored::default() }
    }
}

/// A unit by the number of its segment and its own.
pub(super) type Unit = (usize, usize);

/// Where the results of a scored unit are.
pub(super) struct ScoredUnit {
    unit: Unit,
    /// Among the found documents.
    pub(super) found: Range<usize>,
    /// The best score of each term.
    pub(super) best: Vec<f32>,
}

/// What is known of the units of a segment.
struct SegmentState<'a> {
    /// Upper bounds by the terms of the question.
    bounds: Vec<f32>,
    /// By linked identifiers; empty where there are none.
    linked: Vec<f32>,
    /// Which factors may apply, a bit for each; empty where none raises a score.
    raised: Vec<u8>,
    /// One more than the number of the scored unit, 0 before it is scored.
    scored: Vec<u32>,
    /// For each factor the documents to which it applies.
    factors: Vec<(f32, Vec<&'a [Posting]>)>,
}

pub(super) struct Top<'a> {
    pub(super) view: &'a View,
    pub(super) group_units: &'a GroupUnits,
    pub(super) candidates: &'a dyn Candidates,
    pub(super) main: Scoring<'a>,
    linked: Option<Scoring<'a>>,
    segments: Vec<SegmentState<'a>>,
    /// The product of the factors for each combination of bits.
    products: [f32; 1 << u8::BITS],
    /// The first are those outside the segments.
    pub(super) found: Vec<Found>,
    pub(super) loose: usize,
    pub(super) scored: Vec<ScoredUnit>,
    /// The best score of each term among the documents outside the segments, by group.
    pub(super) loose_groups: FxHashMap<u64, Vec<f32>>,
}

impl<'a> Top<'a> {
    fn new(
        view: &'a View,
        group_units: &'a GroupUnits,
        evaluation: &'a Evaluation<'a>,
        factors: &'a [Factor],
        candidates: &'a dyn Candidates,
    ) -> Self {
        let main = Scoring::new(evaluation);
        let segments = view.segments.iter().enumerate().map(|(number, segment)| {
            let units = segment.bounds().len();
            let mut bounds = vec![0.0; units];
            main.add_bounds(number, segment, &mut bounds);
            let mut raised = Vec::new();
            let mut postings = Vec::new();
            for (bit, factor) in factors.iter().enumerate() {
                let of_factor: Vec<&[Posting]> = factor.postings(segment).collect();
                if factor.factor() > 1.0 && !of_factor.is_empty() {
                    raised.resize(units, 0_u8);
                    for posting in of_factor.iter().copied().flatten() {
                        let unit = segment.bounds().unit_of(posting.document());
                        raised.get_mut(unit).into_iter().for_each(|bits| *bits |= 1 << bit);
                    }
                }
                postings.push((factor.factor(), of_factor));
            }
            let scored = vec![0; units];
            SegmentState { bounds, linked: Vec::new(), raised, scored, factors: postings }
        });
        let segments = segments.collect();
        let products = std::array::from_fn(|bits| {
            let of_bits = factors.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
            of_bits.map(|(_, factor)| factor.factor()).product()
        });
        let mut top = Self {
            view,
            group_units,
            candidates,
            main,
            linked: None,
            segments,
            products,
            found: Vec::new(),
            loose: 0,
            scored: Vec::new(),
            loose_groups: FxHashMap::default(),
        };
        top.score_loose();
        top
    }

    /// Scores the documents outside the segments.
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
            self.found.push(Found {
                sequence,
                position,
                place: 0,
                text: sum * document.factor,
                group: document.group,
                timestamp: document.timestamp,
            });
        }
        self.loose = self.found.len();
    }

    /// An upper bound of the texts of a unit's documents; exact where the unit is scored.
    pub(super) fn text_bound(&self, (segment, unit): Unit) -> f32 {
        let Some(state) = self.segments.get(segment) else { return 0.0 };
        if let Some(scored) = self.scored_unit((segment, unit)) {
            let found = self.found.get(scored.found.clone()).unwrap_or_default();
            return found.iter().map(|found| found.text).fold(0.0, f32::max);
        }
        let own = state.bounds.get(unit).copied().unwrap_or_default();
        let linked = state.linked.get(unit).copied().unwrap_or_default();
        let raised = state.raised.get(unit).copied().unwrap_or_default();
        (own + linked) * self.products.get(usize::from(raised)).copied().unwrap_or(1.0)
    }

    pub(super) fn scored_unit(&self, (segment, unit): Unit) -> Option<&ScoredUnit> {
        let number = self.segments.get(segment)?.scored.get(unit)?.checked_sub(1)?;
        self.scored.get(number as usize)
    }

    /// An upper bound of what a unit's documents match together; exact where it is scored.
    pub(super) fn coverage_bound(&self, unit: Unit) -> f32 {
        let of_bounds =
            |(segment, unit): Unit| self.segments.get(segment)?.bounds.get(unit).copied();
        let scored = self.scored_unit(unit).map(|scored| scored.best.iter().sum());
        scored.or_else(|| of_bounds(unit)).unwrap_or_default()
    }

    pub(super) fn may_match(&self, (segment, unit): Unit) -> bool {
        let state = self.segments.get(segment);
        state.and_then(|state| state.bounds.get(unit)).is_some_and(|bound| *bound > 0.0)
    }

    /// All units that may match.
    pub(super) fn units(&self) -> impl Iterator<Item = Unit> {
        self.segments.iter().enumerate().flat_map(|(segment, state)| {
            let units = state.bounds.iter().enumerate().filter(|(_, bound)| **bound > 0.0);
            units.map(move |(unit, _)| (segment, unit))
        })
    }

    /// Scores units until the best texts are among those that are scored.
    fn score_best_texts(&mut self) {
        let mut best = Threshold::new(PAIRED);
        self.found.iter().for_each(|found| best.push(found.text));
        let waiting = self.units().filter(|unit| self.scored_unit(*unit).is_none());
        let mut waiting = Waiting::new(waiting.map(|unit| (self.text_bound(unit), unit)).collect());
        while let Some(mut units) = waiting.next(best.get()) {
            let before = self.found.len();
            self.score(&mut units);
            self.found.iter().skip(before).for_each(|found| best.push(found.text));
        }
    }

    /// The best texts, best first, with their places among the found ones.
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
        hits.sort_unstable_by(|(_, left), (_, right)| better_first(left, right));
        hits.truncate(PAIRED);
        hits
    }

    /// Scores units that are not scored yet.
    pub(super) fn score(&mut self, units: &mut Vec<Unit>) {
        units.sort_unstable();
        units.dedup();
        for of_segment in units.chunk_by(|left, right| left.0 == right.0) {
            let Some((number, segment)) = of_segment
                .first()
                .and_then(|(number, _)| Some((*number, self.view.segments.get(*number)?)))
            else {
                continue;
            };
            let mut documents = Places::default();
            let mut positions: Vec<(u64, usize)> = Vec::new();
            for (_, unit) in of_segment {
                let start = documents.places.len();
                for place in segment.bounds().members(*unit) {
                    let is_removed = segment.has_removed() && segment.is_removed(*place);
                    let sequence = segment.sequence(*place).filter(|_| !is_removed);
                    let sequence = sequence.filter(|&sequence| !self.view.is_announced(sequence));
                    let position = sequence
                        .and_then(|sequence| Some((sequence, self.candidates.position(sequence)?)));
                    if let Some(position) = position {
                        documents.places.push(*place);
                        positions.push(position);
                    }
                }
                documents.units.push(start..documents.places.len());
            }
            let width = self.main.width();
            let mut texts = vec![0.0; positions.len()];
            let mut best = vec![0.0; width * of_segment.len()];
            self.main.sum(number, segment, &documents, &mut texts, &mut best);
            self.multiply(number, &documents, &mut texts);
            let linked = self.linked_texts(number, &documents);
            for (place, (_, unit)) in of_segment.iter().enumerate() {
                let start = self.found.len();
                for document in documents.units.get(place).cloned().unwrap_or_default() {
                    let text = texts.get(document).copied().unwrap_or_default();
                    let columns = (positions.get(document), documents.places.get(document));
                    if let (true, (Some(&(sequence, position)), Some(&place))) =
                        (text > 0.0, columns)
                    {
                        let text = text + linked.get(document).copied().unwrap_or_default();
                        let (group, timestamp) = (segment.group(place), segment.timestamp(place));
                        let found = Found { sequence, position, place, text, group, timestamp };
                        self.found.push(found);
                    }
                }
                let found = start..self.found.len();
                let best = best.get(place * width..(place + 1) * width).unwrap_or_default();
                self.scored.push(ScoredUnit { unit: (number, *unit), found, best: best.to_vec() });
                let state = self.segments.get_mut(number);
                let slot = state.and_then(|state| state.scored.get_mut(*unit));
                slot.into_iter().for_each(|slot| *slot = self.scored.len() as u32);
            }
        }
    }

    /// Applies the factors to scores of documents.
    fn multiply(&self, segment: usize, documents: &Places, scores: &mut [f32]) {
        let factors = self.segments.get(segment).map(|state| &state.factors);
        let mut applies = vec![false; scores.len()];
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

    /// What linked identifiers add to documents; empty where there are none.
    fn linked_texts(&self, segment: usize, documents: &Places) -> Vec<f32> {
        let Some((linked, of)) = self.linked.as_ref().zip(self.view.segments.get(segment)) else {
            return Vec::new();
        };
        let mut texts = vec![0.0; documents.places.len()];
        linked.sum(segment, of, documents, &mut texts, &mut []);
        self.multiply(segment, documents, &mut texts);
        texts
    }

    /// Adds what linked identifiers count.
    fn link(&mut self, linked: Scoring<'a>) {
        for (number, (segment, state)) in
            self.view.segments.iter().zip(&mut self.segments).enumerate()
        {
            state.linked = vec![0.0; state.bounds.len()];
            linked.add_bounds(number, segment, &mut state.linked);
        }
        let mut loose: FxHashMap<Which, f32> = FxHashMap::default();
        let Scoring { evaluation, ref terms, ref scorer } = linked;
        for (document, found) in evaluation.matching_loose(terms) {
            let sum = scores(terms, found, &document.lengths, scorer);
            let sum = sum.map(|(_, score)| score).fold(0.0, |sum, score| sum + score);
            loose.insert(document.which, sum * document.factor);
        }
        for found in self.found.iter_mut().take(self.loose) {
            found.text += loose.get(&Which::Known(found.sequence)).copied().unwrap_or_default();
        }
        self.linked = Some(linked);
        let mut units: Vec<(Unit, Range<usize>)> =
            self.scored.iter().map(|scored| (scored.unit, scored.found.clone())).collect();
        units.sort_unstable_by_key(|(unit, _)| *unit);
        for of_segment in units.chunk_by(|left, right| left.0.0 == right.0.0) {
            let Some(((number, _), _)) = of_segment.first() else { continue };
            let mut documents = Places::default();
            for (_, range) in of_segment {
                let start = documents.places.len();
                let found = self.found.get(range.clone()).unwrap_or_default();
                documents.places.extend(found.iter().map(|found| found.place));
                documents.units.push(start..documents.places.len());
            }
            let texts = self.linked_texts(*number, &documents);
            let found = of_segment.iter().flat_map(|(_, range)| range.clone());
            for (found, text) in found.zip(texts) {
                self.found.get_mut(found).into_iter().for_each(|found| found.text += text);
            }
        }
    }
}

/// Units that are not scored yet, with upper bounds.
pub(super) struct Waiting {
    units: Vec<(f32, Unit)>,
    batch: usize,
}

impl Waiting {
    pub(super) fn new(units: Vec<(f32, Unit)>) -> Self {
        Self { units, batch: FIRST_UNITS }
    }

    /// Those with the highest bounds, without any that is below `least`: more each time.
    pub(super) fn next(&mut self, least: f32) -> Option<Vec<Unit>> {
        self.units.retain(|(bound, _)| bound * ROUNDING >= least);
        if self.units.is_empty() {
            return None;
        }
        if self.batch < self.units.len() {
            let best_last = |left: &(f32, Unit), right: &(f32, Unit)| left.0.total_cmp(&right.0);
            let place = self.units.len() - self.batch;
            self.units.select_nth_unstable_by(place, best_last);
        }
        let rest = self.units.len().saturating_sub(self.batch);
        self.batch *= 2;
        Some(self.units.drain(rest..).map(|(_, unit)| unit).collect())
    }
}

#[cfg(test)]
mod tests;
