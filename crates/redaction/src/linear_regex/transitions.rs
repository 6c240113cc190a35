//! Forward transitions from a state, in order of preference.

use super::{
    epsilon_closure::{CaptureEdge, EpsilonClosure},
    program::{Program, StateId},
    set::Set,
};

/// Shorter runs of positions are stored one by one.
const MIN_RUN: usize = 4;

/// Work steps for examining one transition.
const STEPS: u64 = 4;

/// The forward transitions from a state where the same assertions hold.
#[derive(Debug)]
pub(super) struct Transitions<const WORDS: usize>(Vec<Transition<WORDS>>);

#[derive(Debug)]
struct Transition<const WORDS: usize> {
    goal: Goal<WORDS>,
    /// Starts and ends of groups on the path.
    edges: Box<[CaptureEdge]>,
}

#[derive(Debug)]
enum Goal<const WORDS: usize> {
    /// The end of a match.
    End,
    Position(usize),
    /// A set of positions of which the lowest index is preferred.
    Ascending(Box<Set<WORDS>>),
    /// A set of positions of which the highest index is preferred.
    Descending(Box<Set<WORDS>>),
}

impl<const WORDS: usize> Transitions<WORDS> {
    /// `asserted` is the set of assertions that hold.
    pub fn new(program: &Program, from: StateId, asserted: u8) -> Self {
        let mut goals = Vec::new();
        EpsilonClosure::new(program, asserted)
            .visit(from, |goal, edges| goals.push((goal, edges.into())));
        let (mut transitions, mut rest) = (Vec::new(), goals.as_slice());
        while let Some((first, edges)) = rest.first() {
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
            transitions.push(Transition { goal, edges: Clone::clone(edges) });
            rest = rest.get(length..).unwrap_or_default();
        }
        Self(transitions)
    }

    /// The preferred position in `live`, or `None` when a match ends here, with the capture edges on the path. Adds the
    /// work to `spent`.
    pub fn choose(
        &self,
        live: &Set<WORDS>,
        spent: &mut u64,
    ) -> Option<(Option<usize>, &[CaptureEdge])> {
        self.0.iter().find_map(|Transition { goal, edges }| {
            *spent += STEPS;
            let chosen = match goal {
                Goal::End => None,
                Goal::Position(position) => Some(live.contains(*position).then_some(*position)?),
                Goal::Ascending(set) => Some(live.intersection(set).first()?),
                Goal::Descending(set) => Some(live.intersection(set).last()?),
            };
            Some((chosen, &**edges))
        })
    }
}

/// The length of the longest run of goals that are positions in this order with the same capture edges; at least one.
fn run(
    goals: &[(Option<usize>, Box<[CaptureEdge]>)],
    is_next: impl Fn(usize, usize) -> bool,
) -> usize {
    let pairs = goals.iter().zip(goals.iter().skip(1));
    let others = pairs.take_while(|((before, edges), (after, next_marks))| {
        before.zip(*after).is_some_and(|(before, after)| is_next(before, after))
            && edges == next_marks
    });
    1 + others.count()
}
