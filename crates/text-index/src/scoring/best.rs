//! Keeps the best of the documents that are pushed.

use std::cmp::Ordering;

use crate::scoring::ranked::Ranked;

/// Keeps up to twice the limit, and drops the worse half when full, which costs less than a heap.
pub(crate) struct Best {
    limit: Option<usize>,
    kept: Vec<Ranked>,
    /// The score of the last document within the limit, once there are enough.
    threshold: Option<f32>,
}

impl Best {
    /// Without a limit, all documents are kept.
    pub(crate) fn new(limit: Option<usize>) -> Self {
        Self { limit, kept: Vec::new(), threshold: None }
    }

    pub(crate) fn limit(&self) -> Option<usize> {
        self.limit
    }

    pub(crate) fn push(&mut self, document: Ranked) {
        if self.threshold.is_some_and(|threshold| document.score < threshold) {
            return;
        }
        self.kept.push(document);
        if self.limit.is_some_and(|limit| self.kept.len() >= limit.saturating_mul(2).max(64)) {
            self.drop_worse();
        }
    }

    /// A document with a lower score cannot be among the best any more.
    pub(crate) fn threshold(&mut self) -> Option<f32> {
        self.drop_worse();
        self.threshold
    }

    /// The documents, the best `count` first and the others in no order.
    pub(crate) fn into_best_first(mut self, count: usize) -> Vec<Ranked> {
        self.drop_worse();
        put_best_first(&mut self.kept, count);
        self.kept
    }

    /// The documents, best first. Scores are not negative.
    pub(crate) fn into_sorted(mut self) -> Vec<Ranked> {
        self.drop_worse();
        // Sorts by integers first, which is several times faster. Only equal scores need the full comparison, where the
        // last pushed come first, because they are mostly the latest.
        let keys = self.kept.iter().zip(0_u32..).map(|(document, place)| {
            u64::from(!document.score.to_bits()) << 32 | u64::from(!place)
        });
        let mut keys: Vec<u64> = keys.collect();
        keys.sort_unstable();
        let mut sorted: Vec<Ranked> =
            keys.iter().filter_map(|key| self.kept.get(!(*key as u32) as usize).copied()).collect();
        for equal in sorted.chunk_by_mut(|left, right| left.score == right.score) {
            equal.sort_unstable_by(better_first);
        }
        sorted
    }

    fn drop_worse(&mut self) {
        let Some(limit) = self.limit.filter(|limit| *limit <= self.kept.len()) else { return };
        if let Some(last) = limit.checked_sub(1) {
            let (_, last, _) = self.kept.select_nth_unstable_by(last, better_first);
            self.threshold = Some(last.score);
        }
        self.kept.truncate(limit);
    }
}

/// Moves the best `count` to the front, in order.
pub(crate) fn put_best_first(documents: &mut [Ranked], count: usize) {
    if count < documents.len() {
        documents.select_nth_unstable_by(count, better_first);
    }
    let best = documents.len().min(count);
    documents.split_at_mut(best).0.sort_unstable_by(better_first);
}

pub(crate) fn better_first(left: &Ranked, right: &Ranked) -> Ordering {
    let by_score = right.score.total_cmp(&left.score);
    by_score.then_with(|| (right.timestamp, right.which).cmp(&(left.timestamp, left.which)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scoring::ranked::Which;

    proptest! {
        #[test]
        fn the_best_first_are_those_of_all_in_order(scores in prop::collection::vec((0_u8..20, 0_i64..3), 0..200), count in 0_usize..60) {
            let (mut sorted, mut partly) = (Best::new(None), Best::new(None));
            for (sequence, (score, timestamp)) in (0..).zip(&scores) {
                let document = Ranked { which: Which::Known(sequence), score: f32::from(*score), group: 0, group_score: 0.0, timestamp: *timestamp };
                sorted.push(document);
                partly.push(document);
            }
            let (sorted, partly) = (sorted.into_sorted(), partly.into_best_first(count));
            prop_assert_eq!(sorted.len(), partly.len());
            prop_assert!(sorted.iter().take(count).eq(partly.iter().take(count)));
        }

        #[test]
        fn a_limit_keeps_the_first_of_all(scores in prop::collection::vec((0_u8..20, 0_i64..3), 0..400), limit in 0_usize..50) {
            let (mut all, mut limited) = (Best::new(None), Best::new(Some(limit)));
            for (sequence, (score, timestamp)) in (0..).zip(&scores) {
                let document = Ranked { which: Which::Known(sequence), score: f32::from(*score), group: 0, group_score: 0.0, timestamp: *timestamp };
                all.push(document);
                limited.push(document);
            }
            let mut all = all.into_sorted();
            prop_assert!(all.is_sorted_by(|left, right| better_first(left, right) == Ordering::Less));
            all.truncate(limit);
            prop_assert_eq!(limited.into_sorted(), all);
        }
    }
}
