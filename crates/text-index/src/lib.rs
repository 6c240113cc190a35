//! Full-text search for the core: words of prose and code, an inverted index in memory whose readers do not wait for
//! its writers, BM25 over several fields, and a query language whose results are verified on the texts.
//!
//! This crate does no I/O and does not know what it indexes: a document is a number and a few fields of text. It does
//! not keep the texts; callers pass them where a query has to be verified or a passage shown.
//!
//! | folder | contents |
//! |---|---|
//! | `analysis` | characters and folding, words, dates, synonyms: from text to terms |
//! | `index` | documents, postings, segments in memory and in storage, published views |
//! | `query` | queries, the search syntax, and its evaluation on an index and on texts |
//! | `scoring` | fields and weights, BM25, the best documents, groups and boosts |
//! | `highlight` | the passages of a text that show why it was found |
//!
//! Terms:
//! - *term*: a folded, stemmed word or a piece of an identifier, as the index has it.
//! - *sequence*: the number of a document, which grows with each that is added.
//! - *segment*: an immutable set of documents; [`StoredSegment`] is one in a form for storage.
//! - *tail*: the most recent documents, appended one by one until they become a segment.
//! - *group*: documents that belong together, such as those of one user query; given by a number in [`Document`].
//! - *unit*: the documents of one group in a segment.
//! - *level*: an upper bound of what a posting adds to a score, relative to the statistics of its segment.
//! - *question*: a query whose ranking also uses the order of its words ([`Question`]).
//! - *announced document*: one whose short fields are indexed and whose long text follows ([`LateText`]).
//! - *collection*: the documents whose statistics scores depend on; a search may rank only some of them ([`Collection`]).
//! - *verdict*: what an index can decide about a query condition for a document: it holds, it does not, or the text
//!   must be read.

#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, unused_crate_dependencies)
)]

mod analysis;
mod highlight;
mod index;
mod query;
mod scoring;

#[cfg(test)]
mod tests;

pub use highlight::snippets::{FieldText, Snippet};
pub use index::analysed::Analysed;
pub use index::announced::{Announced, LateText};
pub use index::batch::Batch;
pub use index::fields::{Document, Lengths};
pub use index::inverted_index::Index;
pub use index::sequences::Sequences;
pub use index::stored_segment::StoredSegment;
pub use query::free_text::{Query, QueryBuilder};
pub use query::judgement::{Judgement, Verdict};
pub use query::plan::{Operator, QueryPlan};
pub use query::prefixes::PrefixRule;
pub use query::question::Question;
pub use query::ranking::PlanRanking;
pub use query::search_syntax::{Excluded, SearchSyntax, SyntaxError};
pub use query::term_condition::TermCondition;
pub use query::text_search::{Examined, Field, SnippetBounds, StoredTexts, TextSearch};
pub use query::verifier::Verifier;
pub use query::wanted::WantedTerm;
pub use scoring::boosts::{Boosts, Scored, boost, recency_of_others};
pub use scoring::collection::Collection;
pub use scoring::explain::TermMatch;
pub use scoring::nearness::{add_nearness, fuse, nearness};
pub use scoring::ranked::{Hit, Ranked, RankedList, Which};
pub use scoring::top_ranking::{Candidates, TopList};

/// Calls `emit` with each index term of a text: stemmed words without stop words, and in addition to each compound
/// identifier its pieces.
pub fn terms(text: &str, emit: impl FnMut(&str)) {
    analysis::tokens::tokenize(text, text.len(), emit);
}
