//! Operations on the sessions of a directory: lists them with their state, pauses and ends them, and sweeps the files
//! of those that are over. Also access to the directory's table of handles, and to single context files.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use rustc_hash::FxHashMap;
use serde::Serialize;
use storage::{FileEntry, FileError, LiveSessions, layout};

use super::{
    beginnings::Beginnings,
    context_directory::{ContextDirectory, Opened},
    context_files::Listed,
    directory::SharedDirectory,
    file_head::from_head,
    handle_table::HandleTable,
    pointer::Pointer,
    refused,
    session_record::{self, SessionRecord},
    sweep::{Mode, SweepReport, Sweeper},
};
use crate::error::Result;

/// Files that are read between two yields.
const BATCH: usize = 64;

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionState {
    /// A process holds its lease, or may hold it.
    Live,
    /// No process holds its lease; its contexts are kept until it is resumed.
    Paused,
    /// The session is over; its contexts are kept within the bounds of the retention policy.
    Ended,
}

/// A session of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// Its state.
    pub state: SessionState,
    /// When it began, ms since 1970; the time of its first context, if the record does not say.
    pub created_at: i64,
    /// When it was last used, ms since 1970.
    pub last_used_at: i64,
    /// The number of its contexts on disk.
    pub contexts: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The number of processes that hold it.
    pub processes: u64,
}

impl SessionInfo {
    const fn of(id: String, time: i64) -> Self {
        Self {
            id,
            state: SessionState::Ended,
            created_at: time,
            last_used_at: time,
            contexts: 0,
            bytes: 0,
            processes: 0,
        }
    }
}

/// The table of handles, on disks that can have one.
impl ContextDirectory {
    /// The table and the canonical path of the directory; `None` if the directory does not exist or has no table.
    pub async fn handles(&self) -> Option<(Arc<HandleTable>, PathBuf)> {
        if let Some(opened) = self.opened() {
            let (shared, _) = opened.shared.as_ref()?;
            return Some((Arc::clone(&shared.handles), opened.root.clone()));
        }
        let disk = self.disk.as_ref()?;
        let root = self.file_system.canonical(self.path()).await.ok()?;
        let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        // Kept open, because reading the whole table for each handle would take long.
        let shared = match looked_at.take().filter(|shared| shared.path() == root) {
            Some(shared) => shared,
            None => SharedDirectory::shared(disk, &root),
        };
        let handles = Arc::clone(&shared.handles);
        *looked_at = Some(shared);
        Some((handles, root))
    }
}

/// Removal of the table.
impl ContextDirectory {
    /// Removes the table of handles if none of its files exists any more.
    pub async fn remove_unneeded_table(&self) {
        if let Some((table, _)) = self.handles().await {
            // If this fails, the table only names removed files.
            let _ = table.remove_when_unneeded();
        }
    }
}

/// Single contexts.
impl ContextDirectory {
    /// Whether the file exists.
    pub async fn has_file(&self, filename: &str) -> bool {
        let Ok(root) = self.root(filename).await else { return false };
        self.read(&root, filename, 0).await.is_ok()
    }

    /// The pointer of a file; `None` if it is no valid context.
    pub async fn pointer_of_file(&self, filename: &str) -> Option<Pointer> {
        let root = self.root(filename).await.ok()?;
        let file = self.read_head(&root, filename).await.ok()?;
        let entry = FileEntry { name: filename.to_owned(), ..FileEntry::default() };
        Some(from_head(&entry, &file))
    }
}

/// Sessions.
impl ContextDirectory {
    /// Whether the session is over: no process holds its lease, and it is not paused.
    pub async fn is_over(&self, root: &Path, session: &str) -> bool {
        let Some(disk) = self.disk.as_deref() else { return false };
        let is_live = storage::live_sessions(disk, root, self.options.trust.locks)
            .map_or(true, |live| live.contains(session));
        let record = session_record::try_read(self.file_system.as_ref(), root, session);
        !is_live && matches!(record.await, Ok(None))
    }

