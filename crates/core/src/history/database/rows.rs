//! Writing rows. Each function can be repeated with the same rows: they are there once.

use std::collections::HashMap;

use database::{Database, Failure, Intent, Parameters};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::super::entry::Entry;

/// The longest name of a tool in its column, in characters. Searches compare the column, and then the line.
const MAX_TOOL: usize = 256;
/// The most times that rows are written whose operation was there, and then was not.
const MAX_ATTEMPTS: usize = 5;

/// The position of an entry that is to be the first one. Positions before it are left for summaries.
const FIRST_POSITION: i64 = 1 << 40;

/// Writes rows. Rows of the same statement get consecutive positions, behind all that was committed before.
const INSERT: &str = "
WITH clock AS MATERIALIZED (
  SELECT greatest(
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1024,
    -- While the clock is behind, writers take random positions: the same ones would be refused.
    (SELECT max(at) FROM {schema}.entry WHERE namespace = $1 AND NOT is_record)
      + 1024 * (1 + floor(random() * 64)::bigint)
  ) AS at
)
INSERT INTO {schema}.entry (namespace, lane, n, at, operation, tool, success, time, line)
SELECT $1, $2, r.n, clock.at + r.n - $3, r.operation, r.tool, r.success = 1, r.time, r.line
FROM clock, unnest($4, $5, $6, $7, $8, $9) AS r (n, operation, tool, success, time, line)
WHERE r.operation IS NULL OR NOT EXISTS (
  SELECT 1 FROM {schema}.entry AS e WHERE e.namespace = $1 AND e.operation = r.operation)
ON CONFLICT (namespace, lane, n) DO NOTHING
RETURNING n";

/// Writes a row at the position $4, if $5 is the last position of the log.
const INSERT_AFTER: &str = "
INSERT INTO {schema}.entry (namespace, lane, n, at, operation, tool, success, time, line)
SELECT $1, $2, $3, $4, $6, $7, $8 = 1, $9, $10
WHERE (SELECT max(at) FROM {schema}.entry WHERE namespace = $1 AND NOT is_record)
    IS NOT DISTINCT FROM $5
  AND ($6 IS NULL OR NOT EXISTS (
    SELECT 1 FROM {schema}.entry WHERE namespace = $1 AND operation = $6))
ON CONFLICT (namespace, lane, n) DO NOTHING
RETURNING n";

/// Whose rows are there: own ones without their line, and those of operations.
const FIND: &str = "
SELECT n, operation, CASE WHEN lane = $2 AND n = ANY($3) THEN NULL ELSE line END AS line
FROM {schema}.entry
WHERE namespace = $1 AND ((lane = $2 AND n = ANY($3)) OR operation = ANY($4))";

/// An entry as a row.
pub(super) struct NewRow {
    operation: Option<String>,
    tool: String,
    is_success: bool,
    time: Option<i64>,
    pub line: Vec<u8>,
}

/// What became of a row.
#[derive(Debug)]
pub(super) enum Outcome {
    Written,
    /// The log has this entry of the same operation, in the form for JavaScript.
    Earlier(Vec<u8>),
    /// The last entry was not the expected one, or another writer's entry of the operation disappeared again and again.
    Refused,
}

/// The name of a tool in its column, which cannot hold the character U+0000.
pub(super) fn tool_column(name: &str) -> String {
    name.chars().filter(|&character| character != '\0').take(MAX_TOOL).collect()
}

/// The id of an operation in its column, which has to be short and without U+0000: a hash.
pub(super) fn operation_column(id: &str) -> String {
    let hash = Sha256::digest(id.as_bytes());
    let bytes = hash.first_chunk::<16>().copied().unwrap_or_default();
    Uuid::from_bytes(bytes).simple().to_string()
}

impl NewRow {
    /// The row of a line, which this package built.
    pub fn of(line: Vec<u8>) -> Self {
        let parsed = Entry::parse(&line).ok();
        let entry = parsed.as_ref();
        let tool = entry.map_or_else(String::new, |entry| tool_column(&entry.tool_name()));
        let is_success = entry.is_none_or(Entry::success);
        let time = entry.and_then(Entry::time);
        let operation = entry.and_then(Entry::operation_id).as_deref().map(operation_column);
        Self { operation, tool, is_success, time, line }
    }

    /// The operation's column.
    pub fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// The same line, whose operation is not in its column.
    pub fn without_operation(self) -> Self {
        Self { operation: None, ..self }
    }
}

/// Where the rows of a writer go.
pub(super) struct Place<'a> {
    pub database: &'a Database,
    pub namespace: &'a str,
    pub lane: Uuid,
    /// The number of the first row.
    pub first: i64,
}

