//! What is kept of a source file.

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

/// File systems tell times in ticks, of up to 2 s: what is younger may change without a sign of it.
const TICK: i64 = 2000;

/// Tells the bytes of one file from all others.
pub(super) type FileDigest = [u8; 16];

/// The digest of a file's bytes.
pub(super) fn digest(bytes: &[u8]) -> FileDigest {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    digest.first_chunk().copied().unwrap_or_default()
}

/// Which state of a file something was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    length: u64,
    version: Option<u64>,
    pub digest: FileDigest,
    /// It was written long enough before it was read that no later write can have the same version.
    is_settled: bool,
}

impl Stamp {
    /// Of a file as it was listed at `now` or later, before it was read.
    pub fn new(listed: &FileEntry, length: u64, digest: FileDigest, now: i64) -> Self {
        Self {
            length: listed.length.unwrap_or(length),
            version: listed.version,
            digest,
            is_settled: listed.written.is_some_and(|written| written.saturating_add(TICK) < now),
        }
    }

    /// Whether the file is surely what it was.
    pub fn is_of(&self, listed: &FileEntry) -> bool {
        self.is_settled
            && self.version.is_some()
            && self.version == listed.version
            && Some(self.length) == listed.length
    }
}

/// A name that a file uses, by its hash, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Use {
    pub name: u64,
    pub count: u32,
}

/// What a file defines and uses, redacted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Symbols {
    /// In the order of the file.
    pub definitions: Vec<Definition>,
    /// Names are only compared: their hashes do, and say less.
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

/// A language of each family whose files use each other's names.
pub(super) const FAMILIES: [Language; 6] = [
    Language::TypeScript,
    Language::Python,
    Language::Rust,
    Language::Go,
    Language::Java,
    Language::C,
];

/// By which a use finds definitions: files of languages that cannot use each other's names have nothing
/// in common.
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

/// A source file as a snapshot has it.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    /// Below the workspace, with `/` between names.
    pub path: Arc<str>,
    pub language: Language,
    pub symbols: Arc<Symbols>,
}

impl SourceFile {
    /// Whether a map says the same of both.
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
    /// Why it has no symbols, if that is known of its contents.
    pub skipped: Option<SkipReason>,
}
