//! Texts that are looked for as they are, all at once.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, packed};

/// Few enough to be skipped over with vector instructions.
const MAX_FILTERED: usize = 64;
/// Bytes of texts for which the faster automaton is not too large, and soon built.
const MAX_FAST: usize = 1 << 12;

/// Texts to look for; where they overlap, all of them are found.
#[derive(Debug)]
pub(super) struct Literals {
    filter: Option<packed::Searcher>,
    all: AhoCorasick,
}

impl Literals {
    /// None of the texts may be empty.
    pub fn new(texts: &[impl AsRef<[u8]>]) -> Result<Self, BuildError> {
        let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
        let kind =
            if bytes <= MAX_FAST { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
        let is_few = texts.len() <= MAX_FILTERED;
        let filter = is_few.then(|| packed::Searcher::new(texts)).flatten();
        Ok(Self { filter, all: AhoCorasick::builder().kind(Some(kind)).build(texts)? })
    }

    /// Visits every place at which a text is, ordered by where it ends, with the text's number, as
    /// long as `visit` says so.
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
