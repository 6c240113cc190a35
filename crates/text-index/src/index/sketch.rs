//! The sketch of a document: hashes of its pairs of adjacent terms and of its identifiers (terms with letters and
//! digits), which postings do not record. Used by `scoring::question_ranking`.

use crate::index::collector::Collector;
use crate::index::fields::DOCUMENT_FIELDS;

/// Maximum number of pairs; of a long document, the first are kept.
const MAXIMUM_PAIRS: usize = 1024;

/// Words of a bit set of all hashes of pairs.
const PAIR_WORDS: usize = (1 << u16::BITS) / u64::BITS as usize;

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

/// Collects the hashes of pairs of adjacent terms. Its memory is reused for the next document.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    previous: Option<(usize, u32)>,
    count: usize,
    /// A bit for each hash, which makes them ascend without sorting.
    bits: Vec<u64>,
}

impl Pairs {
    /// Adds a term of a field, by its hash.
    pub(crate) fn add(&mut self, field: usize, hash: u32) {
        if field >= DOCUMENT_FIELDS || self.count >= MAXIMUM_PAIRS {
            return;
        }
        if let Some((same_field, before)) = self.previous
            && same_field == field
        {
            if self.bits.is_empty() {
                self.bits.resize(PAIR_WORDS, 0);
            }
            let pair = pair_hash(before, hash);
            let bits = self.bits.get_mut(usize::from(pair) / 64);
            bits.into_iter().for_each(|bits| *bits |= 1 << (pair % 64));
            self.count += 1;
        }
        self.previous = Some((field, hash));
    }

    /// Takes the hashes, ascending.
    pub(crate) fn take(&mut self) -> Box<[u16]> {
        let mut pairs = Vec::with_capacity(self.count);
        for (word, bits) in self.bits.iter_mut().enumerate().filter(|(_, bits)| **bits != 0) {
            let mut rest = std::mem::take(bits);
            while rest != 0 {
                pairs.push((word * 64) as u16 | rest.trailing_zeros() as u16);
                rest &= rest - 1;
            }
        }
        (self.previous, self.count) = (None, 0);
        pairs.into()
    }
}

/// Hashes of the identifiers of the document whose terms `collector` counted.
pub(crate) fn identifiers(collector: &Collector) -> Box<[u32]> {
    let has_identifiers = |counts: &[u32]| {
        counts.get(IDENTIFIER_FIELDS).unwrap_or_default().iter().any(|count| *count > 0)
    };
    let identifiers = collector
        .entries
        .iter()
        .filter(|entry| has_identifiers(&entry.counts) && is_identifier(collector.text_of(entry)));
    identifiers.map(|entry| entry.hash).take(MAXIMUM_IDENTIFIERS).collect()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pairs_are_the_sorted_hashes_of_adjacent_terms(terms in prop::collection::vec((0_usize..6, 0_u32..9), 0..2000)) {
            let mut pairs = Pairs::default();
            for length in [terms.len(), terms.len() / 2] {
                let terms = &terms[..length];
                let mut expected = Vec::new();
                let of_fields: Vec<_> = terms.iter().filter(|(field, _)| *field < DOCUMENT_FIELDS).collect();
                for two in of_fields.windows(2).filter(|two| two[0].0 == two[1].0).take(MAXIMUM_PAIRS) {
                    expected.push(pair_hash(two[0].1, two[1].1));
                }
                expected.sort_unstable();
                expected.dedup();
                terms.iter().for_each(|(field, hash)| pairs.add(*field, *hash));
                prop_assert_eq!(&*pairs.take(), &*expected);
            }
        }
    }
}
