//! Ranked retrieval without a model: a tokeniser for prose and code, BM25 over
//! several fields, and an in-memory inverted index whose readers never wait for
//! its writers. And the parts of what was found.
//!
//! | module | what it knows |
//! |---|---|
//! | `characters` | character classes and folding (accents, width, ligatures) |
//! | `dates` | dates and months |
//! | `words` | stop words, irregular forms, stemming |
//! | `tokens` | text to index terms |
//! | `ranking` | the fields, their weights, BM25 |
//! | `postings` | one term in one document as 32 bits |
//! | `document`, `collector` | a document and its terms |
//! | `query` | a query and its terms |
//! | `thesaurus` | words that mean something similar |
//! | `stop_words` | which stop words a document has, for a query of nothing else |
//! | `expansion`, `start` | terms for those that no document has, and for prefixes |
//! | `segment`, `merge` | immutable blocks of documents |
//! | `stored_segment` | the same on disk |
//! | `sequences` | sets of documents |
//! | `slots`, `tail` | the most recent documents, appended one by one |
//! | `announced` | documents whose long part is still to be indexed |
//! | `search`, `accumulator`, `best` | evaluation of a query, best documents first |
//! | `groups` | what documents of one group match together |
//! | `boosts` | what a document's place among the others adds |
//! | `batch` | many documents added at once |
//! | `explain` | what each term contributed |
//! | `index`, `view` | writers, published snapshots |
//! | `maintenance` | what an index is made of, and what becomes of that in time |
//! | [`slices`] | parts of a stored result |
//! | `vectors` | vectors that somebody else made, fused with the ranking |
//! | `search_syntax` | the language of search queries |
//! | `text_search` | a search query at work: on indexes, then on texts |
//! | `conditions`, `having`, `completions` | what must be there and what must not: by an index, and exactly |
//! | `any_word` | ranking by the words of a search query |
//! | `matcher`, `beginnings`, `phrase`, `prefixes` | what is looked for in a text, exactly |
//! | `windows`, `snippets` | the places of a text that are worth showing |

mod accumulator;
mod announced;
mod any_word;
mod batch;
mod beginnings;
mod best;
mod boosts;
mod characters;
mod collector;
mod completions;
mod conditions;
mod dates;
mod document;
mod expansion;
mod explain;
mod groups;
mod having;
mod index;
mod maintenance;
mod matcher;
mod merge;
mod phrase;
mod postings;
mod prefixes;
mod query;
mod ranking;
mod search;
mod search_syntax;
mod segment;
mod sequences;
pub mod slices;
mod slots;
mod snippets;
mod start;
mod stop_words;
mod stored_segment;
mod tail;
mod text_search;
mod thesaurus;
mod tokens;
pub mod vectors;
mod view;
mod windows;
mod words;

#[cfg(test)]
mod tests;

pub use announced::{Announced, LateText};
pub use any_word::AnyWord;
pub use batch::Batch;
pub use boosts::{Boosts, Scored, boost};
pub use conditions::{Conditions, Judgement, Verdict};
pub use document::Document;
pub use explain::TermMatch;
pub use index::Index;
pub use query::{Query, QueryBuilder};
pub use search::{Hit, Ranked, RankedList, Which};
pub use search_syntax::{Excluded, SearchSyntax};
pub use sequences::Sequences;
pub use snippets::{FieldText, Snippet};
pub use stored_segment::StoredSegment;
pub use text_search::{Examined, Field, SnippetBounds, StoredTexts, TextSearch};

/// Calls `emit` with each index term of a text: words without stop words, stemmed, and beside every
/// compound identifier its pieces.
pub fn terms(text: &str, emit: impl FnMut(&str)) {
    tokens::tokenize(text, text.len(), emit);
}
