//! Resolves a handle to the latest context of the directory with that handle.
//!
//! A manager knows the handles of its own outputs. Others are looked up in the directory's table of handles; if rows
//! are missing, the directory's files are read first. A context is only used if the handle computed from its content
//! matches.

use std::{path::Path, sync::Arc};

use storage::{FileEntry, FileResult, Payload, layout};

use super::{
    beginnings::Beginnings,
    bytes::{self, Part},
    context_directory::ContextDirectory,
    context_files::Listed,
    file_head::{FileHead, NoHead},
    handle,
    handle_table::{HandleTable, Mark, Row},
    record, refused,
    session::Session,
};
use crate::{blocking::run_long, error::Result};

/// Files that are read between two yields.
const BATCH: usize = 64;
/// How often a table is rebuilt that is damaged again and again, by other programs or a bad disk.
const ATTEMPTS: usize = 3;
/// The longest record, in bytes.
const MAX_RECORD: u64 = super::context_files::MAX_TEXT;

/// The file of the latest context with a handle.
///
/// # Errors
/// `NotFound`, which says why a known context was removed; `Io` if the table, or the only context with the handle, cannot
/// be read.
pub(super) async fn filename_of(session: &Arc<Session>, handle: u64) -> Result<String> {
    if let Some(filename) = known_to(session, handle).await {
        return Ok(filename);
    }
    for neighbour in session.neighbours() {
        if let Some(filename) = known_to(&neighbour, handle).await
            && session.directory.is_same(&neighbour.directory).await
        {
            return Ok(filename);
        }
    }
    session.directory.check()?;
    let looked_up = match session.directory.handles().await {
        Some((table, root)) => in_table(session, &table, &root, handle).await,
        None => in_listing(session, handle).await,
    };
    let reason = match looked_up {
        Ok(Found::At(filename)) => return Ok(filename),
        Ok(Found::Gone(mark)) => mark.reason(),
        Ok(Found::Nowhere) => None,
        Err(error) => {
            let directory = session.directory.path();
            return Err(refused("look a handle up in the context directory", directory, error));
        }
    };
    Err(handle::missing(handle, reason, &session.options.directory))
}

/// The file of this manager's latest context with a handle, if it still exists.
async fn known_to(session: &Session, handle: u64) -> Option<String> {
    let filename = session.pointers.filename_of(handle)?;
    let is_on_disk = session.pointers.written(&filename).is_some_and(|pointer| pointer.is_some());
    (!is_on_disk || session.directory.has_file(&filename).await).then_some(filename)
}

/// The result of a lookup.
enum Found {
    /// The file of the latest context.
    At(String),
    /// The latest context was removed.
    Gone(Mark),
    Nowhere,
}

async fn in_table(
    session: &Session,
    table: &HandleTable,
    root: &Path,
    handle: u64,
) -> FileResult<Found> {
    for _ in 0..ATTEMPTS {
        let found = first_match(session, table, root, handle).await?;
        // The content matches the handle. A file without a row could only have the same content.
        if matches!(found, Found::At(_)) {
            return Ok(found);
        }
        // If a process ended between writing a record and adding its row, the record has no row.
        if add_unnamed(&session.directory, table, root).await? {
            table.note_compared();
        }
        // Another call may have added the row meanwhile.
        let found = first_match(session, table, root, handle).await?;
        // If the table was found damaged, it is rebuilt. A record that could not be read is read again.
        let (_, is_compared) = table.find(handle)?;
        if is_compared || matches!(found, Found::At(_)) {
            return Ok(found);
        }
    }
    first_match(session, table, root, handle).await
}

async fn first_match(
    session: &Session,
    table: &HandleTable,
    root: &Path,
    handle: u64,
) -> FileResult<Found> {
    let (rows, _) = table.find(handle)?;
    let (mut gone, mut unreadable) = (Found::Nowhere, None);
    for Row { filename, mark } in rows {
        if mark != Mark::Saved {
            if matches!(gone, Found::Nowhere) {
                gone = Found::Gone(mark);
            }
            continue;
        }
        match content_handle(&session.directory, root, &filename).await {
            Ok(found) if found == Some(handle) => return Ok(Found::At(filename)),
            Ok(_) => {}
            Err(error) => unreadable = Some(error),
        }
    }
    unreadable.map_or(Ok(gone), Err)
}

