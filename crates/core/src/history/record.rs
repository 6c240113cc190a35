//! Appending: the line is made and written in the order of the calls, off the JavaScript thread.

use std::sync::{Arc, atomic::Ordering};

use json_text::Encoded;
use redaction::{Redacted, Redaction, RedactionSession};
use serde_json::json;
use storage::{AppendError, MakeLine, Pending};
use tasks::{LONG, TrackedCall};
use tokio::sync::oneshot;

use super::{History, entry::Entry};
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
    /// Takes the secrets out of the line; `None`: it is written as it is.
    pub redaction: Option<Redaction>,
}

/// An entry as JavaScript sees it, as JSON, with what was redacted in it.
pub(super) type RedactedEntry = Redacted<Vec<u8>>;

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
        let Self { mut tool_name, params, result, rest, redaction } = self;
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
    long_line: Option<LongLine>,
    pending: Pending<Error, std::result::Result<(), AppendError<Error>>>,
}

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
        let (history, bytes) = (Arc::clone(self), entry.length_hint());
        let make: MakeLine<Error> = Box::new(move || {
            history.prepare_directory()?;
            let (line, redacted) = entry.line(limit)?;
            if let Some(redacted) = redacted {
                // Nobody waits any more: nothing to tell.
                let _ = sender.send(redacted);
            }
            Ok(line)
        });
        let Self { log, options, .. } = self.as_ref();
        let (durability, patience) = (options.durability, options.lock_timeout);
        let (pending, long_line) = if bytes <= LONG {
            (log.append(make, durability, patience), None)
        } else {
            let (made, line) = oneshot::channel();
            let long_line = LongLine { bytes, make, made };
            (log.append_arriving(line, durability, patience), Some(long_line))
        };
        Appending { history: Arc::clone(self), call, redacted, long_line, pending }
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

impl Appending {
    /// Returns once the entry is where its durability level says; with the entry where secrets were
    /// taken out of it.
    ///
    /// # Errors
    /// `TooLarge`, `InvalidArgument` for a value that cannot be read, `Redaction`, `LockTimeout` or
    /// `Io`. Nothing is left behind then.
    pub async fn outcome(self) -> Result<Option<RedactedEntry>> {
        let Self { history, call: _call, mut redacted, long_line, pending } = self;
        if let Some(LongLine { bytes, make, made }) = long_line {
            // The log receives nothing where it fails, and passes over the entry.
            let line = run_long(bytes, make).await?;
            // The log interrupts the append where it is gone.
            let _ = made.send(line);
        }
        let outcome = match pending.outcome().await {
            Some(Ok(())) => Ok(redacted.try_recv().ok()),
            Some(Err(AppendError::Line(error))) => Err(error),
            Some(Err(AppendError::Log(error))) => Err(history.failed("append to", error)),
            None => Err(Error::internal("appending was interrupted")),
        };
        history.tell_unlocked();
        outcome
    }
}
