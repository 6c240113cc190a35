//! Queries: free text, the search syntax, and the evaluation of both on indexes and on texts.

pub(crate) mod beginnings;
pub(crate) mod completions;
pub(crate) mod expansion;
pub(crate) mod free_text;
pub(crate) mod having;
pub(crate) mod judgement;
pub(crate) mod matcher;
pub(crate) mod phrase;
pub(crate) mod plan;
pub(crate) mod prefixes;
pub(crate) mod question;
pub(crate) mod ranking;
pub(crate) mod search_syntax;
pub(crate) mod similar;
pub(crate) mod term_condition;
pub(crate) mod text_search;
pub(crate) mod unindexed;
pub(crate) mod verifier;
pub(crate) mod wanted;
