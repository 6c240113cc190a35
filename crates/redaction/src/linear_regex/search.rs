//! Finds all matches of a text with two scans. The reverse scan goes from the end of the text to its start and computes
//! the live positions at each offset. The forward scan starts where matches begin and follows the preferred live
//! position. It never backtracks, so each character is examined a constant number of times for any expression.
//!
//! The reverse scan stores its state only at the end of each block of the text. A block is scanned in reverse a second
//! time when the forward scan reaches it.

use std::{ops::Range, sync::OnceLock};

use super::{
    assertions,
    characters::Characters,
    context::Context,
    forward_scan::ForwardScan,
    program::{Program, TooLarge},
    set::Set,
};

/// Maximum work steps per byte of a text. Expressions of up to 128 positions hardly ever reach it, larger ones only on
/// texts made for that purpose.
const STEPS_PER_BYTE: u64 = 160;
/// Maximum work steps for short texts.
const MIN_STEPS: u64 = 1 << 16;
/// Memory for the live positions of a block, in words. Smaller in tests, so that short texts have several blocks.
const BLOCK_WORDS: usize = if cfg!(test) { 1 << 5 } else { 1 << 13 };

/// A search exceeded the work budget for a text of its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySteps;

/// A search for one expression, independent of the size of its sets.
pub(super) trait Search: std::fmt::Debug + Send + Sync {
    /// Whether a match begins at or after `from`. Adds the work to `spent`.
    fn has_match(&self, text: &str, from: usize, spent: &mut u64) -> Result<bool, TooManySteps>;

    /// Appends the secrets of the matches that begin at or after `from`.
    fn find(
        &self,
        text: &str,
        from: usize,
        hits: &mut Vec<Range<usize>>,
        spent: &mut u64,
    ) -> Result<(), TooManySteps>;
}

/// A search whose sets have as few words as the expression needs.
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
    /// Transitions by the set of assertions that hold.
    contexts: Vec<OnceLock<Context<WORDS>>>,
}

impl<const WORDS: usize> Searcher<WORDS> {
    fn new(program: Program) -> Result<Self, TooLarge> {
        let characters = Characters::new(&program)?;
        let contexts = std::iter::repeat_with(OnceLock::new).take(assertions::SETS).collect();
        Ok(Self { program, characters, contexts })
    }

    /// The assertions of the expression that hold between two characters.
    pub fn asserted(&self, before: Option<char>, after: Option<char>) -> u8 {
        match self.program.asserted {
            0 => 0,
            asserted => assertions::at(before, after) & asserted,
        }
    }

    /// The transitions where these assertions hold.
    pub fn context(&self, asserted: u8) -> Option<&Context<WORDS>> {
        let context = self.contexts.get(usize::from(asserted))?;
        Some(context.get_or_init(|| Context::new(&self.program, asserted)))
    }

    /// Scans a part of the text in reverse. `live` are the live positions at its end; returns those at its start. Calls
    /// `visit` for each offset, from the last to the first, with its live positions and whether a match begins there.
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

/// Fails when the work exceeds the limit.
pub(super) fn check(text: &str, spent: u64) -> Result<(), TooManySteps> {
    let allowed = (text.len() as u64).saturating_mul(STEPS_PER_BYTE).max(MIN_STEPS);
    if spent > allowed { Err(TooManySteps) } else { Ok(()) }
}

/// A part of a text after the reverse scan.
pub(super) struct Block<const WORDS: usize> {
    /// The range of the part.
    pub part: Range<usize>,
    /// The live positions at its end.
    pub live: Set<WORDS>,
    /// Whether a match begins in it.
    pub begins: bool,
}

impl<const WORDS: usize> Searcher<WORDS> {
    /// The blocks from `from` to the end of the text, the last one first.
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
