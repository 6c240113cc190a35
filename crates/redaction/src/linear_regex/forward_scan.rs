//! The forward scan of a search: from the start of a match, it repeatedly follows the preferred transition to a live
//! position, until the match ends.

use std::ops::Range;

use super::{
    epsilon_closure::CaptureEdge,
    search::{Block, Searcher, TooManySteps, check},
    set::Set,
};

/// The forward scan of a text.
pub(super) struct ForwardScan<'a, const WORDS: usize> {
    searcher: &'a Searcher<WORDS>,
    text: &'a str,
    /// The blocks that are not finished, the first one last.
    blocks: Vec<Block<WORDS>>,
    /// For each byte of the first block, the live positions before it. Empty until the block is scanned a second time.
    live: Vec<Set<WORDS>>,
    /// Starts of matches in the first block, the first one last.
    beginnings: Vec<usize>,
    spent: &'a mut u64,
}

impl<'a, const WORDS: usize> ForwardScan<'a, WORDS> {
    /// `blocks` cover all parts of the text in which matches may begin, the first one last.
    pub fn new(
        searcher: &'a Searcher<WORDS>,
        text: &'a str,
        blocks: Vec<Block<WORDS>>,
        spent: &'a mut u64,
    ) -> Self {
        Self { searcher, text, blocks, live: Vec::new(), beginnings: Vec::new(), spent }
    }

    /// The start of the first match at or after this offset.
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

    /// Follows the match that begins at this offset, appends the range of its secret, and returns the end of the match.
    pub fn follow(
        &mut self,
        start: usize,
        hits: &mut Vec<Range<usize>>,
    ) -> Result<usize, TooManySteps> {
        let searcher = self.searcher;
        let mut before = self.text.get(..start).and_then(|before| before.chars().next_back());
        let (mut place, mut position) = (start, None);
        let (mut opened, mut is_narrowed) = (None, false);
        loop {
            let live = self.live_at(place);
            let after = self.text.get(place..).and_then(|rest| rest.chars().next());
            let context = searcher.context(searcher.asserted(before, after));
            let transitions =
                context.and_then(|context| context.transitions(&searcher.program, position));
            // The reverse scan found a transition here. Without one the search is inconsistent and fails.
            let (next, edges) = transitions
                .and_then(|transitions| transitions.choose(&live, self.spent))
                .ok_or(TooManySteps)?;
            for edge in edges {
                match edge {
                    CaptureEdge::SecretStart => opened = Some(place),
                    CaptureEdge::SecretEnd => {
                        is_narrowed = true;
                        let secret = opened.take().map(|opened| opened..place);
                        hits.extend(secret.filter(|secret| !secret.is_empty()));
                    }
                }
            }
            if next.is_none() {
                break;
            }
            (position, before) = (next, after);
            place += after.map_or(0, char::len_utf8);
        }
        check(self.text, *self.spent)?;
        if !is_narrowed {
            hits.push(start..place);
        }
        Ok(place)
    }

    /// The live positions at an offset that is not before the first block.
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

    /// Scans the first block a second time and keeps all of its live positions, unless that was done.
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

    /// Drops the first block.
    fn leave(&mut self) {
        self.blocks.pop();
        self.live.clear();
        self.beginnings.clear();
    }
}
