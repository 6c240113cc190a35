//! A disk in memory that loses data at a simulated power cut as a real disk may. Tests of durability run on it.
//!
//! This crate is for tests and is not a dependency of the product. It implements the traits of `storage` and performs
//! no I/O.
//!
//! Terms:
//! - *journal*: all operations that changed the disk, in order.
//! - *image*: all files and directories at one moment, as the running system or stable storage has them.
//! - *medium*: the contents of stable storage, and the changes that wait to reach it.
//! - [`Survival`]: which of the waiting changes a power cut leaves.
//!
//! Every operation takes effect at once and is recorded in a journal. [`SimulatedDisk::crash`] returns the disk
//! that is found after a power cut behind any operation of the journal:
//!
//! - A file's data and length are durable once the file was synchronised. Of later data, each aligned block of 4096
//!   bytes of each write may survive or not. Where a block is missing, the file has zeros or its previous contents. The
//!   length is any of those that the file had since.
//! - A directory entry is durable once its directory was synchronised; synchronising the file does not affect it. Of
//!   later changes of entries, each may survive or not. A rename within a directory is one change. A rename between
//!   directories is one change in each, so that both names or neither may exist.
//! - The contents of a lost directory are lost.
//! - Data that was waiting when a synchronisation failed is not written by the next one.
//!
//! No single file system loses all of this, but POSIX permits all of it. [`SimulatedDisk::with_entry_log`] models a
//! file system with a metadata log (xfs): a rename reaches stable storage before the data of the renamed file does.
//!
//! [`SimulatedDisk::kill`] returns the disk as the next process finds it when only this process ended.
//! [`SimulatedDisk::fail`] makes calls fail.
//!
//! [`SimulatedDisk::mounted_again`] is another mount of the same files, which grants locks independently.
//!
//! Paths begin at the root, which exists. There are no symbolic links and no modification times. Permissions are
//! recorded but not enforced. Directories can be neither renamed nor removed.

#![cfg_attr(not(test), deny(unused_crate_dependencies))]

mod calls;
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that several crates run")]
pub mod contract;
mod hooked;
mod image;
mod journal;
mod medium;
mod open_file;
mod survival;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use storage::{FileError, FileResult, Ownership};

pub use hooked::{DiskHooks, FileHooks, HookedDisk, HookedFile};
pub use survival::Survival;

use self::{
    image::{Image, ROOT},
    journal::{EntryChange, Inode, Name, Operation},
    medium::{EntryModel, Medium},
};

/// The scope of the next disk. The numbers are far above those of injected file systems.
static NEXT_SCOPE: AtomicU64 = AtomicU64::new(1 << 40);

/// A disk in memory. Clones refer to the same disk.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
    scope: u64,
    model: EntryModel,
    has_unnamed_files: bool,
    has_locks: bool,
    locks_bind: bool,
    /// Distinguishes the mounts of the same files.
    mount: u64,
    /// The user as whom this clone uses the disk.
    user: u32,
}

/// The user of a new disk.
const USER: u32 = 1000;
/// The modes of new files and directories.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

#[derive(Debug)]
struct State {
    /// The image before the first operation of the journal.
    initial: Image,
    /// The image that the running system sees.
    visible: Image,
    journal: Vec<Operation>,
    /// A cache: the medium after this many operations, because tests crash the same disk at consecutive operations.
    medium: (usize, EntryModel, Medium),
    next_inode: u64,
    next_open_file: u64,
    /// The locked files by mount, each with the open file that holds the lock.
    locks: BTreeMap<(u64, u64), u64>,
    /// Bytes that another mount writes into the middle of the next append.
    torn_by: Option<Vec<u8>>,
    /// Owners and permissions of files and directories. A power cut does not change them.
    ownerships: BTreeMap<u64, Ownership>,
    calls: usize,
    failures: BTreeMap<usize, Failure>,
}

