//! The sweep: what dead sessions left behind goes, within the bounds of the retention.

use std::{path::PathBuf, sync::Arc, time::Duration};

use chrono::Utc;
use serde_json::json;
use storage::{
    Disk, FileEntry, FileError, FileResult, FileSystem, LiveSessions, Liveness, UnprovenLease,
    layout,
};

use super::{file_head::read_head, options::Retention};
use crate::{
    debug::Debug,
    safety::{Inspection, is_reachable},
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
    /// Sessions that are alive in the directory, or count as alive.
    pub live_sessions: u64,
}

/// What a sweep of one directory needs.
pub(super) struct Sweeper {
    pub file_system: Arc<dyn FileSystem>,
    pub disk: Arc<dyn Disk>,
    /// The directory without symbolic links.
    pub root: PathBuf,
    pub retention: Retention,
    /// A free lock proves that a session is over, whatever its lease says.
    pub trusts_locks: bool,
    pub inspection: Arc<Inspection>,
    pub debug: Debug,
}

/// What a look at the directory found.
struct Survey {
    /// Contexts of sessions that are over.
    left: Vec<Left>,
    /// Leases of sessions that may live on another host or mount, and are older than is kept.
    outlived: Vec<String>,
    report: SweepReport,
}

/// A context of a session that is over.
struct Left {
    name: String,
    length: u64,
    timestamp: i64,
}

impl Sweeper {
    /// Sweeps once the process's first saves are through.
    pub async fn sweep_in_background(self) {
        tokio::time::sleep(BACKGROUND_DELAY).await;
        match self.sweep().await {
            Ok(report) if report.deleted_files + report.deleted_temporaries > 0 => {
                self.debug.say("Swept what dead sessions left", || {
                    json!({ "deletedCount": report.deleted_files, "deletedBytes": report.deleted_bytes })
                });
            }
            Ok(_) => {}
            Err(error) => {
                self.debug.say(
                    "Failed to sweep the context directory",
                    || json!({ "filepath": self.root, "error": error.to_string() }),
                );
            }
        }
    }

    /// Removes what dead sessions left behind, within the bounds of the retention.
    ///
    /// # Errors
    /// When the directory cannot be read; single files that resist are left.
    pub async fn sweep(&self) -> FileResult<SweepReport> {
        let Survey { mut left, outlived, mut report } = self.survey().await?;
        left.sort_by_key(|context| std::cmp::Reverse(context.timestamp));
        for (number, context) in left.iter().enumerate() {
            if number % BATCH == BATCH - 1 {
                tokio::task::yield_now().await;
            }
            let is_kept = !self.is_old(context.timestamp)
                && report.kept_files < self.retention.max_files as u64
                && report.kept_bytes.saturating_add(context.length) <= self.retention.max_bytes;
            if is_kept {
                report.kept_files += 1;
                report.kept_bytes += context.length;
            } else if let Ok(true) = self.file_system.remove(&self.root.join(&context.name)).await {
                report.deleted_files += 1;
                report.deleted_bytes += context.length;
            }
        }
        for lease in outlived {
            // One that stays is found again.
            let _ = self.file_system.remove(&self.root.join(lease)).await;
        }
        Ok(report)
    }

    /// Removes every context of sessions that are over; returns how many, and the first failure: one
    /// that resists does not keep the others.
    pub async fn remove_dead(&self) -> (u64, Option<(PathBuf, FileError)>) {
        let left = match self.survey().await {
            Ok(survey) => survey.left,
            Err(error) => return (0, Some((self.root.clone(), error))),
        };
        let (mut deleted, mut failure) = (0, None);
        for context in left {
            let path = self.root.join(&context.name);
            match self.file_system.remove(&path).await {
                Ok(removed) => deleted += u64::from(removed),
                Err(error) => {
                    failure.get_or_insert((path, error));
                }
            }
        }
        (deleted, failure)
    }

    /// Whether something of that time, ms since 1970, is older than is kept.
    fn is_old(&self, time: i64) -> bool {
        Utc::now().timestamp_millis().saturating_sub(time) > self.retention.max_age
    }

    /// Finds what dead sessions left. The listing comes first, then the question who is alive: a
    /// session has its lease before its first file, so no live session's file is taken for a dead
    /// one's. What may belong to a session on another host or mount is left only when it is old.
    async fn survey(&self) -> FileResult<Survey> {
        let entries = self.file_system.list(&self.root).await?;
        self.report_exposed(&entries);
        let live = storage::live_sessions(self.disk.as_ref(), &self.root, self.trusts_locks)?;
        self.report_unproven(&live);
        let mut report =
            SweepReport { live_sessions: live.count() as u64, ..SweepReport::default() };
        let mut left = Vec::new();
        let is_old_lease = |lease: &&UnprovenLease| {
            let file = entries.iter().find(|entry| entry.name == lease.name);
            file.and_then(|file| file.modified).is_some_and(|modified| self.is_old(modified))
        };
        let mut outlived: Vec<&UnprovenLease> =
            live.unproven().iter().filter(is_old_lease).collect();
        for (number, entry) in entries.iter().enumerate() {
            if number % BATCH == BATCH - 1 {
                tokio::task::yield_now().await;
            }
            if let Some(owner) = layout::parse_temporary(&entry.name) {
                if !live.contains_owner(owner) {
                    let removed = self.file_system.remove(&self.root.join(&entry.name)).await;
                    report.deleted_temporaries += u64::from(removed.unwrap_or_default());
                }
            } else if let Some((session, context)) = self.context_of(entry).await {
                let is_old = self.is_old(context.timestamp);
                match live.liveness(&session) {
                    Liveness::Over => left.push(context),
                    Liveness::Unproven if is_old => left.push(context),
                    // Its session wrote lately, and keeps its leases.
                    _ if !is_old => outlived.retain(|lease| !lease.contains(&session)),
                    Liveness::Unproven | Liveness::Alive => {}
                }
            }
        }
        let outlived = outlived.into_iter().map(|lease| lease.name.clone()).collect();
        Ok(Survey { left, outlived, report })
    }

    /// Reports the first context that others may read, or that is another user's.
    fn report_exposed(&self, entries: &[FileEntry]) {
        let Some(user) = self.disk.user() else { return };
        let is_reachable = is_reachable(self.disk.as_ref(), &self.root);
        for entry in entries.iter().filter(|entry| layout::parse_context(&entry.name).is_some()) {
            if let Some(ownership) = entry.ownership
                && self.inspection.report_file(
                    &self.root.join(&entry.name),
                    ownership,
                    is_reachable,
                    user,
                    &self.debug,
                )
            {
                return;
            }
        }
    }

    fn report_unproven(&self, live: &LiveSessions) {
        let leases = live.unproven().len();
        if leases > 0 {
            self.inspection.say_once(
                "Sessions may be alive on another host or mount: their contexts stay until retention.maxAge",
                &self.debug,
                || json!({ "path": self.root, "leases": leases }),
            );
        }
    }

    /// A context and its session. Only what has the name of a context, is one, and says which session
    /// made it, can be ours.
    async fn context_of(&self, entry: &FileEntry) -> Option<(String, Left)> {
        let stamp = layout::parse_context(&entry.name)?;
        let file = read_head(self.file_system.as_ref(), &self.root, &entry.name).await.ok()?;
        // The younger of what the name and the file system say: a clock that jumped deletes nothing.
        let timestamp = stamp.timestamp.max(entry.modified.unwrap_or_default());
        let left = Left { name: entry.name.clone(), length: file.length, timestamp };
        Some((file.session_id()?, left))
    }
}
