//! One step of the reverse scan: from the live positions at a place to those before it.

use super::{epsilon_closure::EpsilonClosure, program::Program, set::Set};

/// The predecessors of all positions, at places with the same assertions.
#[derive(Debug)]
pub(super) struct Predecessors<const WORDS: usize> {
    /// Positions that a match may begin with.
    pub first: Set<WORDS>,
    /// Positions that a match may end with.
    last: Set<WORDS>,
    /// Positions that may follow themselves.
    looping: Set<WORDS>,
    /// Positions that may follow the one numbered after them. Numbers descend along an expression,
    /// and so this is what most do.
    chained: Set<WORDS>,
    /// Positions that may follow yet others.
    branching: Set<WORDS>,
    /// What these may follow, for each 64 of them.
    others: Vec<Others<WORDS>>,
}

/// What 64 positions may follow: for each four in a row, by which of the four are there.
type Others<const WORDS: usize> = [[Set<WORDS>; 16]; 16];

/// More positions than this of 64 are looked up without asking which fours are empty.
const MANY: u32 = 6;

impl<const WORDS: usize> Predecessors<WORDS> {
    /// `asserted` is what is true of the places.
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

    /// The positions after which `live` or a match may come. Work is added to `spent`.
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

/// What these positions may follow, by which of them are there.
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
