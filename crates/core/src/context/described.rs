//! All parts of a record except the result (tool name, arguments, description, times, ids, outcome), redacted. `save`
//! and `streamed` build records from them.

use std::{borrow::Cow, sync::Arc};

use json_text::Encoded;
use redaction::{RedactionSession, Report};
use storage::{
    Payload,
    layout::{self, ContextName},
};

use super::{
    find,
    handle::Digest,
    indexing::{RecordText, append_arguments},
    outcome::Outcome,
    pointer::{CallDetails, Pointer, PointerParts},
    record::{self, MAX_POINTER_ARGUMENTS, RecordParts},
    save::{Contents, Prepared},
    save_request::{Details, SaveRequest},
    session::Session,
};
use crate::error::{Code, Error, Result};

/// A call, redacted.
pub(super) struct Described {
    pub tool_name: String,
    pub argument_text: Vec<u8>,
    pub details: Details,
    filename: String,
    /// The arguments as canonical JSON.
    canonical: Vec<u8>,
    description: String,
    tool_token: String,
    description_token: String,
    timestamp: i64,
    task: Option<String>,
    query: Option<String>,
}

impl Described {
    /// Redacts a request; returns it with its result, which is not redacted yet.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that are not valid, or `Redaction`
    pub fn of(
        session: &Session,
        sequence: u64,
        request: SaveRequest,
        pass: &mut RedactionSession,
    ) -> Result<(Self, Encoded)> {
        let request = request.redacted(pass)?;
        let SaveRequest { tool_name, arguments, result, timestamp, task, query, details, .. } =
            request;
        let mut details = *details.unwrap_or_default();
        let mut argument_text = Vec::new();
        arguments.write(&mut argument_text).map_err(|_| unreadable("args", &tool_name))?;
        pass.json(&mut argument_text, 0)?;
        let mut canonical = Vec::new();
        json_text::canonical(&argument_text, &mut canonical)
            .map_err(|_| unreadable("args", &tool_name))?;
        let hash = find::arguments_hash(&canonical);
        let filename = layout::context(&ContextName {
            session: session.options.session_is_named.then_some(session.options.session.as_str()),
            tool: &tool_name,
            arguments_hash: &hash,
            timestamp,
            counter: sequence,
            random: session.pointers.identity(sequence),
        });
        let description = details
            .description
            .take()
            .unwrap_or_else(|| record::describe(&tool_name, &argument_text));
        let (tool_token, description_token) =
            (json_text::string_token(&tool_name), json_text::string_token(&description));
        let said = Self {
            tool_name,
            argument_text,
            details,
            filename,
            canonical,
            description,
            tool_token,
            description_token,
            timestamp,
            task,
            query,
        };
        Ok((said, result))
    }

    /// The head of the record.
    pub fn record_parts<'a>(&'a self, session: &'a Session) -> RecordParts<'a> {
        let details = &self.details;
        RecordParts {
            tool_name: self.tool_token.as_bytes(),
            tool_description: self.description_token.as_bytes(),
            timestamp: self.timestamp,
            task: self.task.as_deref(),
            query: self.query.as_deref(),
            session: &session.token,
            source_urls: details.source_urls.as_deref(),
            success: details.success,
            error: details.error.as_deref(),
            message: details.message.as_deref(),
            call: details.call.as_deref(),
            duration: details.duration.as_deref(),
            exit_code: details.exit_code,
            span: details.span.as_deref(),
            media_type: details.media_type.as_deref(),
            is_cut: details.is_cut,
            arguments: &self.argument_text,
        }
    }

    /// A digest for the handle; the caller adds the result's JSON.
    pub fn digest(&self) -> Digest {
        Digest::new(self.tool_token.as_bytes(), &self.canonical)
    }

    /// The media type, decoded.
    pub fn media_type(&self) -> Option<Cow<'_, str>> {
        let token = self.details.media_type.as_deref()?;
        json_text::decode_string(token.as_bytes())
    }

    /// A context of `size` bytes, without its contents.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that cannot be read.
    pub fn prepared(
        self,
        session: &Session,
        handle: u64,
        size: u64,
        report: Report,
    ) -> Result<Prepared> {
        let details = self.details;
        let (shown_arguments, truncated) =
            json_text::cut_arguments(&self.argument_text, MAX_POINTER_ARGUMENTS);
        let (error, message) = (details.error.as_deref(), details.message.as_deref());
        let outcome = Outcome::of_tokens(details.success, error, message);
        let arguments = std::str::from_utf8(&shown_arguments)
            .map_err(|_| unreadable("args", &self.tool_name))?;
        let mut pointer = Pointer::new(
            &PointerParts {
                filename: &self.filename,
                tool_name: &self.tool_token,
                tool_description: &self.description_token,
                arguments,
                source_urls: details.source_urls.as_deref().unwrap_or_default(),
            },
            self.timestamp,
            size,
        );
        pointer.task = self.task.map(Arc::from);
        pointer.query = self.query.map(Arc::from);
        pointer.session = Some(Arc::clone(&session.token));
        pointer.arguments_truncated = truncated;
        pointer.note(&outcome);
        pointer.handle = Some(handle);
        pointer.call = CallDetails::of(
            details.call,
            details.duration,
            details.exit_code,
            details.media_type,
            details.is_cut,
        )
        .map(Box::new);
        let mut indexed_arguments = String::new();
        append_arguments(&self.argument_text, &mut indexed_arguments);
        let nothing = Payload::default();
        Ok(Prepared {
            tool_name: self.tool_name,
            report,
            filename: self.filename,
            text: RecordText { record: Payload::clone(&nothing), result: 0..0 },
            contents: Contents::Whole { record: nothing, bytes: None },
            held: None,
            pointer,
            is_large: true,
            description: self.description,
            indexed_arguments,
            indexed_outcome: outcome.indexed(),
            handle,
            placeholder: None,
            leaves: Vec::new(),
            parts: Vec::new(),
            if_absent: details.if_absent,
            stream_bytes: None,
        })
    }
}

/// The error for a part of a call that is not valid.
pub(super) fn unreadable(what: &str, tool_name: &str) -> Error {
    Error::new(
        Code::InvalidArgument,
        format!("{what} of the tool {tool_name:?} could not be turned into JSON"),
    )
}
