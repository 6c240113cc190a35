//! A JavaScript expression, of which all matches in a text are found in linear time.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use javascript_regex::{MAX_NESTING, PatternError, translate};
use regex_syntax::{
    ParserBuilder,
    hir::{
        Hir,
        literal::{Extractor, Seq},
    },
};

use super::{
    program::{Program, TooLarge},
    search::{Search, TooManySteps, search},
};

/// A compiled JavaScript expression. What it matches is what `matchAll` matches, the empty text
/// aside, but by characters.
#[derive(Debug)]
pub struct LinearRegex {
    search: Box<dyn Search>,
    prefixes: Option<AhoCorasick>,
}

impl LinearRegex {
    /// Compiles a `RegExp`'s source. The flags `d`, `g` and `y` change nothing.
    ///
    /// # Errors
    /// What is wrong and where: it is malformed, needs backtracking (look-around, back references),
    /// is too large, or matches the empty text.
    pub fn new(source: &str, flags: &str) -> Result<Self, PatternError> {
        let flags: String = flags.chars().filter(|flag| *flag != 'y').collect();
        let translated = translate(source, &flags)?;
        let expression = ParserBuilder::new()
            .nest_limit(MAX_NESTING)
            .case_insensitive(flags.contains('i'))
            .multi_line(flags.contains('m'))
            .build()
            .parse(&translated.expression)
            .map_err(|_| translated.error())?;
        let refused = |reason: &str| PatternError { position: 0, reason: reason.to_owned() };
        let too_large = |TooLarge| refused("it repeats too much, or has too many parts");
        let program = Program::new(&expression).map_err(too_large)?;
        if program.matches_empty_text() {
            return Err(refused("it matches the empty text"));
        }
        let search = search(program).map_err(too_large)?;
        Ok(Self { search, prefixes: prefixes(&expression) })
    }

    /// Appends the bytes of what is secret in each match, from the first to the last: the groups
    /// named `secret` that took part, or else all of it. Returns the steps that this took.
    ///
    /// # Errors
    /// When it would take more steps than are allowed for a text of that length.
    pub fn find(&self, text: &str, hits: &mut Vec<Range<usize>>) -> Result<u64, TooManySteps> {
        let mut spent = 0;
        if let Some(from) = self.first_candidate(text) {
            self.search.find(text, from, hits, &mut spent)?;
        }
        Ok(spent)
    }

    /// Whether it matches somewhere in a text.
    ///
    /// # Errors
    /// When it would take more steps than are allowed for a text of that length.
    pub fn is_match(&self, text: &str) -> Result<bool, TooManySteps> {
        match self.first_candidate(text) {
            Some(from) => self.search.has_match(text, from, &mut 0),
            None => Ok(false),
        }
    }

    /// Where the first match may begin.
    fn first_candidate(&self, text: &str) -> Option<usize> {
        match &self.prefixes {
            Some(prefixes) => prefixes.find(text).map(|prefix| prefix.start()),
            None => Some(0),
        }
    }
}

/// What finds the beginning of every match, when they are few and telling.
fn prefixes(expression: &Hir) -> Option<AhoCorasick> {
    let mut prefixes: Seq = Extractor::new().extract(expression);
    prefixes.optimize_for_prefix_by_preference();
    let prefixes = prefixes.literals()?;
    let is_telling = prefixes.iter().all(|prefix| !prefix.is_empty());
    // The leftmost, not the one that ends first.
    let mut builder = AhoCorasick::builder();
    let builder = builder.match_kind(MatchKind::LeftmostFirst);
    is_telling.then(|| builder.build(prefixes).ok()).flatten()
}
