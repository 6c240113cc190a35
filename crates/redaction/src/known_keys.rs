//! Cache of the classes of a JSON text's keys: consecutive records have the same keys.

use rustc_hash::FxHashMap;

use super::{
    names::NameClass,
    work::{Cost, Work},
};

/// Maximum number of cached keys.
const MAX_KEYS: usize = 128;
/// Maximum length of a cached key.
const MAX_LENGTH: usize = 64;

/// The keys of a text that contain no finding.
#[derive(Debug, Default)]
pub(super) struct KnownKeys<'a> {
    known: FxHashMap<&'a str, (NameClass, Cost)>,
}

impl<'a> KnownKeys<'a> {
    /// The class of a key that was examined before. The work of the examination is counted again.
    pub fn class(&self, key: &str, work: &mut Work) -> Option<NameClass> {
        let &(class, cost) = self.known.get(key)?;
        work.repeat(cost).then_some(class)
    }

    /// Caches a key without findings.
    pub fn remember(&mut self, key: &'a str, class: NameClass, cost: Cost) {
        if key.len() <= MAX_LENGTH && self.known.len() < MAX_KEYS {
            self.known.insert(key, (class, cost));
        }
    }
}
