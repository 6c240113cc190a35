//! Compaction of a history log in two steps: [`History::plan`] decides which entries are dropped, without a
//! lock, and [`History::compact`] rewrites the log, keeping entries that were appended in between. Before the
//! second step, the caller may write a summary of the dropped entries.
//!
//! A dropped entry with an operation id leaves an *operation record* at the head of the log: a line without
//! parameters and result, so that the id stays known. The latest ones are kept, within bounds.

use std::{ops::Range, sync::Arc};

use chrono::Utc;
use redaction::{Redaction, RedactionSession};
use serde::{Deserialize, Serialize};
use storage::{FileError, LinesForwards, LogReader, LogSnapshot, Rewrite};

use super::{
    Cancelled, History,
    entry::{Entry, trim},
    recall::{Recalled, texts},
    record::{RedactedEntry, check_size, redacted_entry},
    run_blocking,
};
use crate::error::{Code, Error, Result};

/// The most operation records that are kept, and their total size in bytes.
pub(super) const MAX_OPERATIONS: usize = 10_000;
pub(super) const MAX_OPERATION_BYTES: u64 = 2 * 1024 * 1024;
/// Beside a policy's `max_bytes`, operation records may take one part in this many of it.
pub(super) const OPERATIONS_SHARE: u64 = 8;

/// What is kept: the entries that all bounds allow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy {
    /// The most entries; the latest are kept.
    pub keep_last: Option<u64>,
    /// The greatest age, in ms. Entries without a time have no age.
    pub max_age: Option<i64>,
    /// The most bytes of lines; the latest are kept.
    pub max_bytes: Option<u64>,
    /// Whether the latest entry is kept even if it exceeds the bounds.
    pub keeps_latest: bool,
}

/// The result of planning a compaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The number of kept entries.
    pub kept_entries: u64,
    /// The number of dropped entries.
    pub dropped_entries: u64,
    /// The number of dropped lines without an entry, which are those before the first kept entry.
    pub dropped_bad_lines: u64,
    identity: u64,
    length: u64,
    tail: Vec<u8>,
    kept: Vec<Range<u64>>,
    /// The lines of the operation records, which come first.
    operations: String,
}

/// An entry that summarises the dropped ones.
#[derive(Debug)]
pub struct Summary {
    /// The whole line to be written.
    pub line: String,
    /// The redaction of the line; `None` writes it unchanged.
    pub redaction: Option<Redaction>,
}

impl Summary {
    /// The line that is written, and what was redacted in it.
    ///
    /// # Errors
    /// `Redaction`, `TooLarge` or `InvalidArgument`.
    pub(super) fn checked(self, limit: usize) -> Result<(Vec<u8>, Option<RedactedEntry>)> {
        let mut line = self.line.into_bytes();
        let mut pass = RedactionSession::new(self.redaction);
        pass.json(&mut line, 0)?;
        let is_entry = Entry::parse(&line).is_ok() && !line.contains(&b'\n');
        if !is_entry {
            return Err(Error::new(Code::InvalidArgument, "the summary is no entry"));
        }
        check_size("summary", line.len(), limit)?;
        let redacted = redacted_entry(&line, pass);
        Ok((line, redacted))
    }
}

/// The report of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactReport {
    /// The number of kept entries, not counting those that were appended meanwhile.
    pub kept_entries: u64,
    /// The number of dropped entries.
    pub dropped_entries: u64,
    /// The number of dropped lines without an entry.
    pub dropped_bad_lines: u64,
    /// The log's length when the plan was made.
    pub bytes_before: u64,
    /// The new log's length.
    pub bytes_after: u64,
}

/// The properties of a line that a plan needs.
pub(super) struct Seen {
    /// Its position, and its length.
    pub range: Range<u64>,
    /// The entry's time, if it has one; `None` if the line has no entry.
    pub entry: Option<Option<i64>>,
    /// Whether it is a blank line or an operation record, which do not count as bad lines.
    pub is_silent: bool,
    pub has_operation: bool,
}

