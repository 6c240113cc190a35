//! Scoring: BM25 over the fields, selection of the best documents, groups and boosts.

pub(crate) mod accumulator;
pub(crate) mod best;
pub(crate) mod boosts;
pub(crate) mod collection;
mod document_bounds;
pub(crate) mod explain;
pub(crate) mod factors;
pub(crate) mod groups;
pub(crate) mod nearness;
pub(crate) mod question_ranking;
pub(crate) mod ranked;
pub(crate) mod ranking;
pub(crate) mod search;
pub(crate) mod stop_word_ranking;
pub(crate) mod threshold;
mod top_boosted;
pub(crate) mod top_ranking;
mod top_ungrouped;
pub(crate) mod unit_scores;
mod waiting;
