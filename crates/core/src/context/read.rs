//! Reads parts of stored results: lines, bytes, matches of a regular expression or a JSON path. Tools for models call
//! it through `Manager::read`.

use std::sync::Arc;

use tasks::Cancelled;

use super::{
    bytes::{self, Part},
    handle,
    held::Held,
    load,
    outcome::Outcome,
    record,
    session::Session,
    sparse_read::{self, Looked},
};
use crate::{
    blocking::run_blocking,
    error::{Code, Error, Result},
    slices::{self, Request, Slice, Stored},
};

/// The source of a record.
enum Source {
    Memory(Held),
    /// The bytes of a file, not yet validated.
    File(Vec<u8>),
}

/// Reads a part of a context's result, or of its error and message if it has no result. The whole record is read and
/// validated, but of a long one only what the part needs, where it has a table of its blocks.
///
/// # Errors
/// Those of [`load::load`], and `InvalidArgument` if evaluating the JSON path takes too much work.
pub(super) async fn read(
    session: &Arc<Session>,
    path: &str,
    request: Request,
    sessions: Option<&[String]>,
) -> Result<(Slice, Outcome)> {
    let relative = session.locate(path).await?;
    if let Some(sessions) = sessions {
        check_session(session, path, &relative, sessions).await?;
    }
    let source = match load::cached(session, &relative).await {
        Some(held) => Source::Memory(held),
        None => match sparse_read::look(session, path, &relative, &request).await {
            Ok(Looked::Slice(slice)) => {
                session.pointers.count_load(true);
                session.pointers.touch(&relative);
                return Ok(*slice);
            }
            Ok(Looked::Record(bytes)) => Source::File(bytes),
            Ok(Looked::Unknown) => from_file(session, path, &relative).await?,
            Err(error) => {
                session.pointers.count_load(false);
                return Err(error);
            }
        },
    };
    session.pointers.touch(&relative);
    let look =
        move |stored: Stored<'_>, outcome: &Outcome, parts: &[Part], cancelled: &Cancelled| {
            let slice = slices::read(stored, &request, cancelled)?;
            let asked = bytes::asked(parts, &request, &slice);
            Ok((slice, outcome.shortened(), asked))
        };
    let (slice, outcome, asked) = with_parts(session, path, source, look).await?;
    match asked {
        Some(asked) => Ok((bytes::slice(session, path, asked).await?, outcome)),
        None => Ok((slice, outcome)),
    }
}

/// Calls `look` with a context's result, or its error and message if the result is null, and with the outcome, on a
/// thread for long work.
///
/// # Errors
/// Those of [`load::load`], and those of `look`.
pub(super) async fn with_stored<T: Send + 'static>(
    session: &Arc<Session>,
    path: &str,
    look: impl FnOnce(Stored<'_>, &Outcome, &Cancelled) -> Result<T> + Send + 'static,
) -> Result<T> {
    let relative = session.locate(path).await?;
    let source = match load::cached(session, &relative).await {
        Some(held) => Source::Memory(held),
        None => from_file(session, path, &relative).await?,
    };
    session.pointers.touch(&relative);
    let look = |stored: Stored<'_>, outcome: &Outcome, _: &[Part], cancelled: &Cancelled| {
        look(stored, outcome, cancelled)
    };
    with_parts(session, path, source, look).await
}

/// The whole file of a record.
async fn from_file(session: &Session, path: &str, relative: &str) -> Result<Source> {
    let read = session.directory.read_whole(path, relative).await;
    if read.is_err() {
        session.pointers.count_load(false);
    }
    read.map(Source::File)
}

/// As [`with_stored`], of this source, with the parts of the record's binary data.
async fn with_parts<T: Send + 'static>(
    session: &Arc<Session>,
    path: &str,
    source: Source,
    look: impl FnOnce(Stored<'_>, &Outcome, &[Part], &Cancelled) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (session, path) = (Arc::clone(session), path.to_owned());
    run_blocking(move |cancelled| {
        let (record, result) = match &source {
            Source::Memory(Held::Text { head, text }) => {
                let stored = Stored::Text(text_of(&path, text)?);
                return look(stored, &Outcome::of_record(head), &[], cancelled);
            }
            Source::Memory(Held::Whole(record) | Held::WithBytes { record, .. }) => {
                (record.as_slice(), load::check(&path, record)?)
            }
            Source::File(bytes) => {
                let checked = load::check(&path, bytes);
                session.pointers.count_load(checked.is_ok());
                (bytes.as_slice(), checked?)
            }
        };
        let result = text_of(&path, record.get(result).unwrap_or_default())?;
        let outcome = Outcome::of_record(record);
        let said = if result == "null" { outcome.text() } else { String::new() };
        let stored = if said.is_empty() { Stored::Json(result) } else { Stored::Text(&said) };
        let parts = record::parse_head(record).ok().and_then(|head| record.get(head.bytes?));
        let parts = parts.map(bytes::parts_of).unwrap_or_default();
        look(stored, &outcome, &parts, cancelled)
    })
    .await
}

/// Contexts of other sessions than those given are reported as not found.
async fn check_session(
    session: &Arc<Session>,
    path: &str,
    relative: &str,
    sessions: &[String],
) -> Result<()> {
    let known = session.pointers.pointer_of(relative);
    let pointer = match known {
        Some(pointer) => Some(pointer),
        None => session.directory.pointer_of_file(relative).await,
    };
    let token = pointer.as_ref().and_then(|pointer| pointer.session.as_deref());
    if sessions.iter().any(|id| token == Some(json_text::string_token(id).as_str())) {
        return Ok(());
    }
    if pointer.is_none() && load::cached(session, relative).await.is_none() {
        return Err(handle::not_found(path));
    }
    Err(Error::new(
        Code::NotFound,
        format!("{path} belongs to a session that this tool does not show; list what it shows"),
    ))
}

/// The text of a validated record, which is UTF-8.
fn text_of<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str> {
    str::from_utf8(bytes).map_err(|_| Error::corrupt(path, "not UTF-8"))
}
