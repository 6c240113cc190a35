//! Saves a tool output: redacts it, builds the record, writes it to a file if it is large or the options require it (as
//! durably as they require), and then updates pointers, memory cache and index. If the cache exceeds its budget, the
//! least recently used small outputs are written to files too.

use std::sync::Arc;

use redaction::{Redacted, RedactionSession, Report};
use serde_json::json;
use storage::Payload;

use super::{
    bounds,
    bytes::{self, Part, Placed, Taken},
    context_directory::ContextFile,
    described::{Described, unreadable},
    handle,
    held::Held,
    indexing::{IndexedOutput, RecordText},
    leaves::{Step, strings_at},
    noted::{Noted, Shown},
    placeholder::{Replaced, placeholder},
    pointer::Pointer,
    pointer_table::Spilling,
    record, redemption,
    save_request::{Leaf, SaveRequest, Saved, SavedPart},
    session::Session,
    streamed::StreamedFile,
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
    slices::Blocks,
};

/// A context that is ready to be written; all of it is redacted.
pub(super) struct Prepared {
    pub tool_name: String,
    pub report: Report,
    pub filename: String,
    pub contents: Contents,
    /// The text that is indexed.
    pub text: RecordText,
    /// The form that the memory cache keeps; `None` for a large output.
    pub held: Option<Held>,
    pub pointer: Pointer,
    pub is_large: bool,
    pub description: String,
    pub indexed_arguments: String,
    pub indexed_outcome: String,
    pub handle: u64,
    pub placeholder: Option<String>,
    pub leaves: Vec<Option<String>>,
    pub parts: Vec<SavedPart>,
    pub if_absent: bool,
    /// The size of a streamed result in bytes.
    pub stream_bytes: Option<u64>,
}

/// The contents of a context's files.
pub(super) enum Contents {
    /// The record, and the file of its binary data.
    Whole {
        /// The record.
        record: Payload,
        /// The file.
        bytes: Option<Payload>,
    },
    /// A streamed result.
    Streamed(Box<StreamedFile>),
}

/// Saves a tool output under the number of its call; returns once the record is as durable as the options require.
///
/// # Errors
/// `TooLarge`, `InvalidArgument` for a value that is not valid, `Redaction`, or `Io`. Nothing is left on disk then.
pub(super) async fn store(
    session: &Arc<Session>,
    sequence: u64,
    request: SaveRequest,
) -> Result<Redacted<Saved>> {
    let _call = session.pointers.tracked(sequence);
    let preparing = Arc::clone(session);
    let bytes = request.length_hint();
    let prepared = run_long(bytes, move || prepare(&preparing, sequence, request)).await?;
    finish(session, sequence, prepared).await
}

/// Writes a prepared context, then inserts it into pointers, cache and index.
pub(super) async fn finish(
    session: &Arc<Session>,
    sequence: u64,
    mut prepared: Prepared,
) -> Result<Redacted<Saved>> {
    if prepared.if_absent
        && let Some(present) = present(session, prepared.handle).await
    {
        return Ok(saved_before(session, sequence, prepared, present));
    }
    if session.options.persist_all || prepared.is_large {
        let handle = Some(prepared.handle);
        match &mut prepared.contents {
            Contents::Whole { record, bytes } => {
                let record = Payload::clone(record);
                let file = ContextFile { handle, record, bytes: bytes.take() };
                session.directory.write(&prepared.filename, &file).await?;
            }
            Contents::Streamed(file) => {
                session.directory.write_streamed(&prepared.filename, handle, file).await?;
            }
        }
        prepared.pointer.on_disk = true;
    }
    let path = session.directory.path_of(&prepared.filename);
    let (size, on_disk) = (prepared.pointer.size, prepared.pointer.on_disk);
    let (handle, placeholder) = (handle::text(prepared.handle), prepared.placeholder.take());
    let (leaves, parts) =
        (std::mem::take(&mut prepared.leaves), std::mem::take(&mut prepared.parts));
    let stream_bytes = prepared.stream_bytes;
    let (tool_name, report) = (prepared.tool_name.clone(), std::mem::take(&mut prepared.report));
    remember(session, sequence, prepared, report.total());
    spill(session).await;
    bounds::enforce_in_background(session);
    session.debug.say(
        "Context saved",
        || json!({ "filepath": path, "toolName": tool_name, "sizeBytes": size, "onDisk": on_disk }),
    );
    Ok(Redacted {
        stored: Saved { path, handle, placeholder, leaves, parts, tool_name, stream_bytes },
        report,
    })
}

/// An existing context of this session.
enum Present {
    /// This manager has its pointer.
    Known(String),
    /// Another manager of the session wrote it.
    Other(Pointer),
}

