//! Cache of the keys and strings of a JSON text that contain no finding: consecutive records have the same keys, and many of their
//! values are the same.

use rustc_hash::FxHashMap;

use super::{
    names::NameClass,
    work::{Cost, Work},
};

/// Number of strings that are cached at first, and number of further strings for each one that was found in the cache.
const FIRST_STRINGS: usize = 32;
const STRINGS_OF_HIT: usize = 4;
/// Maximum number of cached strings.
const MAX_STRINGS: usize = 512;
/// Maximum length of a cached string.
const MAX_LENGTH: usize = 128;

/// The keys, or the strings, of a text that contain no finding.
#[derive(Debug, Default)]
pub(super) struct KnownStrings<'a> {
    known: FxHashMap<&'a str, (NameClass, Cost)>,
    hits: usize,
}

impl<'a> KnownStrings<'a> {
    /// The class of a string that was examined before. The work of the examination is counted again.
    pub fn class(&mut self, string: &str, work: &mut Work) -> Option<NameClass> {
        if string.len() > MAX_LENGTH {
            return None;
        }
        let &(class, cost) = self.known.get(string)?;
        self.hits += 1;
        work.repeat(cost).then_some(class)
    }

    /// Caches a string without findings.
    pub fn remember(&mut self, string: &'a str, class: NameClass, cost: Cost) {
        let most = FIRST_STRINGS.saturating_add(self.hits.saturating_mul(STRINGS_OF_HIT));
        if string.len() <= MAX_LENGTH && self.known.len() < most.min(MAX_STRINGS) {
            self.known.insert(string, (class, cost));
        }
    }
}
