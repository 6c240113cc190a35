//! What is known of the keys of a JSON text: records in a row have the same ones.

use rustc_hash::FxHashMap;

use super::{
    names::NameClass,
    work::{Cost, Work},
};

/// So many keys are remembered.
const MAX_KEYS: usize = 128;
/// Longer keys are not.
const MAX_LENGTH: usize = 64;

/// The keys of a text in which nothing was found.
#[derive(Debug, Default)]
pub(super) struct KnownKeys<'a> {
    known: FxHashMap<&'a str, (NameClass, Cost)>,
}

impl<'a> KnownKeys<'a> {
    /// The class of a key that was examined before. Its work is counted again.
    pub fn class(&self, key: &str, work: &mut Work) -> Option<NameClass> {
        let &(class, cost) = self.known.get(key)?;
        work.repeat(cost).then_some(class)
    }

    /// Remembers a key in which nothing was found.
    pub fn remember(&mut self, key: &'a str, class: NameClass, cost: Cost) {
        if key.len() <= MAX_LENGTH && self.known.len() < MAX_KEYS {
            self.known.insert(key, (class, cost));
        }
    }
}
