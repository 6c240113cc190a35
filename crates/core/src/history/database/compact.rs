//! Compaction of a history in a database. A plan names the dropped rows by ranges of positions, and their number: where another
//! writer has committed a row into such a range since, or another process has compacted, the number differs, and nothing is
//! changed. The dropped rows are removed and the summary written in one transaction.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use database::{Intent, Isolation, Parameters};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    super::{
        compact::{
            CompactReport, MAX_OPERATION_BYTES, MAX_OPERATIONS, OPERATIONS_SHARE, Policy, Seen,
            Summary, keep,
        },
        entry::{Entry, trim},
        recall::{Recalled, texts},
        record::RedactedEntry,
    },
    DatabaseHistory,
};
use crate::error::{Code, Error, Result};

/// The rows that are examined in one statement.
const PAGE: i64 = 20_000;
/// The lines that are fetched at once for their operation records.
const RECORDED: usize = 64;

const LIST: &str = "
SELECT at, octet_length(line), time, operation IS NOT NULL FROM {schema}.entry
WHERE namespace = $1 AND NOT is_record AND at > $2 ORDER BY at LIMIT $3";
/// All statements of a compaction see one moment; the server aborts one of two compactions that remove the same rows.
const ISOLATE: &str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
/// Whether the compaction was carried out by an earlier attempt whose answer was lost.
const IS_DONE: &str =
    "SELECT count(*) FROM {schema}.entry WHERE namespace = $1 AND lane = $2 AND n = $3";
const COUNT: &str = "
SELECT count(*) FROM {schema}.entry AS e
JOIN unnest($2, $3) AS r (first, last) ON e.at BETWEEN r.first AND r.last
WHERE e.namespace = $1 AND NOT e.is_record";
const RECORD: &str = "
UPDATE {schema}.entry AS e SET is_record = true, line = r.line
FROM unnest($2, $3) AS r (at, line)
WHERE e.namespace = $1 AND e.at = r.at AND NOT e.is_record";
const DELETE: &str = "
DELETE FROM {schema}.entry AS e USING unnest($2, $3) AS r (first, last)
WHERE e.namespace = $1 AND NOT e.is_record AND e.at BETWEEN r.first AND r.last";
/// Keeps the latest records within their bounds.
const PRUNE: &str = "
DELETE FROM {schema}.entry WHERE namespace = $1 AND is_record AND (lane, n) IN (
  SELECT lane, n FROM (
    SELECT lane, n, row_number() OVER latest AS place, sum(octet_length(line)) OVER latest AS bytes
    FROM {schema}.entry WHERE namespace = $1 AND is_record
    WINDOW latest AS (ORDER BY at DESC, lane, n)
  ) AS record WHERE place > $2 OR bytes > $3)";
const SUMMARISE: &str = "
INSERT INTO {schema}.entry (namespace, lane, n, at, tool, success, line)
VALUES ($1, $2, $3, $4, 'summary', true, $5)";

/// The result of planning a compaction.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DatabasePlan {
    /// The number of kept entries.
    pub kept_entries: u64,
    /// The number of dropped entries.
    pub dropped_entries: u64,
    /// Always 0: every row has an entry.
    pub dropped_bad_lines: u64,
    /// The length of all lines.
    length: u64,
    kept_bytes: u64,
    /// The first and the last position of each range of dropped entries.
    dropped: Vec<(i64, i64)>,
    /// The first position of the log.
    first: i64,
    /// The positions of dropped entries with an operation, and their operation records.
    operations: Vec<(i64, String)>,
    /// The bytes of all operation records, at most.
    max_operation_bytes: u64,
}

