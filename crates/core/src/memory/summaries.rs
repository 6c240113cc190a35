//! The log `summaries.jsonl`: appending, reading and pruning. It keeps the latest summaries within bounds.

use std::{
    ops::Range,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use memchr::memmem;
use redaction::{Redacted, Redaction, RedactionSession, Report};
use serde_json::json;
use storage::{
    AppendError, Check, FileError, FileResult, LinesForwards, LogError, LogReader, LogRegistry,
    LogSnapshot, LogView, Rewrite, Verdict,
};
use tasks::CallPlace;

use super::{Memory, directory::timed_out, now, summary::Summary};
use crate::{
    blocking::run_blocking,
    error::{Code, Error, Result},
};

pub(super) static LOGS: LogRegistry<Error> = LogRegistry::new();

/// The longest line, in bytes: the text has at most 64 KB, and JSON takes at most six bytes for one.
const MAX_LINE: usize = 1024 * 1024;
/// The most attempts, if other processes keep replacing the log.
const MAX_ATTEMPTS: usize = 10;

/// The bounds of the log.
#[derive(Debug, Clone, Copy)]
pub struct SummaryBounds {
    /// The most summaries.
    pub entries: usize,
    /// The most bytes of lines; the latest summary is always kept.
    pub bytes: u64,
}

/// A line with a summary.
#[derive(Debug, Clone)]
pub(super) struct SummaryLine {
    range: Range<u64>,
    /// The line without its newline character.
    pub text: Vec<u8>,
    pub summary: Summary,
}

/// The contents of the log.
pub(super) struct Seen {
    /// The lines within the bounds, oldest first.
    pub kept: Vec<SummaryLine>,
    /// Their position, if lines before them are to be pruned.
    start: u64,
    pub snapshot: LogSnapshot,
    bad_lines: usize,
}

impl Memory {
    /// Appends a summary after those of earlier calls; the oldest beyond the bounds are pruned. If the log
    /// has a summary of the same operation, returns that and appends nothing.
    ///
    /// # Errors `InvalidArgument`, `TooLarge`, `Redaction`, `LockTimeout`, `Io`. Nothing was appended then.
    pub fn append_summary(
        self: &Arc<Self>,
        summary: Summary,
        redaction: Option<Redaction>,
    ) -> impl Future<Output = Result<Redacted<Summary>>> + Send + use<> {
        let (memory, place) = (Arc::clone(self), self.summary_order.exclusive());
        async move { memory.append_summary_at(place, summary, redaction).await }
    }

    async fn append_summary_at(
        self: &Arc<Self>,
        place: CallPlace,
        mut summary: Summary,
        redaction: Option<Redaction>,
    ) -> Result<Redacted<Summary>> {
        // Several calls are redacted concurrently; their lines are queued in the order of the calls.
        let mut pass = RedactionSession::new(redaction.clone());
        summary.prepare(&mut pass)?;
        self.describe(redaction).await?;
        self.prepare_directory().await?;
        let permit = place.reached().await;
        let (stored, line) = summary.line(now())?;
        let appended = self.append_once(line, stored.operation_id.clone());
        drop(permit);
        if let Some(stored) = appended.await? {
            return Ok(Redacted { stored, report: Report::default() });
        }
        // The summary is written: an error of pruning is only reported, and the next append prunes again.
        if let Err(error) = self.prune().await {
            self.debug.say(
                "Summaries beyond the bounds could not be removed",
                || json!({ "path": self.log_path.file(), "error": error.to_string() }),
            );
        }
        Ok(pass.answer(stored))
    }

    /// Queues a line, without its newline character, after those that were queued before.
    pub(super) fn append_line(&self, line: Vec<u8>) -> impl Future<Output = Result<()>> + Send {
        let pending = self.log.append(
            Box::new(move || Ok(line)),
            self.options.durability,
            self.options.lock_timeout,
        );
        async move {
            match pending.outcome().await {
                Some(Ok(())) => Ok(()),
                Some(Err(AppendError::Line(error))) => Err(error),
                Some(Err(AppendError::Log(error))) => Err(self.failed("append to", error)),
                None => Err(interrupted()),
            }
        }
    }

    /// As [`Memory::append_line`]; returns the existing summary if the log has one of the same operation.
    fn append_once(
        &self,
        line: Vec<u8>,
        operation_id: Option<String>,
    ) -> impl Future<Output = Result<Option<Summary>>> + Send + use<> {
        let (durability, timeout) = (self.options.durability, self.options.lock_timeout);
        let (make, found) = (Box::new(move || Ok(line)), Arc::new(Mutex::new(None)));
        let pending = match operation_id {
            None => self.log.append(make, durability, timeout),
            Some(id) => {
                let earlier = Arc::clone(&found);
                let check: Check = Box::new(move |view| {
                    let summary = find_operation(view, &id)?;
                    let verdict = summary.as_ref().map_or(Verdict::Write, |_| Verdict::Refuse);
                    *earlier.lock().unwrap_or_else(PoisonError::into_inner) = summary;
                    Ok(verdict)
                });
                self.log.append_checked(make, check, durability, timeout)
            }
        };
        let path = self.log_path.file();
        async move {
            match pending.outcome().await {
                Some(Ok(())) => Ok(None),
                Some(Err(AppendError::Log(LogError::Refused))) => {
                    Ok(found.lock().unwrap_or_else(PoisonError::into_inner).take())
                }
                Some(Err(AppendError::Line(error))) => Err(error),
                Some(Err(AppendError::Log(error))) => {
                    Err(failed("append to", &path, timeout, error))
                }
                None => Err(interrupted()),
            }
        }
    }

    /// The summaries, oldest first.
    ///
    /// # Errors
    /// `Io`
    pub(super) async fn summaries(self: &Arc<Self>) -> Result<Vec<Summary>> {
        let kept = self.see().await?.map(|seen| seen.kept).unwrap_or_default();
        Ok(kept.into_iter().map(|line| line.summary).collect())
    }

    pub(super) async fn see(self: &Arc<Self>) -> Result<Option<Seen>> {
        self.check_directory()?;
        let unreadable =
            |error| Error::from_file("read the summaries", &self.log_path.file(), "root", error);
        let Some(reader) = self.log.reader().await.map_err(unreadable)? else { return Ok(None) };
        let bounds = self.options.summaries;
        let path = self.log_path.file();
        let seen = run_blocking(move |_| {
            see(&reader, bounds)
                .map_err(|error| Error::from_file("read the summaries", &path, "root", error))
        })
        .await?;
        if seen.bad_lines > 0 {
            self.debug.say(
                "Lines of the summaries hold no summary and were skipped",
                || json!({ "path": self.log_path.file(), "lines": seen.bad_lines }),
            );
        }
        Ok(Some(seen))
    }

    /// Removes the lines beyond the bounds, under the lock.
    pub(super) async fn prune(self: &Arc<Self>) -> Result<()> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(Seen { start, snapshot, .. }) = self.see().await? else { return Ok(()) };
            if start == 0 {
                return Ok(());
            }
            let kept = std::iter::once(start..snapshot.length).collect();
            let rewrite = Rewrite { snapshot, head: Vec::new(), kept };
            match self.log.rewrite(rewrite, self.options.lock_timeout).outcome().await {
                // Another process pruned the log, possibly enough.
                Some(Err(LogError::Replaced)) => {}
                Some(Err(error)) => return Err(self.failed("prune", error)),
                Some(Ok(_)) | None => return Ok(()),
            }
        }
        Ok(())
    }

    pub(super) fn failed(&self, what: &str, error: LogError) -> Error {
        failed(what, &self.log_path.file(), self.options.lock_timeout, error)
    }
}