/// The session's latest context with the handle, if its file or its record in memory exists.
async fn present(session: &Arc<Session>, handle: u64) -> Option<Present> {
    let filename = redemption::filename_of(session, handle).await.ok()?;
    if let Some(pointer) = session.pointers.pointer_of(&filename) {
        let is_there = !pointer.on_disk || session.directory.has_file(&filename).await;
        return is_there.then_some(Present::Known(filename));
    }
    let pointer = session.directory.pointer_of_file(&filename).await?;
    (pointer.session.as_deref() == Some(&*session.token)).then_some(Present::Other(pointer))
}

/// The result of a save whose output is stored already.
fn saved_before(
    session: &Arc<Session>,
    sequence: u64,
    mut prepared: Prepared,
    present: Present,
) -> Redacted<Saved> {
    let (handle, placeholder) = (handle::text(prepared.handle), prepared.placeholder.take());
    let (leaves, parts) =
        (std::mem::take(&mut prepared.leaves), std::mem::take(&mut prepared.parts));
    let stream_bytes = prepared.stream_bytes;
    let (tool_name, report) = (prepared.tool_name.clone(), std::mem::take(&mut prepared.report));
    let filename = match present {
        Present::Known(filename) => filename,
        Present::Other(pointer) => {
            let filename = pointer.filename().to_owned();
            session.pointers.adopt(&filename, sequence);
            let prepared = Prepared { filename: filename.clone(), pointer, ..prepared };
            remember(session, sequence, prepared, report.total());
            filename
        }
    };
    let path = session.directory.path_of(&filename);
    Redacted {
        stored: Saved { path, handle, placeholder, leaves, parts, tool_name, stream_bytes },
        report,
    }
}

fn prepare(session: &Session, sequence: u64, request: SaveRequest) -> Result<Prepared> {
    let mut pass = RedactionSession::new(request.redaction.clone());
    let is_redacted = request.redaction.is_some();
    let (mut said, result) = Described::of(session, sequence, request, &mut pass)?;
    let mut text = Vec::with_capacity(said.argument_text.len() + result.length_hint() + 512);
    let handle_at = record::write_head(&said.record_parts(session), &mut text);
    let mut head = text.len();
    result.write(&mut text).map_err(|_| unreadable("the result", &said.tool_name))?;
    let may_be_small = (result.length_hint() as u64) < session.options.persist_threshold;
    let plain = if is_redacted || may_be_small { result.string() } else { None };
    drop(result);
    let given_size =
        said.details.bytes.iter().flat_map(|given| &given.parts).map(|part| part.contents.len());
    // The size is checked before redaction, to save its work, and after it, because redaction may add bytes.
    check_size(session, &said.tool_name, text.len() - head + given_size.sum::<usize>())?;
    let taken = bytes::take(&mut text, head, said.details.bytes.take(), &mut pass)?;
    let taken_size = taken.as_ref().map_or(0, Taken::size);
    let is_offloaded = said.details.offload.is_some();
    let offload = said.details.offload.take().unwrap_or_default();
    let mut raw = offload.shows_raw.then(|| text.get(head..).unwrap_or_default().to_vec());
    let has_bytes = taken.is_some();
    // A text is redacted as it is, because decoding its JSON takes a third of the time.
    let is_left = match &plain {
        Some(plain) if !has_bytes => pass.leaves_string(plain)?,
        _ => false,
    };
    let is_as_given = is_left || !pass.changed_json(&mut text, head)? && !has_bytes;
    let is_small = |text: &String| (text.len() as u64) < session.options.persist_threshold;
    let plain = plain.filter(|plain| is_as_given && is_small(plain));
    let is_text_only = session.directory.disk.is_none();
    let placed = taken.and_then(|taken| taken.place(&mut text, head, raw.as_mut()));
    let placed = placed.and_then(|placed| placed.into_file(&session.token, is_text_only));
    let result_size = text.len() - head + placed.as_ref().map_or(0, |_| taken_size);
    check_size(session, &said.tool_name, result_size)?;
    let bytes_token = placed.as_ref().map(|placed| placed.token.as_bytes());
    if let Some(Placed { token, .. }) = &placed {
        head = record::insert_member(&mut text, head, said.argument_text.len(), "bytes", token);
    }
    let stored_result = text.get(head..).unwrap_or_default();
    let mut digest = said.digest();
    digest.update(stored_result);
    let handle = digest.finish(bytes_token);
    let handle_text = handle::text(handle);
    let shown = raw.as_deref().unwrap_or(stored_result);
    let media_type = said.media_type();
    let whole = Replaced {
        kind: offload.kind,
        prefix: &offload.prefix,
        path: None,
        media_type: media_type.as_deref(),
        bytes: placed.as_ref().and_then(|placed| bytes::whole(&placed.parts)),
        tool_name: &said.tool_name,
        arguments: &said.argument_text,
        handle: &handle_text,
        result: shown,
        gap: None,
    };
    let placeholder = offload.preview.map(|preview| placeholder(&whole, preview));
    let leaves = placeholders_of_leaves(&whole, stored_result, &offload.leaves);
    let parts = match &placed {
        Some(placed) if is_offloaded => placed.parts.iter().map(Part::saved).collect(),
        _ => Vec::new(),
    };
    let report = pass.report();
    let noted = Noted::new(&report, Shown::of(offload.output_bytes, placeholder.as_deref()));
    head = noted.insert(&mut text, head, said.argument_text.len());
    if let Some(place) = text.get_mut(handle_at) {
        place.copy_from_slice(handle_text.as_bytes());
    }
    let is_large =
        said.details.is_large.unwrap_or(result_size as u64 >= session.options.persist_threshold);
    let result = head..text.len();
    // What stays in memory is not read in parts.
    if is_large
        && placed.is_none()
        && let Some(blocks) = text.get(head..).and_then(Blocks::of)
    {
        blocks.append_to(&mut text);
    }
    text.push(b'}');
    text.shrink_to_fit();

    let size =
        text.len() as u64 + placed.as_ref().map_or(0, |placed| bytes::size_of(&placed.parts));
    let record = Payload::new(text);
    let bytes = placed.map(|placed| placed.file);
    let hold = || match &bytes {
        Some(bytes) => {
            Held::WithBytes { record: Payload::clone(&record), bytes: Payload::clone(bytes) }
        }
        None => match plain {
            Some(text) => Held::of_text(Payload::clone(&record), head, text),
            None => Held::new(Payload::clone(&record), head),
        },
    };
    let held = (!is_large).then(hold);
    let mut prepared = said.prepared(session, handle, size, report)?;
    prepared.pointer.note_bytes(bytes.is_some());
    prepared.pointer.note_stored(noted);
    Ok(Prepared {
        placeholder,
        leaves,
        parts,
        text: RecordText { record: Payload::clone(&record), result },
        held,
        is_large,
        contents: Contents::Whole { record, bytes },
        ..prepared
    })
}

