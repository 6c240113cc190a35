//! What is known, kept on disk. A cache: what makes no sense is made anew, and every file is compared
//! with what is known of it before that counts.
//!
//! In the frame of a [`cache_file`], the file is the head after its length (32 bits, little endian), and
//! the files, both in postcard's format.

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use storage::cache_file::{self, CacheFile};

use super::{
    intake::KnownFiles,
    record::{Known, SourceFile, Stamp, Symbols},
    skipped::SkipReason,
};
use crate::symbols::Language;

/// Changes with the format.
const MAGIC: &[u8; 16] = b"symbol index 2 \n";
/// Changes with what symbols are found in a file.
const SYMBOLS: u32 = 1;
/// A larger file is not ours, in bytes.
pub(super) const MAX_FILE: u64 = 512 * 1024 * 1024;
/// Bytes of the head's length.
const LENGTH: usize = 4;

/// What the files were made by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    version: String,
    symbols: u32,
    /// Hashes are not the same everywhere.
    pointer_bits: u32,
    /// SHA-256 of its path.
    workspace: [u8; 32],
    max_file_bytes: u64,
    /// Tells the rules of redaction from others. Not all bits: among the rules may be what is secret.
    redaction: Option<u32>,
}

impl Head {
    pub fn new(workspace: &Path, max_file_bytes: u64, redaction: Option<u64>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            symbols: SYMBOLS,
            pointer_bits: usize::BITS,
            workspace: Sha256::digest(workspace.as_os_str().as_encoded_bytes()).into(),
            max_file_bytes,
            redaction: redaction.map(|fingerprint| fingerprint as u32),
        }
    }
}

/// A file as the cache has it.
#[derive(Serialize, Deserialize)]
struct Stored<P, S> {
    path: P,
    language: Language,
    stamp: Stamp,
    symbols: S,
    skipped: Option<SkipReason>,
}

/// The cache's contents; `None` for what cannot be encoded or would not be taken back.
pub(super) fn encode<'a>(head: &Head, files: impl Iterator<Item = &'a Known>) -> Option<Vec<u8>> {
    let files: Vec<Stored<&str, &Symbols>> = files
        .map(|Known { file, stamp, skipped }| Stored {
            path: &*file.path,
            language: file.language,
            stamp: stamp.clone(),
            symbols: &*file.symbols,
            skipped: *skipped,
        })
        .collect();
    let head = postcard::to_stdvec(head).ok()?;
    let mut file = CacheFile::new(MAGIC, LENGTH + head.len());
    file.extend(u32::try_from(head.len()).ok()?.to_le_bytes());
    file.extend(head);
    let bytes = postcard::to_extend(&files, file).ok()?.finish();
    (bytes.len() as u64 <= MAX_FILE).then_some(bytes)
}

/// What the cache says, when it is whole and was made by the same means.
pub(super) fn decode(bytes: &[u8], head: &Head, max_files: usize) -> Option<KnownFiles> {
    let (length, rest) = cache_file::contents(bytes, MAGIC)?.split_first_chunk::<LENGTH>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (stored, files) = rest.split_at_checked(length)?;
    if postcard::from_bytes::<Head>(stored).ok()? != *head {
        return None;
    }
    let files: Vec<Stored<Arc<str>, Arc<Symbols>>> = postcard::from_bytes(files).ok()?;
    if files.len() > max_files {
        return None;
    }
    let known = files.into_iter().map(|Stored { path, language, stamp, symbols, skipped }| {
        let file = SourceFile { path: Arc::clone(&path), language, symbols };
        (path, Known { file, stamp, skipped })
    });
    Some(known.collect())
}
