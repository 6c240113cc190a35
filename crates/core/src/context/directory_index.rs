//! What others keep in the directory, indexed: contexts of other sessions, live or dead, in files or
//! in the memory of this process's other managers.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use storage::{FileEntry, FileSystem, Payload, layout};
use text_index::{Document, Index};
use tokio::sync::Semaphore;

use super::{
    indexing::MAX_INDEXED_RESULT,
    list::{self, FileHead, NoHead},
    manager::Manager,
    pointer::Pointer,
    record, refused,
    save::MAX_INDEXED_ARGUMENTS,
    stored_text::{StoredText, beginning_of_result},
};
use crate::error::{Error, Result};

/// Contexts of others are numbered from here on: no call of a manager gets there.
pub(super) const FIRST_FOREIGN: u64 = 1 << 62;
/// Of a larger file only so many bytes are read for the index.
const READ: u64 = 256 * 1024;
/// Text that is indexed in all; of what comes after, little is. What is not indexed is found by
/// reading it.
const MAX_TEXT: usize = 128 * 1024 * 1024;
/// Text of one result that is indexed when there is too much.
const LITTLE_TEXT: usize = 1024;

/// The contexts of others, as far as the latest search knew them.
pub(super) struct DirectoryIndex {
    /// By the numbers of [`Foreign`] contexts.
    pub index: Index,
    known: Mutex<Known>,
    /// Searches bring it up to date one after the other.
    turn: Semaphore,
}

/// A context of somebody else.
pub(super) struct Foreign {
    pub pointer: Pointer,
    /// The index does not have all of its text.
    pub is_partial: bool,
    text_bytes: usize,
}

#[derive(Default)]
pub(super) struct Known {
    pub contexts: BTreeMap<u64, Foreign>,
    names: HashMap<String, Name>,
    next: u64,
    text_bytes: usize,
}

/// What is known by a name.
struct Name {
    version: Version,
    /// The context's number; `None`: no record.
    number: Option<u64>,
}

/// A file that has another one was replaced. Nothing is known of what only memory has.
type Version = (Option<u64>, Option<i64>);

/// Something that is not known yet.
enum Found {
    Memory(Arc<Manager>, Pointer),
    File(FileEntry),
}

/// What the index takes of a context.
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
    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops what is gone or was replaced; what is new.
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

    /// Takes a context in.
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
}

impl Manager {
    /// What others keep in the directory, as it is now.
    ///
    /// # Errors
    /// `Io` when the directory cannot be read.
    pub(super) async fn directory_index(self: &Arc<Self>) -> Result<&DirectoryIndex> {
        let directory = self.directory_index.get_or_init(DirectoryIndex::default);
        let _turn = directory
            .turn
            .acquire()
            .await
            .map_err(|_| Error::internal("the index of the directory was closed"))?;
        let (present, root) = self.present().await?;
        let mut new = directory.compare(present);
        // The latest first: they get their share of the index.
        new.sort_by_cached_key(|(name, found)| {
            std::cmp::Reverse((time_of(name, found), name.clone()))
        });
        for (name, found) in new {
            // Others get their turn, and a cancelled search stops here.
            tokio::task::yield_now().await;
            let (read, version) = match found {
                Found::Memory(owner, pointer) => {
                    let held = owner.held(pointer.filename());
                    let read =
                        held.and_then(StoredText::of_held).map(|text| read_stored(pointer, &text));
                    (read, Version::default())
                }
                Found::File(entry) => {
                    let version = version(&entry);
                    match read_file(self.file_system.as_ref(), &root, &entry).await {
                        Ok(read) => (Some(read), version),
                        Err(NoHead::Unreadable(error)) if error.is_not_found() => (None, version),
                        Err(reason) => {
                            list::skipped(&self.debug, &self.path_of(&name), &reason.reason());
                            // Without a version nobody would see that it was replaced.
                            if matches!(reason, NoHead::NoRecord(_))
                                && version != Version::default()
                            {
                                let no_record = Name { version, number: None };
                                directory.known().names.insert(name.clone(), no_record);
                            }
                            (None, version)
                        }
                    }
                }
            };
            if let Some(read) = read {
                directory.add(name, version, read);
            }
        }
        Ok(directory)
    }

