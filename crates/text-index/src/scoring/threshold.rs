//! Tracks the lowest of the best scores, for a given number of results. A document with a lower score is not among
//! them.

/// Number of scores beyond twice `count` that are kept before the lower ones are dropped.
const SLACK: usize = 64;

/// The lowest of the best `count` scores that were pushed.
pub(crate) struct Threshold {
    count: usize,
    scores: Vec<f32>,
    least: f32,
}

impl Threshold {
    pub(crate) fn new(count: usize) -> Self {
        Self { count: count.max(1), scores: Vec::new(), least: 0.0 }
    }

    pub(crate) fn push(&mut self, score: f32) {
        if score >= self.least {
            self.scores.push(score);
            if self.scores.len() >= self.count.saturating_mul(2).saturating_add(SLACK) {
                self.get();
            }
        }
    }

    /// The threshold; 0 while fewer than `count` scores were pushed.
    pub(crate) fn get(&mut self) -> f32 {
        let last = self.count - 1;
        if last < self.scores.len() {
            let (_, least, _) =
                self.scores.select_nth_unstable_by(last, |left, right| right.total_cmp(left));
            self.least = *least;
            self.scores.truncate(self.count);
        }
        self.least
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_threshold_is_the_last_of_the_best(scores in prop::collection::vec(0.0_f32..9.0, 0..400), count in 1_usize..40) {
            let mut threshold = Threshold::new(count);
            scores.iter().for_each(|score| threshold.push(*score));
            let mut sorted = scores;
            sorted.sort_by(|left, right| right.total_cmp(left));
            prop_assert_eq!(threshold.get(), sorted.get(count - 1).copied().unwrap_or_default());
        }
    }
}
