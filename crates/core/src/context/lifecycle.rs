//! Removing contexts and ending sessions. `forget` removes one context, `clear` all contexts of the session.
//! `clear_pointers` drops the session's pointers and keeps its files; `clear_directory` removes its files and those of
//! sessions that are over, and keeps its pointers. `close` releases the session's lease.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chrono::Utc;
use serde_json::json;
use storage::{FileEntry, FileError, layout};

use super::{
    bounds, bytes,
    context_files::Listed,
    file_head::{FileHead, NoHead},
    pointer_table::Removed,
    refused,
    session::Session,
};
use crate::error::{Code, Error, Result};

/// The number of files that a clearing removed.
pub type Cleared = u64;

/// Counts removals and keeps the first error, so that one file that cannot be removed does not keep the others.
#[derive(Default)]
struct Removals {
    deleted: u64,
    /// Whether there was a file to remove.
    is_any: bool,
    failure: Option<Error>,
}

impl Removals {
    fn fail(&mut self, path: &Path, error: FileError) {
        self.failure.get_or_insert_with(|| refused("remove the context", path, error));
    }

    async fn remove(&mut self, session: &Session, filename: &str, has_bytes: bool) {
        self.is_any = true;
        match session.directory.remove(filename, has_bytes).await {
            Ok(removed) => self.deleted += u64::from(removed),
            Err(error) => self.fail(Path::new(&session.directory.path_of(filename)), error),
        }
    }

    /// Makes the removals durable if the durability level requires it.
    async fn sync(&mut self, session: &Session) {
        if let Err(error) = session.directory.sync_removals().await {
            self.failure.get_or_insert(error);
        }
    }

    fn report(self, session: &Session, message: &'static str) -> Result<Cleared> {
        let Self { deleted, failure, .. } = self;
        session.debug.say(
            message,
            || json!({ "contextDir": session.options.directory, "deletedCount": deleted }),
        );
        failure.map_or(Ok(deleted), Err)
    }
}

/// The saves that a clearing covers: those that were called before it.
pub struct Clearing {
    /// The time of the call, ms since 1970.
    called: i64,
    /// The session's managers in this process, with the number of calls of each.
    siblings: Vec<(u64, Arc<Session>)>,
}

impl Clearing {
    /// A clearing of everything that was saved before now.
    pub(super) fn begin(session: &Arc<Session>) -> Self {
        let siblings = session
            .neighbours()
            .into_iter()
            .filter(|neighbour| neighbour.options.session == session.options.session)
            .map(|sibling| (sibling.pointers.calls(), sibling))
            .collect();
        Self { called: Utc::now().timestamp_millis(), siblings }
    }

    /// Leaves out managers in other directories, where the same id is another session.
    async fn within(self, session: &Session) -> Self {
        let mut siblings = Vec::with_capacity(self.siblings.len());
        for (calls, sibling) in self.siblings {
            if session.directory.is_same(&sibling.directory).await {
                siblings.push((calls, sibling));
            }
        }
        Self { siblings, ..self }
    }

    /// Whether a file name was made after the clearing was called, in this or another process.
    fn is_later(&self, stamp: &layout::ContextStamp) -> bool {
        stamp.timestamp > self.called
            || self
                .siblings
                .iter()
                .any(|(cutoff, sibling)| stamp.counter >= *cutoff && sibling.pointers.made(stamp))
    }
}

/// Removes the session's contexts, in memory and in files, of all saves that were called before. The next save starts
/// the session again.
///
/// # Errors
/// `Io` if a file could not be removed; all others are removed nevertheless.
pub(super) async fn clear(session: &Session, clearing: Clearing) -> Result<Cleared> {
    let clearing = clearing.within(session).await;
    let mut removals = Removals::default();
    let mut has_unknown_files = session.options.session_is_named;
    for (cutoff, sibling) in &clearing.siblings {
        sibling.pointers.wait_before(*cutoff).await;
        has_unknown_files |= clear_own(sibling, *cutoff, &mut removals).await;
    }
    if has_unknown_files {
        remove_session_files(session, &clearing, &mut removals).await;
    }
    if removals.is_any || has_unknown_files {
        removals.sync(session).await;
    }
    for (_, sibling) in &clearing.siblings {
        // The next clearing looks for the files that could not be removed.
        if removals.failure.is_some() {
            sibling.pointers.note_unknown_files();
        }
        sibling.release_when_unused();
    }
    end(session, removals.is_any || has_unknown_files).await;
    removals.report(session, "Context directory cleared")
}

/// Ends a session whose contexts were removed: removes its record, and after the directory's last context the table of
/// handles.
async fn end(session: &Session, has_removed: bool) {
    let directory = &session.directory;
    if let Err(error) = directory.end_own_session().await {
        session.debug.say(
            "Failed to note a session's end",
            || json!({ "sessionId": session.options.session, "error": error.message }),
        );
    }
    if has_removed {
        directory.remove_unneeded_table().await;
    }
}

