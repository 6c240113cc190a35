//! The second part of [`crate::scoring::top_ranking`]: finds the best documents by their scores with the boosts for groups,
//! neighbours and recency.
//!
//! Documents of a group are finished together. Those without a group are in [`crate::scoring::top_ungrouped`].

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::index::segment::Segment;
use crate::scoring::boosts::{
    Boosts, Scored, add_neighbours, boost, freshest, most_with_neighbours, recency_ends,
    with_boosts, with_neighbours,
};
use crate::scoring::document_bounds::{ROUNDING, highest};
use crate::scoring::threshold::Threshold;
use crate::scoring::top_ranking::{Found, Top};
use crate::scoring::unit_scores::Places;
use crate::scoring::waiting::Waiting;

/// A unit: the number of its segment, and its number there.
pub(super) type Unit = (u32, u32);

/// Number of latest candidates that are scored if nothing is known about the scores. For earlier candidates, the recency boost
/// is less than half a unit in the last place of the score.
const RECENT: usize = 400;

/// Share of the threshold that the recency boost of a document may reach without being considered; [`ROUNDING`] allows
/// for it.
const NEGLIGIBLE: f32 = 1e-5;

/// The documents of a complete group.
struct Part {
    /// The best of their scores without recency; infinite if one is recent.
    best: f32,
    documents: Vec<Scored>,
}

/// Documents whose scores are final, as far as they can affect the result.
pub(super) struct Finished {
    parts: Vec<Part>,
    groups: FxHashSet<u64>,
    /// The threshold of the best scores without recency.
    pub(super) threshold: Threshold,
    /// A lower bound of the threshold.
    floor: f32,
    /// The position of the first recent candidate.
    pub(super) recent: usize,
}

impl Finished {
    /// A document with a lower score without recency is not among the best, except if it is recent.
    pub(super) fn least(&mut self) -> f32 {
        self.threshold.get().max(self.floor)
    }
}

/// For each unit, its matching documents and the best score of each term among them.
type ScoredUnits = FxHashMap<Unit, (Vec<Found>, Vec<f32>)>;

