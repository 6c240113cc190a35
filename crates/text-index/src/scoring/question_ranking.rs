//! Ranks documents for a question: by its terms, by adjacent terms that question and document share, and by identifiers
//! that link the best documents to others.

use rustc_hash::FxHashMap;

use crate::analysis::words::hash;
use crate::index::document_terms::DocumentTerms;
use crate::index::fields::Document;
use crate::index::sketch::pair_hash;
use crate::index::tail::TailDocument;
use crate::index::view::View;
use crate::query::free_text::Query;
use crate::query::question::Question;
use crate::scoring::best::put_best_first;
use crate::scoring::factors::Factor;
use crate::scoring::ranked::{Ranked, RankedList, Which};
use crate::scoring::search::Evaluation;

/// Number of best documents for which pairs of adjacent terms are scored.
pub(crate) const PAIRED: usize = 50;
/// Score of a pair, multiplied by the mean weight of its terms.
const PAIR: f32 = 0.2;

/// Number of best documents whose identifiers are followed to other documents.
const LINKING: usize = 3;
/// Minimum score of such a document relative to the best score.
const LEAST_LINKING_SCORE: f32 = 0.5;
/// Maximum number of identifiers that are followed.
const LINKED: usize = 10;
/// Total weight of the identifiers of the best document.
const LINKED_WEIGHT: f32 = 0.5;
/// Identifiers in at least this many documents, and in more than this share of all, are not followed.
const MOST_LINKED_DOCUMENTS: usize = 4;
const MOST_LINKED_SHARE: f32 = 0.05;

/// The documents that share a term with the question, with the scores of their texts, in no order.
pub(crate) fn rank(
    view: &View,
    question: &Question,
    known: &dyn Fn(u64) -> bool,
    foreign: &[Document<'_>],
) -> RankedList<Ranked> {
    let factors = Factor::of(question);
    let recent = view.recent();
    let sketches = Sketches::new(view, &recent, foreign);
    let evaluation = Evaluation::new(view, question.query(), foreign, &factors);
    let mut ranked = evaluation.rank(known, Some(PAIRED));
    let linked = linked_terms(&evaluation, &ranked.hits, &sketches);
    if !linked.is_empty() {
        let query = Query::of_weighted(linked.into_iter());
        let more = Evaluation::new(view, &query, foreign, &factors).rank(known, Some(0)).hits;
        let more: FxHashMap<Which, f32> = more.iter().map(|hit| (hit.which, hit.score)).collect();
        // A document that matches only linked identifiers shares no term with the question.
        for hit in &mut ranked.hits {
            hit.score += more.get(&hit.which).copied().unwrap_or_default();
        }
        put_best_first(&mut ranked.hits, PAIRED);
    }
    add_pairs(&evaluation, question, &mut ranked.hits, &sketches);
    ranked
}

/// Adds to the scores of the best documents the scores of pairs of terms that are adjacent in the question and in the
/// document.
pub(crate) fn add_pairs(
    evaluation: &Evaluation<'_>,
    question: &Question,
    hits: &mut [Ranked],
    sketches: &Sketches<'_>,
) {
    let pair = |(left, right): &(Box<str>, Box<str>)| {
        let weight = evaluation.rarity(left)? + evaluation.rarity(right)?;
        Some((pair_hash(hash(left), hash(right)), PAIR * weight / 2.0))
    };
    let pairs: Vec<(u16, f32)> = question.pairs().iter().filter_map(pair).collect();
    if pairs.is_empty() {
        return;
    }
    for hit in hits.iter_mut().take(PAIRED) {
        let bonus = sketches.with(hit.which, |found, _| {
            let common = pairs.iter().filter(|(pair, _)| found.binary_search(pair).is_ok());
            common.map(|(_, weight)| weight).sum::<f32>()
        });
        hit.score += bonus.unwrap_or_default();
    }
}

/// Identifiers of the best documents that few other documents have, with their weights.
pub(crate) fn linked_terms(
    evaluation: &Evaluation<'_>,
    hits: &[Ranked],
    sketches: &Sketches<'_>,
) -> Vec<(Box<str>, f32)> {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let mut shares: FxHashMap<u32, f32> = FxHashMap::default();
    let linking = hits.iter().take(LINKING);
    for hit in linking.take_while(|hit| hit.score >= LEAST_LINKING_SCORE * best) {
        sketches.with(hit.which, |_, identifiers| {
            for identifier in identifiers {
                *shares.entry(*identifier).or_default() += hit.score / best;
            }
        });
    }
    let most = (MOST_LINKED_SHARE * evaluation.totals.documents as f32) as usize;
    let most = most.max(MOST_LINKED_DOCUMENTS);
    let known = shares.into_iter().filter_map(|(identifier, share)| {
        let (text, documents) = sketches.documents_with(identifier)?;
        let is_new = !evaluation.terms.iter().any(|term| *term.text == *text);
        (is_new && (2..=most).contains(&documents)).then_some((text, share))
    });
    let mut linked: Vec<(Box<str>, f32)> = known.collect();
    linked.sort_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
    linked.truncate(LINKED);
    let count = linked.len().max(1) as f32;
    linked.iter_mut().for_each(|(_, share)| *share *= LINKED_WEIGHT / count);
    linked
}

/// The sketches of all ranked documents.
pub(crate) struct Sketches<'a> {
    view: &'a View,
    recent: FxHashMap<u64, &'a DocumentTerms>,
    foreign: &'a [Document<'a>],
}

impl<'a> Sketches<'a> {
    pub(crate) fn new(
        view: &'a View,
        recent: &[(&TailDocument, &'a DocumentTerms)],
        foreign: &'a [Document<'a>],
    ) -> Self {
        let recent = recent.iter().map(|(document, terms)| (document.sequence, *terms)).collect();
        Self { view, recent, foreign }
    }

    /// Calls `read` with the pairs and the identifiers of a document.
    fn with<T>(&self, which: Which, read: impl FnOnce(&[u16], &[u32]) -> T) -> Option<T> {
        match which {
            Which::Known(sequence) => {
                if let Some(terms) = self.recent.get(&sequence) {
                    return Some(read(&terms.sketch.pairs, &terms.sketch.identifiers));
                }
                let mut segments = self.view.segments.iter();
                let (pairs, identifiers) =
                    segments.find_map(|segment| Some(segment.sketch(segment.place(sequence)?)))?;
                Some(read(pairs, identifiers))
            }
            Which::Foreign(number) => {
                let terms = DocumentTerms::new(self.foreign.get(number)?);
                Some(read(&terms.sketch.pairs, &terms.sketch.identifiers))
            }
        }
    }

    /// The term with a hash, and the number of documents that contain it.
    fn documents_with(&self, hash: u32) -> Option<(Box<str>, usize)> {
        let in_segments = self.view.segments.iter().flat_map(|segment| segment.with_hash(hash));
        let in_recent = self.recent.values().flat_map(|terms| terms.with_hash(hash));
        let in_segments = in_segments.map(|(text, postings)| (text, postings.len()));
        let mut found = in_segments.chain(in_recent.map(|text| (text, 1)));
        let (text, mut documents) = found.next()?;
        documents +=
            found.filter(|(other, _)| *other == text).map(|(_, count)| count).sum::<usize>();
        Some((text.into(), documents))
    }
}