impl Place<'_> {
    /// Writes rows, each of another operation, if it has one.
    pub async fn insert(&self, rows: Vec<NewRow>) -> Result<Vec<Outcome>, Failure> {
        let operations: Vec<Option<String>> =
            rows.iter().map(|row| row.operation.clone()).collect();
        let numbers: Vec<i64> = (self.first..).take(rows.len()).collect();
        let mut columns = Columns::default();
        for (&number, row) in numbers.iter().zip(rows) {
            columns.add(number, row);
        }
        let parameters = columns.parameters(self);
        let mut outcomes: HashMap<i64, Outcome> = HashMap::new();
        for _ in 0..MAX_ATTEMPTS {
            let written = self.database.statement(Intent::Write, INSERT, &parameters).await?;
            for row in &written {
                outcomes.insert(row.get(0), Outcome::Written);
            }
            if outcomes.len() == numbers.len() {
                break;
            }
            self.find(&numbers, &operations, &mut outcomes).await?;
            if outcomes.len() == numbers.len() {
                break;
            }
        }
        Ok(numbers
            .iter()
            .map(|number| outcomes.remove(number).unwrap_or(Outcome::Refused))
            .collect())
    }

    /// Writes a row, if `last` is the last position.
    pub async fn insert_after(&self, last: Option<i64>, row: NewRow) -> Result<Outcome, Failure> {
        let operations = [row.operation.clone()];
        let parameters = Parameters::new()
            .text(self.namespace)
            .id(self.lane)
            .number(self.first)
            .number(last.map_or(FIRST_POSITION, |last| last + 1))
            .optional_number(last)
            .optional_text(row.operation)
            .text(row.tool)
            .number(i64::from(row.is_success))
            .optional_number(row.time)
            .bytes(row.line);
        let written = self.database.statement(Intent::Write, INSERT_AFTER, &parameters).await?;
        if !written.is_empty() {
            return Ok(Outcome::Written);
        }
        let mut outcomes = HashMap::new();
        self.find(&[self.first], &operations, &mut outcomes).await?;
        Ok(outcomes.remove(&self.first).unwrap_or(Outcome::Refused))
    }

    /// The entry of an operation, in the form for JavaScript.
    pub async fn earlier(&self, operation: &str) -> Result<Option<Vec<u8>>, Failure> {
        let mut outcomes = HashMap::new();
        let operations = [Some(operation_column(operation))];
        self.find(&[self.first], &operations, &mut outcomes).await?;
        Ok(match outcomes.remove(&self.first) {
            Some(Outcome::Earlier(entry)) => Some(entry),
            _ => None,
        })
    }

    /// Adds the outcomes of rows that are there, and of rows whose operation is there.
    async fn find(
        &self,
        numbers: &[i64],
        operations: &[Option<String>],
        outcomes: &mut HashMap<i64, Outcome>,
    ) -> Result<(), Failure> {
        let parameters = Parameters::new()
            .text(self.namespace)
            .id(self.lane)
            .numbers(numbers.iter().copied().map(Some).collect())
            .texts(operations.iter().filter(|operation| operation.is_some()).cloned().collect());
        let mut earlier: HashMap<String, Vec<u8>> = HashMap::new();
        for row in self.database.statement(Intent::Read, FIND, &parameters).await? {
            match (row.get::<_, Option<String>>(1), row.get::<_, Option<Vec<u8>>>(2)) {
                (Some(operation), Some(line)) => drop(earlier.insert(operation, line)),
                (_, None) => drop(outcomes.insert(row.get(0), Outcome::Written)),
                _ => {}
            }
        }
        for (&number, operation) in numbers.iter().zip(operations) {
            if let Some(line) = operation.as_ref().and_then(|operation| earlier.get(operation))
                && let Ok(entry) = Entry::parse_any(line)
            {
                let mut public = Vec::with_capacity(line.len() + 64);
                entry.write_public(&mut public);
                outcomes.entry(number).or_insert(Outcome::Earlier(public));
            }
        }
        Ok(())
    }
}

/// Rows as arrays.
#[derive(Default)]
struct Columns {
    numbers: Vec<Option<i64>>,
    operations: Vec<Option<String>>,
    tools: Vec<Option<String>>,
    successes: Vec<Option<i64>>,
    times: Vec<Option<i64>>,
    lines: Vec<Vec<u8>>,
}

impl Columns {
    fn add(&mut self, number: i64, row: NewRow) {
        self.numbers.push(Some(number));
        self.operations.push(row.operation);
        self.tools.push(Some(row.tool));
        self.successes.push(Some(i64::from(row.is_success)));
        self.times.push(row.time);
        self.lines.push(row.line);
    }

    fn parameters(self, place: &Place<'_>) -> Parameters {
        Parameters::new()
            .text(place.namespace)
            .id(place.lane)
            .number(place.first)
            .numbers(self.numbers)
            .texts(self.operations)
            .texts(self.tools)
            .numbers(self.successes)
            .numbers(self.times)
            .byte_strings(self.lines)
    }
}
