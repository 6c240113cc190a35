//! The indexed text of a context file, from its beginning or from a cached record.

use storage::{FileEntry, Payload};
use text_index::Document;

use super::{
    beginnings::Beginnings,
    file_head::{FileHead, NoHead, from_head},
    indexing::{MAX_INDEXED_RESULT, append_arguments},
    outcome::evidence,
    pointer::Pointer,
    record,
    stored_text::{StoredText, beginning_of_result},
};

/// The most bytes of a file that are read for the index.
pub(super) const READ: u64 = 256 * 1024;

/// The parts of a context that are indexed.
pub(super) struct FileText {
    pub pointer: Pointer,
    arguments: String,
    /// Of the result and the outcome.
    pub result: String,
    /// Whether a part of the text is not indexed.
    pub is_partial: bool,
}

impl FileText {
    /// From the beginning of a file, which is at most [`READ`] bytes long.
    ///
    /// # Errors
    /// [`NoHead`]
    pub async fn read(
        beginnings: &mut Beginnings<'_>,
        entry: &FileEntry,
    ) -> std::result::Result<Self, NoHead> {
        let contents = beginnings.contents(&entry.name).await.map_err(NoHead::Unreadable)?;
        let length = contents.length;
        if contents.bytes.len() as u64 == length {
            let head = record::parse_head(&contents.bytes).map_err(NoHead::NoRecord)?;
            let record = Payload::new(contents.bytes);
            let text = StoredText::of_record(Payload::clone(&record)).map_err(NoHead::NoRecord)?;
            let file = FileHead { text: record.to_vec(), length, head };
            return Ok(Self::of_stored(from_head(entry, &file), &text));
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
        Ok(Self { pointer, arguments, result, is_partial: true })
    }

    /// From a record in memory.
    pub fn of_stored(pointer: Pointer, text: &StoredText) -> Self {
        let (mut arguments, mut result) = (String::new(), String::new());
        append_arguments(text.arguments().as_bytes(), &mut arguments);
        let is_whole = text.append_result(&mut result, MAX_INDEXED_RESULT);
        let result = evidence(result, text.outcome());
        let is_partial = !is_whole || pointer.arguments_truncated;
        Self { pointer, arguments, result, is_partial }
    }

    /// Calls `use_document` with the document for the index.
    pub fn with_document<R>(&self, use_document: impl FnOnce(&Document<'_>) -> R) -> R {
        let decoded = |token: &str| {
            json_text::decode_string(token.as_bytes()).unwrap_or_default().into_owned()
        };
        let pointer = &self.pointer;
        let (tool, description) = (decoded(pointer.tool_name()), decoded(pointer.description()));
        use_document(&Document {
            name: &tool,
            description: &description,
            arguments: &self.arguments,
            result: &self.result,
            timestamp: pointer.timestamp,
            ..Document::default()
        })
    }
}
