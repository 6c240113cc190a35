//! Finds a thousand short texts in one pass, without regard to ASCII case. Of every three
//! and four bytes small tables tell whether a text may begin there; they stay in the nearest cache,
//! where the states of an automaton for so many texts do not.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// Bytes that decide whether an anchor may begin.
pub(super) const HEAD: usize = 3;
const TABLE_BITS: u32 = 16;
const WORD_BITS: u32 = u64::BITS;

/// What follows a head, and the anchor's number.
type Tail = (Box<[u8]>, usize);

/// Texts to look for, by numbers in the order they were given.
#[derive(Debug)]
pub(super) struct AnchorSet {
    /// Those of three bytes.
    short: Heads,
    /// Longer ones, by their first four: three letters of theirs stand in every text.
    long: Heads,
}

impl AnchorSet {
    /// Of texts in lower case. Those with less than [`HEAD`] bytes are never found.
    pub fn new(anchors: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let mut set = Self { short: Heads::default(), long: Heads::default() };
        for (number, anchor) in anchors.into_iter().enumerate() {
            let anchor = anchor.as_ref();
            let is_long = anchor.len() > HEAD;
            let heads = if is_long { &mut set.long } else { &mut set.short };
            let length = if is_long { LONG_HEAD } else { HEAD };
            if let Some((head, tail)) = anchor.split_at_checked(length) {
                let head = head.iter().fold(0, |head, &byte| head << 8 | u32::from(byte));
                heads.add(head, (tail.into(), number));
            }
        }
        set
    }

    /// Visits the anchors that begin in a part of the text, about in their order, until `visit` says
    /// that it is enough.
    pub fn visit(
        &self,
        text: &[u8],
        part: Range<usize>,
        mut visit: impl FnMut(Range<usize>, usize) -> bool,
    ) {
        let end = part.end.saturating_add(LONG_HEAD - 1).min(text.len());
        let mut head = 0_u32;
        for (offset, byte) in text.get(part.start..end).unwrap_or_default().iter().enumerate() {
            head = head << 8 | u32::from(byte.to_ascii_lowercase());
            let short = head & 0x00FF_FFFF;
            let at = part.start + offset + 1;
            if self.short.may_hold(short)
                && offset + 1 >= HEAD
                && at - HEAD < part.end
                && !self.short.visit(short, text, at, HEAD, &mut visit)
            {
                return;
            }
            if self.long.may_hold(head)
                && offset + 1 >= LONG_HEAD
                && !self.long.visit(head, text, at, LONG_HEAD, &mut visit)
            {
                return;
            }
        }
    }
}

/// Bytes that decide whether a longer anchor may begin.
const LONG_HEAD: usize = 4;

/// Beginnings of one length.
#[derive(Debug)]
struct Heads {
    /// A bit for every hash of a head.
    table: Vec<u64>,
    /// What follows each.
    tails: FxHashMap<u32, Vec<Tail>>,
}

impl Default for Heads {
    fn default() -> Self {
        let words = 1 << (TABLE_BITS - WORD_BITS.ilog2());
        Self { table: vec![0; words], tails: FxHashMap::default() }
    }
}

impl Heads {
    fn add(&mut self, head: u32, tail: Tail) {
        let (word, bit) = place(head);
        if let Some(word) = self.table.get_mut(word) {
            *word |= bit;
        }
        self.tails.entry(head).or_default().push(tail);
    }

    #[inline]
    fn may_hold(&self, head: u32) -> bool {
        let (word, bit) = place(head);
        self.table.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Visits the anchors with this head, of so many bytes, which ends at `at`.
    fn visit(
        &self,
        head: u32,
        text: &[u8],
        at: usize,
        length: usize,
        visit: &mut impl FnMut(Range<usize>, usize) -> bool,
    ) -> bool {
        self.tails.get(&head).map_or(&[][..], Vec::as_slice).iter().all(|(tail, number)| {
            let end = at + tail.len();
            let is_there = text.get(at..end).is_some_and(|found| found.eq_ignore_ascii_case(tail));
            !is_there || visit(at - length..end, *number)
        })
    }
}

/// Where in the table a head has its bit.
#[inline]
fn place(head: u32) -> (usize, u64) {
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
