//! The files and directories at one moment. Copies share contents until one of them changes.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io,
    path::{Component, Path},
    sync::Arc,
};

use super::journal::{Entries, EntryChange, Inode, Name, Operation, overwrite};

/// Inode number of the root directory.
pub(super) const ROOT: u64 = 1;

/// Files and directories by inode number.
#[derive(Debug, Clone, Default)]
pub(super) struct Image {
    files: BTreeMap<u64, Arc<Vec<u8>>>,
    directories: BTreeMap<u64, Arc<Entries>>,
}

impl Image {
    /// The contents of a file. A number that was never written to is an empty file.
    pub(super) fn file(&self, file: u64) -> Arc<Vec<u8>> {
        self.files.get(&file).map(Arc::clone).unwrap_or_default()
    }

    pub(super) fn set_file(&mut self, file: u64, contents: Arc<Vec<u8>>) {
        self.files.insert(file, contents);
    }

    pub(super) fn directory(&self, directory: u64) -> Arc<Entries> {
        self.directories.get(&directory).map(Arc::clone).unwrap_or_default()
    }

    pub(super) fn set_directory(&mut self, directory: u64, entries: Arc<Entries>) {
        self.directories.insert(directory, entries);
    }

    /// Changes the entries of one directory.
    pub(super) fn change_entries(&mut self, change: &EntryChange) {
        change.apply(Arc::make_mut(self.directories.entry(change.directory).or_default()));
    }

    /// The inode of a directory entry.
    pub(super) fn entry(&self, directory: u64, name: &OsStr) -> Option<Inode> {
        self.directories.get(&directory)?.get(name).copied()
    }

    /// Whether any directory has an entry for the file.
    pub(super) fn is_linked(&self, file: u64) -> bool {
        let mut entries = self.directories.values().flat_map(|entries| entries.values());
        entries.any(|inode| *inode == Inode::File(file))
    }

    /// Applies an operation as the running system sees it.
    pub(super) fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Link(changes) => {
                for change in changes {
                    self.change_entries(change);
                }
            }
            Operation::Write { file, offset, bytes } => {
                overwrite(Arc::make_mut(self.files.entry(*file).or_default()), *offset, bytes);
            }
            Operation::Truncate { file, length } => {
                Arc::make_mut(self.files.entry(*file).or_default()).resize(*length, 0);
            }
            Operation::Sync { .. }
            | Operation::FailedSync { .. }
            | Operation::SyncDirectory { .. } => {}
        }
    }

    /// The files and directories that have a name, which remain after a restart.
    pub(super) fn linked(&self) -> Self {
        let mut image = Self::default();
        let mut waiting = vec![ROOT];
        while let Some(directory) = waiting.pop() {
            let entries = self.directory(directory);
            for inode in entries.values() {
                match *inode {
                    Inode::Directory(directory) => waiting.push(directory),
                    Inode::File(file) => image.set_file(file, self.file(file)),
                }
            }
            image.set_directory(directory, entries);
        }
        image
    }

    /// The inode at a path.
    pub(super) fn find(&self, path: &Path) -> io::Result<Inode> {
        self.find_below(ROOT, path)
    }

    /// The inode at a path relative to a directory.
    pub(super) fn find_below(&self, directory: u64, path: &Path) -> io::Result<Inode> {
        let mut inode = Inode::Directory(directory);
        for name in names(path)? {
            let Inode::Directory(directory) = inode else {
                return Err(io::ErrorKind::NotADirectory.into());
            };
            inode = self.entry(directory, name).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(inode)
    }

    /// The inode number of the directory at a path.
    pub(super) fn find_directory(&self, path: &Path) -> io::Result<u64> {
        match self.find(path)? {
            Inode::Directory(directory) => Ok(directory),
            Inode::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The directory of a path's last component, the component's name, and its inode.
    pub(super) fn find_entry(&self, path: &Path) -> io::Result<(u64, Name, Option<Inode>)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let directory = self.find_directory(parent)?;
        Ok((directory, Name::from(name), self.entry(directory, name)))
    }
}

/// The components of a path. All paths are absolute, and there are no symbolic links.
pub(super) fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
            Component::ParentDir => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    Ok(names)
}
