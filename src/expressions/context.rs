//! What may come before and after, at places of which the same is true.

use std::sync::OnceLock;

use super::{program::Program, steps::Steps, ways::Ways};

/// What may come before and after.
#[derive(Debug)]
pub(super) struct Context<const WORDS: usize> {
    asserted: u8,
    /// What may come before.
    pub steps: Steps<WORDS>,
    /// What may come first, and after each of the positions.
    ways: Vec<OnceLock<Ways<WORDS>>>,
}

impl<const WORDS: usize> Context<WORDS> {
    /// `asserted` is what is true of the places.
    pub fn new(program: &Program, asserted: u8) -> Self {
        let ways = program.positions.len() + 1;
        Self {
            asserted,
            steps: Steps::new(program, asserted),
            ways: std::iter::repeat_with(OnceLock::new).take(ways).collect(),
        }
    }

    /// What may come after a position, or first.
    pub fn ways(&self, program: &Program, after: Option<usize>) -> Option<&Ways<WORDS>> {
        let ways = self.ways.get(after.map_or(0, |position| position + 1))?;
        let from = match after {
            None => program.start,
            Some(position) => program.positions.get(position)?.1,
        };
        Some(ways.get_or_init(|| Ways::new(program, from, self.asserted)))
    }
}
