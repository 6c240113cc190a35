//! `ContextStore`: Markdown files that agents share as a long-term memory. People and other
//! programs may read and edit the same files.
//!
//! | module | contents |
//! |---|---|
//! | `entry`, `entry_parts`, `location`, `time` | an entry, its path, its times |
//! | `slug`, `directory_name` | the parts of a path that come from callers |
//! | `document` | lossless parsing and writing of an entry's file |
//! | `front_matter`, `block`, `yaml_reader`, `yaml_quoted` | its front matter, and the subset of YAML in it |
//! | `body`, `markdown`, `changelog` | its body, and the changelog at the end |
//! | `index` | the entry index: metadata, links and an inverted index |
//! | `shared` | what all stores of one directory share in a process, with the lock |
//! | `write`, `change`, `supersede` | creating, changing and superseding entries |
//! | `journal` | the write-ahead journal of `supersede` |
//! | `recall` | reading, searching, following links |
//! | `housekeeping` | removing expired entries |

mod block;
mod body;
mod change;
mod changelog;
mod directory_name;
mod document;
#[cfg(test)]
mod document_tests;
mod entry;
mod entry_parts;
mod front_matter;
mod housekeeping;
mod index;
mod journal;
mod location;
mod markdown;
mod read_ahead;
mod recall;
#[cfg(test)]
mod redaction_tests;
mod shared;
mod slug;
mod supersede;
mod time;
mod write;
mod yaml_quoted;
mod yaml_reader;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use redaction::RedactionSession;
use storage::{Contents, Durability, FileResult, FileSystem, Payload, layout};
use tasks::{CallOrder, CallTracker, TrackedCall};

use crate::{
    debug::Debug,
    error::{Code, Error, Result},
    safety::{Inspection, Place, Trust},
};

pub use change::Update;
pub use directory_name::directory_name_error;
pub use document::{Document, NewEntry};
pub use entry::{Entry, Summary, revision};
pub use entry_parts::{Change, EntryType, Problem};
pub use housekeeping::{Expired, HousekeepingPlan, Policy, Removal, Unremoved};
pub use index::{Direction, Filter};
pub use location::Location;
pub use recall::{Related, VerifyReport};
pub use supersede::{Superseded, Supersession};
pub use write::Draft;

use shared::Shared;

/// The options of a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The directory of the entries.
    pub directory: PathBuf,
    /// The agent that writes. Its name must be a valid directory name.
    pub agent: String,
    /// The session in which entries are written.
    pub session_id: String,
    /// Whether new entries go into a directory per session. The session's name must be a valid
    /// directory name then.
    pub has_session_directory: bool,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// How long a change waits for another process's lock.
    pub lock_timeout: Duration,
    /// The longest entry, in bytes: longer ones are refused when written and skipped when read.
    pub max_entry_bytes: u64,
    /// Guarantees by the caller about locks and shared directories.
    pub trust: Trust,
}

/// A directory of entries, opened for one agent and session.
pub struct Store {
    options: StoreOptions,
    shared: Arc<Shared>,
    debug: Debug,
    /// Set once the agent's directories were checked for names that differ in letter case only.
    is_named_well: OnceLock<()>,
    /// Changes run in the order of the calls; new entries are written concurrently.
    order: CallOrder,
    /// New entries get their names in the order of the calls.
    naming: CallOrder,
    calls: CallTracker,
    inspection: Inspection,
}

impl Store {
    /// A store. Touches no file.
    #[must_use]
    pub fn new(
        options: StoreOptions,
        file_system: &Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        let shared = Shared::of(file_system, &options.directory);
        if options.trust.locks {
            shared.files.trust_locks();
        }
        Arc::new(Self {
            options,
            shared,
            debug,
            is_named_well: OnceLock::new(),
            order: CallOrder::default(),
            naming: CallOrder::default(),
            calls: CallTracker::default(),
            inspection: Inspection::default(),
        })
    }

    /// Begins an operation; [`Store::close`] waits until the returned guard is dropped.
    pub fn begin(&self) -> TrackedCall {
        self.calls.track()
    }

    /// Waits for operations that have begun, and writes the index's cache.
    pub async fn close(&self) {
        self.calls.wait_for_all().await;
        if let Some(index) = self.shared.known_index() {
            index.save(&self.debug).await;
        }
    }

