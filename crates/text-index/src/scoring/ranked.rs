//! Documents that were found.

use crate::scoring::boosts::Scored;

/// Documents that were found, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedList<T> {
    /// The score of a document that has every part of the query more often than any has.
    /// Where nothing is added to scores they stay below it.
    pub maximum: f32,
    /// The documents.
    pub hits: Vec<T>,
}

/// A document that [`crate::Index::search`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The sequence number it was added with.
    pub sequence: u64,
    /// How good it is, for this query and state of the index.
    pub score: f32,
    /// The timestamp it was added with.
    pub timestamp: i64,
}

/// A document that [`crate::Index::rank`] ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Which document.
    pub which: Which,
    /// How good it is, for this query and these documents.
    pub score: f32,
    /// Its group, 0 for none.
    pub group: u64,
    /// How good its group is as a whole: the best score of every term among the documents of the
    /// group that were ranked, summed.
    pub group_score: f32,
    /// Its timestamp.
    pub timestamp: i64,
}

impl Ranked {
    /// The document at its place among the candidates.
    pub fn at(&self, position: usize) -> Scored {
        let Self { score, group, group_score, timestamp, .. } = *self;
        Scored { position, score, group, group_score, timestamp, ..Scored::default() }
    }
}

/// One of the documents that are ranked together. Of documents that are equal
/// in all else the greater is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// By its position among the documents handed in.
    Foreign(usize),
    /// By its sequence in the index.
    Known(u64),
}
