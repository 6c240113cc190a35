//! How much work a text may take: in proportion to its length, whatever it says.

use std::ops::Range;

/// Steps for each byte of a text. A step takes about a nanosecond; ordinary texts take two or three for
/// each byte.
const STEPS_PER_BYTE: usize = 96;
/// Bytes that a text has more, so to speak: short texts full of secrets take more for each byte.
const ADDED: usize = 64 << 10;

/// The steps that redacting a text has taken, in all of its strings and passes.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Work {
    steps: usize,
    /// Bytes that were scanned before the part at hand.
    scanned: usize,
}

impl Work {
    /// Counts what was done.
    pub const fn add(&mut self, steps: usize) {
        self.steps = self.steps.saturating_add(steps);
    }

    /// Counts a part of a text that was scanned, but for the bytes that were not looked at.
    pub const fn finish(&mut self, part: &Range<usize>, skipped: usize) {
        let length = part.end.saturating_sub(part.start);
        self.scanned = self.scanned.saturating_add(length.saturating_sub(skipped));
    }

    /// Whether more was done than the text so far allows, with so many bytes of the part at hand.
    pub const fn is_exceeded(&self, of_part: usize) -> bool {
        let bytes = self.scanned.saturating_add(of_part).saturating_add(ADDED);
        self.steps > bytes.saturating_mul(STEPS_PER_BYTE)
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
