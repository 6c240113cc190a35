//! The entry index on disk, so that a new process need not read every file of a large store. It is
//! a cache: a file that cannot be decoded is ignored and the index is rebuilt. After loading it,
//! the first search compares every entry with its file's length and times, and reads the changed
//! files.
//!
//! The file has the frame of a [`cache_file`]. Its contents are parts, each after its length (64
//! bits, little endian), in postcard's format: the head, the rows, and each segment of the inverted
//! index. Where a database has the terms of entries, there are no segments.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::json;
use storage::{
    Payload,
    cache_file::{self, CacheFile},
    layout,
};
use text_index::{Index, StoredSegment};

use super::{
    EntryIndex,
    files::Files,
    row::{Names, Row},
    table::Table,
};
use crate::{
    blocking::run_blocking,
    debug::Debug,
    error::{Error, Result},
};

/// Names the format and its version.
const MAGIC: &[u8; 16] = b"context-store 2\n";
/// The longest file that is read, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024 * 1024;
/// A set of sequence numbers takes memory for all smaller ones: a cache with larger numbers is ignored,
/// and numbers start from 0 again.
const MAX_SEQUENCE: u64 = 1 << 28;

/// The version that wrote the cache, and the names that its rows refer to.
#[derive(Serialize, Deserialize)]
struct Head {
    /// A cache of another version is ignored, because tokenisation may differ.
    version: String,
    max_entry_bytes: u64,
    names: Vec<Arc<str>>,
}

impl EntryIndex {
    /// Writes the cache if enough has changed since it was last written, and waits for a write in
    /// progress. A store on an injected file system has no cache.
    pub async fn save(self: &Arc<Self>, debug: &Debug) {
        if self.is_worth_saving() {
            self.tidy(debug).await;
        } else {
            // The semaphore is never closed. Its permit is free once no other task writes.
            let _permit = self.tidying.acquire().await;
        }
    }

    /// Whether enough has changed that writing the cache costs less than reading the changed files
    /// again.
    pub(super) fn is_worth_saving(&self) -> bool {
        let changes = self.changes.load(Ordering::Relaxed);
        changes >= self.limits.least_changes && changes * 20 >= self.table().len()
    }

    /// Merges the segments of the inverted index and writes the cache.
    pub(super) async fn tidy(self: &Arc<Self>, debug: &Debug) {
        // The semaphore is never closed.
        let _permit = self.tidying.acquire().await;
        if !self.is_worth_saving() {
            return;
        }
        let (index, files) = (Arc::clone(self), self.files());
        let written = run_blocking(move |_| {
            // Set before the write: after a failed write, the next attempt waits for further
            // changes.
            index.changes.store(0, Ordering::Relaxed);
            index.text().maintain();
            if files.disk().is_some() { index.write(&files) } else { Ok(()) }
        });
        if let Err(error) = written.await {
            debug.say(
                "Failed to write the index of the context store",
                || json!({ "path": self.root.display().to_string(), "error": error.message }),
            );
        }
    }

    fn write(&self, files: &Files) -> Result<()> {
        // Rows are copied before the segments. If an entry's words are removed in between, its row
        // has no words and its file is read again when the cache is loaded.
        let (head, rows) = {
            let table = self.table();
            let head = Head {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                max_entry_bytes: self.max_entry_bytes,
                names: table.names.all().to_vec(),
            };
            (encode(&head), encode(&table.rows().collect::<Vec<_>>()))
        };
        let segments = if self.is_narrowed() { Vec::new() } else { self.text().stored() };
        let parts: Option<Vec<Vec<u8>>> = [head, rows]
            .into_iter()
            .chain(segments.into_iter().map(|segment| encode(&segment)))
            .collect();
        // A part that cannot be encoded makes the cache unusable: none is written.
        let Some(parts) = parts else { return Ok(()) };
        let mut file = CacheFile::new(MAGIC, parts.iter().map(|part| part.len() + 8).sum());
        for part in parts {
            file.extend((part.len() as u64).to_le_bytes());
            file.extend(part);
        }
        files
            .replace_cache(layout::STORE_INDEX, Payload::new(file.finish()))
            .map_err(|error| Error::from_file("write the index of", &files.root, "path", error))
    }

    /// Loads the cache. Called once, while the index is empty.
    pub(super) fn load(&self, files: &Files) {
        let Some(disk) = files.disk() else { return };
        let name = Path::new(layout::STORE_INDEX);
        let Ok(contents) = disk.read(&files.root, name, MAX_FILE) else { return };
        if let Some((table, text)) =
            decode(&contents.bytes, self.max_entry_bytes, !self.is_narrowed())
        {
            let next = table.rows().map(|row| row.sequence + 1).max().unwrap_or_default();
            self.sequence.store(next, Ordering::Relaxed);
            self.text.store(Arc::new(text));
            *self.table_mut() = table;
        }
    }
}

fn encode(part: &impl Serialize) -> Option<Vec<u8>> {
    postcard::to_stdvec(part).ok()
}

/// The rows of a cache, and its inverted index; without the latter, an empty one.
pub(super) fn decode(
    bytes: &[u8],
    max_entry_bytes: u64,
    has_words: bool,
) -> Option<(Table, Index)> {
    let mut rest = cache_file::contents(bytes, MAGIC)?;
    let mut parts: Vec<&[u8]> = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, after) = after.split_at_checked(length)?;
        parts.push(part);
        rest = after;
    }
    let (head, parts) = parts.split_first()?;
    let (rows, segments) = parts.split_first()?;
    let segments = if has_words { segments } else { &[] };
    let head: Head = postcard::from_bytes(head).ok()?;
    if head.version != env!("CARGO_PKG_VERSION") || head.max_entry_bytes != max_entry_bytes {
        return None;
    }
    // Decoding the segments takes longest, so it runs beside the rows.
    let (rows, text) = std::thread::scope(|scope| {
        let rows = scope.spawn(|| postcard::from_bytes::<Vec<Row>>(rows).ok());
        let segments: Option<Vec<StoredSegment>> =
            segments.iter().map(|segment| postcard::from_bytes(segment).ok()).collect();
        let text = segments.and_then(Index::restored);
        (rows.join().ok().flatten(), text)
    });
    let (mut rows, text) = (rows?, text?);
    let mut paths = FxHashSet::default();
    let is_sound =
        |row: &Row| row.is_sound(head.names.len()) && paths.insert(Arc::clone(&row.path));
    let mut words: FxHashSet<u64> = text.sequences().into_iter().collect();
    let mut sequences = words.iter().copied().chain(rows.iter().map(|row| row.sequence));
    if sequences.any(|sequence| sequence > MAX_SEQUENCE) || !rows.iter().all(is_sound) {
        return None;
    }
    // A row without words, or words without a row, belong to an entry that changed while the cache
    // was written: the file is read again.
    rows.retain(|row| words.remove(&row.sequence) || !has_words);
    words.into_iter().for_each(|sequence| text.remove(sequence));
    Some((Table::of(Names::of(head.names), rows), text))
}
