//! Finds a thousand short texts in one pass, without regard to ASCII case. Of every three bytes a
//! small table tells whether a text may begin there; it stays in the nearest cache, where the states
//! of an automaton for so many texts do not.

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
    /// A bit for every hash of a head.
    table: Vec<u64>,
    /// By their heads.
    tails: FxHashMap<u32, Vec<Tail>>,
}

impl AnchorSet {
    /// Of texts in lower case. Those with less than [`HEAD`] bytes are never found.
    pub fn new(anchors: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let words = 1_usize << (TABLE_BITS - WORD_BITS.ilog2());
        let mut set = Self { table: vec![0; words], tails: FxHashMap::default() };
        for (number, anchor) in anchors.into_iter().enumerate() {
            let Some((head, tail)) = anchor.as_ref().split_at_checked(HEAD) else { continue };
            let head = head.iter().fold(0, |head, &byte| head << 8 | u32::from(byte));
            let (word, bit) = place(head);
            if let Some(word) = set.table.get_mut(word) {
                *word |= bit;
            }
            set.tails.entry(head).or_default().push((tail.into(), number));
        }
        set
    }

    /// Visits the anchors that begin in a part of the text, by where they begin, until `visit` says
    /// that it is enough.
    pub fn visit(
        &self,
        text: &[u8],
        part: Range<usize>,
        mut visit: impl FnMut(Range<usize>, usize) -> bool,
    ) {
        let end = part.end.saturating_add(HEAD - 1).min(text.len());
        let mut head = 0;
        for (offset, byte) in text.get(part.start..end).unwrap_or_default().iter().enumerate() {
            head = (head << 8 | u32::from(byte.to_ascii_lowercase())) & 0x00FF_FFFF;
            let (word, bit) = place(head);
            if offset + 1 < HEAD || self.table.get(word).is_none_or(|word| word & bit == 0) {
                continue;
            }
            let start = part.start + offset + 1 - HEAD;
            for (tail, number) in self.tails.get(&head).map_or(&[][..], Vec::as_slice) {
                let range = start..start + HEAD + tail.len();
                let is_there = text
                    .get(start + HEAD..range.end)
                    .is_some_and(|found| found.eq_ignore_ascii_case(tail));
                if is_there && !visit(range, *number) {
                    return;
                }
            }
        }
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
            anchors in prop::collection::vec("[ab_]{3,5}", 0..12),
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
