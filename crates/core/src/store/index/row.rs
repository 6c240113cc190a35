//! The metadata of one entry in the index, and the state of the file that it was read from.

use std::{cmp::Ordering, sync::Arc};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use storage::FileEntry;

use super::{
    super::{EntryType, Location, Summary, time},
    location_of,
};
use crate::vectors::TextDigest;

/// Interned names that many entries share: agents, sessions, tags.
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

/// Identifies the state of a file that a row was read from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub length: u64,
    /// Ms since 1970.
    pub modified: i64,
    version: Option<u64>,
    /// A digest of the file's bytes.
    pub digest: u64,
    /// Whether the file was read long enough after its last write that a later write must change
    /// its version.
    is_settled: bool,
}

/// The coarsest resolution of file times, in ms: a file that was written more recently may change
/// without a change of its times.
pub(super) const TICK: i64 = 2000;

impl Stamp {
    /// The stamp of a file with the metadata `file`, read at the time `now`.
    pub fn new(file: &FileEntry, length: u64, digest: u64, now: i64) -> Self {
        Self {
            length: file.length.unwrap_or(length),
            modified: file.modified.unwrap_or_default(),
            version: file.version,
            digest,
            is_settled: file.written.is_some_and(|written| written.saturating_add(TICK) < now),
        }
    }

    /// The stamp of a file that could not be read.
    pub fn unread() -> Self {
        Self { length: u64::MAX, ..Self::default() }
    }

    /// Whether any later state of the file would have another stamp.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Whether the file certainly has not changed since.
    pub fn is_of(&self, file: &FileEntry) -> bool {
        self.is_settled && self.is_version_of(file)
    }

    /// Whether it is of this version of the file.
    pub fn is_version_of(&self, file: &FileEntry) -> bool {
        self.version.is_some() && self.version == file.version && Some(self.length) == file.length
    }

    /// Whether both stamps are of the same version of the file.
    pub fn is_same_version(&self, other: &Self) -> bool {
        (self.version, self.length, self.digest) == (other.version, other.length, other.digest)
    }
}

/// The directory that is named like a session, if the entry at this path is in one.
pub(super) fn session_directory(path: &str) -> Option<&str> {
    let mut parts = path.split('/');
    parts.nth(1).filter(|_| parts.next().is_some())
}

/// The metadata of an entry. Names are numbers of [`Names`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub path: Arc<str>,
    pub agent: u32,
    pub session: Option<u32>,
    /// Ms since 1970.
    pub timestamp: i64,
    /// When it was last changed, by its front matter and changelog; ms since 1970.
    pub changed: i64,
    pub entry_type: EntryType,
    pub tags: Box<[u32]>,
    pub links: Box<[Arc<str>]>,
    pub superseded_by: Option<Arc<str>>,
    pub stamp: Stamp,
    /// Its document id in the inverted index; every change gets a new one.
    pub sequence: u64,
    /// Whether only a part of its text is in the inverted index.
    pub is_partial: bool,
    /// The text that embedding models get.
    pub embedded: TextDigest,
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
            embedded: TextDigest::default(),
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

    /// `None` only for a damaged cache, whose path is no entry's.
    pub fn location(&self) -> Option<Location> {
        location_of(&self.path)
    }

    /// Whether all its name numbers exist; checked after loading a cache.
    pub fn is_sound(&self, names: usize) -> bool {
        let mut numbers = self.tags.iter().chain(&self.session).chain([&self.agent]);
        numbers.all(|number| (*number as usize) < names) && self.location().is_some()
    }

    /// Orders entries newest first.
    pub fn newest_first(&self, other: &Self) -> Ordering {
        let key = |row: &Self| (row.timestamp, row.stamp.modified);
        key(other).cmp(&key(self)).then_with(|| other.path.cmp(&self.path))
    }
}
