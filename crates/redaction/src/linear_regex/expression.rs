//! A compiled JavaScript expression that finds all matches of a text in linear time.

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

/// A compiled JavaScript expression. It finds the matches that `matchAll` finds, except empty ones. Matching works on
/// characters, not on UTF-16 units.
#[derive(Debug)]
pub struct LinearRegex {
    search: Box<dyn Search>,
    prefixes: Option<AhoCorasick>,
}

impl LinearRegex {
    /// Compiles the source of a `RegExp`. The flags `d`, `g` and `y` have no effect.
    ///
    /// # Errors
    /// The expression is malformed, needs backtracking (look-around, back references), is too large, or matches the
    /// empty text. The error has the position.
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

    /// Appends the range of the secret of each match, in order: the groups named `secret` that took part in the match,
    /// or else the complete match. Returns the number of work steps.
    ///
    /// # Errors
    /// The search would exceed the work budget for a text of this length.
    pub fn find(&self, text: &str, hits: &mut Vec<Range<usize>>) -> Result<u64, TooManySteps> {
        let mut spent = 0;
        if let Some(from) = self.first_candidate(text) {
            self.search.find(text, from, hits, &mut spent)?;
        }
        Ok(spent)
    }

    /// Whether the expression matches somewhere in a text.
    ///
    /// # Errors
    /// The search would exceed the work budget for a text of this length.
    pub fn is_match(&self, text: &str) -> Result<bool, TooManySteps> {
        match self.first_candidate(text) {
            Some(from) => self.search.has_match(text, from, &mut 0),
            None => Ok(false),
        }
    }

    /// The first position at which a match may begin.
    fn first_candidate(&self, text: &str) -> Option<usize> {
        match &self.prefixes {
            Some(prefixes) => prefixes.find(text).map(|prefix| prefix.start()),
            None => Some(0),
        }
    }
}

/// A search for the prefixes of all matches, if there are few and selective ones.
fn prefixes(expression: &Hir) -> Option<AhoCorasick> {
    let mut prefixes: Seq = Extractor::new().extract(expression);
    prefixes.optimize_for_prefix_by_preference();
    let prefixes = prefixes.literals()?;
    let is_telling = prefixes.iter().all(|prefix| !prefix.is_empty());
    // Leftmost match, not the match that ends first.
    let mut builder = AhoCorasick::builder();
    let builder = builder.match_kind(MatchKind::LeftmostFirst);
    is_telling.then(|| builder.build(prefixes).ok()).flatten()
}
