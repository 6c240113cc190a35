//! The context pack: the most useful records and summaries, and a map, as Markdown within a budget. Callers
//! put it into a model's prompt.
//!
//! | module | contents |
//! |---|---|
//! | `entry` | formatting one record |
//! | `fill` | budget packing |

mod entry;
mod fill;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use redaction::{Redaction, RedactionSession};
use serde::{Deserialize, Serialize};
use storage::layout;
use text_index::{Index, Query, fuse};

use super::{
    Memory,
    document::Document,
    record::{Record, RecordKind},
    summary::Summary,
};
use crate::{
    blocking::run_blocking,
    error::Result,
    vectors::{Embedded, TextDigest, Vectors},
};
use entry::{Entry, Part};

pub use entry::PackedRecord;

/// The arguments of a context pack.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackRequest {
    /// The task of the model, by which entries are ranked.
    pub query: Option<String>,
    /// The number of latest summaries.
    pub latest_summaries: usize,
    /// Whether to include a map of the repository.
    pub repo_map: bool,
    /// Paths, names and words that the map prefers, beside those of the query.
    #[serde(default)]
    pub focus: Vec<String>,
}

/// Renders a map of the repository in at most this many UTF-16 code units.
pub type RenderMap = Arc<dyn Fn(usize) -> String + Send + Sync>;

/// The entries, most useful first.
#[derive(Clone)]
pub struct Pack {
    entries: Arc<[Entry]>,
    map: Option<RenderMap>,
}

/// The content of a pack within a budget.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Filled {
    /// The text as Markdown.
    #[serde(skip)]
    pub text: String,
    /// The records in the text, most useful first.
    pub included: Vec<PackedRecord>,
    /// The records in `included` that are cut to their beginning.
    pub cut: Vec<PackedRecord>,
    /// The records that are not in the text, most useful first.
    pub left_out: Vec<PackedRecord>,
    /// Whether the text contains a map of the repository.
    pub has_repo_map: bool,
    /// Whether there is a map that does not fit into the budget.
    pub lacks_repo_map: bool,
}

impl Memory {
    /// The vectors of records by the embedding model with this name; without a name, new ones in memory.
    #[must_use]
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        let folder = self.options.directory.join(layout::vectors(""));
        Vectors::open(self.directory.file_system.disk(), &folder, model, self.debug.clone())
    }

    /// The redacted query of a pack, and the texts of its records that have no vector: at most `limit`.
    ///
    /// # Errors
    /// As [`Memory::pack`].
    pub async fn texts_without_vector(
        self: &Arc<Self>,
        mut request: PackRequest,
        redaction: Option<Redaction>,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<(Option<String>, Vec<String>)> {
        let Some(query) = &mut request.query else { return Ok((None, Vec::new())) };
        RedactionSession::new(redaction).text(query)?;
        let document = self.document().await?;
        let summaries = self.summaries().await?;
        vectors.refresh().await;
        let vectors = vectors.clone();
        run_blocking(move |_| {
            let entries = entries_of(&document, &summaries, request.latest_summaries);
            let texts = vectors.missing(entries.iter().map(Entry::embedded), limit);
            Ok((request.query, texts))
        })
        .await
    }

    /// Collects and ranks the entries. `embedded` is the embedding of the query.
    ///
    /// # Errors
    /// `Corrupt`, `TooLarge`, `Redaction`, `Io`
    pub async fn pack(
        self: &Arc<Self>,
        mut request: PackRequest,
        redaction: Option<Redaction>,
        embedded: Option<Embedded>,
    ) -> Result<Pack> {
        // Redacted, because entries are stored redacted.
        if let Some(query) = &mut request.query {
            RedactionSession::new(redaction.clone()).text(query)?;
        }
        let map = if request.repo_map {
            let mut focus = std::mem::take(&mut request.focus);
            focus.extend(request.query.clone());
            self.map_for(focus, redaction).await
        } else {
            None
        };
        let document = self.document().await?;
        let summaries = self.summaries().await?;
        run_blocking(move |_| Ok(Pack::new(&document, &summaries, &request, embedded, map))).await
    }
}

impl Pack {
    /// Ranks the entries.
    pub(super) fn new(
        document: &Document,
        summaries: &[Summary],
        request: &PackRequest,
        embedded: Option<Embedded>,
        map: Option<RenderMap>,
    ) -> Self {
        let entries = entries_of(document, summaries, request.latest_summaries);
        let query = request.query.as_deref().map(Query::parse);
        let entries = match query.filter(|query| !query.is_empty() || embedded.is_some()) {
            Some(query) => ranked(entries, &query, embedded.as_ref()),
            None => entries,
        };
        Self { entries: entries.into(), map }
    }

    /// Renders as many whole entries as fit into `max_chars` UTF-16 code units, most useful first, with a
    /// note on omitted ones. The result depends on the memory, the request and the budget only.
    #[must_use]
    pub fn fill(&self, max_chars: usize) -> Filled {
        fill::fill(&self.entries, self.map.as_ref(), max_chars)
    }
}

/// All entries in the order without a query, which also decides between equal scores.
fn entries_of(document: &Document, summaries: &[Summary], latest_summaries: usize) -> Vec<Entry> {
    let mut entries: Vec<Entry> =
        document.records(RecordKind::Convention).map(Entry::convention).collect();
    let latest = summaries.iter().rev().take(latest_summaries);
    entries.extend(latest.map(Entry::summary));
    let decisions: Vec<&Record> = document.records(RecordKind::Decision).collect();
    entries.extend(latest_first(decisions).into_iter().map(Entry::decision));
    let notes: Vec<&Record> = document.records(RecordKind::Note).collect();
    entries.extend(latest_first(notes).into_iter().map(Entry::note));
    entries
}

/// Sorts records by the time of their last change, latest first.
fn latest_first(mut records: Vec<&Record>) -> Vec<&Record> {
    records.reverse();
    records.sort_by(|one, other| other.updated_at.cmp(&one.updated_at));
    records
}

/// Entries that share a word with the query, or are near to it by their vectors, come first, best first; the others keep their
/// order.
fn ranked(entries: Vec<Entry>, query: &Query, embedded: Option<&Embedded>) -> Vec<Entry> {
    let documents: Vec<text_index::Document<'_>> = entries.iter().map(Entry::document).collect();
    let mut scored = Index::rank_alone(query, &documents);
    let texts = entries.iter().map(|entry| TextDigest::of(&entry.embedded()));
    if let Some(near) = embedded.and_then(|embedded| embedded.nearness(texts.map(Some))) {
        fuse(&mut scored, &near);
    }
    let mut order: Vec<usize> = scored.into_iter().map(|(position, _)| position).collect();
    let matched: std::collections::HashSet<usize> = order.iter().copied().collect();
    order.extend((0..entries.len()).filter(|number| !matched.contains(number)));
    let mut slots: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
    order.into_iter().filter_map(|number| slots.get_mut(number).and_then(Option::take)).collect()
}

impl Part {
    /// All sections, in their default order.
    const ALL: [Self; 4] = [Self::Conventions, Self::Decisions, Self::Notes, Self::Summaries];
}
