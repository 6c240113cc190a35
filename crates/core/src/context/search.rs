//! Searching the texts of stored outputs: candidates from the index, best first, then the texts
//! themselves, for what the index cannot tell and for what is shown.

use std::{path::Path, sync::Arc};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::json;
use storage::{Payload, layout};
use tasks::in_place;
use text_index::{
    Document, Examined, Field, Index, SearchSyntax, Snippet, SnippetBounds, TextSearch,
};

use super::{
    directory_index::{DirectoryIndex, FIRST_FOREIGN},
    filter::ContextFilter,
    held::Held,
    indexing::MAX_INDEXED_RESULT,
    list::{self, Listing},
    load::MAX_TEXT,
    manager::Manager,
    pointer::Pointer,
    stored_text::StoredText,
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
};

/// Pointers looked at between two pauses.
const BATCH: usize = 4096;
/// Candidates that are asked for at first.
const FIRST_CANDIDATES: usize = 64;
/// Text of candidates that is read for one search, in bytes.
const MAX_EXAMINED: u64 = 1024 * 1024 * 1024;
/// Text that is read for one search where no index tells what has it, in bytes.
const MAX_SCANNED: u64 = 256 * 1024 * 1024;
/// Looking through a longer record takes long, in bytes.
const LONG_TEXT: u64 = 256 * 1024;
/// Hits are handed over in texts of about this many bytes.
const TEXT: usize = 4 * 1024 * 1024;

/// What is searched for, as it comes from JavaScript. Checked there.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchRequest {
    /// What the caller wrote.
    pub query: String,
    /// Every context of the directory, not this manager's alone.
    pub all_sessions: bool,
    /// At most this many hits.
    pub limit: usize,
    /// At most this many snippets of each.
    pub snippets: usize,
    /// Characters of a snippet, about.
    pub snippet_length: usize,
    /// Which contexts come into question.
    #[serde(default)]
    pub filter: ContextFilter,
}

/// Which contexts come into question, by the options and by the query.
struct Admission {
    filter: ContextFilter,
    excluded_tools: Vec<String>,
}

impl Admission {
    fn new(filter: &ContextFilter, syntax: &SearchSyntax) -> Self {
        let mut filter = filter.clone();
        filter.tools = match (filter.tools, &syntax.tools) {
            (Some(tools), Some(others)) => {
                Some(tools.into_iter().filter(|tool| others.contains(tool)).collect())
            }
            (tools, others) => tools.or_else(|| others.clone()),
        };
        filter.since = filter.since.max(syntax.since);
        filter.until = match (filter.until, syntax.until) {
            (Some(until), Some(other)) => Some(until.min(other)),
            (until, other) => until.or(other),
        };
        Self { filter, excluded_tools: syntax.excluded_tools.clone() }
    }

    fn is_open(&self) -> bool {
        let ContextFilter { queries, tasks, tools, since, until } = &self.filter;
        let has_lists = queries.is_some() || tasks.is_some() || tools.is_some();
        !(has_lists || since.is_some() || until.is_some()) && self.excluded_tools.is_empty()
    }

    fn admits(&self, pointer: &Pointer) -> bool {
        self.filter.matches(pointer)
            && (self.excluded_tools.is_empty()
                || json_text::decode_string(pointer.tool_name().as_bytes())
                    .is_none_or(|name| !self.excluded_tools.iter().any(|tool| *tool == name)))
    }
}

/// A context that was found.
struct Hit {
    pointer: Pointer,
    score: f32,
    examined: Examined,
}

/// A snippet as JavaScript takes it.
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

