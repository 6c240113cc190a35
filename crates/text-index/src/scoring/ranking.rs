//! The scoring function: BM25 over the fields.

use crate::index::fields::{FIELD_COUNT, FIELDS, Lengths};
use crate::index::postings::Frequencies;

/// How fast further occurrences saturate (BM25's k1).
const SATURATION: f32 = 1.6;

/// Score of a match regardless of the document's length (BM25+'s delta).
const MATCH: f32 = 0.3;

/// The maximum that one term of weight 1 can contribute to a score.
pub(crate) const MAXIMUM_SCORE: f32 = SATURATION + 1.0 + MATCH;

/// Number of levels that [`Scorer::level`] distinguishes.
pub(crate) const LEVELS: usize = 1 << u8::BITS;

/// Statistics of the collection: the number of documents, and for each field the mean length of those that are not
/// empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) documents: u64,
    tokens: [u64; FIELD_COUNT],
    filled: [u64; FIELD_COUNT],
}

impl Totals {
    /// The statistics of so many documents; `fields` has the sum of the lengths of each field, and the number of documents
    /// in which it is not empty.
    pub(crate) fn new(documents: u64, fields: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut totals = Self { documents, ..Self::default() };
        let sums = totals.tokens.iter_mut().zip(&mut totals.filled);
        for ((tokens, filled), (sum, count)) in sums.zip(fields) {
            (*tokens, *filled) = (sum, count);
        }
        totals
    }

    pub(crate) fn add(&mut self, lengths: &Lengths) {
        self.documents += 1;
        for ((tokens, filled), length) in self.tokens.iter_mut().zip(&mut self.filled).zip(lengths)
        {
            *tokens += u64::from(*length);
            *filled += u64::from(*length > 0);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        self.documents += other.documents;
        let sums = self.tokens.iter_mut().chain(&mut self.filled);
        for (sum, more) in sums.zip(other.tokens.iter().chain(&other.filled)) {
            *sum += more;
        }
    }

    /// The weight of a term that this many documents contain.
    pub(crate) fn inverse_document_frequency(&self, containing: u64) -> f32 {
        inverse_document_frequency(self.documents, containing)
    }
}

/// Never negative, so that a match always scores more than none.
pub(crate) fn inverse_document_frequency(documents: u64, containing: u64) -> f32 {
    let (documents, containing) = (documents.max(containing) as f64, containing as f64);
    ((documents - containing + 0.5) / (containing + 0.5)).ln_1p() as f32
}

/// Scores one term in one document, for a given state of the collection.
///
/// The occurrences in all fields are summed, each weighted by its field and the field's length, before they saturate
/// (BM25F).
#[derive(Debug)]
pub(crate) struct Scorer {
    constant: [f32; FIELD_COUNT],
    per_token: [f32; FIELD_COUNT],
}

impl Scorer {
    pub(crate) fn new(totals: &Totals) -> Self {
        let mut scorer = Self { constant: [1.0; FIELD_COUNT], per_token: [0.0; FIELD_COUNT] };
        let coefficients = scorer.constant.iter_mut().zip(&mut scorer.per_token);
        let sums = totals.tokens.iter().zip(&totals.filled);
        for ((field, (constant, per_token)), (tokens, filled)) in
            FIELDS.iter().zip(coefficients).zip(sums)
        {
            let mean = (*tokens).max(1) as f32 / (*filled).max(1) as f32;
            *constant = (1.0 - field.length_normalisation) / field.weight;
            *per_token = field.length_normalisation / (mean * field.weight);
        }
        scorer
    }

    /// The scorer for [`Scorer::level`], with the statistics of a segment.
    pub(crate) fn of_segment(totals: &Totals) -> Self {
        let mut scorer = Self::new(totals);
        for (per_token, filled) in scorer.per_token.iter_mut().zip(&totals.filled) {
            // No document has the field, so it has no mean length.
            *per_token = if *filled == 0 { 0.0 } else { *per_token };
        }
        scorer
    }

    /// The score, at most [`MAXIMUM_SCORE`].
    #[inline]
    pub(crate) fn score(&self, frequencies: Frequencies, lengths: &Lengths) -> f32 {
        let occurrences = self.occurrences(frequencies, lengths);
        (SATURATION + 1.0) * occurrences / (SATURATION + occurrences) + MATCH
    }