impl DatabaseHistory {
    /// Decides which entries would be dropped. With `wants_entries`, also returns them.
    ///
    /// # Errors
    /// `Storage`, `Timeout` or `Access`.
    pub async fn plan(
        self: &Arc<Self>,
        policy: Policy,
        wants_entries: bool,
    ) -> Result<(DatabasePlan, Recalled)> {
        let seen = self.list().await?;
        let keeps = keep(&seen, &policy);
        let share = policy.max_bytes.map_or(u64::MAX, |most| most / OPERATIONS_SHARE);
        let mut plan = DatabasePlan {
            first: seen.first().map_or(0, position),
            max_operation_bytes: share.min(MAX_OPERATION_BYTES),
            ..DatabasePlan::default()
        };
        let (mut dropped, mut with_operation) = (Vec::new(), Vec::new());
        let mut was_dropped = false;
        for (row, &keeps) in seen.iter().zip(&keeps) {
            let (at, bytes) = (position(row), row.range.end - row.range.start);
            plan.length += bytes;
            if keeps {
                plan.kept_entries += 1;
                plan.kept_bytes += bytes;
            } else {
                plan.dropped_entries += 1;
                match plan.dropped.last_mut().filter(|_| was_dropped) {
                    Some(range) => range.1 = at,
                    None => plan.dropped.push((at, at)),
                }
                dropped.push(at);
                if row.has_operation {
                    with_operation.push(at);
                }
            }
            was_dropped = !keeps;
        }
        plan.operations = self.operation_records(&with_operation, plan.max_operation_bytes).await?;
        let entries = if wants_entries { self.entries_at(&dropped).await? } else { Vec::new() };
        Ok((plan, texts(entries)))
    }

    /// All rows of the log.
    async fn list(&self) -> Result<Vec<Seen>> {
        let (mut seen, mut after) = (Vec::new(), i64::MIN);
        loop {
            let parameters = Parameters::new().text(self.namespace()).number(after).number(PAGE);
            let rows = self.database.statement(Intent::Read, LIST, &parameters).await;
            let rows = rows.map_err(|failure| self.unreadable(failure))?;
            let count = rows.len();
            seen.extend(rows.into_iter().map(|row| {
                let (at, length): (i64, i32) = (row.get(0), row.get(1));
                after = at;
                let start = u64::try_from(at).unwrap_or_default();
                // With its newline character, as in a file.
                let end = start + u64::try_from(length).unwrap_or_default() + 1;
                let (entry, has_operation) = (Some(row.get(2)), row.get(3));
                Seen { range: start..end, entry, is_silent: false, has_operation }
            }));
            if count < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                return Ok(seen);
            }
        }
    }

    /// The operation records of the latest of these entries.
    async fn operation_records(
        &self,
        positions: &[i64],
        max_bytes: u64,
    ) -> Result<Vec<(i64, String)>> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        let latest: Vec<i64> = positions.iter().rev().take(MAX_OPERATIONS).copied().collect();
        for part in latest.chunks(RECORDED) {
            for line in self.lines_at(part).await? {
                let text = line.bytes.as_deref().map(trim).unwrap_or_default();
                let Ok(entry) = Entry::parse_any(text) else { continue };
                let Ok(mut record) = String::from_utf8(entry.operation_record()) else { continue };
                record.truncate(record.trim_end().len());
                bytes += record.len() as u64;
                if bytes > max_bytes {
                    return Ok(records);
                }
                records.push((super::pages::position(&line), record));
            }
        }
        Ok(records)
    }

    /// Carries out a plan. The summary becomes the first entry; it is returned if secrets in it were
    /// redacted. Entries that were appended since the plan are kept. Readers see either the old or the new
    /// log.
    ///
    /// # Errors `Redaction`, `TooLarge` or `InvalidArgument` for a summary that cannot be written; `Conflict`
    /// if the log is not the one of the plan; `Storage`, `Timeout` or `Access`.
    pub async fn compact(
        &self,
        plan: DatabasePlan,
        summary: Option<Summary>,
    ) -> Result<(CompactReport, Option<RedactedEntry>)> {
        let checked =
            summary.map(|summary| summary.checked(self.options.max_entry_bytes)).transpose()?;
        let (line, redacted) = checked.map_or((None, None), |(line, entry)| (Some(line), entry));
        let report = CompactReport {
            kept_entries: plan.kept_entries,
            dropped_entries: plan.dropped_entries,
            dropped_bad_lines: plan.dropped_bad_lines,
            bytes_before: plan.length,
            bytes_after: plan.kept_bytes + line.as_ref().map_or(0, |line| line.len() as u64 + 1),
        };
        let changes = Changes::new(self.namespace(), plan, line);
        let changes = &changes;
        let carried_out = self
            .database
            .transaction(Intent::Write, Isolation::ReadCommitted, |transaction| {
                changes.carry_out(transaction)
            })
            .await
            .map_err(|failure| self.failed("compact", failure))?;
        if !carried_out {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "could not compact {}: it was changed meanwhile; try again",
                    self.path().display()
                ),
            ));
        }
        Ok((report, redacted))
    }
}