#[derive(Debug)]
struct Failure {
    error: io::Error,
    is_partway: bool,
}

impl Default for SimulatedDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimulatedDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::from_image(Image::default(), ROOT + 1)
    }

    fn from_image(image: Image, next_inode: u64) -> Self {
        let state = State {
            initial: image.clone(),
            visible: image.clone(),
            journal: Vec::new(),
            medium: (0, EntryModel::Independent, Medium::new(image, EntryModel::Independent)),
            next_inode,
            next_open_file: 0,
            locks: BTreeMap::new(),
            torn_by: None,
            ownerships: BTreeMap::new(),
            calls: 0,
            failures: BTreeMap::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            scope: NEXT_SCOPE.fetch_add(1, Ordering::Relaxed),
            model: EntryModel::Independent,
            has_unnamed_files: true,
            has_locks: true,
            locks_bind: true,
            mount: 0,
            user: USER,
        }
    }

    /// Another mount of the same files, as with FUSE: each mount grants its own locks, so that no lock binds every
    /// process.
    #[must_use]
    pub fn mounted_again(&self) -> Self {
        let scope = NEXT_SCOPE.fetch_add(1, Ordering::Relaxed);
        Self { scope, mount: scope, locks_bind: false, ..self.clone() }
    }

    /// Splits the next append: what another mount appends is written between its halves. This can happen where the
    /// system forwards a write in pieces.
    pub fn tear_next_append(&self, foreign: &[u8]) {
        self.state().torn_by = Some(foreign.to_vec());
    }

    /// The same disk, used by another user.
    #[must_use]
    pub fn used_by(&self, user: u32) -> Self {
        let scope = NEXT_SCOPE.fetch_add(1, Ordering::Relaxed);
        Self { scope, user, ..self.clone() }
    }

    /// Changes the permission bits of a file or directory.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn set_mode(&self, path: &Path, mode: u32) -> FileResult<()> {
        let mut state = self.call("chmod", path)?;
        let inode = state.visible.find(path).at("chmod", path)?.number();
        state.set_mode(inode, mode);
        Ok(())
    }

    /// The disk without creation of unnamed files.
    #[must_use]
    pub fn without_unnamed_files(self) -> Self {
        Self { has_unnamed_files: false, ..self }
    }

    /// The disk with a metadata log, as xfs has it. Entry changes of all directories reach stable storage in order.
    /// Synchronising any file or directory makes all of them durable, and none of the data of other files.
    #[must_use]
    pub fn with_entry_log(self) -> Self {
        Self { model: EntryModel::Logged, ..self }
    }

    /// The disk without locks.
    #[must_use]
    pub fn without_locks(self) -> Self {
        Self { has_locks: false, ..self }
    }

    /// The number of operations in the journal. A write that is acknowledged now must survive a crash at this
    /// operation.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.state().journal.len()
    }

    /// The number of calls of any kind: all methods of a [`Disk`](storage::Disk) except its scope, and all of an
    /// [`OpenFile`](storage::OpenFile).
    #[must_use]
    pub fn calls(&self) -> usize {
        self.state().calls
    }

    /// Makes a call fail without effect. `at` is the number of calls before it. Calls that return no error report that
    /// the answer is unknown; a lock is kept.
    pub fn fail(&self, at: usize, error: io::Error) {
        self.state().failures.insert(at, Failure { error, is_partway: false });
    }

    /// As [`SimulatedDisk::fail`], but a writing call writes half of its bytes first.
    pub fn fail_partway(&self, at: usize, error: io::Error) {
        self.state().failures.insert(at, Failure { error, is_partway: true });
    }

    /// The disk after a power cut behind the first `at` operations (all, if there are fewer). On it, nothing is open,
    /// locked or about to fail, and everything is on stable storage.
    #[must_use]
    pub fn crash(&self, at: usize, survival: Survival) -> Self {
        let image = self.state().medium(at, self.model).survivors(survival);
        self.restarted(image)
    }

    /// The disk after the process ended behind the first `at` operations (all, if there are fewer). Nothing is lost,
    /// and nothing is open, locked or about to fail.
    #[must_use]
    pub fn kill(&self, at: usize) -> Self {
        let image = {
            let state = self.state();
            let mut image = state.initial.clone();
            for operation in state.journal.iter().take(at) {
                image.apply(operation);
            }
            image.linked()
        };
        self.restarted(image)
    }

    fn restarted(&self, image: Image) -> Self {
        let (next_inode, ownerships) = {
            let state = self.state();
            (state.next_inode, state.ownerships.clone())
        };
        let restarted = Self {
            model: self.model,
            has_unnamed_files: self.has_unnamed_files,
            has_locks: self.has_locks,
            locks_bind: self.locks_bind,
            mount: self.mount,
            user: self.user,
            ..Self::from_image(image, next_inode)
        };
        restarted.state().ownerships = ownerships;
        restarted
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call that has no effect when it fails.
    fn call(&self, operation: &'static str, path: &Path) -> FileResult<MutexGuard<'_, State>> {
        let mut state = self.state();
        match state.count_call() {
            Some(Failure { error, .. }) => Err(FileError::system(operation, path, error)),
            None => Ok(state),
        }
    }

    /// Begins a writing call. Returns the error after which it has to stop halfway, if any.
    fn writing_call(
        &self,
        operation: &'static str,
        path: &Path,
    ) -> FileResult<(MutexGuard<'_, State>, Option<FileError>)> {
        let mut state = self.state();
        match state.count_call() {
            Some(Failure { error, is_partway: true }) => {
                Ok((state, Some(FileError::system("write", path, error))))
            }
            Some(Failure { error, .. }) => Err(FileError::system(operation, path, error)),
            None => Ok((state, None)),
        }
    }
}

impl State {
    fn count_call(&mut self) -> Option<Failure> {
        let failure = self.failures.remove(&self.calls);
        self.calls += 1;
        failure
    }

    fn perform(&mut self, operation: Operation) {
        self.visible.apply(&operation);
        self.journal.push(operation);
    }

    /// The number of a new file or directory, which only its owner may access.
    fn new_inode(&mut self, owner: u32, mode: u32) -> u64 {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.ownerships.insert(inode, Ownership { owner, group: owner, mode });
        inode
    }

    fn set_mode(&mut self, inode: u64, mode: u32) {
        if let Some(ownership) = self.ownerships.get_mut(&inode) {
            ownership.mode = mode;
        }
    }

    /// Changes one entry.
    fn link(&mut self, directory: u64, name: Name, inode: Option<Inode>) {
        let change = EntryChange { directory, names: vec![(name, inode)] };
        self.perform(Operation::Link(vec![change]));
    }

    /// Appends to a file.
    fn append(&mut self, file: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            let offset = self.visible.file(file).len();
            self.perform(Operation::Write { file, offset, bytes: bytes.into() });
        }
    }

    /// The medium after the first `at` operations.
    fn medium(&mut self, at: usize, model: EntryModel) -> &Medium {
        let (done, of, medium) = &mut self.medium;
        if at < *done || *of != model {
            (*done, *of) = (0, model);
            *medium = Medium::new(self.initial.clone(), model);
        }
        for operation in self.journal.iter().take(at).skip(*done) {
            medium.apply(operation);
            *done += 1;
        }
        medium
    }
}

/// The part that a failing write writes before it fails.
fn half(bytes: &[u8]) -> &[u8] {
    bytes.get(..bytes.len() / 2).unwrap_or_default()
}

/// Adds the operation and the path to an I/O error.
trait At<T> {
    fn at(self, operation: &'static str, path: &Path) -> FileResult<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, operation: &'static str, path: &Path) -> FileResult<T> {
        self.map_err(|error| FileError::system(operation, path, error))
    }
}