    /// The sessions of the directory, latest used first. With an injected file system, whose locks cannot prove which
    /// sessions are live, all sessions with contexts count as live.
    ///
    /// # Errors
    /// `UnsafeDirectory`, or `Io` if the directory cannot be read.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>> {
        self.check()?;
        self.list_sessions()
            .await
            .map_err(|error| refused("list the context directory", self.path(), error))
    }

    async fn list_sessions(&self) -> std::result::Result<Vec<SessionInfo>, FileError> {
        let Listed { entries, root } = self.list().await?;
        let live = match &self.disk {
            Some(disk) if !entries.is_empty() => {
                Some(storage::live_sessions(disk.as_ref(), &root, self.options.trust.locks)?)
            }
            _ => None,
        };
        let mut sessions: FxHashMap<String, SessionInfo> = FxHashMap::default();
        let file_system = self.file_system.as_ref();
        let is_record = |entry: &&FileEntry| layout::is_session(&entry.name);
        let mut records =
            session_record::beginnings(file_system, &root, entries.iter().filter(is_record));
        for entry in entries.iter().filter(is_record) {
            if let Some(record) = session_record::read_next(&mut records, &entry.name).await? {
                let SessionRecord { id, created_at, last_used_at, .. } = record;
                let state = SessionState::Paused;
                let info = SessionInfo { state, last_used_at, ..SessionInfo::of(id, created_at) };
                sessions.insert(info.id.clone(), info);
            }
        }
        let contexts = entries.iter().filter(|entry| layout::parse_context(&entry.name).is_some());
        let mut heads = Beginnings::of_heads(file_system, &root, contexts);
        for (number, entry) in entries.iter().enumerate() {
            if number % BATCH == BATCH - 1 {
                tokio::task::yield_now().await;
            }
            let Some(stamp) = layout::parse_context(&entry.name) else { continue };
            let Ok(head) = heads.head(&entry.name).await else { continue };
            let Some(id) = head.session_id() else { continue };
            let info = sessions
                .entry(id)
                .or_insert_with_key(|id| SessionInfo::of(id.clone(), stamp.timestamp));
            info.contexts += 1;
            info.bytes += head.size();
            info.created_at = info.created_at.min(stamp.timestamp);
            info.last_used_at = info.last_used_at.max(stamp.timestamp);
        }
        let mut sessions: Vec<SessionInfo> =
            sessions.into_values().map(|info| with_state(info, live.as_ref())).collect();
        sessions.sort_by(|one, other| {
            other.last_used_at.cmp(&one.last_used_at).then_with(|| one.id.cmp(&other.id))
        });
        Ok(sessions)
    }

    /// Records that the session was used until now. It is paused once its last process has ended.
    pub async fn pause(&self) {
        let Some(opened) = self.opened().filter(|_| self.is_pausable()) else { return };
        let id = &self.options.session;
        // A session that was ended meanwhile is not paused.
        if session_record::read(self.file_system.as_ref(), &opened.root, id).await.is_some()
            && let Err(error) = self.touch_session(&opened).await
        {
            // The record exists since the directory was opened; only its time is outdated.
            self.debug.say(
                "Failed to note a session's last use",
                || serde_json::json!({ "sessionId": id, "error": error.to_string() }),
            );
        }
    }

    /// Ends the session of this manager. A save in flight starts it again.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn end_own_session(&self) -> Result<()> {
        // Another manager may have used the id as that of a named session.
        if self.disk.is_none() {
            return Ok(());
        }
        self.end_session(&self.options.session).await?;
        if let Some(opened) = self.opened().filter(|_| self.is_pausable()) {
            let touched = self.touch_session(&opened).await;
            touched.map_err(|error| refused("note the session in", self.path(), error))?;
        }
        Ok(())
    }

    /// Ends a session: a process that still holds it cannot pause it later. Returns whether it was live or paused.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn end_session(&self, id: &str) -> Result<bool> {
        self.check()?;
        let root = match self.file_system.canonical(self.path()).await {
            Ok(root) => root,
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => {
                return Err(refused("open the context directory", self.path(), error));
            }
        };
        let removed = session_record::remove(&self.file_system, &root, id).await;
        removed.map_err(|error| refused("end a session of", self.path(), error))
    }
}

/// Sweeping.
impl ContextDirectory {
    /// Removes the files of dead sessions that exceed the retention policy. With an injected file system, whose locks
    /// cannot prove which sessions are live, nothing is removed.
    ///
    /// # Errors
    /// `UnsafeDirectory`; `Io` if the directory cannot be read; files that cannot be removed are skipped.
    pub async fn sweep(&self, mode: Mode) -> Result<SweepReport> {
        self.check()?;
        let swept = match self.file_system.canonical(self.path()).await {
            Ok(root) => match self.sweeper(&root) {
                Some(sweeper) => sweeper.sweep(mode).await,
                None => Ok(SweepReport::default()),
            },
            Err(error) if error.is_not_found() => Ok(SweepReport::default()),
            Err(error) => Err(error),
        };
        swept.map_err(|error| refused("sweep the context directory", self.path(), error))
    }

    /// Removes all contexts of sessions that are over; returns their number and the first error.
    pub async fn remove_dead(&self) -> (u64, Option<(PathBuf, FileError)>) {
        if let Ok(root) = self.file_system.canonical(self.path()).await
            && let Some(sweeper) = self.sweeper(&root)
        {
            return sweeper.remove_dead().await;
        }
        (0, None)
    }

    /// Starts a background sweep if one is due.
    pub(super) fn sweep_in_background(&self, opened: &Opened) {
        if let Some((shared, _)) = &opened.shared
            && shared.claim_background_sweep()
            && let Some(sweeper) = self.sweeper(shared.path())
        {
            tokio::spawn(sweeper.sweep_in_background(Arc::clone(shared)));
        }
    }

    /// A sweeper for `root`, the canonical path; `None` if no locks prove which sessions are live.
    fn sweeper(&self, root: &Path) -> Option<Sweeper> {
        let disk = self.disk.as_ref()?;
        Some(Sweeper {
            file_system: Arc::clone(&self.file_system),
            disk: Arc::clone(disk),
            root: root.to_owned(),
            retention: self.options.retention,
            trusts_locks: self.options.trust.locks,
            inspection: Arc::clone(&self.inspection),
            handles: Arc::clone(&SharedDirectory::shared(disk, root).handles),
            debug: self.debug.clone(),
        })
    }
}

fn with_state(info: SessionInfo, live: Option<&LiveSessions>) -> SessionInfo {
    let Some(live) = live else { return SessionInfo { state: SessionState::Live, ..info } };
    let processes = live.processes(&info.id);
    let is_live = processes > 0 || (live.contains(&info.id) && info.state != SessionState::Paused);
    let state = if is_live { SessionState::Live } else { info.state };
    SessionInfo { state, processes, ..info }
}
