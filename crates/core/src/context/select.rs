//! Ranks pointers that the caller passes by their relevance to a question, synchronously, for `selectRelevantContexts`.
//!
//! Ranking takes no lock that a save holds: the index publishes snapshots, and whether this manager saved a context is
//! determined from its file name.

use rustc_hash::FxHashSet;
use text_index::{Boosts, Document, Question, Scored, Which, boost};

use super::{output_index::OutputIndex, pointer::group_of, session::Session};

/// A pointer to rank.
#[derive(Debug, Clone)]
pub enum Candidate {
    /// A context of this manager, by the number of its call.
    Known(u64),
    /// A pointer of another manager, with its text.
    Foreign(ForeignPointer),
}

/// A pointer that this manager may not know, with its members.
#[derive(Debug, Clone, Default)]
pub struct ForeignPointer {
    /// `filepath`.
    pub path: String,
    /// `toolName`.
    pub tool_name: String,
    /// `toolDescription`.
    pub description: String,
    /// Keys and values of `args` as plain text.
    pub arguments: String,
    /// `queryId`, a JSON token.
    pub query: Option<String>,
    /// `taskId`, a JSON token.
    pub task: Option<String>,
    /// `timestamp`, ms since 1970.
    pub timestamp: i64,
}

impl ForeignPointer {
    fn document(&self) -> Document<'_> {
        Document {
            name: &self.tool_name,
            description: &self.description,
            arguments: &self.arguments,
            group: group_of(self.query.as_deref(), self.task.as_deref()),
            timestamp: self.timestamp,
            ..Document::default()
        }
    }
}

/// The positions of the candidates that share a term with the query, best first; `None` if a known candidate was
/// cleared meanwhile, in which case the caller has to pass its text.
pub(super) fn rank(session: &Session, query: &str, candidates: &[Candidate]) -> Option<Vec<usize>> {
    let mut known = Vec::new();
    let mut foreign = Vec::new();
    let mut seen = FxHashSet::default();
    for (position, candidate) in candidates.iter().enumerate() {
        let sequence = match candidate {
            Candidate::Known(sequence) if session.pointers.is_cleared(*sequence) => return None,
            Candidate::Known(sequence) => Some(*sequence),
            Candidate::Foreign(pointer) => session.recognise(&pointer.path),
        };
        match (sequence, candidate) {
            // A context that is given twice is ranked once.
            (Some(sequence), _) if seen.insert(sequence) => known.push((sequence, position)),
            (None, Candidate::Foreign(pointer)) => foreign.push((pointer, position)),
            _ => {}
        }
    }
    let order = in_order(&mut known, &mut foreign, candidates.len());
    let documents: Vec<Document<'_>> =
        foreign.iter().map(|(pointer, _)| pointer.document()).collect();
    let position = |which| match which {
        Which::Known(sequence) => {
            let place = known.binary_search_by_key(&sequence, |&(known, _)| known).ok()?;
            known.get(place).map(|&(_, position)| position)
        }
        Which::Foreign(number) => foreign.get(number).map(|&(_, position)| position),
    };
    let ranked = rank_documents(&session.index, query, &position, &documents, order.len());
    Some(ranked.into_iter().filter_map(|position| order.get(position).copied()).collect())
}

/// As [`rank`] for candidates of this manager in the order of the calls, as `getAllPointers` returns them. No table of
/// positions is needed.
pub(super) fn rank_ascending(
    session: &Session,
    query: &str,
    sequences: &[f64],
) -> Option<Vec<usize>> {
    #[expect(clippy::cast_precision_loss, reason = "numbers of calls stay far below 2^53")]
    let position = |which| match which {
        Which::Known(sequence) => ascending_position(sequences, sequence as f64),
        Which::Foreign(_) => None,
    };
    let first = sequences.first().map_or(0, |&first| first as u64);
    if session.pointers.is_cleared(first) {
        return None;
    }
    Some(rank_documents(&session.index, query, &position, &[], sequences.len()))
}

/// The position of a number in an ascending list. If no call is missing, it is the difference to the first number.
pub(super) fn ascending_position<N>(numbers: &[N], number: N) -> Option<usize>
where
    N: Copy + PartialOrd + std::ops::Sub<Output = N> + AsPlace,
{
    let distance = (number - *numbers.first().filter(|first| **first <= number)?).into_place();
    match numbers.get(..=distance) {
        Some([.., last]) if *last == number => Some(distance),
        // Missing calls only move later numbers forward.
        within => {
            let within = within.unwrap_or(numbers);
            let place = within.partition_point(|other| *other < number);
            within.get(place).filter(|found| **found == number).map(|_| place)
        }
    }
}

/// A number that can be a list position.
pub(super) trait AsPlace {
    /// The position; the maximum if the number is greater.
    fn into_place(self) -> usize;
}

impl AsPlace for u64 {
    fn into_place(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX - 1)
    }
}

impl AsPlace for f64 {
    fn into_place(self) -> usize {
        (self as usize).min(usize::MAX - 1)
    }
}

/// The positions of documents, best first; `position` gives each document's position.
fn rank_documents(
    index: &OutputIndex,
    query: &str,
    position: &dyn Fn(Which) -> Option<usize>,
    foreign: &[Document<'_>],
    candidates: usize,
) -> Vec<usize> {
    let question = Question::parse(query);
    if question.is_empty() {
        return Vec::new();
    }
    let known = |sequence| position(Which::Known(sequence)).is_some();
    let ranked = index.rank_for(&question, &known, foreign).hits;
    let scored = ranked.iter().filter_map(|hit| Some(hit.at(position(hit.which)?)));
    let mut scored: Vec<Scored> = scored.collect();
    boost(&mut scored, candidates, &Boosts::default(), None);
    scored.into_iter().map(|hit| hit.position).collect()
}

/// Sorts candidates by time where it is known: this manager's by call number, others by timestamp, each kind among the
/// positions that it has. Returns the former positions.
fn in_order(
    known: &mut [(u64, usize)],
    foreign: &mut [(&ForeignPointer, usize)],
    candidates: usize,
) -> Vec<usize> {
    let mut given = vec![usize::MAX; candidates];
    let mut put = |places: Vec<usize>, positions: &mut dyn Iterator<Item = &mut usize>| {
        for (place, position) in places.into_iter().zip(positions) {
            if let Some(slot) = given.get_mut(place) {
                *slot = std::mem::replace(position, place);
            }
        }
    };
    let places = known.iter().map(|&(_, position)| position).collect();
    known.sort_unstable();
    put(places, &mut known.iter_mut().map(|(_, position)| position));
    let places = foreign.iter().map(|&(_, position)| position).collect();
    foreign.sort_by_key(|(pointer, _)| pointer.timestamp);
    put(places, &mut foreign.iter_mut().map(|(_, position)| position));
    given
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_those_of_a_plain_search(numbers in prop::collection::btree_set(0_u64..60, 0..50), missing in 0_u64..70) {
            let list: Vec<u64> = numbers.iter().copied().collect();
            let floats: Vec<f64> = list.iter().map(|&number| number as f64).collect();
            let wanted: BTreeSet<u64> = numbers.iter().copied().chain([missing]).collect();
            for number in wanted {
                let place = list.binary_search(&number).ok();
                prop_assert_eq!(ascending_position(&list, number), place);
                prop_assert_eq!(ascending_position(&floats, number as f64), place);
            }
        }
    }
}
