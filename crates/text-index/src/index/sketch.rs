//! The sketch of a document: hashes of its pairs of adjacent terms and of its identifiers (terms with letters and
//! digits), which postings do not record. Used by `scoring::question_ranking`.

use crate::index::collector::Collector;
use crate::index::fields::DOCUMENT_FIELDS;

/// Maximum number of pairs; of a long document, the first are kept.
const MAXIMUM_PAIRS: usize = 1024;

/// The fields whose identifiers are kept: arguments and result.
const IDENTIFIER_FIELDS: std::ops::Range<usize> = 2..4;
const MAXIMUM_IDENTIFIERS: usize = 40;
const LEAST_IDENTIFIER_BYTES: usize = 5;

/// Adjacent terms and identifiers of one document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sketch {
    /// Hashes of pairs of terms that are adjacent in a field, ascending.
    pub(crate) pairs: Box<[u16]>,
    /// Hashes of the terms of arguments and result that contain both a letter and a digit.
    pub(crate) identifiers: Box<[u32]>,
}

impl Sketch {
    /// The memory of its lists in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.pairs) + size_of_val(&*self.identifiers)
    }
}

/// Builds a sketch from the terms of a document in their order.
#[derive(Default)]
pub(crate) struct SketchBuilder {
    previous: Option<(usize, u32)>,
    pairs: Vec<u16>,
}

impl SketchBuilder {
    /// Adds a term of a field, by its hash.
    pub(crate) fn add(&mut self, field: usize, hash: u32) {
        if field >= DOCUMENT_FIELDS || self.pairs.len() >= MAXIMUM_PAIRS {
            return;
        }
        if let Some((same_field, before)) = self.previous
            && same_field == field
        {
            self.pairs.push(pair_hash(before, hash));
        }
        self.previous = Some((field, hash));
    }

    /// The sketch of the document whose terms `collector` counted.
    pub(crate) fn finish(mut self, collector: &Collector) -> Sketch {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        let has_identifiers = |counts: &[u32]| {
            counts.get(IDENTIFIER_FIELDS).unwrap_or_default().iter().any(|count| *count > 0)
        };
        let identifiers = collector.entries.iter().filter(|entry| {
            has_identifiers(&entry.counts) && is_identifier(collector.text_of(entry))
        });
        Sketch {
            pairs: self.pairs.into(),
            identifiers: identifiers.map(|entry| entry.hash).take(MAXIMUM_IDENTIFIERS).collect(),
        }
    }
}

/// The hash of a pair of adjacent terms, from their hashes. Collisions are rare enough for a small bonus to the score.
pub(crate) fn pair_hash(left: u32, right: u32) -> u16 {
    ((left.rotate_left(7) ^ right).wrapping_mul(0x9E37_79B1) >> 16) as u16
}

fn is_identifier(term: &str) -> bool {
    term.len() >= LEAST_IDENTIFIER_BYTES
        && term.bytes().any(|byte| byte.is_ascii_digit())
        && term.chars().any(char::is_alphabetic)
}
