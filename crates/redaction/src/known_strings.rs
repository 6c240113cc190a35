//! Cache of the keys and strings of a JSON text that contain no finding: consecutive records have the same keys, and many of their
//! values are the same.

use rustc_hash::FxHashMap;

use super::work::{Cost, Work};

/// Number of strings that are cached at first, and number of further strings for each one that was found in the cache.
const FIRST_STRINGS: usize = 32;
const STRINGS_OF_HIT: usize = 4;
/// Maximum number of cached strings.
const MAX_STRINGS: usize = 512;
/// Maximum length of a cached string.
const MAX_LENGTH: usize = 128;

/// The keys, or the strings, of a text that contain no finding, with what is known of them.
#[derive(Debug)]
pub(super) struct KnownStrings<'a, Knowledge> {
    /// In the order in which they were cached.
    strings: Vec<KnownString<'a, Knowledge>>,
    /// Indexes of `strings`.
    indexes: FxHashMap<&'a [u8], usize>,
    /// The index of the string that is expected next: records have the same keys in the same order.
    expected: usize,
    hits: usize,
}

#[derive(Debug)]
struct KnownString<'a, Knowledge> {
    token: &'a [u8],
    knowledge: Knowledge,
    /// The work of the examination.
    cost: Cost,
}

impl<Knowledge> Default for KnownStrings<'_, Knowledge> {
    fn default() -> Self {
        Self { strings: Vec::new(), indexes: FxHashMap::default(), expected: 0, hits: 0 }
    }
}

impl<'a, Knowledge> KnownStrings<'a, Knowledge> {
    /// What is known of a string that was examined before. The work of the examination is counted again.
    pub fn find(&mut self, token: &[u8], work: &mut Work) -> Option<&Knowledge> {
        let is_expected =
            self.strings.get(self.expected).is_some_and(|string| string.token == token);
        let index = if is_expected {
            self.expected
        } else if token.len() <= MAX_LENGTH {
            *self.indexes.get(token)?
        } else {
            return None;
        };
        self.expected = if index + 1 < self.strings.len() { index + 1 } else { 0 };
        self.hits += 1;
        let string = self.strings.get(index)?;
        work.repeat(string.cost).then_some(&string.knowledge)
    }

    /// Caches a string without findings, unless it is cached.
    pub fn remember(&mut self, token: &'a [u8], knowledge: Knowledge, cost: Cost) {
        let most = FIRST_STRINGS.saturating_add(self.hits.saturating_mul(STRINGS_OF_HIT));
        if token.len() <= MAX_LENGTH
            && self.strings.len() < most.min(MAX_STRINGS)
            && !self.indexes.contains_key(token)
        {
            self.indexes.insert(token, self.strings.len());
            self.strings.push(KnownString { token, knowledge, cost });
        }
    }
}
