//! Full-text search of stored outputs: the request, the runs of the search, and the hits in the form for JavaScript.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::json;
use text_index::{Field, SearchSyntax, Snippet, SnippetBounds, TextSearch};

use super::{
    admission::Admission,
    collection::Collection,
    directory_index::DirectoryIndex,
    embedding::missing_texts,
    filter::ContextFilter,
    list::{self, Listing},
    searching::{Hit, Run, Searching},
    selection::shares,
    session::Session,
};
use crate::{
    error::{Code, Error, Result},
    vectors::{Embedded, Vectors},
};

/// The share of its score that a match of a similar word gets.
const FUZZY_SHARE: f32 = 0.5;

/// The arguments of a search, which JavaScript has checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchRequest {
    /// The query as the caller wrote it.
    pub query: String,
    /// Searches all contexts of the directory, not only this manager's.
    pub all_sessions: bool,
    /// The most hits.
    pub limit: usize,
    /// The most snippets of each hit.
    pub snippets: usize,
    /// The approximate length of a snippet in characters.
    pub snippet_length: usize,
    /// Whether to explain each hit by the terms that contributed to its score.
    pub explain: bool,
    /// The filter.
    #[serde(default)]
    pub filter: ContextFilter,
}

/// A snippet in the form for JavaScript.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownSnippet<'s> {
    field: &'static str,
    text: &'s str,
    matches: &'s [(usize, usize)],
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_offset: Option<usize>,
}

/// The stored outputs that match the query, best first, as JSON arrays of pointers with score and snippets. `others`
/// indexes the contexts of other sessions. `embedded` is the query's embedding.
///
/// # Errors
/// `InvalidArgument` for a query without terms or with an invalid time, `Io` if the directory cannot be read.
pub(super) async fn search(
    session: &Arc<Session>,
    others: &OnceLock<DirectoryIndex>,
    request: &SearchRequest,
    embedded: Option<Embedded>,
) -> Result<Listing> {
    let syntax = SearchSyntax::parse(&request.query)?;
    let admission = Admission::new(&request.filter, &syntax);
    if !syntax.is_positive() && syntax.excluded.is_empty() && admission.is_open() {
        return Err(Error::new(
            Code::InvalidArgument,
            "query must have a word, a \"phrase\", a prefix* or a filter such as tool:name to search for",
        ));
    }
    session.index.complete().await;
    let bounds = SnippetBounds { count: request.snippets, length: request.snippet_length };
    let mut collection = Collection::own(session);
    let mut search = TextSearch::new(&syntax, bounds, &collection.indexes());
    if request.all_sessions {
        let others = others.get_or_init(DirectoryIndex::default);
        collection = Collection::of_all(session, others, &search, &admission).await?;
        search.renew(&collection.indexes(), collection.statistics());
    }
    let run = Run {
        syntax: &syntax,
        filter: &request.filter,
        limit: request.limit,
        explains: request.explain,
    };
    let mut searching = Searching::new(collection, search, run, embedded, FxHashSet::default());
    if request.limit > 0 {
        if syntax.is_positive() {
            searching.find().await?;
        } else {
            searching.newest().await;
        }
    }
    let similar = searching.similar(&syntax).await;
    let (mut hits, mut collection) = searching.into_hits();
    if let Some(mut search) = similar {
        collection.change(&search).await?;
        search.renew(&collection.indexes(), collection.statistics());
        let found: FxHashSet<u64> = hits.iter().map(|hit| hit.number).collect();
        let worst = hits.last().map_or(1.0, |hit| hit.score);
        let run = Run { limit: request.limit - hits.len(), ..run };
        let mut searching = Searching::new(collection, search, run, None, found);
        searching.find().await?;
        let (similar, _) = searching.into_hits();
        hits.extend(similar.into_iter().map(|hit| {
            let score = worst.min(hit.score * FUZZY_SHARE);
            Hit { score, is_fuzzy: true, ..hit }
        }));
    }
    let prefix = session.directory.escaped_prefix();
    Ok(list::arrays(hits, |hit, array| write_hit(&hit, prefix, array)))
}

/// What a query searches for, and the texts of contexts that it admits and that have no vector: at most `limit`, latest first.
///
/// # Errors
/// `InvalidArgument` for a query with a syntax error.
pub(super) async fn texts_without_vector(
    session: &Arc<Session>,
    request: &SearchRequest,
    vectors: &Vectors,
    limit: usize,
) -> Result<(Option<String>, Vec<String>)> {
    let syntax = SearchSyntax::parse(&request.query)?;
    let text = syntax.text();
    if text.is_none() {
        return Ok((None, Vec::new()));
    }
    let admission = Admission::new(&request.filter, &syntax);
    let collection = Collection::own(session);
    let chosen = collection.choose(|pointer, _| admission.admits(pointer)).await;
    let latest_first = chosen.into_iter().map(|(_, number, _)| number);
    Ok((text, missing_texts(session, vectors, latest_first, limit).await))
}

/// Appends a pointer, with the score and the snippets as additional members.
fn write_hit(hit: &Hit, prefix: &str, array: &mut String) {
    hit.pointer.write_json(prefix, array);
    array.pop();
    let shown = |snippet| shown(snippet, hit.has_result);
    let snippets: Vec<ShownSnippet<'_>> = hit.examined.snippets.iter().map(shown).collect();
    let snippets = serde_json::to_string(&snippets).unwrap_or_else(|_| "[]".to_owned());
    let fuzzy = if hit.is_fuzzy { ",\"matchedBy\":\"fuzzy\"" } else { "" };
    let explain = hit.terms.as_ref().map(|terms| format!(",\"explain\":{}", json!(shares(terms))));
    let explain = explain.unwrap_or_default();
    array.push_str(&format!(",\"score\":{}{fuzzy},\"snippets\":{snippets}{explain}}}", hit.score));
}

/// Positions are those that `readContext` uses: in the result, or in the outcome if there is no result.
fn shown((field, snippet): &(Field, Snippet), has_result: bool) -> ShownSnippet<'_> {
    let (field, has_place) = match field {
        Field::Result => ("result", has_result),
        Field::Outcome => ("outcome", !has_result),
        Field::Arguments => ("arguments", false),
    };
    ShownSnippet {
        field,
        text: &snippet.text,
        matches: &snippet.matches,
        line: has_place.then_some(snippet.line),
        byte_offset: has_place.then_some(snippet.byte_offset),
    }
}
