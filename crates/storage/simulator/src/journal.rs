//! What was asked of the disk, in order.

use std::{collections::BTreeMap, ffi::OsStr, sync::Arc};

/// The name of a directory entry.
pub(super) type Name = Arc<OsStr>;

/// A directory's entries.
pub(super) type Entries = BTreeMap<Name, Inode>;

/// What an entry leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inode {
    File(u64),
    Directory(u64),
}

impl Inode {
    /// The number, which no two files or directories share.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::File(number) | Self::Directory(number) => number,
        }
    }
}

/// A step that a power cut can fall before or after, as a system call is.
#[derive(Debug)]
pub(super) enum Operation {
    /// Entry changes that the running system sees at once.
    Link(Vec<EntryChange>),
    Write {
        file: u64,
        offset: usize,
        bytes: Arc<[u8]>,
    },
    Truncate {
        file: u64,
        length: usize,
    },
    Sync {
        file: u64,
    },
    /// The system may have dropped what it could not write, and says so only once.
    FailedSync {
        file: u64,
    },
    SyncDirectory {
        directory: u64,
    },
}

/// A change of one directory that reaches the medium whole or not at all.
#[derive(Debug, Clone)]
pub(super) struct EntryChange {
    pub(super) directory: u64,
    /// The names with what they lead to now; `None`: the name is gone.
    pub(super) names: Vec<(Name, Option<Inode>)>,
}

impl EntryChange {
    pub(super) fn apply(&self, entries: &mut Entries) {
        for (name, inode) in &self.names {
            match inode {
                Some(inode) => entries.insert(Arc::clone(name), *inode),
                None => entries.remove(name),
            };
        }
    }
}

/// Puts bytes at an offset; what lies between the old end and the offset is zeros.
pub(super) fn overwrite(contents: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if contents.len() < end {
        contents.resize(end, 0);
    }
    if let Some(part) = contents.get_mut(offset..end) {
        part.copy_from_slice(bytes);
    }
}
