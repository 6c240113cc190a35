//! The session record: a small JSON file with the id and the times of a session whose id the caller chose. While it
//! exists, the session is live or paused and its contexts are kept. A session without one is over when no process holds
//! its lease.

use std::{io::ErrorKind, path::Path, sync::Arc};

use chrono::Utc;
use serde::{Deserialize, Serialize};
use storage::{
    DirectorySync, Durability, FileEntry, FileResult, FileSystem, Payload, Target, layout,
    replace_file,
};

use super::beginnings::Beginnings;

/// A record that is younger than this is not written again, in ms.
const FRESH: i64 = 30_000;
/// The longest record, in bytes.
const MAX_LENGTH: u64 = 4096;

/// The contents of a session's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionRecord {
    pub id: String,
    /// When the session began, ms since 1970.
    pub created_at: i64,
    /// When a process last began to use the session or paused it, ms since 1970.
    pub last_used_at: i64,
    /// How long the session stays paused after its last use, in ms.
    pub keep_paused: i64,
}

impl SessionRecord {
    /// Whether the session was not used for `keep_paused`. `last_used` is the time of its latest context, because a
    /// process that was killed did not update the record.
    pub fn is_expired(&self, last_used: i64, now: i64) -> bool {
        now.saturating_sub(self.last_used_at.max(last_used)) > self.keep_paused
    }
}

/// When the session of a record was last used; the earliest time if it is no record.
pub(crate) fn last_use_of_session(record: &[u8]) -> i64 {
    serde_json::from_slice(record).map_or(i64::MIN, |record: SessionRecord| record.last_used_at)
}

/// The record of a session; `None` if there is none, or none that can be read.
pub(super) async fn read(
    file_system: &dyn FileSystem,
    root: &Path,
    id: &str,
) -> Option<SessionRecord> {
    try_read(file_system, root, id).await.ok().flatten()
}

/// The record of a session; `None` if there is none.
///
/// # Errors
/// Those of [`read_next`].
pub(super) async fn try_read(
    file_system: &dyn FileSystem,
    root: &Path,
    id: &str,
) -> FileResult<Option<SessionRecord>> {
    let mut file = beginnings(file_system, root, std::iter::empty());
    let record = read_next(&mut file, &layout::session(id)).await?;
    Ok(record.filter(|record| record.id == id))
}

/// The files of records, to be read with [`read_next`].
pub(super) fn beginnings<'a, 'e>(
    file_system: &'a dyn FileSystem,
    root: &'a Path,
    files: impl Iterator<Item = &'e FileEntry>,
) -> Beginnings<'a> {
    Beginnings::new(file_system, root, files, MAX_LENGTH)
}

/// The record in a file; `None` if the file is not a valid record, or was removed.
///
/// # Errors
/// The file system's: the session may have a record then, and must not be taken for one without.
pub(super) async fn read_next(
    files: &mut Beginnings<'_>,
    name: &str,
) -> FileResult<Option<SessionRecord>> {
    match files.contents(name).await {
        Ok(contents) => Ok(serde_json::from_slice(&contents.bytes).ok()),
        // A directory or a link with such a name is no record.
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::InvalidInput) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Updates the time of the session's last use. `before` is its record, if there is one. `temporary` is a name under the process's
/// lease, so that no sweep removes it.
///
/// # Errors
/// The file system's.
pub(super) async fn renew(
    file_system: &dyn FileSystem,
    (root, temporary): (&Path, &Path),
    id: &str,
    keep_paused: i64,
    before: Option<SessionRecord>,
) -> FileResult<()> {
    let now = Utc::now().timestamp_millis();
    if before.as_ref().is_some_and(|record| {
        record.keep_paused == keep_paused && (0..FRESH).contains(&(now - record.last_used_at))
    }) {
        return Ok(());
    }
    let record = SessionRecord {
        id: id.to_owned(),
        created_at: before.map_or(now, |record| record.created_at),
        last_used_at: now,
        keep_paused,
    };
    write(file_system, root, temporary, &record).await
}

async fn write(
    file_system: &dyn FileSystem,
    root: &Path,
    temporary: &Path,
    record: &SessionRecord,
) -> FileResult<()> {
    let text = serde_json::to_vec(record).unwrap_or_default();
    let name = layout::session(&record.id);
    let path = root.join(&name);
    let target = Target { directory: root, temporary, path: &path };
    let sync = DirectorySync::default();
    replace_file(file_system, target, Payload::new(text), Durability::Process, &sync).await
}

/// Removes the record of a session; returns whether it existed.
///
/// # Errors
/// The file system's.
pub(super) async fn remove(
    file_system: &Arc<dyn FileSystem>,
    root: &Path,
    id: &str,
) -> FileResult<bool> {
    file_system.remove(&root.join(layout::session(id))).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::LocalDisk;

    #[tokio::test]
    async fn a_record_keeps_its_beginning_and_its_last_use() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        assert_eq!(read(&LocalDisk, &root, "s").await, None);
        let temporary = root.join(layout::temporary(&layout::new_owner(), 0));
        let target = (root.as_path(), temporary.as_path());
        renew(&LocalDisk, target, "s", 1000, None).await.unwrap();
        let first = read(&LocalDisk, &root, "s").await.unwrap();
        assert_eq!((first.id.as_str(), first.keep_paused), ("s", 1000));
        assert!(!first.is_expired(0, first.last_used_at + 1000));
        assert!(first.is_expired(0, first.last_used_at + 1001));
        assert!(!first.is_expired(first.last_used_at + 1, first.last_used_at + 1001));
        renew(&LocalDisk, target, "s", 2000, Some(first.clone())).await.unwrap();
        let second = read(&LocalDisk, &root, "s").await.unwrap();
        assert_eq!((second.created_at, second.keep_paused), (first.created_at, 2000));
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 1);
        let file_system: Arc<dyn FileSystem> = Arc::new(LocalDisk);
        assert!(remove(&file_system, &root, "s").await.unwrap());
        assert!(!remove(&file_system, &root, "s").await.unwrap());
    }
}
