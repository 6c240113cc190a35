//! Ranks documents by the words, phrases and prefixes of an OR query. Prefixes are expanded to terms of the index.

use std::sync::Arc;

use crate::index::fields::Document;
use crate::index::inverted_index::Index;
use crate::index::view::View;
use crate::query::free_text::Query;
use crate::query::plan::{QueryPlan, Words};
use crate::scoring::collection::Collection;
use crate::scoring::explain::{TermMatch, explain_best};
use crate::scoring::ranked::{RankedList, Which};
use crate::scoring::search::{TermStatistics, rank_best, statistics};

/// Minimum number of documents to rank; a smaller limit saves no time.
const LEAST_RANKED: usize = 64;

/// The words, the phrases and the expansions of prefixes, as terms of a collection.
#[derive(Clone, Debug)]
pub struct PlanRanking {
    pub(crate) query: Query,
    /// The terms to which each prefix expands.
    pub(crate) expansions: Vec<Vec<Box<str>>>,
    collection: Option<Arc<Collection>>,
}

impl QueryPlan {
    /// The ranking for the documents of several indexes as one collection. Prefixes are expanded to the current terms
    /// of the indexes. Only the plan of an OR query has a ranking.
    #[must_use]
    pub fn ranking(&self, indexes: &[&Index]) -> PlanRanking {
        let query = match &self.words {
            Words::All { .. } => {
                return PlanRanking {
                    query: Query::parse(""),
                    expansions: Vec::new(),
                    collection: None,
                };
            }
            Words::Any { query, .. } => query,
        };
        let expansions: Vec<Vec<Box<str>>> = if self.prefixes.is_empty() {
            Vec::new()
        } else {
            Index::having(indexes, |having| {
                self.prefixes.iter().map(|prefix| prefix.expand(having)).collect()
            })
        };
        let query = query.with_own_terms(expansions.iter().flatten().cloned());
        PlanRanking { query, expansions, collection: None }
    }
}

impl PlanRanking {
    /// The ranking by the statistics of a collection of which the indexes have only a part.
    #[must_use]
    pub fn within(self, collection: Collection) -> Self {
        Self { collection: Some(Arc::new(collection)), ..self }
    }

    /// The statistics of indexes as one collection, for the terms of this ranking.
    #[must_use]
    pub fn collection_of(&self, indexes: &[&Index]) -> Collection {
        Collection::of_indexes(indexes, &self.query)
    }

    fn view(&self, indexes: &[&Index]) -> View {
        Index::view_of(indexes).within(self.collection.clone())
    }

    /// The statistics of the terms, in order.
    pub(crate) fn statistics(&self, indexes: &[&Index]) -> Vec<TermStatistics> {
        statistics(&self.view(indexes), &self.query).1
    }

    /// The contributions of the terms to the scores of documents, largest first.
    pub(crate) fn explain(
        &self,
        indexes: &[&Index],
        documents: &[Which],
        foreign: &[Document<'_>],
    ) -> Vec<Vec<TermMatch>> {
        explain_best(&self.view(indexes), &self.query, documents, foreign)
    }

    /// The documents that contain any of the terms, best first.
    pub(crate) fn rank(
        &self,
        indexes: &[&Index],
        limit: Option<usize>,
        accepts: &dyn Fn(u64) -> bool,
    ) -> RankedList<(u64, f32)> {
        let RankedList { maximum, hits } =
            rank_best(&self.view(indexes), &self.query, limit, accepts, &[]);
        let known = hits.into_iter().filter_map(|hit| match hit.which {
            Which::Known(sequence) => Some((sequence, hit.score)),
            Which::Foreign(_) => None,
        });
        RankedList { maximum, hits: known.collect() }
    }

    /// The best `limit` documents with their scores, and all further ones that score the same as the last.
    #[must_use]
    pub fn rank_with_equals(
        &self,
        indexes: &[&Index],
        limit: usize,
        accepts: &dyn Fn(u64) -> bool,
    ) -> Vec<(u64, f32)> {
        let mut count = limit.saturating_mul(2).max(LEAST_RANKED);
        loop {
            let ranked = self.rank(indexes, Some(count), accepts).hits;
            let score = |place: usize| ranked.get(place).map(|(_, score)| *score);
            let is_all = ranked.len() < count;
            // Documents with the last one's score may have been cut off, unless this score is below that of the last
            // requested one.
            if is_all || score(limit.saturating_sub(1)) > score(ranked.len().saturating_sub(1)) {
                return ranked;
            }
            count = count.saturating_mul(8);
        }
    }

    /// The scores of documents that are not in an index, by their positions.
    pub(crate) fn score(
        &self,
        indexes: &[&Index],
        documents: &[Document<'_>],
    ) -> RankedList<(usize, f32)> {
        let RankedList { maximum, hits } =
            rank_best(&self.view(indexes), &self.query, None, &|_| false, documents);
        let foreign = hits.into_iter().filter_map(|hit| match hit.which {
            Which::Foreign(position) => Some((position, hit.score)),
            Which::Known(_) => None,
        });
        RankedList { maximum, hits: foreign.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;
    use crate::query::plan::Operator;
    use crate::query::prefixes::PrefixRule;
    use crate::query::search_syntax::SearchSyntax;

    fn plan(query: &str) -> QueryPlan {
        let syntax = SearchSyntax::parse(query).unwrap();
        QueryPlan::new(&syntax, Operator::Any(PrefixRule::Completions))
    }

    #[test]
    fn equally_good_ones_are_not_cut_off() {
        let index = Index::new();
        for sequence in 0..1000 {
            let result = if sequence % 100 == 0 { "login login" } else { "login page" };
            index.add(sequence, &Document { result, ..Document::default() });
        }
        let ranking = plan("login").ranking(&[&index]);
        let count = |limit| ranking.rank_with_equals(&[&index], limit, &|_| true).len();
        assert!((10..1000).contains(&count(5)), "the ten best are alike");
        assert_eq!((count(11), count(1000), count(usize::MAX)), (1000, 1000, 1000));
    }

    #[test]
    fn any_word_suffices() {
        let index = Index::new();
        let texts = ["login form login", "formal", "a page of forms", "the other"];
        for (sequence, result) in (0..).zip(texts) {
            index.add(sequence, &Document { result, ..Document::default() });
        }
        let found = |query: &str| {
            let (plan, indexes) = (plan(query), [&index]);
            let ranking = plan.ranking(&indexes);
            let mut ranked =
                ranking.rank_with_equals(&indexes, usize::MAX, &|sequence| sequence != 2);
            ranked.sort_by(|left, right| right.1.total_cmp(&left.1));
            let mut verifier = plan.verifier();
            let in_texts: Vec<bool> =
                texts.iter().map(|text| verifier.is_met_by(&[text], true)).collect();
            (ranked.into_iter().map(|(sequence, _)| sequence).collect::<Vec<u64>>(), in_texts)
        };
        assert_eq!(found("login form"), (vec![0], vec![true, false, true, false]));
        assert_eq!(found("forma*"), (vec![1], vec![false, true, false, false]));
        assert_eq!(found("form*").1, [true, true, true, false]);
        assert_eq!(
            found("formali*"),
            (vec![1], vec![false; 4]),
            "formal is its stem, but no word of it"
        );
        let judgement = plan("login formali*").judge(&index);
        assert_eq!([0, 1].map(|sequence| judgement.has_word(sequence)), [true, false]);
        assert_eq!(found("\"the other\"").0, [3]);
        assert_eq!(found("the").0, [3]);
        assert!(!plan("-a").is_ranked());
    }
}
