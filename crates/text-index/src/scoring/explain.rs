//! Explains the score of a document: which terms of the query it contains, in which fields, and how much each
//! contributes.

use rustc_hash::FxHashMap;

use crate::index::document_terms::DocumentTerms;
use crate::index::fields::{DOCUMENT_FIELDS, Document, Lengths};
use crate::index::postings::Frequencies;
use crate::index::view::View;
use crate::query::free_text::{Query, QueryTerm};
use crate::query::unindexed::match_query;
use crate::scoring::ranked::Which;
use crate::scoring::ranking::Scorer;
use crate::scoring::search::Evaluation;

/// The contribution of one term to the score of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct TermMatch {
    /// The index term: lower case, stemmed.
    pub term: Box<str>,
    /// Which fields contain it: name, description, arguments, result.
    pub fields: [bool; DOCUMENT_FIELDS],
    /// Its contribution.
    pub score: f32,
}

/// For each document, the query terms that it contains, the largest contribution first.
pub(crate) fn explain(view: &View, query: &Query, sequences: &[u64]) -> Vec<Vec<TermMatch>> {
    let evaluation = Evaluation::new(view, query, &[], &[]);
    let documents: Vec<Which> = sequences.iter().copied().map(Which::Known).collect();
    explained(view, &evaluation, &documents, |_| None)
}

/// As [`explain`], for the scores of `rank_best`. `Which::Foreign` denotes a position in `foreign`.
pub(crate) fn explain_best(
    view: &View,
    query: &Query,
    documents: &[Which],
    foreign: &[Document<'_>],
) -> Vec<Vec<TermMatch>> {
    let evaluation = Evaluation::of_query(view, query, foreign);
    explained(view, &evaluation, documents, |position| {
        let mut found = Vec::with_capacity(query.terms().len());
        let lengths = match_query(foreign.get(position)?, query, &mut found, |_| {});
        Some((found, lengths))
    })
}

/// `matched` returns the frequencies of the terms in a foreign document, and its lengths.
fn explained(
    view: &View,
    evaluation: &Evaluation<'_>,
    documents: &[Which],
    matched: impl Fn(usize) -> Option<(Vec<Frequencies>, Lengths)>,
) -> Vec<Vec<TermMatch>> {
    let scorer = Scorer::new(&evaluation.totals);
    let weighted = evaluation.weighted_terms();
    let recent = view.recent();
    let recent: FxHashMap<u64, &DocumentTerms> =
        recent.iter().map(|(document, terms)| (document.sequence, *terms)).collect();
    let explained = |which: &Which| {
        let foreign = match which {
            Which::Foreign(position) => matched(*position),
            Which::Known(_) => None,
        };
        let terms = weighted.iter().filter_map(|weighted| {
            let term = evaluation.terms.get(weighted.number)?;
            let (frequencies, lengths) = match which {
                Which::Foreign(_) => {
                    let (found, lengths) = foreign.as_ref()?;
                    (*found.get(weighted.number)?, *lengths)
                }
                Which::Known(sequence) => match recent.get(sequence) {
                    Some(terms) => (terms.find(term.hash, &term.text), terms.lengths),
                    None => find(view, *sequence, term)?,
                },
            };
            let has = |field| frequencies.values().get(field).is_some_and(|often| *often > 0.0);
            (!frequencies.is_empty()).then(|| TermMatch {
                term: term.text.clone(),
                fields: std::array::from_fn(has),
                score: weighted.weight * scorer.score(frequencies, &lengths),
            })
        });
        let mut terms: Vec<TermMatch> = terms.collect();
        terms.sort_by(|left, right| right.score.total_cmp(&left.score));
        terms
    };
    documents.iter().map(explained).collect()
}

/// How often a document of a segment contains a term.
fn find(view: &View, sequence: u64, term: &QueryTerm) -> Option<(Frequencies, Lengths)> {
    view.segments.iter().find_map(|segment| {
        let place = segment.place(sequence)?;
        let postings = segment.postings(term.hash, &term.text);
        let number = postings.binary_search_by_key(&place, |posting| posting.document()).ok()?;
        Some((postings.get(number)?.frequencies(), *segment.lengths().get(place as usize)?))
    })
}
