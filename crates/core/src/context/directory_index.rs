//! An inverted index of the contexts of other sessions in the directory, live or over, from their files or from the
//! memory of this process's other managers. Built by the first search that covers all sessions, and refreshed by each.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use storage::{FileEntry, Payload, layout};
use text_index::{Document, Index};
use tokio::sync::Semaphore;

use super::{
    beginnings::Beginnings,
    file_head::{FileHead, NoHead, from_head, skipped},
    indexing::{MAX_INDEXED_RESULT, append_arguments},
    outcome::evidence,
    pointer::Pointer,
    record, refused,
    session::Session,
    stored_text::{StoredText, beginning_of_result},
};
use crate::error::{Error, Result};

/// The first document id for contexts of others; the call numbers of a manager never reach it.
pub(super) const FIRST_FOREIGN: u64 = 1 << 62;
/// The most bytes of a file that are read for the index.
const READ: u64 = 256 * 1024;
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
}

/// A context of another session.
struct Foreign {
    pointer: Pointer,
    /// Whether a part of its text is not indexed.
    is_partial: bool,
    text_bytes: usize,
}

#[derive(Default)]
struct Known {
    contexts: BTreeMap<u64, Foreign>,
    names: HashMap<String, Name>,
    next: u64,
    text_bytes: usize,
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

/// The parts of a context that are indexed.
struct Read {
    pointer: Pointer,
    arguments: String,
    result: String,
    is_partial: bool,
}

impl Default for DirectoryIndex {
    fn default() -> Self {
        Self { index: Index::new(), known: Mutex::default(), turn: Semaphore::new(1) }
    }
}

impl DirectoryIndex {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Adds a context.
    fn add(&self, name: String, version: Version, read: Read) {
        let Read { pointer, arguments, mut result, mut is_partial } = read;
        let number = {
            let mut known = self.known();
            if known.text_bytes + result.len() > MAX_TEXT && result.len() > LITTLE_TEXT {
                result.truncate(result.floor_char_boundary(LITTLE_TEXT));
                is_partial = true;
            }
            known.text_bytes += result.len();
            known.next += 1;
            FIRST_FOREIGN + known.next
        };
        let decoded = |token: &str| {
            json_text::decode_string(token.as_bytes()).unwrap_or_default().into_owned()
        };
        let (tool, description) = (decoded(pointer.tool_name()), decoded(pointer.description()));
        self.index.add(
            number,
            &Document {
                name: &tool,
                description: &description,
                arguments: &arguments,
                result: &result,
                timestamp: pointer.timestamp,
                ..Document::default()
            },
        );
        let mut known = self.known();
        known.contexts.insert(number, Foreign { pointer, is_partial, text_bytes: result.len() });
        known.names.insert(name, Name { version, number: Some(number) });
    }

