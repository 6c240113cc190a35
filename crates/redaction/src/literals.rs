//! Searches a text for a set of literals in one pass.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, packed};

/// Maximum number of literals for which the search skips text with vector instructions.
const MAX_FILTERED: usize = 64;
/// Maximum total bytes of literals for which the faster automaton (a DFA) is built.
const MAX_FAST: usize = 1 << 12;

/// A set of literals. All overlapping matches are found.
#[derive(Debug)]
pub(super) struct Literals {
    filter: Option<packed::Searcher>,
    all: AhoCorasick,
}

impl Literals {
    /// No literal may be empty.
    pub fn new(texts: &[impl AsRef<[u8]>]) -> Result<Self, BuildError> {
        let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
        let kind =
            if bytes <= MAX_FAST { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
        let is_few = texts.len() <= MAX_FILTERED;
        let filter = is_few.then(|| packed::Searcher::new(texts)).flatten();
        Ok(Self { filter, all: AhoCorasick::builder().kind(Some(kind)).build(texts)? })
    }

    /// Calls `visit` with the range of each match, ordered by its end, and the index of the literal, until `visit`
    /// returns `false`.
    pub fn find(&self, text: &str, mut visit: impl FnMut(Range<usize>, usize) -> bool) {
        let first = match &self.filter {
            Some(filter) => filter.find(text).map(|found| found.start()),
            None => Some(0),
        };
        let Some(rest) = first.and_then(|first| text.get(first..)) else { return };
        let start = text.len() - rest.len();
        self.all
            .find_overlapping_iter(rest)
            .map(|found| (start + found.start()..start + found.end(), found.pattern().as_usize()))
            .take_while(|(range, number)| visit(range.clone(), *number))
            .for_each(drop);
    }
}