impl Manager {
    /// The stored outputs that the query finds, best first, each a pointer with its score and its
    /// snippets, as JSON arrays.
    ///
    /// # Errors
    /// `InvalidArgument` for a query that says nothing or names no time, `Io` when the directory
    /// cannot be read.
    pub async fn search(self: &Arc<Self>, request: &SearchRequest) -> Result<Listing> {
        let syntax = SearchSyntax::parse(&request.query)?;
        let admission = Admission::new(&request.filter, &syntax);
        if !syntax.is_positive() && syntax.excluded.is_empty() && admission.is_open() {
            return Err(Error::new(
                Code::InvalidArgument,
                "query must have a word, a \"phrase\", a prefix* or a filter such as tool:name to search for",
            ));
        }
        self.settle_index().await;
        let directory =
            if request.all_sessions { Some(self.directory_index().await?) } else { None };
        let collection = Collection { manager: self, directory };
        let bounds = SnippetBounds { count: request.snippets, length: request.snippet_length };
        let search = TextSearch::new(&syntax, bounds, &collection.indexes());
        let mut searching = Searching {
            collection,
            search,
            admission,
            limit: request.limit,
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
        Ok(self.show_hits(searching.into_hits()))
    }

    fn show_hits(&self, hits: Vec<Hit>) -> Listing {
        let mut texts = Vec::new();
        let mut text = String::from("[");
        for hit in hits {
            if text.len() > TEXT {
                text.push(']');
                texts.push(std::mem::replace(&mut text, String::from("[")));
            }
            if text.len() > 1 {
                text.push(',');
            }
            self.show_one(&hit.pointer, &mut text);
            // The score and the snippets are further members of the pointer.
            text.pop();
            let snippets: Vec<ShownSnippet<'_>> = hit.examined.snippets.iter().map(shown).collect();
            let snippets = serde_json::to_string(&snippets).unwrap_or_else(|_| "[]".to_owned());
            text.push_str(&format!(",\"score\":{},\"snippets\":{snippets}}}", hit.score));
        }
        text.push(']');
        texts.push(text);
        texts
    }

    /// A record in this manager's memory, whoever asks.
    pub(super) fn held(&self, filename: &str) -> Option<Held> {
        let state = self.state();
        let sequence = state.sequence_of(filename)?;
        state.memory.get(sequence).cloned()
    }
}

fn shown((field, snippet): &(Field, Snippet)) -> ShownSnippet<'_> {
    let is_result = *field == Field::Result;
    ShownSnippet {
        field: if is_result { "result" } else { "arguments" },
        text: &snippet.text,
        matches: &snippet.matches,
        line: is_result.then_some(snippet.line),
        byte_offset: is_result.then_some(snippet.byte_offset),
    }
}

/// What is searched: this manager's contexts by the numbers of their calls, and those of others.
struct Collection<'m> {
    manager: &'m Arc<Manager>,
    directory: Option<&'m DirectoryIndex>,
}

impl<'m> Collection<'m> {
    fn indexes(&self) -> Vec<&'m Index> {
        let mut indexes = vec![&self.manager.index];
        indexes.extend(self.directory.map(|directory| &directory.index));
        indexes
    }

    fn pointer(&self, number: u64) -> Option<Pointer> {
        if number < FIRST_FOREIGN {
            return self.manager.state().pointers.get(&number).cloned();
        }
        self.directory?.known().contexts.get(&number).map(|foreign| foreign.pointer.clone())
    }

    /// The contexts that `accepts` accepts, with their times and sizes, the latest first. It is told
    /// whether the index has all of a context's text.
    async fn choose(&self, accepts: impl Fn(&Pointer, bool) -> bool) -> Vec<(i64, u64, u64)> {
        let mut chosen = Vec::new();
        let mut next = Some(0);
        // Locked for a moment at a time: saves take the same lock.
        while let Some(start) = next {
            next = self.choose_own(start, &accepts, &mut chosen);
            tokio::task::yield_now().await;
        }
        next = self.directory.map(|_| FIRST_FOREIGN);
        while let Some(start) = next {
            next = self.choose_foreign(start, &accepts, &mut chosen);
            tokio::task::yield_now().await;
        }
        chosen.sort_unstable_by(|left, right| right.cmp(left));
        chosen
    }

    /// Looks at some of this manager's contexts; where to go on.
    fn choose_own(
        &self,
        start: u64,
        accepts: impl Fn(&Pointer, bool) -> bool,
        chosen: &mut Vec<(i64, u64, u64)>,
    ) -> Option<u64> {
        let state = self.manager.state();
        let mut pointers = state.pointers.range(start..);
        for (&number, pointer) in pointers.by_ref().take(BATCH) {
            let is_there = pointer.on_disk || state.memory.get(number).is_some();
            let is_partial =
                pointer.size > MAX_INDEXED_RESULT as u64 || pointer.arguments_truncated;
            if is_there && accepts(pointer, is_partial) {
                chosen.push((pointer.timestamp, number, pointer.size));
            }
        }
        pointers.next().map(|(&number, _)| number)
    }

    /// As [`Collection::choose_own`], for those of others.
    fn choose_foreign(
        &self,
        start: u64,
        accepts: impl Fn(&Pointer, bool) -> bool,
        chosen: &mut Vec<(i64, u64, u64)>,
    ) -> Option<u64> {
        let known = self.directory?.known();
        let mut contexts = known.contexts.range(start..);
        for (&number, foreign) in contexts.by_ref().take(BATCH) {
            if accepts(&foreign.pointer, foreign.is_partial) {
                chosen.push((foreign.pointer.timestamp, number, foreign.pointer.size));
            }
        }
        contexts.next().map(|(&number, _)| number)
    }

    /// The text of a context, wherever it is; `None` when it is gone or is no record.
    async fn text(&self, number: u64, pointer: &Pointer) -> Option<StoredText> {
        let filename = pointer.filename();
        let held = self.manager.held(filename).or_else(|| self.held_by_others(number, filename));
        if let Some(held) = held {
            return StoredText::of_held(held);
        }
        let path = self.manager.path_of(filename);
        let root = self.manager.root(&path).await.ok()?;
        let file_system = self.manager.file_system.as_ref();
        let skipped = |reason: &str| list::skipped(&self.manager.debug, &path, reason);
        match file_system.read(&root, Path::new(filename), MAX_TEXT).await {
            Ok(contents) if contents.length > MAX_TEXT => {
                skipped("the file is too large");
                None
            }
            Ok(contents) => {
                let length = contents.bytes.len();
                let parse = move || Ok(StoredText::of_record(Payload::new(contents.bytes)));
                run_long(length, parse).await.ok()?.map_err(|reason| skipped(reason.reason())).ok()
            }
            Err(error) if error.is_not_found() => None,
            Err(error) => {
                skipped(&error.to_string());
                None
            }
        }
    }

    /// What only the memory of another manager has.
    fn held_by_others(&self, number: u64, filename: &str) -> Option<Held> {
        let stamp = layout::parse_context(filename).filter(|_| number >= FIRST_FOREIGN)?;
        let owner = self
            .manager
            .neighbours()
            .into_iter()
            .find(|manager| stamp.random == manager.identity(stamp.counter))?;
        owner.held(filename)
    }
}

