//! A queue of what may contain one of the best documents, ordered by upper bounds of the scores.

use crate::scoring::document_bounds::ROUNDING;

/// The size of the first batch; each further one is twice as large.
const FIRST_BATCH: usize = 16;

/// Items with upper bounds; those with the highest bounds are taken first.
pub(crate) struct Waiting<T> {
    items: Vec<(f32, T)>,
    batch: usize,
}

impl<T> Waiting<T> {
    pub(crate) fn new(items: Vec<(f32, T)>) -> Self {
        Self { items, batch: FIRST_BATCH }
    }

    /// Takes some items with the highest bounds; `None` if all bounds are below `least`. `least` must not fall from call to call.
    pub(crate) fn next(&mut self, least: f32) -> Option<Vec<T>> {
        self.items.retain(|(bound, _)| bound * ROUNDING >= least);
        let rest = self.items.len().saturating_sub(self.batch);
        self.batch *= 2;
        if rest > 0 {
            self.items.select_nth_unstable_by(rest, |left, right| left.0.total_cmp(&right.0));
        }
        let batch: Vec<T> = self.items.drain(rest..).map(|(_, item)| item).collect();
        (!batch.is_empty()).then_some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bounds_come_first_until_all_are_too_low() {
        let numbers = (0..100_u32).map(|number| (number * 37 % 100) as u8);
        let items = numbers.map(|number| (f32::from(number), number));
        let mut waiting = Waiting::new(items.collect());
        let mut taken: Vec<u8> = Vec::new();
        while let Some(mut batch) = waiting.next(30.0) {
            batch.sort_unstable_by(|left, right| right.cmp(left));
            taken.extend(batch);
        }
        assert!(taken.iter().copied().eq((30..100).rev()), "{taken:?}");
    }
}
