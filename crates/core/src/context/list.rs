//! Listing a directory: pointers from the heads of its records, results unread.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;
use storage::{FileEntry, FileError, FileSystem, layout};

use super::{
    manager::Manager,
    pointer::{Pointer, PointerParts},
    record::{self, Head, MAX_POINTER_ARGUMENTS, NoRecord},
    refused,
};
use crate::{debug::Debug, error::Result};

/// How much of a file is read at first; more when its arguments are long.
const HEAD: u64 = 16 * 1024;
/// Files between two pauses.
const BATCH: usize = 64;
/// Longer heads are not looked for, in bytes.
const MAX_HEAD: u64 = 64 * 1024 * 1024;
/// Pointers are handed over in texts of about this many bytes.
const TEXT: usize = 4 * 1024 * 1024;

const TEXT_KIND: &[char] = &['"'];
const TASK_KINDS: &[char] = &['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

/// Pointers as JSON arrays, several so that no text grows without bound.
pub type Listing = Vec<String>;

/// The head of one file.
pub(super) struct FileHead {
    pub text: Vec<u8>,
    pub length: u64,
    pub head: Head,
}

impl FileHead {
    fn token(&self, range: Option<&std::ops::Range<usize>>) -> Option<&str> {
        std::str::from_utf8(self.text.get(range?.clone())?).ok()
    }

    /// The part, when it begins with one of `kinds`: foreign records may hold anything anywhere.
    fn token_of(&self, range: Option<&std::ops::Range<usize>>, kinds: &[char]) -> Option<&str> {
        self.token(range).filter(|token| token.starts_with(kinds))
    }

    /// `sessionId` as a JSON token.
    fn session(&self) -> Option<&str> {
        self.token_of(self.head.session.as_ref(), TEXT_KIND)
    }

    /// The session's id.
    pub fn session_id(&self) -> Option<String> {
        json_text::decode_string(self.session()?.as_bytes()).map(std::borrow::Cow::into_owned)
    }

    /// Time of the call, as the record says.
    pub fn timestamp(&self) -> Option<i64> {
        record::parse_time(self.token(self.head.timestamp.as_ref())?.as_bytes())
    }
}

/// Why there is no head.
pub(super) enum NoHead {
    Unreadable(FileError),
    NoRecord(NoRecord),
}

impl NoHead {
    /// The reason in words.
    pub fn reason(&self) -> String {
        match self {
            Self::Unreadable(error) => error.to_string(),
            Self::NoRecord(reason) => reason.reason().to_owned(),
        }
    }
}

/// Reads a record's head.
pub(super) async fn read_head(
    file_system: &dyn FileSystem,
    root: &Path,
    name: &str,
) -> std::result::Result<FileHead, NoHead> {
    let mut limit = HEAD;
    loop {
        let contents =
            file_system.read(root, Path::new(name), limit).await.map_err(NoHead::Unreadable)?;
        let partial = (contents.bytes.len() as u64) < contents.length;
        match record::parse_head(&contents.bytes) {
            Ok(head) => {
                return Ok(FileHead { text: contents.bytes, length: contents.length, head });
            }
            // A head beyond the bound is none: a folder may hold JSON of any size.
            Err(NoRecord::Incomplete) if partial && limit < MAX_HEAD => limit *= 8,
            Err(reason) => return Err(NoHead::NoRecord(reason)),
        }
    }
}

impl Manager {
    /// Every context of the directory, or of one session: from disk, and what only this process's
    /// memory holds. Oldest first.
    ///
    /// # Errors
    /// `Io` when the directory cannot be read.
    pub async fn list(self: &Arc<Self>, session: Option<&str>) -> Result<Listing> {
        let mut found = self.list_memory(session).await;
        // What leaves memory for disk meanwhile is found twice.
        let in_memory: HashSet<String> =
            found.iter().map(|pointer| pointer.filename().to_owned()).collect();
        self.check_directory()?;
        let directory = PathBuf::from(&self.options.directory);
        let failed = |error| refused("list the context directory", &directory, error);
        let entries = self.file_system.list(&directory).await.map_err(failed)?;
        if !entries.is_empty() {
            let root = self.file_system.canonical(&directory).await.map_err(failed)?;
            let wanted = entries.into_iter().filter(|entry| !in_memory.contains(&entry.name));
            for (number, entry) in wanted.enumerate() {
                if number % BATCH == BATCH - 1 {
                    // Others get their turn, and a cancelled listing stops here.
                    tokio::task::yield_now().await;
                }
                if let Some(pointer) = self.list_file(&root, &entry, session).await {
                    found.push(pointer);
                }
            }
        }
        found.sort_by_cached_key(|pointer| {
            let counter = layout::parse_context(pointer.filename()).map(|stamp| stamp.counter);
            (pointer.timestamp, counter, pointer.filename().to_owned())
        });
        Ok(self.texts(&found))
    }

    fn texts(&self, pointers: &[Pointer]) -> Listing {
        let mut texts = Vec::new();
        let mut text = String::from("[");
        for pointer in pointers {
            if text.len() > TEXT {
                text.push(']');
                texts.push(std::mem::replace(&mut text, String::from("[")));
            }
            if text.len() > 1 {
                text.push(',');
            }
            self.show_one(pointer, &mut text);
        }
        text.push(']');
        texts.push(text);
        texts
    }

    /// What is in memory only, of this process's managers of the directory.
    async fn list_memory(self: &Arc<Self>, session: Option<&str>) -> Vec<Pointer> {
        let wanted = |manager: &Arc<Self>| session.is_none_or(|id| manager.options.session == id);
        let mut found = Vec::new();
        for manager in self.neighbours().into_iter().filter(wanted) {
            if !self.shares_directory(&manager).await {
                continue;
            }
            let state = manager.state();
            let in_memory = |(sequence, pointer): &(&u64, &Pointer)| {
                !pointer.on_disk && state.memory.get(**sequence).is_some()
            };
            found.extend(
                state.pointers.iter().filter(in_memory).map(|(_, pointer)| pointer.clone()),
            );
        }
        found
    }

    async fn list_file(
        &self,
        root: &Path,
        entry: &FileEntry,
        session: Option<&str>,
    ) -> Option<Pointer> {
        if !entry.name.ends_with(".json") {
            return None;
        }
        if let Some(pointer) = self.own_pointer(&entry.name) {
            let is_wanted = session.is_none_or(|id| self.options.session == id);
            // One that only memory holds is listed already.
            return pointer.filter(|_| is_wanted);
        }
        match read_head(self.file_system.as_ref(), root, &entry.name).await {
            Ok(file) => {
                let is_wanted = session.is_none_or(|id| file.session_id().as_deref() == Some(id));
                is_wanted.then(|| from_head(entry, &file))
            }
            Err(reason) => {
                skipped(&self.debug, &self.path_of(&entry.name), &reason.reason());
                None
            }
        }
    }

    /// `None`: not this manager's; `Some(None)`: its, but not on disk.
    fn own_pointer(&self, name: &str) -> Option<Option<Pointer>> {
        let state = self.state();
        let sequence = state.sequence_of(name)?;
        Some(state.pointers.get(&sequence).filter(|pointer| pointer.on_disk).cloned())
    }
}

/// Tells that a file was left out.
pub(super) fn skipped(debug: &Debug, path: &str, reason: &str) {
    debug.say(
        "Skipped a file that is no context record",
        || json!({ "filepath": path, "reason": reason }),
    );
}

/// The pointer of a file.
pub(super) fn from_head(entry: &FileEntry, file: &FileHead) -> Pointer {
    let head = &file.head;
    let arguments = head.arguments.clone().and_then(|range| file.text.get(range)).unwrap_or(b"{}");
    let (arguments, truncated) = json_text::cut_arguments(arguments, MAX_POINTER_ARGUMENTS);
    let tool_name = file.token(Some(&head.tool_name)).unwrap_or("\"\"");
    let timestamp = file
        .timestamp()
        .or_else(|| Some(layout::parse_context(&entry.name)?.timestamp))
        .or(entry.modified)
        .unwrap_or_default();
    let mut pointer = Pointer::new(
        &PointerParts {
            filename: &entry.name,
            tool_name,
            tool_description: file
                .token_of(head.tool_description.as_ref(), TEXT_KIND)
                .unwrap_or(tool_name),
            arguments: std::str::from_utf8(&arguments).unwrap_or("{}"),
            source_urls: file.token_of(head.source_urls.as_ref(), &['[']).unwrap_or_default(),
        },
        timestamp,
        file.length,
    );
    pointer.task = file.token_of(head.task.as_ref(), TASK_KINDS).map(Arc::from);
    pointer.query = file.token_of(head.query.as_ref(), TEXT_KIND).map(Arc::from);
    pointer.session = file.session().map(Arc::from);
    pointer.success = file.token(head.success.as_ref()).and_then(|token| token.parse().ok());
    pointer.arguments_truncated = truncated;
    pointer.on_disk = true;
    pointer
}
