//! Full-text search of stored outputs. Takes candidates from the index, best first, and reads the text of each one to
//! check phrases and exclusions and to make snippets. Texts of which only a part is indexed are read too, if the
//! candidates give too few hits or the query has rare words.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tasks::in_place;
use text_index::{
    Document, Examined, Field, Index, SearchSyntax, Snippet, SnippetBounds, TermMatch, TextSearch,
};

use super::{
    admission::Admission,
    collection::Collection,
    directory_index::DirectoryIndex,
    embedding::{Near, missing_texts},
    filter::ContextFilter,
    list::{self, Listing},
    pointer::Pointer,
    selection::shares,
    session::Session,
};
use crate::{
    error::{Code, Error, Result},
    vectors::{Embedded, Vectors},
};

/// The number of candidates in the first round.
const FIRST_CANDIDATES: usize = 64;
/// The most text of candidates that one search reads, in bytes.
const MAX_EXAMINED: u64 = 1024 * 1024 * 1024;
/// The most text that one search reads without the help of an index, in bytes.
const MAX_SCANNED: u64 = 256 * 1024 * 1024;
/// The share of its score that a match of a similar word gets.
const FUZZY_SHARE: f32 = 0.5;
/// Records from this size on are searched on a thread for long work, in bytes.
const LONG_TEXT: u64 = 256 * 1024;

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

/// A matching context.
struct Hit {
    pointer: Pointer,
    score: f32,
    /// Whether there is a result, or neither a result nor an outcome.
    has_result: bool,
    /// Whether it matched by words similar to those of the query.
    is_fuzzy: bool,
    number: u64,
    examined: Examined,
    /// Whether the index does not contain the complete context; its score is then that of `examined`.
    is_scanned: bool,
    /// The contributions of the terms, if the query asks for an explanation.
    terms: Option<Vec<TermMatch>>,
}

impl Hit {
    /// The decoded name and description.
    fn names(&self) -> (String, String) {
        (decoded(self.pointer.tool_name()), decoded(self.pointer.description()))
    }

    /// The texts found by reading the context, as a document.
    fn document<'h>(&'h self, (name, description): &'h (String, String)) -> Document<'h> {
        let [arguments, result] = &self.examined.evidence;
        let timestamp = self.pointer.timestamp;
        Document { name, description, arguments, result, timestamp, ..Document::default() }
    }
}

