//! Appending: the line is made and written in the order of the calls, off the JavaScript thread.

use std::sync::{Arc, atomic::Ordering};

use serde_json::json;

use super::History;
use crate::{
    durable::log::{AppendError, Pending},
    error::{Code, Error, Result},
    json::{self, Encoded},
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
}

impl NewEntry {
    /// The line without its newline character. JSON text holds none.
    fn line(&self, limit: usize) -> Result<Vec<u8>> {
        let unreadable = |what: &str| {
            Error::new(
                Code::InvalidArgument,
                format!("{what} of the tool {:?} could not be turned into JSON", self.tool_name),
            )
        };
        let mut line = Vec::with_capacity(
            self.params.length_hint() + self.result.length_hint() + self.rest.len() + 64,
        );
        line.extend_from_slice(b"{\"tool_name\":");
        json::escape_string(&self.tool_name, &mut line);
        line.extend_from_slice(b",\"params\":");
        self.params.write(&mut line).map_err(|_| unreadable("params"))?;
        line.extend_from_slice(b",\"result\":");
        self.result.write(&mut line).map_err(|_| unreadable("the result"))?;
        line.push(b',');
        line.extend_from_slice(self.rest.as_bytes().strip_prefix(b"{").unwrap_or_default());
        if line.len() > limit {
            return Err(Error::new(
                Code::TooLarge,
                format!(
                    "the entry of {:?} takes {} bytes of JSON, more than {limit}; raise maxEntryBytes or record less of it",
                    self.tool_name,
                    line.len()
                ),
            ));
        }
        Ok(line)
    }
}

/// An entry on its way to the log.
#[must_use = "the entry is written when the outcome is awaited"]
pub struct Appending {
    under_way: UnderWay,
    pending: Pending<Error, std::result::Result<(), AppendError<Error>>>,
}

impl History {
    /// Queues an entry: its place among the others is decided now.
    pub fn append(self: &Arc<Self>, entry: NewEntry) -> Appending {
        let under_way = UnderWay::begin(self);
        let limit = self.options.max_entry_bytes;
        let pending = self.log.append(
            Box::new(move || entry.line(limit)),
            self.options.durability,
            self.options.lock_timeout,
        );
        Appending { under_way, pending }
    }

    /// Says once that only one process may write here.
    fn tell_unlocked(&self) {
        if self.file_system.disk().is_some()
            && self.log.has_locks() == Some(false)
            && !self.told_unlocked.swap(true, Ordering::Relaxed)
        {
            self.debug.say(
                "The history's file system has no locks: let one process alone write it",
                || json!({ "path": self.path() }),
            );
        }
    }
}

/// An append that [`History::close`] waits for, until it is dropped.
struct UnderWay {
    history: Arc<History>,
    number: u64,
}

impl UnderWay {
    fn begin(history: &Arc<History>) -> Self {
        let mut number = 0;
        history.appends.send_modify(|appends| {
            number = appends.next;
            appends.next += 1;
            appends.under_way.insert(number);
        });
        Self { history: Arc::clone(history), number }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.history.appends.send_modify(|appends| {
            appends.under_way.remove(&self.number);
        });
    }
}

impl Appending {
    /// Returns once the entry is where its durability level says.
    ///
    /// # Errors
    /// `TooLarge`, `InvalidArgument` for a value that cannot be read, `LockTimeout` or `Io`. Nothing
    /// is left behind then.
    pub async fn outcome(self) -> Result<()> {
        let Self { under_way, pending } = self;
        let history = &under_way.history;
        let outcome = match pending.outcome().await {
            Some(Ok(())) => Ok(()),
            Some(Err(AppendError::Line(error))) => Err(error),
            Some(Err(AppendError::Log(error))) => Err(history.failed("append to", error)),
            None => Err(Error::new(Code::Io, "appending was interrupted")),
        };
        history.tell_unlocked();
        outcome
    }
}
