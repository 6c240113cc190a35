//! Reads the binary data of a stored context. The file's contents are returned only if their digests are those in the
//! record.

use std::{ops::Range, path::Path, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use storage::{FileResult, layout};

use super::{
    super::{context_directory::ContextDirectory, held::Held, load, record, session::Session},
    file,
    part::{Part, parts_of, size_of},
};
use crate::{
    blocking::run_long,
    error::{Code, Error, Result},
    slices::{self, Going, Request, Slice},
};

/// The longest file that is read, in bytes.
const MAX_FILE: u64 = u32::MAX as u64;

/// A range of one part.
pub struct Asked {
    part: usize,
    from: usize,
    to: Option<usize>,
    max_bytes: usize,
    /// The paths that the request's JSON path matched.
    paths: Option<Vec<String>>,
}

/// The range of bytes that a request selects, if the result is binary data or the JSON path led to one part. Requests
/// for lines and matches read the reference instead; they return `None`.
pub fn asked(parts: &[Part], request: &Request, slice: &Slice) -> Option<Asked> {
    let part = match &slice.paths {
        None => parts.iter().position(Part::is_whole)?,
        Some(paths) => {
            let [path] = paths.as_slice() else { return None };
            parts.iter().position(|part| part.normalised_path().as_ref() == Some(path))?
        }
    };
    let (from, to) = match &request.part {
        None => (0, None),
        Some(slices::Part::Bytes { from, to }) => (*from, *to),
        Some(slices::Part::Lines { .. } | slices::Part::Grep(_)) => return None,
    };
    Some(Asked { part, from, to, max_bytes: request.max_bytes, paths: slice.paths.clone() })
}

/// The slice of a part, as base64 of at most `max_bytes` bytes.
///
/// # Errors
/// Those of [`load()`].
pub async fn slice(session: &Arc<Session>, path: &str, asked: Asked) -> Result<Slice> {
    let Asked { part, from, to, max_bytes, paths } = asked;
    let (parts, contents) = read_parts(session, path).await?;
    let (Some(part), Some(range)) = (parts.get(part), ranges(&parts).nth(part)) else {
        return Err(damaged(path));
    };
    let contents = contents.get(range).unwrap_or_default();
    let start = from.min(contents.len());
    let wanted = to.unwrap_or(contents.len()).clamp(start, contents.len());
    // Four characters of base64 are three bytes.
    let end = wanted.min(start + (max_bytes / 4).max(1) * 3);
    Ok(Slice {
        text: STANDARD.encode(contents.get(start..end).unwrap_or_default()),
        total_bytes: contents.len(),
        total_lines: 0,
        bytes: Some(start..end),
        lines: None,
        matches: None,
        is_one_value: paths.is_some(),
        paths,
        next: (end < wanted).then_some(Going::Bytes { from: end, to }),
        media_type: Some(part.media_type.clone()),
    })
}

/// The bytes of each part of a context, in the order of the record.
///
/// # Errors
/// Those of a load, and `Corrupt` if the file's contents are not those that were saved.
pub async fn load(session: &Arc<Session>, path: &str) -> Result<Vec<Vec<u8>>> {
    let (parts, contents) = read_parts(session, path).await?;
    let cut = ranges(&parts).map(|range| contents.get(range).unwrap_or_default().to_vec());
    Ok(cut.collect())
}

/// Whether the file has the bytes that were saved.
///
/// # Errors
/// The file system's, unless there is no file.
pub async fn are_stored(
    directory: &ContextDirectory,
    root: &Path,
    name: &str,
    parts: Vec<Part>,
) -> FileResult<bool> {
    if parts.is_empty() {
        return Ok(true);
    }
    let file = match directory.read(root, &layout::bytes_of(name), MAX_FILE).await {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(false),
        Err(error) => return Err(error),
    };
    let length = file.bytes.len();
    let verified = run_long(length, move || Ok(verified(file.bytes, &parts).is_some()));
    Ok(verified.await.unwrap_or_default())
}

/// The parts of a context and all their bytes, verified.
async fn read_parts(session: &Arc<Session>, path: &str) -> Result<(Vec<Part>, Vec<u8>)> {
    let relative = session.locate(path).await?;
    let (record, file) = match load::load(session, path).await? {
        Held::WithBytes { record, bytes } => (record, Some(bytes)),
        held => (held.record(), None),
    };
    let head = record::parse_head(&record).map_err(|_| damaged(path))?;
    let parts = parts_of(head.bytes.and_then(|range| record.get(range)).unwrap_or_default());
    if parts.is_empty() {
        return Err(Error::new(Code::InvalidArgument, format!("{path} holds no bytes")));
    }
    let file = match file {
        Some(file) => file.to_vec(),
        None => {
            let root = session.directory.root(path).await?;
            let read = session.directory.read(&root, &layout::bytes_of(&relative), MAX_FILE).await;
            read.map_err(|_| damaged(path))?.bytes
        }
    };
    let path = path.to_owned();
    run_long(file.len(), move || {
        let contents = verified(file, &parts).ok_or_else(|| damaged(&path))?;
        Ok((parts, contents))
    })
    .await
}

/// The bytes, if they match the digests of the parts.
pub fn verified(file: Vec<u8>, parts: &[Part]) -> Option<Vec<u8>> {
    let contents = file::read(file)?;
    let is_whole = contents.len() as u64 == size_of(parts)
        && ranges(parts)
            .zip(parts)
            .all(|(range, part)| contents.get(range).is_some_and(|bytes| part.is_of(bytes)));
    is_whole.then_some(contents)
}

/// The range of each part within all bytes.
fn ranges(parts: &[Part]) -> impl Iterator<Item = Range<usize>> {
    parts.iter().scan(0_usize, |end, part| {
        let start = *end;
        *end = start.saturating_add(usize::try_from(part.size).unwrap_or(usize::MAX));
        Some(start..*end)
    })
}

/// The error for bytes that are missing or do not match the record at a path.
pub fn damaged(path: &str) -> Error {
    Error::new(
        Code::Corrupt,
        format!(
            "the bytes of {path} are missing, or not those that were saved ({}); run the tool again",
            layout::bytes_of(path)
        ),
    )
}
