//! The files and directories that are not part of a map, or are part of it without symbols, each with the reason.

use serde::{Deserialize, Serialize};

/// Maximum number of files that are listed by name.
const MAX_NAMED: usize = 100;

/// Why a file is not part of a map, or is part of it without symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SkipReason {
    /// Larger than the parser accepts. The file is listed without symbols.
    TooLarge,
    /// The file or directory cannot be read.
    Unreadable,
    /// Its path contains control characters.
    Unnameable,
    /// The redaction of its text failed.
    NotRedacted,
    /// Parsing needs more memory than allowed for its size. The file is listed without symbols.
    TooMuchMemory,
}

/// A file or directory that is not part of a map, or is part of it without symbols.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SkippedFile {
    /// Relative to the workspace, with `/` between components.
    pub path: String,
    /// The reason.
    pub reason: SkipReason,
}

/// All skipped files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// The first of them by path, at most 100.
    pub files: Vec<SkippedFile>,
    /// Their number.
    pub total: u64,
    /// Number of source files beyond the limit. They were not examined and are not counted in `total`.
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
