//! Scores of the documents in some units of a segment, and upper bounds for all units.

use std::ops::Range;

use crate::index::bounds::Levels;
use crate::index::postings::{Posting, seek, skip_to};
use crate::index::segment::Segment;
use crate::scoring::accumulator::WeightedTerm;
use crate::scoring::groups::MAXIMUM_TERMS;
use crate::scoring::ranking::Scorer;
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

    /// Adds to the sum of each unit the maximum contributions of the terms to any of its documents. The sum is an upper bound of
    /// the score of each document, and of the coverage of the unit as a group.
    pub(crate) fn add_bounds(
        &self,
        (number, segment): (usize, &Segment),
        levels: &Levels,
        unit_of: impl Fn(u32) -> usize,
        sums: &mut [f32],
    ) {
        let mut of_levels = None;
        for term in &self.terms {
            let postings = self.evaluation.postings(number, term.number);
            let Some(text) =
                self.evaluation.terms.get(term.number).filter(|_| !postings.is_empty())
            else {
                continue;
            };
            let entries = segment.number_of(text.hash, &text.text);
            if let Some(entries) = entries.and_then(|number| levels.of(number)) {
                let scores = of_levels
                    .get_or_insert_with(|| segment.bounds().scores_of_levels(&self.scorer));
                let scores = scores.map(|score| score * term.weight);
                for entry in entries {
                    let score = scores.get(entry.level()).copied().unwrap_or_default();
                    sums.get_mut(entry.unit()).into_iter().for_each(|sum| *sum += score);
                }
                continue;
            }
            let mut run = (0, 0.0_f32);
            let mut add = |(unit, best): (usize, f32)| {
                sums.get_mut(unit).into_iter().for_each(|sum| *sum += best);
            };
            for posting in postings {
                let unit = unit_of(posting.document());
                let score = term.weight * self.score(segment, posting);
                if unit == run.0 {
                    run.1 = run.1.max(score);
                } else {
                    add(std::mem::replace(&mut run, (unit, score)));
                }
            }
            add(run);
        }
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
