//! The work budget of redaction: a number of steps in proportion to a text's length, for any text.

use std::{cell::Cell, ops::Range};

/// Work steps per byte of a text. A step takes about a nanosecond; ordinary texts take two or three per byte.
const STEPS_PER_BYTE: usize = 15;
/// Bytes added to the length of each text: short texts full of secrets need more steps per byte.
const ADDED: usize = 1536;
/// Number of bytes later in the text whose steps may be used in advance, such as by a long line with cookies.
const AHEAD: usize = 32 << 10;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts steps for the text that this thread redacts. The counter is thread-local because the functions that examine
/// values have no access to the text's [`Work`].
pub(super) fn add(steps: usize) {
    STEPS.set(STEPS.get().wrapping_add(steps));
}

/// The work for a part of a text: steps, and bytes scanned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    steps: usize,
    scanned: usize,
}

/// The work at a point in time.
#[derive(Debug)]
pub(super) struct Moment {
    steps: usize,
    scanned: usize,
    length: usize,
}

/// The work of redacting one text, in all its strings, views and searches.
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

    /// Adds the steps for JSON within a string of the text, which is scanned as well.
    pub const fn allow(&mut self, bytes: usize) {
        self.length = self.length.saturating_add(bytes);
    }

    /// Records that a part of the text was scanned.
    pub const fn finish(&mut self, part: &Range<usize>) {
        self.scanned = self.scanned.saturating_add(part.end.saturating_sub(part.start));
    }

    /// The number of bytes that have to be replaced without examination, so that the work stays within the limit for
    /// the text up to their end. `of_part` bytes of the current part precede them. Scanning a text several times does
    /// not raise the limit.
    pub fn excess(&self, of_part: usize) -> usize {
        let bytes = self.scanned.saturating_add(of_part).saturating_add(AHEAD).min(self.length);
        self.steps().div_ceil(STEPS_PER_BYTE).saturating_sub(bytes.saturating_add(ADDED))
    }

    pub fn now(&self) -> Moment {
        Moment { steps: self.steps(), scanned: self.scanned, length: self.length }
    }

    /// The work since `then`; `None` if [`Work::allow`] was called in between.
    pub fn since(&self, then: &Moment) -> Option<Cost> {
        let Moment { steps, scanned, length } = then;
        (*length == self.length)
            .then(|| Cost { steps: self.steps() - steps, scanned: self.scanned - scanned })
    }

    /// Counts the work of an examination without findings again, without repeating it. Returns `false` if the examination has to be
    /// repeated, because it might exceed the limit.
    pub fn repeat(&mut self, cost: Cost) -> bool {
        if cost.steps == 0 {
            self.scanned = self.scanned.saturating_add(cost.scanned);
            return true;
        }
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

    /// The maximum number of steps for a text of this length, except for the last examination.
    #[cfg(test)]
    pub const fn most(length: usize) -> usize {
        (length + ADDED) * STEPS_PER_BYTE
    }
}
