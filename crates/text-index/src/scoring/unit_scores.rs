//! Scores of some documents of a segment, and upper bounds of the scores of all its documents and units.

use std::ops::Range;

use crate::index::postings::{Posting, seek, skip_to};
use crate::index::segment::Segment;
use crate::scoring::accumulator::WeightedTerm;
use crate::scoring::groups::MAXIMUM_TERMS;
use crate::scoring::ranking::{LEVELS, Scorer};
use crate::scoring::search::Evaluation;

/// Documents of a segment: positions ordered by unit, ascending within each unit.
pub(crate) struct Places {
    /// The number of documents in the segment.
    documents: usize,
    pub(crate) places: Vec<u32>,
    pub(crate) units: Vec<Range<usize>>,
}

impl Places {
    pub(crate) fn of(segment: &Segment) -> Self {
        Self { documents: segment.len(), places: Vec::new(), units: Vec::new() }
    }

    /// Adds a unit.
    pub(crate) fn push(&mut self, places: impl Iterator<Item = u32>) {
        let start = self.places.len();
        self.places.extend(places);
        self.units.push(start..self.places.len());
    }

    /// Calls `visit` for each posting of the documents, with the index of the unit, the index of the document, and the posting.
    pub(crate) fn for_each(
        &self,
        postings: &[Posting],
        mut visit: impl FnMut(usize, usize, &Posting),
    ) {
        if postings.is_empty() {
            return;
        }
        for (unit, range) in self.units.iter().enumerate() {
            let places = self.places.get(range.clone()).unwrap_or_default();
            let (Some(&first), Some(&last)) = (places.first(), places.last()) else { continue };
            let rest = seek(postings, first, self.documents);
            if (last - first) as usize + 1 == places.len() {
                let in_unit = rest.iter().take_while(|posting| posting.document() <= last);
                for posting in in_unit {
                    visit(unit, range.start + (posting.document() - first) as usize, posting);
                }
                continue;
            }
            let mut in_unit = rest;
            for (number, place) in range.clone().zip(places) {
                in_unit = skip_to(in_unit, *place);
                let Some(posting) = in_unit.first() else { break };
                if posting.document() == *place {
                    visit(unit, number, posting);
                }
            }
        }
    }
}

/// A query with the statistics of a collection.
pub(crate) struct Scoring<'a> {
    pub(crate) evaluation: &'a Evaluation<'a>,
    pub(crate) terms: Vec<WeightedTerm>,
    pub(crate) scorer: Scorer,
}

impl<'a> Scoring<'a> {
    pub(crate) fn new(evaluation: &'a Evaluation<'a>) -> Self {
        let (terms, scorer) = (evaluation.weighted_terms(), Scorer::new(&evaluation.totals));
        Self { evaluation, terms, scorer }
    }

    /// The number of terms that count for the coverage of groups.
    pub(crate) fn width(&self) -> usize {
        self.terms.len().min(MAXIMUM_TERMS)
    }

    /// Adds to each sum an upper bound of the contributions of the terms to the document at its position.
    pub(crate) fn add_bounds(&self, (number, segment): (usize, &Segment), sums: &mut [f32]) {
        let scores_of_levels = segment.bounds().scores_of_levels(&self.scorer);
        for (term, of_segment) in self.in_segment(number, segment) {
            let scores = scores_of_levels.map(|score| score * term.weight);
            let levels = segment.levels_of(of_segment);
            for (posting, level) in segment.postings_of(of_segment).iter().zip(levels) {
                let Some(sum) = sums.get_mut(posting.document() as usize) else { continue };
                if !term.is_extra || *sum > 0.0 {
                    *sum += score_of(&scores, *level);
                }
            }
        }
    }

    /// Adds to each sum an upper bound of what the terms contribute to the coverage of the unit with its number.
    pub(crate) fn add_coverage(&self, (number, segment): (usize, &Segment), sums: &mut [f32]) {
        let bounds = segment.bounds();
        let scores_of_levels = bounds.scores_of_levels(&self.scorer);
        for (term, of_segment) in self.in_segment(number, segment).take(self.width()) {
            let scores = scores_of_levels.map(|score| score * term.weight);
            if let Some(entries) = bounds.entries(of_segment) {
                for entry in entries {
                    let sum = sums.get_mut(entry.unit());
                    sum.into_iter().for_each(|sum| *sum += score_of(&scores, entry.level()));
                }
                continue;
            }
            let mut add = |(unit, level): (u32, u8)| {
                let sum = sums.get_mut(unit as usize);
                sum.into_iter().for_each(|sum| *sum += score_of(&scores, level));
            };
            let postings =
                segment.postings_of(of_segment).iter().zip(segment.levels_of(of_segment));
            // A unit whose documents are not consecutive is added several times, which is no less than its maximum.
            let mut run: Option<(u32, u8)> = None;
            for (posting, level) in postings {
                let Some(unit) = bounds.unit_of(posting.document()) else { continue };
                run = match run {
                    Some((same, most)) if same == unit => Some((unit, most.max(*level))),
                    other => {
                        other.into_iter().for_each(&mut add);
                        Some((unit, *level))
                    }
                };
            }
            run.into_iter().for_each(add);
        }
    }

    /// The terms that a segment contains, with their numbers in the segment.
    fn in_segment(
        &self,
        number: usize,
        segment: &Segment,
    ) -> impl Iterator<Item = (&WeightedTerm, usize)> {
        self.terms.iter().filter_map(move |term| {
            if self.evaluation.postings(number, term.number).is_empty() {
                return None;
            }
            let text = self.evaluation.terms.get(term.number)?;
            Some((term, segment.number_of(text.hash, &text.text)?))
        })
    }

    /// Sums the contributions of the terms to each document whose position `accepts` accepts, in the order that all sums use.
    /// `best` receives, for each unit, the best score of each term that counts for groups. The sums of other documents are not
    /// positive.
    pub(crate) fn sum(
        &self,
        (number, segment): (usize, &Segment),
        documents: &Places,
        accepts: impl Fn(u32) -> bool,
        sums: &mut [f32],
        best: &mut [f32],
    ) {
        let width = self.width();
        for (column, term) in self.terms.iter().enumerate() {
            let postings = self.evaluation.postings(number, term.number);
            documents.for_each(postings, |unit, document, posting| {
                let Some(sum) = sums.get_mut(document) else { return };
                if *sum <= 0.0 {
                    if term.is_extra || *sum < 0.0 {
                        return;
                    }
                    if !accepts(posting.document()) {
                        *sum = f32::NEG_INFINITY;
                        return;
                    }
                }
                let score = term.weight * self.score(segment, posting);
                *sum += score;
                if column < width
                    && let Some(best) = best.get_mut(unit * width + column)
                {
                    *best = best.max(score);
                }
            });
        }
    }

    fn score(&self, segment: &Segment, posting: &Posting) -> f32 {
        let lengths = segment.lengths().get(posting.document() as usize);
        lengths.map_or(0.0, |lengths| self.scorer.score(posting.frequencies(), lengths))
    }
}

fn score_of(scores: &[f32; LEVELS], level: u8) -> f32 {
    scores.get(usize::from(level)).copied().unwrap_or_default()
}
