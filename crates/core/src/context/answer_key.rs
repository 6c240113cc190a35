//! The key with which the tools for models sign their answers. A signed answer that comes back as the output of a tool
//! is recognised and not stored again. The key is random, and all processes that use the directory share it.

use std::path::{Path, PathBuf};

use storage::{FileResult, Payload, Target, layout};

use super::{context_directory::ContextDirectory, refused};
use crate::error::{Code, Error, Result};

/// Hex digits of a key, 256 bits.
const DIGITS: usize = 64;

/// The directory's key as hex digits. If there is none, it is created if `creates` is set, otherwise `None` is
/// returned.
///
/// # Errors
/// `UnsafeDirectory`, `Corrupt` if the file has no valid key, or `Io`
pub(super) async fn read(directory: &ContextDirectory, creates: bool) -> Result<Option<String>> {
    let failed = |error| refused("read the key of answers in", directory.path(), error);
    if let Some(key) = existing(directory).await? {
        return Ok(Some(key));
    }
    if !creates {
        return Ok(None);
    }
    let file_system = directory.file_system.as_ref();
    file_system.create_directories(directory.path()).await.map_err(failed)?;
    directory.check()?;
    let key: String = (0..DIGITS / 16).map(|_| format!("{:016x}", layout::random())).collect();
    match create(directory, &key).await {
        Ok(()) => Ok(Some(key)),
        // Another process created the key first.
        Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => existing(directory).await,
        Err(error) => Err(refused("create the key of answers in", directory.path(), error)),
    }
}

async fn existing(directory: &ContextDirectory) -> Result<Option<String>> {
    let failed = |error| refused("read the key of answers in", directory.path(), error);
    let root = match directory.file_system.canonical(directory.path()).await {
        Ok(root) => root,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    directory.check()?;
    let contents = match directory.read(&root, layout::ANSWER_KEY, DIGITS as u64 + 1).await {
        Ok(contents) => contents,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let key = String::from_utf8(contents.bytes).unwrap_or_default();
    if key.len() == DIGITS && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Ok(Some(key));
    }
    let path = directory.path_of(layout::ANSWER_KEY);
    Err(Error::new(Code::Corrupt, format!("{path} holds no key; remove it, and another is made")))
}

async fn create(directory: &ContextDirectory, key: &str) -> FileResult<()> {
    let name = layout::replacement(layout::ANSWER_KEY);
    let (path, temporary) = (
        PathBuf::from(directory.path_of(layout::ANSWER_KEY)),
        PathBuf::from(directory.path_of(&name)),
    );
    let file_system = directory.file_system.as_ref();
    let root = file_system.canonical(Path::new(directory.path())).await?;
    let target = Target { directory: &root, temporary: &temporary, path: &path };
    let contents = Payload::new(key.as_bytes().to_vec());
    let sync = storage::DirectorySync::default();
    // Synchronisation is not needed: if a power failure undoes the write, old answers only count as ordinary outputs.
    let durability = storage::Durability::Process;
    storage::create_file(file_system, target, contents, durability, &sync).await
}
