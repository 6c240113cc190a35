//! Resumes a session: restores the pointers of the contexts that its earlier processes saved, in the order of their
//! calls. `adopt`, which inserts such a pointer, is also used for the contexts of other sessions in `directory_view`.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use storage::{FileEntry, layout};

use super::{
    beginnings::{AT_ONCE, Beginnings},
    context_files::Listed,
    file_head::{NoHead, from_head, skipped},
    indexing::{IndexedOutput, append_arguments},
    options::ManagerOptions,
    pointer::Pointer,
    refused,
    session::Session,
};
use crate::error::Result;

/// Files that are read between two yields.
const BATCH: usize = 64;
/// The first call number of a resumed session: earlier calls get smaller numbers.
const FIRST_CALL: u64 = 1 << 32;

/// The number of a manager's first call.
pub(super) const fn first_call(options: &ManagerOptions) -> u64 {
    if options.resumes { FIRST_CALL } else { 0 }
}

/// Restores the session's pointers, if its options ask for that.
///
/// # Errors
/// `UnsafeDirectory`, or `Io` if the directory cannot be read; the next call tries again.
pub(super) async fn resume(session: &Arc<Session>) -> Result<()> {
    if !session.options.resumes {
        return Ok(());
    }
    session.resumed.get_or_try_init(|| restore(session)).await.copied()
}

async fn restore(session: &Arc<Session>) -> Result<()> {
    session.directory.check()?;
    // Far file systems read at the same time what does not depend on each other: a resume waits for three steps.
    let (seen, record) =
        tokio::join!(find(session, FxHashMap::default()), session.directory.session_record());
    let seen = seen?;
    if seen.is_empty() {
        return Ok(());
    }
    // The lease is taken before the listing that counts, so no sweep removes the listed files.
    let opened = session.directory.open().await?;
    let (noted, found) =
        tokio::join!(session.directory.note_session(&opened, Some(record)), find(session, seen));
    noted?;
    let found = found?;
    let mut pointers: Vec<Pointer> = found.into_values().map(|(_, pointer)| pointer).collect();
    pointers.sort_by_cached_key(|pointer| {
        let counter = layout::parse_context(pointer.filename()).map(|stamp| stamp.counter);
        (pointer.timestamp, counter, pointer.filename().to_owned())
    });
    for (sequence, pointer) in (0..FIRST_CALL).zip(pointers) {
        adopt(session, sequence, pointer);
    }
    session.index.index_in_background();
    Ok(())
}

/// Inserts the pointer of a file that another manager wrote, as the output of a call. The caller makes the indexing thread work.
pub(super) fn adopt(session: &Arc<Session>, sequence: u64, pointer: Pointer) {
    session.pointers.adopt(pointer.filename(), sequence);
    // The index before the pointer, so that readers who see the pointer find it in the index.
    session.index.add_stored(sequence, indexed(&pointer));
    if !session.pointers.insert(sequence, pointer, None, 0) {
        session.index.remove(sequence);
    }
}

/// The session's contexts, by file name: the version of the file, and the pointer.
type FoundContexts = FxHashMap<String, (Option<u64>, Pointer)>;

/// The pointers of the session's contexts in the directory. Files of the same version as in `seen` are not read again.
async fn find(session: &Session, mut seen: FoundContexts) -> Result<FoundContexts> {
    let id = &session.options.session;
    let directory = &session.directory;
    let failed = |error| refused("list the context directory", directory.path(), error);
    let most = if seen.is_empty() { AT_ONCE } else { 0 };
    let (Listed { entries, root }, read) = directory.list_session(most).await.map_err(failed)?;
    let mut found = FoundContexts::default();
    let is_seen =
        |entry: &FileEntry, version: &Option<u64>| version.is_some() && *version == entry.version;
    let is_read: FxHashSet<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
    let new = entries.iter().filter(|entry| {
        !is_read.contains(entry.name.as_str())
            && !seen.get(&entry.name).is_some_and(|(version, _)| is_seen(entry, version))
    });
    let file_system = directory.file_system.as_ref();
    let mut heads = Beginnings::of_heads(file_system, &root, new);
    drop(is_read);
    heads.add_read(read).await.map_err(failed)?;
    for (number, entry) in entries.iter().enumerate() {
        if number % BATCH == BATCH - 1 {
            tokio::task::yield_now().await;
        }
        if let Some((version, pointer)) = seen.remove(&entry.name)
            && is_seen(entry, &version)
        {
            found.insert(entry.name.clone(), (version, pointer));
            continue;
        }
        match heads.head(&entry.name).await {
            Ok(file) if file.session_id().as_deref() == Some(id) => {
                found.insert(entry.name.clone(), (entry.version, from_head(entry, &file)));
            }
            Ok(_) => {}
            // The file was removed meanwhile.
            Err(NoHead::Unreadable(error)) if error.is_not_found() => {}
            Err(reason) => {
                skipped(&session.debug, &directory.path_of(&entry.name), &reason.reason());
            }
        }
    }
    Ok(found)
}

/// The indexed metadata of a stored output, before its result is read.
fn indexed(pointer: &Pointer) -> IndexedOutput {
    let text = |token: &str| {
        json_text::decode_string(token.as_bytes()).map(|text| text.into_owned()).unwrap_or_default()
    };
    let mut arguments = String::new();
    append_arguments(pointer.arguments().as_bytes(), &mut arguments);
    IndexedOutput {
        name: text(pointer.tool_name()),
        description: text(pointer.description()),
        arguments,
        outcome: pointer.outcome().indexed(),
        timestamp: pointer.timestamp,
        group: pointer.group(),
        stored: Some(pointer.filename().to_owned()),
    }
}