/// Drops a manager's contexts of calls below `cutoff`; returns `true` if files without a pointer may be left.
async fn clear_own(session: &Session, cutoff: u64, removals: &mut Removals) -> bool {
    let taken = session.pointers.take_before(cutoff);
    if taken.has_spilling {
        removals.is_any = true;
        session.pointers.wait_for_all().await;
    }
    let has_unknown_files = session.pointers.take_unknown_files();
    unindex(session, taken.pointers.keys().copied());
    for pointer in taken.pointers.values().filter(|pointer| pointer.on_disk) {
        removals.remove(session, pointer.filename(), pointer.has_bytes()).await;
    }
    has_unknown_files
}

/// Removes contexts from the index: all at once if none is left, otherwise one by one.
fn unindex(session: &Session, sequences: impl Iterator<Item = u64>) {
    if session.pointers.when_empty(|| session.index.clear()).is_none() {
        sequences.for_each(|sequence| session.index.remove(sequence));
    }
}

/// Removes the session's files for which this process has no pointer: those of other processes of the session, of an
/// earlier run, and of pointers that were cleared.
async fn remove_session_files(session: &Session, clearing: &Clearing, removals: &mut Removals) {
    let id = &session.options.session;
    let may_be_own = |entry: &FileEntry| {
        !session.options.session_is_named || layout::may_be_of_session(&entry.name, id)
    };
    let Listed { entries, root } = match session.directory.list().await {
        Ok(listed) => listed,
        Err(error) => {
            removals.fail(Path::new(&session.options.directory), error);
            return;
        }
    };
    for entry in entries.into_iter().filter(may_be_own) {
        if let Some(context) = layout::parse_bytes(&entry.name) {
            // With leases, a sweep does this: another process of the session may be about to write the record.
            if session.directory.disk.is_none() {
                let names = (entry.name.as_str(), context.as_str());
                remove_left_bytes(session, clearing, &root, names, removals).await;
            }
            continue;
        }
        let Some(stamp) = layout::parse_context(&entry.name) else { continue };
        if clearing.is_later(&stamp) {
            continue;
        }
        match session.directory.read_head(&root, &entry.name).await {
            Ok(file) if file.session_id().as_deref() == Some(id) => {
                removals.remove(session, &entry.name, file.has_bytes()).await;
            }
            Err(NoHead::Unreadable(error)) if !error.is_not_found() => {
                removals.fail(&root.join(&entry.name), error);
            }
            _ => {}
        }
    }
}

/// Removes binary data of the session whose record neither exists nor is about to be written.
async fn remove_left_bytes(
    session: &Session,
    clearing: &Clearing,
    root: &Path,
    (name, context): (&str, &str),
    removals: &mut Removals,
) {
    let directory = &session.directory;
    let is_own = match directory.read(root, name, bytes::MAX_LINE).await {
        Ok(beginning) => bytes::owner_of(&beginning.bytes)
            .is_some_and(|session_id| session_id == session.options.session),
        Err(_) => false,
    };
    let is_later = layout::parse_context(context).is_none_or(|stamp| clearing.is_later(&stamp));
    if !is_own || is_later || directory.has_file(context).await {
        return;
    }
    removals.is_any = true;
    if let Err(error) = directory.remove_file(name).await {
        removals.fail(Path::new(&directory.path_of(name)), error);
    }
}

/// Drops all pointers and the records that are only in memory, of all saves that were called before; keeps files.
pub(super) fn clear_pointers(session: &Session) {
    let taken = session.pointers.take_before(session.pointers.calls());
    if taken.pointers.values().any(|pointer| pointer.on_disk) {
        session.pointers.note_unknown_files();
    }
    unindex(session, taken.pointers.keys().copied());
}

/// Removes this session's files of saves that were called before, and the files of sessions that are over. Keeps the
/// pointers, whose files no longer exist, and the files of live sessions and of other programs.
///
/// # Errors
/// `Io` if a file could not be removed; all others are removed nevertheless.
pub(super) async fn clear_directory(session: &Arc<Session>, clearing: Clearing) -> Result<Cleared> {
    let clearing = clearing.within(session).await;
    let own = clearing.siblings.iter().find(|(_, sibling)| Arc::ptr_eq(sibling, session));
    let cutoff = own.map_or(0, |&(cutoff, _)| cutoff);
    session.pointers.wait_before(cutoff).await;
    // If the file system cannot say, the listing below finds out.
    let is_missing = !session.directory.exists().await.unwrap_or(true);
    let mut removals = Removals::default();
    for pointer in session.pointers.leave_disk(cutoff) {
        removals.remove(session, pointer.filename(), pointer.has_bytes()).await;
    }
    remove_session_files(session, &clearing, &mut removals).await;
    session.release_when_unused();
    let (deleted, failure) = session.directory.remove_dead().await;
    removals.deleted += deleted;
    if let Some((path, error)) = failure {
        removals.fail(&path, error);
    }
    removals.sync(session).await;
    end(session, true).await;
    if removals.failure.is_some() {
        session.pointers.note_unknown_files();
    }
    let message =
        if is_missing { "Context directory does not exist" } else { "Context directory cleared" };
    removals.report(session, message)
}

