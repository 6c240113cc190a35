//! The way back: from the positions that lead to a match to those before them.

use super::{
    program::{Program, State, StateId},
    set::Set,
};

/// What leads where, at places of which the same is true.
#[derive(Debug)]
pub(super) struct Steps<const WORDS: usize> {
    /// Positions that a match may begin with.
    pub first: Set<WORDS>,
    /// Positions that a match may end with.
    last: Set<WORDS>,
    /// Positions that may follow themselves.
    looping: Set<WORDS>,
    /// Positions that may follow the one numbered after them. Numbers descend along an expression,
    /// and so this is what most do.
    chained: Set<WORDS>,
    /// Whatever else there is to follow.
    others: Vec<Others<WORDS>>,
}

/// What eight positions in a row may follow.
#[derive(Debug)]
struct Others<const WORDS: usize> {
    /// The first of the positions by eight.
    octet: usize,
    /// By which of the eight are there.
    before: Vec<Set<WORDS>>,
}

impl<const WORDS: usize> Steps<WORDS> {
    /// `asserted` is what is true of the places.
    pub fn new(program: &Program, asserted: u8) -> Self {
        let mut closure = Closure { program, asserted, seen: vec![0; program.states()], turn: 0 };
        let mut steps = Self {
            first: Set::EMPTY,
            last: Set::EMPTY,
            looping: Set::EMPTY,
            chained: Set::EMPTY,
            others: Vec::new(),
        };
        closure.walk(program.start, |position| {
            if let Some(position) = position {
                steps.first.insert(position);
            }
        });
        let mut before = vec![Set::EMPTY; program.positions.len()];
        for (position, (_, next)) in program.positions.iter().enumerate() {
            closure.walk(*next, |next| match next {
                None => steps.last.insert(position),
                Some(next) if next == position => steps.looping.insert(next),
                Some(next) if next + 1 == position => steps.chained.insert(next),
                Some(next) => {
                    if let Some(set) = before.get_mut(next) {
                        set.insert(position);
                    }
                }
            });
        }
        for (octet, before) in before.chunks(8).enumerate() {
            if before.iter().all(|set| *set == Set::EMPTY) {
                continue;
            }
            let mut unions = vec![Set::EMPTY];
            for set in before {
                for known in 0..unions.len() {
                    unions.extend(unions.get(known).map(|known| known.union(set)));
                }
            }
            steps.others.push(Others { octet, before: unions });
        }
        steps
    }

    /// The positions after which `live` or a match may come. Work is added to `spent`.
    #[inline]
    pub fn before(&self, live: &Set<WORDS>, spent: &mut u64) -> Set<WORDS> {
        let mut before = self
            .last
            .union(&live.intersection(&self.looping))
            .union(&live.intersection(&self.chained).shifted());
        *spent += WORDS as u64;
        for others in &self.others {
            let octet = live.octet(others.octet);
            if octet != 0 {
                if let Some(set) = others.before.get(usize::from(octet)) {
                    before = before.union(set);
                }
                *spent += WORDS as u64;
            }
        }
        before
    }
}

/// What can be reached from a state without taking a character.
struct Closure<'p> {
    program: &'p Program,
    asserted: u8,
    /// The turn in which a state was last seen.
    seen: Vec<usize>,
    turn: usize,
}

impl Closure<'_> {
    /// Visits positions, and for a match `None`.
    fn walk(&mut self, from: StateId, mut visit: impl FnMut(Option<usize>)) {
        self.turn += 1;
        let mut stack = vec![from];
        while let Some(id) = stack.pop() {
            match self.seen.get_mut(id) {
                Some(turn) if *turn != self.turn => *turn = self.turn,
                _ => continue,
            }
            match self.program.state(id) {
                State::Position { position, .. } => visit(Some(*position)),
                State::Match => visit(None),
                State::Branch(ways) => stack.extend(ways),
                State::Assertion { assertion, next } => {
                    if self.asserted & assertion != 0 {
                        stack.push(*next);
                    }
                }
                State::SecretStart(next) | State::SecretEnd(next) => stack.push(*next),
            }
        }
    }
}
