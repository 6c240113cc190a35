//! `RepoMemory`: what agents remember about one repository (conventions, decisions, notes, and summaries of
//! steps), with a map of its source files.
//!
//! | module | contents |
//! |---|---|
//! | `identity` | determines the repository of a workspace, and the repository's hash |
//! | `record`, `members`, `document` | conventions, decisions and notes; the text of `memory.json` |
//! | `directory` | what all memories of one directory share in a process, with the lock |
//! | `summary`, `summaries` | the log of the latest summaries |
//! | `mapping` | the map of the workspace, through the crate `code-map` |
//! | `pack` | the context pack: a selection within a budget, as Markdown |
//! | `migrate` | moves memories to a new hash, if the path of a clone changed |

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

/// The options of a memory.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// The directory: `<root>/repos/<repository's hash>`.
    pub directory: PathBuf,
    /// The prefix of its files' paths, if that is not the directory with the system's separator.
    pub prefix: Option<String>,
    /// The repository, if the memory was opened for a workspace.
    pub repository: Option<Repository>,
    /// The canonical root of the workspace that its map shows.
    pub workspace: Option<PathBuf>,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// How long a change waits for another process's lock.
    pub lock_timeout: Duration,
    /// How many summaries are kept.
    pub summaries: SummaryBounds,
    /// Guarantees by the caller about locks and shared directories.
    pub trust: Trust,
}

/// The memory of one repository.
pub struct Memory {
    options: MemoryOptions,
    directory: Arc<Directory>,
    log: Arc<Log<Error>>,
    log_path: LogPath,
    map: Option<Arc<RepoMap>>,
    debug: Debug,
    /// Whether `memory.json` is known to name the repository.
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

/// The current time in the form that records have.
fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true)
}

impl Memory {
    /// A memory. Touches no file.
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

    /// Checks owners and modes of the memory's directories and files, once they exist.
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

    /// Begins an operation; [`Memory::close`] waits until the returned guard is dropped.
    pub fn begin(&self) -> TrackedCall {
        self.calls.track()
    }

    /// Waits for operations that have begun.
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

    /// The repository in its stored (redacted) form.
    fn repository(&self, pass: &mut RedactionSession) -> Result<Option<Repository>> {
        let mut repository = self.options.repository.clone();
        if let Some(Repository { workspace, remote, branch }) = &mut repository {
            for text in [Some(workspace), remote.as_mut(), branch.as_mut()].into_iter().flatten() {
                pass.text(text)?;
            }
        }
        Ok(repository)
    }

    /// Ensures that `memory.json` names the repository.
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

    /// Changes `memory.json`, after checking that the directory is safe to use.
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

    /// Adds a record, or changes the one with its id or, for conventions, its title. Returns the record as
    /// JSON. Changes are made in the order of the calls, whether or not the caller awaits one before the
    /// next.
    ///
    /// # Errors `InvalidArgument`, `Conflict` if another convention has the title, `TooLarge`, `Corrupt`,
    /// `Redaction`, `LockTimeout`, `Io`. Nothing was changed then.
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
        // Several calls are redacted concurrently; their changes are queued in the order of the calls.
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

    /// Removes a record, after the changes that were called before. Returns whether it existed.
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

    /// The document. Items that are not valid are reported to the debug callback.
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

    /// All records and summaries, as a JSON object.
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