    /// The score as a level from 0 (no occurrence) to 255 (the maximum), rounded up, for the statistics of this scorer.
    pub(crate) fn level(&self, frequencies: Frequencies, lengths: &Lengths) -> u8 {
        let occurrences = self.occurrences(frequencies, lengths);
        let share = occurrences / (SATURATION + occurrences);
        (share * f32::from(u8::MAX)).ceil() as u8
    }

    /// For each level of `other`, an upper bound of the scores of this scorer.
    pub(crate) fn scores_of_levels(&self, other: &Self) -> [f32; LEVELS] {
        // The greater mean length raises the occurrences of a field by at most this factor.
        let fields = self.per_token.iter().zip(&other.per_token);
        let growth = fields.filter(|(here, _)| **here > 0.0).map(|(here, there)| there / here);
        let growth = growth.fold(1.0, f32::max);
        std::array::from_fn(|level| {
            let share = level as f32 / f32::from(u8::MAX);
            let occurrences = growth * SATURATION * share / (1.0 - share);
            let share = if share < 1.0 { occurrences / (SATURATION + occurrences) } else { 1.0 };
            (SATURATION + 1.0) * share + MATCH
        })
    }

    /// The occurrences in all fields, weighted by field and length.
    #[inline]
    fn occurrences(&self, frequencies: Frequencies, lengths: &Lengths) -> f32 {
        // One array after the other, which compiles to a few vector instructions.
        let frequencies = frequencies.values();
        let lengths = lengths.map(f32::from);
        let mut fields = [0.0; FIELD_COUNT];
        let coefficients = self.constant.iter().zip(&self.per_token);
        for (((field, frequency), length), (constant, per_token)) in
            fields.iter_mut().zip(frequencies).zip(lengths).zip(coefficients)
        {
            *field = frequency / (constant + per_token * length);
        }
        fields.iter().sum()
    }
}

/// The weight of a term that occurs `occurrences` times in the query.
pub(crate) fn query_weight(occurrences: u32) -> f32 {
    1.0 + (occurrences as f32).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(lengths: &[Lengths]) -> Totals {
        let mut totals = Totals::default();
        lengths.iter().for_each(|lengths| totals.add(lengths));
        totals
    }

    #[test]
    fn rarer_terms_weigh_more_and_none_is_negative() {
        let totals = totals(&[[1, 2, 3, 4, 4]; 100]);
        let weights: Vec<f32> =
            (1..=100).map(|containing| totals.inverse_document_frequency(containing)).collect();
        assert!(weights.is_sorted_by(|rarer, commoner| rarer > commoner));
        assert!(weights.iter().all(|weight| *weight > 0.0));
        assert!(
            totals.inverse_document_frequency(1_000) > 0.0,
            "a frequency that lags behind removals"
        );
    }

    #[test]
    fn shorter_documents_and_more_occurrences_score_higher() {
        let scorer = Scorer::new(&totals(&[[2, 10, 10, 0, 0]; 4]));
        let once = Frequencies::from_counts(&[0, 1, 0, 0, 0]);
        let often = Frequencies::from_counts(&[0, 3, 0, 0, 0]);
        let everywhere = Frequencies::from_counts(&[1, 1, 1, 0, 0]);
        assert!(scorer.score(once, &[2, 5, 10, 0, 0]) > scorer.score(once, &[2, 20, 10, 0, 0]));
        assert!(scorer.score(often, &[2, 10, 10, 0, 0]) > scorer.score(once, &[2, 10, 10, 0, 0]));
        assert!(
            scorer.score(everywhere, &[2, 10, 10, 0, 0]) > scorer.score(once, &[2, 10, 10, 0, 0])
        );
        assert!(
            scorer.score(Frequencies::from_counts(&[9, 99, 999, 0, 0]), &[1, 1, 1, 0, 0])
                <= MAXIMUM_SCORE
        );
    }

    #[test]
    fn an_empty_collection_has_a_scorer() {
        let score = Scorer::new(&Totals::default())
            .score(Frequencies::from_counts(&[1, 0, 0, 0, 0]), &[1, 0, 0, 0, 0]);
        assert!(score.is_finite());
    }
}
