//! Finds the best documents without a group, for [`crate::scoring::top_boosted`]. Their score is that of their text, and a
//! share of the text scores of their two neighbours.

use rustc_hash::FxHashMap;

use crate::scoring::boosts::{Boosts, Scored, add_neighbours, most_neighbours};
use crate::scoring::document_bounds::{Place, ROUNDING};
use crate::scoring::top_boosted::Finished;
use crate::scoring::top_ranking::Top;
use crate::scoring::waiting::Waiting;

/// A document that may be among the best, by its position; with its place if it is in a segment.
type Candidate = (usize, Option<Place>);

/// The scored documents by their positions; `None` for a document that does not match or has a group.
type Known = FxHashMap<usize, Option<Scored>>;

impl Top<'_> {
    /// The documents without a group that may be among the best, with their neighbours.
    pub(super) fn ungrouped(&self, finished: &mut Finished, boosts: &Boosts) -> Vec<Scored> {
        let mut known = Known::default();
        let mut waiting = Waiting::new(self.waiting(finished, boosts, &mut known));
        let mut scores: Vec<(f32, usize)> = Vec::new();
        while let Some(batch) = waiting.next(finished.least()) {
            self.score_with_neighbours(&batch, &mut known);
            for (position, _) in batch {
                let Some(score) = score(position, &known, boosts) else { continue };
                finished.threshold.push(score);
                scores.push((score, position));
            }
        }
        let least = finished.least();
        let best = scores
            .iter()
            .filter(|(score, position)| score * ROUNDING >= least || *position >= finished.recent);
        let mut documents: Vec<Scored> =
            best.flat_map(|(_, position)| around(*position, &known)).collect();
        documents.sort_unstable_by_key(|document| document.position);
        documents.dedup_by_key(|document| document.position);
        documents
    }

    /// The documents that may be among the best, with upper bounds of their scores without recency; infinite if they are
    /// recent.
    fn waiting(
        &self,
        finished: &mut Finished,
        boosts: &Boosts,
        known: &mut Known,
    ) -> Vec<(f32, Candidate)> {
        let least = finished.least();
        let share = boosts.neighbours * most_neighbours(false) / 2.0;
        let loose = self.found.iter().take(self.loose);
        let loose_texts = loose.clone().map(|found| found.text);
        let most = loose_texts.fold(self.bounds.most(), f32::max);
        let mut waiting = Vec::new();
        let mut push = |bound: f32, position: usize, place: Option<Place>| {
            let bound = if position >= finished.recent { f32::INFINITY } else { bound };
            if bound * ROUNDING >= least {
                waiting.push((bound, (position, place)));
            }
        };
        for found in loose.filter(|found| found.group == 0) {
            known.insert(found.position, Some(found.scored(0.0)));
            push(found.text + 2.0 * share * most, found.position, None);
        }
        let mut consider = |place: Place, bound: f32| {
            let Some(segment) = self.view.segments.get(place.0 as usize) else { return };
            if segment.group(place.1) != 0 {
                return;
            }
            let Some((_, position)) = self.position(segment, place.1) else { return };
            let beside = [1, -1].map(|step| match self.beside(place, position, step) {
                Some(other) if segment.group(other.1) == 0 => self.bounds.get(other),
                Some(_) => 0.0,
                None => most,
            });
            push(bound + share * beside.iter().sum::<f32>(), position, Some(place));
        };
        let least = least - 2.0 * share * most * ROUNDING;
        for (place, bound) in self.bounds.from(least) {
            consider(place, bound);
        }
        // The recent ones with lower bounds.
        let first = self.candidates.sequence(finished.recent).unwrap_or(u64::MAX);
        for (number, segment) in (0..).zip(&self.view.segments) {
            let places = segment.first_place_from(first) as u32..segment.len() as u32;
            for place in places.map(|place| (number, place)) {
                let bound = self.bounds.get(place);
                if bound > 0.0 && bound * ROUNDING < least {
                    consider(place, bound);
                }
            }
        }
        waiting
    }

    /// The candidate one step after or before a candidate, if it is beside it in the segment as well.
    fn beside(&self, (number, place): Place, position: usize, step: isize) -> Option<Place> {
        let segment = self.view.segments.get(number as usize)?;
        let beside = place.checked_add_signed(step as i32)?;
        let (_, other) = self.position(segment, beside)?;
        (other == position.checked_add_signed(step)?).then_some((number, beside))
    }

    /// Scores documents and the candidates beside them.
    fn score_with_neighbours(&self, batch: &[Candidate], known: &mut Known) {
        let mut wanted: Vec<Place> = Vec::new();
        for (position, place) in batch {
            for step in [-1, 0, 1] {
                let Some(other) = position.checked_add_signed(step) else { continue };
                if known.contains_key(&other) {
                    continue;
                }
                known.insert(other, None);
                let near = match (step, place) {
                    (0, place) => *place,
                    (_, Some(place)) => self.beside(*place, *position, step),
                    (_, None) => None,
                };
                let by_sequence = || self.place_of(self.candidates.sequence(other)?);
                wanted.extend(near.or_else(by_sequence));
            }
        }
        wanted.sort_unstable();
        let is_ungrouped = |place: &Place| {
            let segment = self.view.segments.get(place.0 as usize);
            segment.is_some_and(|segment| segment.group(place.1) == 0)
        };
        wanted.retain(is_ungrouped);
        for found in self.score(&wanted) {
            known.insert(found.position, Some(found.scored(0.0)));
        }
    }

    /// The place of a document in a segment.
    fn place_of(&self, sequence: u64) -> Option<Place> {
        let mut segments = (0..).zip(&self.view.segments);
        segments.find_map(|(number, segment)| Some((number, segment.place(sequence)?)))
    }
}

/// The document at a position and those beside it, in order.
fn around(position: usize, known: &Known) -> impl Iterator<Item = Scored> {
    let positions = position.saturating_sub(1)..=position.saturating_add(1);
    positions.filter_map(|position| known.get(&position).copied().flatten())
}

/// The score of a document without recency; `None` if it does not match.
fn score(position: usize, known: &Known, boosts: &Boosts) -> Option<f32> {
    let mut documents: Vec<Scored> = around(position, known).collect();
    add_neighbours(&mut documents, boosts.neighbours);
    documents.iter().find(|document| document.position == position).map(|document| document.score)
}
