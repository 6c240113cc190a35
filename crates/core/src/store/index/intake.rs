//! Ingestion: reads changed files on several threads, parses and tokenises them, and adds the
//! results to the table and to the inverted index in one step.

use std::{
    hash::Hasher,
    io,
    sync::{Arc, atomic::Ordering},
};

use rustc_hash::FxHasher;
use tasks::Cancelled;
use text_index::Batch;

use super::{
    EntryIndex, Problem,
    entry_terms::EntryTerms,
    files::Files,
    row::{Row, Stamp},
    scan::{Look, unreadable},
    table::{Broken, Finding},
    texts::Texts,
};
use crate::{
    store::{
        Entry, Location, Summary,
        read_ahead::{AT_ONCE, ReadAhead, SHORT},
        time,
    },
    vectors::TextDigest,
};

/// The greatest number of files of one task.
const CHUNK: usize = 4096;
/// The smallest number of files that is given to a thread of its own.
const LEAST_CHUNK: usize = 32;
/// Text is added to the inverted index when it takes this much memory, in bytes.
const MAX_BATCH: usize = 64 * 1024 * 1024;

/// An entry as read, before names are replaced with numbers.
struct Draft {
    summary: Summary,
    timestamp: i64,
    changed: i64,
    stamp: Stamp,
    sequence: u64,
    is_partial: bool,
    embedded: TextDigest,
}

enum Examined {
    Found(Finding),
    Entry(Entry, Stamp),
}

impl EntryIndex {
    /// Reads files and updates the index; returns the number of changed entries. If cancelled, the
    /// remaining files are not examined.
    pub(super) fn take_in(&self, files: &Files, looks: &[Look], cancelled: &Cancelled) -> usize {
        if looks.is_empty() {
            return 0;
        }
        let size = (looks.len() / 4).clamp(LEAST_CHUNK, CHUNK);
        let chunks: Vec<&[Look]> = looks.chunks(size).collect();
        let found = tasks::map_on_few_threads(&chunks, cancelled, |chunk| {
            self.take_in_chunk(files, chunk, cancelled)
        });
        let applied = self.table_mut().apply(found.into_iter().flatten().collect());
        let text = self.text();
        applied.outdated.into_iter().for_each(|sequence| text.remove(sequence));
        applied.changes
    }

    fn take_in_chunk(
        &self,
        files: &Files,
        looks: &[Look],
        cancelled: &Cancelled,
    ) -> Vec<(Arc<str>, Finding)> {
        let text = self.text();
        let (mut found, mut drafts) = (Vec::new(), Vec::new());
        let mut batch = Batch::default();
        let mut ahead = None;
        for (number, look) in looks.iter().enumerate() {
            if cancelled.is_set() {
                break;
            }
            if number % AT_ONCE == 0 {
                let next = looks.iter().skip(number).take(AT_ONCE);
                ahead = files.read_ahead(
                    next.filter(|look| look.may_be_read_ahead()).map(|look| look.location.clone()),
                );
            }
            match self.examine(files, look, ahead.as_ref()) {
                Examined::Found(finding) => found.push((look.location.as_str().into(), finding)),
                Examined::Entry(entry, stamp) => {
                    let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
                    drafts.push(self.draft(&look.location, entry, stamp, sequence, &mut batch));
                    if batch.bytes() > MAX_BATCH {
                        text.add_batch(std::mem::take(&mut batch));
                    }
                }
            }
        }
        text.add_batch(batch);
        let names = &mut self.table_mut().names;
        found.extend(drafts.into_iter().map(|draft| {
            let Draft { summary, timestamp, changed, stamp, sequence, is_partial, embedded } =
                draft;
            let row = Row::new(&summary, timestamp, names);
            let row = Row { changed, stamp, sequence, is_partial, embedded, ..row };
            (Arc::clone(&row.path), Finding::Entry(row))
        }));
        found
    }

    fn examine(&self, files: &Files, look: &Look, ahead: Option<&ReadAhead>) -> Examined {
        // When the contents are read, at the earliest.
        let now = ahead.map_or_else(time::now, |ahead| ahead.began);
        // Metadata is read before the contents, so that a change in between is noticed as another
        // version.
        let listed = match &look.file {
            Some(file) => Some(file.clone()),
            // A file that no listing has, and whose metadata cannot be read, counts as removed.
            None => files.entry(&look.location).ok().flatten(),
        };
        let Some(file) = listed else { return Examined::Found(Finding::Gone) };
        let stamp = |length: u64, digest: u64| Stamp::new(&file, length, digest, now);
        let broken = |stamp: Stamp, problem: Problem| {
            Examined::Found(Finding::Broken(Broken { stamp, problem, is_reported: false }))
        };
        let too_long = |length: u64| {
            let most = self.max_entry_bytes;
            let reason =
                format!("it has {length} bytes, more than the {most} that an entry may have");
            broken(stamp(length, 0), Problem { line: 1, reason })
        };
        if let Some(length) = file.length.filter(|length| *length > self.max_entry_bytes) {
            return too_long(length);
        }
        let contents = match files.read_after(ahead, &look.location, self.max_entry_bytes) {
            Ok(contents) => contents,
            // The file was removed, or replaced with a symbolic link.
            Err(error) if error.is_not_found() || error.kind == io::ErrorKind::InvalidInput => {
                return Examined::Found(Finding::Gone);
            }
            // The file may become readable without a change of its times, so it is never considered
            // settled.
            Err(error) => return broken(Stamp::unread(), unreadable(&error)),
        };
        if contents.length > self.max_entry_bytes {
            return too_long(contents.length);
        }
        let stamp = stamp(contents.length, digest(&contents.bytes));
        let is_same =
            |(_, known): (_, &Stamp)| (known.digest, known.length) == (stamp.digest, stamp.length);
        if self.table().known(look.location.as_str()).is_some_and(is_same) {
            return Examined::Found(Finding::Same(stamp));
        }
        match Entry::read(&look.location, &contents.bytes) {
            Ok(entry) => Examined::Entry(entry, stamp),
            Err(problem) => broken(stamp, problem),
        }
    }

    /// Adds the words of an entry to the batch, or keeps its terms for the index of a database.
    fn draft(
        &self,
        location: &Location,
        entry: Entry,
        stamp: Stamp,
        sequence: u64,
        batch: &mut Batch,
    ) -> Draft {
        let summary = entry.summary.clone();
        let timestamp = time::parse(&summary.timestamp).or(location.time()).unwrap_or_default();
        let changes = entry.changelog.iter().filter_map(|change| time::parse(&change.timestamp));
        let changed = changes.fold(timestamp, i64::max);
        let texts = Texts::of(location, entry);
        let joined = texts.joined();
        let document = texts.document(&joined, timestamp);
        let is_partial = !document.is_short();
        if self.is_narrowed() {
            self.kept_terms.keep(location.as_str(), stamp, EntryTerms::of(&summary, &document));
        } else {
            batch.add(sequence, &document);
        }
        let embedded = TextDigest::of(&texts.embedded());
        Draft { summary, timestamp, changed, stamp, sequence, is_partial, embedded }
    }
}

impl Look {
    /// Whether the contents may be read before [`EntryIndex::examine`]: the metadata is older, and the file is short.
    fn may_be_read_ahead(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.length.is_none_or(|length| length <= SHORT))
    }
}

/// A digest that distinguishes files of equal length.
fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}
