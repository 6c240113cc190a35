//! The parts of a text in which anchors are examined, and the anchors in a part where they are known.

use std::ops::Range;

use super::scanner::Found;

/// The parts of a text in which anchors are examined.
pub(super) struct Parts<'a> {
    pub ranges: &'a [Range<usize>],
    /// The anchors of the only part, where they are known, so that they are not searched for.
    pub known: Option<&'a [Found]>,
}

impl<'a> Parts<'a> {
    pub const fn new(ranges: &'a [Range<usize>]) -> Self {
        Self { ranges, known: None }
    }
}

/// The anchors that begin in a part of a text. Removes the anchors before it from `anchors`, of which adjacent ones may be in reverse order.
pub(super) fn anchors_in<'a>(
    anchors: &mut &'a [Found],
    part: &Range<usize>,
) -> impl Iterator<Item = Found> + use<'a> {
    let before = anchors.iter().take_while(|(range, _)| range.start + 1 < part.start).count();
    *anchors = anchors.get(before..).unwrap_or_default();
    let part = part.clone();
    let near = anchors.iter().take_while({
        let end = part.end;
        move |(range, _)| range.start <= end
    });
    near.filter(move |(range, _)| part.contains(&range.start)).cloned()
}
