//! Reading, searching and verifying a history in a database: lines are read in pages, latest first, until enough entries match.

use std::{collections::HashMap, sync::Arc};

use database::{Intent, Parameters};
use storage::Line;
use text_index::Query;

use super::{
    super::{
        entry::{Entry, trim},
        filter::Filter,
        ranked::{Candidate, Ranking, WINDOW, Window},
        recall::{Bounds, Collect, Found, Latest, Recalled, texts},
        verify::VerifyReport,
    },
    DatabaseHistory,
    pages::{Direction, MAX_PAGE_BYTES, MAX_PAGE_LINES, Page, Range, line_of, position, read_page},
};
use crate::{
    blocking::run_long,
    error::Result,
    vectors::{Embedded, Vectors},
};

/// The least lines of the first page of a search whose text only the lines can be compared with.
const MIN_SEARCHED_LINES: usize = 512;
/// A page has this many times the lines of the one before.
const GROWTH: usize = 4;
/// The most lines that are fetched by their positions in one statement.
const MAX_FETCHED_LINES: usize = 256;

/// The lines with these positions.
const FETCH: &str = "
SELECT at, octet_length(line) AS length, CASE WHEN octet_length(line) <= $3 THEN line END AS line
FROM {schema}.entry WHERE namespace = $1 AND NOT is_record AND at = ANY($2)";

impl DatabaseHistory {
    /// The latest entries, at most `limit`, oldest first. Stops after the entry with which they reach
    /// `max_bytes` of JSON. One round trip where one page has them.
    ///
    /// # Errors
    /// `Storage`, `Timeout` or `Access`.
    pub async fn read(self: &Arc<Self>, limit: usize, max_bytes: usize) -> Result<Recalled> {
        let bounds = Bounds { entries: limit, bytes: max_bytes };
        let found = self.scan(Latest::within(bounds), None, limit).await?;
        Ok(found.recalled(&self.debug, self.path()))
    }

    /// The latest matching entries, oldest first.
    ///
    /// # Errors
    /// Those of [`DatabaseHistory::read`].
    pub async fn search(self: &Arc<Self>, filter: Filter) -> Result<Recalled> {
        let filter = filter.prepared();
        let latest = Latest::within(filter.bounds());
        let least = if filter.text.is_some() { MIN_SEARCHED_LINES } else { 1 };
        let lines = filter.limit.max(least);
        let found = self.scan(latest, Some(filter), lines).await?;
        Ok(found.recalled(&self.debug, self.path()))
    }

    /// The entries that share a term with the filter's text and meet its other conditions, as
    /// [`History::rank`](super::super::History::rank): best first, of equal ones the latest first.
    ///
    /// # Errors
    /// Those of [`DatabaseHistory::read`].
    pub async fn rank(
        self: &Arc<Self>,
        mut filter: Filter,
        embedded: Option<Embedded>,
    ) -> Result<Recalled> {
        let query = Query::parse(&filter.text.take().unwrap_or_default());
        if query.is_empty() && embedded.is_none() {
            return Ok(Vec::new());
        }
        let limit = filter.limit;
        let found = self.scan(Window::of(WINDOW), Some(filter), MAX_PAGE_LINES).await?;
        found.tell_skipped(&self.debug, self.path());
        let mut candidates = found.collected.candidates;
        let positions = run_long(usize::MAX, move || {
            let ranking = Ranking { query: &query, embedded: embedded.as_ref(), window: WINDOW };
            let ranked = ranking.best(&mut candidates);
            let chosen = ranked.into_iter().take(limit);
            Ok(chosen
                .filter_map(|place| candidates.get(place))
                .map(|candidate| i64::try_from(candidate.offset).unwrap_or(i64::MAX))
                .collect::<Vec<_>>())
        })
        .await?;
        Ok(texts(self.entries_at(&positions).await?))
    }

    /// The vectors of entries by the embedding model with this name. They stay in the memory of this process.
    #[must_use]
    pub fn vectors(&self, model: Option<&str>) -> Vectors {
        Vectors::open(None, self.path(), model, self.debug.clone())
    }

