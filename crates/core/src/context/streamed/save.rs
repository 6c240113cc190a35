//! Stores a finished stream as a context: builds the record around the data and calls `save::finish`.

use std::sync::Arc;

use redaction::{Redacted, RedactionSession};
use storage::{FileResult, Payload};

use super::{
    super::{
        bytes,
        described::{Described, unreadable},
        handle,
        indexing::RecordText,
        noted::{Noted, Shown},
        placeholder::{Replaced, placeholder},
        record,
        save::{Contents as Written, Prepared, check_size, finish},
        save_request::{SaveRequest, Saved},
        session::Session,
    },
    Envelope, StreamedResult,
    contents::{Contents, Form},
    excerpt::{excerpt, indexed},
    file::StreamedFile,
};
use crate::{
    blocking::run_long,
    error::{Error, Result},
    slices::BlocksWriter,
};

/// A size that always counts as long work, in bytes.
const LONG_WORK: usize = 2 << 20;

/// Stores a stream under the number of its call. The request has all members except the result.
///
/// # Errors
/// As `save::store`.
pub(in crate::context) async fn store(
    session: &Arc<Session>,
    sequence: u64,
    request: SaveRequest,
    stream: &StreamedResult,
    envelope: Option<Envelope>,
) -> Result<Redacted<Saved>> {
    let _call = session.pointers.tracked(sequence);
    let contents = stream.contents().await?;
    let preparing = Arc::clone(session);
    let prepared =
        run_long(LONG_WORK, move || prepare(&preparing, sequence, request, *contents, envelope))
            .await?;
    finish(session, sequence, prepared).await
}

fn prepare(
    session: &Session,
    sequence: u64,
    request: SaveRequest,
    mut contents: Contents,
    envelope: Option<Envelope>,
) -> Result<Prepared> {
    let mut pass = RedactionSession::new(request.redaction.clone());
    let (mut said, _) = Described::of(session, sequence, request, &mut pass)?;
    said.details.is_cut = said.details.is_cut || contents.is_full();
    let media_type = said.media_type().map(|name| name.into_owned());
    contents.complete(said.details.is_cut, media_type.as_deref())?;
    said.details.is_cut = said.details.is_cut || contents.is_full();
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let mut around = None;
    if let Some(Envelope { object, member }) = envelope {
        let mut object = object.into_bytes();
        pass.json(&mut object, 0)?;
        contents.move_parts(&member);
        before = opened_object(&object, &member)
            .ok_or_else(|| unreadable("the result", &said.tool_name))?;
        behind = b"}".to_vec();
        around = Some((before.as_slice(), behind.as_slice()));
    }
    let result_size = contents.size() + before.len() + behind.len();
    check_size(session, &said.tool_name, result_size)?;
    let failed = |error| {
        Error::from_file("read back a stream in", session.directory.path(), "contextDir", error)
    };

    let token = (!contents.parts().is_empty()).then(|| bytes::member(contents.parts())).flatten();
    let mut head = Vec::new();
    let handle_at = record::write_head(&said.record_parts(session), &mut head);
    if let Some(token) = &token {
        let end = head.len();
        record::insert_member(&mut head, end, said.argument_text.len(), "bytes", token);
    }
    let mut digest = said.digest();
    let mut written = head.len();
    let mut blocks = BlocksWriter::new(result_size);
    let mut add = |piece: &[u8]| {
        digest.update(piece);
        blocks.add(piece);
        written += piece.len();
        FileResult::Ok(())
    };
    add(&before).and_then(|()| contents.write_result(&mut add)).map_err(failed)?;
    add(&behind).map_err(failed)?;
    let handle = digest.finish(token.as_deref().map(str::as_bytes));
    let handle_text = handle::text(handle);
    if let Some(place) = head.get_mut(handle_at) {
        place.copy_from_slice(handle_text.as_bytes());
    }

    let offload = said.details.offload.take().unwrap_or_default();
    let placeholder = match offload.preview {
        None => None,
        Some(preview) => {
            let shown = excerpt(&contents, preview, around).map_err(failed)?;
            let replaced = Replaced {
                kind: offload.kind,
                prefix: &offload.prefix,
                path: None,
                media_type: media_type.as_deref(),
                bytes: bytes::whole(contents.parts()),
                tool_name: &said.tool_name,
                arguments: &said.argument_text,
                handle: &handle_text,
                result: &shown.json,
                gap: shown.gap.as_ref(),
            };
            Some(placeholder(&replaced, preview))
        }
    };
    let is_json = contents.form() == Form::Elements || !before.is_empty();
    let stream_bytes = if is_json { result_size as u64 } else { contents.main().length() };
    let sample = indexed(&contents, &before).map_err(failed)?;
    let mut report = pass.report();
    report.add_all(&contents.report());
    // The conversation contains only the placeholder of a streamed output.
    let shown = Shown::of(Some(stream_bytes), placeholder.as_deref());
    let noted = Noted::new(&report, shown);
    let end = head.len();
    let added = noted.insert(&mut head, end, said.argument_text.len()) - end;
    let has_bytes = token.is_some();
    let member = blocks.finish().filter(|_| !has_bytes).map(|blocks| blocks.member());
    let added = added + member.as_ref().map_or(0, String::len);
    let size = (written + added) as u64 + 1 + bytes::size_of(contents.parts());
    head.extend_from_slice(&before);
    behind.extend(member.into_iter().flat_map(String::into_bytes));
    behind.push(b'}');
    let mut prepared = said.prepared(session, handle, size, report)?;
    prepared.pointer.note_bytes(has_bytes);
    prepared.pointer.note_stored(noted);
    Ok(Prepared {
        text: RecordText { result: 0..sample.len(), record: Payload::new(sample) },
        placeholder,
        stream_bytes: Some(stream_bytes),
        contents: Written::Streamed(Box::new(StreamedFile {
            head,
            contents: Arc::new(contents),
            tail: behind,
            line: bytes::write_file(&session.token, &[], false),
        })),
        ..prepared
    })
}

/// An object without its closing brace, followed by the key of a member whose value the caller adds.
fn opened_object(object: &[u8], member: &str) -> Option<Vec<u8>> {
    let mut opened = object.strip_suffix(b"}")?.to_vec();
    if opened.len() > 1 {
        opened.push(b',');
    }
    json_text::escape_string(member, &mut opened);
    opened.push(b':');
    Some(opened)
}
