//! Computes the epsilon closure of a state: the positions that are reachable without taking a character.

use super::program::{Program, State, StateId};

/// The start or the end of a group named `secret`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaptureEdge {
    SecretStart,
    SecretEnd,
}

/// Follows the states from a start state to positions and to the end of a match, between characters where the given
/// assertions hold.
pub(super) struct EpsilonClosure<'p> {
    program: &'p Program,
    asserted: u8,
    /// For each state, the number of the last visit that reached it.
    seen: Vec<usize>,
    /// Number of visits so far.
    visits: usize,
    /// States to examine, the next one last, each with the number of capture edges on its path.
    stack: Vec<(StateId, usize)>,
    /// Starts and ends of groups on the current path.
    edges: Vec<CaptureEdge>,
}

impl<'p> EpsilonClosure<'p> {
    /// `asserted` is the set of assertions that hold.
    pub fn new(program: &'p Program, asserted: u8) -> Self {
        let seen = vec![0; program.states()];
        Self { program, asserted, seen, visits: 0, stack: Vec::new(), edges: Vec::new() }
    }

    /// Visits the reachable positions, and `None` for the end of a match, in order of preference, with the capture
    /// edges on the path.
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
