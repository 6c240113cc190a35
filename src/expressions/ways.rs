//! The way on: what may come next, the preferred first.

use super::{
    closure::{Closure, Mark},
    program::{Program, StateId},
    set::Set,
};

/// Fewer positions in a row are looked at one by one.
const MIN_RUN: usize = 4;

/// What looking at one of the ways counts.
const STEPS: u64 = 4;

/// What may come next after a state, at places of which the same is true.
#[derive(Debug)]
pub(super) struct Ways<const WORDS: usize>(Vec<Way<WORDS>>);

#[derive(Debug)]
struct Way<const WORDS: usize> {
    goal: Goal<WORDS>,
    /// The borders of groups on the way there.
    marks: Box<[Mark]>,
}

#[derive(Debug)]
enum Goal<const WORDS: usize> {
    /// The end of a match.
    End,
    Position(usize),
    /// Positions of which the lowest number is preferred.
    Ascending(Box<Set<WORDS>>),
    /// Positions of which the highest number is preferred.
    Descending(Box<Set<WORDS>>),
}

impl<const WORDS: usize> Ways<WORDS> {
    /// `asserted` is what is true of the places.
    pub fn new(program: &Program, from: StateId, asserted: u8) -> Self {
        let mut goals = Vec::new();
        Closure::new(program, asserted).walk(from, |goal, marks| goals.push((goal, marks.into())));
        let (mut ways, mut rest) = (Vec::new(), goals.as_slice());
        while let Some((first, marks)) = rest.first() {
            let ascending = run(rest, |before, after| before < after);
            let descending = run(rest, |before, after| before > after);
            let mut length = ascending.max(descending);
            let goal = match first {
                None => Goal::End,
                Some(position) if length < MIN_RUN => {
                    length = 1;
                    Goal::Position(*position)
                }
                Some(_) => {
                    let positions = rest.iter().take(length).filter_map(|(goal, _)| *goal);
                    let set = Box::new(Set::from_iter(positions));
                    if ascending > descending {
                        Goal::Ascending(set)
                    } else {
                        Goal::Descending(set)
                    }
                }
            };
            ways.push(Way { goal, marks: Clone::clone(marks) });
            rest = rest.get(length..).unwrap_or_default();
        }
        Self(ways)
    }

    /// The preferred of the positions in `live`, or `None` when a match ends here; and the borders
    /// on the way there. Work is added to `spent`.
    pub fn choose(&self, live: &Set<WORDS>, spent: &mut u64) -> Option<(Option<usize>, &[Mark])> {
        self.0.iter().find_map(|Way { goal, marks }| {
            *spent += STEPS;
            let chosen = match goal {
                Goal::End => None,
                Goal::Position(position) => Some(live.contains(*position).then_some(*position)?),
                Goal::Ascending(set) => Some(live.intersection(set).first()?),
                Goal::Descending(set) => Some(live.intersection(set).last()?),
            };
            Some((chosen, &**marks))
        })
    }
}

/// How many goals in a row are positions in this order with the same borders on the way; at least
/// the first.
fn run(goals: &[(Option<usize>, Box<[Mark]>)], is_next: impl Fn(usize, usize) -> bool) -> usize {
    let pairs = goals.iter().zip(goals.iter().skip(1));
    let others = pairs.take_while(|((before, marks), (after, next_marks))| {
        before.zip(*after).is_some_and(|(before, after)| is_next(before, after))
            && marks == next_marks
    });
    1 + others.count()
}
