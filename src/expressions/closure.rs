//! What an expression can come to without taking a character.

use super::program::{Program, State, StateId};

/// A border of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    SecretStart,
    SecretEnd,
}

/// Looks for positions and for the end of a match from states on, at places of which the same is
/// true.
pub(super) struct Closure<'p> {
    program: &'p Program,
    asserted: u8,
    /// The turn in which a state was last seen.
    seen: Vec<usize>,
    turn: usize,
    /// States to look at, the next at the end, each with how many marks there are on the way there.
    stack: Vec<(StateId, usize)>,
    /// The borders of groups on the way.
    marks: Vec<Mark>,
}

impl<'p> Closure<'p> {
    /// `asserted` is what is true of the places.
    pub fn new(program: &'p Program, asserted: u8) -> Self {
        let seen = vec![0; program.states()];
        Self { program, asserted, seen, turn: 0, stack: Vec::new(), marks: Vec::new() }
    }

    /// Visits positions, and for the end `None`, the preferred first, with the borders on the way.
    pub fn walk(&mut self, from: StateId, mut visit: impl FnMut(Option<usize>, &[Mark])) {
        self.turn += 1;
        self.stack.push((from, 0));
        while let Some((id, marks)) = self.stack.pop() {
            self.marks.truncate(marks);
            match self.seen.get_mut(id) {
                Some(turn) if *turn != self.turn => *turn = self.turn,
                _ => continue,
            }
            match self.program.state(id) {
                State::Match => visit(None, &self.marks),
                State::Position(position) => visit(Some(*position), &self.marks),
                State::Branch(ways) => {
                    self.stack.extend(ways.iter().rev().map(|way| (*way, marks)));
                }
                State::Assertion { assertion, next } => {
                    if self.asserted & assertion != 0 {
                        self.stack.push((*next, marks));
                    }
                }
                State::SecretStart(next) => {
                    self.marks.push(Mark::SecretStart);
                    self.stack.push((*next, marks + 1));
                }
                State::SecretEnd(next) => {
                    self.marks.push(Mark::SecretEnd);
                    self.stack.push((*next, marks + 1));
                }
            }
        }
    }
}
