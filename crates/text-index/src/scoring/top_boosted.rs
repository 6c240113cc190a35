//! The second part of [`crate::scoring::top_ranking`]: the best documents with what their groups, their
//! neighbours and recency add.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::scoring::boosts::{Boosts, Scored, add_neighbours, boost, most_neighbours};
use crate::scoring::threshold::Threshold;
use crate::scoring::top_ranking::{Found, ROUNDING, Top, Unit, Waiting};

/// So many of the latest candidates are always scored: to the scores of earlier ones recency adds less than
/// half of the last bit.
const RECENT: usize = 400;

/// Documents whose scores are complete as far as they can matter.
struct Finished {
    documents: Vec<Scored>,
    groups: FxHashSet<u64>,
    /// Those without a group.
    units: FxHashSet<Unit>,
    /// Of the best scores without recency.
    threshold: Threshold,
}

impl Top<'_> {
    /// The best `limit` with all boosts, and the best score without recency.
    pub(super) fn into_best(mut self, boosts: &Boosts, limit: usize) -> (Vec<Scored>, f32) {
        let ungrouped = boosts.neighbours * most_neighbours(false) * self.most_ungrouped();
        let mut finished = Finished {
            documents: Vec::new(),
            groups: FxHashSet::default(),
            units: FxHashSet::default(),
            threshold: Threshold::new(limit),
        };
        self.finish_loose(&mut finished, boosts);
        let recent = self.recent_units();
        self.finish(recent, &mut finished, boosts);
        let bound = |unit| (self.bound(unit, boosts, ungrouped), unit);
        let mut waiting = Waiting::new(self.units().map(bound).collect());
        while let Some(units) = waiting.next(finished.threshold.get()) {
            self.finish(units, &mut finished, boosts);
        }
        let least = finished.threshold.get();
        let beside = self.units_beside(&finished, |text| (text + ungrouped) * ROUNDING >= least);
        self.finish(beside, &mut finished, boosts);
        let mut documents = finished.documents;
        let best = boost(&mut documents, self.candidates.len(), boosts, Some(limit));
        (documents, best)
    }

    /// An upper bound of the scores of a unit's documents, recency aside. `ungrouped` is the most that
    /// neighbours add where there is no group.
    fn bound(&self, unit: Unit, boosts: &Boosts, ungrouped: f32) -> f32 {
        let group = self.group(unit);
        if group == 0 {
            return self.text_bound(unit) + ungrouped;
        }
        let (mut text, mut coverage) = (0.0, 0.0);
        let spanning = self.group_units.spanning(group);
        for unit in spanning.unwrap_or(&[unit]) {
            text += self.text_bound(*unit);
            coverage += self.coverage_bound(*unit);
        }
        text * (1.0 + boosts.neighbours * most_neighbours(true)) + boosts.group * coverage
    }

    fn group(&self, (segment, unit): Unit) -> u64 {
        self.view.segments.get(segment).map_or(0, |segment| segment.bounds().group(unit))
    }

    /// An upper bound of the texts of documents without a group.
    fn most_ungrouped(&self) -> f32 {
        let in_units = self.units().filter(|unit| self.group(*unit) == 0);
        let loose = self.found.iter().take(self.loose).filter(|found| found.group == 0);
        let texts = in_units.map(|unit| self.text_bound(unit)).chain(loose.map(|found| found.text));
        texts.fold(0.0, f32::max)
    }

    /// The units of the latest candidates.
    fn recent_units(&self) -> Vec<Unit> {
        let first = self.candidates.len().checked_sub(RECENT);
        let first = first.and_then(|position| self.candidates.sequence(position)).unwrap_or(0);
        let mut units = Vec::new();
        for (number, segment) in self.view.segments.iter().enumerate() {
            let places = segment.first_place_from(first)..segment.len();
            units.extend(places.map(|place| (number, segment.bounds().unit_of(place as u32))));
        }
        units.sort_unstable();
        units.dedup();
        units
    }

    /// Finishes the documents outside the segments, with their groups.
    fn finish_loose(&mut self, finished: &mut Finished, boosts: &Boosts) {
        let loose = self.found.get(..self.loose).unwrap_or_default();
        for found in loose.iter().filter(|found| found.group == 0) {
            finished.threshold.push(found.text);
            finished.documents.push(found.scored(0.0));
        }
        let mut by_group: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (number, found) in loose.iter().enumerate().filter(|(_, found)| found.group != 0) {
            by_group.entry(found.group).or_default().push(number);
        }
        let groups = by_group.keys().flat_map(|group| self.group_units.units(*group));
        let units = groups.copied().collect();
        self.score_missing(units);
        for (group, members) in by_group {
            self.finish_group(group, &members, finished, boosts);
        }
    }

    /// Finishes units, with the whole groups that they belong to.
    fn finish(&mut self, units: Vec<Unit>, finished: &mut Finished, boosts: &Boosts) {
        let mut wanted = Vec::with_capacity(units.len());
        for unit in &units {
            let spanning = self.group_units.spanning(self.group(*unit));
            wanted.extend_from_slice(spanning.unwrap_or(&[*unit]));
        }
        self.score_missing(wanted);
        for unit in units {
            let group = self.group(unit);
            if group != 0 {
                self.finish_group(group, &[], finished, boosts);
            } else if finished.units.insert(unit) {
                for found in self.found_in(unit) {
                    finished.threshold.push(found.text);
                    finished.documents.push(found.scored(0.0));
                }
            }
        }
    }

    /// `loose` are its members outside the segments.
    fn finish_group(&self, group: u64, loose: &[usize], finished: &mut Finished, boosts: &Boosts) {
        if !finished.groups.insert(group) {
            return;
        }
        let mut best = self.loose_groups.get(&group).cloned().unwrap_or_default();
        best.resize(self.main.width(), 0.0);
        let mut members: Vec<&Found> =
            loose.iter().filter_map(|number| self.found.get(*number)).collect();
        for unit in self.group_units.units(group) {
            members.extend(self.found_in(*unit));
            let of_unit = self.scored_unit(*unit).map_or(&[][..], |scored| &scored.best);
            best.iter_mut().zip(of_unit).for_each(|(best, score)| *best = best.max(*score));
        }
        let coverage = best.iter().sum();
        let mut members: Vec<Scored> = members.iter().map(|found| found.scored(coverage)).collect();
        finished.documents.extend_from_slice(&members);
        add_neighbours(&mut members, boosts.neighbours);
        let scores = members.iter().map(|member| member.score + boosts.group * coverage);
        scores.for_each(|score| finished.threshold.push(score));
    }

    fn found_in(&self, unit: Unit) -> &[Found] {
        let scored = self.scored_unit(unit);
        scored.and_then(|scored| self.found.get(scored.found.clone())).unwrap_or_default()
    }

    /// Scores those of the units that may match and are not scored yet.
    fn score_missing(&mut self, mut units: Vec<Unit>) {
        units.retain(|unit| self.may_match(*unit) && self.scored_unit(*unit).is_none());
        self.score(&mut units);
    }

    /// Units without a group, not finished yet, that hold neighbours of finished documents: of the latest, and
    /// of those whose text `may_count`.
    fn units_beside(&self, finished: &Finished, may_count: impl Fn(f32) -> bool) -> Vec<Unit> {
        let count = self.candidates.len();
        let mut units = Vec::new();
        for document in finished.documents.iter().filter(|document| document.group == 0) {
            if document.position + RECENT < count && !may_count(document.score) {
                continue;
            }
            let beside = [document.position.checked_sub(1), document.position.checked_add(1)];
            let sequences = beside.into_iter().flatten();
            for sequence in sequences.filter_map(|position| self.candidates.sequence(position)) {
                let unit = self.unit_of(sequence).filter(|unit| self.group(*unit) == 0);
                units.extend(unit.filter(|unit| !finished.units.contains(unit)));
            }
        }
        units
    }

    /// The unit of a document that is in a segment.
    fn unit_of(&self, sequence: u64) -> Option<Unit> {
        let mut segments = self.view.segments.iter().enumerate();
        segments.find_map(|(number, segment)| {
            Some((number, segment.bounds().unit_of(segment.place(sequence)?)))
        })
    }
}
