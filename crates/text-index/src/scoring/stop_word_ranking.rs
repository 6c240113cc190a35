//! Ranks documents by stop words, for a query that has only stop words.

use crate::analysis::stop_words::StopWords;
use crate::index::document_terms;
use crate::index::fields::Document;
use crate::index::row::Row;
use crate::index::view::View;
use crate::scoring::best::Best;
use crate::scoring::ranked::{Ranked, RankedList, Which};
use crate::scoring::ranking::inverse_document_frequency;

/// Ranks by the stop words that documents share with the query; rare stop words count more.
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
        documents.push((ranked, document_terms::stop_words(document)));
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
