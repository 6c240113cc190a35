//! All matches in a text, in two passes. The first goes from the text's end to its beginning and
//! tells at every place which positions lead to a match from there. The second goes from where
//! matches begin along the preferred of these: it never has to turn back, and so no character is
//! looked at more than a few times, whatever the expression.
//!
//! The first pass remembers only where each block of the text ends. A block is passed again when
//! the second pass comes to it.

use std::{ops::Range, sync::OnceLock};

use super::{
    assertions,
    characters::Characters,
    context::Context,
    forward_scan::ForwardScan,
    program::{Program, TooLarge},
    set::Set,
};

/// What a search may do for each byte of a text. An expression of 128 positions hardly ever comes to
/// it, and one of more only on texts that are made for it.
const STEPS_PER_BYTE: u64 = 160;
/// What any search may do.
const MIN_STEPS: u64 = 1 << 16;
/// A block's sets of positions take so many words; in tests few, so that short texts have several.
const BLOCK_WORDS: usize = if cfg!(test) { 1 << 5 } else { 1 << 13 };

/// A search had to do more than what is allowed for a text of its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySteps;

/// An expression that can be searched for.
pub(super) trait Search: std::fmt::Debug + Send + Sync {
    /// Whether there is a match that begins at `from` or later. Work is added to `spent`.
    fn has_match(&self, text: &str, from: usize, spent: &mut u64) -> Result<bool, TooManySteps>;

    /// Appends what is secret in the matches that begin at `from` or later.
    fn find(
        &self,
        text: &str,
        from: usize,
        hits: &mut Vec<Range<usize>>,
        spent: &mut u64,
    ) -> Result<(), TooManySteps>;
}

/// A search with as few words as an expression needs.
pub(super) fn search(program: Program) -> Result<Box<dyn Search>, TooLarge> {
    Ok(match program.positions.len() {
        0..=64 => Box::new(Searcher::<1>::new(program)?),
        65..=128 => Box::new(Searcher::<2>::new(program)?),
        129..=256 => Box::new(Searcher::<4>::new(program)?),
        _ => Box::new(Searcher::<8>::new(program)?),
    })
}

#[derive(Debug)]
pub(super) struct Searcher<const WORDS: usize> {
    pub program: Program,
    characters: Characters<WORDS>,
    /// By what is asserted and true of a place.
    contexts: Vec<OnceLock<Context<WORDS>>>,
}

impl<const WORDS: usize> Searcher<WORDS> {
    fn new(program: Program) -> Result<Self, TooLarge> {
        let characters = Characters::new(&program)?;
        let contexts = std::iter::repeat_with(OnceLock::new).take(assertions::SETS).collect();
        Ok(Self { program, characters, contexts })
    }

    /// What of the assertions that matter is true between these characters.
    pub fn asserted(&self, before: Option<char>, after: Option<char>) -> u8 {
        match self.program.asserted {
            0 => 0,
            asserted => assertions::at(before, after) & asserted,
        }
    }

    /// What may come before and after places of which this is true.
    pub fn context(&self, asserted: u8) -> Option<&Context<WORDS>> {
        let context = self.contexts.get(usize::from(asserted))?;
        Some(context.get_or_init(|| Context::new(&self.program, asserted)))
    }

    /// Goes back through a part of the text. `live` are the positions that lead to a match from its
    /// end; those at its start are returned. Every place from the last to the start is visited with
    /// its own, and whether a match begins there.
    pub fn back(
        &self,
        text: &str,
        part: Range<usize>,
        mut live: Set<WORDS>,
        spent: &mut u64,
        mut visit: impl FnMut(usize, &Set<WORDS>, bool),
    ) -> Set<WORDS> {
        let (before, after) = text.split_at_checked(part.end).unwrap_or((text, ""));
        let mut characters = before.char_indices().rev().peekable();
        let last = characters.peek().map(|(_, character)| *character);
        let mut asserted = self.asserted(last, after.chars().next());
        let mut context = self.context(asserted);
        while let Some((place, character)) = characters.next()
            && place >= part.start
            && let Some(here) = context
        {
            live = here
                .predecessors
                .before(&live, spent)
                .intersection(self.characters.takers(character));
            if self.program.asserted != 0 {
                let before = characters.peek().map(|(_, character)| *character);
                let now = self.asserted(before, Some(character));
                if now != asserted {
                    (asserted, context) = (now, self.context(now));
                }
            }
            visit(
                place,
                &live,
                context.is_some_and(|context| live.intersects(&context.predecessors.first)),
            );
        }
        live
    }
}

/// Whether so much work is allowed.
pub(super) fn check(text: &str, spent: u64) -> Result<(), TooManySteps> {
    let allowed = (text.len() as u64).saturating_mul(STEPS_PER_BYTE).max(MIN_STEPS);
    if spent > allowed { Err(TooManySteps) } else { Ok(()) }
}

/// A part of a text after the first pass.
pub(super) struct Block<const WORDS: usize> {
    /// Which part.
    pub part: Range<usize>,
    /// The positions that lead to a match from its end.
    pub live: Set<WORDS>,
    /// Whether a match begins in it.
    pub begins: bool,
}

impl<const WORDS: usize> Searcher<WORDS> {
    /// The blocks from `from` on, from the last to the first.
    fn blocks<'a>(
        &'a self,
        text: &'a str,
        from: usize,
        spent: &'a mut u64,
    ) -> impl Iterator<Item = Result<Block<WORDS>, TooManySteps>> + 'a {
        let (mut end, mut live) = (text.len(), Set::EMPTY);
        std::iter::from_fn(move || {
            if end <= from {
                return None;
            }
            let start = text.floor_char_boundary(end.saturating_sub(BLOCK_WORDS / WORDS).max(from));
            let mut block = Block { part: start..end, live, begins: false };
            live = self.back(text, start..end, live, spent, |_, _, begins| block.begins |= begins);
            end = start;
            Some(check(text, *spent).map(|()| block))
        })
    }
}

impl<const WORDS: usize> Search for Searcher<WORDS> {
    fn has_match(&self, text: &str, from: usize, spent: &mut u64) -> Result<bool, TooManySteps> {
        for block in self.blocks(text, from, spent) {
            if block?.begins {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn find(
        &self,
        text: &str,
        from: usize,
        hits: &mut Vec<Range<usize>>,
        spent: &mut u64,
    ) -> Result<(), TooManySteps> {
        let blocks = self.blocks(text, from, spent).collect::<Result<Vec<_>, _>>()?;
        let mut scan = ForwardScan::new(self, text, blocks, spent);
        let mut from = from;
        while let Some(start) = scan.next_beginning(from) {
            from = scan.follow(start, hits)?;
        }
        Ok(())
    }
}