impl Top<'_> {
    /// The best `limit` documents with all boosts, and the best score without recency.
    pub(super) fn into_best(mut self, boosts: &Boosts, limit: usize) -> (Vec<Scored>, f32) {
        if limit > self.found.len() {
            self.score_best_texts(limit);
        }
        let mut texts = Threshold::new(limit);
        self.found.iter().for_each(|found| texts.push(found.text));
        let mut finished = Finished {
            parts: Vec::new(),
            groups: FxHashSet::default(),
            threshold: Threshold::new(limit),
            floor: texts.get(),
            recent: self.candidates.len(),
        };
        let coverage = self.coverage();
        self.finish_loose(&coverage, &mut finished, boosts);
        self.finish_first(&coverage, &mut finished, boosts, limit);
        let most = self.most(&coverage, &finished, boosts);
        let recent = freshest(self.candidates.len(), boosts, most);
        let recent = recency_ends(recent, NEGLIGIBLE * finished.least()).unwrap_or(RECENT);
        finished.recent = self.candidates.len().saturating_sub(recent.min(RECENT));
        let recent = self.recent_units(finished.recent);
        self.finish(&recent, &coverage, &mut finished, boosts);
        self.finish_groups(&coverage, &mut finished, boosts);
        let ungrouped = self.ungrouped(&mut finished, boosts);
        let least = finished.least();
        let is_recent = |part: &Part| {
            part.documents.iter().any(|document| document.position >= finished.recent)
        };
        let parts = finished.parts.iter();
        let parts = parts.filter(|part| part.best * ROUNDING >= least || is_recent(part));
        let mut documents: Vec<Scored> = parts.flat_map(|part| &part.documents).copied().collect();
        documents.extend(ungrouped);
        let best = boost(&mut documents, self.candidates.len(), boosts, Some(limit));
        (documents, best)
    }

    /// For each segment and each of its units, an upper bound of what the unit adds to the coverage of its group.
    fn coverage(&self) -> Vec<Vec<f32>> {
        let of_segment = |(number, segment): (usize, &Arc<Segment>)| {
            let mut units = vec![0.0; segment.bounds().groups().len()];
            if !units.is_empty() {
                self.main.add_coverage((number, segment), &mut units);
            }
            units
        };
        self.view.segments.iter().enumerate().map(of_segment).collect()
    }

    /// An upper bound of all scores without recency.
    fn most(&self, coverage: &[Vec<f32>], finished: &Finished, boosts: &Boosts) -> f32 {
        let of_units = coverage.iter().map(|units| highest(units)).fold(0.0, f32::max);
        let spanning = self.group_units.all_spanning().map(|units| coverage_of(units, coverage));
        let of_groups = spanning.fold(of_units, f32::max);
        let finished = finished.parts.iter().map(|part| part.best).fold(0.0, f32::max);
        let loose = self.found.iter().take(self.loose).map(|found| found.text);
        let text = loose.fold(self.bounds.most(), f32::max);
        finished.max(with_boosts(text, of_groups, boosts))
    }

    fn group(&self, (segment, unit): Unit) -> u64 {
        let segment = self.view.segments.get(segment as usize);
        segment.map_or(0, |segment| segment.bounds().group(unit))
    }

    /// The units of the recent candidates that have a group.
    fn recent_units(&self, first: usize) -> Vec<Unit> {
        let Some(first) = self.candidates.sequence(first) else { return Vec::new() };
        let mut units = Vec::new();
        for (number, segment) in (0..).zip(&self.view.segments) {
            let places = segment.first_place_from(first) as u32..segment.len() as u32;
            let of_segment = places.filter_map(|place| segment.bounds().unit_of(place));
            units.extend(of_segment.map(|unit| (number, unit)));
        }
        units.sort_unstable();
        units.dedup();
        units
    }

    /// Finishes the groups of the documents outside segments.
    fn finish_loose(&self, coverage: &[Vec<f32>], finished: &mut Finished, boosts: &Boosts) {
        let loose = self.found.get(..self.loose).unwrap_or_default();
        let mut by_group: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (number, found) in loose.iter().enumerate().filter(|(_, found)| found.group != 0) {
            by_group.entry(found.group).or_default().push(number);
        }
        let units = by_group.keys().flat_map(|group| self.group_units.units(*group));
        let scored = self.score_units(units.copied().collect(), coverage);
        for (group, members) in by_group {
            self.finish_group(group, &members, &scored, finished, boosts);
        }
    }

    /// Finishes the groups of the best texts, and those that cover most of the question.
    fn finish_first(
        &self,
        coverage: &[Vec<f32>],
        finished: &mut Finished,
        boosts: &Boosts,
        limit: usize,
    ) {
        let grouped = self.found.iter().skip(self.loose).filter(|found| found.group != 0);
        let mut texts = Threshold::new(limit);
        grouped.clone().for_each(|found| texts.push(found.text));
        let least = texts.get();
        let best = grouped.filter(|found| found.text >= least);
        let units = best.filter_map(|found| {
            let segment = self.view.segments.get(found.place.0 as usize)?;
            Some((found.place.0, segment.bounds().unit_of(found.place.1)?))
        });
        let mut units: Vec<Unit> = units.take(2 * limit).collect();
        let mut best = Threshold::new(limit);
        coverage.iter().flatten().for_each(|coverage| best.push(*coverage));
        let least = best.get();
        let covering = all_units(coverage).filter(|(coverage, _)| *coverage >= least);
        units.extend(covering.take(limit).map(|(_, unit)| unit));
        self.finish(&units, coverage, finished, boosts);
    }

    /// Finishes the groups that may contain some of the best documents.
    fn finish_groups(&self, coverage: &[Vec<f32>], finished: &mut Finished, boosts: &Boosts) {
        let least = finished.least();
        let most_text = self.bounds.most();
        let mut waiting: Vec<(f32, Unit)> = Vec::new();
        let mut consider = |units: &[Unit], coverage: f32| {
            let Some(first) = units.first() else { return };
            // No document has a higher score by its terms than the group covers.
            let text = most_text.min(coverage * self.raise + self.more);
            if with_boosts(text, coverage, boosts) * ROUNDING < least {
                return;
            }
            let text = self.most_text(units);
            if with_boosts(text, coverage, boosts) * ROUNDING < least {
                return;
            }
            let bound = self.text_bound(units, boosts.neighbours) + boosts.group * coverage;
            if bound * ROUNDING < least {
                return;
            }
            let adjacent = self.adjacent_bound(units, boosts.neighbours);
            let bound = adjacent.map_or(bound, |text| text + boosts.group * coverage);
            if bound * ROUNDING >= least && !finished.groups.contains(&self.group(*first)) {
                waiting.push((bound, *first));
            }
        };
        for units in self.group_units.all_spanning() {
            consider(units, coverage_of(units, coverage));
        }
        for (coverage, unit) in all_units(coverage).filter(|(coverage, _)| *coverage > 0.0) {
            consider(&[unit], coverage);
        }
        let mut waiting = Waiting::new(waiting);
        while let Some(units) = waiting.next(finished.least()) {
            self.finish(&units, coverage, finished, boosts);
        }
    }

    /// The highest upper bound of the text scores of a group's documents.
    fn most_text(&self, units: &[Unit]) -> f32 {
        let mut most = 0.0_f32;
        self.for_each_member(units, |bounds| most = most.max(highest(bounds)));
        most
    }

    /// An upper bound of the text scores of a group's documents with their neighbours.
    fn text_bound(&self, units: &[Unit], neighbours: f32) -> f32 {
        // The best three: the best document with the next two beside it.
        let [mut first, mut second, mut third] = [0.0_f32; 3];
        self.for_each_member(units, |bounds| {
            for bound in bounds {
                // Without branches, because they would be mispredicted.
                third = third.max(second.min(*bound));
                second = second.max(first.min(*bound));
                first = first.max(*bound);
            }
        });
        with_neighbours([first, second, third], neighbours)
    }

    /// As [`Self::text_bound`], by the actual neighbours. `None` if the group's documents are not all adjacent candidates.
    fn adjacent_bound(&self, units: &[Unit], neighbours: f32) -> Option<f32> {
        let [(number, unit)] = *units else { return None };
        let segment = self.view.segments.get(number as usize)?;
        let members = segment.bounds().members(unit);
        let (&start, &end) = members.first().zip(members.last())?;
        let others = (end - start) as usize;
        let (first, first_position) = self.position(segment, start)?;
        let (last, last_position) = self.position(segment, end)?;
        // Without gaps between the sequences, no document of another segment is between them.
        let is_adjacent = members.len() == others + 1
            && last - first == others as u64
            && last_position - first_position == others
            && self.group_units.spanning(self.group((number, unit))).is_none();
        is_adjacent
            .then(|| most_with_neighbours(self.bounds.range(number, start..=end), neighbours))
    }

    /// Calls `visit` with the upper bounds of a group's documents, in some parts.
    fn for_each_member(&self, units: &[Unit], mut visit: impl FnMut(&[f32])) {
        for (number, unit) in units {
            let Some(segment) = self.view.segments.get(*number as usize) else { continue };
            let members = segment.bounds().members(*unit);
            let (Some(&start), Some(&end)) = (members.first(), members.last()) else { continue };
            let bounds = self.bounds.range(*number, start..=end);
            if bounds.len() == members.len() {
                visit(bounds);
                continue;
            }
            for place in members {
                visit(bounds.get((place - start) as usize).map_or(&[], std::slice::from_ref));
            }
        }
    }

    /// Finishes the complete groups of units.
    fn finish(
        &self,
        units: &[Unit],
        coverage: &[Vec<f32>],
        finished: &mut Finished,
        boosts: &Boosts,
    ) {
        let mut wanted = Vec::with_capacity(units.len());
        for unit in units {
            let group = self.group(*unit);
            if !finished.groups.contains(&group) {
                wanted.extend_from_slice(self.group_units.spanning(group).unwrap_or(&[*unit]));
            }
        }
        let scored = self.score_units(wanted, coverage);
        for unit in units {
            self.finish_group(self.group(*unit), &[], &scored, finished, boosts);
        }
    }

    /// Finishes a group. `loose` are its documents outside segments.
    fn finish_group(
        &self,
        group: u64,
        loose: &[usize],
        scored: &ScoredUnits,
        finished: &mut Finished,
        boosts: &Boosts,
    ) {
        if !finished.groups.insert(group) {
            return;
        }
        let mut best = self.loose_groups.get(&group).cloned().unwrap_or_default();
        best.resize(self.main.width(), 0.0);
        let mut members: Vec<&Found> =
            loose.iter().filter_map(|number| self.found.get(*number)).collect();
        for (found, of_unit) in
            self.group_units.units(group).iter().filter_map(|unit| scored.get(unit))
        {
            members.extend(found);
            best.iter_mut().zip(of_unit).for_each(|(best, score)| *best = best.max(*score));
        }
        let coverage = best.iter().sum();
        let documents: Vec<Scored> = members.iter().map(|found| found.scored(coverage)).collect();
        let mut members = documents.clone();
        add_neighbours(&mut members, boosts.neighbours);
        let mut best = 0.0;
        for member in &members {
            let score = member.score + boosts.group * coverage;
            finished.threshold.push(score);
            best = score.max(best);
        }
        finished.parts.push(Part { best, documents });
    }

    /// Scores the given units that may match.
    fn score_units(&self, mut units: Vec<Unit>, coverage: &[Vec<f32>]) -> ScoredUnits {
        let mut scored = ScoredUnits::default();
        units.retain(|unit| coverage_of(&[*unit], coverage) > 0.0);
        units.sort_unstable();
        units.dedup();
        let width = self.main.width();
        for of_segment in units.chunk_by(|left, right| left.0 == right.0) {
            let Some((number, _)) = of_segment.first() else { continue };
            let Some(segment) = self.view.segments.get(*number as usize) else { continue };
            let mut documents = Places::of(segment);
            for (_, unit) in of_segment {
                documents.push(segment.bounds().members(*unit).iter().copied());
            }
            let mut best = vec![0.0; width * of_segment.len()];
            let texts = self.texts(*number, segment, &documents, &mut best);
            for (place, (unit, range)) in of_segment.iter().zip(&documents.units).enumerate() {
                let found = self.found_in(*number, segment, &documents, &texts, range);
                let best = best.get(place * width..(place + 1) * width).unwrap_or_default();
                scored.insert(*unit, (found, best.to_vec()));
            }
        }
        scored
    }
}

/// The sum of an upper bound over the units of a group.
fn coverage_of(units: &[Unit], coverage: &[Vec<f32>]) -> f32 {
    let of_unit = |unit: &Unit| coverage.get(unit.0 as usize)?.get(unit.1 as usize).copied();
    units.iter().filter_map(of_unit).sum()
}

/// All units with their upper bounds.
fn all_units(coverage: &[Vec<f32>]) -> impl Iterator<Item = (f32, Unit)> {
    (0..).zip(coverage).flat_map(|(segment, units)| {
        units.iter().zip(0..).map(move |(coverage, unit)| (*coverage, (segment, unit)))
    })
}