/// Adds rows for the contexts without one. Returns `false` if some could not be read.
async fn add_unnamed(
    directory: &ContextDirectory,
    table: &HandleTable,
    root: &Path,
) -> FileResult<bool> {
    let mut unnamed = table.unnamed()?;
    unnamed.sort_by_cached_key(|name| {
        layout::parse_context(name).map(|stamp| (stamp.timestamp, stamp.counter))
    });
    let files: Vec<FileEntry> = unnamed.iter().cloned().map(FileEntry::named).collect();
    let mut heads = Beginnings::of_heads(directory.file_system.as_ref(), root, files.iter());
    let mut are_read = true;
    for (number, name) in unnamed.iter().enumerate() {
        if number % BATCH == BATCH - 1 {
            // Lets other tasks run.
            tokio::task::yield_now().await;
        }
        let head = heads.head(name).await;
        match noted_handle(directory, root, name, head).await {
            Ok(Some(handle)) => table.add(handle, Mark::Saved, name)?,
            Ok(None) => {}
            Err(_) => are_read = false,
        }
    }
    Ok(are_read)
}

/// The handle in a record; for a record of an earlier release without one, the handle of its content. `None` if there is
/// no such record.
async fn noted_handle(
    directory: &ContextDirectory,
    root: &Path,
    name: &str,
    head: std::result::Result<FileHead, NoHead>,
) -> FileResult<Option<u64>> {
    match head {
        Ok(head) => match head.handle() {
            Some(handle) => Ok(Some(handle)),
            None => content_handle(directory, root, name).await,
        },
        Err(NoHead::Unreadable(error)) if !error.is_not_found() => Err(error),
        Err(_) => Ok(None),
    }
}

/// The handle computed from a record's content; `None` if there is no such record, or not all of it.
async fn content_handle(
    directory: &ContextDirectory,
    root: &Path,
    name: &str,
) -> FileResult<Option<u64>> {
    let contents = match directory.read(root, name, MAX_RECORD).await {
        Ok(contents) => contents,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = contents.bytes.len();
    let record = Payload::new(contents.bytes);
    let read = run_long(length, move || Ok(of_record(&record))).await.ok().flatten();
    let Some((handle, parts)) = read else { return Ok(None) };
    Ok(bytes::are_stored(directory, root, name, parts).await?.then_some(handle))
}

/// The handle of a whole record, and the parts of its binary data; `None` if it is not valid.
pub(super) fn of_record(record: &[u8]) -> Option<(u64, Vec<Part>)> {
    let result = record::check(record).ok()?;
    let head = record::parse_head(record).ok()?;
    let part = |range: std::ops::Range<usize>| record.get(range);
    let mut canonical = Vec::new();
    let arguments = head.arguments.and_then(part).unwrap_or(b"{}");
    json_text::canonical(arguments, &mut canonical).ok()?;
    let bytes = head.bytes.and_then(part);
    let handle = handle::of(part(head.tool_name)?, &canonical, part(result)?, bytes);
    Some((handle, bytes.map(bytes::parts_of).unwrap_or_default()))
}

/// Searches a directory without a table, once for each manager: an injected file system cannot append to files.
async fn in_listing(session: &Session, handle: u64) -> FileResult<Found> {
    let directory = &session.directory;
    let known = directory.listed_handles.get_or_try_init(|| list_handles(directory)).await?;
    let root = directory.path();
    for filename in known.get(&handle).into_iter().flatten() {
        // An injected file system need not say which files it does not have, so errors are no answer.
        if content_handle(directory, root, filename).await.is_ok_and(|found| found == Some(handle))
        {
            return Ok(Found::At(filename.clone()));
        }
    }
    Ok(Found::Nowhere)
}

/// The files of each handle, latest first.
pub(super) type ListedHandles = rustc_hash::FxHashMap<u64, Vec<String>>;

async fn list_handles(directory: &ContextDirectory) -> FileResult<ListedHandles> {
    let Listed { entries, root } = directory.list().await?;
    let mut names: Vec<String> = entries
        .into_iter()
        .map(|entry| entry.name)
        .filter(|name| layout::parse_context(name).is_some())
        .collect();
    names.sort_by_cached_key(|name| {
        layout::parse_context(name).map(|stamp| std::cmp::Reverse((stamp.timestamp, stamp.counter)))
    });
    let mut handles = ListedHandles::default();
    for name in names {
        let head = directory.read_head(&root, &name).await;
        if let Ok(Some(handle)) = noted_handle(directory, &root, &name, head).await {
            handles.entry(handle).or_default().push(name);
        }
    }
    Ok(handles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_handle_of_its_content() {
        let record = br#"{"toolName":"grep","args":{"b":2,"a":1},"result":[1]}"#;
        let expected = handle::of(b"\"grep\"", br#"{"a":1,"b":2}"#, b"[1]", None);
        let handle_of = |record| of_record(record).map(|(handle, _)| handle);
        assert_eq!(handle_of(record), Some(expected));
        assert_eq!(handle_of(&record[..record.len() - 1]), None);
        assert_eq!(handle_of(b"[]"), None);
    }
}
