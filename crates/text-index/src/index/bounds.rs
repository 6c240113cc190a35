//! Upper bounds of the scores of a segment's documents, computed for units and blocks: sets of documents that share a
//! bound.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::index::segment::Segment;
use crate::scoring::ranking::{LEVELS, Scorer};

/// Size of the units of documents without a group: large enough to save work, small enough that the bound of a unit
/// is close to the score of its best document.
const UNGROUPED_UNIT: usize = 16;

/// Terms with fewer postings have no entries; their postings are scored instead.
const LEAST_POSTINGS: usize = 32;

/// Logarithm of the number of documents per block. Blocks are small, so that their bounds are close to the score of the best
/// document.
const BLOCK_BITS: u32 = 3;

const LEVEL_BITS: u32 = u8::BITS;
const _: () = assert!(LEVELS == 1 << LEVEL_BITS);

/// The highest level of a term among the documents of a unit; see [`Scorer::level`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry(u32);

impl Entry {
    pub(crate) fn unit(self) -> usize {
        (self.0 >> LEVEL_BITS) as usize
    }

    pub(crate) fn level(self) -> usize {
        self.0 as usize % LEVELS
    }
}

/// For each frequent term, its highest level in each unit.
#[derive(Debug)]
pub(crate) struct Levels {
    entries: Box<[Entry]>,
    ends: Box<[u32]>,
}

impl Levels {
    fn new(
        segment: &Segment,
        scorer: &Scorer,
        units: usize,
        unit_of: impl Fn(u32) -> usize,
    ) -> Self {
        let mut entries = Vec::new();
        let mut ends = Vec::with_capacity(segment.term_count());
        let mut levels = vec![0_u8; units];
        let mut touched: Vec<usize> = Vec::new();
        for number in 0..segment.term_count() {
            let postings = segment.postings_of(number);
            let postings = if postings.len() < LEAST_POSTINGS { &[] } else { postings };
            for posting in postings {
                let unit = unit_of(posting.document());
                let lengths = segment.lengths().get(posting.document() as usize);
                if let (Some(best), Some(lengths)) = (levels.get_mut(unit), lengths) {
                    if *best == 0 {
                        touched.push(unit);
                    }
                    *best = scorer.level(posting.frequencies(), lengths).max(*best).max(1);
                }
            }
            for unit in touched.drain(..) {
                let level = levels.get_mut(unit).map_or(0, std::mem::take);
                entries.push(Entry((unit as u32) << LEVEL_BITS | u32::from(level)));
            }
            ends.push(entries.len() as u32);
        }
        Self { entries: entries.into(), ends: ends.into() }
    }

    /// The entries of a term, given by its number; `None` if its postings have to be scored instead.
    pub(crate) fn of(&self, number: usize) -> Option<&[Entry]> {
        let entries = slice(&self.entries, &self.ends, number);
        (!entries.is_empty()).then_some(entries)
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(&*self.ends)
    }
}

/// The documents of a segment, divided into units and into blocks. A unit contains all documents of one group, or several
/// consecutive documents without a group. A block contains a few adjacent documents, independent of their groups.
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
    pub(crate) of_units: Levels,
    pub(crate) of_blocks: Levels,
}

impl Bounds {
    pub(crate) fn new(segment: &Segment) -> Self {
        let (unit_of, groups) = units(segment);
        let (members, member_ends) = members(&unit_of, groups.len());
        let scorer = Scorer::of_segment(segment.totals());
        let place_unit = |place| unit_of.get(place as usize).copied().unwrap_or_default() as usize;
        let of_units = Levels::new(segment, &scorer, groups.len(), place_unit);
        let of_blocks = Levels::new(segment, &scorer, blocks(segment), block_of);
        Self { unit_of, members, member_ends, groups, scorer, of_units, of_blocks }
    }

    /// The approximate memory usage.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.unit_of)
            + size_of_val(&*self.members)
            + size_of_val(&*self.member_ends)
            + size_of_val(&*self.groups)
            + self.of_units.bytes()
            + self.of_blocks.bytes()
    }

    /// The unit of the document at a position.
    #[inline]
    pub(crate) fn unit_of(&self, place: u32) -> usize {
        self.unit_of.get(place as usize).copied().unwrap_or_default() as usize
    }

    /// The group of a unit's documents; 0 for none.
    pub(crate) fn group(&self, unit: usize) -> u64 {
        self.groups.get(unit).copied().unwrap_or_default()
    }

    /// The group of each unit.
    pub(crate) fn groups(&self) -> &[u64] {
        &self.groups
    }

    /// The positions of a unit's documents, ascending.
    pub(crate) fn members(&self, unit: usize) -> &[u32] {
        slice(&self.members, &self.member_ends, unit)
    }

    /// For each level, an upper bound of the score of a term of weight 1.
    pub(crate) fn scores_of_levels(&self, scorer: &Scorer) -> [f32; LEVELS] {
        scorer.scores_of_levels(&self.scorer)
    }
}

/// The block of the document at a position.
#[inline]
pub(crate) fn block_of(place: u32) -> usize {
    (place >> BLOCK_BITS) as usize
}

/// The number of blocks of a segment.
pub(crate) fn blocks(segment: &Segment) -> usize {
    segment.len().div_ceil(1 << BLOCK_BITS)
}

/// The positions of a block's documents.
pub(crate) fn places_of(block: u32, segment: &Segment) -> Range<u32> {
    let end = (block + 1) << BLOCK_BITS;
    block << BLOCK_BITS..end.min(segment.len() as u32)
}

/// The unit of each document, and the group of each unit.
fn units(segment: &Segment) -> (Box<[u32]>, Box<[u64]>) {
    let mut groups: Vec<u64> = Vec::new();
    let mut unit_of_group: FxHashMap<u64, u32> = FxHashMap::default();
    let mut latest: Option<(u64, u32)> = None;
    let mut ungrouped = (0, UNGROUPED_UNIT);
    let unit_of = (0..segment.len() as u32).map(|place| {
        let group = segment.group(place);
        let next = groups.len() as u32;
        if group == 0 {
            if ungrouped.1 == UNGROUPED_UNIT {
                ungrouped = (next, 0);
                groups.push(0);
            }
            ungrouped.1 += 1;
            return ungrouped.0;
        }
        if let Some((_, unit)) = latest.filter(|(same, _)| *same == group) {
            return unit;
        }
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
    let mut members = vec![0_u32; unit_of.len()];
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
