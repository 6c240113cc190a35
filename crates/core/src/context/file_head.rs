//! Reads the head of a context file, which is everything before the result, and makes a pointer of it.

use std::{path::Path, sync::Arc};

use serde_json::json;
use storage::{Contents, FileEntry, FileError, FileSystem, layout};

use super::{
    bytes, handle,
    noted::Noted,
    outcome::Outcome,
    pointer::{CallDetails, Pointer, PointerParts},
    record::{self, Head, MAX_POINTER_ARGUMENTS, NoRecord},
};
use crate::debug::Debug;

/// The bytes that are read first; more if the arguments are longer.
pub(super) const HEAD: u64 = 16 * 1024;
/// The bytes that are read first of many files at once: 10,000 heads fit into one step.
pub(super) const SHORT_HEAD: u64 = 1536;
/// The longest head that is read, in bytes.
const MAX_HEAD: u64 = 64 * 1024 * 1024;

const TEXT_KIND: &[char] = &['"'];
const NUMBER_KINDS: &[char] = &['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
const TASK_KINDS: &[char] = &['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

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

    /// The token, if it begins with one of `kinds`: records of other programs may have any type of value.
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

    /// The handle in the record. Lookups by handle verify it against the content.
    pub fn handle(&self) -> Option<u64> {
        let token = self.token_of(self.head.handle.as_ref(), TEXT_KIND)?;
        handle::parse(token.trim_matches('"'))
    }

    /// The size of the binary data in a separate file.
    pub fn bytes(&self) -> u64 {
        let token = self.head.bytes.clone().and_then(|range| self.text.get(range));
        token.map_or(0, |token| bytes::size_of(&bytes::parts_of(token)))
    }

    /// Whether the record has binary data.
    pub fn has_bytes(&self) -> bool {
        self.head.bytes.is_some()
    }

    /// The size of the record and its binary data.
    pub fn size(&self) -> u64 {
        self.length.saturating_add(self.bytes())
    }

    /// How the call ended.
    pub fn outcome(&self) -> Outcome {
        let head = &self.head;
        let success = self.token(head.success.as_ref()).and_then(|token| token.parse().ok());
        let text = |range: &Option<_>| self.token_of(range.as_ref(), TEXT_KIND);
        Outcome::of_tokens(success, text(&head.error), text(&head.message))
    }

    /// The time of the call in the record.
    pub fn timestamp(&self) -> Option<i64> {
        record::parse_time(self.token(self.head.timestamp.as_ref())?.as_bytes())
    }
}

/// Why a head could not be read.
pub(super) enum NoHead {
    Unreadable(FileError),
    NoRecord(NoRecord),
}

impl NoHead {
    /// The reason as text.
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
        match head_of(contents) {
            Some(head) => return head.map_err(NoHead::NoRecord),
            // A head beyond the limit is refused: the folder may have JSON files of any size.
            None if limit < MAX_HEAD => limit *= 8,
            None => return Err(NoHead::NoRecord(NoRecord::Incomplete)),
        }
    }
}

/// The head in the beginning of a file; `None` if the head goes on.
pub(super) fn head_of(contents: Contents) -> Option<std::result::Result<FileHead, NoRecord>> {
    let is_partial = (contents.bytes.len() as u64) < contents.length;
    match record::parse_head(&contents.bytes) {
        Ok(head) => Some(Ok(FileHead { text: contents.bytes, length: contents.length, head })),
        Err(NoRecord::Incomplete) if is_partial => None,
        Err(reason) => Some(Err(reason)),
    }
}

/// Whether the head goes on after the beginning of a file.
pub(super) fn goes_on(contents: &Contents) -> bool {
    (contents.bytes.len() as u64) < contents.length
        && matches!(record::parse_head(&contents.bytes), Err(NoRecord::Incomplete))
}

/// Reports a skipped file to the debug callback.
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
        file.size(),
    );
    pointer.note_bytes(file.has_bytes());
    pointer.task = file.token_of(head.task.as_ref(), TASK_KINDS).map(Arc::from);
    pointer.query = file.token_of(head.query.as_ref(), TEXT_KIND).map(Arc::from);
    pointer.session = file.session().map(Arc::from);
    pointer.note(&file.outcome());
    pointer.handle = file.handle();
    let token = |range: Option<&std::ops::Range<usize>>, kinds| {
        file.token_of(range, kinds).map(str::to_owned)
    };
    pointer.call = CallDetails::of(
        token(head.call.as_ref(), TEXT_KIND),
        token(head.duration.as_ref(), NUMBER_KINDS),
        token(head.exit_code.as_ref(), NUMBER_KINDS).and_then(|code| code.parse().ok()),
        token(head.media_type.as_ref(), TEXT_KIND),
        file.token(head.cut.as_ref()) == Some("true"),
    )
    .map(Box::new);
    pointer.note_stored(Noted::of_record(&file.text, head));
    pointer.arguments_truncated = truncated;
    pointer.on_disk = true;
    pointer
}
