//! What is asked for: free text, the search syntax, and the evaluation of both on indexes and on texts.

pub(crate) mod any_word;
pub(crate) mod beginnings;
pub(crate) mod completions;
pub(crate) mod conditions;
pub(crate) mod expansion;
pub(crate) mod free_text;
pub(crate) mod having;
pub(crate) mod matcher;
pub(crate) mod phrase;
pub(crate) mod prefixes;
pub(crate) mod search_syntax;
pub(crate) mod text_search;
pub(crate) mod unindexed;