impl History {
    /// Decides which entries would be dropped. With `wants_entries`, also returns them.
    ///
    /// # Errors `Io` if the log cannot be read.
    pub async fn plan(
        self: &Arc<Self>,
        policy: Policy,
        wants_entries: bool,
    ) -> Result<(Plan, Recalled)> {
        let Some(reader) = self.reader().await? else {
            return Ok((Plan::nothing(), Vec::new()));
        };
        let history = Arc::clone(self);
        run_blocking(move |cancelled| {
            history
                .try_plan(&reader, &policy, wants_entries, cancelled)
                .map_err(|error| history.unreadable(error))
        })
        .await
    }

    fn try_plan(
        &self,
        reader: &LogReader,
        policy: &Policy,
        wants_entries: bool,
        cancelled: &Cancelled,
    ) -> std::result::Result<(Plan, Recalled), FileError> {
        let max_line = self.options.max_entry_bytes;
        let mut seen = Vec::new();
        let mut lines = LinesForwards::new(reader, 0, max_line);
        let mut length = 0;
        while let Some(line) = lines.next_line()? {
            if cancelled.is_set() {
                return Ok((Plan::nothing(), Vec::new()));
            }
            let text = line.bytes.as_deref().map(trim);
            let parsed = text.and_then(|text| Entry::parse_any(text).ok());
            let has_operation = parsed.as_ref().is_some_and(Entry::has_operation);
            let is_record = parsed.as_ref().is_some_and(Entry::is_operation_record);
            let entry = parsed.filter(|_| !is_record).map(|entry| entry.time());
            if !line.is_terminated && entry.is_none() {
                // Another process is writing the line, so it counts as appended after the plan.
                break;
            }
            length = line.end();
            let is_silent = is_record || text.is_some_and(<[u8]>::is_empty);
            seen.push(Seen { range: line.offset..length, entry, is_silent, has_operation });
        }
        let snapshot = LogSnapshot::of(reader, reader.identity(), length)?;
        let keeps = keep(&seen, policy);
        let mut plan = Plan::new(&seen, &keeps, snapshot);
        plan.operations = self.operation_records(reader, policy, &seen, &keeps)?;
        let mut dropped = Vec::new();
        if wants_entries {
            for (line, _) in
                seen.iter().zip(&keeps).filter(|(line, keeps)| !**keeps && line.entry.is_some())
            {
                let mut lines = LinesForwards::new(reader, line.range.start, max_line);
                let Some(line) = lines.next_line()? else { continue };
                if let Ok(entry) = Entry::parse(trim(line.bytes.as_deref().unwrap_or_default())) {
                    let mut public = Vec::new();
                    entry.write_public(&mut public);
                    dropped.push(public);
                }
            }
        }
        Ok((plan, texts(dropped)))
    }

    /// The operation records for the dropped lines, oldest first.
    fn operation_records(
        &self,
        reader: &LogReader,
        policy: &Policy,
        seen: &[Seen],
        keeps: &[bool],
    ) -> std::result::Result<String, FileError> {
        let max_line = self.options.max_entry_bytes;
        let share = policy.max_bytes.map_or(u64::MAX, |most| most / OPERATIONS_SHARE);
        let mut bytes_left = share.min(MAX_OPERATION_BYTES);
        let mut records = Vec::new();
        let dropped = seen.iter().zip(keeps).rev();
        for (line, _) in dropped.filter(|(line, keeps)| line.has_operation && !**keeps) {
            let mut lines = LinesForwards::new(reader, line.range.start, max_line);
            let Some(bytes) = lines.next_line()?.and_then(|line| line.bytes) else { continue };
            let Ok(entry) = Entry::parse_any(trim(&bytes)) else { continue };
            // Records that are not UTF-8, or too long to be read later, are left out.
            let Ok(record) = String::from_utf8(entry.operation_record()) else { continue };
            if record.len() > max_line {
                continue;
            }
            let Some(left) = bytes_left.checked_sub(record.len() as u64) else { break };
            bytes_left = left;
            records.push(record);
            if records.len() == MAX_OPERATIONS {
                break;
            }
        }
        records.reverse();
        Ok(records.concat())
    }

