//! The operation ids in a log, which make appends idempotent: an append with an id that the log already has
//! returns the existing entry.
//!
//! Before its first append with an operation id, a process reads the ids of the whole log; later, it reads
//! only the appended lines. It keeps a hash and an offset for each of the latest ids (at least 2^18), and
//! verifies a match against the line. A compaction keeps the ids of dropped entries in operation records (see
//! `compact`).

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memchr::memmem;
use storage::{FileResult, LinesForwards, LogSnapshot, ReadAt, Registry};

use super::entry::{Entry, trim};

/// The least number of latest operation ids that are kept; at most twice as many.
const MAX_KNOWN: usize = 1 << 18;
/// Every line with an operation id contains this text.
const KEY: &[u8] = b"\"operationId\"";
/// The log may be replaced between the lookup in memory and reading the line.
const MAX_ATTEMPTS: usize = 3;

/// The file system's scope, the log's path, and the longest line that is read.
type Key = (u64, PathBuf, usize);

static OPERATIONS: Registry<Key, Operations> = Registry::new();

/// The operation ids of one log, shared by all histories of a process that use it.
pub(super) struct Operations {
    max_line: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The part of the log that was read.
    snapshot: Option<LogSnapshot>,
    hasher: RandomState,
    /// Line offsets by the hash of the operation id. When the recent map is full, it replaces the older one.
    recent: HashMap<u64, u64>,
    older: HashMap<u64, u64>,
    /// The same for a last line without a newline character, which is not part of `snapshot`.
    open: Option<(u64, u64)>,
}

impl Operations {
    /// The operation ids of a log. Touches no file.
    pub fn of(scope: u64, path: PathBuf, max_line: usize) -> Arc<Self> {
        let make = || Arc::new(Self { max_line, known: Mutex::default() });
        OPERATIONS.get_or_insert_with((scope, path, max_line), make)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the log was read before, so that only appended lines are left to read.
    pub fn is_ready(&self) -> bool {
        self.known.try_lock().is_ok_and(|known| known.snapshot.is_some())
    }

    /// Drops all ids, because the log was replaced.
    pub fn forget(&self) {
        *self.known() = Known::default();
    }

    /// Reads the lines that were appended since the last call.
    pub fn update<S: ReadAt + ?Sized>(&self, source: &S, identity: u64) -> FileResult<()> {
        self.known().update(source, identity, self.max_line)
    }

    /// The first entry with this operation id, in the form for JavaScript.
    pub fn find<S: ReadAt + ?Sized>(
        &self,
        source: &S,
        identity: u64,
        id: &str,
    ) -> FileResult<Option<Vec<u8>>> {
        let mut known = self.known();
        for _ in 0..MAX_ATTEMPTS {
            known.update(source, identity, self.max_line)?;
            let Some(offset) = known.offset(id) else { return Ok(None) };
            let line = LinesForwards::new(source, offset, self.max_line).next_line()?;
            let bytes = line.and_then(|line| line.bytes).unwrap_or_default();
            if let Ok(entry) = Entry::parse_any(trim(&bytes))
                && entry.operation_id().as_deref() == Some(id)
            {
                let mut public = Vec::with_capacity(bytes.len() + 64);
                entry.write_public(&mut public);
                return Ok(Some(public));
            }
            // The log was replaced.
            *known = Known::default();
        }
        Ok(None)
    }
}

impl Known {
    fn update<S: ReadAt + ?Sized>(
        &mut self,
        source: &S,
        identity: u64,
        max_line: usize,
    ) -> FileResult<()> {
        let covered = match &self.snapshot {
            Some(snapshot) if snapshot.is_of(source, identity)? => snapshot.length,
            _ => {
                *self = Self::default();
                0
            }
        };
        self.open = None;
        if self.snapshot.is_some() && source.length()? == covered {
            return Ok(());
        }
        let finder = memmem::Finder::new(KEY);
        let mut lines = LinesForwards::new(source, covered, max_line);
        let mut end = covered;
        while let Some(line) = lines.next_line()? {
            let bytes = line.bytes.as_deref().unwrap_or_default();
            let id =
                finder.find(bytes).and_then(|_| Entry::parse_any(trim(bytes)).ok()?.operation_id());
            let known = id.map(|id| (self.hasher.hash_one(&id), line.offset));
            if !line.is_terminated {
                // Another program may still be writing the line.
                self.open = known;
                break;
            }
            end = line.end();
            if let Some((hash, offset)) = known {
                self.insert(hash, offset);
            }
        }
        self.snapshot = Some(LogSnapshot::of(source, identity, end)?);
        Ok(())
    }

