//! How much work a file may be.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::aside::Cancelled;

/// tree-sitter asks about every hundredth step whether to go on. Of 20 000 files of all languages none needed more
/// than one question for 25 bytes, and 41 more.
const BYTES_A_QUESTION: usize = 25;
const MORE_QUESTIONS: usize = 64;

/// Steps are not all alike: in broken text each may cost as much as all before it. So there is a limit of time, too,
/// which is ten times and more what a file of this size needs.
const TIME: Duration = Duration::from_secs(1);
const TIME_A_BYTE: Duration = Duration::from_micros(10);

/// What is left to spend on a file.
pub struct Bounds<'a> {
    cancelled: &'a Cancelled,
    until: Instant,
    questions: usize,
}

impl<'a> Bounds<'a> {
    /// For a file of this many bytes.
    pub fn new(bytes: usize, cancelled: &'a Cancelled) -> Self {
        let time = TIME_A_BYTE.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
        Self { cancelled, until: Instant::now() + TIME + time, questions: 0 }
    }

    /// A next stage of the work begins.
    pub fn next_stage(&mut self) {
        self.questions = 0;
    }

    /// Whether to go on; what is done may need as much work as this many bytes.
    pub fn ask(&mut self, bytes: usize) -> ControlFlow<()> {
        self.questions = self.questions.saturating_add(1);
        let allowed = MORE_QUESTIONS.saturating_add(bytes / BYTES_A_QUESTION);
        if self.questions > allowed || self.cancelled.is_set() || Instant::now() > self.until {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
