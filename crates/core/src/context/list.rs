//! Lists the contexts of a directory, oldest first: pointers from the heads of the record files, without reading
//! results, and the contexts that are only in this process's memory.

use std::{collections::HashSet, path::Path, sync::Arc};

use storage::{FileEntry, layout};

use super::{
    beginnings::Beginnings,
    file_head::{from_head, skipped},
    pointer::Pointer,
    refused,
    session::Session,
};
use crate::error::Result;

/// Files that are read between two yields.
const BATCH: usize = 64;
/// The approximate size of an array in a [`Listing`], in bytes.
const ARRAY: usize = 4 * 1024 * 1024;

/// Pointers as JSON arrays; several, so that each string's length is bounded.
pub type Listing = Vec<String>;

/// All contexts of the directory, or of the session `wanted`: those on disk, and those that are only in this process's
/// memory. Oldest first.
///
/// # Errors
/// `Io` if the directory cannot be read.
pub(super) async fn list(session: &Arc<Session>, wanted: Option<&str>) -> Result<Listing> {
    let found = pointers(session, wanted).await?;
    let prefix = session.directory.escaped_prefix();
    Ok(arrays(&found, |pointer, array| pointer.write_json(prefix, array)))
}

/// As [`list`], but returns pointers.
///
/// # Errors
/// Those of [`list`].
pub(super) async fn pointers(session: &Arc<Session>, wanted: Option<&str>) -> Result<Vec<Pointer>> {
    let mut found = in_memory(session, wanted).await;
    // A record that is written from memory to disk meanwhile is found twice.
    let listed: HashSet<String> =
        found.iter().map(|pointer| pointer.filename().to_owned()).collect();
    session.directory.check()?;
    let files = session.directory.list().await.map_err(|error| {
        refused("list the context directory", Path::new(&session.options.directory), error)
    })?;
    let others: Vec<_> =
        files.entries.iter().filter(|entry| !listed.contains(&entry.name)).collect();
    let unknown = others.iter().copied().filter(|entry| {
        entry.name.ends_with(layout::CONTEXT_SUFFIX)
            && session.pointers.written(&entry.name).is_none()
    });
    let file_system = session.directory.file_system.as_ref();
    let mut heads = Beginnings::of_heads(file_system, &files.root, unknown);
    for (number, entry) in others.into_iter().enumerate() {
        if number % BATCH == BATCH - 1 {
            // Lets other tasks run; a cancelled listing stops here.
            tokio::task::yield_now().await;
        }
        if let Some(pointer) = list_file(session, &mut heads, entry, wanted).await {
            found.push(pointer);
        }
    }
    found.sort_by_cached_key(|pointer| {
        let counter = layout::parse_context(pointer.filename()).map(|stamp| stamp.counter);
        (pointer.timestamp, counter, pointer.filename().to_owned())
    });
    Ok(found)
}

/// Writes items into JSON arrays; `write` appends one item.
pub(super) fn arrays<T>(
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut String),
) -> Listing {
    let mut arrays = Vec::new();
    let mut array = String::from("[");
    for item in items {
        if array.len() > ARRAY {
            array.push(']');
            arrays.push(std::mem::replace(&mut array, String::from("[")));
        }
        if array.len() > 1 {
            array.push(',');
        }
        write(item, &mut array);
    }
    array.push(']');
    arrays.push(array);
    arrays
}

/// The contexts that are only in memory, of all managers of this process for the directory.
async fn in_memory(session: &Arc<Session>, wanted: Option<&str>) -> Vec<Pointer> {
    let mut found = Vec::new();
    for neighbour in session.neighbours() {
        let is_wanted = wanted.is_none_or(|id| neighbour.options.session == id);
        if is_wanted && session.directory.is_same(&neighbour.directory).await {
            found.extend(neighbour.pointers.unwritten());
        }
    }
    found
}

async fn list_file(
    session: &Session,
    heads: &mut Beginnings<'_>,
    entry: &FileEntry,
    wanted: Option<&str>,
) -> Option<Pointer> {
    if !entry.name.ends_with(layout::CONTEXT_SUFFIX) {
        return None;
    }
    if let Some(pointer) = session.pointers.written(&entry.name) {
        let is_wanted = wanted.is_none_or(|id| session.options.session == id);
        // A context that is only in memory is listed already.
        return pointer.filter(|_| is_wanted);
    }
    match heads.head(&entry.name).await {
        Ok(file) => {
            let is_wanted = wanted.is_none_or(|id| file.session_id().as_deref() == Some(id));
            is_wanted.then(|| from_head(entry, &file))
        }
        Err(reason) => {
            skipped(&session.debug, &session.directory.path_of(&entry.name), &reason.reason());
            None
        }
    }
}
