//! The sweep: what dead sessions left behind goes, within the bounds of the retention.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use chrono::Utc;
use serde_json::json;

use super::{list, manager::Manager, options::Retention, refused};
use crate::{
    debug::Debug,
    durable::{self, LiveSessions},
    error::Result,
    file_system::{Disk, Entry, FileError, FileResult, FileSystem},
    names,
};

/// The background sweep leaves the first saves of a process alone.
const BACKGROUND_DELAY: Duration = Duration::from_secs(1);
/// Other work of the thread pool gets its turn after this many files.
const BATCH: usize = 64;

/// What a sweep found and did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Contexts removed.
    pub deleted_files: u64,
    /// Their bytes.
    pub deleted_bytes: u64,
    /// Unfinished files of dead processes removed.
    pub deleted_temporaries: u64,
    /// Contexts of dead sessions that stay within the bounds.
    pub kept_files: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// Sessions that are alive in the directory.
    pub live_sessions: u64,
}

/// A context of a session that is over.
struct Left {
    name: String,
    length: u64,
    timestamp: i64,
}

impl Manager {
    /// Removes what dead sessions left behind, within the bounds of the retention. With an injected
    /// file system, where no locks tell who is alive, nothing is touched.
    ///
    /// # Errors
    /// `Io` when the directory cannot be read; single files that resist are left.
    pub async fn sweep(&self) -> Result<SweepReport> {
        let Some(disk) = &self.disk else { return Ok(SweepReport::default()) };
        let directory = PathBuf::from(&self.options.directory);
        match self.file_system.canonical(&directory).await {
            Ok(root) => {
                let file_system = self.file_system.as_ref();
                sweep(file_system, disk.as_ref(), &root, &self.options.retention).await
            }
            Err(error) if error.is_not_found() => return Ok(SweepReport::default()),
            Err(error) => Err(error),
        }
        .map_err(|error| refused("sweep the context directory", &directory, error))
    }
}

/// Sweeps once the process's first saves are through.
pub(super) async fn in_background(
    file_system: Arc<dyn FileSystem>,
    disk: Arc<dyn Disk>,
    root: PathBuf,
    retention: Retention,
    debug: Debug,
) {
    tokio::time::sleep(BACKGROUND_DELAY).await;
    match sweep(file_system.as_ref(), disk.as_ref(), &root, &retention).await {
        Ok(report) if report.deleted_files + report.deleted_temporaries > 0 => {
            debug.say("Swept what dead sessions left", || {
                json!({ "deletedCount": report.deleted_files, "deletedBytes": report.deleted_bytes })
            });
        }
        Ok(_) => {}
        Err(error) => {
            debug.say(
                "Failed to sweep the context directory",
                || json!({ "filepath": root, "error": error.to_string() }),
            );
        }
    }
}

async fn sweep(
    file_system: &dyn FileSystem,
    disk: &dyn Disk,
    root: &Path,
    retention: &Retention,
) -> FileResult<SweepReport> {
    let (mut left, mut report) = survey(file_system, disk, root).await?;
    left.sort_by_key(|context| std::cmp::Reverse(context.timestamp));
    let now = Utc::now().timestamp_millis();
    for (number, context) in left.iter().enumerate() {
        if number % BATCH == BATCH - 1 {
            tokio::task::yield_now().await;
        }
        let is_kept = now.saturating_sub(context.timestamp) <= retention.max_age
            && report.kept_files < retention.max_files as u64
            && report.kept_bytes.saturating_add(context.length) <= retention.max_bytes;
        if is_kept {
            report.kept_files += 1;
            report.kept_bytes += context.length;
        } else if let Ok(true) = file_system.remove(&root.join(&context.name)).await {
            report.deleted_files += 1;
            report.deleted_bytes += context.length;
        }
    }
    Ok(report)
}

/// Removes every context of sessions that are over; returns how many, and the first failure: one
/// that resists does not keep the others.
pub(super) async fn remove_dead(
    file_system: &dyn FileSystem,
    disk: &dyn Disk,
    root: &Path,
) -> (u64, Option<(PathBuf, FileError)>) {
    let left = match survey(file_system, disk, root).await {
        Ok((left, _)) => left,
        Err(error) => return (0, Some((root.to_owned(), error))),
    };
    let (mut deleted, mut failure) = (0, None);
    for context in left {
        let path = root.join(&context.name);
        match file_system.remove(&path).await {
            Ok(removed) => deleted += u64::from(removed),
            Err(error) => {
                failure.get_or_insert((path, error));
            }
        }
    }
    (deleted, failure)
}

/// Finds what dead sessions left. The listing comes first, then the question who is alive: a
/// session has its lease before its first file, so no live session's file is taken for a dead one's.
async fn survey(
    file_system: &dyn FileSystem,
    disk: &dyn Disk,
    root: &Path,
) -> FileResult<(Vec<Left>, SweepReport)> {
    let entries = file_system.list(root).await?;
    let live = durable::live_sessions(disk, root)?;
    let mut report = SweepReport { live_sessions: live.count() as u64, ..SweepReport::default() };
    let mut left = Vec::new();
    for (number, entry) in entries.into_iter().enumerate() {
        if number % BATCH == BATCH - 1 {
            tokio::task::yield_now().await;
        }
        if let Some(owner) = names::parse_temporary(&entry.name) {
            if !live.contains_owner(owner) {
                let removed = file_system.remove(&root.join(&entry.name)).await;
                report.deleted_temporaries += u64::from(removed.unwrap_or_default());
            }
        } else if let Some(context) = dead_context(file_system, root, entry, &live).await {
            left.push(context);
        }
    }
    Ok((left, report))
}

/// Only what has the name of a context, is one, and says which session made it, can be ours.
async fn dead_context(
    file_system: &dyn FileSystem,
    root: &Path,
    entry: Entry,
    live: &LiveSessions,
) -> Option<Left> {
    let stamp = names::parse_context(&entry.name)?;
    let file = list::read_head(file_system, root, &entry.name).await.ok()?;
    if live.contains(&file.session_id()?) {
        return None;
    }
    // The younger of what the name and the file system say: a clock that jumped deletes nothing.
    let timestamp = stamp.timestamp.max(entry.modified.unwrap_or_default());
    Some(Left { name: entry.name, length: file.length, timestamp })
}
