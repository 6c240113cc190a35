//! Vectors of documents that somebody else made, and how near they are to a question.

use std::{collections::BTreeMap, sync::Arc};

/// Bytes of vectors kept. The oldest leave first.
const CAPACITY: usize = 64 * 1024 * 1024;
/// What a vector costs beside its numbers, in bytes.
const OVERHEAD: usize = 64;
/// How much the terms count where there are vectors as well; the vectors count for the rest.
const LEXICAL: f32 = 0.8;
/// The share of a neighbour's nearness that a document gets on top.
const NEIGHBOUR: f32 = 0.2;

/// A vector of length 1, or of zeros.
pub type Vector = Arc<[f32]>;

/// The vectors of documents, by their sequences: all of one length, within a bound of bytes.
#[derive(Debug)]
pub struct Vectors {
    dimensions: usize,
    capacity: usize,
    entries: BTreeMap<u64, Vector>,
}

impl Default for Vectors {
    fn default() -> Self {
        Self { dimensions: 0, capacity: CAPACITY, entries: BTreeMap::new() }
    }
}

impl Vectors {
    /// Keeps a vector. One of another length comes from another model: the others go.
    pub fn insert(&mut self, sequence: u64, vector: Vector) {
        if vector.len() != self.dimensions {
            self.entries.clear();
            self.dimensions = vector.len();
        }
        if self.wants(sequence) || self.entries.contains_key(&sequence) {
            self.entries.insert(sequence, vector);
        }
        while self.entries.len() > self.room() {
            self.entries.pop_first();
        }
    }

    /// Whether a document has no vector, and would keep one.
    pub fn wants(&self, sequence: u64) -> bool {
        let oldest = self.entries.first_key_value().map(|(&oldest, _)| oldest);
        let has_room =
            self.entries.len() < self.room() || oldest.is_none_or(|oldest| oldest < sequence);
        has_room && !self.entries.contains_key(&sequence)
    }

    /// Drops a document's vector.
    pub fn remove(&mut self, sequence: u64) {
        self.entries.remove(&sequence);
    }

    /// Drops all vectors.
    pub fn clear(&mut self) {
        *self = Self { capacity: self.capacity, ..Self::default() };
    }

    /// The vectors of documents that have one, when they have `dimensions` numbers.
    pub fn get(&self, sequences: &[u64], dimensions: usize) -> Vec<Option<Vector>> {
        let has_length = dimensions == self.dimensions;
        let vector = |sequence| self.entries.get(sequence).filter(|_| has_length).map(Arc::clone);
        sequences.iter().map(vector).collect()
    }

    /// The length of all vectors; 0 when there is none.
    pub fn dimensions(&self) -> usize {
        if self.entries.is_empty() { 0 } else { self.dimensions }
    }

    fn room(&self) -> usize {
        (self.capacity / (self.dimensions * size_of::<f32>() + OVERHEAD)).max(1)
    }
}

/// The vector with length 1; `None` when it is empty or not all of it are numbers.
pub fn normalised(vector: &[f32]) -> Option<Vector> {
    let squares: f64 = vector.iter().map(|&number| f64::from(number).powi(2)).sum();
    if vector.is_empty() || !squares.is_finite() {
        return None;
    }
    let length = squares.sqrt();
    let scale = if length > 0.0 { length.recip() } else { 0.0 };
    Some(vector.iter().map(|&number| (f64::from(number) * scale) as f32).collect())
}

/// The cosine of the angle between two vectors of length 1.
pub fn cosine(one: &[f32], other: &[f32]) -> f32 {
    // several sums at once, which the processor adds side by side
    const LANES: usize = 8;
    let (ones, ones_rest) = one.as_chunks::<LANES>();
    let (others, others_rest) = other.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (one, other) in ones.iter().zip(others) {
        for (sum, (one, other)) in sums.iter_mut().zip(one.iter().zip(other)) {
            *sum += one * other;
        }
    }
    let rest: f32 = ones_rest.iter().zip(others_rest).map(|(one, other)| one * other).sum();
    sums.iter().sum::<f32>() + rest
}

