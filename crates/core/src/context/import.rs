//! Imports one context from another directory, such as one on another machine: validates its record, redacts it if the
//! request asks for that, verifies its binary data, recomputes its handle, and stores the files under the same names.

use std::sync::Arc;

use redaction::{Redacted, Redaction, RedactionSession, Report};
use storage::{Payload, layout};

use super::{
    bytes,
    context_directory::ContextFile,
    handle,
    record::{self, Head},
    redemption,
    session::Session,
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
};

/// The arguments of an import.
#[derive(Debug)]
pub struct ImportRequest {
    /// The name of the record's file.
    pub filename: String,
    /// The content of the record's file.
    pub record: Vec<u8>,
    /// The content of the file with the result's binary data, if there is one.
    pub bytes: Option<Vec<u8>>,
    /// Redacts the record; with `None`, it is stored unchanged.
    pub redaction: Option<Redaction>,
    /// Report the result of the import without storing anything.
    pub is_dry_run: bool,
}

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    /// The context's path.
    pub path: String,
    /// The handle of the stored record.
    pub handle: String,
    /// Whether the record was not in the directory before.
    pub is_new: bool,
}

/// A completely redacted record, ready to be written.
struct Prepared {
    handle: u64,
    file: ContextFile,
    report: Report,
}

/// Stores a record under its file name. Its handle is recomputed from its content.
///
/// # Errors
/// `InvalidArgument` if the content is not a record or the name not that of a record's file, `Corrupt` if the binary data is missing
/// or does not match the record, `Conflict` if another record has the name, `Redaction`, `UnsafeDirectory` or `Io`. Nothing is
/// stored in these cases.
pub(super) async fn import(
    session: &Arc<Session>,
    request: ImportRequest,
) -> Result<Redacted<Imported>> {
    if layout::parse_context(&request.filename).is_none() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("{:?} is no file name of a stored output", request.filename),
        ));
    }
    session.directory.check()?;
    let (filename, is_dry_run) = (request.filename.clone(), request.is_dry_run);
    let length = request.record.len() + request.bytes.as_ref().map_or(0, Vec::len);
    let is_text_only = session.directory.disk.is_none();
    let prepared = run_long(length, move || prepare(request, is_text_only)).await?;
    let Prepared { handle, file, report } = prepared;
    let path = session.directory.path_of(&filename);
    let is_new = !is_there(session, &path, &filename, &file).await?;
    if is_new && !is_dry_run {
        session.directory.write(&filename, &file).await?;
    }
    let imported = Imported { path, handle: handle::text(handle), is_new };
    Ok(Redacted { stored: imported, report })
}

fn prepare(request: ImportRequest, is_text_only: bool) -> Result<Prepared> {
    let ImportRequest { filename, mut record, bytes, redaction, .. } = request;
    let none = |reason: &str| {
        Error::new(Code::InvalidArgument, format!("what is imported as {filename} is {reason}"))
    };
    record::check(&record).map_err(|error| none(&format!("no record: {}", error.reason())))?;
    let mut pass = RedactionSession::new(redaction);
    pass.json(&mut record, 0)?;
    let (handle, parts) =
        redemption::of_record(&record).ok_or_else(|| none("no record of a tool's output"))?;
    if let Ok(Head { handle: Some(noted), .. }) = record::parse_head(&record) {
        record.splice(noted, json_text::string_token(&handle::text(handle)).into_bytes());
    }
    let bytes = match (bytes, parts.is_empty()) {
        (None, true) => None,
        (Some(file), false) => {
            let owner = bytes::owner_of(&file).unwrap_or_default();
            let contents = bytes::verified(file.clone(), &parts);
            let contents = contents.ok_or_else(|| bytes::damaged(&filename))?;
            let token = json_text::string_token(&owner);
            let kept =
                if is_text_only { bytes::write_file(&token, &[contents], true) } else { file };
            Some(Payload::new(kept))
        }
        (None, false) => return Err(bytes::damaged(&filename)),
        (Some(_), true) => {
            return Err(none("a record without bytes, beside which there are bytes"));
        }
    };
    let file = ContextFile { handle: Some(handle), record: Payload::new(record), bytes };
    Ok(Prepared { handle, file, report: pass.report() })
}

/// Whether the same record is stored under the name already.
async fn is_there(
    session: &Arc<Session>,
    path: &str,
    filename: &str,
    file: &ContextFile,
) -> Result<bool> {
    match session.directory.read_whole(path, filename).await {
        Ok(present) if present[..] == file.record[..] => Ok(true),
        Ok(_) => Err(Error::new(
            Code::Conflict,
            format!("{path} is there with another content; it is not replaced"),
        )),
        Err(error) if error.code == Code::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