/// The placeholders of texts within an output. A text that is not stored at its path gets none, because it could not be
/// read there.
fn placeholders_of_leaves(
    whole: &Replaced<'_>,
    stored: &[u8],
    leaves: &[Leaf],
) -> Vec<Option<String>> {
    if leaves.is_empty() {
        return Vec::new();
    }
    let paths: Vec<Vec<Step>> = leaves.iter().map(|leaf| leaf.steps.clone()).collect();
    let (shown, stored) = (strings_at(whole.result, &paths), strings_at(stored, &paths));
    let texts = shown.into_iter().zip(stored);
    leaves
        .iter()
        .zip(texts)
        .map(|(leaf, (shown, stored))| {
            stored?;
            let replaced = Replaced {
                path: Some(&leaf.path),
                media_type: None,
                bytes: None,
                result: shown?,
                ..*whole
            };
            Some(placeholder(&replaced, leaf.preview))
        })
        .collect()
}

pub(super) fn check_size(session: &Session, tool_name: &str, size: usize) -> Result<()> {
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
        text,
        held,
        pointer,
        description,
        indexed_arguments,
        indexed_outcome,
        ..
    } = prepared;
    let output = IndexedOutput {
        name: tool_name,
        description,
        arguments: indexed_arguments,
        outcome: indexed_outcome,
        timestamp: pointer.timestamp,
        group: pointer.group(),
        stored: pointer.on_disk.then_some(filename),
    };
    // The index before the pointer, so that readers who see the pointer find it in the index.
    session.index.add(sequence, output, text, session.pointers.is_only_save());
    if !session.pointers.insert(sequence, pointer, held, redactions) {
        session.index.remove(sequence);
    }
}

/// Evicts from the memory cache until it is within its budget: records that are on disk are dropped, others are written
/// back first.
async fn spill(session: &Session) {
    while let Some(spilling) = session.pointers.next_to_spill() {
        let Spilling { sequence, filename, file } = spilling;
        if let Err(error) = session.directory.write(&filename, &file).await {
            session.pointers.keep(sequence);
            session.debug.say(
                "Failed to move a context from memory to disk",
                || json!({ "filepath": session.directory.path_of(&filename), "error": error.message }),
            );
            return;
        }
        // The context may have been removed while it was written.
        if !session.pointers.spilled(sequence)
            && session.directory.remove(&filename, file.bytes.is_some()).await.is_err()
        {
            session.pointers.note_unknown_files();
        }
    }
}
