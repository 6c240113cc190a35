//! The second pass of a search: along the preferred of the ways that lead to a match.

use std::ops::Range;

use super::{
    program::{State, StateId},
    search::{Block, Searcher, TooManySteps, check},
    set::Set,
};

/// A group's border.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Start,
    End,
}

/// The second pass.
pub(super) struct Walk<'a, const WORDS: usize> {
    searcher: &'a Searcher<WORDS>,
    text: &'a str,
    /// Those that are not done, the first at the end.
    blocks: Vec<Block<WORDS>>,
    /// For each byte of the first block, the positions that lead to a match from there. Empty as
    /// long as it was not passed again.
    live: Vec<Set<WORDS>>,
    /// Where in the first block matches begin, the first at the end.
    beginnings: Vec<usize>,
    /// States to look at, the next at the end, each with how many marks there are on the way there.
    stack: Vec<(StateId, usize)>,
    /// The borders of groups on the way.
    marks: Vec<Mark>,
    /// The turn in which a state was last looked at.
    seen: Vec<u64>,
    turn: u64,
    spent: &'a mut u64,
}

impl<'a, const WORDS: usize> Walk<'a, WORDS> {
    /// `blocks` are all of the text in which matches may begin, the first at the end.
    pub fn new(
        searcher: &'a Searcher<WORDS>,
        text: &'a str,
        blocks: Vec<Block<WORDS>>,
        spent: &'a mut u64,
    ) -> Self {
        let seen = vec![0; searcher.program.states()];
        Self {
            searcher,
            text,
            blocks,
            live: Vec::new(),
            beginnings: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            seen,
            turn: 0,
            spent,
        }
    }

    /// Where the first match begins at this place or later.
    pub fn next_beginning(&mut self, from: usize) -> Option<usize> {
        loop {
            let block = self.blocks.last()?;
            if block.begins && block.part.end > from {
                self.load();
                while let Some(beginning) = self.beginnings.pop() {
                    if beginning >= from {
                        return Some(beginning);
                    }
                }
            }
            self.leave();
        }
    }

    /// Follows the match that begins at this place, appends what is secret in it, and returns its
    /// end.
    pub fn follow(
        &mut self,
        start: usize,
        hits: &mut Vec<Range<usize>>,
    ) -> Result<usize, TooManySteps> {
        let (mut place, mut state) = (start, self.searcher.program.start);
        let (mut opened, mut is_narrowed) = (None, false);
        loop {
            let next = self.choose(state, place)?;
            for mark in &self.marks {
                match mark {
                    Mark::Start => opened = Some(place),
                    Mark::End => {
                        is_narrowed = true;
                        let secret = opened.take().map(|opened| opened..place);
                        hits.extend(secret.filter(|secret| !secret.is_empty()));
                    }
                }
            }
            let Some(next) = next else { break };
            state = next;
            place += self.character_at(place).map_or(1, char::len_utf8);
        }
        if !is_narrowed {
            hits.push(start..place);
        }
        Ok(place)
    }

    /// The state after the preferred of the positions that lead to a match from this place, or
    /// `None` when the match ends here. The borders on the way there are in `marks`.
    fn choose(&mut self, state: StateId, place: usize) -> Result<Option<StateId>, TooManySteps> {
        let live = self.live_at(place);
        let before = self.text.get(..place).and_then(|before| before.chars().next_back());
        let asserted = self.searcher.asserted(before, self.character_at(place));
        self.turn += 1;
        self.marks.clear();
        self.stack.clear();
        self.stack.push((state, 0));
        while let Some((id, marks)) = self.stack.pop() {
            self.marks.truncate(marks);
            *self.spent += 1;
            match self.seen.get_mut(id) {
                Some(turn) if *turn != self.turn => *turn = self.turn,
                _ => continue,
            }
            match self.searcher.program.state(id) {
                State::Match => return Ok(None),
                State::Position { position, next } => {
                    if live.contains(*position) {
                        check(self.text, *self.spent)?;
                        return Ok(Some(*next));
                    }
                }
                State::Branch(ways) => {
                    self.stack.extend(ways.iter().rev().map(|way| (*way, marks)));
                }
                State::Assertion { assertion, next } => {
                    if asserted & assertion != 0 {
                        self.stack.push((*next, marks));
                    }
                }
                State::SecretStart(next) => {
                    self.marks.push(Mark::Start);
                    self.stack.push((*next, marks + 1));
                }
                State::SecretEnd(next) => {
                    self.marks.push(Mark::End);
                    self.stack.push((*next, marks + 1));
                }
            }
        }
        // The first pass says that there is a way. Should it be wrong, nothing is to be trusted.
        Err(TooManySteps)
    }

    fn character_at(&self, place: usize) -> Option<char> {
        self.text.get(place..).and_then(|rest| rest.chars().next())
    }

    /// The positions that lead to a match from a place that is not before the first block.
    fn live_at(&mut self, place: usize) -> Set<WORDS> {
        while let Some(block) = self.blocks.last() {
            if let Some(offset) = place.checked_sub(block.part.start)
                && place < block.part.end
            {
                self.load();
                return self.live.get(offset).copied().unwrap_or(Set::EMPTY);
            }
            self.leave();
        }
        Set::EMPTY
    }

    /// Passes the first block again, unless that is done.
    fn load(&mut self) {
        let Some(block) = self.blocks.last() else { return };
        if !self.live.is_empty() {
            return;
        }
        let Block { part, live, .. } = block;
        self.live.resize(part.len(), Set::EMPTY);
        self.searcher.back(self.text, part.clone(), *live, self.spent, |place, live, begins| {
            if let Some(known) = self.live.get_mut(place - part.start) {
                *known = *live;
            }
            if begins {
                self.beginnings.push(place);
            }
        });
    }

    /// Leaves the first block.
    fn leave(&mut self) {
        self.blocks.pop();
        self.live.clear();
        self.beginnings.clear();
    }
}
