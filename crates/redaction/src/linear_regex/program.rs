//! An expression as states, each with what may come next, the preferred first.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::{assertions, epsilon_closure::EpsilonClosure};

/// Places at which an expression takes a character. At worst, time is in proportion to them.
pub(super) const MAX_POSITIONS: usize = 512;
/// States and the transitions that lead from them.
const MAX_SIZE: usize = 8 * MAX_POSITIONS;

/// A state's place among the states.
pub(super) type StateId = usize;

/// A state.
#[derive(Debug)]
pub(super) enum State {
    /// Takes a character: which of the positions.
    Position(usize),
    /// The first of these that leads to a match.
    Branch(Vec<StateId>),
    /// What must be true of the place.
    Assertion {
        /// One of the [`assertions`].
        assertion: u8,
        /// What comes then.
        next: StateId,
    },
    /// The beginning of a secret.
    SecretStart(StateId),
    /// The end of a secret.
    SecretEnd(StateId),
    /// The end.
    Match,
}

/// An expression is larger than what can be searched for in bounded time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// A compiled expression.
#[derive(Debug, Default)]
pub(super) struct Program {
    states: Vec<State>,
    /// The first state.
    pub start: StateId,
    /// For each position, which of the classes it takes, and the state after it.
    pub positions: Vec<(usize, StateId)>,
    /// Ranges of characters, ascending; no class twice.
    pub classes: Vec<Vec<(char, char)>>,
    /// All assertions that it makes.
    pub asserted: u8,
    size: usize,
}

impl Program {
    pub fn new(expression: &Hir) -> Result<Self, TooLarge> {
        let mut program = Self::default();
        let end = program.push(State::Match)?;
        program.start = program.compile(expression, end)?;
        Ok(program)
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// A state.
    pub fn state(&self, id: StateId) -> &State {
        self.states.get(id).unwrap_or(&State::Match)
    }

    /// Whether it can match without taking a character.
    pub fn matches_empty_text(&self) -> bool {
        let mut is_found = false;
        EpsilonClosure::new(self, u8::MAX).visit(self.start, |goal, _| is_found |= goal.is_none());
        is_found
    }

    fn push(&mut self, state: State) -> Result<StateId, TooLarge> {
        self.size += if let State::Branch(transitions) = &state { transitions.len() } else { 1 };
        if self.size > MAX_SIZE {
            return Err(TooLarge);
        }
        self.states.push(state);
        Ok(self.states.len() - 1)
    }

    /// Adds what matches the expression and then goes on at `next`; its first state.
    fn compile(&mut self, expression: &Hir, next: StateId) -> Result<StateId, TooLarge> {
        match expression.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Literal(literal) => {
                let text = String::from_utf8_lossy(&literal.0);
                text.chars().rev().try_fold(next, |next, character| {
                    self.position(vec![(character, character)], next)
                })
            }
            HirKind::Class(class) => self.position(ranges(class), next),
            HirKind::Look(look) => {
                let assertion = assertion(*look);
                self.asserted |= assertion;
                self.push(State::Assertion { assertion, next })
            }
            HirKind::Repetition(repetition) => self.repetition(repetition, next),
            HirKind::Capture(capture) if capture.name.is_some() => {
                let end = self.push(State::SecretEnd(next))?;
                let inside = self.compile(&capture.sub, end)?;
                self.push(State::SecretStart(inside))
            }
            HirKind::Capture(capture) => self.compile(&capture.sub, next),
            HirKind::Concat(parts) => {
                parts.iter().rev().try_fold(next, |next, part| self.compile(part, next))
            }
            HirKind::Alternation(parts) => {
                let transitions = parts.iter().map(|part| self.compile(part, next));
                let transitions = transitions.collect::<Result<_, _>>()?;
                self.push(State::Branch(transitions))
            }
        }
    }

    fn repetition(&mut self, repetition: &Repetition, next: StateId) -> Result<StateId, TooLarge> {
        let Repetition { min, max, greedy, sub } = repetition;
        let transitions =
            |inside, next| if *greedy { vec![inside, next] } else { vec![next, inside] };
        let (mut first, copies) = match max {
            None => {
                let again = self.push(State::Branch(Vec::new()))?;
                let inside = self.compile(sub, again)?;
                self.size += 2;
                if let Some(state) = self.states.get_mut(again) {
                    *state = State::Branch(transitions(inside, next));
                }
                (if *min == 0 { again } else { inside }, min.saturating_sub(1))
            }
            Some(max) => {
                let mut first = next;
                for _ in *min..*max {
                    let inside = self.compile(sub, first)?;
                    first = self.push(State::Branch(transitions(inside, next)))?;
                }
                (first, *min)
            }
        };
        for _ in 0..copies {
            first = self.compile(sub, first)?;
        }
        Ok(first)
    }

    fn position(&mut self, class: Vec<(char, char)>, next: StateId) -> Result<StateId, TooLarge> {
        let position = self.positions.len();
        if position == MAX_POSITIONS {
            return Err(TooLarge);
        }
        let known = self.classes.iter().position(|known| *known == class);
        let class = known.unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        });
        self.positions.push((class, next));
        self.push(State::Position(position))
    }
}

fn ranges(class: &Class) -> Vec<(char, char)> {
    match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
    }
}

/// The translation makes no others than these.
fn assertion(look: Look) -> u8 {
    match look {
        Look::Start => assertions::TEXT_START,
        Look::End => assertions::TEXT_END,
        Look::StartLF | Look::StartCRLF => assertions::LINE_START,
        Look::EndLF | Look::EndCRLF => assertions::LINE_END,
        Look::WordAsciiNegate | Look::WordUnicodeNegate => assertions::NO_BOUNDARY,
        _ => assertions::BOUNDARY,
    }
}
