//! Saving: canonical arguments, record, durable write, then memory.

use std::sync::Arc;

use json_text::Encoded;
use redaction::{Redacted, Redaction, RedactionSession, Report};
use serde_json::json;
use sha2::{Digest, Sha256};
use storage::{
    Payload,
    layout::{self, ContextName},
};

use super::{
    handle,
    held::Held,
    indexing::{IndexedOutput, MAX_INDEXED_ARGUMENTS, RecordText},
    placeholder::placeholder,
    pointer::{Pointer, PointerParts},
    pointer_table::Spilling,
    record::{self, MAX_POINTER_ARGUMENTS, RecordParts},
    session::Session,
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
};

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
    fn length_hint(&self) -> usize {
        self.arguments.length_hint() + self.result.length_hint()
    }

    /// What describes the output, redacted. Arguments and result become text first.
    fn redacted(mut self, pass: &mut RedactionSession) -> Result<Self> {
        pass.text(&mut self.tool_name)?;
        let details = self.details.as_deref_mut();
        let [source_urls, error, message] = details.map_or([None, None, None], |details| {
            [&mut details.source_urls, &mut details.error, &mut details.message].map(Option::as_mut)
        });
        let tokens = [self.task.as_mut(), self.query.as_mut(), source_urls, error, message];
        for token in tokens.into_iter().flatten() {
            pass.token(token)?;
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
    /// Overrides the threshold.
    pub is_large: Option<bool>,
    /// The output is one of a conversation.
    pub offload: Option<OffloadRequest>,
}

/// What is wanted of an output beside storing it: a handle, and perhaps a placeholder.
#[derive(Debug, Clone, Copy)]
pub struct OffloadRequest {
    /// Bytes of the placeholder's preview; without it there is no placeholder.
    pub preview: Option<usize>,
}

/// What takes an output's place in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offloaded {
    /// Tells the call and its output: the same for the same.
    pub handle: String,
    /// The text for the conversation.
    pub placeholder: Option<String>,
}

/// What came of a save.
#[derive(Debug)]
pub struct Saved {
    /// The context's path.
    pub path: String,
    /// What the request's `offload` asked for.
    pub offloaded: Option<Offloaded>,
    /// The tool's name as it is stored.
    pub tool_name: String,
}

/// A context ready to be written. Nothing in it was not redacted.
struct Prepared {
    tool_name: String,
    report: Report,
    filename: String,
    record: Payload,
    /// Where in the record the result begins.
    result: usize,
    /// What memory keeps of it; `None` where it is large.
    held: Option<Held>,
    pointer: Pointer,
    is_large: bool,
    description: String,
    indexed_arguments: String,
    offloaded: Option<Offloaded>,
}

/// Saves a tool output under the number of its call; returns once it is where its durability level says.
///
/// # Errors
/// `TooLarge`, `InvalidArgument` for a value that cannot be read, `Redaction`, or `Io`. Nothing is left
/// behind then.
pub(super) async fn store(
    session: &Arc<Session>,
    sequence: u64,
    request: SaveRequest,
) -> Result<Redacted<Saved>> {
    let _call = session.pointers.tracked(sequence);
    let preparing = Arc::clone(session);
    let bytes = request.length_hint();
    let mut prepared = run_long(bytes, move || prepare(&preparing, sequence, request)).await?;
    if session.options.persist_all || prepared.is_large {
        session.directory.write(&prepared.filename, &prepared.record).await?;
        prepared.pointer.on_disk = true;
    }
    let path = session.directory.path_of(&prepared.filename);
    let (size, on_disk) = (prepared.pointer.size, prepared.pointer.on_disk);
    let offloaded = prepared.offloaded.take();
    let (tool_name, report) = (prepared.tool_name.clone(), std::mem::take(&mut prepared.report));
    remember(session, sequence, prepared, report.total());
    spill(session).await;
    session.debug.say(
        "Context saved",
        || json!({ "filepath": path, "toolName": tool_name, "sizeBytes": size, "onDisk": on_disk }),
    );
    Ok(Redacted { stored: Saved { path, offloaded, tool_name }, report })
}

