//! A posting: one term in one document, packed into 32 bits. It contains the document's position in its segment and,
//! rounded to 3 bits for each field, how often the field contains the term.

use crate::index::fields::FIELD_COUNT;

const BITS_PER_FIELD: u32 = 3;

/// Numbers of occurrences are rounded down to one of these. Scores saturate in them, so the loss is small.
const LEVELS: [f32; 1 << BITS_PER_FIELD] = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 16.0];

const FREQUENCY_BITS: u32 = BITS_PER_FIELD * FIELD_COUNT as u32;

/// Maximum number of documents in a segment.
pub(crate) const MAXIMUM_DOCUMENTS: usize = 1 << (u32::BITS - FREQUENCY_BITS);

/// The index in [`LEVELS`] of the last level that is not above `count`. Called for each field of each term of a document.
fn level_of(count: u32) -> u32 {
    match count {
        0..=4 => count,
        5 => 4,
        6..=8 => 5,
        9..=15 => 6,
        _ => 7,
    }
}

/// How often each field of a document contains a term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frequencies(u32);

impl Frequencies {
    pub(crate) fn from_counts(counts: &[u32; FIELD_COUNT]) -> Self {
        Self(counts.iter().rev().fold(0, |bits, count| bits << BITS_PER_FIELD | level_of(*count)))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The frequencies with these fields set to zero.
    pub(crate) fn without(self, fields: &[usize]) -> Self {
        let level = (1 << BITS_PER_FIELD) - 1;
        let bits = fields.iter().map(|field| level << (*field as u32 * BITS_PER_FIELD));
        Self(self.0 & !bits.fold(0, |all, bits| all | bits))
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "masked to the size of the table")]
    pub(crate) fn values(self) -> [f32; FIELD_COUNT] {
        std::array::from_fn(|field| {
            LEVELS[(self.0 >> (field as u32 * BITS_PER_FIELD)) as usize & (LEVELS.len() - 1)]
        })
    }
}

/// Ordered by document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Posting(u32);

impl Posting {
    pub(crate) fn new(document: u32, frequencies: Frequencies) -> Self {
        debug_assert!((document as usize) < MAXIMUM_DOCUMENTS);
        Self(document << FREQUENCY_BITS | frequencies.0)
    }

    /// The posting as a number, in the same order.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// The reverse of [`Posting::bits`].
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) fn document(self) -> u32 {
        self.0 >> FREQUENCY_BITS
    }

    #[inline]
    pub(crate) fn frequencies(self) -> Frequencies {
        Frequencies(self.0 & ((1 << FREQUENCY_BITS) - 1))
    }
}

/// The postings from `document` on. Fast if they are near the start.
pub(crate) fn skip_to(postings: &[Posting], document: u32) -> &[Posting] {
    let before = |posting: &Posting| posting.document() < document;
    let mut step = 1;
    while postings.get(step).is_some_and(before) {
        step *= 2;
    }
    let (_, near) = postings.split_at(step / 2);
    let window = near.get(..=step - step / 2).unwrap_or(near);
    near.split_at(window.partition_point(before)).1
}

/// As [`skip_to`], faster when the postings are spread evenly over a segment with the given number of documents.
pub(crate) fn seek(postings: &[Posting], document: u32, documents: usize) -> &[Posting] {
    let guess = postings.len() * document as usize / documents.max(1);
    let mut step = 8;
    let mut start = guess.min(postings.len());
    // Steps back to a posting before the document.
    while start > 0 && postings.get(start).is_none_or(|posting| posting.document() >= document) {
        start = start.saturating_sub(step);
        step *= 2;
    }
    skip_to(postings.split_at(start).1, document)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_are_rounded_down_to_a_level() {
        for count in (0..40).chain([u32::MAX]) {
            let expected = LEVELS.partition_point(|level| *level <= count as f32) - 1;
            assert_eq!(level_of(count) as usize, expected, "{count}");
        }
    }

    #[test]
    fn frequencies_are_kept_up_to_four_and_rounded_down_from_there() {
        let values = |count| Frequencies::from_counts(&[count, 0, 1, 0, 0]).values();
        for (count, kept) in [
            (0, 0.0),
            (1, 1.0),
            (4, 4.0),
            (5, 4.0),
            (6, 6.0),
            (15, 9.0),
            (16, 16.0),
            (u32::MAX, 16.0),
        ] {
            assert_eq!(values(count), [kept, 0.0, 1.0, 0.0, 0.0]);
        }
        assert!(Frequencies::from_counts(&[0; FIELD_COUNT]).is_empty());
    }

    #[test]
    fn a_posting_keeps_both_halves() {
        let frequencies = Frequencies::from_counts(&[1, 16, 3, 2, 1]);
        let posting = Posting::new(MAXIMUM_DOCUMENTS as u32 - 1, frequencies);
        assert_eq!(posting.document(), MAXIMUM_DOCUMENTS as u32 - 1);
        assert_eq!(posting.frequencies(), frequencies);
    }

    proptest! {
        #[test]
        fn skipping_stops_at_the_first_that_is_not_before(mut documents in prop::collection::vec(0_u32..500, 0..200), target in 0_u32..600) {
            documents.sort_unstable();
            let postings: Vec<Posting> = documents.iter().map(|document| Posting::new(*document, Frequencies::default())).collect();
            let expected = documents.partition_point(|document| *document < target);
            prop_assert_eq!(skip_to(&postings, target), &postings[expected..]);
            prop_assert_eq!(seek(&postings, target, 500), &postings[expected..]);
        }
    }
}