fn failed(what: &str, path: &Path, lock_timeout: Duration, error: LogError) -> Error {
    match error {
        LogError::File(error) => Error::from_file(what, path, "root", error),
        LogError::LockTimeout => timed_out(path, lock_timeout),
        LogError::Replaced => Error::new(
            Code::Conflict,
            format!("could not {what} {}: it was replaced meanwhile; try again", path.display()),
        ),
        LogError::Refused => Error::internal(format!("{} refused a record", path.display())),
        LogError::Unlockable => Error::new(
            Code::Unsupported,
            format!(
                "could not {what} {}: its file system has no locks, and what others append meanwhile would be lost; set root to a local disk",
                path.display()
            ),
        ),
        LogError::Untrusted(kind) => Error::new(
            Code::Unsupported,
            format!(
                "could not {what} {}: the locks of its file system ({kind}) may bind one host or mount only, and what others append meanwhile would be lost; set root to a local disk, or set trustLocks: true if every process uses the same mount",
                path.display()
            ),
        ),
    }
}

/// The first summary of an operation in the log, which is short because of its bounds.
fn find_operation(view: &LogView<'_>, id: &str) -> FileResult<Option<Summary>> {
    let finder = memmem::Finder::new("\"operationId\"");
    let mut lines = LinesForwards::new(view, 0, MAX_LINE);
    while let Some(line) = lines.next_line()? {
        let text = line.bytes.as_deref().unwrap_or_default().trim_ascii();
        if finder.find(text).is_some()
            && let Ok(summary) = serde_json::from_slice::<Summary>(text)
            && summary.operation_id.as_deref() == Some(id)
        {
            return Ok(Some(summary));
        }
    }
    Ok(None)
}

pub(super) fn interrupted() -> Error {
    Error::internal("the work was interrupted")
}

fn see(reader: &LogReader, bounds: SummaryBounds) -> std::result::Result<Seen, FileError> {
    let mut lines = LinesForwards::new(reader, 0, MAX_LINE);
    let mut found: Vec<SummaryLine> = Vec::new();
    let (mut length, mut bad_lines) = (0, 0);
    while let Some(line) = lines.next_line()? {
        let text = line.bytes.as_deref().unwrap_or_default().trim_ascii();
        // serde would accept an array of the values as well.
        let is_object = text.starts_with(b"{");
        let summary = is_object.then(|| serde_json::from_slice(text).ok()).flatten();
        if !line.is_terminated && summary.is_none() {
            // Another process is writing the line, or a crash left it incomplete.
            break;
        }
        length = line.end();
        let range = line.offset..length;
        match summary {
            Some(summary) => found.push(SummaryLine { range, text: text.to_vec(), summary }),
            None if text.is_empty() && line.bytes.is_some() => {}
            None => bad_lines += 1,
        }
    }
    let snapshot = LogSnapshot::of(reader, reader.identity(), length)?;
    let mut bytes = 0;
    let fits = |line: &&SummaryLine| {
        bytes += line.range.end - line.range.start;
        bytes <= bounds.bytes
    };
    let within = found.iter().rev().take(bounds.entries).take_while(fits).count();
    let kept = found.split_off(found.len() - within.max(1).min(found.len()));
    // Lines without a summary are pruned with the summaries before them.
    let start = if found.is_empty() { 0 } else { kept.first().map_or(0, |line| line.range.start) };
    Ok(Seen { kept, start, snapshot, bad_lines })
}