    /// The bytes of the entry at `location`. Symbolic links below the store are not followed.
    async fn bytes_of(&self, root: &Path, location: &Location) -> Result<Vec<u8>> {
        let limit = self.options.max_entry_bytes;
        let path = Path::new(location.as_str());
        self.bytes_in(location, self.shared.file_system.read(root, path, limit).await)
    }

    /// The bytes of the entry at `location`, as the file system read it.
    fn bytes_in(&self, location: &Location, read: FileResult<Contents>) -> Result<Vec<u8>> {
        let limit = self.options.max_entry_bytes;
        let contents = match read {
            Ok(contents) => contents,
            Err(error) if error.is_not_found() => return Err(self.not_found(location)),
            // How the disk reports a symbolic link in the path, or a target that is no regular
            // file.
            Err(error) if error.kind == std::io::ErrorKind::InvalidInput => {
                return Err(self.shared.outside(&self.shared.directory.join(location.as_str())));
            }
            Err(error) => return Err(self.refused("read", location, error)),
        };
        if contents.length > limit {
            return Err(self.too_large(location.as_str(), contents.length));
        }
        Ok(contents.bytes)
    }

    /// The canonical path of the directory; `None` if it does not exist.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `Io`
    async fn root(&self) -> Result<Option<PathBuf>> {
        self.check_directory()?;
        self.shared.root().await
    }

    /// Checks owner and mode of the store's directory and of the agent's own directory in it, once
    /// they exist.
    ///
    /// # Errors
    /// `UnsafeDirectory`
    fn check_directory(&self) -> Result<()> {
        if self.inspection.is_done() {
            return Ok(());
        }
        let Some(disk) = self.shared.file_system.disk() else { return Ok(()) };
        let directory = &self.options.directory;
        let place = Place {
            what: "context store",
            setting: "path",
            directories: &[directory, &directory.join(&self.options.agent)],
            files: &[],
            own_files: &[&directory.join(layout::STORE_LOCK)],
        };
        self.inspection.check(disk.as_ref(), &place, self.options.trust, &self.debug)
    }

    async fn root_of(&self, location: &Location) -> Result<PathBuf> {
        self.root().await?.ok_or_else(|| self.not_found(location))
    }

    fn not_found(&self, location: &Location) -> Error {
        Error::new(
            Code::NotFound,
            format!(
                "entry not found: {} in the context store {}; search for the entries that are there",
                location.as_str(),
                self.shared.directory.display()
            ),
        )
    }

    fn too_large(&self, what: &str, length: u64) -> Error {
        Error::new(
            Code::TooLarge,
            format!(
                "the entry {what} takes {length} bytes, more than {}; raise maxEntryBytes or split it",
                self.options.max_entry_bytes
            ),
        )
    }

    fn refused(&self, what: &str, location: &Location, error: storage::FileError) -> Error {
        let path = self.shared.directory.join(location.as_str());
        Error::from_file(&format!("{what} the entry"), &path, "path", error)
    }

    /// Refuses an entry that is too long.
    fn within_limit(&self, location: &str, text: Vec<u8>) -> Result<Payload> {
        let length = text.len() as u64;
        if length > self.options.max_entry_bytes {
            return Err(self.too_large(location, length));
        }
        Ok(Payload::new(text))
    }

    /// Marks an entry as changed, so that the index reads it again.
    fn note(&self, location: &Location) {
        if let Some(index) = self.shared.known_index() {
            index.note(location);
        }
    }
}

/// Redacts a document and returns its text.
fn finished(document: &mut Document, pass: &mut RedactionSession) -> Result<Vec<u8>> {
    document.redact(pass)?;
    Ok(document.to_text().into_bytes())
}

/// The error for a file that is no valid entry.
fn corrupt(path: &str, problem: &Problem) -> Error {
    Error::new(
        Code::Corrupt,
        format!("{path}, line {}: {}; correct the file", problem.line, problem.reason),
    )
}

/// Checks that every link is a possible path of an entry; the entry need not exist.
fn check_links(links: &[String]) -> Result<()> {
    links.iter().try_for_each(|link| Location::parse(link).map(drop))
}

/// Appends the items that the list does not have yet.
fn add_missing(list: &mut Vec<String>, added: impl IntoIterator<Item = String>) {
    for item in added {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

#[cfg(test)]
mod tests;
