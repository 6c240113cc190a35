//! What may come before and after, at places of which the same is true.

use std::sync::OnceLock;

use super::{program::Program, reverse_scan::Predecessors, transitions::Transitions};

/// What may come before and after.
#[derive(Debug)]
pub(super) struct Context<const WORDS: usize> {
    asserted: u8,
    /// What may come before.
    pub predecessors: Predecessors<WORDS>,
    /// What may come first, and after each of the positions.
    transitions: Vec<OnceLock<Transitions<WORDS>>>,
}

impl<const WORDS: usize> Context<WORDS> {
    /// `asserted` is what is true of the places.
    pub fn new(program: &Program, asserted: u8) -> Self {
        let transitions = program.positions.len() + 1;
        Self {
            asserted,
            predecessors: Predecessors::new(program, asserted),
            transitions: std::iter::repeat_with(OnceLock::new).take(transitions).collect(),
        }
    }

    /// What may come after a position, or first.
    pub fn transitions(
        &self,
        program: &Program,
        after: Option<usize>,
    ) -> Option<&Transitions<WORDS>> {
        let transitions = self.transitions.get(after.map_or(0, |position| position + 1))?;
        let from = match after {
            None => program.start,
            Some(position) => program.positions.get(position)?.1,
        };
        Some(transitions.get_or_init(|| Transitions::new(program, from, self.asserted)))
    }
}
