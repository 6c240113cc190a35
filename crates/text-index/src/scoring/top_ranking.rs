//! Finds the best documents for a question without scoring all matching documents. The documents and scores are those
//! of [`crate::Index::rank_for`] and [`crate::boost`].
//!
//! Each block and each unit of documents (see [`crate::index::bounds`]) has an upper bound of its scores. They are
//! scored in descending order of these bounds, until no other can contain one of the best documents. The search has two
//! parts:
//!
//! First, blocks are scored to find the documents with the best text scores. The scores of linked identifiers and of
//! pairs of terms depend on these documents (see [`crate::scoring::question_ranking`]).
//!
//! Second, units are scored to find the best documents with the boosts of groups, neighbours and recency
//! ([`crate::scoring::top_boosted`]).

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::index::bounds::{block_of, blocks, places_of};
use crate::index::maintenance::GroupUnits;
use crate::index::postings::Posting;
use crate::index::segment::Segment;
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
use crate::scoring::waiting::{Cuts, Unit, Waiting};

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
    places.into_iter().zip(hits).for_each(|(place, hit)| top.pair(place, hit.score));
    let (hits, best) = top.into_best(boosts, limit);
    TopList { maximum, best, hits }
}

/// A scored document that shares a term with the question.
pub(super) struct Found {
    pub(super) sequence: u64,
    pub(super) position: usize,
    pub(super) text: f32,
    pub(super) group: u64,
    pub(super) timestamp: i64,
    /// The number of its segment, and its position there; unused for a document outside segments.
    place: (u32, u32),
}

impl Found {
    pub(super) fn scored(&self, group_score: f32) -> Scored {
        let Self { position, text, group, timestamp, .. } = *self;
        Scored { position, score: text, group, group_score, timestamp, ..Scored::default() }
    }
}

/// Upper bounds for a segment.
pub(super) struct SegmentState<'a> {
    /// For each unit, an upper bound of its score as a group.
    pub(super) units: Vec<f32>,
    /// For each block, an upper bound of the text scores by the terms of the question; exact if the block is scored.
    blocks: Vec<f32>,
    /// The same by linked identifiers; empty if there are none.
    linked: Vec<f32>,
    /// For each block, the factors that may apply to it, one bit each; empty if no factor raises a score.
    raised: Vec<u8>,
    is_scored: Vec<bool>,
    /// Each factor with the postings of the documents that it applies to.
    factors: Vec<(f32, Vec<&'a [Posting]>)>,
}