    fn insert(&mut self, hash: u64, offset: u64) {
        if self.older.contains_key(&hash) {
            return;
        }
        self.recent.entry(hash).or_insert(offset);
        if self.recent.len() >= MAX_KNOWN {
            self.older = std::mem::take(&mut self.recent);
        }
    }

    fn offset(&self, id: &str) -> Option<u64> {
        let hash = self.hasher.hash_one(id);
        let open = self.open.filter(|(open, _)| *open == hash).map(|(_, offset)| offset);
        self.older.get(&hash).or_else(|| self.recent.get(&hash)).copied().or(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations() -> Operations {
        Operations { max_line: 1 << 20, known: Mutex::default() }
    }

    fn line(number: usize) -> String {
        format!("{{\"tool_name\":\"t\",\"id\":\"i{number}\",\"operationId\":\"o{number}\"}}\n")
    }

    fn find(operations: &Operations, log: &str, id: &str) -> Option<String> {
        let found = operations.find(&log.as_bytes().to_vec(), 0, id).unwrap()?;
        let entry: serde_json::Value = serde_json::from_slice(&found).unwrap();
        Some(entry["id"].as_str().unwrap().to_owned())
    }

    #[test]
    fn the_first_entry_with_an_id_is_found_as_the_log_grows() {
        let operations = operations();
        let mut log = line(1) + "{\"tool_name\":\"t\",\"params\":{\"operationId\":\"o2\"}}\n";
        assert_eq!(find(&operations, &log, "o1").as_deref(), Some("i1"));
        assert_eq!(find(&operations, &log, "o2"), None, "a nested member is none of the entry");
        log += &line(2);
        log += &line(2).replace("i2", "later");
        assert_eq!(find(&operations, &log, "o2").as_deref(), Some("i2"));
        assert_eq!(find(&operations, &log, "o3"), None);
    }

    #[test]
    fn an_entry_without_its_newline_character_counts_while_it_is_there() {
        let operations = operations();
        let log = line(1) + line(2).trim_end();
        assert_eq!(find(&operations, &log, "o2").as_deref(), Some("i2"));
        assert_eq!(find(&operations, &line(1), "o2"), None);
        let log = log + "\n" + &line(3);
        assert_eq!(find(&operations, &log, "o2").as_deref(), Some("i2"));
        assert_eq!(find(&operations, &log, "o3").as_deref(), Some("i3"));
    }

    #[test]
    fn a_log_that_was_replaced_or_cut_is_read_again() {
        let operations = operations();
        let log: String = (0..100).map(line).collect();
        assert_eq!(find(&operations, &log, "o99").as_deref(), Some("i99"));
        let cut: String = (0..50).map(line).collect();
        assert_eq!(find(&operations, &cut, "o99"), None);
        let other: String = (200..300).map(line).collect();
        assert_eq!(find(&operations, &other, "o250").as_deref(), Some("i250"));
        assert_eq!(find(&operations, &other, "o10"), None);
        assert_eq!(find(&operations, "", "o250"), None);
    }

    #[test]
    fn the_oldest_ids_are_dropped_beyond_the_bound() {
        let mut known = Known::default();
        for number in 0..3 * MAX_KNOWN as u64 {
            known.insert(number, number);
            assert!(known.recent.len() + known.older.len() <= 2 * MAX_KNOWN);
        }
        let last = 3 * MAX_KNOWN as u64 - 1;
        assert!(known.older.contains_key(&last) || known.recent.contains_key(&last));
        assert!(!known.older.contains_key(&0) && !known.recent.contains_key(&0));
    }
}