/// How much nearer than usual each candidate is: what its cosine has above the mean, in standard
/// deviations. What is near at all, or has terms, gets a share of what its neighbours within a group
/// have. From 0 to 1.
///
/// `cosines` has one for each candidate with a vector, `lexical` the scores of terms; `groups` are
/// candidates in their order.
pub fn nearness<'a>(
    cosines: &[Option<f32>],
    lexical: &[f32],
    groups: impl Iterator<Item = &'a [usize]>,
) -> Vec<f32> {
    let count = cosines.iter().flatten().count().max(1) as f32;
    let mean = cosines.iter().flatten().sum::<f32>() / count;
    let squares = cosines.iter().flatten().map(|cosine| (cosine - mean).powi(2));
    let deviation = (squares.sum::<f32>() / count).sqrt();
    // what is all the same tells nothing, rounding aside
    if deviation < 1e-5 {
        return vec![0.0; cosines.len()];
    }
    let above =
        |cosine: &Option<f32>| cosine.map_or(0.0, |cosine| ((cosine - mean) / deviation).max(0.0));
    let own: Vec<f32> = cosines.iter().map(above).collect();
    let mut near = own.clone();
    for members in groups {
        for pair in members.windows(2) {
            let &[before, after] = pair else { continue };
            for (to, from) in [(before, after), (after, before)] {
                let has_terms = lexical.get(to).is_some_and(|&score| score > 0.0);
                if let (Some(to), Some(from)) = (near.get_mut(to), own.get(from))
                    && (has_terms || *to > 0.0)
                {
                    *to += NEIGHBOUR * from;
                }
            }
        }
    }
    let best = near.iter().copied().fold(0.0, f32::max);
    near.iter_mut().for_each(|near| *near /= best);
    near
}

