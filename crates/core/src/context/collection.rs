//! The contexts that a search covers, with access to their texts: those of this manager and, if wanted, those of other
//! sessions in the directory, or the candidates among them that the index of a database named.

use std::{collections::HashMap, ops::RangeInclusive, path::Path, sync::Arc};

use serde_json::{Value, json};
use storage::{Contents, FileError, FileResult, Payload, layout};
use tasks::in_place_if_long;
use text_index::{Collection as Statistics, Index, TextSearch};

use super::{
    admission::Admission,
    beginnings::AT_ONCE,
    context_files::MAX_TEXT,
    directory_index::{DirectoryIndex, FIRST_FOREIGN},
    file_head::skipped,
    held::Held,
    indexing::MAX_INDEXED_RESULT,
    narrowing::{Narrowing, NotNarrowed},
    pointer::Pointer,
    session::Session,
    stored_text::StoredText,
};
use crate::{error::Result, vectors::TextDigest};

/// Pointers that are examined with the lock held, between two yields.
const BATCH: usize = 4096;
/// The longest file that is read together with others, in bytes.
const MOST_AHEAD: u64 = 256 * 1024;

/// The contexts of a search: this manager's by their call numbers, and those of others by the numbers of a
/// [`DirectoryIndex`].
pub(super) struct Collection<'m> {
    session: &'m Arc<Session>,
    others: Option<&'m DirectoryIndex>,
    /// The contexts of others that are covered, if not all are.
    narrowing: Option<Narrowing<'m>>,
    /// Files that were read before they are needed; `None` are those that do not exist.
    ahead: HashMap<String, Option<Contents>>,
    /// Whether the file system reads many files faster than one after the other, as far as is known.
    reads_ahead: bool,
}

impl<'m> Collection<'m> {
    /// This manager's contexts.
    pub fn own(session: &'m Arc<Session>) -> Self {
        Self { session, others: None, narrowing: None, ahead: HashMap::new(), reads_ahead: true }
    }

