//! Ranked search: of the latest entries that meet a filter's other conditions (at most 10 000), those that
//! share a term with the filter's text, ordered by score.

use std::sync::Arc;

use storage::{FileError, Line, LogPath, LogReader, ReadAt, layout};
use text_index::{Document, Index, Query, fuse};

use super::{
    Cancelled, History,
    entry::{Entry, trim},
    filter::Filter,
    recall::{Collect, Recalled, texts},
    run_blocking,
};
use crate::{
    error::Result,
    vectors::{Embedded, TextDigest, Vectors, embedded_text},
};

/// The most entries that are ranked: the latest ones that pass the filter, …
pub(super) const WINDOW: usize = 10_000;
/// … as long as their text does not exceed this many bytes.
const MAX_TEXT: usize = 64 * 1024 * 1024;
/// The most bytes of text of each field.
const MAX_SUMMARY: usize = 4 * 1024;
const MAX_PARAMS: usize = 8 * 1024;
const MAX_RESULT: usize = 32 * 1024;
/// The most bytes of parameters that embedding models get.
const MAX_EMBEDDED_PARAMS: usize = 512;
/// The most attempts, if the log is truncated while it is read because a failed append is rolled back.
const MAX_ATTEMPTS: usize = 10;

/// The ranked text of an entry, and the position of its line.
pub(super) struct Candidate {
    pub offset: u64,
    length: u64,
    checksum: u32,
    tool_name: String,
    summary: String,
    params: String,
    result: String,
    time: i64,
}

impl Candidate {
    fn document(&self) -> Document<'_> {
        Document {
            name: &self.tool_name,
            description: &self.summary,
            arguments: &self.params,
            result: &self.result,
            timestamp: self.time,
            ..Document::default()
        }
    }

    /// The text that embedding models get.
    pub fn embedded(&self) -> String {
        let params = self.params.get(..self.params.floor_char_boundary(MAX_EMBEDDED_PARAMS));
        let parts = [&self.tool_name, &self.summary, params.unwrap_or_default(), &self.result];
        embedded_text(&parts)
    }

    fn text_length(&self) -> usize {
        self.tool_name.len() + self.summary.len() + self.params.len() + self.result.len()
    }
}

/// Collects the latest entries that pass the filter.
pub(super) struct Window {
    entries: usize,
    pub candidates: Vec<Candidate>,
    bytes: usize,
}

impl Window {
    pub fn of(entries: usize) -> Self {
        Self { entries, candidates: Vec::new(), bytes: 0 }
    }
}

impl Collect for Window {
    fn take(&mut self, line: &Line, entry: &Entry<'_>) {
        let candidate = Candidate {
            offset: line.offset,
            length: line.length,
            checksum: line.bytes.as_deref().map_or(0, crc32fast::hash),
            tool_name: entry.tool_name(),
            summary: entry.summary_text(MAX_SUMMARY),
            params: entry.params_text(MAX_PARAMS),
            result: entry.result_text(MAX_RESULT),
            time: entry.time().unwrap_or_default(),
        };
        self.bytes += candidate.text_length();
        self.candidates.push(candidate);
    }
    fn is_full(&self) -> bool {
        self.candidates.len() >= self.entries || self.bytes >= MAX_TEXT
    }
    fn reset(&mut self) {
        *self = Self::of(self.entries);
    }
}

/// How entries are ranked.
pub(super) struct Ranking<'q> {
    pub query: &'q Query,
    /// The embedding of the query.
    pub embedded: Option<&'q Embedded>,
    /// The most entries that are ranked.
    pub window: usize,
}

impl Ranking<'_> {
    /// The positions of the candidates that match, best first. Puts the candidates in the order of the log.
    pub fn best(&self, candidates: &mut [Candidate]) -> Vec<usize> {
        // The sort is stable, so of equal entries the latest comes first.
        candidates.reverse();
        let documents: Vec<Document<'_>> = candidates.iter().map(Candidate::document).collect();
        let mut ranked = Index::rank_alone(self.query, &documents);
        let texts = || candidates.iter().map(|candidate| TextDigest::of(&candidate.embedded()));
        let near = self.embedded.and_then(|embedded| embedded.nearness(texts().map(Some)));
        if let Some(near) = near {
            fuse(&mut ranked, &near);
        }
        ranked.into_iter().map(|(position, _)| position).collect()
    }
}

