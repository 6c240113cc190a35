//! A queue of units or blocks (see [`crate::index::bounds`]), ordered by the upper bounds of their scores. It returns
//! the highest first, until all others are below a threshold.

use std::ops::Range;

/// Number of units that are scored between two checks whether more are needed.
const BATCH: usize = 24;

/// Shares of the highest bound: the end of the first range, and the bound below which all units form one range.
const FIRST_CUT: f32 = 0.8;
const LAST_CUT: f32 = 0.1;

/// Factor by which a sum of rounded numbers may exceed the sum of their bounds.
pub(crate) const ROUNDING: f32 = 1.0001;

/// A unit or a block: the number of its segment, and its number there.
pub(crate) type Unit = (u32, u32);

/// Ranges of bounds, the highest first. Few units are examined until a threshold is known, so that most units need not be
/// sorted.
pub(crate) struct Cuts {
    most: f32,
    end: f32,
}

impl Cuts {
    /// `most` is the highest bound.
    pub(crate) fn new(most: f32) -> Self {
        Self { most, end: f32::INFINITY }
    }

    /// The next range; `None` if all remaining bounds are below `least`.
    pub(crate) fn next(&mut self, least: f32) -> Option<Range<f32>> {
        if self.most <= 0.0 || self.end <= least.max(f32::MIN_POSITIVE) {
            return None;
        }
        let start = if self.end == f32::INFINITY {
            least.max(FIRST_CUT * self.most)
        } else if least > 0.0 {
            least
        } else if self.end > LAST_CUT * self.most {
            self.end / 2.0
        } else {
            f32::MIN_POSITIVE
        };
        let cut = start..self.end;
        self.end = start;
        Some(cut)
    }
}

/// Units with upper bounds; the highest are taken first.
#[derive(Default)]
pub(crate) struct Waiting {
    units: Vec<(f32, Unit)>,
}

impl Waiting {
    /// Adds a unit if its bound is in the range.
    #[inline]
    pub(crate) fn push(&mut self, bound: f32, unit: Unit, cut: &Range<f32>) {
        if cut.contains(&(bound * ROUNDING)) {
            self.units.push((bound, unit));
        }
    }

    /// Sorts the units; to be called before [`Self::next`].
    pub(crate) fn sort(&mut self) {
        self.units.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
    }

    /// Takes some units with the highest bounds; `None` if all others are below `least`.
    pub(crate) fn next(&mut self, least: f32) -> Option<Vec<Unit>> {
        let rest = self.units.len().saturating_sub(BATCH);
        let units = self.units.drain(rest..).filter(|(bound, _)| bound * ROUNDING >= least);
        let units: Vec<Unit> = units.map(|(_, unit)| unit).collect();
        (!units.is_empty()).then_some(units)
    }
}