    /// Everything in the directory that is not this manager's, by name, and the directory without
    /// symbolic links.
    async fn present(self: &Arc<Self>) -> Result<(HashMap<String, Found>, PathBuf)> {
        let directory = PathBuf::from(&self.options.directory);
        let failed = |error| refused("search the context directory", &directory, error);
        let mut present = HashMap::new();
        // Memory first: what leaves it for disk meanwhile is seen there.
        for manager in self.neighbours() {
            if Arc::ptr_eq(&manager, self) || !self.shares_directory(&manager).await {
                continue;
            }
            let state = manager.state();
            let in_memory = state.pointers.iter().filter(|(sequence, pointer)| {
                !pointer.on_disk && state.memory.get(**sequence).is_some()
            });
            let found = in_memory.map(|(_, pointer)| {
                let found = Found::Memory(Arc::clone(&manager), pointer.clone());
                (pointer.filename().to_owned(), found)
            });
            present.extend(found);
        }
        self.check_directory()?;
        let entries = self.file_system.list(&directory).await.map_err(failed)?;
        if entries.is_empty() {
            return Ok((present, directory));
        }
        let root = self.file_system.canonical(&directory).await.map_err(failed)?;
        for entry in entries {
            if entry.name.ends_with(".json") && !self.is_own(&entry.name) {
                present.insert(entry.name.clone(), Found::File(entry));
            }
        }
        Ok((present, root))
    }

    /// Whether the name is of a context that this manager keeps, saves or forgets.
    fn is_own(&self, name: &str) -> bool {
        layout::parse_context(name).is_some_and(|stamp| {
            stamp.random == self.identity(stamp.counter) && !self.is_cleared(stamp.counter)
        })
    }
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
    file_system: &dyn FileSystem,
    root: &Path,
    entry: &FileEntry,
) -> std::result::Result<Read, NoHead> {
    let contents =
        file_system.read(root, Path::new(&entry.name), READ).await.map_err(NoHead::Unreadable)?;
    let length = contents.length;
    if contents.bytes.len() as u64 == length {
        let head = record::parse_head(&contents.bytes).map_err(NoHead::NoRecord)?;
        let record = Payload::new(contents.bytes);
        let text = StoredText::of_record(Payload::clone(&record)).map_err(NoHead::NoRecord)?;
        let file = FileHead { text: record.to_vec(), length, head };
        return Ok(read_stored(list::from_head(entry, &file), &text));
    }
    let (file, result) = match record::parse_head(&contents.bytes) {
        Ok(head) => {
            let result = beginning_of_result(&contents.bytes, MAX_INDEXED_RESULT);
            (FileHead { text: contents.bytes, length, head }, result)
        }
        // The arguments are longer than what was read.
        Err(_) => (list::read_head(file_system, root, &entry.name).await?, String::new()),
    };
    let mut arguments = String::new();
    if let Some(json) = file.head.arguments.clone().and_then(|range| file.text.get(range)) {
        json_text::append_text(json, &mut arguments, MAX_INDEXED_ARGUMENTS);
    }
    let pointer = list::from_head(entry, &file);
    Ok(Read { pointer, arguments, result, is_partial: true })
}

fn read_stored(pointer: Pointer, text: &StoredText) -> Read {
    let (mut arguments, mut result) = (String::new(), String::new());
    json_text::append_text(text.arguments().as_bytes(), &mut arguments, MAX_INDEXED_ARGUMENTS);
    let is_whole = text.append_result(&mut result, MAX_INDEXED_RESULT);
    let is_partial = !is_whole || pointer.arguments_truncated;
    Read { pointer, arguments, result, is_partial }
}
