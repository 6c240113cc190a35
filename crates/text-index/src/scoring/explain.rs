//! Explains why a document was found.

use rustc_hash::FxHashMap;

use crate::index::document_terms::DocumentTerms;
use crate::index::fields::{DOCUMENT_FIELDS, Lengths};
use crate::index::postings::Frequencies;
use crate::index::view::View;
use crate::query::free_text::{Query, QueryTerm};
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
    let scorer = Scorer::new(&evaluation.totals);
    let weighted = evaluation.weighted_terms();
    let recent = view.recent();
    let recent: FxHashMap<u64, &DocumentTerms> =
        recent.iter().map(|(document, terms)| (document.sequence, *terms)).collect();
    let explained = |sequence: &u64| {
        let terms = weighted.iter().filter_map(|weighted| {
            let term = evaluation.terms.get(weighted.number)?;
            let (frequencies, lengths) = match recent.get(sequence) {
                Some(terms) => (terms.find(term.hash, &term.text), terms.lengths),
                None => find(view, *sequence, term)?,
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
    sequences.iter().map(explained).collect()
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
