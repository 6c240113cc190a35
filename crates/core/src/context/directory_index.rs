//! An inverted index of the contexts of other sessions in the directory, live or over, from their files or from the
//! memory of this process's other managers. A search covers all of them, for which [`DirectoryIndex::refresh`] reads those that
//! are new, or the candidates that the index of a database named, which [`DirectoryIndex::admit`] reads if they are unknown.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustc_hash::FxHashSet;
use storage::{FileEntry, FileError, layout};
use text_index::Index;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{
    beginnings::Beginnings,
    file_head::{NoHead, skipped},
    file_text::{FileText, READ},
    pointer::Pointer,
    refused,
    session::Session,
    stored_text::StoredText,
};
use crate::error::{Error, Result};

/// The first document id for contexts of others; the call numbers of a manager never reach it.
pub(super) const FIRST_FOREIGN: u64 = 1 << 62;
/// When this much text is indexed, only a little is indexed of each further context. Searches read what is not indexed.
const MAX_TEXT: usize = 128 * 1024 * 1024;
/// The text that is indexed of each further result.
const LITTLE_TEXT: usize = 1024;

/// The contexts of others, as of the latest search.
pub(super) struct DirectoryIndex {
    /// Document ids are the numbers of [`Foreign`] contexts.
    index: Index,
    known: Mutex<Known>,
    /// Held during a refresh.
    turn: Semaphore,
    /// Whether the database refused the terms of files when they were last added.
    refuses_terms: AtomicBool,
}

/// A context of another session.
struct Foreign {
    pointer: Pointer,
    /// Whether a part of its text is not indexed.
    is_partial: bool,
    /// Whether a part of its text is not indexed because there was no room for it.
    is_little: bool,
    text_bytes: usize,
    /// The number of the latest search that covered it.
    used: u64,
}

#[derive(Default)]
struct Known {
    contexts: BTreeMap<u64, Foreign>,
    names: HashMap<String, Name>,
    next: u64,
    text_bytes: usize,
    searches: u64,
    /// The number of the latest search that covered all of the contexts, so that none could be removed.
    without_room: u64,
}

/// What is known of a file name.
struct Name {
    version: Version,
    /// The context's number; `None` if the file is no record.
    number: Option<u64>,
}

/// Length and time: a file that differs was replaced. A context that is only in memory has neither.
type Version = (Option<u64>, Option<i64>);

/// A context that is not in the index yet.
enum Found {
    Memory(Arc<Session>, Pointer),
    File(FileEntry),
}

impl Default for DirectoryIndex {
    fn default() -> Self {
        Self {
            index: Index::new(),
            known: Mutex::default(),
            turn: Semaphore::new(1),
            refuses_terms: AtomicBool::new(false),
        }
    }
}

