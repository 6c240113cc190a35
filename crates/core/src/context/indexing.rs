//! What is indexed of an output.

use std::sync::Arc;

use storage::Payload;
use text_index::{Document, LateText};

use super::{outcome::evidence, record};

/// A result's text is indexed up to this many bytes; of a longer one its beginning, its end and
/// pieces from in between.
pub(super) const MAX_INDEXED_RESULT: usize = 128 * 1024;

/// Arguments are indexed up to this many bytes of text.
const MAX_INDEXED_ARGUMENTS: usize = 4096;

/// Appends what is indexed of arguments: keys and values, each string with its borders.
pub fn append_arguments(raw_json: &[u8], out: &mut String) {
    let separators = [Document::BEFORE_STRING, Document::BEFORE_OTHER];
    json_text::append_separated(raw_json, out, MAX_INDEXED_ARGUMENTS, separators);
}

/// What is indexed of a stored output.
pub(super) struct IndexedOutput {
    pub name: String,
    pub description: String,
    pub arguments: String,
    /// What the call's outcome says: see [`evidence`].
    pub outcome: String,
    pub timestamp: i64,
    pub group: u64,
    /// The file, once it is there: a record that waits need not stay in memory then.
    pub stored: Option<String>,
}

impl IndexedOutput {
    /// The text of the result with what the outcome says.
    pub fn evidence(&self, result: String) -> String {
        evidence(result, &self.outcome)
    }

    /// The output with its evidence.
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

/// A record, and where its result begins.
pub(super) struct RecordText {
    pub record: Payload,
    pub result: usize,
}

impl RecordText {
    /// Of a record that is still to be checked.
    pub fn of(record: Payload) -> Option<Self> {
        let result = record::check(&record).ok()?.start;
        Some(Self { record, result })
    }

    /// The result's text, as far as it is indexed.
    pub fn indexed(&self) -> String {
        let mut text = String::new();
        let result = self.record.get(self.result..).unwrap_or_default();
        let result = result.strip_suffix(b"}").unwrap_or(result);
        json_text::append_sample(result, &mut text, MAX_INDEXED_RESULT);
        if text.is_empty() && matches!(result, b"[]" | b"{}" | b"\"\"") {
            // No words, but other than no result: nothing was found.
            text.push_str("[]");
        }
        text
    }

    /// Bytes of the result.
    pub fn len(&self) -> usize {
        self.record.len() - self.result.min(self.record.len())
    }
}

/// The record of an output whose result is indexed later.
pub(super) struct DeferredText {
    pub output: Arc<IndexedOutput>,
    pub text: RecordText,
}

impl DeferredText {
    /// Bytes of the record.
    pub fn record_bytes(&self) -> usize {
        self.text.record.len()
    }
}

/// A [`DeferredText`] that the index shares with the queue.
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
