//! The sweep: removes the contexts of dead sessions that exceed the retention policy, ends paused sessions that were
//! not used for long, and removes unfinished files.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use chrono::Utc;
use rustc_hash::FxHashMap;
use serde_json::json;
use storage::{
    Disk, FileEntry, FileError, FileResult, FileSystem, LiveSessions, Liveness, UnprovenLease,
    layout,
};

use super::{
    beginnings::Beginnings,
    bytes,
    directory::SharedDirectory,
    handle_table::{HandleTable, Mark},
    options::Retention,
    session_record::{self, SessionRecord},
};
use crate::{
    debug::Debug,
    safety::{Inspection, is_reachable},
};

/// The delay of the background sweep, so that it does not slow a process's first saves.
const BACKGROUND_DELAY: Duration = Duration::from_secs(1);
/// Files between two yields to other tasks.
const BATCH: usize = 64;

/// The report of a sweep or of a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// The number of contexts that were removed.
    pub deleted_files: u64,
    /// Their size in bytes.
    pub deleted_bytes: u64,
    /// The number of unfinished files of dead processes that were removed.
    pub deleted_temporaries: u64,
    /// The number of contexts of dead sessions that were kept.
    pub kept_files: u64,
    /// Their size in bytes.
    pub kept_bytes: u64,
    /// The number of sessions that are live in the directory, or count as live.
    pub live_sessions: u64,
    /// The number of paused sessions.
    pub paused_sessions: u64,
    /// The size of their contexts in bytes.
    pub paused_bytes: u64,
    /// The files that a dry run would remove.
    pub removals: Vec<Removal>,
}

/// A file that a sweep would remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The file's name.
    pub name: String,
    /// The session's id; `None` for an unfinished file.
    pub session: Option<String>,
    /// Its size in bytes, if known.
    pub bytes: u64,
    /// The reason.
    pub reason: &'static str,
}

/// Whether a sweep removes what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The files are removed.
    Remove,
    /// The sweep only reports them.
    DryRun,
}

/// The dependencies of a sweep of one directory.
pub(super) struct Sweeper {
    pub file_system: Arc<dyn FileSystem>,
    pub disk: Arc<dyn Disk>,
    /// The canonical path.
    pub root: PathBuf,
    pub retention: Retention,
    /// Whether a free lock proves that a session is over, even if its lease is of another host or mount.
    pub trusts_locks: bool,
    pub inspection: Arc<Inspection>,
    /// The table in which removals are recorded.
    pub handles: Arc<HandleTable>,
    pub debug: Debug,
}

/// The result of examining the directory.
struct Survey {
    /// Contexts of sessions that are over.
    left: Vec<Left>,
    /// Records of sessions that are over.
    ended: Vec<SessionRecord>,
    /// Contexts of all sessions.
    contexts: usize,
    /// Leases of sessions that may be live on another host or mount, and that are older than the retention policy
    /// allows.
    outlived: Vec<String>,
    report: SweepReport,
}

/// A context of a dead session.
struct Left {
    name: String,
    session: String,
    handle: Option<u64>,
    /// The size of the record and its binary data.
    length: u64,
    has_bytes: bool,
    timestamp: i64,
}

/// A session with a record that no process holds.
struct Paused {
    record: SessionRecord,
    contexts: Vec<Left>,
}

impl Paused {
    fn bytes(&self) -> u64 {
        self.contexts.iter().map(|context| context.length).sum()
    }

    /// When it was last used, ms since 1970.
    fn last_used(&self) -> i64 {
        let latest = self.contexts.iter().map(|context| context.timestamp).max();
        self.record.last_used_at.max(latest.unwrap_or_default())
    }
}

fn unfinished(entry: &FileEntry) -> Removal {
    Removal {
        name: entry.name.clone(),
        session: None,
        bytes: entry.length.unwrap_or_default(),
        reason: "unfinished file of a process that ended",
    }
}