impl DirectoryIndex {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a search. Searches of a manager read files one after the other, so that none is read twice.
    ///
    /// # Errors
    /// `Internal`, never in practice: the index is not closed.
    pub async fn turn(&self) -> Result<SemaphorePermit<'_>> {
        let turn = self.turn.acquire().await;
        turn.map_err(|_| Error::internal("the index of the directory was closed"))
    }

    /// Notes whether the database refused the terms of files.
    pub fn note_refusal(&self, refuses: bool) {
        self.refuses_terms.store(refuses, Ordering::Relaxed);
    }

    /// Whether the database refused the terms of files when they were last added.
    pub fn refuses_terms(&self) -> bool {
        self.refuses_terms.load(Ordering::Relaxed)
    }

    /// The index of the contexts' words.
    pub fn words(&self) -> &Index {
        &self.index
    }

    /// The pointer of a context.
    pub fn pointer(&self, number: u64) -> Option<Pointer> {
        self.known().contexts.get(&number).map(|foreign| foreign.pointer.clone())
    }

    /// Calls `visit` with at most `limit` contexts from number `start` on, and with whether a part of their text is not
    /// indexed; returns the number at which the next visit starts.
    pub fn visit_from(
        &self,
        start: u64,
        limit: usize,
        mut visit: impl FnMut(u64, &Pointer, bool),
    ) -> Option<u64> {
        let known = self.known();
        let mut contexts = known.contexts.range(start..);
        for (&number, foreign) in contexts.by_ref().take(limit) {
            visit(number, &foreign.pointer, foreign.is_partial);
        }
        contexts.next().map(|(&number, _)| number)
    }

    /// Drops contexts that were removed or replaced; returns the new ones.
    fn compare(&self, mut present: HashMap<String, Found>) -> Vec<(String, Found)> {
        let mut known = self.known();
        let known = &mut *known;
        known.searches += 1;
        let (contexts, text_bytes) = (&mut known.contexts, &mut known.text_bytes);
        known.names.retain(|name, entry| {
            let is_same = match present.get(name) {
                None => false,
                Some(Found::Memory(..)) => entry.number.is_some(),
                Some(Found::File(file)) => {
                    let version = version(file);
                    let is_same = entry.version == version || entry.version == Version::default();
                    entry.version = version;
                    is_same
                }
            };
            if is_same {
                present.remove(name);
                let context = entry.number.and_then(|number| contexts.get_mut(&number));
                context.into_iter().for_each(|context| context.used = known.searches);
            } else if let Some(number) = entry.number
                && let Some(gone) = contexts.remove(&number)
            {
                *text_bytes -= gone.text_bytes;
                self.index.remove(number);
            }
            is_same
        });
        present.into_iter().collect()
    }

    /// Adds a context; returns its number.
    fn add(&self, name: String, version: Version, mut read: FileText) -> u64 {
        let mut is_little = false;
        let number = {
            let mut known = self.known();
            if known.text_bytes + read.result.len() > MAX_TEXT
                && known.without_room < known.searches
            {
                known.make_room(&self.index);
            }
            if known.text_bytes + read.result.len() > MAX_TEXT && read.result.len() > LITTLE_TEXT {
                read.result.truncate(read.result.floor_char_boundary(LITTLE_TEXT));
                read.is_partial = true;
                is_little = true;
            }
            known.text_bytes += read.result.len();
            known.next += 1;
            FIRST_FOREIGN + known.next
        };
        read.with_document(|document| self.index.add(number, document));
        let FileText { pointer, result, is_partial, .. } = read;
        let mut known = self.known();
        let used = known.searches;
        let text_bytes = result.len();
        let context = Foreign { pointer, is_partial, is_little, text_bytes, used };
        known.contexts.insert(number, context);
        known.names.insert(name, Name { version, number: Some(number) });
        number
    }

    /// Adds a context that was read for another purpose, if that takes no room of others.
    pub fn offer(&self, entry: &FileEntry, read: FileText) {
        let has_room = {
            let known = self.known();
            !known.names.contains_key(&entry.name)
                && known.text_bytes + read.result.len() <= MAX_TEXT
        };
        if has_room {
            self.add(entry.name.clone(), version(entry), read);
        }
    }

    /// Updates the index with the present contexts of the session's directory.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn refresh(&self, session: &Arc<Session>) -> Result<()> {
        let _turn = self.turn().await?;
        let (present, root) = present(session).await?;
        let mut new = self.compare(present);
        // Latest first: they have priority for the indexed text.
        new.sort_by_cached_key(|(name, found)| {
            std::cmp::Reverse((time_of(name, found), name.clone()))
        });
        self.read_all(session, &root, new).await;
        Ok(())
    }

    /// Adds those of these contexts that are unknown, and returns the numbers of all. Of known ones, only those of which little
    /// text is indexed are read again. Also returns those that are only in the memory of other managers.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn admit(
        &self,
        session: &Arc<Session>,
        entries: Vec<FileEntry>,
    ) -> Result<FxHashSet<u64>> {
        let _turn = self.turn().await?;
        let in_memory = in_memory(session).await;
        let files = entries.into_iter().map(|entry| (entry.name.clone(), Found::File(entry)));
        let mut numbers = FxHashSet::default();
        let mut new = Vec::new();
        {
            let mut known = self.known();
            known.searches += 1;
            for (name, found) in files.chain(in_memory) {
                match known.number_of(&name, &found) {
                    Some(number) => numbers.extend(number),
                    None => {
                        known.forget(&name, &self.index);
                        new.push((name, found));
                    }
                }
            }
        }
        let root = session.directory.file_system.canonical(session.directory.path()).await;
        let root = root.map_err(|error| search_failed(session, error))?;
        numbers.extend(self.read_all(session, &root, new).await);
        Ok(numbers)
    }

    /// Reads contexts in this order and adds them; returns their numbers.
    async fn read_all(
        &self,
        session: &Arc<Session>,
        root: &Path,
        new: Vec<(String, Found)>,
    ) -> Vec<u64> {
        let files = new.iter().filter_map(|(_, found)| match found {
            Found::File(entry) => Some(entry),
            Found::Memory(..) => None,
        });
        let file_system = session.directory.file_system.as_ref();
        let mut beginnings = Beginnings::new(file_system, root, files, READ);
        let mut numbers = Vec::new();
        for (name, found) in new {
            numbers.extend(self.read(session, &mut beginnings, name, found).await);
        }
        numbers
    }

    /// Reads a context and adds it; returns its number.
    async fn read(
        &self,
        session: &Arc<Session>,
        beginnings: &mut Beginnings<'_>,
        name: String,
        found: Found,
    ) -> Option<u64> {
        // Lets other tasks run; a cancelled search stops here.
        tokio::task::yield_now().await;
        let (read, version) = match found {
            Found::Memory(owner, pointer) => {
                let held = owner.pointers.cached(pointer.filename())?;
                let text = StoredText::of_held(held)?;
                (FileText::of_stored(pointer, &text), Version::default())
            }
            Found::File(entry) => {
                let version = version(&entry);
                match FileText::read(beginnings, &entry).await {
                    Ok(read) => (read, version),
                    Err(NoHead::Unreadable(error)) if error.is_not_found() => return None,
                    Err(reason) => {
                        let path = session.directory.path_of(&name);
                        skipped(&session.debug, &path, &reason.reason());
                        // Without a length and time, a later search could not see that the file was replaced.
                        if matches!(reason, NoHead::NoRecord(_)) && version != Version::default() {
                            self.known().names.insert(name, Name { version, number: None });
                        }
                        return None;
                    }
                }
            }
        };
        Some(self.add(name, version, read))
    }
}

