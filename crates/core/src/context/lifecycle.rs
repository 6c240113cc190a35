//! The end of contexts: one by one, by session, by directory.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chrono::Utc;
use serde_json::json;
use storage::{Durability, FileEntry, FileError, FileResult, layout};

use super::{
    directory::SharedDirectory,
    list::{self, NoHead},
    manager::Manager,
    pointer::Pointer,
    refused,
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
}

/// A clearing that was called: which saves it covers.
pub struct Clearing {
    /// Time of the call, ms since 1970.
    called: i64,
    /// The session's managers in this process, and how many calls each had had.
    siblings: Vec<(u64, Arc<Manager>)>,
}

impl Manager {
    /// Notes which saves a clearing covers: those called before.
    #[must_use]
    pub fn begin_clear(self: &Arc<Self>) -> Clearing {
        let siblings = self
            .neighbours()
            .into_iter()
            .filter(|manager| manager.options.session == self.options.session)
            .map(|manager| (manager.calls(), manager))
            .collect();
        Clearing { called: Utc::now().timestamp_millis(), siblings }
    }

    /// Sessions of the same name in other directories are others.
    async fn here(&self, clearing: Clearing) -> Clearing {
        let Clearing { called, siblings } = clearing;
        let mut here = Vec::with_capacity(siblings.len());
        for (calls, manager) in siblings {
            if self.shares_directory(&manager).await {
                here.push((calls, manager));
            }
        }
        Clearing { called, siblings: here }
    }