impl History {
    /// The entries that share a term with the filter's text and meet its other conditions: best first, of
    /// equal ones the latest first. Only the [`WINDOW`] latest entries that meet the conditions are ranked.
    ///
    /// With `embedded`, the embedding of the text, entries near to it are returned as well.
    ///
    /// # Errors `Io` if the log cannot be read.
    pub async fn rank(
        self: &Arc<Self>,
        filter: Filter,
        embedded: Option<Embedded>,
    ) -> Result<Recalled> {
        self.rank_within(WINDOW, filter, embedded).await
    }

    /// The vectors of entries by the embedding model with this name; without a name, new ones in memory.
    #[must_use]
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        let LogPath { directory, name, .. } = &self.options.path;
        let folder = directory.join(layout::vectors(name));
        Vectors::open(self.file_system.disk(), &folder, model, self.debug.clone())
    }

    /// The texts without a vector of entries that [`History::rank`] would rank: at most `limit`, latest first.
    ///
    /// # Errors `Io` if the log cannot be read.
    pub async fn texts_without_vector(
        self: &Arc<Self>,
        filter: Filter,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<Vec<String>> {
        let Some(reader) = self.reader().await? else { return Ok(Vec::new()) };
        vectors.refresh().await;
        let (history, vectors) = (Arc::clone(self), vectors.clone());
        let filter = Filter { text: None, ..filter };
        run_blocking(move |cancelled| {
            let found = history.collect(&reader, &filter, || Window::of(WINDOW), cancelled)?;
            // The order of the candidates is the one in which they are read: from the end of the log.
            let texts = found.collected.candidates.iter().map(Candidate::embedded);
            Ok(vectors.missing(texts, limit))
        })
        .await
    }

    pub(super) async fn rank_within(
        self: &Arc<Self>,
        window: usize,
        mut filter: Filter,
        embedded: Option<Embedded>,
    ) -> Result<Recalled> {
        let query = Query::parse(&filter.text.take().unwrap_or_default());
        if query.is_empty() && embedded.is_none() {
            return Ok(Vec::new());
        }
        let history = Arc::clone(self);
        let Some(reader) = self.reader().await? else { return Ok(Vec::new()) };
        let entries = run_blocking(move |cancelled| {
            let mut attempts = 1;
            loop {
                let ranking = Ranking { query: &query, embedded: embedded.as_ref(), window };
                let entries = history.try_rank(&reader, &ranking, &filter, cancelled)?;
                match entries {
                    Some(entries) => return Ok(entries),
                    None if attempts < MAX_ATTEMPTS => attempts += 1,
                    None => {
                        let kind = std::io::ErrorKind::Interrupted;
                        let path = history.path();
                        let error = FileError::system("read", &path, kind.into());
                        return Err(history.unreadable(error));
                    }
                }
            }
        })
        .await?;
        Ok(texts(entries))
    }

    /// `None` if the log was truncated meanwhile.
    pub(super) fn try_rank(
        &self,
        reader: &LogReader,
        ranking: &Ranking<'_>,
        filter: &Filter,
        cancelled: &Cancelled,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let found = self.collect(reader, filter, || Window::of(ranking.window), cancelled)?;
        found.tell_skipped(&self.debug, &self.path());
        let mut candidates = found.collected.candidates;
        if cancelled.is_set() {
            return Ok(Some(Vec::new()));
        }
        let ranked = ranking.best(&mut candidates);
        let mut entries = Vec::new();
        for position in ranked.into_iter().take(filter.limit) {
            let candidate = candidates.get(position).filter(|_| !cancelled.is_set());
            let Some(candidate) = candidate else { break };
            match self.read_again(reader, candidate)? {
                Some(entry) => entries.push(entry),
                None => return Ok(None),
            }
        }
        Ok(Some(entries))
    }

    /// Reads an entry in the form for JavaScript; `None` if it no longer exists.
    pub(super) fn read_again(
        &self,
        reader: &LogReader,
        candidate: &Candidate,
    ) -> Result<Option<Vec<u8>>> {
        let mut line = vec![0; usize::try_from(candidate.length).unwrap_or_default()];
        let read =
            reader.read_at(candidate.offset, &mut line).map_err(|error| self.unreadable(error))?;
        if read < line.len() || crc32fast::hash(&line) != candidate.checksum {
            return Ok(None);
        }
        Ok(Entry::parse(trim(&line)).ok().map(|entry| {
            let mut public = Vec::with_capacity(line.len() + 64);
            entry.write_public(&mut public);
            public
        }))
    }
}
