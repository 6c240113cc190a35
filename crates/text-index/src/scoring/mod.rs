//! What is best: fields and their weights, BM25, the best documents, groups and boosts.

pub(crate) mod accumulator;
pub(crate) mod best;
pub(crate) mod boosts;
pub(crate) mod explain;
pub(crate) mod groups;
pub(crate) mod ranking;
pub(crate) mod search;
