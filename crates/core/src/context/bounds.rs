//! Enforces the bounds of a live session: while its contexts exceed a number of files or bytes on disk, the least
//! recently used are removed.

use std::{path::Path, sync::Arc};

use rustc_hash::FxHashMap;
use serde_json::json;
use storage::{FileEntry, layout};

use super::{
    context_files::Listed, handle_table::Mark, lifecycle, options::Retention,
    pointer_table::Removed, session::Session,
};

/// Whether the retention has bounds for live sessions.
pub(super) const fn is_bounded(retention: &Retention) -> bool {
    retention.max_live_files < usize::MAX || retention.max_live_bytes < u64::MAX
}

/// Enforces the bounds on the contexts of this manager, in a background task, if they are exceeded.
pub(super) fn enforce_in_background(session: &Arc<Session>) {
    if is_bounded(&session.options.retention) && session.is_over_bounds() {
        let session = Arc::clone(session);
        tokio::spawn(async move { enforce(&session).await });
    }
}

/// Enforces the bounds on the contexts of this manager.
pub(super) async fn enforce(session: &Arc<Session>) {
    let Retention { max_live_files, max_live_bytes, .. } = session.options.retention;
    while let Some(removed) = session.pointers.take_excess(max_live_files, max_live_bytes) {
        let Removed { sequence, pointer, is_spilling } = removed;
        let (filename, handle) = (pointer.filename().to_owned(), pointer.handle);
        let removed = Removed { sequence, pointer, is_spilling };
        if let Err(error) = lifecycle::forget_removed(session, session, &filename, removed).await {
            session.debug.say(
                "Failed to remove a context beyond the bounds of its session",
                || json!({ "filepath": session.directory.path_of(&filename), "error": error.message }),
            );
            return;
        }
        note_removal(session, handle, &filename);
    }
}

/// Enforces the bounds on all files of the session, including those of its other and earlier processes.
pub(super) async fn enforce_on_session(session: &Arc<Session>) {
    let retention = &session.options.retention;
    if !is_bounded(retention) {
        return;
    }
    enforce(session).await;
    if !session.directory.is_pausable() {
        return;
    }
    let Ok(Listed { entries, root }) = session.directory.list().await else { return };
    let id = &session.options.session;
    let beside: FxHashMap<String, u64> = entries
        .iter()
        .filter_map(|entry| Some((layout::parse_bytes(&entry.name)?, entry.length?)))
        .collect();
    let length = |entry: &FileEntry| {
        entry.length.unwrap_or_default() + beside.get(&entry.name).copied().unwrap_or_default()
    };
    let mut own: Vec<FileEntry> = entries
        .into_iter()
        .filter(|entry| {
            layout::parse_context(&entry.name).is_some()
                && layout::may_be_of_session(&entry.name, id)
        })
        .collect();
    let mut files = own.len();
    let mut bytes: u64 = own.iter().map(length).sum();
    own.sort_by_cached_key(|entry| layout::parse_context(&entry.name).map(|name| name.timestamp));
    for entry in own {
        if files <= retention.max_live_files.max(1) && bytes <= retention.max_live_bytes {
            return;
        }
        // Contexts that this manager knows were handled above, in the order of use.
        if session.pointers.pointer_of(&entry.name).is_some() {
            continue;
        }
        if remove_unnamed(session, &root, &entry.name).await {
            files -= 1;
            bytes -= length(&entry).min(bytes);
        }
    }
}

/// Removes a context of the session that another of its processes saved; returns whether it existed.
async fn remove_unnamed(session: &Session, root: &Path, name: &str) -> bool {
    let Ok(head) = session.directory.read_head(root, name).await else { return false };
    if head.session_id().as_deref() != Some(session.options.session.as_str()) {
        return false;
    }
    let is_removed = session.directory.remove(name, head.has_bytes()).await.unwrap_or_default();
    if is_removed {
        note_removal(session, head.handle(), name);
    }
    is_removed
}

fn note_removal(session: &Session, handle: Option<u64>, filename: &str) {
    session.directory.note_removal(handle, Mark::DeletedByCap, filename);
    session.debug.say(
        "A context went: its session has more than retention.maxLiveBytes or maxLiveFiles",
        || json!({ "filepath": session.directory.path_of(filename) }),
    );
}
