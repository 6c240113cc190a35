//! The parts of an output that are indexed: its metadata, and at most 128 KiB of its result (of a longer one the
//! beginning, the end and pieces in between).

use std::{ops::Range, sync::Arc};

use storage::Payload;
use text_index::{Document, LateText};

use super::{outcome::evidence, record};

/// The most bytes of a result that are indexed; of a longer one, its beginning, its end and pieces in between.
pub(super) const MAX_INDEXED_RESULT: usize = 128 * 1024;

/// The most bytes of arguments that are indexed.
const MAX_INDEXED_ARGUMENTS: usize = 4096;

/// Appends the indexed text of arguments: keys and values, with the boundaries of each string kept.
pub fn append_arguments(raw_json: &[u8], out: &mut String) {
    let separators = [Document::BEFORE_STRING, Document::BEFORE_OTHER];
    json_text::append_separated(raw_json, out, MAX_INDEXED_ARGUMENTS, separators);
}

/// The indexed metadata of a stored output.
pub(super) struct IndexedOutput {
    pub name: String,
    pub description: String,
    pub arguments: String,
    /// Error and message: see [`evidence`].
    pub outcome: String,
    pub timestamp: i64,
    pub group: u64,
    /// The path of the file once it exists: the record need not stay in memory for indexing then.
    pub stored: Option<String>,
}

impl IndexedOutput {
    /// The result's text, followed by the text of the outcome.
    pub fn evidence(&self, result: String) -> String {
        evidence(result, &self.outcome)
    }

    /// The document for the index, with the given result.
    pub fn document<'a>(&'a self, result: &'a str) -> Document<'a> {
        Document {
            name: &self.name,
            description: &self.description,
            arguments: &self.arguments,
            result,
            group: self.group,
            timestamp: self.timestamp,
        }
    }
}

/// A record with the range of its result.
pub(super) struct RecordText {
    pub record: Payload,
    pub result: Range<usize>,
}

impl RecordText {
    /// From a record that was not validated yet.
    pub fn of(record: Payload) -> Option<Self> {
        let result = record::check(&record).ok()?;
        Some(Self { record, result })
    }

    /// The part of the result's text that is indexed.
    pub fn indexed(&self) -> String {
        let mut text = String::new();
        let result = self.record.get(self.result.clone()).unwrap_or_default();
        json_text::append_sample(result, &mut text, MAX_INDEXED_RESULT);
        if text.is_empty() && matches!(result, b"[]" | b"{}" | b"\"\"") {
            // Without words, but different from a missing result: the call found nothing.
            text.push_str("[]");
        }
        text
    }

    /// The size of the result in bytes.
    pub fn len(&self) -> usize {
        self.result.len()
    }
}

/// The record of an output whose result is indexed later.
pub(super) struct DeferredText {
    pub output: Arc<IndexedOutput>,
    pub text: RecordText,
}

impl DeferredText {
    /// The size of the record in bytes.
    pub fn record_bytes(&self) -> usize {
        self.text.record.len()
    }
}

/// A [`DeferredText`] that the index shares with the backlog.
pub(super) struct SharedText(pub Arc<DeferredText>);

impl LateText for SharedText {
    fn bytes(&self) -> usize {
        self.0.text.len().min(MAX_INDEXED_RESULT)
    }

    fn read(&self, read: &mut dyn FnMut(&Document<'_>)) {
        let DeferredText { output, text } = &*self.0;
        read(&output.document(&output.evidence(text.indexed())));
    }
}