    /// How many saves were called so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.in_flight.next()
    }

    /// Ends the session's contexts: memory and files, of every save called before. The session
    /// starts anew with the next save.
    ///
    /// # Errors
    /// `Io` when a file could not be removed; the others are gone all the same.
    pub async fn clear(self: &Arc<Self>, clearing: Clearing) -> Result<Cleared> {
        let Clearing { called, siblings } = self.here(clearing).await;
        let mut removals = Removals::default();
        let mut has_unknown_files = self.options.session_is_named;
        for (cutoff, manager) in &siblings {
            manager.in_flight.wait_before(*cutoff).await;
            has_unknown_files |= manager.clear_own(*cutoff, &mut removals).await;
        }
        if has_unknown_files {
            self.remove_session_files(called, &siblings, &mut removals).await;
        }
        if removals.is_any || has_unknown_files {
            self.settle(&mut removals).await;
        }
        for (_, manager) in &siblings {
            // What resisted is looked for again.
            manager.state().has_unknown_files |= removals.failure.is_some();
            manager.release_when_idle();
        }
        self.report_cleared("Context directory cleared", removals)
    }

    fn report_cleared(&self, message: &'static str, removals: Removals) -> Result<Cleared> {
        let Removals { deleted, failure, .. } = removals;
        self.debug.say(
            message,
            || json!({ "contextDir": self.options.directory, "deletedCount": deleted }),
        );
        failure.map_or(Ok(deleted), Err)
    }

    /// Brings what was removed to the medium where that is promised.
    async fn settle(&self, removals: &mut Removals) {
        if let Err(error) = self.sync_removals().await {
            removals.failure.get_or_insert(error);
        }
    }

    /// As [`Manager::settle`], told at once.
    async fn sync_removals(&self) -> Result<()> {
        if self.options.durability != Durability::Full {
            return Ok(());
        }
        match self.sync_directory().await {
            // Nothing that could come back.
            Err(error) if error.is_not_found() => Ok(()),
            other => other.map_err(|error| {
                let directory = Path::new(&self.options.directory);
                refused("bring removals to the medium in", directory, error)
            }),
        }
    }

    async fn sync_directory(&self) -> FileResult<()> {
        let file_system = self.file_system.as_ref();
        if let Some(opened) = self.opened() {
            return opened.sync().sync(file_system, &opened.root).await;
        }
        let root = file_system.canonical(Path::new(&self.options.directory)).await?;
        match &self.disk {
            Some(disk) => SharedDirectory::shared(disk, &root).sync.sync(file_system, &root).await,
            None => file_system.sync_directory(&root).await,
        }
    }

    /// Drops this manager's contexts of calls below `cutoff`; `true` when files may be left that no
    /// pointer names.
    async fn clear_own(&self, cutoff: u64, removals: &mut Removals) -> bool {
        let taken = self.take_before(cutoff);
        if taken.has_spilling {
            removals.is_any = true;
            self.wait_for_spills().await;
        }
        let has_unknown_files = std::mem::take(&mut self.state().has_unknown_files);
        self.unindex(taken.pointers.keys().copied());
        for pointer in taken.pointers.values().filter(|pointer| pointer.on_disk) {
            self.remove_file(pointer.filename(), removals).await;
        }
        has_unknown_files
    }

    /// Waits for the calls under way: one of them may be writing the file of a context that is gone,
    /// and removes it then.
    async fn wait_for_spills(&self) {
        self.in_flight.wait_before(self.calls()).await;
    }

    /// Takes contexts out of the index, and their vectors: at once when none is left, else one by one.
    fn unindex(&self, sequences: impl Iterator<Item = u64>) {
        let calls = self.in_flight.calls();
        if calls.is_idle() && self.is_empty() {
            self.index.clear();
            self.vectors().clear();
            return;
        }
        drop(calls);
        for sequence in sequences {
            self.index.remove(sequence);
            self.vectors().remove(sequence);
        }
    }

    async fn remove_file(&self, filename: &str, removals: &mut Removals) {
        let path = PathBuf::from(self.path_of(filename));
        removals.is_any = true;
        match self.file_system.remove(&path).await {
            Ok(removed) => removals.deleted += u64::from(removed),
            Err(error) => removals.fail(&path, error),
        }
    }

    /// Removes the session's files that no pointer of this process names: of other processes that
    /// share the session, of an earlier run, of pointers that were cleared.
    async fn remove_session_files(
        self: &Arc<Self>,
        called: i64,
        siblings: &[(u64, Arc<Self>)],
        removals: &mut Removals,
    ) {
        let directory = PathBuf::from(&self.options.directory);
        let session = &self.options.session;
        let may_be_own = |entry: &FileEntry| {
            !self.options.session_is_named || layout::may_be_of_session(&entry.name, session)
        };
        let (entries, root) = match self.entries(&directory).await {
            Ok(found) => found,
            Err(error) => {
                removals.fail(&directory, error);
                return;
            }
        };
        for entry in entries.into_iter().filter(may_be_own) {
            let Some(stamp) = layout::parse_context(&entry.name) else { continue };
            // Saved since the call, here or elsewhere: not meant.
            let is_later = stamp.timestamp > called
                || siblings.iter().any(|(cutoff, manager)| {
                    stamp.counter >= *cutoff && stamp.random == manager.identity(stamp.counter)
                });
            if is_later {
                continue;
            }
            match list::read_head(self.file_system.as_ref(), &root, &entry.name).await {
                Ok(file) if file.session_id().as_deref() == Some(&self.options.session) => {
                    self.remove_file(&entry.name, removals).await;
                }
                Err(NoHead::Unreadable(error)) if !error.is_not_found() => {
                    removals.fail(&root.join(&entry.name), error);
                }
                _ => {}
            }
        }
    }

    /// The directory's files and its path without symbolic links; nothing when it is not there.
    async fn entries(&self, directory: &Path) -> FileResult<(Vec<FileEntry>, PathBuf)> {
        let entries = self.file_system.list(directory).await?;
        if entries.is_empty() {
            return Ok((entries, directory.to_owned()));
        }
        let root = self.file_system.canonical(directory).await?;
        Ok((entries, root))
    }

    /// Drops every pointer and what only memory holds, of every save called before; files stay.
    pub fn clear_pointers(&self) {
        let taken = self.take_before(self.in_flight.next());
        self.state().has_unknown_files |= taken.pointers.values().any(|pointer| pointer.on_disk);
        self.unindex(taken.pointers.keys().copied());
    }

    /// Removes this session's files of saves called before, and those of sessions that are over.
    /// Pointers stay, what they named on disk is gone. Files of live sessions and foreign files stay.
    ///
    /// # Errors
    /// `Io` when a file could not be removed; the others are gone all the same.
    pub async fn clear_directory(self: &Arc<Self>, clearing: Clearing) -> Result<Cleared> {
        let Clearing { called, siblings } = self.here(clearing).await;
        let own = siblings.iter().find(|(_, manager)| Arc::ptr_eq(manager, self));
        let cutoff = own.map_or(0, |&(cutoff, _)| cutoff);
        self.in_flight.wait_before(cutoff).await;
        let directory = PathBuf::from(&self.options.directory);
        // What cannot be said is found out by what follows.
        let is_missing = !self.file_system.has_directory(&directory).await.unwrap_or(true);
        let mut removals = Removals::default();
        let filenames = self.leave_disk(cutoff);
        for filename in filenames {
            self.remove_file(&filename, &mut removals).await;
        }
        self.remove_session_files(called, &siblings, &mut removals).await;
        self.release_when_idle();
        if let Ok(root) = self.file_system.canonical(&directory).await
            && let Some(sweeper) = self.sweeper(&root)
        {
            let (deleted, failure) = sweeper.remove_dead().await;
            removals.deleted += deleted;
            if let Some((path, error)) = failure {
                removals.fail(&path, error);
            }
        }
        self.settle(&mut removals).await;
        self.state().has_unknown_files |= removals.failure.is_some();
        let message = if is_missing {
            "Context directory does not exist"
        } else {
            "Context directory cleared"
        };
        self.report_cleared(message, removals)
    }

    /// Files that are about to go: their contexts are no longer served from memory either.
    fn leave_disk(&self, cutoff: u64) -> Vec<String> {
        let mut state = self.state();
        let state = &mut *state;
        let mut filenames = Vec::new();
        for (&sequence, pointer) in state.pointers.range_mut(..cutoff) {
            if pointer.on_disk {
                state.disk_files -= 1;
                state.disk_bytes -= pointer.size;
                pointer.on_disk = false;
                state.memory.remove(sequence);
                filenames.push(pointer.filename().to_owned());
            }
        }
        filenames
    }

    /// Takes out the pointer of a file, with what memory and index hold; tells whether the context
    /// was on its way from memory to disk.
    fn drop_pointer(&self, filename: &str) -> Option<(Pointer, bool)> {
        let (sequence, pointer, is_spilling) = {
            let mut state = self.state();
            let sequence = state.sequence_of(filename)?;
            let is_spilling = state.memory.is_leaving(sequence);
            (sequence, state.remove(sequence)?, is_spilling)
        };
        self.index.remove(sequence);
        self.vectors().remove(sequence);
        self.changed();
        Some((pointer, is_spilling))
    }

    /// Forgets one context: memory, index, file. `false` when there is none.
    ///
    /// # Errors
    /// `OutsideDirectory`, `Conflict` when it belongs to a session that is alive elsewhere, or `Io`.
    pub async fn forget(self: &Arc<Self>, path: &str) -> Result<bool> {
        let relative = match self.locate(path).await {
            // A handle that nothing has any more.
            Err(error) if error.code == Code::NotFound => return Ok(false),
            located => located?,
        };
        let file = PathBuf::from(self.path_of(&relative));
        let failed = |error| refused("remove the context", &file, error);
        let stamp = layout::parse_context(&relative);
        for manager in self.neighbours() {
            // The file of a save under way is there before its pointer is.
            if let Some(stamp) = stamp
                && stamp.random == manager.identity(stamp.counter)
            {
                manager.in_flight.wait_for(stamp.counter).await;
            }
            let is_same = manager.options.session == self.options.session
                && self.shares_directory(&manager).await;
            if is_same && let Some((pointer, is_spilling)) = manager.drop_pointer(&relative) {
                if manager.index.has_work() {
                    manager.index_in_background();
                }
                if is_spilling {
                    manager.wait_for_spills().await;
                }
                let may_have_file = pointer.on_disk || is_spilling;
                let outcome = self.remove_forgotten(&manager, &file, may_have_file).await;
                if outcome.is_err() {
                    // No pointer names the file any more: clearing has to look for it.
                    manager.state().has_unknown_files = true;
                }
                return outcome.map(|()| true);
            }
        }
        if stamp.is_none() {
            return Ok(false);
        }
        let Ok(root) = self.root(path).await else { return Ok(false) };
        let head = list::read_head(self.file_system.as_ref(), &root, &relative).await;
        let removed = match head {
            Ok(head) if self.may_forget(&root, head.session_id()) => {
                self.file_system.remove(&file).await.map_err(failed)?
            }
            Ok(_) => {
                return Err(Error::new(
                    Code::Conflict,
                    format!(
                        "{path} belongs to another session that is alive; only that session forgets it"
                    ),
                ));
            }
            Err(_) => false,
        };
        // Also for what is gone: who removed it may not have brought that to the medium.
        self.sync_removals().await?;
        Ok(removed)
    }

    /// Whether a file that no pointer names is this session's, or of one that is over.
    fn may_forget(&self, root: &Path, session: Option<String>) -> bool {
        let Some(session) = session else { return false };
        session == self.options.session
            || self.disk.as_deref().is_some_and(|disk| {
                storage::live_sessions(disk, root, self.options.trust.locks)
                    .is_ok_and(|live| !live.contains(&session))
            })
    }

    /// Removes the file of a context whose pointer was taken out of `manager`.
    async fn remove_forgotten(
        &self,
        manager: &Self,
        file: &Path,
        may_have_file: bool,
    ) -> Result<()> {
        if may_have_file {
            let removed = self.file_system.remove(file).await;
            removed.map_err(|error| refused("remove the context", file, error))?;
        } else if !manager.state().has_unknown_files {
            // Memory alone had it, and no removal before failed.
            return Ok(());
        }
        self.sync_removals().await
    }

    /// Waits for the first `calls` saves, then gives the session's lease up: what it wrote stays,
    /// within the bounds of the retention.
    pub async fn close(&self, calls: u64) {
        self.in_flight.wait_before(calls).await;
        // A later save has begun the session again.
        self.release_if(|so_far| so_far.count() == calls);
    }
}
