//! A run of a search. Takes candidates from the index, best first, and reads the text of each one to check phrases and
//! exclusions and to make snippets. Texts of which only a part is indexed are read too, if the candidates give too few
//! hits or the query has rare words.

use rustc_hash::FxHashSet;
use serde_json::json;
use tasks::in_place;
use text_index::{Document, Examined, SearchSyntax, TermMatch, TextSearch};

use super::{
    admission::Admission, collection::Collection, embedding::Near, filter::ContextFilter,
    pointer::Pointer,
};
use crate::{error::Result, vectors::Embedded};

/// The number of candidates in the first round.
const FIRST_CANDIDATES: usize = 64;
/// The most text of candidates that one search reads, in bytes.
const MAX_EXAMINED: u64 = 1024 * 1024 * 1024;
/// The most text that one search reads without the help of an index, in bytes.
const MAX_SCANNED: u64 = 256 * 1024 * 1024;
/// Records from this size on are searched on a thread for long work, in bytes.
const LONG_TEXT: u64 = 256 * 1024;

/// A matching context.
pub(super) struct Hit {
    pub pointer: Pointer,
    pub score: f32,
    /// Whether there is a result, or neither a result nor an outcome.
    pub has_result: bool,
    /// Whether it matched by words similar to those of the query.
    pub is_fuzzy: bool,
    pub number: u64,
    pub examined: Examined,
    /// Whether the index does not contain the complete context; its score is then that of `examined`.
    pub is_scanned: bool,
    /// The contributions of the terms, if the query asks for an explanation.
    pub terms: Option<Vec<TermMatch>>,
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

/// A search in progress.
pub(super) struct Searching<'m> {
    collection: Collection<'m>,
    search: TextSearch,
    admission: Admission,
    limit: usize,
    explains: bool,
    embedded: Option<Embedded>,
    hits: Vec<Hit>,
    /// The contexts that were examined, hits or not.
    examined: FxHashSet<u64>,
    /// The bytes of candidates that may still be read.
    bytes_left: u64,
}

/// What is the same in all runs of a search.
#[derive(Clone, Copy)]
pub(super) struct Run<'r> {
    pub syntax: &'r SearchSyntax,
    pub filter: &'r ContextFilter,
    /// The most hits.
    pub limit: usize,
    /// Whether to explain each hit.
    pub explains: bool,
}

impl<'m> Searching<'m> {
    /// A search that has not begun. Contexts in `examined` are left out.
    pub fn new(
        collection: Collection<'m>,
        search: TextSearch,
        run: Run<'_>,
        embedded: Option<Embedded>,
        examined: FxHashSet<u64>,
    ) -> Self {
        Self {
            collection,
            search,
            admission: Admission::new(run.filter, run.syntax),
            limit: run.limit,
            explains: run.explains,
            embedded,
            hits: Vec::new(),
            examined,
            bytes_left: MAX_EXAMINED,
        }
    }