/// A search under way.
struct Searching<'m> {
    collection: Collection<'m>,
    search: TextSearch,
    admission: Admission,
    limit: usize,
    hits: Vec<Hit>,
    /// What was looked at, a hit or not.
    examined: FxHashSet<u64>,
}

impl Searching<'_> {
    /// Finds what the query says.
    async fn find(&mut self) {
        let indexes = self.collection.indexes();
        if !self.search.is_indexed() {
            self.scan(false).await;
            return;
        }
        self.find_indexed(&indexes).await;
        let is_full = self.hits.len() >= self.limit;
        // What the index has of a long text may lack a word that few others have.
        if self.search.note_rare(self.limit) || !is_full {
            let ranked = self.hits.len();
            self.scan(is_full).await;
            self.score_scanned(&indexes, ranked);
        }
    }

    /// The candidates of the indexes, best first, until enough are hits.
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
        let mut wanted = self.limit.saturating_mul(2).max(FIRST_CANDIDATES);
        let mut bytes_left = MAX_EXAMINED;
        loop {
            let ranked = self.search.rank(indexes, Some(wanted), &accepts);
            let is_all = ranked.len() < wanted;
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

    /// Reads texts that the indexes do not have, or not whole, the latest first.
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
                self.collection.manager.debug.say(
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

    /// Scores what was found by reading, from `first` on, as the index would.
    fn score_scanned(&mut self, indexes: &[&Index], first: usize) {
        let Some(scanned) = self.hits.get_mut(first..) else { return };
        let decoded = |token: &str| {
            json_text::decode_string(token.as_bytes()).unwrap_or_default().into_owned()
        };
        let names: Vec<(String, String)> = scanned
            .iter()
            .map(|hit| (decoded(hit.pointer.tool_name()), decoded(hit.pointer.description())))
            .collect();
        let documents: Vec<Document<'_>> = scanned
            .iter()
            .zip(&names)
            .map(|(hit, (name, description))| {
                let [arguments, result] = &hit.examined.evidence;
                Document {
                    name,
                    description,
                    arguments,
                    result,
                    timestamp: hit.pointer.timestamp,
                    ..Document::default()
                }
            })
            .collect();
        let scores = self.search.score(indexes, &documents);
        for (hit, score) in scanned.iter_mut().zip(scores) {
            hit.score = score;
        }
    }

    /// The latest that come into question and have nothing that is excluded.
    async fn newest(&mut self) {
        let chosen = self.collection.choose(|pointer, _| self.admission.admits(pointer)).await;
        let mut bytes_left = MAX_EXAMINED;
        for (_, number, size) in chosen {
            let Some(pointer) = self.collection.pointer(number) else { continue };
            if !self.search.has_conditions() {
                self.hits.push(Hit { pointer, score: 1.0, examined: Examined::default() });
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
        // Others get their turn, and a cancelled search stops here.
        tokio::task::yield_now().await;
        let text = self.collection.text(number, &pointer).await?;
        let decoded = |token: &str| {
            json_text::decode_string(token.as_bytes()).unwrap_or_default().into_owned()
        };
        let (name, description) = (decoded(pointer.tool_name()), decoded(pointer.description()));
        let search = &mut self.search;
        let mut examine = || {
            text.with_texts(&name, &description, |texts| {
                search.examine(texts, is_known, needs_rare)
            })
        };
        let examined = if pointer.size < LONG_TEXT { examine() } else { in_place(examine).await }?;
        Some(Hit { score: examined.share, pointer, examined })
    }

    /// The hits, best first. Equal ones stay in the order in which they came.
    fn into_hits(mut self) -> Vec<Hit> {
        self.hits.sort_by(|left, right| right.score.total_cmp(&left.score));
        self.hits.truncate(self.limit);
        self.hits
    }
}
