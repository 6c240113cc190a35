//! The stop words of a text: not ranked by, but kept for a query that has nothing else.

use serde::{Deserialize, Serialize};

use crate::index::document::{self, Document};
use crate::index::segment::Row;
use crate::index::view::View;
use crate::scoring::best::Best;
use crate::scoring::ranking::inverse_document_frequency;
use crate::scoring::search::{Ranked, RankedList, Which};

/// Which of the stop words a text has, by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopWords([u64; StopWords::CAPACITY / 64]);

impl StopWords {
    /// There are no more stop words.
    pub(crate) const CAPACITY: usize = 256;

    pub(crate) fn insert(&mut self, number: u8) {
        if let Some(bits) = self.0.get_mut(usize::from(number) / 64) {
            *bits |= 1 << (number % 64);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those that both have.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let mut bits = self.0.iter().zip(&other.0).map(|(left, right)| left & right);
        Self(std::array::from_fn(|_| bits.next().unwrap_or_default()))
    }

    /// Their numbers, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        let number = |(word, bits): (usize, u64)| {
            let mut rest = bits;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then(|| (word * 64) as u8 + bit as u8)
            })
        };
        self.0.into_iter().enumerate().flat_map(number)
    }
}

/// Ranks by the stop words themselves: better is who has more of those that few have.
pub(crate) fn rank(
    view: &View,
    wanted: &StopWords,
    known: &dyn Fn(u64) -> bool,
    foreign: &[Document<'_>],
    mut best: Best,
) -> RankedList<Ranked> {
    let in_segments = view.segments.iter().flat_map(|segment| segment.documents());
    let in_segments = in_segments.map(|(_, row)| row);
    let in_segments = in_segments.filter(|row| !view.is_announced(row.sequence));
    let recent = view.recent().into_iter().map(|(document, terms)| document.row_of(terms));
    let rows = in_segments.chain(recent);
    let mut documents: Vec<(Ranked, StopWords)> = Vec::new();
    for Row { sequence, timestamp, group, stop_words, .. } in rows {
        documents.push((unscored(Which::Known(sequence), timestamp, group), stop_words));
    }
    for (position, document) in foreign.iter().enumerate() {
        let which = Which::Foreign(position);
        let ranked = unscored(which, document.timestamp, document.group);
        documents.push((ranked, document::stop_words(document)));
    }
    let mut containing = [0_u64; StopWords::CAPACITY];
    for number in documents.iter().flat_map(|(_, found)| found.common(wanted).iter()) {
        containing.get_mut(usize::from(number)).into_iter().for_each(|count| *count += 1);
    }
    let weight = |number: u8| {
        let containing = containing.get(usize::from(number)).copied().unwrap_or_default();
        inverse_document_frequency(documents.len() as u64, containing)
    };
    for (document, found) in &documents {
        let common = found.common(wanted);
        let accepted = match document.which {
            Which::Known(sequence) => known(sequence),
            Which::Foreign(_) => true,
        };
        if accepted && !common.is_empty() {
            best.push(Ranked { score: common.iter().map(weight).sum(), ..*document });
        }
    }
    RankedList { maximum: wanted.iter().map(weight).sum(), hits: best.into_sorted() }
}

fn unscored(which: Which, timestamp: i64, group: u64) -> Ranked {
    Ranked { which, score: 0.0, group, group_score: 0.0, timestamp }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u8]) -> StopWords {
        let mut stop_words = StopWords::default();
        numbers.iter().for_each(|number| stop_words.insert(*number));
        stop_words
    }

    #[test]
    fn numbers_are_kept() {
        let numbers = [0, 1, 63, 64, 200, 255];
        assert_eq!(set(&numbers).iter().collect::<Vec<_>>(), numbers);
        assert!(set(&[]).is_empty() && !set(&[255]).is_empty());
        assert_eq!(set(&numbers).common(&set(&[1, 2, 200])), set(&[1, 200]));
    }
}
