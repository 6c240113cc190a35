//! The second part of [`crate::scoring::top_ranking`]: finds the best documents by their scores with the boosts for groups,
//! neighbours and recency.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::scoring::boosts::{Boosts, Scored, add_neighbours, boost, most_neighbours};
use crate::scoring::threshold::Threshold;
use crate::scoring::top_ranking::{Found, Top};
use crate::scoring::unit_scores::Places;
use crate::scoring::waiting::{Cuts, ROUNDING, Unit, Waiting};

/// Number of latest candidates that are always scored. For earlier candidates, the recency boost is less than half a unit in
/// the last place of the score.
const RECENT: usize = 400;

/// The documents of a complete group, or of a unit without a group.
struct Part {
    /// An upper bound of their scores without recency.
    bound: f32,
    /// Set for a unit of documents without a group in a segment.
    unit: Option<Unit>,
    documents: Vec<Scored>,
}

/// Documents whose scores are final, as far as they can affect the result.
struct Finished {
    parts: Vec<Part>,
    groups: FxHashSet<u64>,
    /// The finished units without a group.
    units: FxHashSet<Unit>,
    /// The threshold of the best scores, without recency.
    threshold: Threshold,
    /// The maximum boost by neighbours for documents without a group.
    ungrouped: f32,
    /// The position of the first recent candidate.
    recent: usize,
}

/// For each unit, its matching documents and the best score of each term among them.
type ScoredUnits = FxHashMap<Unit, (Vec<Found>, Vec<f32>)>;

impl Finished {
    fn push(&mut self, bound: f32, unit: Option<Unit>, documents: Vec<Scored>) {
        let is_recent = documents.iter().any(|document| document.position >= self.recent);
        let bound = if is_recent { f32::INFINITY } else { bound };
        if bound * ROUNDING >= self.threshold.get() {
            self.parts.push(Part { bound, unit, documents });
        }
    }

    /// Adds documents without a group: those of a unit, or one outside segments.
    fn push_ungrouped(&mut self, unit: Option<Unit>, found: &[Found]) {
        let documents: Vec<Scored> = found.iter().map(|found| found.scored(0.0)).collect();
        documents.iter().for_each(|document| self.threshold.push(document.score));
        let best = documents.iter().map(|document| document.score).fold(0.0, f32::max);
        let bound = if unit.is_some() { best + self.ungrouped } else { f32::INFINITY };
        self.push(bound, unit, documents);
    }

    /// Drops the parts that cannot be among the best.
    fn drop_worse(&mut self) {
        let least = self.threshold.get();
        self.parts.retain(|part| part.bound * ROUNDING >= least);
    }
}

