//! Appending: each line is built and written off the JavaScript thread, and lines are written in the order of
//! the calls. An append with an operation id is idempotent, and one with `ifLast` fails if another entry was
//! appended meanwhile.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use json_text::Encoded;
use redaction::{Redacted, Redaction, RedactionSession};
use serde_json::json;
use storage::{
    Access, AppendError, Check, Disk, FileResult, LinesBackwards, LogError, LogView, MakeLine,
    Pending, ReadAt, Verdict,
};
use tasks::{LONG, TrackedCall};
use tokio::sync::oneshot;

use super::{
    History,
    entry::{Entry, trim},
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
};

/// An entry from JavaScript.
#[derive(Debug)]
pub struct NewEntry {
    /// The tool's name, plain.
    pub tool_name: String,
    /// The parameters.
    pub params: Encoded,
    /// The result.
    pub result: Encoded,
    /// The other members of the line, a JSON object with at least one member.
    pub rest: String,
    /// The operation id in `rest`. If the log already has an entry with it, nothing is written.
    pub operation_id: Option<String>,
    /// The expected last entry of the log.
    pub previous: Option<Previous>,
    /// The redaction of the line; `None` writes it unchanged.
    pub redaction: Option<Redaction>,
}

/// The expected last entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Previous {
    /// The log has no entry.
    Nothing,
    /// The entry with this id.
    Entry(String),
}

/// The result of an append.
#[derive(Debug)]
pub enum Appended {
    /// The entry was written.
    Written {
        /// The stored entry, if secrets in it were redacted.
        redacted: Option<RedactedEntry>,
    },
    /// Nothing was written, because the log has an entry of the same operation.
    Earlier {
        /// The existing entry as JSON for JavaScript.
        entry: Vec<u8>,
    },
}

/// An entry as JSON for JavaScript, with a report of what was redacted in it.
pub type RedactedEntry = Redacted<Vec<u8>>;

/// The entry in a line, with the report; `None` if nothing was redacted.
pub(super) fn redacted_entry(line: &[u8], pass: RedactionSession) -> Option<RedactedEntry> {
    let mut redacted = pass.answer(Vec::new());
    if redacted.report.is_empty() {
        return None;
    }
    redacted.stored.reserve(line.len());
    // A line that this package built always has an entry.
    if let Ok(entry) = Entry::parse(line) {
        entry.write_public(&mut redacted.stored);
    }
    Some(redacted)
}

impl NewEntry {
    /// The approximate length of its line in bytes.
    pub(super) fn length_hint(&self) -> usize {
        self.params.length_hint() + self.result.length_hint() + self.rest.len()
    }

    /// The line without its newline character, which JSON text does not contain.
    pub(super) fn line(self, limit: usize) -> Result<(Vec<u8>, Option<RedactedEntry>)> {
        let length = self.length_hint();
        let Self { mut tool_name, params, result, rest, operation_id, redaction, .. } = self;
        let mut pass = RedactionSession::new(redaction);
        // Redacted first, because error messages name the tool.
        pass.text(&mut tool_name)?;
        let unreadable = |what: &str| {
            Error::new(
                Code::InvalidArgument,
                format!("{what} of the tool {tool_name:?} could not be turned into JSON"),
            )
        };
        let mut line = Vec::with_capacity(length + 64);
        line.extend_from_slice(b"{\"tool_name\":");
        json_text::escape_string(&tool_name, &mut line);
        line.extend_from_slice(b",\"params\":");
        params.write(&mut line).map_err(|_| unreadable("params"))?;
        line.extend_from_slice(b",\"result\":");
        result.write(&mut line).map_err(|_| unreadable("the result"))?;
        line.push(b',');
        line.extend_from_slice(rest.as_bytes().strip_prefix(b"{").unwrap_or_default());
        // The size is checked before redaction, to save its work, and after it, because redaction may add
        // bytes.
        check_size(&tool_name, line.len(), limit)?;
        pass.json(&mut line, 0)?;
        check_size(&tool_name, line.len(), limit)?;
        if operation_id.is_some() {
            // A redacted id would be the same for several operations.
            let stored = Entry::parse(&line).ok().and_then(|entry| entry.operation_id());
            if stored != operation_id {
                return Err(Error::new(
                    Code::InvalidArgument,
                    "entry.operationId must not look like a secret: redaction would change it",
                ));
            }
        }
        let redacted = redacted_entry(&line, pass);
        Ok((line, redacted))
    }
}

