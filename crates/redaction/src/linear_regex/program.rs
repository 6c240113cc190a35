//! Compiles an expression to states and transitions (a Thompson automaton) with preferred transitions first.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::{assertions, epsilon_closure::EpsilonClosure};

/// Maximum number of positions. In the worst case, time is in proportion to it.
pub(super) const MAX_POSITIONS: usize = 512;
/// Maximum number of states and transitions.
const MAX_SIZE: usize = 8 * MAX_POSITIONS;

/// Index of a state.
pub(super) type StateId = usize;

/// A state.
#[derive(Debug)]
pub(super) enum State {
    /// Takes a character at the position with this index.
    Position(usize),
    /// Alternatives in order of preference.
    Branch(Vec<StateId>),
    /// Continues only where the assertion holds.
    Assertion {
        /// One of the [`assertions`].
        assertion: u8,
        /// The following state.
        next: StateId,
    },
    /// The start of a group named `secret`.
    SecretStart(StateId),
    /// The end of a group named `secret`.
    SecretEnd(StateId),
    /// The end of a match.
    Match,
}

/// The expression is too large to be searched for in bounded time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// A compiled expression.
#[derive(Debug, Default)]
pub(super) struct Program {
    states: Vec<State>,
    /// The first state.
    pub start: StateId,
    /// For each position, the index of its character class and the following state.
    pub positions: Vec<(usize, StateId)>,
    /// Character classes as ascending ranges, without duplicates.
    pub classes: Vec<Vec<(char, char)>>,
    /// All assertions of the expression.
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

    /// Number of states.
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// A state.
    pub fn state(&self, id: StateId) -> &State {
        self.states.get(id).unwrap_or(&State::Match)
    }

    /// Whether the expression matches the empty text.
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

    /// Adds the states that match the expression and continue with `next`. Returns the first of them.
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

/// The bit of an assertion. The translation from JavaScript creates only these kinds.
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
