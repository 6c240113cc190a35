//! Units in the order of their bounds, as far as they are needed.

use std::ops::Range;

/// Units scored between two looks at whether more are needed.
const BATCH: usize = 24;

/// The share of the highest bound at which the first look ends, and that below which everything is looked at.
const FIRST_CUT: f32 = 0.8;
const LAST_CUT: f32 = 0.1;

/// Sums of rounded numbers may exceed the sum of their bounds by this factor.
pub(crate) const ROUNDING: f32 = 1.0001;

/// A unit or a block by the number of its segment and its own.
pub(crate) type Unit = (u32, u32);

/// Ranges of bounds, the highest first: so few units are looked at until a threshold is known that sorting all
/// is not worth it.
pub(crate) struct Cuts {
    most: f32,
    end: f32,
}

impl Cuts {
    /// `most` is the highest bound.
    pub(crate) fn new(most: f32) -> Self {
        Self { most, end: f32::INFINITY }
    }

    /// The next range; `None` when what is left is below `least`.
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

/// Units with upper bounds, the highest of which are taken first.
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

    /// To be called before units are taken.
    pub(crate) fn sort(&mut self) {
        self.units.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
    }

    /// Takes some of those with the highest bounds; `None` when all others are below `least`.
    pub(crate) fn next(&mut self, least: f32) -> Option<Vec<Unit>> {
        let rest = self.units.len().saturating_sub(BATCH);
        let units = self.units.drain(rest..).filter(|(bound, _)| bound * ROUNDING >= least);
        let units: Vec<Unit> = units.map(|(_, unit)| unit).collect();
        (!units.is_empty()).then_some(units)
    }
}
