//! The arguments and the result of a save.

use json_text::Encoded;
use redaction::{Redaction, RedactionSession};

use super::{bytes::GivenBytes, leaves::Step, placeholder::Kind};
use crate::error::Result;

/// A tool output from JavaScript. Tokens are JSON.
#[derive(Debug)]
pub struct SaveRequest {
    /// The tool's name, plain.
    pub tool_name: String,
    /// The arguments, a JSON object.
    pub arguments: Encoded,
    /// The result.
    pub result: Encoded,
    /// Time of the call, ms since 1970.
    pub timestamp: i64,
    /// `taskId`, a token.
    pub task: Option<String>,
    /// `queryId`, a token.
    pub query: Option<String>,
    /// Optional members that few calls have.
    pub details: Option<Box<Details>>,
    /// The redaction of all parts; `None` stores everything unchanged.
    pub redaction: Option<Redaction>,
}

impl SaveRequest {
    /// The approximate size of arguments and result as JSON, in bytes.
    pub(super) fn length_hint(&self) -> usize {
        self.arguments.length_hint() + self.result.length_hint()
    }

    /// Redacts the metadata. Arguments and result are only encoded as JSON text.
    pub(super) fn redacted(mut self, pass: &mut RedactionSession) -> Result<Self> {
        pass.text(&mut self.tool_name)?;
        for token in [&mut self.task, &mut self.query].into_iter().flatten() {
            pass.token(token)?;
        }
        if let Some(details) = self.details.as_deref_mut() {
            let Details { source_urls, error, message, call, span, media_type, .. } = details;
            for token in [source_urls, error, message, call, span, media_type].into_iter().flatten()
            {
                pass.token(token)?;
            }
        }
        if let Some(description) =
            self.details.as_deref_mut().and_then(|details| details.description.as_mut())
        {
            pass.text(description)?;
        }
        Ok(self)
    }
}

/// Optional members that few calls have.
#[derive(Debug, Default)]
pub struct Details {
    /// A description that replaces the generated one, plain text.
    pub description: Option<String>,
    /// `sourceUrls`, a token.
    pub source_urls: Option<String>,
    /// Whether the tool succeeded.
    pub success: Option<bool>,
    /// `error`, a token.
    pub error: Option<String>,
    /// `message`, a token.
    pub message: Option<String>,
    /// `callId`, a token.
    pub call: Option<String>,
    /// `durationMs`, a token.
    pub duration: Option<String>,
    /// `exitCode`
    pub exit_code: Option<i32>,
    /// `spanId`, a token.
    pub span: Option<String>,
    /// `mediaType`, a token.
    pub media_type: Option<String>,
    /// Whether the result is only the beginning of what the tool returned.
    pub is_cut: bool,
    /// Writes nothing if the session has an output with the same handle already.
    pub if_absent: bool,
    /// Overrides the threshold for large results.
    pub is_large: Option<bool>,
    /// Asks for the placeholder of an output in a conversation.
    pub offload: Option<OffloadRequest>,
    /// Binary data of the result, which has markers in its place.
    pub bytes: Option<GivenBytes>,
}

/// What is returned for an output that a conversation refers to.
#[derive(Debug, Clone, Default)]
pub struct OffloadRequest {
    /// The size of the placeholder's preview in bytes; `None` for no placeholder.
    pub preview: Option<usize>,
    /// The role of the output in the conversation.
    pub kind: Kind,
    /// The prefix in the names of the tools that read it, plain text.
    pub prefix: String,
    /// Texts within the output that get placeholders of their own.
    pub leaves: Vec<Leaf>,
    /// Previews show the text before redaction.
    pub shows_raw: bool,
    /// The size of the output in the conversation, in bytes, if its placeholder replaces it there. Outputs that are not longer than
    /// their placeholder are not replaced.
    pub output_bytes: Option<u64>,
}

/// A text within an output that gets a placeholder of its own.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// The path to it.
    pub steps: Vec<Step>,
    /// The same as a JSON path without `"` and `\`.
    pub path: String,
    /// The size of its placeholder's preview in bytes.
    pub preview: usize,
}

/// Binary data within an output, stored beside its record.
#[derive(Debug, Clone)]
pub struct SavedPart {
    /// The path to it, JSON.
    pub steps: String,
    /// Size, media type and dimensions as text.
    pub description: String,
}

/// The result of a save.
#[derive(Debug)]
pub struct Saved {
    /// The context's path.
    pub path: String,
    /// The handle, which is the same for the same call and output.
    pub handle: String,
    /// The placeholder, if the request's `offload` asked for it.
    pub placeholder: Option<String>,
    /// The placeholders of the request's leaves; `None` for one that is not a text in the stored output.
    pub leaves: Vec<Option<String>>,
    /// The binary data within the output, if the request has `offload`.
    pub parts: Vec<SavedPart>,
    /// The tool's name as stored.
    pub tool_name: String,
    /// The size of a streamed result: of the text, of the bytes, or of the JSON of other values.
    pub stream_bytes: Option<u64>,
}
