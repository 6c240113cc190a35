//! Upper bounds of the scores of a segment's documents: levels of postings, and for each group of documents the highest
//! level of each frequent term.

use rustc_hash::FxHashMap;

use crate::index::segment::Segment;
use crate::scoring::ranking::{LEVELS, Scorer};

/// Terms with fewer postings have no entries; the levels of their postings are used instead.
const LEAST_POSTINGS: usize = 32;

/// The unit of a document without a group.
const NO_UNIT: u32 = u32::MAX;

const LEVEL_BITS: u32 = u8::BITS;
const _: () = assert!(LEVELS == 1 << LEVEL_BITS);

/// The highest level of a term among the documents of a unit; see [`Scorer::level`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry(u32);

impl Entry {
    pub(crate) fn unit(self) -> usize {
        (self.0 >> LEVEL_BITS) as usize
    }

    pub(crate) fn level(self) -> u8 {
        self.0 as u8
    }
}

/// For each frequent term, its highest level in each unit.
#[derive(Debug, Default)]
struct UnitLevels {
    entries: Vec<Entry>,
    ends: Vec<u32>,
}

/// Collects the levels of one term.
struct UnitCollector {
    levels: Vec<u8>,
    touched: Vec<u32>,
}

impl UnitCollector {
    fn add(&mut self, unit: u32, level: u8) {
        if let Some(best) = self.levels.get_mut(unit as usize) {
            if *best == 0 {
                self.touched.push(unit);
            }
            *best = level.max(*best);
        }
    }

    fn end_term(&mut self, of_units: &mut UnitLevels) {
        for unit in self.touched.drain(..) {
            let level = self.levels.get_mut(unit as usize).map_or(0, std::mem::take);
            of_units.entries.push(Entry(unit << LEVEL_BITS | u32::from(level)));
        }
        of_units.ends.push(of_units.entries.len() as u32);
    }
}

/// The levels of a segment's postings, and its units. A unit contains all documents of one group; documents without a group
/// are in no unit.
///
/// A level is not a score: it is relative to the statistics of the segment, so it stays valid when the statistics of
/// the collection change. [`Scorer::scores_of_levels`] converts it to an upper bound.
#[derive(Debug)]
pub(crate) struct Bounds {
    unit_of: Box<[u32]>,
    members: Box<[u32]>,
    member_ends: Box<[u32]>,
    groups: Box<[u64]>,
    scorer: Scorer,
    /// For each posting, its level.
    levels: Box<[u8]>,
    of_units: UnitLevels,
}

impl Bounds {
    pub(crate) fn new(segment: &Segment) -> Self {
        let (unit_of, groups) = units(segment);
        let (members, member_ends) = members(&unit_of, groups.len());
        let scorer = Scorer::of_segment(segment.totals());
        let mut levels = Vec::with_capacity(segment.posting_count());
        let mut of_units = UnitLevels::default();
        let mut collector = UnitCollector { levels: vec![0; groups.len()], touched: Vec::new() };
        for number in 0..segment.term_count() {
            let postings = segment.postings_of(number);
            let has_entries = postings.len() >= LEAST_POSTINGS;
            for posting in postings {
                let place = posting.document() as usize;
                let lengths = segment.lengths().get(place);
                let level = lengths
                    .map_or(1, |lengths| scorer.level(posting.frequencies(), lengths))
                    .max(1);
                levels.push(level);
                if has_entries {
                    collector.add(unit_of.get(place).copied().unwrap_or(NO_UNIT), level);
                }
            }
            collector.end_term(&mut of_units);
        }
        of_units.entries.shrink_to_fit();
        let levels = levels.into();
        Self { unit_of, members, member_ends, groups, scorer, levels, of_units }
    }

    /// The approximate memory usage.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.unit_of)
            + size_of_val(&*self.members)
            + size_of_val(&*self.member_ends)
            + size_of_val(&*self.groups)
            + size_of_val(&*self.levels)
            + size_of_val(&*self.of_units.entries)
            + size_of_val(&*self.of_units.ends)
    }

    /// The level of each posting, in the order of the segment's postings.
    pub(crate) fn levels(&self) -> &[u8] {
        &self.levels
    }

    /// The highest level of a term in each unit; the term is given by its number. `None` if the levels of its postings have to
    /// be used instead.
    pub(crate) fn entries(&self, number: usize) -> Option<&[Entry]> {
        let entries = slice(&self.of_units.entries, &self.of_units.ends, number);
        (!entries.is_empty()).then_some(entries)
    }

    /// The unit of the document of a posting; `None` if the document has no group.
    pub(crate) fn unit_of(&self, place: u32) -> Option<u32> {
        self.unit_of.get(place as usize).copied().filter(|unit| *unit != NO_UNIT)
    }

    /// The group of a unit's documents.
    pub(crate) fn group(&self, unit: u32) -> u64 {
        self.groups.get(unit as usize).copied().unwrap_or_default()
    }

    /// The group of each unit.
    pub(crate) fn groups(&self) -> &[u64] {
        &self.groups
    }

    /// The positions of a unit's documents, ascending.
    pub(crate) fn members(&self, unit: u32) -> &[u32] {
        slice(&self.members, &self.member_ends, unit as usize)
    }

    /// For each level, an upper bound of the score of a term of weight 1.
    pub(crate) fn scores_of_levels(&self, scorer: &Scorer) -> [f32; LEVELS] {
        scorer.scores_of_levels(&self.scorer)
    }
}

/// The unit of each document, and the group of each unit.
fn units(segment: &Segment) -> (Box<[u32]>, Box<[u64]>) {
    let mut groups: Vec<u64> = Vec::new();
    let mut unit_of_group: FxHashMap<u64, u32> = FxHashMap::default();
    let mut latest: Option<(u64, u32)> = None;
    let unit_of = (0..segment.len() as u32).map(|place| {
        let group = segment.group(place);
        if group == 0 {
            return NO_UNIT;
        }
        if let Some((_, unit)) = latest.filter(|(same, _)| *same == group) {
            return unit;
        }
        let next = groups.len() as u32;
        let unit = *unit_of_group.entry(group).or_insert(next);
        if unit == next {
            groups.push(group);
        }
        latest = Some((group, unit));
        unit
    });
    let unit_of = unit_of.collect();
    (unit_of, groups.into())
}

/// The positions of the documents, ordered by unit, and the end of each unit.
fn members(unit_of: &[u32], units: usize) -> (Box<[u32]>, Box<[u32]>) {
    let mut ends = vec![0_u32; units];
    for unit in unit_of {
        ends.get_mut(*unit as usize).into_iter().for_each(|count| *count += 1);
    }
    let mut start = 0;
    for end in &mut ends {
        // Set to the start of the unit; advanced below for each of its documents.
        start += std::mem::replace(end, start);
    }
    let mut members = vec![0_u32; start as usize];
    for (place, unit) in (0..).zip(unit_of) {
        if let Some(end) = ends.get_mut(*unit as usize) {
            members.get_mut(*end as usize).into_iter().for_each(|slot| *slot = place);
            *end += 1;
        }
    }
    (members.into(), ends.into())
}

fn slice<'a, T>(values: &'a [T], ends: &[u32], number: usize) -> &'a [T] {
    let end = |number: usize| ends.get(number).map_or(0, |end| *end as usize);
    let start = number.checked_sub(1).map_or(0, end);
    values.get(start..end(number)).unwrap_or_default()
}