impl Known {
    /// The number of a context, and `Some(None)` for a file that is no record; `None` if it has to be read.
    fn number_of(&mut self, name: &str, found: &Found) -> Option<Option<u64>> {
        let entry = self.names.get_mut(name)?;
        if let Found::File(file) = found {
            let version = version(file);
            if entry.version != version && entry.version != Version::default() {
                return None;
            }
            entry.version = version;
        }
        let Some(number) = entry.number else { return Some(None) };
        let context = self.contexts.get_mut(&number)?;
        context.used = self.searches;
        (!context.is_little).then_some(Some(number))
    }

    fn forget(&mut self, name: &str, index: &Index) {
        let number = self.names.remove(name).and_then(|entry| entry.number);
        if let Some(number) = number
            && let Some(gone) = self.contexts.remove(&number)
        {
            self.text_bytes -= gone.text_bytes;
            index.remove(number);
        }
    }

    /// Removes contexts that the present search does not cover, those first that were not covered for the longest time.
    fn make_room(&mut self, index: &Index) {
        let mut unused: Vec<(u64, u64)> = self
            .contexts
            .iter()
            .filter(|(_, context)| context.used < self.searches)
            .map(|(&number, context)| (context.used, number))
            .collect();
        unused.sort_unstable();
        for (_, number) in unused {
            // More than necessary, so that not every addition looks for room.
            if self.text_bytes <= MAX_TEXT / 4 * 3 {
                return;
            }
            if let Some(context) = self.contexts.get(&number) {
                let name = context.pointer.filename().to_owned();
                self.forget(&name, index);
            }
        }
        self.without_room = self.searches;
    }
}

/// All contexts of other sessions in the directory, by name, with the directory's canonical path.
async fn present(session: &Arc<Session>) -> Result<(HashMap<String, Found>, PathBuf)> {
    // Memory is read before the files, so that a record that is written to disk in between is not missed.
    let mut present: HashMap<String, Found> = in_memory(session).await.into_iter().collect();
    session.directory.check()?;
    let files = session.directory.list().await.map_err(|error| search_failed(session, error))?;
    for entry in files.entries {
        if entry.name.ends_with(layout::CONTEXT_SUFFIX) && !is_own(session, &entry.name) {
            present.insert(entry.name.clone(), Found::File(entry));
        }
    }
    Ok((present, files.root))
}

/// The contexts that are only in the memory of other managers of the directory.
async fn in_memory(session: &Arc<Session>) -> Vec<(String, Found)> {
    let mut found = Vec::new();
    for neighbour in session.neighbours() {
        if Arc::ptr_eq(&neighbour, session)
            || !session.directory.is_same(&neighbour.directory).await
        {
            continue;
        }
        found.extend(neighbour.pointers.unwritten().into_iter().map(|pointer| {
            (pointer.filename().to_owned(), Found::Memory(Arc::clone(&neighbour), pointer))
        }));
    }
    found
}

/// Whether a file is a context of this session, which is in its own index.
pub(super) fn is_own(session: &Session, name: &str) -> bool {
    sequence_of(session, name).is_some()
}

/// The number of the call that saved a context of this session, or under which it was resumed.
pub(super) fn sequence_of(session: &Session, name: &str) -> Option<u64> {
    session.pointers.recognise(name).or_else(|| session.pointers.adopted(name))
}

/// The error of a search that could not read the directory.
fn search_failed(session: &Session, error: FileError) -> Error {
    refused("search the context directory", Path::new(&session.options.directory), error)
}

fn version(entry: &FileEntry) -> Version {
    (entry.length, entry.modified)
}

fn time_of(name: &str, found: &Found) -> i64 {
    match found {
        Found::Memory(_, pointer) => pointer.timestamp,
        Found::File(entry) => layout::parse_context(name)
            .map(|stamp| stamp.timestamp)
            .or(entry.modified)
            .unwrap_or_default(),
    }
}
