//! The end of contexts: one by one, by session, by directory.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chrono::Utc;
use serde_json::json;

use super::{
    list::{self, NoHead},
    manager::Manager,
    pointer::Pointer,
    sweep,
};
use crate::{
    error::{Code, Error, Result},
    file_system::{Entry, FileError},
    names,
};

/// How many files a clearing removed.
pub type Cleared = u64;

/// Counts removals and keeps the first failure, so that one stubborn file does not keep the others.
#[derive(Default)]
struct Removals {
    deleted: u64,
    failure: Option<(PathBuf, FileError)>,
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
        for (_, manager) in &siblings {
            // What resisted is looked for again.
            manager.state().has_unknown_files |= removals.failure.is_some();
            manager.release_when_idle();
        }
        self.report_cleared(removals)
    }

    fn report_cleared(&self, removals: Removals) -> Result<Cleared> {
        let Removals { deleted, failure } = removals;
        self.debug.say(
            "Context directory cleared",
            || json!({ "contextDir": self.options.directory, "deletedCount": deleted }),
        );
        match failure {
            None => Ok(deleted),
            Some((path, error)) => Err(Error::from_file("remove the context", &path, error)),
        }
    }

    /// Drops this manager's contexts of calls below `cutoff`; `true` when files may be left that no
    /// pointer names.
    async fn clear_own(&self, cutoff: u64, removals: &mut Removals) -> bool {
        let taken = self.take_before(cutoff);
        let has_unknown_files = std::mem::take(&mut self.state().has_unknown_files);
        self.unindex(taken.pointers.keys().copied());
        for pointer in taken.pointers.values().filter(|pointer| pointer.on_disk) {
            self.remove_file(pointer.filename(), removals).await;
        }
        has_unknown_files
    }

    /// Takes contexts out of the index: at once when none is left, else one by one.
    fn unindex(&self, sequences: impl Iterator<Item = u64>) {
        let calls = self.in_flight.calls();
        if calls.is_idle() && self.is_empty() {
            self.index.clear();
            return;
        }
        drop(calls);
        for sequence in sequences {
            self.index.remove(sequence);
        }
    }

    async fn remove_file(&self, filename: &str, removals: &mut Removals) {
        let path = PathBuf::from(self.path_of(filename));
        match self.file_system.remove(&path).await {
            Ok(removed) => removals.deleted += u64::from(removed),
            Err(error) => {
                removals.failure.get_or_insert((path, error));
            }
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
        let prefix = match self.options.session_is_named {
            true => names::session_prefix(&self.options.session),
            false => String::new(),
        };
        let (entries, root) = match self.entries(&directory).await {
            Ok(found) => found,
            Err(error) => {
                removals.failure.get_or_insert((directory, error));
                return;
            }
        };
        for entry in entries.into_iter().filter(|entry| entry.name.starts_with(&prefix)) {
            let Some(stamp) = names::parse_context(&entry.name) else { continue };
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
                    removals.failure.get_or_insert((root.join(&entry.name), error));
                }
                _ => {}
            }
        }
    }

    /// The directory's files and its path without symbolic links; nothing when it is not there.
    async fn entries(
        &self,
        directory: &Path,
    ) -> std::result::Result<(Vec<Entry>, PathBuf), FileError> {
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
        let mut removals = Removals::default();
        let filenames = self.leave_disk(cutoff);
        for filename in filenames {
            self.remove_file(&filename, &mut removals).await;
        }
        self.remove_session_files(called, &siblings, &mut removals).await;
        self.state().has_unknown_files |= removals.failure.is_some();
        self.release_when_idle();
        if self.file_system.has_locks() {
            let directory = PathBuf::from(&self.options.directory);
            if let Ok(root) = self.file_system.canonical(&directory).await {
                let (deleted, failure) = sweep::remove_dead(self.file_system.as_ref(), &root).await;
                removals.deleted += deleted;
                removals.failure = removals.failure.or(failure);
            }
        }
        self.report_cleared(removals)
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

    /// Takes out the pointer of a file, with what memory and index hold.
    fn drop_pointer(&self, filename: &str) -> Option<Pointer> {
        let (sequence, pointer) = {
            let mut state = self.state();
            let sequence = state.sequence_of(filename)?;
            (sequence, state.remove(sequence)?)
        };
        self.index.remove(sequence);
        self.changed();
        Some(pointer)
    }

    /// Forgets one context: memory, index, file. `false` when there is none.
    ///
    /// # Errors
    /// `OutsideDirectory`, `Conflict` when it belongs to a session that is alive elsewhere, or `Io`.
    pub async fn forget(self: &Arc<Self>, path: &str) -> Result<bool> {
        let relative = self.locate(path).await?;
        let file = PathBuf::from(self.path_of(&relative));
        let failed = |error| Error::from_file("remove the context", &file, error);
        let stamp = names::parse_context(&relative);
        for manager in self.neighbours() {
            // The file of a save under way is there before its pointer is.
            if let Some(stamp) = stamp
                && stamp.random == manager.identity(stamp.counter)
            {
                manager.in_flight.wait_for(stamp.counter).await;
            }
            let is_same = manager.options.session == self.options.session
                && self.shares_directory(&manager).await;
            if is_same && let Some(pointer) = manager.drop_pointer(&relative) {
                if pointer.on_disk
                    && let Err(error) = self.file_system.remove(&file).await
                {
                    // No pointer names the file any more: clearing has to look for it.
                    manager.state().has_unknown_files = true;
                    return Err(failed(error));
                }
                return Ok(true);
            }
        }
        if stamp.is_none() {
            return Ok(false);
        }
        let Ok(root) = self.root(path).await else { return Ok(false) };
        let Ok(head) = list::read_head(self.file_system.as_ref(), &root, &relative).await else {
            return Ok(false);
        };
        let session = head.session_id();
        if session.as_deref() != Some(&self.options.session) {
            let is_over = self.file_system.has_locks()
                && session
                    .is_some_and(|id| sweep::live(&root).is_ok_and(|live| !live.contains(&id)));
            if !is_over {
                return Err(Error::new(
                    Code::Conflict,
                    format!(
                        "{path} belongs to another session that is alive; only that session forgets it"
                    ),
                ));
            }
        }
        self.file_system.remove(&file).await.map_err(failed)
    }

    /// Waits for the first `calls` saves, then gives the session's lease up: what it wrote stays,
    /// within the bounds of the retention.
    pub async fn close(&self, calls: u64) {
        self.in_flight.wait_before(calls).await;
        // A later save has begun the session again.
        self.release_if(|so_far| so_far.count() == calls);
    }
}
