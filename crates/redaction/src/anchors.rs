//! Multi-pattern search for the anchors of all rules: finds about a thousand short texts in one pass, ignoring ASCII
//! case. Small hash tables of the first three and four bytes decide where a text may begin. They fit in the L1 cache;
//! the states of an automaton for as many texts do not.

use std::{cell::Cell, ops::Range};

use super::anchor_filter::{AnchorFilter, BLOCK, CHUNK, LONG_IS_HERE, SHORT_IS_NEXT};

/// Number of bytes that decide whether an anchor may begin.
pub(super) const HEAD: usize = 3;
const TABLE_BITS: u32 = 12;

/// An anchor without its head, which are its first bytes.
#[derive(Debug)]
struct Anchor {
    key: Key,
    /// The bytes after those of the key.
    tail: Box<[u8]>,
    number: usize,
}

/// The bytes that rule out most anchors without comparing the complete anchor.
#[derive(Debug, Clone, Copy)]
struct Key {
    head: u32,
    /// The four bytes after the head, in which most anchors with the same head differ, and a mask of the bits that count.
    next: u32,
    mask: u32,
    /// The length of the anchor without its head.
    rest: u32,
}

/// Number of bytes of a key after the head.
const NEXT: usize = 4;

impl Anchor {
    fn new(head: &[u8], rest: &[u8], number: usize) -> Self {
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let mask = u32::MAX.checked_shr(32 - 8 * length.min(4)).unwrap_or(0);
        let key = Key { head: first_four(head), next: first_four(rest), mask, rest: length };
        Self { key, tail: rest.get(NEXT..).unwrap_or_default().into(), number }
    }
}

/// The first four bytes of a text in lower case, the first in the lowest bits; zeros beyond the text's end.
#[inline]
fn first_four(text: &[u8]) -> u32 {
    let four = text.first_chunk().copied().unwrap_or_else(|| {
        let mut four = [0; 4];
        four.iter_mut().zip(text).for_each(|(four, byte)| *four = *byte);
        four
    });
    lower(u32::from_le_bytes(four))
}

/// Converts the ASCII letters of four bytes to lower case.
#[inline]
const fn lower(four: u32) -> u32 {
    const fn every(byte: u8) -> u32 {
        u32::from_le_bytes([byte; 4])
    }
    // The high bit of each byte says whether the byte is from `A` on, and whether it is behind `Z`.
    let low = four & every(0x7F);
    let from_a = low + every(0x80 - b'A');
    let behind_z = low + every(0x7F - b'Z');
    let is_upper = (from_a ^ behind_z) & !four & every(0x80);
    four | is_upper >> 2
}

/// The anchors to search for, numbered in the order in which they were given.
#[derive(Debug)]
pub(super) struct AnchorSet {
    filter: AnchorFilter,
    /// Anchors of three bytes.
    short: Heads,
    /// Longer anchors, by their first four bytes: the first three occur in almost every text.
    long: Heads,
}

impl AnchorSet {
    /// Builds the search for anchors in lower case. Anchors with fewer than [`HEAD`] bytes are never found.
    pub fn new(anchors: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let anchors: Vec<_> = anchors.into_iter().collect();
        let texts = anchors.iter().map(AsRef::as_ref).filter(|anchor| anchor.len() >= HEAD);
        let filter = AnchorFilter::new(texts);
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for (number, anchor) in anchors.iter().enumerate() {
            let anchor = anchor.as_ref();
            let is_long = anchor.len() > HEAD;
            let (anchors, length) =
                if is_long { (&mut long, LONG_HEAD) } else { (&mut short, HEAD) };
            if let Some((head, tail)) = anchor.split_at_checked(length) {
                anchors.push(Anchor::new(head, tail, number));
            }
        }
        Self { filter, short: Heads::new(short), long: Heads::new(long) }
    }

