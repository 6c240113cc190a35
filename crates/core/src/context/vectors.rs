//! Vectors of documents from the caller's embedding model, and their similarity to a question.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;
use text_index::Scored;

/// The most bytes of vectors; the oldest are dropped first.
const CAPACITY: usize = 64 * 1024 * 1024;
/// The cost of a vector beside its numbers, in bytes.
const OVERHEAD: usize = 64;
/// The number of standard deviations above the mean from which on the nearest document gets its full weight. If no
/// document is that far above the mean, similarity counts less.
const OUTSTANDING: f32 = 6.0;
/// What the nearest document's score gains, relative to the best score by terms.
const NEAREST: f32 = 1.0;

/// A vector of length 1 or 0.
pub type Vector = Arc<[f32]>;

/// The vectors of documents, by their sequences: all with the same number of dimensions, within a budget of bytes.
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
    /// Inserts a vector. If its number of dimensions differs, it is from another model, and all others are dropped.
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

    /// Whether a document has no vector and would get one.
    pub fn wants(&self, sequence: u64) -> bool {
        let oldest = self.entries.first_key_value().map(|(&oldest, _)| oldest);
        let has_room =
            self.entries.len() < self.room() || oldest.is_none_or(|oldest| oldest < sequence);
        has_room && !self.entries.contains_key(&sequence)
    }

    /// Removes a document's vector.
    pub fn remove(&mut self, sequence: u64) {
        self.entries.remove(&sequence);
    }

    /// Removes all vectors.
    pub fn clear(&mut self) {
        *self = Self { capacity: self.capacity, ..Self::default() };
    }

    /// The vectors of these documents, if vectors have `dimensions` numbers.
    pub fn get(&self, sequences: &[u64], dimensions: usize) -> Vec<Option<Vector>> {
        let has_length = dimensions == self.dimensions;
        let vector = |sequence| self.entries.get(sequence).filter(|_| has_length).map(Arc::clone);
        sequences.iter().map(vector).collect()
    }

    /// The number of dimensions; 0 without vectors.
    pub fn dimensions(&self) -> usize {
        if self.entries.is_empty() { 0 } else { self.dimensions }
    }

    fn room(&self) -> usize {
        (self.capacity / (self.dimensions * size_of::<f32>() + OVERHEAD)).max(1)
    }
}

/// The vector scaled to length 1; `None` if it is empty or has a value that is not finite.
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
    // several sums at once, which the processor computes in parallel
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

/// The similarity of each candidate relative to the others, from 0 to 1: the distance of its cosine from the mean in
/// standard deviations, divided by the greatest, cubed so that only the nearest count.
///
/// `cosines` has `None` for candidates without a vector.
pub fn nearness(cosines: &[Option<f32>]) -> Vec<f32> {
    let count = cosines.iter().flatten().count().max(1) as f32;
    let mean = cosines.iter().flatten().sum::<f32>() / count;
    let squares = cosines.iter().flatten().map(|cosine| (cosine - mean).powi(2));
    let deviation = (squares.sum::<f32>() / count).sqrt();
    // Equal cosines, apart from rounding, do not distinguish the candidates.
    if deviation < 1e-5 {
        return vec![0.0; cosines.len()];
    }
    let above =
        |cosine: &Option<f32>| cosine.map_or(0.0, |cosine| ((cosine - mean) / deviation).max(0.0));
    let mut near: Vec<f32> = cosines.iter().map(above).collect();
    let most = near.iter().copied().fold(OUTSTANDING, f32::max);
    near.iter_mut().for_each(|near| *near = (*near / most).powi(3));
    near
}

/// Adds nearness, one number for each candidate, to the scores by terms. A near candidate counts as a match. `groups`
/// and `timestamps` are those of the candidates.
pub fn add_nearness(scored: &mut Vec<Scored>, near: &[f32], groups: &[u64], timestamps: &[i64]) {
    let best = scored.iter().map(|hit| hit.score).fold(0.0, f32::max);
    let nearest = NEAREST * if best > 0.0 { best } else { 1.0 };
    let mut by_group: FxHashMap<u64, f32> = FxHashMap::default();
    for (near, group) in near.iter().zip(groups).filter(|(_, group)| **group != 0) {
        let most = by_group.entry(*group).or_default();
        *most = most.max(nearest * near);
    }
    let mut coverage: FxHashMap<u64, f32> = FxHashMap::default();
    let mut is_scored = vec![false; near.len()];
    for hit in scored.iter_mut() {
        coverage.insert(hit.group, hit.group_score);
        is_scored.get_mut(hit.position).into_iter().for_each(|slot| *slot = true);
        hit.near = nearest * near.get(hit.position).copied().unwrap_or_default();
        hit.score += hit.near;
    }
    let candidates = near.iter().zip(groups).zip(timestamps).enumerate();
    let others = candidates
        .zip(is_scored)
        .filter(|((_, ((near, _), _)), is_scored)| !is_scored && **near > 0.0);
    scored.extend(others.map(|((position, ((near, &group), &timestamp)), _)| Scored {
        position,
        score: nearest * near,
        near: nearest * near,
        group,
        group_score: coverage.get(&group).copied().unwrap_or_default(),
        timestamp,
        ..Scored::default()
    }));
    for hit in scored.iter_mut() {
        hit.group_score += by_group.get(&hit.group).copied().unwrap_or_default();
    }
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
        let near = nearness(&cosines);
        assert!(near[1] > 0.02 && near[1] < 0.03, "√3 deviations of 6, cubed: {near:?}");
        assert_eq!([near[0], near[2], near[3], near[4]], [0.0; 4]);
        let mut many = vec![Some(0.1); 100];
        many.push(Some(0.9));
        assert_eq!(nearness(&many)[100], 1.0);
        assert_eq!(nearness(&[Some(0.7); 3]), [0.0; 3], "all the same");
        assert_eq!(nearness(&[None; 2]), [0.0; 2]);
    }

    #[test]
    fn near_candidates_match_and_lift_their_groups() {
        let hit = |position, score, near, group, group_score| Scored {
            position,
            score,
            near,
            group,
            group_score,
            ..Scored::default()
        };
        let mut scored = vec![hit(0, 2.0, 0.0, 1, 3.0)];
        add_nearness(&mut scored, &[0.5, 1.0, 0.0, 0.25], &[1, 1, 1, 0], &[0; 4]);
        assert_eq!(
            scored,
            [hit(0, 3.0, 1.0, 1, 5.0), hit(1, 2.0, 2.0, 1, 5.0), hit(3, 0.5, 0.5, 0, 0.0)]
        );
        let mut none = Vec::new();
        add_nearness(&mut none, &[0.0, 1.0], &[0, 0], &[0; 2]);
        assert_eq!(none, [hit(1, 1.0, 1.0, 0, 0.0)], "no term matches");
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