pub(super) fn check_size(tool_name: &str, size: usize, limit: usize) -> Result<()> {
    if size <= limit {
        return Ok(());
    }
    Err(Error::new(
        Code::TooLarge,
        format!(
            "the entry of {tool_name:?} takes {size} bytes of JSON, more than {limit}; raise maxEntryBytes or record less of it"
        ),
    ))
}

/// An append in progress.
#[must_use = "the entry is written when the outcome is awaited, and later ones wait for a long one"]
pub struct Appending {
    history: Arc<History>,
    call: TrackedCall,
    redacted: oneshot::Receiver<RedactedEntry>,
    refusal: Option<Arc<Mutex<Option<Refusal>>>>,
    long_line: Option<LongLine>,
    pending: Pending<Error, std::result::Result<(), AppendError<Error>>>,
}

impl Appended {
    /// The stored entry, if secrets in it were redacted.
    #[must_use]
    pub fn redacted(self) -> Option<RedactedEntry> {
        match self {
            Self::Written { redacted } => redacted,
            Self::Earlier { .. } => None,
        }
    }
}

/// Why an entry is not written.
enum Refusal {
    /// The log has this entry of the same operation.
    Earlier(Vec<u8>),
    /// The last entry is not the expected one.
    Conflict,
}

/// A size that always counts as long work.
const LONG_READ: usize = LONG + 1;

/// Builds a long line on a worker thread, and passes it to the log.
struct LongLine {
    bytes: usize,
    make: MakeLine<Error>,
    made: oneshot::Sender<Vec<u8>>,
}

impl History {
    /// Queues an entry; its position in the log is decided by the order of the calls.
    pub fn append(self: &Arc<Self>, entry: NewEntry) -> Appending {
        let call = self.appends.track();
        let limit = self.options.max_entry_bytes;
        let (sender, redacted) = oneshot::channel();
        let (history, mut bytes) = (Arc::clone(self), entry.length_hint());
        let (check, refusal) =
            self.check(entry.operation_id.clone(), entry.previous.clone()).unzip();
        let has_operation = entry.operation_id.is_some();
        if has_operation && !self.operations.is_ready() {
            bytes = bytes.max(LONG_READ);
        }
        let make: MakeLine<Error> = Box::new(move || {
            history.prepare_directory()?;
            let (line, redacted) = entry.line(limit)?;
            if let Some(redacted) = redacted {
                // The caller dropped the future and needs no result.
                let _ = sender.send(redacted);
            }
            if let (true, Some(disk)) = (has_operation, history.file_system.disk()) {
                history.read_operations(disk.as_ref());
            }
            Ok(line)
        });
        let Self { log, options, .. } = self.as_ref();
        let (durability, patience) = (options.durability, options.lock_timeout);
        let (pending, long_line) = if bytes > LONG {
            let (made, line) = oneshot::channel();
            let long_line = LongLine { bytes, make, made };
            (log.append_arriving(line, check, durability, patience), Some(long_line))
        } else {
            let pending = match check {
                None => log.append(make, durability, patience),
                Some(check) => log.append_checked(make, check, durability, patience),
            };
            (pending, None)
        };
        Appending { history: Arc::clone(self), call, redacted, refusal, long_line, pending }
    }

    /// The check of an entry's conditions, with a slot for its result.
    fn check(
        self: &Arc<Self>,
        operation_id: Option<String>,
        previous: Option<Previous>,
    ) -> Option<(Check, Arc<Mutex<Option<Refusal>>>)> {
        if operation_id.is_none() && previous.is_none() {
            return None;
        }
        let refusal = Arc::new(Mutex::new(None));
        let (found, history) = (Arc::clone(&refusal), Arc::clone(self));
        let check: Check = Box::new(move |view| {
            let refused = history.refuses(view, operation_id.as_deref(), previous.as_ref())?;
            let verdict = if refused.is_some() { Verdict::Refuse } else { Verdict::Write };
            *found.lock().unwrap_or_else(PoisonError::into_inner) = refused;
            Ok(verdict)
        });
        Some((check, refusal))
    }