    /// As [`History::texts_without_vector`](super::super::History::texts_without_vector).
    ///
    /// # Errors
    /// Those of [`DatabaseHistory::read`].
    pub async fn texts_without_vector(
        self: &Arc<Self>,
        filter: Filter,
        vectors: &Vectors,
        limit: usize,
    ) -> Result<Vec<String>> {
        vectors.refresh().await;
        let filter = Filter { text: None, ..filter };
        let found = self.scan(Window::of(WINDOW), Some(filter), MAX_PAGE_LINES).await?;
        let vectors = vectors.clone();
        run_long(usize::MAX, move || {
            let texts = found.collected.candidates.iter().map(Candidate::embedded);
            Ok(vectors.missing(texts, limit))
        })
        .await
    }

    /// Collects matching entries, latest first. The first page has `lines` lines.
    async fn scan<C: Collect + Send + 'static>(
        &self,
        collector: C,
        mut filter: Option<Filter>,
        lines: usize,
    ) -> Result<Found<C>> {
        let mut found = Found::nothing(collector);
        let (mut after, mut max_lines) = (i64::MAX, lines.clamp(1, MAX_PAGE_LINES));
        while !found.collected.is_full() {
            let page = self.page(Direction::Backwards, after, filter.as_ref(), max_lines).await?;
            let Some(end) = page.end() else { break };
            after = end;
            max_lines = max_lines.saturating_mul(GROWTH).min(MAX_PAGE_LINES);
            let is_last = page.is_last;
            (found, filter) = run_long(page.bytes, move || {
                for line in page.lines {
                    if found.collected.is_full() {
                        break;
                    }
                    found.take(&line, filter.as_ref());
                }
                Ok((found, filter))
            })
            .await?;
            if is_last {
                break;
            }
        }
        Ok(found)
    }

    pub(super) async fn page(
        &self,
        direction: Direction,
        after: i64,
        filter: Option<&Filter>,
        max_lines: usize,
    ) -> Result<Page> {
        let range = Range {
            direction,
            after,
            filter,
            max_lines,
            max_bytes: MAX_PAGE_BYTES,
            max_line: self.options.max_entry_bytes,
        };
        let page = read_page(&self.database, &self.options.namespace, &range).await;
        page.map_err(|failure| self.unreadable(failure))
    }

    /// The lines at these positions, in this order; those that are no longer there are left out.
    pub(super) async fn lines_at(&self, positions: &[i64]) -> Result<Vec<Line>> {
        let mut lines = Vec::with_capacity(positions.len());
        for part in positions.chunks(MAX_FETCHED_LINES) {
            let parameters = Parameters::new()
                .text(self.namespace())
                .numbers(part.iter().copied().map(Some).collect())
                .number(i64::try_from(self.options.max_entry_bytes).unwrap_or(i64::MAX));
            let rows = self.database.statement(Intent::Read, FETCH, &parameters).await;
            let rows = rows.map_err(|failure| self.unreadable(failure))?;
            let mut fetched: HashMap<i64, Line> = rows
                .iter()
                .map(|row| {
                    let line = line_of(row);
                    (position(&line), line)
                })
                .collect();
            lines.extend(part.iter().filter_map(|position| fetched.remove(position)));
        }
        Ok(lines)
    }

    /// The entries at these positions, as [`DatabaseHistory::lines_at`], in the form for JavaScript.
    pub(super) async fn entries_at(&self, positions: &[i64]) -> Result<Vec<Vec<u8>>> {
        let lines = self.lines_at(positions).await?;
        Ok(lines.iter().filter_map(public).collect())
    }

    /// Reads every line of the log. Changes nothing.
    ///
    /// # Errors
    /// Those of [`DatabaseHistory::read`].
    pub async fn verify(self: &Arc<Self>) -> Result<VerifyReport> {
        let (mut report, mut number, mut after) = (VerifyReport::default(), 0, i64::MIN);
        loop {
            let page = self.page(Direction::Forwards, after, None, MAX_PAGE_LINES).await?;
            let Some(end) = page.end() else { return Ok(report) };
            after = end;
            let is_last = page.is_last;
            (report, number) = run_long(page.bytes, move || {
                for line in &page.lines {
                    number += 1;
                    report.bytes += line.length + 1;
                    report.take(number, line);
                }
                Ok((report, number))
            })
            .await?;
            if is_last {
                return Ok(report);
            }
        }
    }
}

/// The entry of a line in the form for JavaScript.
pub(super) fn public(line: &Line) -> Option<Vec<u8>> {
    let bytes = line.bytes.as_deref()?;
    let entry = Entry::parse(trim(bytes)).ok()?;
    let mut public = Vec::with_capacity(bytes.len() + 64);
    entry.write_public(&mut public);
    Some(public)
}
