//! The end of contexts: one by one, by session, by directory.

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

/// How many files a clearing removed.
pub type Cleared = u64;

/// Counts removals and keeps the first failure, so that one stubborn file does not keep the others.
#[derive(Default)]
struct Removals {
    deleted: u64,
    /// There was a file to remove.
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

    /// Brings what was removed to stable storage where that is promised.
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

/// A clearing that was called: which saves it covers.
pub struct Clearing {
    /// Time of the call, ms since 1970.
    called: i64,
    /// The session's managers in this process, and how many calls each had had.
    siblings: Vec<(u64, Arc<Session>)>,
}

impl Clearing {
    /// The clearing of what was saved before now.
    pub(super) fn begin(session: &Arc<Session>) -> Self {
        let siblings = session
            .neighbours()
            .into_iter()
            .filter(|neighbour| neighbour.options.session == session.options.session)
            .map(|sibling| (sibling.pointers.calls(), sibling))
            .collect();
        Self { called: Utc::now().timestamp_millis(), siblings }
    }

    /// Without siblings in other directories: a session of the same name is another one there.
    async fn within(self, session: &Session) -> Self {
        let mut siblings = Vec::with_capacity(self.siblings.len());
        for (calls, sibling) in self.siblings {
            if session.directory.is_same(&sibling.directory).await {
                siblings.push((calls, sibling));
            }
        }
        Self { siblings, ..self }
    }

    /// Whether a file name was made after the clearing was called, here or elsewhere.
    fn is_later(&self, stamp: &layout::ContextStamp) -> bool {
        stamp.timestamp > self.called
            || self
                .siblings
                .iter()
                .any(|(cutoff, sibling)| stamp.counter >= *cutoff && sibling.pointers.made(stamp))
    }
}

/// Ends the session's contexts: memory and files, of every save called before. The session starts anew
/// with the next save.
///
/// # Errors
/// `Io` when a file could not be removed; the others are gone all the same.
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
        // What resisted is looked for again.
        if removals.failure.is_some() {
            sibling.pointers.note_unknown_files();
        }
        sibling.release_when_unused();
    }
    end(session, removals.is_any || has_unknown_files).await;
    removals.report(session, "Context directory cleared")
}

/// Ends a session whose contexts were removed: its record goes, and with the directory's last context the table of handles.
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

/// Drops a manager's contexts of calls below `cutoff`; `true` when files may be left that no pointer names.
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

/// Takes contexts out of the index: at once when none is left, else one by one.
fn unindex(session: &Session, sequences: impl Iterator<Item = u64>) {
    if session.pointers.when_empty(|| session.index.clear()).is_none() {
        sequences.for_each(|sequence| session.index.remove(sequence));
    }
}

/// Removes the session's files that no pointer of this process names: of other processes that share the
/// session, of an earlier run, of pointers that were cleared.
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
            // Where leases prove who is alive, a sweep does it: another process of the session may be about to write the record.
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

/// Removes bytes of the session whose record is not there, nor to come.
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

/// Drops every pointer and what only memory has, of every save called before; files stay.
pub(super) fn clear_pointers(session: &Session) {
    let taken = session.pointers.take_before(session.pointers.calls());
    if taken.pointers.values().any(|pointer| pointer.on_disk) {
        session.pointers.note_unknown_files();
    }
    unindex(session, taken.pointers.keys().copied());
}

/// Removes this session's files of saves called before, and those of sessions that are over. Pointers
/// stay, what they named on disk is gone. Files of live sessions and of other programs stay.
///
/// # Errors
/// `Io` when a file could not be removed; the others are gone all the same.
pub(super) async fn clear_directory(session: &Arc<Session>, clearing: Clearing) -> Result<Cleared> {
    let clearing = clearing.within(session).await;
    let own = clearing.siblings.iter().find(|(_, sibling)| Arc::ptr_eq(sibling, session));
    let cutoff = own.map_or(0, |&(cutoff, _)| cutoff);
    session.pointers.wait_before(cutoff).await;
    // Where the file system cannot say, what follows finds out.
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

/// Forgets one context: memory, index, file. `false` when there is none.
///
/// # Errors
/// `OutsideDirectory`, `Conflict` when it belongs to a session that is alive elsewhere, or `Io`.
pub(super) async fn forget(session: &Arc<Session>, path: &str) -> Result<bool> {
    let relative = match session.locate(path).await {
        // No context has the handle any more.
        Err(error) if error.code == Code::NotFound => return Ok(false),
        located => located?,
    };
    let stamp = layout::parse_context(&relative);
    for neighbour in session.neighbours() {
        // The file of a save in flight is there before its pointer is.
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

/// Forgets a context whose pointer was removed from `owner`.
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
    // Where memory alone had it, and no removal before failed, there is no file.
    let outcome = if may_have_file || owner.pointers.has_unknown_files() {
        remove_file(session, relative, may_have_file, has_bytes).await
    } else {
        Ok(())
    };
    if outcome.is_err() {
        // No pointer names the file any more: clearing has to look for it.
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

/// Forgets a context that no pointer of this process names, when it is this session's, or of one that is
/// over.
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
    // Also for what is gone: the process that removed it may not have brought that to stable storage.
    session.directory.sync_removals().await?;
    Ok(removed)
}

/// Waits for the first `calls` saves, then gives the session's lease up: what it wrote stays, within the
/// bounds of the retention.
pub(super) async fn close(session: &Arc<Session>, calls: u64) {
    session.pointers.wait_before(calls).await;
    bounds::enforce_on_session(session).await;
    session.directory.pause().await;
    // A later save has begun the session again. The lease ends after the lock on the calls.
    let released = session.pointers.when_called(calls, || session.directory.close());
    drop(released);
}
