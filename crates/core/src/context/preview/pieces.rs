//! The parts of a text that are shown within a number of bytes, with notes on the omitted text between them.

use std::ops::Range;

use crate::context::delimited::{TAG, shown_length};

/// A note on omitted bytes. It has the delimiter `mark`, which the text does not contain, so that it cannot be taken
/// for a part of the text.
pub(in crate::context) fn left_out(bytes: usize, mark: &str) -> String {
    format!("[… {bytes} bytes of {TAG}-{mark} left out …]\n")
}

/// A delimiter of the length that placeholders use, to compute sizes.
const ANY_MARK: &str = "0123456789abcdef";

/// A part, with the number of bytes it takes when shown.
#[derive(Debug, Clone)]
struct Piece {
    range: Range<usize>,
    shown: usize,
}

/// The parts that are shown.
pub(super) struct Pieces<'t> {
    text: &'t str,
    max_bytes: usize,
    pieces: Vec<Piece>,
    /// The most bytes that a note takes.
    note: usize,
    /// The bytes of the parts and of all notes except one.
    cost: usize,
}

impl<'t> Pieces<'t> {
    /// No parts yet. The parts and all notes except one will take at most `max_bytes` bytes.
    pub fn new(text: &'t str, max_bytes: usize) -> Self {
        let note = left_out(text.len(), ANY_MARK).len();
        Self { text, max_bytes, pieces: Vec::new(), note, cost: 0 }
    }

    /// Adds a part if it fits; returns whether it did. A gap between two parts that is no longer than a note is shown
    /// too.
    pub fn add(&mut self, range: Range<usize>) -> bool {
        if range.is_empty() || self.holds(&range) {
            return true;
        }
        let (before, joined, after) = self.joined(range);
        let shown = shown_bytes(self.text, &joined);
        let mut pieces = Vec::with_capacity(before + 1 + self.pieces.len() - after);
        pieces.extend_from_slice(self.pieces.get(..before).unwrap_or_default());
        pieces.push(Piece { range: joined, shown });
        pieces.extend_from_slice(self.pieces.get(after..).unwrap_or_default());
        let cost = self.cost_of(&pieces);
        if cost > self.max_bytes {
            return false;
        }
        self.pieces = pieces;
        self.cost = cost;
        true
    }

    /// Whether all of a range is shown.
    pub fn holds(&self, range: &Range<usize>) -> bool {
        let after = self.pieces.partition_point(|piece| piece.range.start <= range.start);
        let piece = after.checked_sub(1).and_then(|at| self.pieces.get(at));
        piece.is_some_and(|piece| range.end <= piece.range.end)
    }

    /// The number of parts.
    pub fn count(&self) -> usize {
        self.pieces.len()
    }

    /// The remaining bytes.
    pub fn room(&self) -> usize {
        self.max_bytes - self.cost
    }

    /// The length of the part at the beginning of the text.
    pub fn shown_at_beginning(&self) -> usize {
        self.pieces.first().filter(|piece| piece.range.start == 0).map_or(0, |piece| piece.shown)
    }

    /// The length of the part at the end of the text.
    pub fn shown_at_end(&self) -> usize {
        let end = self.text.len();
        self.pieces.last().filter(|piece| piece.range.end == end).map_or(0, |piece| piece.shown)
    }

    /// The parts, in their order.
    pub fn into_ranges(self) -> Vec<Range<usize>> {
        self.pieces.into_iter().map(|piece| piece.range).collect()
    }

    /// The union of a range with all parts that it touches: the number of parts before it, the union, and the index of
    /// the first part after it.
    fn joined(&self, range: Range<usize>) -> (usize, Range<usize>, usize) {
        let before = self.pieces.partition_point(|piece| piece.range.end + self.note < range.start);
        let after = self.pieces.partition_point(|piece| piece.range.start <= range.end + self.note);
        let touched = self.pieces.get(before..after).unwrap_or_default();
        let start = touched.first().map_or(range.start, |piece| piece.range.start.min(range.start));
        let end = touched.last().map_or(range.end, |piece| piece.range.end.max(range.end));
        (before, start..end, after.max(before))
    }

    fn cost_of(&self, pieces: &[Piece]) -> usize {
        let mut cost = 0;
        let mut gaps = usize::from(pieces.first().is_some_and(|piece| piece.range.start > 0));
        for piece in pieces {
            cost += piece.shown;
            if piece.range.end < self.text.len() {
                gaps += 1;
                // A note begins on a new line.
                let end = self.text.get(..piece.range.end).unwrap_or_default();
                cost += usize::from(!end.ends_with('\n'));
            }
        }
        cost + gaps.saturating_sub(1) * self.note
    }
}

/// The most bytes that a part of a text takes when shown.
pub(in crate::context) fn shown_bytes(text: &str, range: &Range<usize>) -> usize {
    let mut characters = text.get(range.clone()).unwrap_or_default().chars().peekable();
    let mut bytes = 0;
    while let Some(character) = characters.next() {
        bytes += shown_length(character, characters.peek().copied());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_are_apart_in_order_and_within_their_bound(
            ranges in prop::collection::vec((0_usize..4000, 1_usize..200), 0..30),
            max_bytes in 0_usize..2000,
        ) {
            let text = "some words of a line\n\x1b[0m".repeat(160);
            let mut pieces = Pieces::new(&text, max_bytes);
            let mut added = Vec::new();
            for (start, length) in ranges {
                let range = start.min(text.len())..(start + length).min(text.len());
                if pieces.add(range.clone()) {
                    added.push(range);
                }
            }
            for range in added {
                prop_assert!(range.is_empty() || pieces.holds(&range));
            }
            let note = pieces.note;
            let shown = pieces.into_ranges();
            let mut cost: usize = shown.iter().map(|range| shown_bytes(&text, range)).sum();
            prop_assert!(shown.windows(2).all(|pair| pair[0].end + note < pair[1].start));
            cost += shown.len().saturating_sub(2) * note;
            prop_assert!(cost <= max_bytes, "{cost}");
        }
    }
}
