//! How much work a text may take: in proportion to its length, whatever it says.

use std::ops::Range;

/// Steps for each byte of a text. A step takes about a nanosecond; ordinary texts take two or three for
/// each byte.
const STEPS_PER_BYTE: usize = 24;
/// Bytes added to the length of each text: short texts full of secrets take more steps for each byte.
const ADDED: usize = 64 << 10;

/// The steps that redacting a text has taken, in all of its strings and passes.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Work {
    steps: usize,
    /// Bytes of the parts that were scanned before the current one.
    scanned: usize,
}

impl Work {
    /// Counts what was done.
    pub const fn add(&mut self, steps: usize) {
        self.steps = self.steps.saturating_add(steps);
    }

    /// Counts a part of a text that was scanned.
    pub const fn finish(&mut self, part: &Range<usize>) {
        self.scanned = self.scanned.saturating_add(part.end.saturating_sub(part.start));
    }

    /// The bytes that have to be replaced without a look at them, so that no more was done than the
    /// text up to their end allows. `of_part` bytes of the current part come before them.
    pub const fn excess(&self, of_part: usize) -> usize {
        let bytes = self.scanned.saturating_add(of_part).saturating_add(ADDED);
        self.steps.div_ceil(STEPS_PER_BYTE).saturating_sub(bytes)
    }

    /// The most steps that a text of so many bytes takes, but for those of its last look.
    #[cfg(test)]
    pub const fn most(bytes: usize) -> usize {
        (bytes + ADDED) * STEPS_PER_BYTE
    }

    /// The steps so far.
    #[cfg(test)]
    pub const fn steps(&self) -> usize {
        self.steps
    }
}