    /// Visits the anchors that begin in a part of the text, roughly in order of position, until `visit` returns that it
    /// needs no more.
    pub fn visit(
        &self,
        text: &[u8],
        part: Range<usize>,
        mut visit: impl FnMut(Range<usize>, usize) -> bool,
    ) {
        self.visit_from(text, part, |found, number| visit(found, number).then_some(0));
    }

    /// As [`AnchorSet::visit`]. `visit` returns a position; anchors that begin before it may be skipped. `None` ends the search.
    pub fn visit_from(
        &self,
        text: &[u8],
        part: Range<usize>,
        mut visit: impl FnMut(Range<usize>, usize) -> Option<usize>,
    ) {
        let next = Cell::new(0);
        let mut visit = |found, number| {
            let position = visit(found, number);
            next.set(position.unwrap_or_default());
            position.is_some()
        };
        // Anchors of three bytes come before longer ones whose heads end at the same byte.
        let first = text.get(part.start..).and_then(|rest| rest.first_chunk::<HEAD>());
        if let Some(&bytes) = first.filter(|_| !part.is_empty())
            && self.filter.may_begin_short(bytes)
            && !self.short.visit(first_four(&bytes), text, part.start + HEAD, HEAD, &mut visit)
        {
            return;
        }
        let end = part.end.min(text.len().saturating_sub(HEAD));
        let mut start = part.start;
        while let Some(rest) = text.get(start..end).filter(|rest| !rest.is_empty()) {
            let from_start = text.get(start..).unwrap_or_default();
            let (chunk, block);
            let (blocks, count) = match from_start.first_chunk() {
                Some(input) if rest.len() >= CHUNK => {
                    chunk = self.filter.candidates_in_chunk(input);
                    (chunk.as_slice(), CHUNK)
                }
                _ => {
                    let count = rest.len().min(BLOCK);
                    block = self.filter.candidates(from_start, count);
                    (std::slice::from_ref(&block), count)
                }
            };
            for (candidates, start) in blocks.iter().zip((start..).step_by(BLOCK)) {
                let mut positions = candidates.positions;
                while positions != 0 {
                    let position = positions.trailing_zeros();
                    positions &= positions - 1;
                    let here = start + position as usize;
                    let kind = candidates.kind(position);
                    if !self.visit_at(text, (here, part.end), kind, &mut visit) {
                        return;
                    }
                }
            }
            // The anchors of three bytes at a position are visited with the preceding position.
            start = (start + count).max(next.get().saturating_sub(1));
        }
    }

    /// Visits the anchors that begin at a candidate, and the anchors of three bytes at the next position.
    fn visit_at(
        &self,
        text: &[u8],
        (here, part_end): (usize, usize),
        kind: u8,
        visit: &mut impl FnMut(Range<usize>, usize) -> bool,
    ) -> bool {
        let at = here + LONG_HEAD;
        let head = first_four(text.get(here..at).unwrap_or_default());
        let has_short = kind & SHORT_IS_NEXT != 0 && here + 1 < part_end;
        let has_long = kind & LONG_IS_HERE != 0;
        (!has_short || self.short.visit(head >> 8, text, at, HEAD, visit))
            && (!has_long || self.long.visit(head, text, at, LONG_HEAD, visit))
    }
}

/// Number of bytes that decide whether an anchor of four or more bytes may begin.
const LONG_HEAD: usize = 4;

/// A hash table of heads of one length.
#[derive(Debug)]
struct Heads {
    /// For each hash of a head, the start of its anchors in `anchors`; they end where those of the next hash start.
    starts: Vec<u16>,
    /// Anchors ordered by the hash of their head; anchors with the same head keep the order in which they were given.
    anchors: Vec<Anchor>,
    /// The keys of `anchors`, contiguous in memory.
    keys: Vec<Key>,
}

