//! `ContextStore`: the Markdown memory that agents share.
//!
//! | module | what it knows |
//! |---|---|
//! | `entry`, `location`, `time` | an entry, its place, its times |
//! | `document` | a file's text, taken apart and put together |
//! | `front_matter`, `yaml_reader`, `yaml_quoted` | its front matter, and the YAML in it |
//! | `body`, `markdown`, `changelog` | its body, and the changelog in it |
//! | `index` | what is known of all entries |
//! | `shared` | what the stores of one directory share in a process |
//! | `write`, `change`, `supersede` | new entries, changes of one, the change of two at once |
//! | `journal` | what makes the change of two one |
//! | `recall` | reading, searching, following links |
//! | `housekeeping` | which entries are over |

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
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use redaction::RedactionSession;
use storage::{Durability, FileSystem, Payload, layout};
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

/// What a store is told at its construction.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Where the entries are.
    pub directory: PathBuf,
    /// Who writes. Its name can be that of a directory.
    pub agent: String,
    /// The session that entries are written in.
    pub session_id: String,
    /// Whether its entries have a directory of their own. Its name can be that of a directory then.
    pub has_session_directory: bool,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// How long a change waits for other processes.
    pub lock_timeout: Duration,
    /// Longer entries are refused, and skipped when they are read, in bytes.
    pub max_entry_bytes: u64,
    /// What the caller vouches for.
    pub trust: Trust,
}

/// A place where agents keep what others should know.
pub struct Store {
    options: StoreOptions,
    shared: Arc<Shared>,
    debug: Debug,
    /// The agent's own directories were compared with those that are there.
    is_named_well: OnceLock<()>,
    /// Changes are made in the order of the calls; new entries are written beside each other.
    order: CallOrder,
    /// New entries get their names in the order of the calls.
    naming: CallOrder,
    calls: CallTracker,
    inspection: Inspection,
}

impl Store {
    /// A store; touches no file.
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

    /// Begins an operation that [`Store::close`] waits for, until what is returned is dropped.
    pub fn begin(&self) -> TrackedCall {
        self.calls.track()
    }

    /// Waits for what has begun, and keeps what is known of the entries for other processes.
    pub async fn close(&self) {
        self.calls.wait_for_all().await;
        if let Some(index) = self.shared.known_index() {
            index.save(&self.debug).await;
        }
    }

    /// The text of the entry at `location`, below the store without symbolic links.
    async fn bytes_of(&self, root: &std::path::Path, location: &Location) -> Result<Vec<u8>> {
        let limit = self.options.max_entry_bytes;
        let path = std::path::Path::new(location.as_str());
        let contents = match self.shared.file_system.read(root, path, limit).await {
            Ok(contents) => contents,
            Err(error) if error.is_not_found() => return Err(self.not_found(location)),
            // How the disk says that a link was on the way, or no regular file at the end.
            Err(error) if error.kind == std::io::ErrorKind::InvalidInput => {
                return Err(self.shared.outside(&self.shared.directory.join(path)));
            }
            Err(error) => return Err(self.refused("read", location, error)),
        };
        if contents.length > limit {
            return Err(self.too_large(location.as_str(), contents.length));
        }
        Ok(contents.bytes)
    }

    /// The directory without symbolic links; `None` when it is not there.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `Io`
    async fn root(&self) -> Result<Option<PathBuf>> {
        self.check_directory()?;
        self.shared.root().await
    }

    /// Checks the owners and the modes of the store's directory and of the agent's own in it, once they
    /// exist.
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

    /// Refuses the text of an entry that is too large.
    fn within_limit(&self, location: &str, text: Vec<u8>) -> Result<Payload> {
        let length = text.len() as u64;
        if length > self.options.max_entry_bytes {
            return Err(self.too_large(location, length));
        }
        Ok(Payload::new(text))
    }

    /// What others see from now on is to be looked at again.
    fn note(&self, location: &Location) {
        if let Some(index) = self.shared.known_index() {
            index.note(location);
        }
    }
}

/// Takes the secrets out of a document and makes its text.
fn finished(document: &mut Document, pass: &mut RedactionSession) -> Result<Vec<u8>> {
    document.redact(pass)?;
    Ok(document.to_text().into_bytes())
}

/// A file that is no entry.
fn corrupt(path: &str, problem: &Problem) -> Error {
    Error::new(
        Code::Corrupt,
        format!("{path}, line {}: {}; correct the file", problem.line, problem.reason),
    )
}

/// Every link must be able to lead to an entry; it need not be there.
fn check_links(links: &[String]) -> Result<()> {
    links.iter().try_for_each(|link| Location::parse(link).map(drop))
}

/// Adds what is not there yet.
fn add_missing(list: &mut Vec<String>, added: impl IntoIterator<Item = String>) {
    for item in added {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

#[cfg(test)]
mod tests;