    /// A repeated operation is no conflict, whatever was appended after its entry.
    fn refuses(
        &self,
        view: &LogView<'_>,
        operation_id: Option<&str>,
        previous: Option<&Previous>,
    ) -> FileResult<Option<Refusal>> {
        if let Some(id) = operation_id
            && let Some(entry) = self.operations.find(view, view.identity(), id)?
        {
            return Ok(Some(Refusal::Earlier(entry)));
        }
        let Some(previous) = previous else { return Ok(None) };
        let is_last = match (last_id(view, self.options.max_entry_bytes)?, previous) {
            (None, Previous::Nothing) => true,
            (Some(last), Previous::Entry(id)) => last == *id,
            _ => false,
        };
        Ok((!is_last).then_some(Refusal::Conflict))
    }

    /// Reads the log's operation ids before the lock is taken. On an error, they are read under the lock.
    fn read_operations(&self, disk: &dyn Disk) {
        if let Ok(file) = disk.open(&self.path(), Access::Read) {
            let _ = self.operations.update(file.as_ref(), file.identity());
        }
    }

    /// Reports once that only one process may write to this log.
    fn tell_unlocked(&self) {
        if self.file_system.disk().is_some()
            && self.log.has_locks() == Some(false)
            && !self.told_unlocked.swap(true, Ordering::Relaxed)
        {
            match self.log.untrusted_locks() {
                None => self.debug.say(
                    "The history's file system has no locks: let only one process write it",
                    || json!({ "path": self.path() }),
                ),
                Some(kind) => self.debug.say(
                    "The locks of the history's file system may bind one host or mount only: it is not compacted; set trustLocks if every process uses the same mount",
                    || json!({ "path": self.path(), "fileSystem": kind }),
                ),
            }
        }
    }
}

impl History {
    fn refused(&self, refusal: Option<&Mutex<Option<Refusal>>>) -> Result<Appended> {
        let refusal = refusal
            .and_then(|refusal| refusal.lock().unwrap_or_else(PoisonError::into_inner).take());
        match refusal {
            Some(Refusal::Earlier(entry)) => Ok(Appended::Earlier { entry }),
            Some(Refusal::Conflict) => Err(conflict(&self.path())),
            None => Err(self.failed("append to", LogError::Refused)),
        }
    }
}

/// The error for an entry whose condition `ifLast` is not met.
pub(super) fn conflict(path: &Path) -> Error {
    Error::new(
        Code::Conflict,
        format!(
            "could not append to {}: its last entry is not the one that ifLast names; read what was appended since and decide again",
            path.display()
        ),
    )
}

/// The id of a log's last entry.
fn last_id<S: ReadAt + ?Sized>(source: &S, max_line: usize) -> FileResult<Option<String>> {
    let mut lines = LinesBackwards::new(source, max_line)?;
    while let Some(line) = lines.next_line()? {
        if let Some(bytes) = line.bytes
            && let Ok(entry) = Entry::parse(trim(&bytes))
        {
            return Ok(Some(entry.id()));
        }
    }
    Ok(None)
}

impl Appending {
    /// Returns once the entry, or the existing one of the same operation, is as durable as the options
    /// require.
    ///
    /// # Errors `Conflict` if the last entry is not the expected one, `TooLarge`, `InvalidArgument` for a
    /// value that is not valid, `Redaction`, `LockTimeout` or `Io`. Nothing was written then.
    pub async fn outcome(self) -> Result<Appended> {
        let Self { history, call: _call, mut redacted, refusal, long_line, pending } = self;
        if let Some(LongLine { bytes, make, made }) = long_line {
            // On an error, the sender is dropped, and the log skips the entry.
            let line = run_long(bytes, make).await?;
            // If the log was dropped, the append below is interrupted.
            let _ = made.send(line);
        }
        let outcome = match pending.outcome().await {
            Some(Ok(())) => Ok(Appended::Written { redacted: redacted.try_recv().ok() }),
            Some(Err(AppendError::Line(error))) => Err(error),
            Some(Err(AppendError::Log(LogError::Refused))) => history.refused(refusal.as_deref()),
            Some(Err(AppendError::Log(error))) => Err(history.failed("append to", error)),
            None => Err(Error::internal("appending was interrupted")),
        };
        history.tell_unlocked();
        if matches!(outcome, Ok(Appended::Written { .. })) {
            history.keep_within_bounds();
        }
        outcome
    }
}
