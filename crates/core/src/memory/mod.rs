//! `RepoMemory`: what is known about a repository.
//!
//! | module | what it knows |
//! |---|---|
//! | `identity` | which repository a workspace belongs to |
//! | `record`, `members`, `document` | conventions, decisions, notes; the text of `memory.json` |
//! | `directory` | what the memories of one directory share in a process |
//! | `summary`, `summaries` | the latest summaries of steps |
//! | `mapping` | the map of the workspace that a memory was opened with |
//! | `pack` | the most useful of all that within a budget |
//! | `migrate` | memories of clones that moved |

mod directory;
mod document;
mod identity;
mod mapping;
mod members;
mod migrate;
mod pack;
mod record;
mod summaries;
mod summary;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chrono::{SecondsFormat, Utc};
use code_map::RepoMap;
use redaction::{Redacted, Redaction, RedactionSession};
use serde_json::json;
use storage::{Durability, FileSystem, Log, LogPath, layout};
use tasks::{CallOrder, CallPlace, CallTracker, TrackedCall};

use crate::{
    debug::Debug,
    error::{Error, Result},
    safety::{Inspection, Place, Trust},
};

pub use document::Repository;
pub use identity::{BranchScope, Identity, is_repo_hash};
pub use mapping::MapRequest;
pub use migrate::{Migrated, Origin, migrate};
pub use pack::{Filled, Pack, PackRequest, PackedRecord};
pub use record::{Draft, NoteSource, Record, RecordKind};
pub use summaries::SummaryBounds;
pub use summary::{MAX_SUMMARY, Summary};

use directory::{Directory, Writing};

/// What a memory is told when it is opened.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// Where it is: `<root>/repos/<repository's hash>`.
    pub directory: PathBuf,
    /// What the paths of its files begin with, where that is not the directory and the system's separator.
    pub prefix: Option<String>,
    /// Which repository it is about, where it was opened by a workspace.
    pub repository: Option<Repository>,
    /// The root of what its map shows, canonical.
    pub workspace: Option<PathBuf>,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// How long a change waits for other processes.
    pub lock_timeout: Duration,
    /// How many summaries are kept.
    pub summaries: SummaryBounds,
    /// What the caller vouches for.
    pub trust: Trust,
}

/// What is known about a repository.
pub struct Memory {
    options: MemoryOptions,
    directory: Arc<Directory>,
    log: Arc<Log<Error>>,
    log_path: LogPath,
    map: Option<Arc<RepoMap>>,
    debug: Debug,
    /// `memory.json` says which repository it is about.
    is_described: AtomicBool,
    /// Changes of records are queued in the order of the calls.
    record_order: CallOrder,
    /// Summaries are queued in the order of the calls.
    summary_order: CallOrder,
    calls: CallTracker,
    inspection: Inspection,
}

/// The directory of a repository's memory.
#[must_use]
pub fn directory_of(root: &std::path::Path, repo_hash: &str) -> PathBuf {
    root.join(layout::REPOSITORIES).join(repo_hash)
}

/// The current time as records have it.
fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true)
}

impl Memory {
    /// A memory; touches no file.
    #[must_use]
    pub fn new(
        options: MemoryOptions,
        file_system: &Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        let prefix = options.prefix.clone().unwrap_or_else(|| {
            format!("{}{}", options.directory.display(), std::path::MAIN_SEPARATOR)
        });
        let directory = Directory::of(file_system, &options.directory, &prefix);
        let log_path = LogPath {
            directory: options.directory.clone(),
            prefix,
            name: layout::SUMMARIES.to_owned(),
        };
        let log = summaries::LOGS.log(file_system, &log_path);
        if options.trust.locks {
            directory.files.trust_locks();
            log.trust_locks();
        }
        let map = options
            .workspace
            .as_deref()
            .map(|workspace| mapping::map_of(file_system, workspace, &options.directory));
        Arc::new(Self {
            options,
            directory,
            log,
            log_path,
            map,
            debug,
            is_described: AtomicBool::new(false),
            record_order: CallOrder::default(),
            summary_order: CallOrder::default(),
            calls: CallTracker::default(),
            inspection: Inspection::default(),
        })
    }

    /// Checks the owners and the modes of the memory's directories and files, once they exist.
    ///
    /// # Errors
    /// `UnsafeDirectory`
    fn check_directory(&self) -> Result<()> {
        if self.inspection.is_done() {
            return Ok(());
        }
        let Some(disk) = self.directory.file_system.disk() else { return Ok(()) };
        // `<root>/repos/<hash>`
        let own = &self.options.directory;
        let mut directories: Vec<&Path> = own.ancestors().take(3).collect();
        directories.reverse();
        let memory = self.directory.memory();
        let place = Place {
            what: "memory's directory",
            setting: "root",
            directories: &directories,
            files: &[&memory, &self.log_path.file()],
            own_files: &[&own.join(layout::lock(layout::MEMORY)), &self.log_path.lock()],
        };
        self.inspection.check(disk.as_ref(), &place, self.options.trust, &self.debug)
    }

    /// Begins an operation that [`Memory::close`] waits for, until what is returned is dropped.
    pub fn begin(&self) -> TrackedCall {
        self.calls.track()
    }

    /// Waits for what has begun.
    pub async fn close(&self) {
        self.calls.wait_for_all().await;
    }

    fn writing(&self, redaction: Option<Redaction>) -> Writing {
        Writing {
            durability: self.options.durability,
            lock_timeout: self.options.lock_timeout,
            redaction,
            debug: self.debug.clone(),
        }
    }

