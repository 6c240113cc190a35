//! Reading and adding lines as they are, for copies of a history.

use std::{collections::HashSet, sync::Arc};

use database::{Failure, Intent, Parameters};
use storage::Line;
use uuid::Uuid;

use super::{
    super::copying::{MAX_LINE, PAGE_BYTES, PAGE_LINES},
    super::entry::{Entry, trim},
    DatabaseHistory,
    pages::{Direction, Range, position, read_page},
    rows::{NewRow, Place, operation_column},
};
use crate::error::Result;

/// An operation is unique in the table. A file that other programs write may have it in several lines: the column of the later
/// ones is left empty.
const FIND_OPERATIONS: &str =
    "SELECT operation FROM {schema}.entry WHERE namespace = $1 AND operation = ANY($2)";
const READ_RECORDS: &str = "
SELECT line FROM {schema}.entry WHERE namespace = $1 AND is_record ORDER BY at, lane, n";
/// Adds operation records, unless the operation is known.
const ADD_RECORDS: &str = "
INSERT INTO {schema}.entry (namespace, lane, n, at, operation, tool, success, line, is_record)
SELECT $1, $2, r.n, r.n, r.operation, '', true, r.line, true
FROM unnest($3, $4, $5) AS r (n, operation, line)
WHERE NOT EXISTS (SELECT 1 FROM {schema}.entry AS e WHERE e.namespace = $1 AND e.operation = r.operation)
ON CONFLICT DO NOTHING";

/// The lines of a history, page by page.
pub(in super::super) struct CopiedLines {
    history: Arc<DatabaseHistory>,
    after: i64,
    is_over: bool,
}

impl CopiedLines {
    /// The next lines; none at the end.
    pub async fn page(&mut self) -> Result<Vec<Vec<u8>>> {
        if self.is_over {
            return Ok(Vec::new());
        }
        let range = Range {
            direction: Direction::Forwards,
            after: self.after,
            filter: None,
            max_lines: PAGE_LINES,
            max_bytes: PAGE_BYTES,
            max_line: MAX_LINE,
        };
        let history = &self.history;
        let page = read_page(&history.database, &history.options.namespace, &range).await;
        let page = page.map_err(|failure| history.unreadable(failure))?;
        self.is_over = page.is_last;
        self.after = page.lines.last().map_or(self.after, position);
        let lines = page.lines.into_iter();
        Ok(lines.filter_map(|Line { bytes, .. }| bytes).collect())
    }
}

impl DatabaseHistory {
    /// The lines from the first one on.
    pub(in super::super) fn copied_lines(self: &Arc<Self>) -> CopiedLines {
        CopiedLines { history: Arc::clone(self), after: i64::MIN, is_over: false }
    }

    /// The lines of all operation records.
    pub(in super::super) async fn operation_record_lines(&self) -> Result<Vec<Vec<u8>>> {
        let parameters = Parameters::new().text(self.namespace());
        let rows = self.database.statement(Intent::Read, READ_RECORDS, &parameters).await;
        let rows = rows.map_err(|failure| self.unreadable(failure))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Adds lines behind all that was committed before.
    pub(in super::super) async fn add_lines(
        &self,
        lines: Vec<Vec<u8>>,
        are_records: bool,
    ) -> Result<()> {
        if are_records { self.add_records(lines).await } else { self.add_entries(lines).await }
            .map_err(|failure| self.failed("append to", failure))
    }

    async fn add_entries(&self, lines: Vec<Vec<u8>>) -> std::result::Result<(), Failure> {
        let rows: Vec<NewRow> = lines.into_iter().map(NewRow::of).collect();
        let operations: Vec<Option<String>> =
            rows.iter().filter_map(NewRow::operation).map(|id| Some(id.to_owned())).collect();
        let mut known = HashSet::new();
        if !operations.is_empty() {
            let parameters = Parameters::new().text(self.namespace()).texts(operations);
            let found = self.database.statement(Intent::Read, FIND_OPERATIONS, &parameters).await?;
            known.extend(found.iter().map(|row| row.get::<_, String>(0)));
        }
        let rows = rows.into_iter().map(|row| match row.operation() {
            Some(id) if !known.insert(id.to_owned()) => row.without_operation(),
            _ => row,
        });
        let (database, namespace) = (self.database.as_ref(), self.options.namespace.as_str());
        let place = Place { database, namespace, lane: Uuid::new_v4(), first: 0 };
        place.insert(rows.collect()).await.map(drop)
    }

    async fn add_records(&self, lines: Vec<Vec<u8>>) -> std::result::Result<(), Failure> {
        let operations = lines.iter().map(|line| {
            let entry = Entry::parse_any(trim(line)).ok()?;
            entry.operation_id().as_deref().map(operation_column)
        });
        let parameters = Parameters::new()
            .text(self.namespace())
            .id(Uuid::new_v4())
            .numbers((0..).take(lines.len()).map(Some).collect())
            .texts(operations.collect())
            .byte_strings(lines.clone());
        self.database.statement(Intent::Write, ADD_RECORDS, &parameters).await.map(drop)
    }
}
