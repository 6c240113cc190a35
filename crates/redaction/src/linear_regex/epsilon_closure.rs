//! The states that are reachable without taking a character.

use super::program::{Program, State, StateId};

/// The start or the end of a group named `secret`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaptureEdge {
    SecretStart,
    SecretEnd,
}

/// Looks for positions and for the end of a match from states on, at places of which the same is
/// true.
pub(super) struct EpsilonClosure<'p> {
    program: &'p Program,
    asserted: u8,
    /// The number of the visit in which a state was last seen.
    seen: Vec<usize>,
    /// Visits so far.
    visits: usize,
    /// States to look at, the next at the end, each with the number of edges on its path.
    stack: Vec<(StateId, usize)>,
    /// The starts and ends of groups on the current path.
    edges: Vec<CaptureEdge>,
}

impl<'p> EpsilonClosure<'p> {
    /// `asserted` is what is true of the places.
    pub fn new(program: &'p Program, asserted: u8) -> Self {
        let seen = vec![0; program.states()];
        Self { program, asserted, seen, visits: 0, stack: Vec::new(), edges: Vec::new() }
    }

    /// Visits positions, and for the end `None`, the preferred first, with the edges on the path.
    pub fn visit(&mut self, from: StateId, mut visit: impl FnMut(Option<usize>, &[CaptureEdge])) {
        self.visits += 1;
        self.stack.push((from, 0));
        while let Some((id, edges)) = self.stack.pop() {
            self.edges.truncate(edges);
            match self.seen.get_mut(id) {
                Some(visit) if *visit != self.visits => *visit = self.visits,
                _ => continue,
            }
            match self.program.state(id) {
                State::Match => visit(None, &self.edges),
                State::Position(position) => visit(Some(*position), &self.edges),
                State::Branch(transitions) => {
                    self.stack.extend(transitions.iter().rev().map(|next| (*next, edges)));
                }
                State::Assertion { assertion, next } => {
                    if self.asserted & assertion != 0 {
                        self.stack.push((*next, edges));
                    }
                }
                State::SecretStart(next) => {
                    self.edges.push(CaptureEdge::SecretStart);
                    self.stack.push((*next, edges + 1));
                }
                State::SecretEnd(next) => {
                    self.edges.push(CaptureEdge::SecretEnd);
                    self.stack.push((*next, edges + 1));
                }
            }
        }
    }
}
