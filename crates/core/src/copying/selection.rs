//! Which files of a place are copied: those that this package stores and cannot rebuild.

use std::path::{Path, PathBuf};

use storage::{FileEntry, FileResult, FileSystem, layout};

use crate::store::Location;

/// The depth of directories in a context store.
const STORE_DEPTH: usize = 2;
/// The length of the name of a repository's directory.
const HASH: usize = 64;

/// What a place holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The contexts and sessions of a context directory.
    Contexts,
    /// The entries of a context store.
    Store,
    /// The memories of all repositories below a root.
    Memories,
}

/// How a file is compared with the one that the destination has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// It must be equal.
    Equal,
    /// A session's record: the one that was used later stays.
    LastUsed,
    /// A log of lines: one that continues the other replaces it.
    Longer,
}

/// A file to be copied.
#[derive(Debug, Clone)]
pub(super) struct SelectedFile {
    /// Its directory, below the place.
    pub directory: PathBuf,
    pub name: String,
    /// Its length, if it is known.
    pub length: Option<u64>,
    pub comparison: Comparison,
    /// Files of a stage are copied after those of earlier ones.
    pub stage: usize,
}

/// The number of stages.
pub(super) const STAGES: usize = 3;

impl SelectedFile {
    pub fn relative(&self) -> PathBuf {
        self.directory.join(&self.name)
    }
}

/// The files below a place.
pub(super) async fn select(
    kind: FileKind,
    file_system: &dyn FileSystem,
    root: &Path,
) -> FileResult<Vec<SelectedFile>> {
    let mut selected = Vec::new();
    match kind {
        FileKind::Contexts => {
            let files = file_system.list(root).await?;
            selected.extend(files.into_iter().filter_map(context_file));
        }
        FileKind::Store => {
            let mut directories = vec![PathBuf::new()];
            while let Some(directory) = directories.pop() {
                let path = root.join(&directory);
                let files = file_system.list(&path).await?;
                selected.extend(files.into_iter().filter_map(|file| entry_file(&directory, file)));
                if directory.components().count() < STORE_DEPTH {
                    let names = file_system.directories(&path).await?;
                    let visible = names.iter().filter(|name| !name.starts_with('.'));
                    directories.extend(visible.map(|name| directory.join(name)));
                }
            }
        }
        FileKind::Memories => {
            let repositories = Path::new(layout::REPOSITORIES);
            let names = file_system.directories(&root.join(repositories)).await?;
            for hash in names.iter().filter(|name| is_hash(name)) {
                let directory = repositories.join(hash);
                let files = file_system.list(&root.join(&directory)).await?;
                selected.extend(files.into_iter().filter_map(|file| memory_file(&directory, file)));
            }
        }
    }
    Ok(selected)
}

/// Sessions come before their contexts, so that they are not taken for ended ones, and bytes before the record that names them.
fn context_file(FileEntry { name, length, .. }: FileEntry) -> Option<SelectedFile> {
    let (stage, comparison) = if layout::is_session(&name) {
        (0, Comparison::LastUsed)
    } else if name == layout::ANSWER_KEY {
        (0, Comparison::Equal)
    } else if layout::parse_bytes(&name).is_some() {
        (1, Comparison::Equal)
    } else {
        layout::parse_context(&name)?;
        (2, Comparison::Equal)
    };
    Some(SelectedFile { directory: PathBuf::new(), name, length, comparison, stage })
}

fn entry_file(directory: &Path, FileEntry { name, length, .. }: FileEntry) -> Option<SelectedFile> {
    let path = directory.join(&name);
    let text = path.to_str()?.replace(std::path::MAIN_SEPARATOR, "/");
    Location::parse(&text).ok()?;
    let directory = directory.to_owned();
    Some(SelectedFile { directory, name, length, comparison: Comparison::Equal, stage: 0 })
}

fn memory_file(
    directory: &Path,
    FileEntry { name, length, .. }: FileEntry,
) -> Option<SelectedFile> {
    let comparison = match name.as_str() {
        layout::MEMORY => Comparison::Equal,
        layout::SUMMARIES => Comparison::Longer,
        _ => return None,
    };
    Some(SelectedFile { directory: directory.to_owned(), name, length, comparison, stage: 0 })
}

fn is_hash(name: &str) -> bool {
    name.len() == HASH && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
