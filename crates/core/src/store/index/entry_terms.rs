//! The terms of entries, for the index of a database. Writers of entries do not add them: the next search does, for the entries
//! of all processes, and later ones for those that are new.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use rustc_hash::FxHashMap;
use storage::{
    Coverage, FileEntry, FileError, FileKind, FileResult, FileTerms, FileWithoutTerms, TermsOfFile,
};
use text_index::{Analysed, Document};

use super::{EntryIndex, Location, facets, files::Files, location_of, row::Stamp, texts::Texts};
use crate::{
    blocking::run_blocking,
    store::{Entry, Summary, read_ahead::AT_ONCE},
};

/// The files that are looked for at once.
const FILES: usize = 1000;
/// The bytes of terms that are added at once.
const BYTES: usize = 1024 * 1024;
/// The most bytes of terms that are kept from the reading of an entry until a search adds them.
const MOST_KEPT: usize = 16 * 1024 * 1024;

/// The terms of an entry.
pub(super) struct EntryTerms {
    coverage: Coverage,
    terms: Vec<String>,
    lengths: Vec<u16>,
}

impl EntryTerms {
    pub fn of(summary: &Summary, document: &Document<'_>) -> Self {
        let analysed = Analysed::new(0, document);
        Self {
            coverage: if document.is_short() { Coverage::Whole } else { Coverage::Part },
            terms: analysed.terms().map(str::to_owned).chain(facets::of_entry(summary)).collect(),
            lengths: analysed.lengths().to_vec(),
        }
    }

    /// Those of a file that is no valid entry.
    fn none() -> Self {
        Self { coverage: Coverage::None, terms: Vec::new(), lengths: Vec::new() }
    }

    fn bytes(&self) -> usize {
        self.terms.iter().map(String::len).sum()
    }

    fn of_file(self, id: u128) -> TermsOfFile {
        let Self { coverage, terms, lengths } = self;
        TermsOfFile { id, coverage, terms, lengths }
    }
}

/// Terms of entries that were read for their metadata.
#[derive(Default)]
pub(super) struct KeptTerms(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    entries: FxHashMap<Arc<str>, (Stamp, EntryTerms)>,
    bytes: usize,
}

impl KeptTerms {
    /// Keeps the terms of an entry, if there is room.
    pub fn keep(&self, path: &str, stamp: Stamp, terms: EntryTerms) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += terms.bytes();
        if kept.bytes <= MOST_KEPT {
            kept.entries.insert(path.into(), (stamp, terms));
        }
    }

    /// The terms of this version of an entry.
    fn take(&self, file: &FileEntry) -> Option<EntryTerms> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (stamp, terms) = kept.entries.remove(&*file.name)?;
        stamp.is_version_of(file).then_some(terms)
    }

    fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}

impl EntryIndex {
    /// Adds the terms of all entries that have none.
    ///
    /// # Errors
    /// The file system's.
    pub(super) async fn add_missing_terms(
        self: &Arc<Self>,
        terms: &dyn FileTerms,
    ) -> FileResult<()> {
        loop {
            let missing = terms.missing(&self.root, FileKind::Entries, FILES).await?;
            let count = missing.len();
            if count > 0 && self.refuses_terms.load(Ordering::Relaxed) {
                // Before files are read for nothing.
                self.add_terms(terms, Vec::new()).await?;
            }
            let mut added = 0;
            for missing in missing.chunks(AT_ONCE) {
                let (index, files, missing) = (Arc::clone(self), self.files(), missing.to_vec());
                let read = run_blocking(move |_| Ok(index.read_terms(&files, missing))).await;
                let read = read.map_err(|error| {
                    let cause = io::Error::other(error.to_string());
                    FileError::system("search", &self.root, cause)
                })?;
                let (mut some, mut bytes) = (Vec::new(), 0);
                for terms_of_file in read {
                    bytes += terms_of_file.terms.iter().map(String::len).sum::<usize>();
                    some.push(terms_of_file);
                    if bytes > BYTES {
                        added += self.add_terms(terms, std::mem::take(&mut some)).await?;
                        bytes = 0;
                    }
                }
                if !some.is_empty() {
                    added += self.add_terms(terms, some).await?;
                }
            }
            // Files that cannot be read now are tried again by the next search.
            if count < FILES || added == 0 {
                self.kept_terms.clear();
                return Ok(());
            }
        }
    }

    async fn add_terms(&self, terms: &dyn FileTerms, files: Vec<TermsOfFile>) -> FileResult<u64> {
        let added = terms.add(&self.root, files).await;
        self.refuses_terms.store(added.is_err(), Ordering::Relaxed);
        added
    }

    /// The terms of files.
    fn read_terms(&self, files: &Files, missing: Vec<FileWithoutTerms>) -> Vec<TermsOfFile> {
        let (mut found, mut unread) = (Vec::new(), Vec::new());
        for FileWithoutTerms { entry, id } in missing {
            match (self.kept_terms.take(&entry), location_of(&entry.name)) {
                (Some(terms), _) => found.push((terms, id)),
                (None, Some(location)) => unread.push((location, id)),
                (None, None) => found.push((EntryTerms::none(), id)),
            }
        }
        let ahead = files.read_ahead(unread.iter().map(|(location, _)| location.clone()));
        for (location, id) in unread {
            // A file that cannot be read now, or is too long for this process, is tried again.
            let read = files.read_after(ahead.as_ref(), &location, self.max_entry_bytes);
            let whole = read.ok().filter(|contents| contents.length <= self.max_entry_bytes);
            found.extend(whole.map(|contents| (terms_in(&location, &contents.bytes), id)));
        }
        found.into_iter().map(|(terms, id)| terms.of_file(id)).collect()
    }
}

fn terms_in(location: &Location, bytes: &[u8]) -> EntryTerms {
    let Ok(entry) = Entry::read(location, bytes) else { return EntryTerms::none() };
    let summary = entry.summary.clone();
    let texts = Texts::of(location, entry);
    let joined = texts.joined();
    EntryTerms::of(&summary, &texts.document(&joined, 0))
}
