//! Reading a part of a stored result.

use std::sync::Arc;

use super::{held::Held, load, session::Session};
use crate::{
    blocking::run_blocking,
    error::{Error, Result},
    slices::{self, Request, Slice, Stored},
};

/// Where a record is.
enum Source {
    Memory(Held),
    /// A file's bytes, still to be checked.
    File(Vec<u8>),
}

/// Reads a part of a context's result. The record is read and checked as a load does it; only the part is
/// handed on.
///
/// # Errors
/// Those of [`load::load`], and `InvalidArgument` when a JSON path asks for too much work.
pub(super) async fn read(session: &Arc<Session>, path: &str, request: Request) -> Result<Slice> {
    let relative = session.locate(path).await?;
    let source = match load::cached(session, &relative).await {
        Some(held) => Source::Memory(held),
        None => match session.directory.read_whole(path, &relative).await {
            Ok(bytes) => Source::File(bytes),
            Err(error) => {
                session.pointers.count_load(false);
                return Err(error);
            }
        },
    };
    let (session, path) = (Arc::clone(session), path.to_owned());
    run_blocking(move |cancelled| match source {
        Source::Memory(Held::Text { text, .. }) => {
            slices::read(Stored::Text(text_of(&path, &text)?), &request, cancelled)
        }
        Source::Memory(Held::Whole(record)) => {
            let result = record.get(load::check(&path, &record)?).unwrap_or_default();
            slices::read(Stored::Json(text_of(&path, result)?), &request, cancelled)
        }
        Source::File(bytes) => {
            let checked = load::check(&path, &bytes);
            session.pointers.count_load(checked.is_ok());
            let result = bytes.get(checked?).unwrap_or_default();
            slices::read(Stored::Json(text_of(&path, result)?), &request, cancelled)
        }
    })
    .await
}

/// What was checked is UTF-8.
fn text_of<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str> {
    str::from_utf8(bytes).map_err(|_| Error::corrupt(path, "not UTF-8"))
}