impl Sweeper {
    /// Sweeps `directory`, which this sweeper is for, after the process's first saves.
    pub async fn sweep_in_background(self, directory: Arc<SharedDirectory>) {
        tokio::time::sleep(BACKGROUND_DELAY).await;
        let _running = directory.begin_background_sweep().await;
        // One process at a time: the sweep of another process is enough.
        let Ok(Some(_turn)) = self.handles.try_lock() else { return };
        match self.sweep(Mode::Remove).await {
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

    /// Removes the files of dead sessions that exceed the retention policy.
    ///
    /// # Errors
    /// If the directory cannot be read; files that cannot be removed are skipped.
    pub async fn sweep(&self, mode: Mode) -> FileResult<SweepReport> {
        let Survey { mut left, ended, outlived, contexts, mut report } = self.survey(mode).await?;
        left.sort_by_key(|context| std::cmp::Reverse(context.timestamp));
        for (number, context) in left.into_iter().enumerate() {
            if number % BATCH == BATCH - 1 {
                tokio::task::yield_now().await;
            }
            let Some(reason) = self.excess(&context, &report) else {
                report.kept_files += 1;
                report.kept_bytes += context.length;
                continue;
            };
            if mode == Mode::DryRun {
                report.deleted_files += 1;
                report.deleted_bytes += context.length;
                let Left { name, session, length, .. } = context;
                let session = Some(session);
                report.removals.push(Removal { name, session, bytes: length, reason });
            } else if let Ok(true) = self.remove(&context).await {
                report.deleted_files += 1;
                report.deleted_bytes += context.length;
            }
        }
        if mode == Mode::Remove {
            let records = ended.iter().map(|record| layout::session(&record.id));
            for name in outlived.into_iter().chain(records) {
                // If this fails, the next sweep finds the file again.
                let _ = self.file_system.remove(&self.root.join(name)).await;
            }
            let kept = contexts.saturating_sub(report.deleted_files as usize);
            // The table is a cache: one that is not compacted only takes more space.
            let _ = self.handles.shrink(kept);
        }
        Ok(report)
    }

    /// Why a context is removed; `None` if it is kept within the bounds.
    fn excess(&self, context: &Left, report: &SweepReport) -> Option<&'static str> {
        let bytes = report.kept_bytes.saturating_add(context.length);
        if self.is_old(context.timestamp) {
            Some("older than retention.maxAge")
        } else if report.kept_files >= self.retention.max_files as u64 {
            Some("more files than retention.maxFiles")
        } else if bytes > self.retention.max_bytes {
            Some("more bytes than retention.maxBytes")
        } else {
            None
        }
    }

    async fn remove(&self, context: &Left) -> FileResult<bool> {
        let removed = self.remove_files(context).await?;
        if let Some(handle) = context.handle {
            // A failure costs only the reason in a later error message.
            let _ = self.handles.add(handle, Mark::DeletedByRetention, &context.name);
        }
        Ok(removed)
    }

    /// Removes a context's file, then the file of its binary data.
    async fn remove_files(&self, context: &Left) -> FileResult<bool> {
        let removed = self.file_system.remove(&self.root.join(&context.name)).await?;
        if context.has_bytes {
            // The removal of the record is durable first, so that a power failure does not restore a record without its
            // bytes.
            self.file_system.sync_directory(&self.root).await?;
            let name = layout::bytes_of(&context.name);
            self.file_system.remove(&self.root.join(name)).await?;
        }
        Ok(removed)
    }

    /// Removes all contexts of sessions that are over; returns their number and the first error. A file that cannot be
    /// removed does not keep the others.
    pub async fn remove_dead(&self) -> (u64, Option<(PathBuf, FileError)>) {
        let Survey { left, ended, .. } = match self.survey(Mode::Remove).await {
            Ok(survey) => survey,
            Err(error) => return (0, Some((self.root.clone(), error))),
        };
        let (mut deleted, mut failure) = (0, None);
        for context in left {
            let path = self.root.join(&context.name);
            match self.remove_files(&context).await {
                Ok(removed) => deleted += u64::from(removed),
                Err(error) => {
                    failure.get_or_insert((path, error));
                }
            }
        }
        for record in ended {
            // If this fails, the next sweep finds the record again.
            let _ = session_record::remove(&self.file_system, &self.root, &record.id).await;
        }
        (deleted, failure)
    }

    /// Whether a time, ms since 1970, is older than the retention policy allows.
    fn is_old(&self, time: i64) -> bool {
        Utc::now().timestamp_millis().saturating_sub(time) > self.retention.max_age
    }

    /// Finds the files of dead sessions. The directory is listed before the live sessions are determined: a session
    /// takes its lease before it writes its first file, so the listing has no file of a live session that looks dead.
    /// Files of sessions that may be live on another host or mount are only included if they are old.
    async fn survey(&self, mode: Mode) -> FileResult<Survey> {
        let entries = self.file_system.list(&self.root).await?;
        self.report_exposed(&entries);
        let live = storage::live_sessions(self.disk.as_ref(), &self.root, self.trusts_locks)?;
        self.report_unproven(&live);
        let mut report =
            SweepReport { live_sessions: live.count() as u64, ..SweepReport::default() };
        let mut left = Vec::new();
        let mut contexts = 0;
        let mut paused = self.records(&entries, &live).await?;
        let is_old_lease = |lease: &&UnprovenLease| {
            let file = entries.iter().find(|entry| entry.name == lease.name);
            file.and_then(|file| file.modified).is_some_and(|modified| self.is_old(modified))
        };
        let mut outlived: Vec<&UnprovenLease> =
            live.unproven().iter().filter(is_old_lease).collect();
        let named = entries.iter().filter(|entry| layout::parse_context(&entry.name).is_some());
        let mut heads = Beginnings::of_heads(self.file_system.as_ref(), &self.root, named);
        for (number, entry) in entries.iter().enumerate() {
            if number % BATCH == BATCH - 1 {
                tokio::task::yield_now().await;
            }
            if let Some(owner) = layout::parse_temporary(&entry.name) {
                if live.contains_owner(owner) {
                    continue;
                }
                self.remove_unfinished(entry, mode, &mut report).await;
            } else if let Some(context) = layout::parse_bytes(&entry.name) {
                if !self.is_left_over(&entry.name, &context, &live).await {
                    continue;
                }
                self.remove_unfinished(entry, mode, &mut report).await;
            } else if let Some(context) = context_of(&mut heads, entry).await {
                contexts += 1;
                if let Some(paused) = paused.get_mut(&context.session) {
                    paused.contexts.push(context);
                    continue;
                }
                let is_old = self.is_old(context.timestamp);
                match live.liveness(&context.session) {
                    Liveness::Over => left.push(context),
                    Liveness::Unproven if is_old => left.push(context),
                    // Its session wrote recently, so its leases are kept.
                    _ if !is_old => outlived.retain(|lease| !lease.contains(&context.session)),
                    Liveness::Unproven | Liveness::Alive => {}
                }
            }
        }
        let outlived = outlived.into_iter().map(|lease| lease.name.clone()).collect();
        let ended = self.end_excess(paused, &mut report, &mut left)?;
        Ok(Survey { left, ended, outlived, contexts, report })
    }

    /// Removes a file that an interrupted save left.
    async fn remove_unfinished(&self, entry: &FileEntry, mode: Mode, report: &mut SweepReport) {
        if mode == Mode::DryRun {
            report.deleted_temporaries += 1;
            report.removals.push(unfinished(entry));
        } else {
            let removed = self.file_system.remove(&self.root.join(&entry.name)).await;
            report.deleted_temporaries += u64::from(removed.unwrap_or_default());
        }
    }

    /// The sessions with a record that no process holds.
    async fn records(
        &self,
        entries: &[FileEntry],
        live: &LiveSessions,
    ) -> FileResult<FxHashMap<String, Paused>> {
        let mut paused = FxHashMap::default();
        let is_record = |entry: &&FileEntry| layout::is_session(&entry.name);
        let file_system = self.file_system.as_ref();
        let mut records =
            session_record::beginnings(file_system, &self.root, entries.iter().filter(is_record));
        for entry in entries.iter().filter(is_record) {
            // A record that cannot be read may be one of a paused session, whose contexts stay.
            let record = session_record::read_next(&mut records, &entry.name).await?;
            if let Some(record) = record
                && layout::session(&record.id) == entry.name
                && live.liveness(&record.id) != Liveness::Alive
            {
                let id = record.id.clone();
                paused.insert(id, Paused { record, contexts: Vec::new() });
            }
        }
        Ok(paused)
    }

    /// Ends the paused sessions that were not used for long, and the least recently used ones if they exceed the
    /// bounds; their contexts are added to `left`. Returns their records.
    fn end_excess(
        &self,
        paused: FxHashMap<String, Paused>,
        report: &mut SweepReport,
        left: &mut Vec<Left>,
    ) -> FileResult<Vec<SessionRecord>> {
        let now = Utc::now().timestamp_millis();
        let mut paused: Vec<Paused> = paused.into_values().collect();
        paused.sort_by_key(|session| std::cmp::Reverse(session.last_used()));
        let mut bytes = 0_u64;
        let (kept, excess): (Vec<_>, Vec<_>) = paused.into_iter().partition(|session| {
            let is_expired = session.record.is_expired(session.last_used(), now);
            let with_it = bytes.saturating_add(session.bytes());
            let is_kept = !is_expired && with_it <= self.retention.max_paused_bytes;
            if is_kept {
                bytes = with_it;
            }
            is_kept
        });
        report.paused_sessions = kept.len() as u64;
        report.paused_bytes = bytes;
        if excess.is_empty() {
            return Ok(Vec::new());
        }
        // A process may have resumed one of them meanwhile.
        let live = storage::live_sessions(self.disk.as_ref(), &self.root, self.trusts_locks)?;
        let mut ended = Vec::new();
        for session in excess {
            if live.liveness(&session.record.id) == Liveness::Alive {
                continue;
            }
            if !session.record.is_expired(session.last_used(), now) {
                self.debug.say(
                    "A paused session ended: paused sessions take more than retention.maxPausedBytes",
                    || json!({ "sessionId": session.record.id, "bytes": session.bytes() }),
                );
            }
            ended.push(session.record);
            left.extend(session.contexts);
        }
        Ok(ended)
    }

    /// Reports the first context that other users can read, or that another user owns.
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

    /// Whether the file has the binary data of a missing record of a dead session. The live sessions must be determined
    /// before: a dead session does not write the record later.
    async fn is_left_over(&self, name: &str, context: &str, live: &LiveSessions) -> bool {
        let read = |name, limit| self.file_system.read(&self.root, Path::new(name), limit);
        let Ok(beginning) = read(name, bytes::MAX_LINE).await else { return false };
        let Some(session) = bytes::owner_of(&beginning.bytes) else { return false };
        live.liveness(&session) == Liveness::Over
            && matches!(read(context, 1).await, Err(error) if error.is_not_found())
    }
}

/// A context with its session. Only a file with a context's name and a valid record that names its session is considered.
async fn context_of(heads: &mut Beginnings<'_>, entry: &FileEntry) -> Option<Left> {
    let stamp = layout::parse_context(&entry.name)?;
    let file = heads.head(&entry.name).await.ok()?;
    // The later of the times in the name and in the file system, so that a clock that was set wrong removes nothing.
    let timestamp = stamp.timestamp.max(entry.modified.unwrap_or_default());
    Some(Left {
        name: entry.name.clone(),
        session: file.session_id()?,
        handle: file.handle(),
        length: file.size(),
        has_bytes: file.has_bytes(),
        timestamp,
    })
}
