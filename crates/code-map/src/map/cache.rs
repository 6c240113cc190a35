//! Encodes and decodes the file on disk that caches symbols. Invalid data, and data written under other conditions
//! (crate version, limits, redaction rules), is discarded. `intake` compares each file with its cached record before it
//! uses the record.
//!
//! Within the frame of a [`cache_file`], the contents are the length of the head (32 bits, little endian), the head,
//! and the files, both in postcard's format.

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

/// Must change with the format.
const MAGIC: &[u8; 16] = b"symbol index 2 \n";
/// Must change when other symbols are found in a file.
const SYMBOLS: u32 = 1;
/// Maximum size in bytes; a larger file was not written by this module.
pub(super) const MAX_FILE: u64 = 512 * 1024 * 1024;
/// Size of the head's length in bytes.
const LENGTH: usize = 4;

/// The conditions under which the files were parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    version: String,
    symbols: u32,
    /// Hashes depend on the pointer size.
    pointer_bits: u32,
    /// SHA-256 of its path.
    workspace: [u8; 32],
    max_file_bytes: u64,
    /// Part of the fingerprint of the redaction rules. Not the complete fingerprint, because rules may contain secrets.
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

/// A cached file.
#[derive(Serialize, Deserialize)]
struct Stored<P, S> {
    path: P,
    language: Language,
    stamp: Stamp,
    symbols: S,
    skipped: Option<SkipReason>,
}

/// The contents of the cache file; `None` if they cannot be encoded or would be too large to read back.
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

/// The cached files, if the contents are valid and were written under the same conditions.
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
