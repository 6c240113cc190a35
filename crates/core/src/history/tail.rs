//! Following a log: returns the entries after a position as they are appended, also across compactions.
//!
//! The log's file is kept open. Once another file has its name, nothing is appended to the old one any more:
//! it is read to its end, and reading continues in the new file after the last entry that both have. Entries
//! are missed only if they are appended between two reads and also dropped between them, by the second of two
//! compactions.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use storage::{FileResult, LinesBackwards, LinesForwards, LogReader, LogSnapshot, ReadAt};

use super::{
    Cancelled, History,
    entry::{Entry, trim},
    recall::{Recalled, texts},
    run_blocking,
};
use crate::error::{Code, Error, Result};

/// The size from which on an answer takes no more entries, in bytes.
pub(super) const ANSWER: usize = 1024 * 1024;
/// The number of latest ids by which the position is found in another file.
const RECENT: usize = 1024;

/// Where following begins.
#[derive(Debug, Clone)]
pub enum TailStart {
    /// With this many of the last entries.
    Last(usize),
    /// After the entry with this id.
    After(String),
}

/// A position in a history that moves forwards.
pub struct Tail {
    history: Arc<History>,
    state: Mutex<State>,
}

struct State {
    /// Where to begin; `None` once that position was found.
    start: Option<TailStart>,
    reader: Option<LogReader>,
    /// The part of the open file that was read.
    read: Option<LogSnapshot>,
    /// The ids of the latest entries before the position.
    recent: VecDeque<String>,
}

/// Entries of the next answer.
#[derive(Default)]
struct Found {
    entries: Vec<Vec<u8>>,
    bytes: usize,
}

impl History {
    /// A position to follow the history from. Reads nothing yet.
    #[must_use]
    pub fn tail(self: &Arc<Self>, start: TailStart) -> Arc<Tail> {
        let state = State { start: Some(start), reader: None, read: None, recent: VecDeque::new() };
        Arc::new(Tail { history: Arc::clone(self), state: Mutex::new(state) })
    }
}

impl Tail {
    /// The next entries, oldest first, up to the size of one answer; empty if there are none yet.
    ///
    /// # Errors `NotFound` if the entry to begin after does not exist; `Io`.
    pub async fn next(self: &Arc<Self>) -> Result<Recalled> {
        let current = self.history.reader().await?;
        let tail = Arc::clone(self);
        run_blocking(move |cancelled| tail.advance(current, cancelled)).await
    }

    fn advance(&self, current: Option<LogReader>, cancelled: &Cancelled) -> Result<Recalled> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Found::default();
        let outcome = state.advance(current, &self.history, &mut found, cancelled);
        match outcome {
            Ok(()) => Ok(texts(found.entries)),
            Err(Stopped::Missing(id)) => Err(missing(&self.history.path(), &id)),
            // A failed append was rolled back at this moment: the next call reads again.
            Err(Stopped::File(error)) if error.kind == std::io::ErrorKind::Interrupted => {
                Ok(texts(found.entries))
            }
            Err(Stopped::File(error)) => Err(self.history.unreadable(error)),
        }
    }
}

/// The error for an entry to begin after that does not exist.
pub(super) fn missing(path: &Path, id: &str) -> Error {
    Error::new(
        Code::NotFound,
        format!(
            "{} has no entry {id}: it was removed by a compaction; follow without `after`",
            path.display()
        ),
    )
}

enum Stopped {
    Missing(String),
    File(storage::FileError),
}

impl From<storage::FileError> for Stopped {
    fn from(error: storage::FileError) -> Self {
        Self::File(error)
    }
}

impl State {
    fn advance(
        &mut self,
        current: Option<LogReader>,
        history: &History,
        found: &mut Found,
        cancelled: &Cancelled,
    ) -> std::result::Result<(), Stopped> {
        if let Some(start) = self.start.clone() {
            self.begin(current, &start, history)?;
            self.start = None;
            return Ok(self.read_on(history, found, cancelled)?);
        }
        self.read_on(history, found, cancelled)?;
        let is_other = match (&self.reader, &current) {
            (Some(LogReader::File(old)), Some(LogReader::File(new))) => {
                old.identity() != new.identity()
            }
            _ => true,
        };
        if is_other && found.bytes < ANSWER && !cancelled.is_set() {
            self.reader = current;
            if matches!(self.reader, Some(LogReader::File(_)) | None) {
                self.read = None;
            }
            self.read_on(history, found, cancelled)?;
        }
        Ok(())
    }

