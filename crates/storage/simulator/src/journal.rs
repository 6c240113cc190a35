//! The operations on the simulated disk, in order.

use std::{collections::BTreeMap, ffi::OsStr, sync::Arc};

/// The name of a directory entry.
pub(super) type Name = Arc<OsStr>;

/// The entries of a directory.
pub(super) type Entries = BTreeMap<Name, Inode>;

/// The inode of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inode {
    File(u64),
    Directory(u64),
}

impl Inode {
    /// The inode number, which is unique among files and directories.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::File(number) | Self::Directory(number) => number,
        }
    }
}

/// An atomic step: a power cut happens before or after it, as with a system call.
#[derive(Debug)]
pub(super) enum Operation {
    /// Changes of entries, which the running system sees at once.
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
    /// The system may have dropped the unwritten data, and reports the failure only once.
    FailedSync {
        file: u64,
    },
    SyncDirectory {
        directory: u64,
    },
}

/// A change of one directory that reaches stable storage completely or not at all.
#[derive(Debug, Clone)]
pub(super) struct EntryChange {
    pub(super) directory: u64,
    /// The names with their new inodes; `None` for a removed name.
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

/// Writes bytes at an offset; a gap between the old end and the offset is filled with zeros.
pub(super) fn overwrite(contents: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if contents.len() < end {
        contents.resize(end, 0);
    }
    if let Some(part) = contents.get_mut(offset..end) {
        part.copy_from_slice(bytes);
    }
}