fn prepare(session: &Session, sequence: u64, request: SaveRequest) -> Result<Prepared> {
    let mut pass = RedactionSession::new(request.redaction.clone());
    let request = request.redacted(&mut pass)?;
    let SaveRequest { tool_name, arguments, result, timestamp, task, query, details, .. } = request;
    let details = details.unwrap_or_default();
    let unreadable = |what: &str| {
        Error::new(
            Code::InvalidArgument,
            format!("{what} of the tool {tool_name:?} could not be turned into JSON"),
        )
    };
    let mut argument_text = Vec::new();
    arguments.write(&mut argument_text).map_err(|_| unreadable("args"))?;
    pass.json(&mut argument_text, 0)?;
    let mut canonical = Vec::new();
    json_text::canonical(&argument_text, &mut canonical).map_err(|_| unreadable("args"))?;
    let hash = Sha256::digest(&canonical);
    let hash: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let filename = layout::context(&ContextName {
        session: session.options.session_is_named.then_some(session.options.session.as_str()),
        tool: &tool_name,
        arguments_hash: &hash,
        timestamp,
        counter: sequence,
        random: session.pointers.identity(sequence),
    });
    let description =
        details.description.unwrap_or_else(|| record::describe(&tool_name, &argument_text));
    let (tool_token, description_token) =
        (json_text::string_token(&tool_name), json_text::string_token(&description));

    let mut text = Vec::with_capacity(argument_text.len() + result.length_hint() + 512);
    record::write_head(
        &RecordParts {
            tool_name: tool_token.as_bytes(),
            tool_description: description_token.as_bytes(),
            timestamp,
            task: task.as_deref(),
            query: query.as_deref(),
            session: &session.token,
            source_urls: details.source_urls.as_deref(),
            success: details.success,
            error: details.error.as_deref(),
            message: details.message.as_deref(),
            arguments: &argument_text,
        },
        &mut text,
    );
    let head = text.len();
    result.write(&mut text).map_err(|_| unreadable("the result"))?;
    drop(result);
    // Twice: what is too large need not be looked through, and may have grown by it.
    check_size(session, &tool_name, text.len() - head)?;
    pass.json(&mut text, head)?;
    let result_size = text.len() - head;
    check_size(session, &tool_name, result_size)?;
    let offloaded = details.offload.map(|OffloadRequest { preview }| {
        let result = text.get(head..).unwrap_or_default();
        let handle = handle::of(tool_token.as_bytes(), &canonical, result);
        let placeholder = preview.map(|preview| placeholder(&tool_name, &handle, result, preview));
        Offloaded { handle, placeholder }
    });
    text.push(b'}');
    text.shrink_to_fit();

    let (shown_arguments, truncated) =
        json_text::cut_arguments(&argument_text, MAX_POINTER_ARGUMENTS);
    let mut pointer = Pointer::new(
        &PointerParts {
            filename: &filename,
            tool_name: &tool_token,
            tool_description: &description_token,
            arguments: std::str::from_utf8(&shown_arguments).map_err(|_| unreadable("args"))?,
            source_urls: details.source_urls.as_deref().unwrap_or_default(),
        },
        timestamp,
        text.len() as u64,
    );
    pointer.task = task.map(Arc::from);
    pointer.query = query.map(Arc::from);
    pointer.session = Some(Arc::clone(&session.token));
    pointer.success = details.success;
    pointer.arguments_truncated = truncated;
    pointer.handle = offloaded.as_ref().map(|offloaded| Arc::from(offloaded.handle.as_str()));
    let mut indexed_arguments = String::new();
    json_text::append_text(&argument_text, &mut indexed_arguments, MAX_INDEXED_ARGUMENTS);
    let is_large =
        details.is_large.unwrap_or(result_size as u64 >= session.options.persist_threshold);
    let record = Payload::new(text);
    Ok(Prepared {
        tool_name,
        report: pass.report(),
        filename,
        held: (!is_large).then(|| Held::new(Payload::clone(&record), head)),
        record,
        result: head,
        pointer,
        is_large,
        description,
        indexed_arguments,
        offloaded,
    })
}

fn check_size(session: &Session, tool_name: &str, size: usize) -> Result<()> {
    let limit = session.options.retention.max_result_bytes;
    if size <= limit {
        return Ok(());
    }
    Err(Error::new(
        Code::TooLarge,
        format!(
            "the result of {tool_name:?} takes {size} bytes of JSON, more than {limit}; raise retention.maxResultBytes or store less of it"
        ),
    ))
}

fn remember(session: &Session, sequence: u64, prepared: Prepared, redactions: u64) {
    let Prepared {
        tool_name,
        filename,
        record,
        result,
        held,
        pointer,
        description,
        indexed_arguments,
        ..
    } = prepared;
    let output = IndexedOutput {
        name: tool_name,
        description,
        arguments: indexed_arguments,
        timestamp: pointer.timestamp,
        group: pointer.group(),
        stored: pointer.on_disk.then_some(filename),
    };
    // The index first: readers that see the pointer find it there.
    session.index.add(sequence, output, RecordText { record, result });
    if !session.pointers.insert(sequence, pointer, held, redactions) {
        session.index.remove(sequence);
    }
}

/// Brings the memory cache back within its budget: records that are on disk already are dropped, the
/// others are written first.
async fn spill(session: &Session) {
    while let Some(Spilling { sequence, filename, record }) = session.pointers.next_to_spill() {
        if let Err(error) = session.directory.write(&filename, &record).await {
            session.pointers.keep(sequence);
            session.debug.say(
                "Failed to move a context from memory to disk",
                || json!({ "filepath": session.directory.path_of(&filename), "error": error.message }),
            );
            return;
        }
        // The context may have been forgotten while it was written.
        if !session.pointers.spilled(sequence) && session.directory.remove(&filename).await.is_err()
        {
            session.pointers.note_unknown_files();
        }
    }
}
