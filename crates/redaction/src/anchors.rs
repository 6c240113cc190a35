//! Multi-pattern search for the anchors of all rules: finds about a thousand short texts in one pass, ignoring ASCII
//! case. Small hash tables of the first three and four bytes decide where a text may begin. They fit in the L1 cache;
//! the states of an automaton for as many texts do not.

use std::{cell::Cell, ops::Range};

use super::anchor_filter::{AnchorFilter, BLOCK, LONG_IS_HERE, SHORT_IS_NEXT};

/// Number of bytes that decide whether an anchor may begin.
pub(super) const HEAD: usize = 3;
const TABLE_BITS: u32 = 16;
const WORD_BITS: u32 = u64::BITS;

/// An anchor, split into its head (its first bytes) and the rest.
#[derive(Debug)]
struct Anchor {
    key: Key,
    /// The bytes after the head.
    tail: Box<[u8]>,
    number: usize,
}

/// The bytes that rule out most anchors without comparing the complete anchor.
#[derive(Debug, Clone, Copy)]
struct Key {
    head: u32,
    /// The first four bytes of `tail`, in which most anchors with the same head differ, and a mask of the bits that count.
    next: u32,
    mask: u32,
}

impl Anchor {
    fn new(head: &[u8], tail: &[u8], number: usize) -> Self {
        let head = head.iter().fold(0, |head, &byte| head << 8 | u32::from(byte));
        let mask = u32::MAX.checked_shr(32 - 8 * u32::try_from(tail.len().min(4)).unwrap_or(4));
        let key = Key { head, next: first_four(tail), mask: mask.unwrap_or(0) };
        Self { key, tail: tail.into(), number }
    }
}

/// The first four bytes of a text in lower case, the first in the lowest bits; zeros beyond the text's end.
#[inline]
fn first_four(text: &[u8]) -> u32 {
    let mut four = [0; 4];
    four.iter_mut().zip(text).for_each(|(four, byte)| *four = byte.to_ascii_lowercase());
    u32::from_le_bytes(four)
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
            && !self.short.visit(folded(&bytes), text, part.start + HEAD, HEAD, &mut visit)
        {
            return;
        }
        let end = part.end.min(text.len().saturating_sub(HEAD));
        let mut start = part.start;
        while let Some(rest) = text.get(start..end).filter(|rest| !rest.is_empty()) {
            let block = rest.len().min(BLOCK);
            let from_start = text.get(start..).unwrap_or_default();
            let candidates = self.filter.candidates(from_start, block);
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
            // The anchors of three bytes at a position are visited with the preceding position.
            start = (start + block).max(next.get().saturating_sub(1));
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
        let head = folded(text.get(here..at).unwrap_or_default());
        let has_short = kind & SHORT_IS_NEXT != 0 && here + 1 < part_end;
        let has_long = kind & LONG_IS_HERE != 0;
        (!has_short || self.short.visit(head & 0x00FF_FFFF, text, at, HEAD, visit))
            && (!has_long || self.long.visit(head, text, at, LONG_HEAD, visit))
    }
}

/// Converts bytes to lower case and packs them into a number.
#[inline]
fn folded(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |head, byte| head << 8 | u32::from(byte.to_ascii_lowercase()))
}

/// Number of bytes that decide whether an anchor of four or more bytes may begin.
const LONG_HEAD: usize = 4;

/// A hash table of heads of one length.
#[derive(Debug)]
struct Heads {
    /// One bit for every hash of a head.
    table: Vec<u64>,
    /// Number of set bits before each word of the table.
    bits_before: Vec<u32>,
    /// For each set bit, the end of its anchors in `anchors`.
    ends: Vec<u32>,
    /// Anchors ordered by the hash of their head; anchors with the same head keep the order in which they were given.
    anchors: Vec<Anchor>,
    /// The keys of `anchors`, contiguous in memory.
    keys: Vec<Key>,
}

impl Heads {
    fn new(mut anchors: Vec<Anchor>) -> Self {
        let mut table = vec![0_u64; 1 << (TABLE_BITS - WORD_BITS.ilog2())];
        anchors.sort_by_key(|anchor| place(anchor.key.head));
        let (mut ends, mut last) = (Vec::new(), None);
        for (index, anchor) in anchors.iter().enumerate() {
            let place = place(anchor.key.head);
            if last.replace(place) != Some(place) {
                ends.push(0);
            }
            let end = u32::try_from(index + 1).unwrap_or(u32::MAX);
            ends.last_mut().into_iter().for_each(|last| *last = end);
            table.get_mut(place.0).into_iter().for_each(|word| *word |= place.1);
        }
        let bits_before = table.iter().scan(0, |bits, word| {
            let before = *bits;
            *bits += word.count_ones();
            Some(before)
        });
        let keys = anchors.iter().map(|anchor| anchor.key).collect();
        Self { bits_before: bits_before.collect(), table, ends, anchors, keys }
    }

    #[inline]
    fn may_hold(&self, head: u32) -> bool {
        let (word, bit) = place(head);
        self.table.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The indexes of the anchors with the given head; anchors of another head with the same hash are included.
    #[inline]
    fn with_hash_of(&self, head: u32) -> Range<usize> {
        let (word, bit) = place(head);
        let in_word = self.table.get(word).map_or(0, |word| (word & (bit - 1)).count_ones());
        let number = (self.bits_before.get(word).copied().unwrap_or_default() + in_word) as usize;
        let end = self.ends.get(number).copied().unwrap_or_default();
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before));
        start.copied().unwrap_or_default() as usize..end as usize
    }

    /// Visits the anchors whose head is the `length` bytes that end at `at`.
    fn visit(
        &self,
        head: u32,
        text: &[u8],
        at: usize,
        length: usize,
        visit: &mut impl FnMut(Range<usize>, usize) -> bool,
    ) -> bool {
        if !self.may_hold(head) {
            return true;
        }
        let next = first_four(text.get(at..).unwrap_or_default());
        let numbers = self.with_hash_of(head);
        let keys = self.keys.get(numbers.clone()).unwrap_or_default();
        let same = keys.iter().zip(numbers);
        let mut same = same.filter(|(key, _)| key.head == head && next & key.mask == key.next);
        same.all(|(_, number)| {
            let Some(anchor) = self.anchors.get(number) else { return true };
            let end = at + anchor.tail.len();
            let is_there =
                text.get(at..end).is_some_and(|found| found.eq_ignore_ascii_case(&anchor.tail));
            !is_there || visit(at - length..end, anchor.number)
        })
    }
}

/// The bit of a head in the table.
#[inline]
const fn place(head: u32) -> (usize, u64) {
    let hash = head.wrapping_mul(0x9E37_79B1) >> (u32::BITS - TABLE_BITS);
    ((hash / WORD_BITS) as usize, 1 << (hash % WORD_BITS))
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
            anchors in prop::collection::vec("[ab_]{3,6}", 0..12),
            text in "[aAbB_cé]{0,40}",
            part in (0..40_usize, 0..40_usize),
        ) {
            let (start, end) = (part.0.min(text.len()), part.1.min(text.len()));
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
