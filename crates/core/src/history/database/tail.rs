//! Following a history in a database: a number for each lane says how far it was read. A row is never missed, although one may
//! be committed after another with a later position: within a lane, rows are committed in their order.
//!
//! Entries are missed only if a compaction drops them before they are read. The summaries of compactions are not returned.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use database::{Intent, Parameters, Row};
use uuid::Uuid;

use super::{
    super::{
        entry::{Entry, trim},
        recall::{Recalled, texts},
        tail::{ANSWER, TailStart, missing},
    },
    DatabaseHistory,
    pages::{Direction, MAX_PAGE_LINES, line_of, position},
    recall::public,
};
use crate::error::Result;

/// The most lines of an answer.
const MAX_LINES: i64 = 1024;
/// The interval at which all lanes are examined, although there is nothing at later positions.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Whether there is an entry after a position.
const PEEK: &str =
    "SELECT 1 FROM {schema}.entry WHERE namespace = $1 AND NOT is_record AND at > $2 LIMIT 1";

/// The lanes of the log, each found by one step in the index. The first lane is that of the summaries.
macro_rules! with_lanes {
    ($query:literal) => {
        concat!(
            "
WITH RECURSIVE lanes (lane) AS (
  (SELECT lane FROM {schema}.entry WHERE namespace = $1 AND lane > $2 ORDER BY lane LIMIT 1)
  UNION ALL
  SELECT (
    SELECT e.lane FROM {schema}.entry AS e
    WHERE e.namespace = $1 AND e.lane > lanes.lane ORDER BY e.lane LIMIT 1
  ) FROM lanes WHERE lanes.lane IS NOT NULL
)",
            $query
        )
    };
}

/// The number of each lane's last row up to a position.
const START: &str = with_lanes!(
    "
SELECT lanes.lane, coalesce((
  SELECT e.n FROM {schema}.entry AS e
  WHERE e.namespace = $1 AND e.lane = lanes.lane AND e.at <= $3 ORDER BY e.n DESC LIMIT 1
), 0)
FROM lanes WHERE lanes.lane IS NOT NULL"
);

/// The entries after the number of each lane, in the order of the log.
const NEXT: &str = with_lanes!(
    "
SELECT lane, n, at, length, CASE WHEN length <= $5 THEN line END AS line
FROM (
  SELECT lane, n, at, line, octet_length(line) AS length,
    sum(octet_length(line)) OVER (ORDER BY at) AS total
  FROM (
    SELECT e.lane, e.n, e.at, e.line
    FROM lanes
    LEFT JOIN unnest($3, $4) AS read (lane, n) ON read.lane = lanes.lane
    CROSS JOIN LATERAL (
      SELECT lane, n, at, line FROM {schema}.entry
      WHERE namespace = $1 AND lane = lanes.lane AND n > coalesce(read.n, 0) AND NOT is_record
      ORDER BY n LIMIT $7
    ) AS e
    WHERE lanes.lane IS NOT NULL
    ORDER BY e.at LIMIT $7
  ) AS page
) AS sized
WHERE total - length < $6 ORDER BY at"
);

/// A position in a history that moves forwards.
pub struct DatabaseTail {
    history: Arc<DatabaseHistory>,
    start: TailStart,
    /// `None` until the start was found.
    state: Mutex<Option<State>>,
}

/// How far the log was read.
#[derive(Clone)]
struct State {
    /// The number of the last row that was read of each lane.
    read: HashMap<Uuid, i64>,
    /// The last position that was read.
    last: i64,
    /// When all lanes were examined last.
    probed: Option<Instant>,
}

impl DatabaseHistory {
    /// A position to follow the history from. Reads nothing yet.
    #[must_use]
    pub fn tail(self: &Arc<Self>, start: TailStart) -> Arc<DatabaseTail> {
        Arc::new(DatabaseTail { history: Arc::clone(self), start, state: Mutex::default() })
    }

    async fn rows(&self, sql: &str, parameters: &Parameters) -> Result<Vec<Row>> {
        let rows = self.database.statement(Intent::Read, sql, parameters).await;
        rows.map_err(|failure| self.unreadable(failure))
    }

    /// The position to begin after.
    async fn find_start(&self, start: &TailStart) -> Result<i64> {
        let mut after = i64::MAX;
        let mut wanted = match start {
            TailStart::Last(count) => *count,
            TailStart::After(_) => usize::MAX,
        };
        loop {
            let max_lines = wanted.saturating_add(1).min(MAX_PAGE_LINES);
            let page = self.page(Direction::Backwards, after, None, max_lines).await?;
            for line in &page.lines {
                let Some(entry) =
                    line.bytes.as_deref().and_then(|bytes| Entry::parse(trim(bytes)).ok())
                else {
                    continue;
                };
                if wanted == 0 || matches!(start, TailStart::After(id) if *id == entry.id()) {
                    return Ok(position(line));
                }
                wanted -= 1;
            }
            match (page.end(), start) {
                (Some(end), _) if !page.is_last => after = end,
                (_, TailStart::Last(_)) => return Ok(i64::MIN),
                (_, TailStart::After(id)) => return Err(missing(self.path(), id)),
            }
        }
    }

    fn in_lanes(&self) -> Parameters {
        Parameters::new().text(self.namespace()).id(Uuid::nil())
    }
}

impl DatabaseTail {
    /// The next entries, in the order of the log, up to the size of one answer; empty if there are none yet.
    ///
    /// # Errors `NotFound` if the entry to begin after does not exist; `Storage`, `Timeout` or `Access`.
    pub async fn next(self: &Arc<Self>) -> Result<Recalled> {
        let known = self.state().clone();
        let mut state = match known {
            Some(state) => state,
            None => self.begin().await?,
        };
        let entries = self.advance(&mut state).await?;
        // If the call was cancelled before, the entries are read again.
        *self.state() = Some(state);
        Ok(texts(entries))
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn begin(&self) -> Result<State> {
        let last = self.history.find_start(&self.start).await?;
        let parameters = self.history.in_lanes().number(last);
        let rows = self.history.rows(START, &parameters).await?;
        let read = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        Ok(State { read, last, probed: None })
    }

    async fn advance(&self, state: &mut State) -> Result<Vec<Vec<u8>>> {
        let history = &self.history;
        if state.probed.is_some_and(|probed| probed.elapsed() < PROBE_INTERVAL) {
            let parameters = Parameters::new().text(history.namespace()).number(state.last);
            if history.rows(PEEK, &parameters).await?.is_empty() {
                return Ok(Vec::new());
            }
        }
        let (lanes, numbers) = state.read.iter().map(|(&lane, &n)| (lane, Some(n))).unzip();
        let number = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
        let parameters = history
            .in_lanes()
            .ids(lanes)
            .numbers(numbers)
            .number(number(history.options.max_entry_bytes))
            .number(number(ANSWER))
            .number(MAX_LINES);
        let rows = history.rows(NEXT, &parameters).await?;
        state.probed = Some(Instant::now());
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let line = line_of(row);
            state.read.insert(row.get("lane"), row.get("n"));
            state.last = state.last.max(position(&line));
            entries.extend(public(&line));
        }
        Ok(entries)
    }
}
