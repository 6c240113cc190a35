//! Appending: the line is made and written in the order of the calls, off the JavaScript thread.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

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

/// An entry as it comes from JavaScript.
#[derive(Debug)]
pub struct NewEntry {
    /// The tool's name, plain.
    pub tool_name: String,
    /// The parameters.
    pub params: Encoded,
    /// The result.
    pub result: Encoded,
    /// What follows on the line, a JSON object with at least one member.
    pub rest: String,
    /// The operation id in `rest`. An entry with an id that the log has already is not written.
    pub operation_id: Option<String>,
    /// Which entry has to be the log's last one.
    pub previous: Option<Previous>,
    /// Takes the secrets out of the line; `None`: it is written as it is.
    pub redaction: Option<Redaction>,
}

/// What has to precede an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Previous {
    /// No entry.
    Nothing,
    /// The entry with this id.
    Entry(String),
}

/// What an append did.
#[derive(Debug)]
pub enum Appended {
    /// The entry is there.
    Written {
        /// The entry as it is stored, where secrets were taken out of it.
        redacted: Option<RedactedEntry>,
    },
    /// Nothing was written: the log has an entry of the same operation.
    Earlier {
        /// That entry as JavaScript sees it, as JSON.
        entry: Vec<u8>,
    },
}

/// An entry as JavaScript sees it, as JSON, with what was redacted in it.
pub type RedactedEntry = Redacted<Vec<u8>>;

/// The entry on a line, with what was redacted in it; `None` when nothing was.
pub(super) fn redacted_entry(line: &[u8], pass: RedactionSession) -> Option<RedactedEntry> {
    let mut redacted = pass.answer(Vec::new());
    if redacted.report.is_empty() {
        return None;
    }
    redacted.stored.reserve(line.len());
    // A line of ours holds an entry.
    if let Ok(entry) = Entry::parse(line) {
        entry.write_public(&mut redacted.stored);
    }
    Some(redacted)
}

impl NewEntry {
    /// About how many bytes its line takes.
    fn length_hint(&self) -> usize {
        self.params.length_hint() + self.result.length_hint() + self.rest.len()
    }

    /// The line without its newline character. JSON text holds none.
    fn line(self, limit: usize) -> Result<(Vec<u8>, Option<RedactedEntry>)> {
        let length = self.length_hint();
        let Self { mut tool_name, params, result, rest, operation_id, redaction, .. } = self;
        let mut pass = RedactionSession::new(redaction);
        // Before the line, for messages.
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
        // Twice: what is too large need not be looked through, and may have grown by it.
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

/// An entry on its way to the log.
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
    /// The entry as it is stored, where secrets were taken out of it.
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
    /// Another entry is the last one.
    Conflict,
}

/// Work for a thread of its own, whatever the entry's length.
const LONG_READ: usize = LONG + 1;

/// A line that takes long to make, and the log that receives it.
struct LongLine {
    bytes: usize,
    make: MakeLine<Error>,
    made: oneshot::Sender<Vec<u8>>,
}

impl History {
    /// Queues an entry: its place among the others is decided now.
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
                // Nobody waits any more: nothing to tell.
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

    /// The check of an entry's conditions, and where it puts what it finds.
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

    /// A repeated operation is no conflict: what came after its entry does not matter.
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

    /// Reads the log's operation ids before the lock is taken. What cannot be read now is read under the lock.
    fn read_operations(&self, disk: &dyn Disk) {
        if let Ok(file) = disk.open(&self.path(), Access::Read) {
            let _ = self.operations.update(file.as_ref(), file.identity());
        }
    }

    /// Says once that only one process may write here.
    fn tell_unlocked(&self) {
        if self.file_system.disk().is_some()
            && self.log.has_locks() == Some(false)
            && !self.told_unlocked.swap(true, Ordering::Relaxed)
        {
            match self.log.untrusted_locks() {
                None => self.debug.say(
                    "The history's file system has no locks: let one process alone write it",
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
            Some(Refusal::Conflict) => Err(Error::new(
                Code::Conflict,
                format!(
                    "could not append to {}: its last entry is not the one that ifLast names; read what was appended since and decide again",
                    self.path().display()
                ),
            )),
            None => Err(self.failed("append to", LogError::Refused)),
        }
    }
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
    /// Returns once the entry, or the earlier one of the same operation, is where its durability level
    /// says.
    ///
    /// # Errors
    /// `Conflict` when the last entry is not the expected one, `TooLarge`, `InvalidArgument` for a value
    /// that cannot be read, `Redaction`, `LockTimeout` or `Io`. Nothing is left behind then.
    pub async fn outcome(self) -> Result<Appended> {
        let Self { history, call: _call, mut redacted, refusal, long_line, pending } = self;
        if let Some(LongLine { bytes, make, made }) = long_line {
            // The log receives nothing where it fails, and passes over the entry.
            let line = run_long(bytes, make).await?;
            // The log interrupts the append where it is gone.
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
