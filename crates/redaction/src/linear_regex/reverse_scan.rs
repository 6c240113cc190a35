//! One step of the reverse scan: computes the live positions before a character from those after it.

use super::{epsilon_closure::EpsilonClosure, program::Program, set::Set};

/// The predecessors of all positions, at places with the same assertions.
#[derive(Debug)]
pub(super) struct Predecessors<const WORDS: usize> {
    /// Positions with which a match may begin.
    pub first: Set<WORDS>,
    /// Positions with which a match may end.
    last: Set<WORDS>,
    /// Positions that may follow themselves.
    looping: Set<WORDS>,
    /// Positions that may follow the position with the next higher index. Indices descend along an expression, so this
    /// covers most transitions.
    chained: Set<WORDS>,
    /// Positions that may follow further positions.
    branching: Set<WORDS>,
    /// The predecessors of the positions in `branching`, for each 64 of them.
    others: Vec<Others<WORDS>>,
}

/// The predecessors of 64 positions: for each group of four, by which of the four are in the set.
type Others<const WORDS: usize> = [[Set<WORDS>; 16]; 16];

/// If more of 64 positions than this are set, all groups are looked up without testing for empty ones.
const MANY: u32 = 6;

impl<const WORDS: usize> Predecessors<WORDS> {
    /// `asserted` is the set of assertions that hold.
    pub fn new(program: &Program, asserted: u8) -> Self {
        let mut closure = EpsilonClosure::new(program, asserted);
        let mut predecessors = Self {
            first: Set::EMPTY,
            last: Set::EMPTY,
            looping: Set::EMPTY,
            chained: Set::EMPTY,
            branching: Set::EMPTY,
            others: Vec::new(),
        };
        closure.visit(program.start, |first, _| predecessors.first.extend(first));
        let mut others = vec![Set::EMPTY; program.positions.len()];
        for (position, (_, next)) in program.positions.iter().enumerate() {
            closure.visit(*next, |next, _| match next {
                None => predecessors.last.insert(position),
                Some(next) if next == position => predecessors.looping.insert(next),
                Some(next) if next + 1 == position => predecessors.chained.insert(next),
                Some(next) => {
                    predecessors.branching.insert(next);
                    others.get_mut(next).into_iter().for_each(|set| set.insert(position));
                }
            });
        }
        predecessors.others = others.chunks(64).map(unions).collect();
        predecessors
    }

    /// The positions after which a position in `live` or the end of a match may follow. Adds the work to `spent`.
    #[inline]
    pub fn before(&self, live: &Set<WORDS>, spent: &mut u64) -> Set<WORDS> {
        let mut before = live.stepped(&self.looping, &self.chained, &self.last);
        *spent += WORDS as u64;
        for ((mut word, branching), others) in
            live.words().zip(self.branching.words()).zip(&self.others)
        {
            word &= branching;
            if word == 0 {
                continue;
            }
            if word.count_ones() > MANY {
                for others in others {
                    others.get(word as usize & 15).into_iter().for_each(|set| before.add(set));
                    word >>= 4;
                }
                *spent += 16 * WORDS as u64;
                continue;
            }
            while word != 0 {
                let four = word.trailing_zeros() / 4;
                let others = others.get(four as usize);
                let others =
                    others.and_then(|four_sets| four_sets.get((word >> (4 * four)) as usize & 15));
                others.into_iter().for_each(|set| before.add(set));
                word &= !(15 << (4 * four));
                *spent += 2 * WORDS as u64;
            }
        }
        before
    }
}

/// The unions of these sets, by which of the sets are included.
fn unions<const WORDS: usize>(sets: &[Set<WORDS>]) -> Others<WORDS> {
    let mut others = [[Set::EMPTY; 16]; 16];
    for (sets, unions) in sets.chunks(4).zip(&mut others) {
        for (those, union) in unions.iter_mut().enumerate() {
            for (number, set) in sets.iter().enumerate() {
                if those >> number & 1 == 1 {
                    union.add(set);
                }
            }
        }
    }
    others
}
