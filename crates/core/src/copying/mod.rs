//! Copies what is stored from one place to another: between directories and databases, in both directions.
//!
//! Files are copied as they are: their text is redacted already, and names, which identify contexts and entries, stay the same.
//! What belongs to a running process is not copied (leases, locks, temporary files), nor what is rebuilt (indexes, the table of
//! handles, vectors, maps). A file that the destination has with other contents is reported, and replaced only if the caller says
//! so. What was written is read back. Histories are copied in `history::copying`.
//!
//! | module | contents |
//! |---|---|
//! | `selection` | which files are copied, in which order |
//! | `files` | copying them |

mod files;
mod selection;

use serde::Serialize;

pub use files::{Tree, copy_files};
pub use selection::FileKind;

/// The longest list of conflicts; further ones are counted.
const MAX_CONFLICTS: usize = 100;

/// What happens to what the destination has already, and whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyPolicy {
    /// Replaces what differs.
    pub overwrite: bool,
    /// Writes nothing.
    pub dry_run: bool,
}

/// The result of copying.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CopyReport {
    /// The number of files or lines that were written, with those that replaced others.
    pub copied: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The number of those that replaced others.
    pub replaced: u64,
    /// The number of files or lines that the destination had.
    pub already_there: u64,
    /// The number of lines that are not entries; they are not copied.
    pub skipped: u64,
    /// The number of files or lines that the destination has with other contents.
    pub conflicts: u64,
    /// The names of the first of them.
    pub conflicting: Vec<String>,
}

impl CopyReport {
    pub(crate) fn add_conflict(&mut self, name: String) {
        self.conflicts += 1;
        if self.conflicting.len() < MAX_CONFLICTS {
            self.conflicting.push(name);
        }
    }
}
