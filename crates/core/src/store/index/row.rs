//! What is kept of an entry.

use std::{cmp::Ordering, sync::Arc};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use storage::FileEntry;

use super::super::{EntryType, Location, Summary, time};

/// Names that many entries share, each kept once: agents, sessions, tags.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, u32>,
}

impl Names {
    pub fn of(names: Vec<Arc<str>>) -> Self {
        let numbers = names.iter().map(Arc::clone).zip(0..).collect();
        Self { names, numbers }
    }

    pub fn all(&self) -> &[Arc<str>] {
        &self.names
    }

    pub fn get(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    pub fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let (name, number): (Arc<str>, u32) = (name.into(), self.names.len() as u32);
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }
}

/// Which state of a file something was read from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub length: u64,
    /// Ms since 1970.
    pub modified: i64,
    version: Option<u64>,
    /// Of the bytes.
    pub digest: u64,
    /// It was written long enough before it was read that no later write can have the same version.
    is_settled: bool,
}

/// File systems tell times in ticks, of up to 2 s: what is younger may change without a sign of it.
pub(super) const TICK: i64 = 2000;

impl Stamp {
    /// Of a file as it was before `now`, when it was read.
    pub fn new(file: &FileEntry, length: u64, digest: u64, now: i64) -> Self {
        Self {
            length: file.length.unwrap_or(length),
            modified: file.modified.unwrap_or_default(),
            version: file.version,
            digest,
            is_settled: file.written.is_some_and(|written| written.saturating_add(TICK) < now),
        }
    }

    /// Of a file that could not be read.
    pub fn unread() -> Self {
        Self { length: u64::MAX, ..Self::default() }
    }

    /// Whether another state of the file would tell.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Whether the file is surely what it was.
    pub fn is_of(&self, file: &FileEntry) -> bool {
        self.is_settled
            && self.version.is_some()
            && self.version == file.version
            && Some(self.length) == file.length
    }

    /// Whether it was read from the same version of the file.
    pub fn is_same_version(&self, other: &Self) -> bool {
        (self.version, self.length, self.digest) == (other.version, other.length, other.digest)
    }
}

/// An entry. Names are numbers of [`Names`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub path: Arc<str>,
    pub agent: u32,
    pub session: Option<u32>,
    /// Ms since 1970.
    pub timestamp: i64,
    /// When it was last changed, as far as it says itself; ms since 1970.
    pub changed: i64,
    pub entry_type: EntryType,
    pub tags: Box<[u32]>,
    pub links: Box<[Arc<str>]>,
    pub superseded_by: Option<Arc<str>>,
    pub stamp: Stamp,
    /// Its number in the inverted index, anew with every change.
    pub sequence: u64,
    /// Not all of its text is in the inverted index.
    pub is_partial: bool,
}

impl Row {
    pub fn new(summary: &Summary, timestamp: i64, names: &mut Names) -> Self {
        let tags = summary.tags.iter().map(|tag| names.number(tag));
        Self {
            path: summary.path.as_str().into(),
            tags: tags.collect(),
            agent: names.number(&summary.agent),
            session: summary.session_id.as_deref().map(|session| names.number(session)),
            timestamp,
            changed: timestamp,
            entry_type: summary.entry_type,
            links: summary.links.iter().map(|link| link.as_str().into()).collect(),
            superseded_by: summary.superseded_by.as_deref().map(Into::into),
            stamp: Stamp::default(),
            sequence: 0,
            is_partial: false,
        }
    }

    pub fn summary(&self, names: &Names) -> Summary {
        Summary {
            path: self.path.to_string(),
            agent: names.get(self.agent).to_owned(),
            session_id: self.session.map(|session| names.get(session).to_owned()),
            timestamp: time::iso(self.timestamp),
            entry_type: self.entry_type,
            tags: self.tags.iter().map(|tag| names.get(*tag).to_owned()).collect(),
            links: self.links.iter().map(|link| link.to_string()).collect(),
            superseded_by: self.superseded_by.as_deref().map(str::to_owned),
        }
    }

    /// `None` only for what was never in a store.
    pub fn location(&self) -> Option<Location> {
        Location::of(&self.path.split('/').collect::<Vec<_>>())
    }

    /// The directory named like a session, where there is one.
    pub fn session_directory(&self) -> Option<&str> {
        let mut parts = self.path.split('/');
        parts.nth(1).filter(|_| parts.next().is_some())
    }

    /// Whether its numbers are those of names that there are.
    pub fn is_sound(&self, names: usize) -> bool {
        let mut numbers = self.tags.iter().chain(&self.session).chain([&self.agent]);
        numbers.all(|number| (*number as usize) < names) && self.location().is_some()
    }

    /// Which of two entries comes first: the newest does.
    pub fn newest_first(&self, other: &Self) -> Ordering {
        let key = |row: &Self| (row.timestamp, row.stamp.modified);
        key(other).cmp(&key(self)).then_with(|| other.path.cmp(&self.path))
    }
}
