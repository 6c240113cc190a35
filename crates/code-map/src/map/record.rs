//! The record of a source file: its symbols, and the state of the file from which they were read.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use storage::FileEntry;

use super::skipped::SkipReason;
use crate::symbols::{Definition, FileSymbols, Language};

/// Maximum granularity of file times, in ms. A file changed more recently may change again with the same time.
const TICK: i64 = 2000;

/// Identifies the bytes of a file.
pub(super) type FileDigest = [u8; 16];

/// The digest of a file's bytes.
pub(super) fn digest(bytes: &[u8]) -> FileDigest {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    digest.first_chunk().copied().unwrap_or_default()
}

/// The state of a file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    length: u64,
    version: Option<u64>,
    pub digest: FileDigest,
    /// Whether it was written long enough before it was read that a later write has a different version.
    is_settled: bool,
}

impl Stamp {
    /// The state of a file that was listed at `now` or later, before it was read.
    pub fn new(listed: &FileEntry, length: u64, digest: FileDigest, now: i64) -> Self {
        Self {
            length: listed.length.unwrap_or(length),
            version: listed.version,
            digest,
            is_settled: listed.written.is_some_and(|written| written.saturating_add(TICK) < now),
        }
    }

    /// Whether the file is certainly unchanged.
    pub fn is_of(&self, listed: &FileEntry) -> bool {
        self.is_settled
            && self.version.is_some()
            && self.version == listed.version
            && Some(self.length) == listed.length
    }
}

/// A name that a file uses, by its hash, and the number of uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Use {
    pub name: u64,
    pub count: u32,
}

/// The definitions and uses of a file, redacted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Symbols {
    /// In the order of the file.
    pub definitions: Vec<Definition>,
    /// The used names as hashes, because names are only compared, and hashes reveal less.
    pub uses: Vec<Use>,
}

impl Symbols {
    pub fn of(symbols: FileSymbols, language: Language) -> Self {
        let FileSymbols { definitions, references } = symbols;
        let name = |name: &str| name_hash(language, name);
        let uses = references.iter().map(|used| Use { name: name(&used.name), count: used.count });
        Self { uses: uses.collect(), definitions }
    }

    fn is_empty(&self) -> bool {
        self.definitions.is_empty() && self.uses.is_empty()
    }
}

/// One language of each family whose files can use each other's names.
pub(super) const FAMILIES: [Language; 6] = [
    Language::TypeScript,
    Language::Python,
    Language::Rust,
    Language::Go,
    Language::Java,
    Language::C,
];

/// The hash by which a use finds definitions. It includes the family of languages, because files of other families
/// cannot be meant.
pub(super) fn name_hash(language: Language, name: &str) -> u64 {
    let family: u8 = match language {
        Language::TypeScript | Language::Tsx | Language::JavaScript => 0,
        Language::Python => 1,
        Language::Rust => 2,
        Language::Go => 3,
        Language::Java => 4,
        Language::C | Language::Cpp => 5,
    };
    let mut hasher = FxHasher::default();
    (family, name).hash(&mut hasher);
    hasher.finish()
}

/// A source file in a snapshot.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    /// Relative to the workspace, with `/` between components.
    pub path: Arc<str>,
    pub language: Language,
    pub symbols: Arc<Symbols>,
}

impl SourceFile {
    /// Whether both give the same map.
    pub fn is_same(&self, other: &Self) -> bool {
        self.path == other.path
            && self.language == other.language
            && (Arc::ptr_eq(&self.symbols, &other.symbols)
                || self.symbols.is_empty() && other.symbols.is_empty())
    }
}

/// A source file that was read.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub file: SourceFile,
    pub stamp: Stamp,
    /// Why it has no symbols, if its contents are the reason.
    pub skipped: Option<SkipReason>,
}