    /// This manager's contexts and those of other sessions: the candidates for the query, or all.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn of_all(
        session: &'m Arc<Session>,
        others: &'m DirectoryIndex,
        search: &TextSearch,
        admission: &Admission,
    ) -> Result<Self> {
        let mut collection = Self { others: Some(others), ..Self::own(session) };
        match Narrowing::new(session, others, search, admission).await {
            Ok(Some(narrowing)) => collection.narrowing = Some(narrowing),
            Ok(None) => others.refresh(session).await?,
            Err(reason) => collection.widen(reason).await?,
        }
        Ok(collection)
    }

    /// Covers all contexts of others, because the index of the database cannot be used.
    async fn widen(&mut self, reason: NotNarrowed) -> Result<()> {
        let error = match reason {
            NotNarrowed::Search(error) => return Err(error),
            NotNarrowed::Storage(error) => error,
        };
        self.say(
            "Searched without the index of the database",
            || json!({ "reason": error.to_string() }),
        );
        self.narrowing = None;
        match self.others {
            Some(others) => others.refresh(self.session).await,
            None => Ok(()),
        }
    }

    /// Covers further candidates; returns whether there may be any.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn more(&mut self) -> Result<bool> {
        let Some(narrowing) = &mut self.narrowing else { return Ok(false) };
        match narrowing.more().await {
            Ok(more) => Ok(more),
            Err(reason) => self.widen(reason).await.map(|()| true),
        }
    }

    /// Covers the candidates for another query.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn change(&mut self, search: &TextSearch) -> Result<()> {
        let Some(narrowing) = &mut self.narrowing else { return Ok(()) };
        match narrowing.change(search).await {
            Ok(()) => Ok(()),
            Err(reason) => self.widen(reason).await,
        }
    }

    /// Covers also contexts of which only a part is indexed: the latest, with at most `bytes` bytes.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn add_partly_covered(&mut self, bytes: u64) -> Result<()> {
        let Some(narrowing) = &mut self.narrowing else { return Ok(()) };
        match narrowing.add_partly_covered(bytes).await {
            Ok(()) => Ok(()),
            Err(reason) => self.widen(reason).await,
        }
    }

    /// Terms of contexts that are not covered, of these lengths in characters.
    pub async fn vocabulary(&self, lengths: RangeInclusive<usize>) -> Vec<String> {
        let Some(narrowing) = &self.narrowing else { return Vec::new() };
        let found = narrowing.vocabulary(lengths).await;
        found.unwrap_or_else(|error| {
            self.say(
                "Looked for similar words in the candidates only",
                || json!({ "reason": error.to_string() }),
            );
            Vec::new()
        })
    }

    /// The statistics of the collection, if only a part of it is covered.
    pub fn statistics(&self) -> Option<Statistics> {
        self.narrowing.as_ref().map(|narrowing| narrowing.statistics().clone())
    }

    /// Whether a context is covered.
    pub fn covers(&self, number: u64) -> bool {
        number < FIRST_FOREIGN
            || self.narrowing.as_ref().is_none_or(|narrowing| narrowing.covers(number))
    }

    /// The inverted indexes, which have no document ids in common.
    pub fn indexes(&self) -> Vec<&'m Index> {
        let mut indexes = vec![self.session.index.words()];
        indexes.extend(self.others.map(DirectoryIndex::words));
        indexes
    }

    /// The pointer of a context.
    pub fn pointer(&self, number: u64) -> Option<Pointer> {
        if number < FIRST_FOREIGN {
            return self.session.pointers.get(number);
        }
        self.others?.pointer(number)
    }

    /// The digests of the embedded texts of this manager's contexts, as far as they are known.
    pub fn embedded_texts(&self, numbers: &[u64]) -> Vec<Option<TextDigest>> {
        self.session.index.embedded_texts(numbers)
    }

    /// The contexts that `accepts` returns true for, with their times and sizes, latest first. Its second argument says
    /// whether the index has all of the context's text.
    pub async fn choose(&self, accepts: impl Fn(&Pointer, bool) -> bool) -> Vec<(i64, u64, u64)> {
        let mut chosen = Vec::new();
        let mut choose = |number, pointer: &Pointer, is_partial| {
            if self.covers(number) && accepts(pointer, is_partial) {
                chosen.push((pointer.timestamp, number, pointer.size));
            }
        };
        let mut next = Some(0);
        // Saves take the same lock, so it is held for short times only.
        while let Some(start) = next {
            next = self.session.pointers.visit_stored_from(start, BATCH, |number, pointer| {
                let is_partial =
                    pointer.size > MAX_INDEXED_RESULT as u64 || pointer.arguments_truncated;
                choose(number, pointer, is_partial);
            });
            tokio::task::yield_now().await;
        }
        if let Some(others) = self.others {
            next = Some(FIRST_FOREIGN);
            while let Some(start) = next {
                next = others.visit_from(start, BATCH, &mut choose);
                tokio::task::yield_now().await;
            }
        }
        chosen.sort_unstable_by(|left, right| right.cmp(left));
        chosen
    }

    /// Reads the files of the next contexts in one step, where the file system can: those that are short and not in memory, at
    /// most `count`. Does nothing while the first one needs no reading.
    pub async fn read_ahead(&mut self, next: impl Iterator<Item = u64>, count: usize) {
        let (mut names, mut bytes) = (Vec::new(), 0);
        for number in next.take(count) {
            if !self.reads_ahead {
                return;
            }
            let pointer = self.pointer(number).filter(|pointer| pointer.size <= MOST_AHEAD);
            let name = pointer.as_ref().map(|pointer| pointer.filename());
            let unread = name.filter(|name| {
                !self.ahead.contains_key(*name) && self.cached(number, name).is_none()
            });
            let size = pointer.as_ref().map_or(0, |pointer| pointer.size);
            match unread {
                Some(name) if bytes + size <= AT_ONCE => names.push(name.to_owned()),
                None if names.is_empty() => return,
                _ => continue,
            }
            bytes += size;
        }
        let Some(name) = names.first().filter(|_| names.len() > 1) else { return };
        let directory = &self.session.directory;
        let Ok(root) = directory.root(&directory.path_of(name)).await else { return };
        // What cannot be read is read alone, which reports why.
        let read = directory.file_system.read_many(&root, &names, MOST_AHEAD).await;
        match read.ok().flatten() {
            Some(read) => self.ahead.extend(names.into_iter().zip(read)),
            None => self.reads_ahead = false,
        }
    }

    /// A file that was read ahead, completely.
    fn taken(&mut self, filename: &str) -> Option<FileResult<Contents>> {
        let Some(contents) = self.ahead.remove(filename)? else {
            let missing = std::io::ErrorKind::NotFound.into();
            return Some(Err(FileError::system("read", Path::new(filename), missing)));
        };
        (contents.bytes.len() as u64 >= contents.length).then_some(Ok(contents))
    }

    fn cached(&self, number: u64, filename: &str) -> Option<Held> {
        let cached = self.session.pointers.cached(filename);
        cached.or_else(|| self.cached_by_others(number, filename))
    }

    /// The text of a context, from memory or from its file; `None` if it was removed or is no valid record.
    pub async fn text(&mut self, number: u64, pointer: &Pointer) -> Option<StoredText> {
        let filename = pointer.filename();
        if let Some(held) = self.cached(number, filename) {
            return StoredText::of_held(held);
        }
        let taken = self.taken(filename);
        let directory = &self.session.directory;
        let path = directory.path_of(filename);
        let root = directory.root(&path).await.ok()?;
        let skipped = |reason: &str| skipped(&self.session.debug, &path, reason);
        let read = match taken {
            Some(read) => read,
            None => directory.read(&root, filename, MAX_TEXT).await,
        };
        match read {
            Ok(contents) if contents.length > MAX_TEXT => {
                skipped("the file is too large");
                None
            }
            Ok(contents) => {
                let length = contents.bytes.len();
                let parse = || StoredText::of_record(Payload::new(contents.bytes));
                // In place: a search does not wait for the long saves that were called before it.
                let text = in_place_if_long(length, parse).await;
                text.map_err(|reason| skipped(reason.reason())).ok()
            }
            Err(error) if error.is_not_found() => None,
            Err(error) => {
                skipped(&error.to_string());
                None
            }
        }
    }

    /// A record that is only in the memory of another manager.
    fn cached_by_others(&self, number: u64, filename: &str) -> Option<Held> {
        let stamp = layout::parse_context(filename).filter(|_| number >= FIRST_FOREIGN)?;
        let neighbours = self.session.neighbours();
        let owner = neighbours.iter().find(|neighbour| neighbour.pointers.made(&stamp))?;
        owner.pointers.cached(filename)
    }

    /// Passes a message about the search to the debug callback.
    pub fn say(&self, message: &str, data: impl FnOnce() -> Value) {
        self.session.debug.say(message, data);
    }
}