impl Top<'_> {
    /// The best `limit` documents with all boosts, and the best score without recency.
    pub(super) fn into_best(self, boosts: &Boosts, limit: usize) -> (Vec<Scored>, f32) {
        let mut finished = Finished {
            parts: Vec::new(),
            groups: FxHashSet::default(),
            units: FxHashSet::default(),
            threshold: Threshold::new(limit),
            ungrouped: boosts.neighbours * most_neighbours(false) * self.most_ungrouped(),
            recent: self.candidates.len().saturating_sub(RECENT),
        };
        self.finish_loose(&mut finished, boosts);
        let recent = self.recent_units();
        self.finish(recent, &mut finished, boosts);
        let bound = |unit| (self.bound(unit, boosts, finished.ungrouped), unit);
        let bounds: Vec<(f32, Unit)> = self.units().map(bound).collect();
        let mut cuts = Cuts::new(bounds.iter().map(|(bound, _)| *bound).fold(0.0, f32::max));
        while let Some(cut) = cuts.next(finished.threshold.get()) {
            let mut waiting = Waiting::default();
            bounds.iter().for_each(|(bound, unit)| waiting.push(*bound, *unit, &cut));
            waiting.sort();
            while let Some(units) = waiting.next(finished.threshold.get()) {
                self.finish(units, &mut finished, boosts);
            }
        }
        finished.drop_worse();
        let beside = self.score_units(self.units_beside(&mut finished));
        let beside = beside.values().flat_map(|(found, _)| found);
        let parts = finished.parts.into_iter().flat_map(|part| part.documents);
        let mut documents: Vec<Scored> =
            parts.chain(beside.map(|found| found.scored(0.0))).collect();
        let best = boost(&mut documents, self.candidates.len(), boosts, Some(limit));
        (documents, best)
    }

    /// The units that may match.
    fn units(&self) -> impl Iterator<Item = Unit> {
        (0..).zip(&self.segments).flat_map(|(number, state)| {
            let units = (0..).zip(&state.units).filter(|(_, bound)| **bound > 0.0);
            units.map(move |(unit, _)| (number, unit))
        })
    }

    /// An upper bound of the scores of a unit's documents, without recency. `ungrouped` is the maximum boost by neighbours for
    /// documents without a group.
    fn bound(&self, unit: Unit, boosts: &Boosts, ungrouped: f32) -> f32 {
        let group = self.group(unit);
        if group == 0 {
            return self.text_bound(unit) + ungrouped;
        }
        let (mut text, mut coverage) = (0.0, 0.0);
        for unit in self.group_units.spanning(group).unwrap_or(&[unit]) {
            text = self.text_bound(*unit).max(text);
            coverage += self.coverage_bound(*unit);
        }
        text * (1.0 + boosts.neighbours * most_neighbours(true)) + boosts.group * coverage
    }

    fn coverage_bound(&self, (segment, unit): Unit) -> f32 {
        let state = self.segments.get(segment as usize);
        state.and_then(|state| state.units.get(unit as usize)).copied().unwrap_or_default()
    }

    fn group(&self, (segment, unit): Unit) -> u64 {
        let segment = self.view.segments.get(segment as usize);
        segment.map_or(0, |segment| segment.bounds().group(unit as usize))
    }

    /// An upper bound of the text scores of documents without a group.
    fn most_ungrouped(&self) -> f32 {
        let units = self.units().filter(|unit| self.group(*unit) == 0);
        let found = self.found.iter().filter(|found| found.group == 0);
        let texts = units.map(|unit| self.text_bound(unit)).chain(found.map(|found| found.text));
        texts.fold(0.0, f32::max)
    }

    /// The units of the latest [`RECENT`] candidates.
    fn recent_units(&self) -> Vec<Unit> {
        let first = self.candidates.len().checked_sub(RECENT);
        let first = first.and_then(|position| self.candidates.sequence(position)).unwrap_or(0);
        let mut units = Vec::new();
        for (number, segment) in (0..).zip(&self.view.segments) {
            let places = segment.first_place_from(first) as u32..segment.len() as u32;
            units.extend(places.map(|place| (number, segment.bounds().unit_of(place) as u32)));
        }
        units.sort_unstable();
        units.dedup();
        units
    }

    /// Finishes the documents outside segments, with their groups.
    fn finish_loose(&self, finished: &mut Finished, boosts: &Boosts) {
        let loose = self.found.get(..self.loose).unwrap_or_default();
        for found in loose.iter().filter(|found| found.group == 0) {
            finished.push_ungrouped(None, std::slice::from_ref(found));
        }
        let mut by_group: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (number, found) in loose.iter().enumerate().filter(|(_, found)| found.group != 0) {
            by_group.entry(found.group).or_default().push(number);
        }
        let units = by_group.keys().flat_map(|group| self.group_units.units(*group));
        let scored = self.score_units(units.copied().collect());
        for (group, members) in by_group {
            self.finish_group(group, &members, &scored, finished, boosts);
        }
    }

    /// Finishes units, with the complete groups that they belong to.
    fn finish(&self, units: Vec<Unit>, finished: &mut Finished, boosts: &Boosts) {
        let mut wanted = Vec::with_capacity(units.len());
        for unit in &units {
            let group = self.group(*unit);
            if group == 0 || !finished.groups.contains(&group) {
                let spanning = self.group_units.spanning(group);
                wanted.extend_from_slice(spanning.unwrap_or(&[*unit]));
            }
        }
        let scored = self.score_units(wanted);
        for unit in units {
            let group = self.group(unit);
            if group != 0 {
                self.finish_group(group, &[], &scored, finished, boosts);
            } else if finished.units.insert(unit) {
                let found = scored.get(&unit).map_or(&[][..], |(found, _)| found);
                finished.push_ungrouped(Some(unit), found);
            }
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
        let mut members: Vec<Scored> = members.iter().map(|found| found.scored(coverage)).collect();
        let documents = members.clone();
        add_neighbours(&mut members, boosts.neighbours);
        let mut most = 0.0;
        for member in &members {
            let score = member.score + boosts.group * coverage;
            finished.threshold.push(score);
            most = score.max(most);
        }
        finished.push(most, None, documents);
    }

    /// Scores the given units that may match.
    fn score_units(&self, mut units: Vec<Unit>) -> ScoredUnits {
        let mut scored = ScoredUnits::default();
        units.retain(|unit| self.coverage_bound(*unit) > 0.0);
        units.sort_unstable();
        units.dedup();
        let width = self.main.width();
        for of_segment in units.chunk_by(|left, right| left.0 == right.0) {
            let Some((number, _)) = of_segment.first() else { continue };
            let Some(segment) = self.view.segments.get(*number as usize) else { continue };
            let mut documents = Places::of(segment);
            for (_, unit) in of_segment {
                documents.push(segment.bounds().members(*unit as usize).iter().copied());
            }
            let mut best = vec![0.0; width * of_segment.len()];
            let texts = self.texts(*number, segment, &documents, &mut best);
            for (place, (unit, range)) in of_segment.iter().zip(&documents.units).enumerate() {
                let mut found = self.found_in(*number, segment, &documents, &texts, range);
                for found in &mut found {
                    found.text = self.paired.get(&found.sequence).copied().unwrap_or(found.text);
                }
                let best = best.get(place * width..(place + 1) * width).unwrap_or_default();
                scored.insert(*unit, (found, best.to_vec()));
            }
        }
        scored
    }

    /// The units without a group that are not finished and contain neighbours of finished documents: of recent ones, and of those
    /// that may be among the best.
    fn units_beside(&self, finished: &mut Finished) -> Vec<Unit> {
        let least = finished.threshold.get();
        let mut units = Vec::new();
        let documents = finished.parts.iter().flat_map(|part| &part.documents);
        for document in documents.filter(|document| document.group == 0) {
            let bound = (document.score + finished.ungrouped) * ROUNDING;
            if document.position < finished.recent && bound < least {
                continue;
            }
            let beside = [document.position.checked_sub(1), document.position.checked_add(1)];
            let sequences = beside.into_iter().flatten();
            for sequence in sequences.filter_map(|position| self.candidates.sequence(position)) {
                units.extend(self.unit_of(sequence).filter(|unit| self.group(*unit) == 0));
            }
        }
        let there: FxHashSet<Unit> = finished.parts.iter().filter_map(|part| part.unit).collect();
        units.sort_unstable();
        units.dedup();
        units.retain(|unit| !there.contains(unit));
        units
    }

    /// The unit of a document in a segment.
    fn unit_of(&self, sequence: u64) -> Option<Unit> {
        let mut segments = (0..).zip(&self.view.segments);
        segments.find_map(|(number, segment)| {
            Some((number, segment.bounds().unit_of(segment.place(sequence)?) as u32))
        })
    }
}