    /// Which repository it is about, as it is to be stored.
    fn repository(&self, pass: &mut RedactionSession) -> Result<Option<Repository>> {
        let mut repository = self.options.repository.clone();
        if let Some(Repository { workspace, remote, branch }) = &mut repository {
            for text in [Some(workspace), remote.as_mut(), branch.as_mut()].into_iter().flatten() {
                pass.text(text)?;
            }
        }
        Ok(repository)
    }

    /// Sees to it that `memory.json` says which repository it is about.
    async fn describe(&self, redaction: Option<Redaction>) -> Result<()> {
        if self.is_described.load(Ordering::Relaxed) {
            return Ok(());
        }
        let repository = self.repository(&mut RedactionSession::new(redaction.clone()))?;
        if let Some(repository) = repository {
            let writing = self.writing(redaction);
            let apply = move |document: &mut document::Document| {
                Ok((String::new(), document.set_repository(&repository)?))
            };
            self.change(writing, apply).await?;
        }
        self.is_described.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Changes `memory.json`, in a directory that is safe to use.
    async fn change(
        &self,
        writing: Writing,
        apply: impl FnOnce(&mut document::Document) -> Result<(String, bool)> + Send + 'static,
    ) -> Result<String> {
        self.prepare_directory().await?;
        self.directory.change(writing, apply).await
    }

    /// Creates the directory and checks its owner.
    async fn prepare_directory(&self) -> Result<()> {
        self.check_directory()?;
        if self.inspection.has_seen(&self.options.directory) {
            return Ok(());
        }
        self.directory.make(self.options.durability).await?;
        self.check_directory()
    }

    /// Adds a record, or changes the one with its id or, of conventions, its title. Returns the record
    /// as JSON. Changes of records are made in the order of the calls, whether or not one is awaited
    /// before the next.
    ///
    /// # Errors
    /// `InvalidArgument`, `Conflict` when another convention has the title, `TooLarge`, `Corrupt`,
    /// `Redaction`, `LockTimeout`, `Io`. Nothing has changed then.
    pub fn upsert(
        self: &Arc<Self>,
        draft: Draft,
        redaction: Option<Redaction>,
    ) -> impl Future<Output = Result<Redacted<String>>> + Send + use<> {
        let (memory, place) = (Arc::clone(self), self.record_order.exclusive());
        async move { memory.upsert_at(place, draft, redaction).await }
    }

    async fn upsert_at(
        &self,
        place: CallPlace,
        mut draft: Draft,
        redaction: Option<Redaction>,
    ) -> Result<Redacted<String>> {
        // Several calls prepare at once; what they change is queued in their order.
        let mut pass = RedactionSession::new(redaction.clone());
        draft.prepare(&mut pass)?;
        let repository = self.repository(&mut RedactionSession::new(redaction.clone()))?;
        let kind = draft.kind;
        let apply = move |document: &mut document::Document| {
            let (record, is_changed) = document.upsert(draft, &now())?;
            let is_described = match &repository {
                Some(repository) => document.set_repository(repository)?,
                None => false,
            };
            let answer = record.to_json(kind).map_err(document::unwritable)?;
            Ok((answer, is_changed || is_described))
        };
        self.prepare_directory().await?;
        let permit = place.reached().await;
        let change = self.directory.change(self.writing(redaction), apply);
        drop(permit);
        Ok(pass.answer(change.await?))
    }

    /// Removes a record, after the changes that were called before. Returns whether it was there.
    ///
    /// # Errors
    /// `Corrupt`, `TooLarge`, `Redaction`, `LockTimeout`, `Io`
    pub fn remove(
        self: &Arc<Self>,
        kind: RecordKind,
        id: String,
        redaction: Option<Redaction>,
    ) -> impl Future<Output = Result<bool>> + Send + use<> {
        let (memory, place) = (Arc::clone(self), self.record_order.exclusive());
        let apply = move |document: &mut document::Document| {
            let is_removed = document.remove(kind, &id);
            Ok((is_removed.to_string(), is_removed))
        };
        async move {
            memory.prepare_directory().await?;
            let permit = place.reached().await;
            let change = memory.directory.change(memory.writing(redaction), apply);
            drop(permit);
            Ok(change.await? == "true")
        }
    }

    /// The document, and a word about what in it is not understood.
    async fn document(&self) -> Result<document::Document> {
        self.check_directory()?;
        let document = self.directory.document().await?;
        let strangers = document.strangers();
        if strangers > 0 {
            self.debug.say(
                "Entries of memory.json are no records and were skipped",
                || json!({ "path": self.directory.memory(), "entries": strangers }),
            );
        }
        Ok(document)
    }

    /// Everything that is remembered, as a JSON object.
    ///
    /// # Errors
    /// `Corrupt`, `TooLarge`, `Io`
    pub async fn contents(self: &Arc<Self>) -> Result<Vec<u8>> {
        let document = self.document().await?;
        let summaries = self.summaries().await?;
        let mut text = String::from("{");
        for kind in RecordKind::ALL {
            let records: serde_json::Result<Vec<String>> =
                document.records(kind).map(|record| record.to_json(kind)).collect();
            let records = records.map_err(document::unwritable)?.join(",");
            text.push_str(&format!("\"{}\":[{records}],", kind.list()));
        }
        let summaries = serde_json::to_string(&summaries).map_err(document::unwritable)?;
        text.push_str(&format!("\"summaries\":{summaries}}}"));
        Ok(text.into_bytes())
    }
}