fn decoded(token: &str) -> String {
    json_text::decode_string(token.as_bytes()).unwrap_or_default().into_owned()
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
    let mut searched = None;
    if request.all_sessions {
        let others = searched.insert(others.get_or_init(DirectoryIndex::default));
        others.refresh(session).await?;
    }
    let collection = Collection::new(session, searched);
    let bounds = SnippetBounds { count: request.snippets, length: request.snippet_length };
    let search = TextSearch::new(&syntax, bounds, &collection.indexes());
    let mut searching = Searching {
        collection,
        search,
        admission,
        limit: request.limit,
        explains: request.explain,
        embedded,
        hits: Vec::new(),
        examined: FxHashSet::default(),
    };
    if request.limit > 0 {
        if syntax.is_positive() {
            searching.find().await;
        } else {
            searching.newest().await;
        }
    }
    let similar = searching.similar(&syntax).await;
    let mut hits = searching.into_hits();
    if let Some(search) = similar {
        let found: FxHashSet<u64> = hits.iter().map(|hit| hit.number).collect();
        let worst = hits.last().map_or(1.0, |hit| hit.score);
        let mut searching = Searching {
            collection: Collection::new(session, searched),
            search,
            admission: Admission::new(&request.filter, &syntax),
            limit: request.limit - hits.len(),
            explains: request.explain,
            embedded: None,
            hits: Vec::new(),
            examined: found,
        };
        searching.find().await;
        hits.extend(searching.into_hits().into_iter().map(|hit| {
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
    let collection = Collection::new(session, None);
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

/// A search in progress.
struct Searching<'m> {
    collection: Collection<'m>,
    search: TextSearch,
    admission: Admission,
    limit: usize,
    explains: bool,
    embedded: Option<Embedded>,
    hits: Vec<Hit>,
    /// The contexts that were examined, hits or not.
    examined: FxHashSet<u64>,
}

impl Searching<'_> {
    /// Finds the hits.
    async fn find(&mut self) {
        let indexes = self.collection.indexes();
        if !self.search.is_indexed() {
            self.scan(false).await;
            return;
        }
        self.find_indexed(&indexes).await;
        let is_full = self.hits.len() >= self.limit;
        // The indexed part of a long text may lack a rare word.
        if self.search.note_rare(self.limit) || !is_full {
            let ranked = self.hits.len();
            self.scan(is_full).await;
            self.score_scanned(&indexes, ranked);
        }
    }

    /// Examines the candidates of the indexes, best first, until there are enough hits.
    async fn find_indexed(&mut self, indexes: &[&Index]) {
        let admitted = if self.admission.is_open() {
            None
        } else {
            let chosen = self.collection.choose(|pointer, _| self.admission.admits(pointer)).await;
            Some(chosen.into_iter().map(|(_, number, _)| number).collect::<FxHashSet<u64>>())
        };
        let having_phrases = self.search.having_phrases(indexes);
        let accepts = |number: u64| {
            [&admitted, &having_phrases]
                .iter()
                .all(|set| set.as_ref().is_none_or(|set| set.contains(&number)))
        };
        let near = self.near(&accepts).await;
        let mut wanted = self.limit.saturating_mul(2).max(FIRST_CANDIDATES);
        let mut bytes_left = MAX_EXAMINED;
        loop {
            let (ranked, is_all) = match &near {
                Some(near) => (near.fuse(self.search.rank(indexes, None, &accepts)), true),
                None => {
                    let ranked = self.search.rank(indexes, Some(wanted), &accepts);
                    let is_all = ranked.len() < wanted;
                    (ranked, is_all)
                }
            };
            for (number, score) in ranked {
                if !self.examined.insert(number) {
                    continue;
                }
                let Some(pointer) = self.collection.pointer(number) else { continue };
                if pointer.size > bytes_left {
                    return;
                }
                bytes_left -= pointer.size;
                if let Some(hit) = self.examine(number, pointer, true, false).await {
                    self.hits.push(Hit { score, ..hit });
                    if self.hits.len() >= self.limit {
                        return;
                    }
                }
            }
            if is_all {
                return;
            }
            wanted = wanted.saturating_mul(8);
        }
    }

    /// How near the admitted contexts are to the query; `None` if the query or all of them have no vector.
    async fn near(&self, accepts: &(impl Fn(u64) -> bool + Sync)) -> Option<Near> {
        let embedded = self.embedded.as_ref()?;
        let chosen = self.collection.choose(|pointer, _| self.admission.admits(pointer)).await;
        let numbers = chosen.into_iter().map(|(_, number, _)| number);
        Near::new(embedded, numbers.filter(|number| accepts(*number)), &self.collection)
    }

    /// Reads texts that are not or not completely indexed, latest first.
    async fn scan(&mut self, needs_rare: bool) {
        let is_indexed = self.search.is_indexed();
        let chosen = self.collection.choose(|pointer, is_partial| {
            (is_partial || !is_indexed) && self.admission.admits(pointer)
        });
        let mut bytes_left = MAX_SCANNED;
        for (_, number, size) in chosen.await {
            if !self.examined.insert(number) {
                continue;
            }
            if size > bytes_left {
                self.collection.say(
                    "Searched only the latest texts",
                    || json!({ "bytes": MAX_SCANNED - bytes_left }),
                );
                return;
            }
            bytes_left -= size;
            let Some(pointer) = self.collection.pointer(number) else { continue };
            if let Some(hit) = self.examine(number, pointer, false, needs_rare).await {
                self.hits.push(hit);
                if !is_indexed && self.hits.len() >= self.limit {
                    return;
                }
            }
        }
    }

    /// Scores the hits from `first` on, which were found by reading, as the index would.
    fn score_scanned(&mut self, indexes: &[&Index], first: usize) {
        let Some(scanned) = self.hits.get_mut(first..) else { return };
        let names: Vec<(String, String)> = scanned.iter().map(Hit::names).collect();
        let documents: Vec<Document<'_>> =
            scanned.iter().zip(&names).map(|(hit, names)| hit.document(names)).collect();
        let scores = self.search.score(indexes, &documents);
        for (hit, score) in scanned.iter_mut().zip(scores) {
            hit.score = score;
            hit.is_scanned = true;
        }
    }

    /// A search for words similar to those of the query that occur nowhere, if there is space for more hits.
    async fn similar(&self, syntax: &SearchSyntax) -> Option<TextSearch> {
        if self.hits.len() >= self.limit || !syntax.is_positive() {
            return None;
        }
        let indexes = self.collection.indexes();
        in_place(|| self.search.similar(syntax, &indexes)).await
    }

    /// For a query with only exclusions and filters: the latest contexts that match.
    async fn newest(&mut self) {
        let chosen = self.collection.choose(|pointer, _| self.admission.admits(pointer)).await;
        let mut bytes_left = MAX_EXAMINED;
        for (_, number, size) in chosen {
            let Some(pointer) = self.collection.pointer(number) else { continue };
            if !self.search.has_conditions() {
                let examined = Examined::default();
                self.hits.push(Hit {
                    pointer,
                    score: 1.0,
                    has_result: true,
                    is_fuzzy: false,
                    number,
                    examined,
                    is_scanned: false,
                    terms: None,
                });
            } else if size > bytes_left {
                return;
            } else {
                bytes_left -= size;
                let hit = self.examine(number, pointer, true, false).await;
                self.hits.extend(hit);
            }
            if self.hits.len() >= self.limit {
                return;
            }
        }
    }

    async fn examine(
        &mut self,
        number: u64,
        pointer: Pointer,
        is_known: bool,
        needs_rare: bool,
    ) -> Option<Hit> {
        // Lets other tasks run; a cancelled search stops here.
        tokio::task::yield_now().await;
        let text = self.collection.text(number, &pointer).await?;
        let (name, description) = (decoded(pointer.tool_name()), decoded(pointer.description()));
        let search = &mut self.search;
        let mut examine = || {
            text.with_texts(&name, &description, |texts| {
                search.examine(texts, is_known, needs_rare)
            })
        };
        let examined = if pointer.size < LONG_TEXT { examine() } else { in_place(examine).await }?;
        let (score, has_result) = (examined.share, text.has_result());
        Some(Hit {
            score,
            pointer,
            has_result,
            is_fuzzy: false,
            number,
            examined,
            is_scanned: false,
            terms: None,
        })
    }

    /// The hits, best first. Equal ones keep the order in which they were found.
    fn into_hits(mut self) -> Vec<Hit> {
        self.hits.sort_by(|left, right| right.score.total_cmp(&left.score));
        self.hits.truncate(self.limit);
        if self.explains {
            self.explain();
        }
        self.hits
    }

    /// Sets the contributions of the terms for each hit.
    fn explain(&mut self) {
        let indexes = self.collection.indexes();
        let is_indexed = self.search.is_indexed();
        let (scanned, indexed): (Vec<&mut Hit>, Vec<&mut Hit>) =
            self.hits.iter_mut().partition(|hit| hit.is_scanned);
        let sequences: Vec<u64> = indexed.iter().map(|hit| hit.number).collect();
        let names: Vec<(String, String)> = scanned.iter().map(|hit| hit.names()).collect();
        let documents: Vec<Document<'_>> =
            scanned.iter().zip(&names).map(|(hit, names)| hit.document(names)).collect();
        let mut explained = if is_indexed {
            self.search.explain(&indexes, &sequences, &documents)
        } else {
            Vec::new()
        }
        .into_iter();
        drop(documents);
        for hit in indexed.into_iter().chain(scanned) {
            hit.terms = Some(explained.next().unwrap_or_default());
        }
    }
}