/// Removes one context from memory, index and disk; returns `false` if it does not exist.
///
/// # Errors
/// `OutsideDirectory`, `Conflict` if it belongs to a session that is live in another process, or `Io`.
pub(super) async fn forget(session: &Arc<Session>, path: &str) -> Result<bool> {
    let relative = match session.locate(path).await {
        // No context has this handle any more.
        Err(error) if error.code == Code::NotFound => return Ok(false),
        located => located?,
    };
    let stamp = layout::parse_context(&relative);
    for neighbour in session.neighbours() {
        // A save in flight writes its file before its pointer is inserted.
        if let Some(stamp) = stamp
            && neighbour.pointers.made(&stamp)
        {
            neighbour.pointers.wait_for(stamp.counter).await;
        }
        let is_same = neighbour.options.session == session.options.session
            && session.directory.is_same(&neighbour.directory).await;
        if is_same && let Some(removed) = neighbour.pointers.remove(&relative) {
            return forget_removed(session, &neighbour, &relative, removed).await.map(|()| true);
        }
    }
    if stamp.is_none() {
        return Ok(false);
    }
    forget_unnamed(session, path, &relative).await
}

/// Removes the files of a context whose pointer was removed from `owner`.
pub(super) async fn forget_removed(
    session: &Session,
    owner: &Session,
    relative: &str,
    removed: Removed,
) -> Result<()> {
    owner.index.remove(removed.sequence);
    owner.index.work_in_background();
    if removed.is_spilling {
        owner.pointers.wait_for_all().await;
    }
    let has_bytes = removed.pointer.has_bytes();
    let may_have_file = removed.pointer.on_disk || removed.is_spilling;
    // If the context was only in memory, and no earlier removal failed, it has no file.
    let outcome = if may_have_file || owner.pointers.has_unknown_files() {
        remove_file(session, relative, may_have_file, has_bytes).await
    } else {
        Ok(())
    };
    if outcome.is_err() {
        // The file may still exist without a pointer: the next clearing looks for it.
        owner.pointers.note_unknown_files();
    }
    outcome
}

async fn remove_file(
    session: &Session,
    relative: &str,
    may_be_there: bool,
    has_bytes: bool,
) -> Result<()> {
    if may_be_there {
        session
            .directory
            .remove(relative, has_bytes)
            .await
            .map_err(|error| failed(session, relative, error))?;
    }
    session.directory.sync_removals().await
}

fn failed(session: &Session, relative: &str, error: FileError) -> Error {
    refused("remove the context", &PathBuf::from(session.directory.path_of(relative)), error)
}

/// Removes a context for which this process has no pointer, if it is this session's or that of a session that is over.
async fn forget_unnamed(session: &Session, path: &str, relative: &str) -> Result<bool> {
    let Ok(root) = session.directory.root(path).await else { return Ok(false) };
    let head = session.directory.read_head(&root, relative).await;
    let may_forget = match head.as_ref().ok().and_then(FileHead::session_id) {
        Some(id) => id == session.options.session || session.directory.is_over(&root, &id).await,
        None => false,
    };
    let removed = match head {
        Ok(head) if may_forget => session
            .directory
            .remove(relative, head.has_bytes())
            .await
            .map_err(|error| failed(session, relative, error))?,
        Ok(_) => {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "{path} belongs to another session that is alive or paused; only that session forgets it, or end that session first"
                ),
            ));
        }
        Err(_) => false,
    };
    // Also if the file is gone: the process that removed it may not have synchronised the directory.
    session.directory.sync_removals().await?;
    Ok(removed)
}

/// Waits for the first `calls` saves, then releases the session's lease. Its files are kept within the bounds of the
/// retention policy.
pub(super) async fn close(session: &Arc<Session>, calls: u64) {
    session.pointers.wait_before(calls).await;
    bounds::enforce_on_session(session).await;
    session.directory.pause().await;
    // Does nothing if a later save has started the session again. The lease is dropped after the lock on the calls.
    let released = session.pointers.when_called(calls, || session.directory.close());
    let opened = released.flatten();
    let shared = opened.as_ref().and_then(|opened| opened.shared.as_ref());
    let shared = shared.map(|(shared, _)| Arc::clone(shared));
    drop(opened);
    if let Some(shared) = shared {
        shared.finish_background_sweep_when_unused().await;
    }
}