pub(super) struct Top<'a> {
    pub(super) view: &'a View,
    pub(super) group_units: &'a GroupUnits,
    pub(super) candidates: &'a dyn Candidates,
    pub(super) main: Scoring<'a>,
    linked: Option<Scoring<'a>>,
    pub(super) segments: Vec<SegmentState<'a>>,
    /// The product of the factors for each combination of bits.
    products: [f32; 1 << u8::BITS],
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
        let main = Scoring::new(evaluation);
        let segments = view.segments.iter().enumerate().map(|(number, segment)| {
            let (bounds, blocks) = (segment.bounds(), blocks(segment));
            let mut of_units = vec![0.0; bounds.groups().len()];
            let unit_of = |place| bounds.unit_of(place);
            main.add_bounds((number, segment), &bounds.of_units, unit_of, &mut of_units);
            let mut of_blocks = vec![0.0; blocks];
            main.add_bounds((number, segment), &bounds.of_blocks, block_of, &mut of_blocks);
            let mut raised = Vec::new();
            let mut postings = Vec::new();
            for (bit, factor) in factors.iter().enumerate() {
                let of_factor: Vec<&[Posting]> = factor.postings(segment).collect();
                if factor.factor() > 1.0 && !of_factor.is_empty() {
                    raised.resize(blocks, 0_u8);
                    for posting in of_factor.iter().copied().flatten() {
                        let block = block_of(posting.document());
                        raised.get_mut(block).into_iter().for_each(|bits| *bits |= 1 << bit);
                    }
                }
                postings.push((factor.factor(), of_factor));
            }
            SegmentState {
                units: of_units,
                blocks: of_blocks,
                linked: Vec::new(),
                raised,
                is_scored: vec![false; blocks],
                factors: postings,
            }
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
            loose_groups: FxHashMap::default(),
            paired: FxHashMap::default(),
        };
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

    /// An upper bound of the text scores of a block's documents.
    fn block_bound(&self, state: &SegmentState<'_>, block: usize) -> f32 {
        let own = state.blocks.get(block).copied().unwrap_or_default();
        if state.linked.is_empty() && state.raised.is_empty() {
            return own;
        }
        let linked = state.linked.get(block).copied().unwrap_or_default();
        let raised = state.raised.get(block).copied().unwrap_or_default();
        (own + linked) * self.products.get(usize::from(raised)).copied().unwrap_or(1.0)
    }

    /// An upper bound of the text scores of a unit's documents.
    pub(super) fn text_bound(&self, (segment, unit): Unit) -> f32 {
        let number = segment as usize;
        let (Some(segment), Some(state)) =
            (self.view.segments.get(number), self.segments.get(number))
        else {
            return 0.0;
        };
        let members = segment.bounds().members(unit as usize);
        let (Some(&first), Some(&last)) = (members.first(), members.last()) else { return 0.0 };
        let is_run = (last - first) as usize + 1 == members.len();
        let bound = |block| self.block_bound(state, block);
        if is_run {
            (block_of(first)..=block_of(last)).map(bound).fold(0.0, f32::max)
        } else {
            members.iter().map(|place| bound(block_of(*place))).fold(0.0, f32::max)
        }
    }

    /// Scores blocks until the documents with the best text scores are scored.
    fn score_best_texts(&mut self) {
        let mut best = Threshold::new(PAIRED);
        self.found.iter().for_each(|found| best.push(found.text));
        let mut most = 0.0;
        self.for_each_block(|bound, _| most = bound.max(most));
        let mut cuts = Cuts::new(most);
        while let Some(cut) = cuts.next(best.get()) {
            let mut waiting = Waiting::default();
            self.for_each_block(|bound, block| waiting.push(bound, block, &cut));
            waiting.sort();
            while let Some(blocks) = waiting.next(best.get()) {
                let before = self.found.len();
                self.score_blocks(blocks);
                self.found.iter().skip(before).for_each(|found| best.push(found.text));
            }
        }
    }

    /// Calls `visit` for each block that is not scored yet, with an upper bound of its text scores.
    fn for_each_block(&self, mut visit: impl FnMut(f32, Unit)) {
        for (number, state) in (0..).zip(&self.segments) {
            let is_plain = state.linked.is_empty() && state.raised.is_empty();
            let blocks = state.blocks.iter().zip(&state.is_scored);
            for (block, (own, is_scored)) in (0..).zip(blocks) {
                if *is_scored {
                    continue;
                }
                let is_whole = is_plain || *own <= 0.0;
                let bound = if is_whole { *own } else { self.block_bound(state, block as usize) };
                visit(bound, (number, block));
            }
        }
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
        hits.sort_unstable_by(|(_, left), (_, right)| better_first(left, right));
        hits.truncate(PAIRED);
        hits
    }

    fn score_blocks(&mut self, mut blocks: Vec<Unit>) {
        blocks.sort_unstable();
        for of_segment in blocks.chunk_by(|left, right| left.0 == right.0) {
            let Some((number, _)) = of_segment.first() else { continue };
            let Some(segment) = self.view.segments.get(*number as usize) else { continue };
            let mut documents = Places::of(segment);
            for (_, block) in of_segment {
                documents.push(places_of(*block, segment));
            }
            let mut best = vec![0.0; self.main.width() * of_segment.len()];
            let texts = self.texts(*number, segment, &documents, &mut best);
            for ((_, block), range) in of_segment.iter().zip(&documents.units) {
                let before = self.found.len();
                self.found.extend(self.found_in(*number, segment, &documents, &texts, range));
                let texts = self.found.iter().skip(before).map(|found| found.text);
                let most = texts.fold(0.0, f32::max);
                let Some(state) = self.segments.get_mut(*number as usize) else { continue };
                let slots = (state.blocks.get_mut(*block as usize), &mut state.is_scored);
                slots.0.into_iter().for_each(|bound| *bound = most);
                slots.1.get_mut(*block as usize).into_iter().for_each(|scored| *scored = true);
            }
        }
    }

    /// Sets the text score of a found document to its score including pairs of terms.
    fn pair(&mut self, number: usize, text: f32) {
        let Some(found) = self.found.get_mut(number) else { return };
        found.text = text;
        self.paired.insert(found.sequence, text);
        let (segment, place) = found.place;
        if number >= self.loose
            && let Some(state) = self.segments.get_mut(segment as usize)
            && let Some(bound) = state.blocks.get_mut(block_of(place))
        {
            *bound = bound.max(text);
        }
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
    fn position(&self, segment: &Segment, place: u32) -> Option<(u64, usize)> {
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
        let factors = self.segments.get(segment as usize).map(|state| &state.factors);
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
        let segments = self.view.segments.iter().zip(&mut self.segments).enumerate();
        for (number, (segment, state)) in segments {
            state.linked = vec![0.0; state.blocks.len()];
            let levels = &segment.bounds().of_blocks;
            linked.add_bounds((number, segment), levels, block_of, &mut state.linked);
        }
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
        found.zip(texts).for_each(|(found, text)| found.text += text);
    }
}

#[cfg(test)]
mod tests;
