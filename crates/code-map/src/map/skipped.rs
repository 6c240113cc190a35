//! Which source files of a workspace are not part of its map, and why.

use serde::{Deserialize, Serialize};

/// Files that are named.
const MAX_NAMED: usize = 100;

/// Why a file is not part of a map, or only by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SkipReason {
    /// It has more bytes than are parsed: it is listed, without symbols.
    TooLarge,
    /// The file or the directory cannot be read.
    Unreadable,
    /// Control characters are in its path.
    Unnameable,
    /// It could not be told what in it is secret.
    NotRedacted,
    /// The parser needs more memory for it than a file of its size may use: it is listed, without symbols.
    TooMuchMemory,
}

/// A file, or a directory, that is not part of a map, or only by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SkippedFile {
    /// Below the workspace, with `/` between names.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// What was skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// The first of them by their paths, at most 100.
    pub files: Vec<SkippedFile>,
    /// How many there are.
    pub total: u64,
    /// Source files beyond the bound: nobody looked at them, and they are not in `total`.
    pub beyond_bound: u64,
}

impl Skipped {
    pub(super) fn of(files: Vec<SkippedFile>, beyond_bound: u64) -> Self {
        let mut skipped = Self { beyond_bound, ..Self::default() };
        skipped.add(files);
        skipped
    }

    pub(super) fn add(&mut self, files: Vec<SkippedFile>) {
        self.total += files.len() as u64;
        self.files.extend(files);
        self.files.sort_unstable();
        self.files.truncate(MAX_NAMED);
    }
}