    /// Finds the position to begin at.
    fn begin(
        &mut self,
        current: Option<LogReader>,
        start: &TailStart,
        history: &History,
    ) -> std::result::Result<(), Stopped> {
        let Some(reader) = current else {
            return match start {
                TailStart::Last(_) => Ok(()),
                TailStart::After(id) => Err(Stopped::Missing(id.clone())),
            };
        };
        let (mut wanted, mut is_found) = match start {
            TailStart::Last(count) => (*count, true),
            TailStart::After(_) => (usize::MAX, false),
        };
        let mut place = None;
        for_each_backwards(&reader, history, |id, begin, end| {
            if let TailStart::After(after) = start
                && *after == id
            {
                (wanted, is_found) = (0, true);
            }
            if wanted == 0 {
                place = Some((end, id));
                return false;
            }
            wanted -= 1;
            place.get_or_insert((begin, String::new())).0 = begin;
            true
        })?;
        if let (TailStart::After(id), false) = (start, is_found) {
            return Err(Stopped::Missing(id.clone()));
        }
        let (offset, id) = place.unwrap_or_default();
        if !id.is_empty() {
            self.recent.push_back(id);
        }
        self.read = Some(LogSnapshot::of(&reader, reader.identity(), offset)?);
        self.reader = Some(reader);
        Ok(())
    }

    /// Reads the complete lines after the position.
    fn read_on(
        &mut self,
        history: &History,
        found: &mut Found,
        cancelled: &Cancelled,
    ) -> FileResult<()> {
        let Some(reader) = &self.reader else { return Ok(()) };
        let identity = reader.identity();
        // After a rolled-back append or a replacement, the bytes before the position differ.
        let offset = match &self.read {
            Some(read) if read.is_of(reader, identity)? => read.length,
            _ => place_behind(reader, &self.recent, history)?,
        };
        let mut end = offset;
        let mut lines = LinesForwards::new(reader, offset, history.options.max_entry_bytes);
        while found.bytes < ANSWER
            && !cancelled.is_set()
            && let Some(line) = lines.next_line()?.filter(|line| line.is_terminated)
        {
            end = line.end();
            let Some(entry) =
                line.bytes.as_deref().and_then(|bytes| Entry::parse(trim(bytes)).ok())
            else {
                continue;
            };
            let mut public = Vec::new();
            entry.write_public(&mut public);
            found.bytes += public.len();
            found.entries.push(public);
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(entry.id());
        }
        self.read = Some(LogSnapshot::of(reader, identity, end)?);
        Ok(())
    }
}

/// The position after the last of these entries; the beginning of the file if it has none of them.
fn place_behind(
    reader: &LogReader,
    recent: &VecDeque<String>,
    history: &History,
) -> FileResult<u64> {
    let mut place = 0;
    if !recent.is_empty() {
        for_each_backwards(reader, history, |id, _, end| {
            let is_known = recent.contains(&id);
            if is_known {
                place = end;
            }
            !is_known
        })?;
    }
    Ok(place)
}

/// Calls `take` with the id, the start and the end of complete entries, last one first, until it returns
/// false.
fn for_each_backwards(
    reader: &impl ReadAt,
    history: &History,
    mut take: impl FnMut(String, u64, u64) -> bool,
) -> FileResult<()> {
    if reader.length()? == 0 {
        return Ok(());
    }
    let mut lines = LinesBackwards::new(reader, history.options.max_entry_bytes)?;
    while let Some(line) = lines.next_line()? {
        let Some(bytes) = line.bytes.as_deref().filter(|_| line.is_terminated) else { continue };
        if let Ok(entry) = Entry::parse(trim(bytes))
            && !take(entry.id(), line.offset, line.end())
        {
            break;
        }
    }
    Ok(())
}