/// Fuses scores of terms, as shares of the best (from 0 to 1), with nearness (from 0 to 1). Where one
/// of them says nothing, the other counts alone. One score for each candidate.
pub fn fuse(lexical: &[f32], near: &[f32]) -> Vec<f32> {
    let tells = |scores: &[f32]| scores.iter().any(|&score| score > 0.0);
    let weight = match (tells(lexical), tells(near)) {
        (_, false) => 1.0,
        (false, true) => 0.0,
        (true, true) => LEXICAL,
    };
    lexical.iter().zip(near).map(|(terms, near)| weight * terms + (1.0 - weight) * near).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(numbers: &[f32]) -> Vector {
        normalised(numbers).unwrap()
    }

    fn with_room(vectors: usize, dimensions: usize) -> Vectors {
        let capacity = vectors * (dimensions * size_of::<f32>() + OVERHEAD);
        Vectors { capacity, ..Vectors::default() }
    }

    #[test]
    fn the_oldest_leave_first_and_are_not_wanted_again() {
        let mut vectors = with_room(3, 2);
        for sequence in [5, 3, 4, 6] {
            assert!(vectors.wants(sequence), "{sequence}");
            vectors.insert(sequence, vector(&[1.0, 0.0]));
        }
        let kept = |vectors: &Vectors, sequence| vectors.get(&[sequence], 2) != [None];
        assert!(!kept(&vectors, 3) && kept(&vectors, 4) && kept(&vectors, 6));
        assert!(!vectors.wants(3) && !vectors.wants(5) && vectors.wants(7));
        vectors.insert(2, vector(&[1.0, 0.0]));
        assert!(!kept(&vectors, 2) && kept(&vectors, 4), "an older one finds no room");
        vectors.remove(5);
        assert!(vectors.wants(3), "there is room again");
        vectors.clear();
        assert_eq!((vectors.dimensions(), vectors.wants(4)), (0, true));
    }

    #[test]
    fn another_length_is_another_model() {
        let mut vectors = Vectors::default();
        vectors.insert(1, vector(&[1.0, 0.0]));
        assert_eq!(vectors.get(&[1, 2], 3), [None, None]);
        vectors.insert(2, vector(&[1.0, 0.0, 0.0]));
        assert!(vectors.wants(1));
        assert_eq!(vectors.dimensions(), 3);
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        for wrong in [&[][..], &[f32::NAN, 1.0], &[f32::INFINITY], &[1.0, f32::NEG_INFINITY]] {
            assert_eq!(normalised(wrong), None, "{wrong:?}");
        }
        assert_eq!(*vector(&[0.0, 0.0]), [0.0, 0.0]);
        assert_eq!(*vector(&[f32::MAX, 0.0]), [1.0, 0.0]);
        assert_eq!(*vector(&[3.0, 4.0]), [0.6, 0.8]);
    }

    #[test]
    fn nearness_is_what_stands_out() {
        let cosines = [Some(0.1), Some(0.9), None, Some(0.1), Some(0.1)];
        let near = nearness(&cosines, &[0.0; 5], std::iter::empty());
        assert_eq!(near, [0.0, 1.0, 0.0, 0.0, 0.0]);
        let groups = [vec![0, 1, 2], vec![3, 4]];
        let groups = || groups.iter().map(Vec::as_slice);
        let near = nearness(&cosines, &[0.5, 0.0, 0.0, 0.5, 0.0], groups());
        assert!((near[0] - 0.2).abs() < 1e-6, "has terms and a near neighbour: {near:?}");
        assert_eq!(near[1..], [1.0, 0.0, 0.0, 0.0]);
        let both = nearness(&[Some(0.9), Some(0.8), Some(0.1), Some(0.0)], &[0.0; 4], groups());
        assert!(both[0] == 1.0 && both[1] > 0.8 && both[2..] == [0.0, 0.0], "{both:?}");
        assert_eq!(nearness(&[Some(0.7); 3], &[0.0; 3], groups()), [0.0; 3], "all the same");
        assert_eq!(nearness(&[None; 2], &[0.0; 2], groups()), [0.0; 2]);
    }

    #[test]
    fn terms_count_most_and_either_counts_alone() {
        let fused = fuse(&[1.0, 0.5, 0.0], &[0.0, 1.0, 1.0]);
        for (fused, expected) in fused.iter().zip([0.8, 0.6, 0.2]) {
            assert!((fused - expected).abs() < 1e-6, "{fused} is not {expected}");
        }
        assert_eq!(fuse(&[1.0, 0.5], &[0.0; 2]), [1.0, 0.5]);
        assert_eq!(fuse(&[0.0; 2], &[1.0, 0.5]), [1.0, 0.5]);
    }

    proptest! {
        #[test]
        fn cosines_are_those_of_the_plain_formula(
            one in prop::collection::vec(-100.0_f32..100.0, 1..40),
            other in prop::collection::vec(-100.0_f32..100.0, 40),
        ) {
            let other = other.get(..one.len()).unwrap_or_default();
            let dot: f64 = one.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let length = |vector: &[f32]| vector.iter().map(|a| f64::from(*a).powi(2)).sum::<f64>().sqrt();
            let product = length(&one) * length(other);
            let expected = if product > 0.0 { dot / product } else { 0.0 };
            let cosine = cosine(&vector(&one), &vector(other));
            prop_assert!((f64::from(cosine) - expected).abs() < 1e-4, "{cosine} is not {expected}");
        }

        #[test]
        fn memory_is_bounded(sequences in prop::collection::vec(0_u64..100, 0..200)) {
            let mut vectors = with_room(10, 3);
            for sequence in &sequences {
                vectors.insert(*sequence, vector(&[1.0, 2.0, 3.0]));
                prop_assert!(vectors.entries.len() <= 10);
            }
            let mut latest = sequences;
            latest.sort_unstable();
            latest.dedup();
            for sequence in latest.iter().rev().take(10) {
                prop_assert!(vectors.entries.contains_key(sequence), "the latest stay");
            }
        }
    }
}