fn position(row: &Seen) -> i64 {
    i64::try_from(row.range.start).unwrap_or(i64::MAX)
}

/// The parameters of a compaction's statements.
struct Changes {
    dropped_entries: u64,
    ranges: Parameters,
    records: Option<Parameters>,
    record_bounds: Parameters,
    /// The key of the summary, and its row.
    summary: Option<(Parameters, Parameters)>,
    /// Whether an attempt has been sent.
    is_repeated: AtomicBool,
}

impl Changes {
    fn new(namespace: String, plan: DatabasePlan, summary: Option<Vec<u8>>) -> Self {
        let named = || Parameters::new().text(namespace.clone());
        let (first, last): (Vec<_>, Vec<_>) =
            plan.dropped.iter().map(|&(first, last)| (Some(first), Some(last))).unzip();
        let (at, lines): (Vec<_>, Vec<_>) =
            plan.operations.into_iter().map(|(at, record)| (Some(at), record.into_bytes())).unzip();
        let summary = summary.map(|line| {
            // A random number, because several compactions may be under way.
            let [a, b, c, d, e, f, ..] = Uuid::new_v4().into_bytes();
            let number = i64::from_be_bytes([0, 0, a, b, c, d, e, f]);
            let key = || named().id(Uuid::nil()).number(number);
            (key(), key().number(plan.first - 1).bytes(line))
        });
        Self {
            dropped_entries: plan.dropped_entries,
            ranges: named().numbers(first).numbers(last),
            records: (!at.is_empty()).then(|| named().numbers(at).byte_strings(lines)),
            record_bounds: named()
                .number(i64::try_from(MAX_OPERATIONS).unwrap_or(i64::MAX))
                .number(i64::try_from(plan.max_operation_bytes).unwrap_or(i64::MAX)),
            summary,
            is_repeated: AtomicBool::new(false),
        }
    }

    /// Whether the log is that of the plan. If not, nothing is changed.
    async fn carry_out(
        &self,
        transaction: database::Transaction,
    ) -> std::result::Result<bool, database::StatementError> {
        let count = async |sql: &str, parameters: &Parameters| {
            let rows = transaction.statement(sql, parameters).await?;
            Ok::<i64, database::StatementError>(rows.first().map_or(0, |row| row.get(0)))
        };
        transaction.statement(ISOLATE, &Parameters::new()).await?;
        if let Some((key, _)) = &self.summary
            && self.is_repeated.swap(true, Ordering::Relaxed)
            && count(IS_DONE, key).await? > 0
        {
            return Ok(true);
        }
        let counted = count(COUNT, &self.ranges).await?;
        if u64::try_from(counted).ok() != Some(self.dropped_entries) {
            return Ok(false);
        }
        if let Some(records) = &self.records {
            transaction.statement(RECORD, records).await?;
        }
        transaction.statement(DELETE, &self.ranges).await?;
        transaction.statement(PRUNE, &self.record_bounds).await?;
        if let Some((_, row)) = &self.summary {
            transaction.statement(SUMMARISE, row).await?;
        }
        Ok(true)
    }
}
