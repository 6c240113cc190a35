//! What is asked of a save, and what came of it.

use json_text::Encoded;
use redaction::{Redaction, RedactionSession};

use super::{bytes::GivenBytes, leaves::Step, placeholder::Kind};
use crate::error::Result;

/// One tool output as it comes from JavaScript. Tokens are JSON.
#[derive(Debug)]
pub struct SaveRequest {
    /// The tool's name, plain.
    pub tool_name: String,
    /// The arguments, an object.
    pub arguments: Encoded,
    /// The result.
    pub result: Encoded,
    /// Time of the call, ms since 1970.
    pub timestamp: i64,
    /// `taskId`, a token.
    pub task: Option<String>,
    /// `queryId`, a token.
    pub query: Option<String>,
    /// What few calls say.
    pub details: Option<Box<Details>>,
    /// Takes the secrets out of all of it; `None`: everything is stored as it is.
    pub redaction: Option<Redaction>,
}

impl SaveRequest {
    /// About how many bytes its arguments and its result take as JSON.
    pub(super) fn length_hint(&self) -> usize {
        self.arguments.length_hint() + self.result.length_hint()
    }

    /// What describes the output, redacted. Arguments and result become text first.
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

/// What few calls of a save say.
#[derive(Debug, Default)]
pub struct Details {
    /// A description that replaces ours, plain.
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
    /// The result is the beginning of what the tool gave.
    pub is_cut: bool,
    /// Writes nothing where the session has an output of the same handle already.
    pub if_absent: bool,
    /// Overrides the threshold.
    pub is_large: Option<bool>,
    /// The output is one of a conversation.
    pub offload: Option<OffloadRequest>,
    /// Bytes that the result holds, of which its JSON has markers.
    pub bytes: Option<GivenBytes>,
}

/// What a conversation needs of an output beside its handle.
#[derive(Debug, Clone, Default)]
pub struct OffloadRequest {
    /// Bytes of the placeholder's preview; without it there is no placeholder.
    pub preview: Option<usize>,
    /// What the output is to the conversation.
    pub kind: Kind,
    /// What the names of the tools that read it begin with, plain.
    pub prefix: String,
    /// Texts within the output that get placeholders of their own.
    pub leaves: Vec<Leaf>,
    /// Previews show what was stored as it was before redaction.
    pub shows_raw: bool,
    /// Bytes of the output in the conversation, where the placeholder is shown unless it is as long.
    pub output_bytes: Option<u64>,
}

/// A text within an output.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// The steps that lead to it.
    pub steps: Vec<Step>,
    /// The same as a JSON path without `"` and `\`.
    pub path: String,
    /// Bytes of its placeholder's preview.
    pub preview: usize,
}

/// Bytes within an output that are stored beside its record.
#[derive(Debug, Clone)]
pub struct SavedPart {
    /// The steps that lead to them, JSON.
    pub steps: String,
    /// Size, media type and dimensions in words.
    pub description: String,
}

/// What came of a save.
#[derive(Debug)]
pub struct Saved {
    /// The context's path.
    pub path: String,
    /// Names the call and its output: the same for the same.
    pub handle: String,
    /// The text for the conversation, where the request's `offload` asked for it.
    pub placeholder: Option<String>,
    /// The placeholders of the request's leaves; `None` for one that is no text in what is stored.
    pub leaves: Vec<Option<String>>,
    /// The bytes within the output, where the request's `offload` asked for a conversation.
    pub parts: Vec<SavedPart>,
    /// The tool's name as it is stored.
    pub tool_name: String,
    /// Bytes of what was kept of a stream: of the text, of the bytes, or of the JSON of anything else.
    pub stream_bytes: Option<u64>,
}
