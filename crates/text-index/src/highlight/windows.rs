//! Finds the passages of a text with the best scores: those with the most, and the rarest, terms of a query.

use std::cmp::{Ordering, Reverse};
use std::collections::VecDeque;
use std::ops::Range;

/// Candidates kept per requested passage. More than one is needed, because later candidates may displace overlapping
/// ones.
const KEPT: usize = 4;

/// A passage with matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// From the start of the first match to the end of the last.
    pub(crate) range: Range<usize>,
    /// Sum of the weights of the distinct terms in the passage. Rare terms have higher weights.
    pub(crate) worth: u64,
}

/// Receives matches ordered by start, and finds the best passages.
pub(crate) struct Windows<'w> {
    weights: &'w [u64],
    /// Maximum length of a passage in bytes.
    span: usize,
    wanted: usize,
    open: VecDeque<(Range<usize>, usize)>,
    /// For each term number, how many matches are in the current passage.
    counts: Vec<u32>,
    /// How many terms are in the current passage, and their total weight.
    distinct: usize,
    weight: u64,
    group: Option<Group>,
    best: Vec<Window>,
    /// For each term number, whether it was found so far.
    seen: Vec<bool>,
}

/// Passages that begin within one span, of which the best is kept.
struct Group {
    start: usize,
    best: Window,
}

impl<'w> Windows<'w> {
    /// Finds the best `wanted` passages of at most `span` bytes. `weights` are indexed by the number of the matched
    /// term.
    pub(crate) fn new(weights: &'w [u64], span: usize, wanted: usize) -> Self {
        Self {
            weights,
            span: span.max(1),
            wanted,
            open: VecDeque::new(),
            counts: vec![0; weights.len()],
            distinct: 0,
            weight: 0,
            group: None,
            best: Vec::new(),
            seen: vec![false; weights.len()],
        }
    }

    /// Adds the next match.
    pub(crate) fn push(&mut self, range: Range<usize>, number: usize) {
        while self.open.front().is_some_and(|(first, _)| range.end > first.start + self.span) {
            self.close_first();
        }
        if let Some(seen) = self.seen.get_mut(number) {
            *seen = true;
        }
        if let Some(count) = self.counts.get_mut(number) {
            *count += 1;
            if *count == 1 {
                self.distinct += 1;
                self.weight += self.weights.get(number).copied().unwrap_or_default();
            }
        }
        self.open.push_back((range, number));
    }

    /// For each term number, whether it was found.
    pub(crate) fn seen(&self) -> &[bool] {
        &self.seen
    }

    /// The passages, best first; equal ones in the order of the text. They do not overlap.
    pub(crate) fn finish(mut self) -> Vec<Window> {
        while !self.open.is_empty() {
            self.close_first();
        }
        self.best.extend(self.group.take().map(|group| group.best));
        self.order();
        let mut chosen: Vec<Window> = Vec::with_capacity(self.wanted.min(self.best.len()));
        for window in self.best {
            let is_near =
                |other: &Window| other.range.start.abs_diff(window.range.start) < self.span;
            if chosen.len() < self.wanted && !chosen.iter().any(is_near) {
                chosen.push(window);
            }
        }
        chosen
    }

    /// Closes the passage that begins with the first open match.
    fn close_first(&mut self) {
        let Some((first, number)) = self.open.pop_front() else { return };
        let last = self.open.iter().rev().map(|(range, _)| range.end).next();
        let worth = self.weight;
        let is_varied = self.distinct > 1;
        if let Some(count) = self.counts.get_mut(number) {
            *count -= 1;
            if *count == 0 {
                self.distinct -= 1;
                self.weight -= self.weights.get(number).copied().unwrap_or_default();
            }
        }
        let range = first.start..last.unwrap_or_default().max(first.end);
        let window = Window { range, worth };
        match &mut self.group {
            Some(group) if window.range.start < group.start + self.span => {
                let is_better = match window.worth.cmp(&group.best.worth) {
                    Ordering::Greater => true,
                    // The matches are closer together.
                    Ordering::Equal => is_varied && window.range.len() < group.best.range.len(),
                    Ordering::Less => false,
                };
                if is_better {
                    group.best = window;
                }
            }
            group => {
                let done = group.replace(Group { start: window.range.start, best: window });
                self.best.extend(done.map(|group| group.best));
                if self.best.len() > self.wanted.saturating_mul(KEPT * 2) {
                    self.order();
                    self.best.truncate(self.wanted * KEPT);
                }
            }
        }
    }

    fn order(&mut self) {
        self.best.sort_by_key(|window| (Reverse(window.worth), window.range.start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The starts and ends of the best passages.
    fn best(matches: &[(usize, usize)], span: usize) -> Vec<(usize, usize)> {
        let mut windows = Windows::new(&[10, 1, 3], span, 2);
        matches.iter().for_each(|&(start, number)| windows.push(start..start + 5, number));
        windows.finish().iter().map(|window| (window.range.start, window.range.end)).collect()
    }

    #[test]
    fn the_rarest_and_the_most_come_first() {
        assert_eq!(
            best(&[(0, 1), (500, 0), (1000, 2), (1010, 1)], 100),
            [(500, 505), (1000, 1015)]
        );
        assert_eq!(best(&[(0, 1), (90, 0), (150, 2)], 100), [(90, 155)]);
        assert_eq!(best(&[(0, 1), (20, 1), (40, 1), (60, 0), (70, 1)], 100), [(60, 75)]);
        assert_eq!(best(&[(0, 0), (10, 0), (200, 0)], 100), [(0, 15), (200, 205)]);
        assert_eq!(best(&[], 100), []);
    }

    #[test]
    fn a_million_matches_take_little_memory() {
        let mut windows = Windows::new(&[1, 1], 100, 3);
        for start in 0..1_000_000 {
            windows.push(start * 7..start * 7 + 3, usize::from(start == 500_000));
            assert!(windows.best.len() <= 24 && windows.open.len() <= 16);
        }
        let best = windows.finish();
        assert!(best[0].range.contains(&3_500_000), "{:?}", best[0]);
    }
}
