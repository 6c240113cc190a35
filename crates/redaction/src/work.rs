//! How much work redaction may do: steps in proportion to a text's length, whatever the text is.

use std::{cell::Cell, ops::Range};

/// Steps for each byte of a text. A step takes about a nanosecond; ordinary texts take two or three for
/// each byte.
const STEPS_PER_BYTE: usize = 15;
/// Bytes added to the length of each text: short texts full of secrets take more steps for each byte.
const ADDED: usize = 1536;
/// A look may take the steps of so many bytes that come later in its text: those of a long line with cookies.
const AHEAD: usize = 32 << 10;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts steps of the text that this thread redacts. Functions that look at values are far from those that
/// know the text, so that the steps are counted beside them.
pub(super) fn add(steps: usize) {
    STEPS.set(STEPS.get().wrapping_add(steps));
}

/// The work that was done for a part of a text, and its bytes that were scanned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    steps: usize,
    scanned: usize,
}

/// The work at some time.
#[derive(Debug)]
pub(super) struct Moment {
    steps: usize,
    scanned: usize,
    length: usize,
}

/// The work of redacting a text, in all of its strings, views and passes.
#[derive(Debug)]
pub(super) struct Work {
    /// The thread's steps before this text.
    before: usize,
    /// The bytes of the text, and of the JSON in its strings.
    length: usize,
    /// Bytes of the parts that were scanned before the current one.
    scanned: usize,
}

impl Work {
    /// Begins the work on a text of so many bytes.
    pub fn of(length: usize) -> Self {
        Self { before: STEPS.get(), length, scanned: 0 }
    }

    /// Allows steps for JSON in a string of the text, which is scanned as well.
    pub const fn allow(&mut self, bytes: usize) {
        self.length = self.length.saturating_add(bytes);
    }

    /// Counts a part of a text that was scanned.
    pub const fn finish(&mut self, part: &Range<usize>) {
        self.scanned = self.scanned.saturating_add(part.end.saturating_sub(part.start));
    }

    /// The bytes that have to be replaced without a look at them, so that no more was done than the
    /// text up to their end allows. `of_part` bytes of the current part come before them. A text that
    /// is scanned several times has the steps for one time.
    pub fn excess(&self, of_part: usize) -> usize {
        let bytes = self.scanned.saturating_add(of_part).saturating_add(AHEAD).min(self.length);
        self.steps().div_ceil(STEPS_PER_BYTE).saturating_sub(bytes.saturating_add(ADDED))
    }

    pub fn now(&self) -> Moment {
        Moment { steps: self.steps(), scanned: self.scanned, length: self.length }
    }

    /// What was done since then; `None` where more was allowed in between.
    pub fn since(&self, then: &Moment) -> Option<Cost> {
        let Moment { steps, scanned, length } = then;
        (*length == self.length)
            .then(|| Cost { steps: self.steps() - steps, scanned: self.scanned - scanned })
    }

    /// Counts work as if it were done again, for a text in which nothing was found. `false` where it has to be done: the
    /// bound might be reached in the middle of it.
    pub fn repeat(&mut self, cost: Cost) -> bool {
        let bytes = self.scanned.saturating_add(AHEAD).min(self.length);
        let steps = self.steps().saturating_add(cost.steps);
        let fits = steps.div_ceil(STEPS_PER_BYTE) <= bytes.saturating_add(ADDED);
        if fits {
            add(cost.steps);
            self.scanned = self.scanned.saturating_add(cost.scanned);
        }
        fits
    }

    /// The steps so far.
    pub fn steps(&self) -> usize {
        STEPS.get().wrapping_sub(self.before)
    }

    /// The most steps that a text of so many bytes takes, but for those of its last look.
    #[cfg(test)]
    pub const fn most(length: usize) -> usize {
        (length + ADDED) * STEPS_PER_BYTE
    }
}