    /// Carries out a plan. The summary becomes the first entry; it is returned if secrets in it were
    /// redacted. Entries that were appended since the plan are kept. Readers see either the old or the new
    /// log.
    ///
    /// # Errors `Redaction`, `TooLarge` or `InvalidArgument` for a summary that cannot be written; `Conflict`
    /// if the log was replaced since the plan, `LockTimeout`, `Unsupported` on file systems without locks, or
    /// `Io`. The log is unchanged then, unless only synchronising its directory failed: then it is the new
    /// one.
    pub async fn compact(
        &self,
        plan: Plan,
        summary: Option<Summary>,
    ) -> Result<(CompactReport, Option<RedactedEntry>)> {
        let mut head = Vec::new();
        let mut redacted = None;
        if let Some(summary) = summary {
            (head, redacted) = summary.checked(self.options.max_entry_bytes)?;
            head.push(b'\n');
        }
        let bytes_before = plan.length;
        let snapshot =
            LogSnapshot { identity: plan.identity, length: plan.length, tail: plan.tail };
        let head = [plan.operations.into_bytes(), head].concat();
        let rewrite = Rewrite { snapshot, head, kept: plan.kept };
        let pending = self.log.rewrite(rewrite, self.options.lock_timeout);
        let bytes_after = pending
            .outcome()
            .await
            .ok_or_else(|| Error::internal("compacting was interrupted"))?
            .map_err(|error| self.failed("compact", error))?;
        self.forget_index();
        self.operations.forget();
        let report = CompactReport {
            kept_entries: plan.kept_entries,
            dropped_entries: plan.dropped_entries,
            dropped_bad_lines: plan.dropped_bad_lines,
            bytes_before,
            bytes_after,
        };
        Ok((report, redacted))
    }
}

/// Decides which lines are kept, starting with the latest.
pub(super) fn keep(seen: &[Seen], policy: &Policy) -> Vec<bool> {
    let now = Utc::now().timestamp_millis();
    let (mut entries, mut bytes, mut is_full) = (0, 0_u64, false);
    let mut keeps_next = policy.keeps_latest;
    let mut keeps: Vec<bool> = seen
        .iter()
        .rev()
        .map(|line| {
            let Some(time) = line.entry else { return true };
            let size = line.range.end - line.range.start;
            is_full = is_full
                || policy.keep_last.is_some_and(|most| entries >= most)
                || policy.max_bytes.is_some_and(|most| bytes.saturating_add(size) > most);
            let is_young = match (policy.max_age, time) {
                (Some(most), Some(time)) => now.saturating_sub(time) <= most,
                _ => true,
            };
            let keeps = std::mem::take(&mut keeps_next) || !is_full && is_young;
            if keeps {
                entries += 1;
                bytes += size;
            }
            keeps
        })
        .collect();
    keeps.reverse();
    let is_kept = |(line, keeps): (&Seen, &bool)| line.entry.is_some() && *keeps;
    let first = seen.iter().zip(&keeps).position(is_kept).unwrap_or(seen.len());
    // A line without an entry is kept only after a kept entry.
    for slot in keeps.iter_mut().take(first) {
        *slot = false;
    }
    keeps
}

impl Plan {
    /// The log's length.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The length of what is kept, without what is appended meanwhile.
    pub(super) fn kept_bytes(&self) -> u64 {
        let kept: u64 = self.kept.iter().map(|range| range.end - range.start).sum();
        kept + self.operations.len() as u64
    }

    pub(super) fn drops_nothing(&self) -> bool {
        self.dropped_entries == 0 && self.dropped_bad_lines == 0
    }

    fn nothing() -> Self {
        let snapshot = LogSnapshot { identity: 0, length: 0, tail: Vec::new() };
        Self::new(&[], &[], snapshot)
    }

    fn new(seen: &[Seen], keeps: &[bool], snapshot: LogSnapshot) -> Self {
        let LogSnapshot { identity, length, tail } = snapshot;
        let mut plan = Self {
            kept_entries: 0,
            dropped_entries: 0,
            dropped_bad_lines: 0,
            identity,
            length,
            tail,
            kept: Vec::new(),
            operations: String::new(),
        };
        for (line, &keeps) in seen.iter().zip(keeps) {
            let is_entry = line.entry.is_some();
            if keeps {
                plan.kept_entries += u64::from(is_entry);
                match plan.kept.last_mut() {
                    Some(last) if last.end == line.range.start => last.end = line.range.end,
                    _ => plan.kept.push(line.range.clone()),
                }
            } else {
                plan.dropped_entries += u64::from(is_entry);
                plan.dropped_bad_lines += u64::from(!is_entry && !line.is_silent);
            }
        }
        plan
    }
}