    /// Updates the index with the present contexts of the session's directory.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read.
    pub async fn refresh(&self, session: &Arc<Session>) -> Result<()> {
        let _turn = self
            .turn
            .acquire()
            .await
            .map_err(|_| Error::internal("the index of the directory was closed"))?;
        let (present, root) = present(session).await?;
        let mut new = self.compare(present);
        // Latest first: they have priority for the indexed text.
        new.sort_by_cached_key(|(name, found)| {
            std::cmp::Reverse((time_of(name, found), name.clone()))
        });
        let files = new.iter().filter_map(|(_, found)| match found {
            Found::File(entry) => Some(entry),
            Found::Memory(..) => None,
        });
        let file_system = session.directory.file_system.as_ref();
        let mut beginnings = Beginnings::new(file_system, &root, files, READ);
        for (name, found) in new {
            // Lets other tasks run; a cancelled search stops here.
            tokio::task::yield_now().await;
            let (read, version) = match found {
                Found::Memory(owner, pointer) => {
                    let held = owner.pointers.cached(pointer.filename());
                    let read =
                        held.and_then(StoredText::of_held).map(|text| read_stored(pointer, &text));
                    (read, Version::default())
                }
                Found::File(entry) => {
                    let version = version(&entry);
                    match read_file(&mut beginnings, &entry).await {
                        Ok(read) => (Some(read), version),
                        Err(NoHead::Unreadable(error)) if error.is_not_found() => (None, version),
                        Err(reason) => {
                            let path = session.directory.path_of(&name);
                            skipped(&session.debug, &path, &reason.reason());
                            // Without a length and time, a later search could not see that the file was replaced.
                            if matches!(reason, NoHead::NoRecord(_))
                                && version != Version::default()
                            {
                                let no_record = Name { version, number: None };
                                self.known().names.insert(name.clone(), no_record);
                            }
                            (None, version)
                        }
                    }
                }
            };
            if let Some(read) = read {
                self.add(name, version, read);
            }
        }
        Ok(())
    }
}

/// All contexts of other sessions in the directory, by name, with the directory's canonical path.
async fn present(session: &Arc<Session>) -> Result<(HashMap<String, Found>, PathBuf)> {
    let mut present = HashMap::new();
    // Memory is read before the files, so that a record that is written to disk in between is not missed.
    for neighbour in session.neighbours() {
        if Arc::ptr_eq(&neighbour, session)
            || !session.directory.is_same(&neighbour.directory).await
        {
            continue;
        }
        present.extend(neighbour.pointers.unwritten().into_iter().map(|pointer| {
            (pointer.filename().to_owned(), Found::Memory(Arc::clone(&neighbour), pointer))
        }));
    }
    session.directory.check()?;
    let files = session.directory.list().await.map_err(|error| {
        refused("search the context directory", Path::new(&session.options.directory), error)
    })?;
    for entry in files.entries {
        // This session's own contexts are in its own index.
        let is_own = || session.pointers.recognise(&entry.name).is_some();
        if entry.name.ends_with(".json") && !is_own() {
            present.insert(entry.name.clone(), Found::File(entry));
        }
    }
    Ok((present, files.root))
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

async fn read_file(
    beginnings: &mut Beginnings<'_>,
    entry: &FileEntry,
) -> std::result::Result<Read, NoHead> {
    let contents = beginnings.contents(&entry.name).await.map_err(NoHead::Unreadable)?;
    let length = contents.length;
    if contents.bytes.len() as u64 == length {
        let head = record::parse_head(&contents.bytes).map_err(NoHead::NoRecord)?;
        let record = Payload::new(contents.bytes);
        let text = StoredText::of_record(Payload::clone(&record)).map_err(NoHead::NoRecord)?;
        let file = FileHead { text: record.to_vec(), length, head };
        return Ok(read_stored(from_head(entry, &file), &text));
    }
    let (file, result) = match record::parse_head(&contents.bytes) {
        Ok(head) => {
            let result = beginning_of_result(&contents.bytes, MAX_INDEXED_RESULT);
            (FileHead { text: contents.bytes, length, head }, result)
        }
        // The arguments are longer than the part that was read.
        Err(_) => (beginnings.longer_head(&entry.name).await?, String::new()),
    };
    let mut arguments = String::new();
    if let Some(json) = file.head.arguments.clone().and_then(|range| file.text.get(range)) {
        append_arguments(json, &mut arguments);
    }
    let result = evidence(result, &file.outcome().indexed());
    let pointer = from_head(entry, &file);
    Ok(Read { pointer, arguments, result, is_partial: true })
}

fn read_stored(pointer: Pointer, text: &StoredText) -> Read {
    let (mut arguments, mut result) = (String::new(), String::new());
    append_arguments(text.arguments().as_bytes(), &mut arguments);
    let is_whole = text.append_result(&mut result, MAX_INDEXED_RESULT);
    let result = evidence(result, text.outcome());
    let is_partial = !is_whole || pointer.arguments_truncated;
    Read { pointer, arguments, result, is_partial }
}