impl Heads {
    fn new(mut anchors: Vec<Anchor>) -> Self {
        anchors.sort_by_key(|anchor| place(anchor.key.head));
        let keys: Vec<Key> = anchors.iter().map(|anchor| anchor.key).collect();
        let start = |hash| keys.partition_point(|key| place(key.head) < hash);
        let starts = (0..=1 << TABLE_BITS).map(start);
        let starts = starts.map(|start| u16::try_from(start).unwrap_or(u16::MAX)).collect();
        Self { starts, anchors, keys }
    }

    /// The indexes of the anchors with the given head; anchors of another head with the same hash are included.
    #[inline]
    fn with_hash_of(&self, head: u32) -> Range<usize> {
        let place = place(head);
        match self.starts.get(place..place + 2) {
            Some(&[start, end]) => usize::from(start)..usize::from(end),
            _ => 0..0,
        }
    }

    /// Visits the anchors whose head is the `length` bytes that end at `at`.
    #[inline]
    fn visit(
        &self,
        head: u32,
        text: &[u8],
        at: usize,
        length: usize,
        visit: &mut impl FnMut(Range<usize>, usize) -> bool,
    ) -> bool {
        let numbers = self.with_hash_of(head);
        if numbers.is_empty() {
            return true;
        }
        let next = first_four(text.get(at..).unwrap_or_default());
        let keys = self.keys.get(numbers.clone()).unwrap_or_default();
        for (key, number) in keys.iter().zip(numbers) {
            let end = at + key.rest as usize;
            if key.head != head || next & key.mask != key.next || end > text.len() {
                continue;
            }
            let Some(anchor) = self.anchors.get(number) else { continue };
            let is_there = anchor.tail.is_empty()
                || text
                    .get(at + NEXT..end)
                    .is_some_and(|found| found.eq_ignore_ascii_case(&anchor.tail));
            if is_there && !visit(at - length..end, anchor.number) {
                return false;
            }
        }
        true
    }
}

/// The index of a head in the table.
#[inline]
const fn place(head: u32) -> usize {
    (head.wrapping_mul(0x9E37_79B1) >> (u32::BITS - TABLE_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(set: &AnchorSet, text: &str, part: Range<usize>) -> Vec<(Range<usize>, usize)> {
        let mut found = Vec::new();
        set.visit(text.as_bytes(), part, |range, number| {
            found.push((range, number));
            true
        });
        found.sort_by_key(|(range, number)| (range.start, *number));
        found
    }

    proptest! {
        #[test]
        fn every_anchor_is_found_wherever_it_begins(
            anchors in prop::collection::vec("[ab_]{3,9}", 0..12),
            text in "[aAbB_cé]{0,40}",
            times in 1..16_usize,
            part in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        ) {
            let text = text.repeat(times);
            let (start, end) = (part.0.index(text.len() + 1), part.1.index(text.len() + 1));
            let part = start..end.max(start);
            let mut expected = Vec::new();
            for at in part.clone() {
                for (number, anchor) in anchors.iter().enumerate() {
                    let range = at..at + anchor.len();
                    let here = text.as_bytes().get(range.clone());
                    if here.is_some_and(|here| here.eq_ignore_ascii_case(anchor.as_bytes())) {
                        expected.push((range, number));
                    }
                }
            }
            prop_assert_eq!(found(&AnchorSet::new(&anchors), &text, part), expected);
        }
    }

    proptest! {
        #[test]
        fn four_bytes_are_lower_as_each_of_them(bytes: [u8; 4]) {
            let expected = u32::from_le_bytes(bytes.map(|byte| byte.to_ascii_lowercase()));
            prop_assert_eq!(lower(u32::from_le_bytes(bytes)), expected);
        }
    }

    #[test]
    fn a_visit_can_end_early() {
        let set = AnchorSet::new(["abc"]);
        let mut visits = 0;
        set.visit(b"abcabc", 0..6, |_, _| {
            visits += 1;
            false
        });
        assert_eq!(visits, 1);
    }
}
