//! Results of searches.

use crate::scoring::boosts::Scored;

/// Documents that were found, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedList<T> {
    /// The score of a document that contains every part of the query with maximum frequency. Scores without additions
    /// stay below it.
    pub maximum: f32,
    /// The documents.
    pub hits: Vec<T>,
}

/// A document that [`crate::Index::search`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The sequence with which it was added.
    pub sequence: u64,
    /// Its score for this query and state of the index.
    pub score: f32,
    /// The timestamp with which it was added.
    pub timestamp: i64,
}

/// A document that [`crate::Index::rank`] ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The document.
    pub which: Which,
    /// Its score for this query and these documents.
    pub score: f32,
    /// Its group, 0 for none.
    pub group: u64,
    /// The score of its group: the sum over all terms of the best score among the ranked documents of the group.
    pub group_score: f32,
    /// Its timestamp.
    pub timestamp: i64,
}

impl Ranked {
    /// The document at its position among the candidates.
    pub fn at(&self, position: usize) -> Scored {
        let Self { score, group, group_score, timestamp, .. } = *self;
        Scored { position, score, group, group_score, timestamp, ..Scored::default() }
    }
}

/// Identifies one of the documents that are ranked together. Of documents that are equal in all else, the greater is
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// A document that the caller passed, by its position.
    Foreign(usize),
    /// A document of the index, by its sequence.
    Known(u64),
}
