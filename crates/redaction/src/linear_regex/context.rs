//! Caches the transitions of an expression, forward and reverse, for one set of assertions (`^`, `\b`) that hold at a
//! place of the text.

use std::sync::OnceLock;

use super::{program::Program, reverse_scan::Predecessors, transitions::Transitions};

/// The transitions for one set of assertions.
#[derive(Debug)]
pub(super) struct Context<const WORDS: usize> {
    asserted: u8,
    /// The backward transitions.
    pub predecessors: Predecessors<WORDS>,
    /// The forward transitions from the start and from each position, computed on first use.
    transitions: Vec<OnceLock<Transitions<WORDS>>>,
}

impl<const WORDS: usize> Context<WORDS> {
    /// `asserted` is the set of assertions that hold.
    pub fn new(program: &Program, asserted: u8) -> Self {
        let transitions = program.positions.len() + 1;
        Self {
            asserted,
            predecessors: Predecessors::new(program, asserted),
            transitions: std::iter::repeat_with(OnceLock::new).take(transitions).collect(),
        }
    }

    /// The forward transitions from a position, or from the start.
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