    /// Finds the hits.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn find(&mut self) -> Result<()> {
        if !self.search.is_indexed() {
            self.scan(false).await;
            return Ok(());
        }
        while !self.find_indexed().await && self.collection.more().await? {
            self.renew();
        }
        let is_full = self.hits.len() >= self.limit;
        // The indexed part of a long text may lack a rare word.
        if self.search.note_rare(self.limit) || !is_full {
            self.collection.add_partly_covered(MAX_SCANNED).await?;
            let ranked = self.hits.len();
            self.scan(is_full).await;
            self.score_scanned(ranked);
        }
        Ok(())
    }

    /// Adapts the search to changed indexes.
    fn renew(&mut self) {
        self.search.renew(&self.collection.indexes(), self.collection.statistics());
    }

    /// Examines the candidates of the indexes, best first, until there are enough hits; returns whether there are, or no more
    /// text is read.
    async fn find_indexed(&mut self) -> bool {
        let admitted = if self.admission.is_open() {
            None
        } else {
            let chosen = self.collection.choose(|pointer, _| self.admission.admits(pointer)).await;
            Some(chosen.into_iter().map(|(_, number, _)| number).collect::<FxHashSet<u64>>())
        };
        let having_phrases = self.search.having_phrases(&self.collection.indexes());
        let mut wanted = self.limit.saturating_mul(2).max(FIRST_CANDIDATES);
        loop {
            let (ranked, is_all) = self.rank(wanted, &[&admitted, &having_phrases]).await;
            for (place, &(number, score)) in ranked.iter().enumerate() {
                if !self.examined.insert(number) {
                    continue;
                }
                let next = ranked.iter().skip(place).map(|(number, _)| *number);
                let next = next.filter(|next| *next == number || !self.examined.contains(next));
                let wanted = self.limit.saturating_sub(self.hits.len());
                self.collection.read_ahead(next, wanted).await;
                let Some(pointer) = self.collection.pointer(number) else { continue };
                if pointer.size > self.bytes_left {
                    return true;
                }
                self.bytes_left -= pointer.size;
                if let Some(hit) = self.examine(number, pointer, true, false).await {
                    self.hits.push(Hit { score, ..hit });
                    if self.hits.len() >= self.limit {
                        return true;
                    }
                }
            }
            if is_all {
                return false;
            }
            wanted = wanted.saturating_mul(8);
        }
    }

    /// The best candidates in all of the sets, and whether there are no others.
    async fn rank(
        &self,
        wanted: usize,
        sets: &[&Option<FxHashSet<u64>>],
    ) -> (Vec<(u64, f32)>, bool) {
        let indexes = self.collection.indexes();
        let accepts = |number: u64| {
            self.collection.covers(number)
                && sets.iter().all(|set| set.as_ref().is_none_or(|set| set.contains(&number)))
        };
        match self.near(&accepts).await {
            Some(near) => (near.fuse(self.search.rank(&indexes, None, &accepts)), true),
            None => {
                let ranked = self.search.rank(&indexes, Some(wanted), &accepts);
                let is_all = ranked.len() < wanted;
                (ranked, is_all)
            }
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
    fn score_scanned(&mut self, first: usize) {
        let indexes = self.collection.indexes();
        let Some(scanned) = self.hits.get_mut(first..) else { return };
        let names: Vec<(String, String)> = scanned.iter().map(Hit::names).collect();
        let documents: Vec<Document<'_>> =
            scanned.iter().zip(&names).map(|(hit, names)| hit.document(names)).collect();
        let scores = self.search.score(&indexes, &documents);
        for (hit, score) in scanned.iter_mut().zip(scores) {
            hit.score = score;
            hit.is_scanned = true;
        }
    }

    /// A search for words similar to those of the query that occur nowhere, if there is space for more hits.
    pub async fn similar(&self, syntax: &SearchSyntax) -> Option<TextSearch> {
        if self.hits.len() >= self.limit || !syntax.is_positive() {
            return None;
        }
        let absent = self.search.absent(syntax);
        let lengths = TextSearch::lengths_of_similar(&absent)?;
        let vocabulary = self.collection.vocabulary(lengths).await;
        let indexes = self.collection.indexes();
        in_place(|| self.search.similar(&absent, &indexes, &vocabulary)).await
    }

    /// For a query with only exclusions and filters: the latest contexts that match.
    pub async fn newest(&mut self) {
        let chosen = self.collection.choose(|pointer, _| self.admission.admits(pointer)).await;
        let mut bytes_left = MAX_EXAMINED;
        for (place, &(_, number, size)) in chosen.iter().enumerate() {
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
                let next = chosen.iter().skip(place).map(|(_, number, _)| *number);
                let wanted = self.limit.saturating_sub(self.hits.len());
                self.collection.read_ahead(next, wanted).await;
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

    /// The hits, best first, and the collection. Equal hits keep the order in which they were found.
    pub fn into_hits(mut self) -> (Vec<Hit>, Collection<'m>) {
        self.hits.sort_by(|left, right| right.score.total_cmp(&left.score));
        self.hits.truncate(self.limit);
        if self.explains {
            self.explain();
        }
        (self.hits, self.collection)
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
