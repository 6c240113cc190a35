//! The view that another process has of a disk: the same files, and no shared state. Checks that an
//! open file is not synchronised again after its synchronisation failed.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use simulator::{DiskHooks, FileHooks, HookedDisk, HookedFile, SimulatedDisk};
use storage::{Access, FileResult, FileSystem, OpenFile};

static NEXT_SCOPE: AtomicU64 = AtomicU64::new(1 << 50);

/// The view of one process, identified by its scope.
#[derive(Clone)]
struct Process(u64);

/// The disk's files, as another process would have them.
pub fn process_on(disk: &SimulatedDisk) -> Arc<dyn FileSystem> {
    let scope = NEXT_SCOPE.fetch_add(1, Ordering::Relaxed);
    Arc::new(HookedDisk::new(disk.clone(), Process(scope)))
}

impl DiskHooks for Process {
    fn opened(
        &self,
        _path: &Path,
        _access: Access,
        file: Box<dyn OpenFile>,
    ) -> FileResult<Box<dyn OpenFile>> {
        Ok(Box::new(HookedFile::new(file, SynchronisedOnce::default())))
    }
    fn has_unnamed_files(&self) -> bool {
        true
    }
    fn scope(&self, _of_disk: u64) -> u64 {
        self.0
    }
}

/// Panics if an open file is synchronised again after that failed.
#[derive(Default)]
struct SynchronisedOnce {
    has_failed: AtomicBool,
}

impl FileHooks for SynchronisedOnce {
    fn sync(&self, file: &dyn OpenFile) -> FileResult<()> {
        assert!(!self.has_failed.load(Ordering::Relaxed), "synchronised again after a failure");
        let outcome = file.sync();
        self.has_failed.store(outcome.is_err(), Ordering::Relaxed);
        outcome
    }
}
