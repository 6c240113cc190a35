//! When files and directories are synchronised, and leases on a disk with injected errors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use agent_context_core::{
    Code, Debug,
    context::{Manager, ManagerOptions},
};
use contexts::{options, save};
use serde_json::json;
use simulator::{DiskHooks, FileHooks, HookedDisk, HookedFile};
use storage::{
    Access, Disk, Durability, FileError, FileResult, Lease, LocalDisk, LockAttempt, OpenFile,
    live_sessions, sync_ancestors,
};

/// Called with an operation and its path; an error makes the operation fail.
type Hook = dyn FnMut(&str, &Path) -> io::Result<()> + Send;

/// The local disk, which records synchronisations and fails on request.
type WatchedDisk = HookedDisk<LocalDisk, Watch>;

/// The recorded synchronisations and the injected errors.
#[derive(Clone)]
struct Watch {
    scope: u64,
    has_locks: bool,
    synced: Arc<Mutex<Vec<PathBuf>>>,
    hook: Arc<Mutex<Box<Hook>>>,
}

impl Default for Watch {
    fn default() -> Self {
        let hook: Box<Hook> = Box::new(|_, _| Ok(()));
        Self { scope: 1, has_locks: true, synced: Arc::default(), hook: Arc::new(Mutex::new(hook)) }
    }
}

impl Watch {
    fn on(&self, hook: impl FnMut(&str, &Path) -> io::Result<()> + Send + 'static) {
        *self.hook.lock().unwrap() = Box::new(hook);
    }

    fn ask(&self, operation: &'static str, path: &Path) -> FileResult<()> {
        let outcome = self.hook.lock().unwrap()(operation, path);
        outcome.map_err(|error| FileError::system(operation, path, error))
    }

    /// The directories that were synchronised since the last call.
    fn synced(&self) -> Vec<PathBuf> {
        std::mem::take(&mut *self.synced.lock().unwrap())
    }
}

fn manager_on(disk: &WatchedDisk, options: ManagerOptions) -> Arc<Manager> {
    Manager::new(options, Arc::new(disk.clone()), Debug::default())
}

impl DiskHooks for Watch {
    fn before(&self, call: &'static str, path: &Path) -> FileResult<()> {
        match call {
            "write_new" => self.ask("write", path),
            "sync_directory" => {
                self.synced.lock().unwrap().push(path.to_owned());
                self.ask("fsync", path)
            }
            "open" => self.ask("open", path),
            _ => Ok(()),
        }
    }
    fn opened(
        &self,
        path: &Path,
        access: Access,
        file: Box<dyn OpenFile>,
    ) -> FileResult<Box<dyn OpenFile>> {
        if access != Access::Read {
            self.ask("created", path)?;
        }
        Ok(if self.has_locks { file } else { Box::new(HookedFile::new(file, WithoutLocks)) })
    }
    fn scope(&self, _of_disk: u64) -> u64 {
        self.scope
    }
}

/// The file system has no locks.
struct WithoutLocks;

impl FileHooks for WithoutLocks {
    fn has_locks(&self) -> bool {
        false
    }
}

/// A temporary directory, and its canonical path.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = std::fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn full(directory: &Path) -> ManagerOptions {
    ManagerOptions { durability: Durability::Full, ..options(directory) }
}

fn ancestors(directory: &Path) -> Vec<PathBuf> {
    directory.ancestors().skip(1).map(Path::to_owned).collect()
}

fn count(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn refuse_sync_of(disk: &WatchedDisk, directory: &Path) {
    let refused = directory.to_owned();
    disk.on(move |operation, path| match operation {
        "fsync" if path == refused => Err(io::Error::other("the medium is gone")),
        _ => Ok(()),
    });
}

#[tokio::test]
async fn the_way_to_the_directory_is_synchronised_once_and_the_directory_with_every_save() {
    let (_folder, root) = folder();
    let directory = root.join("a/b");
    let disk = WatchedDisk::default();
    let first = manager_on(&disk, full(&directory));
    let second =
        manager_on(&disk, ManagerOptions { session: "other".to_owned(), ..full(&directory) });
    save(&first, "t", &json!({}), &json!(1)).await.unwrap();
    let mut expected = ancestors(&directory);
    expected.push(directory.clone());
    assert_eq!(disk.synced(), expected);
    for manager in [&first, &second] {
        save(manager, "t", &json!({}), &json!(2)).await.unwrap();
        assert_eq!(disk.synced(), [directory.as_path()]);
    }
    std::fs::remove_dir_all(&directory).unwrap();
    save(&second, "t", &json!({}), &json!(3)).await.unwrap();
    assert_eq!(disk.synced(), expected, "another directory of the same name");
}

#[tokio::test]
async fn saves_at_once_share_the_way() {
    let (_folder, directory) = folder();
    let disk = WatchedDisk::default();
    let manager = manager_on(&disk, full(&directory));
    let saves: Vec<_> = (0..32)
        .map(|number| {
            let manager = Arc::clone(&manager);
            tokio::spawn(async move { save(&manager, "t", &json!({}), &json!(number)).await })
        })
        .collect();
    for save in saves {
        save.await.unwrap().unwrap();
    }
    let synced = disk.synced();
    let above: Vec<_> = synced.iter().filter(|path| **path != directory).cloned().collect();
    assert_eq!(above, ancestors(&directory));
    assert!(synced.len() > above.len());
}

#[tokio::test]
async fn a_save_fails_with_the_way_to_its_directory_and_leaves_nothing() {
    let (_folder, root) = folder();
    let directory = root.join("a");
    let disk = WatchedDisk::default();
    refuse_sync_of(&disk, &root);
    let manager = manager_on(&disk, full(&directory));
    let error = save(&manager, "t", &json!({}), &json!(1)).await.unwrap_err();
    assert_eq!(error.code, Code::Io);
    assert!(error.message.contains("the medium is gone"), "{}", error.message);
    assert_eq!((manager.len(), count(&directory)), (0, 1), "the lease alone");
    disk.on(|_, _| Ok(()));
    disk.synced();
    save(&manager, "t", &json!({}), &json!(1)).await.unwrap();
    assert!(disk.synced().contains(&root), "tried anew");
}

#[test]
fn ancestors_that_cannot_be_opened_are_left_out_and_others_are_not() {
    let (_folder, root) = folder();
    let disk = WatchedDisk::default();
    for (kind, is_passed_over) in [
        (ErrorKind::PermissionDenied, true),
        (ErrorKind::ReadOnlyFilesystem, true),
        (ErrorKind::StorageFull, false),
        (ErrorKind::NotFound, false),
        (ErrorKind::Other, false),
    ] {
        let refused = root.parent().unwrap().to_owned();
        disk.on(move |_, path| if path == refused { Err(kind.into()) } else { Ok(()) });
        assert_eq!(sync_ancestors(&disk, &root).is_ok(), is_passed_over, "{kind:?}");
        assert_eq!(disk.synced() == ancestors(&root), is_passed_over, "{kind:?}");
    }
}

#[tokio::test]
async fn removals_are_on_the_medium_before_they_are_acknowledged() {
    let (_folder, directory) = folder();
    let disk = WatchedDisk::default();
    let manager = manager_on(&disk, full(&directory));
    let path = save(&manager, "t", &json!({}), &json!(1)).await.unwrap();
    disk.synced();
    assert!(manager.forget(&path).await.unwrap());
    assert_eq!(disk.synced(), [directory.as_path()]);
    assert!(!manager.forget(&path).await.unwrap());
    assert_eq!(disk.synced(), [directory.as_path()], "another may have removed it just now");

    save(&manager, "t", &json!({}), &json!(2)).await.unwrap();
    disk.synced();
    assert_eq!(manager.clear(manager.begin_clear()).await.unwrap(), 1);
    assert_eq!(disk.synced(), [directory.as_path()]);
    assert_eq!(manager.clear(manager.begin_clear()).await.unwrap(), 0);
    assert!(disk.synced().is_empty(), "nothing was there to remove");

    save(&manager, "t", &json!({}), &json!(3)).await.unwrap();
    disk.synced();
    assert_eq!(manager.clear_directory(manager.begin_clear()).await.unwrap(), 1);
    assert_eq!(disk.synced(), [directory.as_path()]);

    // A manager that has not opened the directory clears the files of an earlier run.
    let named = |durability| ManagerOptions {
        session_is_named: true,
        session: "named".to_owned(),
        durability,
        ..options(&directory)
    };
    let writing = manager_on(&disk, named(Durability::Process));
    let path = save(&writing, "t", &json!({}), &json!(4)).await.unwrap();
    writing.close(writing.calls()).await;
    drop(writing);
    let clearing = manager_on(&disk, named(Durability::Full));
    assert!(disk.synced().is_empty());
    assert_eq!(clearing.clear(clearing.begin_clear()).await.unwrap(), 1);
    assert_eq!(disk.synced(), [directory.as_path()]);
    assert!(!Path::new(&path).exists());
    let nowhere = manager_on(&disk, full(&directory.join("missing")));
    assert_eq!(nowhere.clear_directory(nowhere.begin_clear()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_removal_that_did_not_reach_the_medium_is_told_and_made_good() {
    let (_folder, directory) = folder();
    let disk = WatchedDisk::default();
    let manager = manager_on(&disk, full(&directory));
    let one = save(&manager, "t", &json!({}), &json!(1)).await.unwrap();
    save(&manager, "t", &json!({}), &json!(2)).await.unwrap();
    refuse_sync_of(&disk, &directory);
    let forgotten = manager.forget(&one).await.unwrap_err();
    let again = manager.forget(&one).await.unwrap_err();
    let cleared = manager.clear(manager.begin_clear()).await.unwrap_err();
    let directory_cleared = manager.clear_directory(manager.begin_clear()).await.unwrap_err();
    for error in [forgotten, again, cleared, directory_cleared] {
        assert_eq!(error.code, Code::Io);
        let told = "could not bring removals to the medium in";
        assert!(error.message.starts_with(told), "{}", error.message);
    }
    disk.on(|_, _| Ok(()));
    disk.synced();
    assert_eq!(manager.clear(manager.begin_clear()).await.unwrap(), 0);
    assert_eq!(disk.synced(), [directory.as_path()], "what was gone already is so for good now");
}

#[tokio::test]
async fn nothing_waits_for_the_medium_where_that_is_not_promised() {
    let (_folder, root) = folder();
    let directory = root.join("a");
    let disk = WatchedDisk::default();
    let manager = manager_on(
        &disk,
        ManagerOptions {
            memory_budget: 0,
            index_budget: usize::MAX,
            persist_all: false,
            ..options(&directory)
        },
    );
    let path = save(&manager, "t", &json!({}), &json!(1)).await.unwrap();
    assert_eq!(manager.stats().spills, 1);
    save(&manager, "t", &json!({}), &json!("x".repeat(2000))).await.unwrap();
    assert!(manager.forget(&path).await.unwrap());
    assert_eq!(manager.clear(manager.begin_clear()).await.unwrap(), 1);
    save(&manager, "t", &json!({}), &json!(3)).await.unwrap();
    assert_eq!(manager.clear_directory(manager.begin_clear()).await.unwrap(), 1);
    assert!(disk.synced().is_empty());
}

#[tokio::test]
async fn what_memory_alone_held_goes_without_the_medium() {
    let (_folder, directory) = folder();
    let disk = WatchedDisk::default();
    let manager = manager_on(&disk, ManagerOptions { persist_all: false, ..full(&directory) });
    let path = save(&manager, "t", &json!({}), &json!(1)).await.unwrap();
    save(&manager, "t", &json!({}), &json!(2)).await.unwrap();
    assert!(manager.forget(&path).await.unwrap());
    manager.clear(manager.begin_clear()).await.unwrap();
    assert!(disk.synced().is_empty());
}

/// Blocks the first write of a file until the returned sender is dropped.
fn hold_up(disk: &WatchedDisk) -> (mpsc::Sender<()>, mpsc::Receiver<()>) {
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    disk.on(move |operation, _| {
        if operation == "write" {
            // Fails if the test is over.
            let _ = begun.send(());
            let _ = released.recv();
        }
        Ok(())
    });
    (release, begins)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_is_leaving_memory_is_gone_when_its_removal_is_acknowledged() {
    for is_forgotten in [true, false] {
        let (_folder, directory) = folder();
        let disk = WatchedDisk::default();
        let manager = manager_on(
            &disk,
            ManagerOptions { persist_all: false, memory_budget: 1000, ..full(&directory) },
        );
        let first = save(&manager, "t", &json!({}), &json!("x".repeat(500))).await.unwrap();
        let (release, begins) = hold_up(&disk);
        // Begun before the second save, which writes the first context from memory to disk.
        let clearing = manager.begin_clear();
        let saving = tokio::spawn({
            let manager = Arc::clone(&manager);
            async move { save(&manager, "t", &json!({}), &json!("y".repeat(500))).await }
        });
        tokio::task::spawn_blocking(move || begins.recv().unwrap()).await.unwrap();
        let removing = tokio::spawn({
            let manager = Arc::clone(&manager);
            async move {
                if is_forgotten {
                    assert!(manager.forget(&first).await.unwrap());
                } else {
                    manager.clear(clearing).await.unwrap();
                }
                let is_gone = !Path::new(&first).exists();
                let synced = disk.synced();
                (is_gone, synced)
            }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!removing.is_finished(), "the file is about to appear");
        drop(release);
        saving.await.unwrap().unwrap();
        let (is_gone, synced) = removing.await.unwrap();
        assert!(is_gone, "{is_forgotten}");
        assert!(synced.len() > ancestors(&directory).len() + 1, "{synced:?}");
    }
}

#[tokio::test]
async fn disks_of_their_own_share_nothing_though_the_paths_are_the_same() {
    let (_folder, directory) = folder();
    let disks = [2, 3].map(|scope| HookedDisk::new(LocalDisk, Watch { scope, ..Watch::default() }));
    let mut paths = Vec::new();
    let managers: Vec<_> = disks
        .iter()
        .map(|disk| manager_on(disk, ManagerOptions { persist_all: false, ..full(&directory) }))
        .collect();
    for manager in &managers {
        paths.push(save(manager, "t", &json!({}), &json!(1)).await.unwrap());
        save(manager, "t", &json!({}), &json!("x".repeat(2000))).await.unwrap();
    }
    let leases = std::fs::read_dir(&directory).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().ends_with(".lease")
    });
    assert_eq!(leases.count(), 2);
    for disk in &disks {
        assert_eq!(disk.synced().len(), ancestors(&directory).len() + 1);
    }
    assert_eq!(managers[0].load(&paths[1]).await.unwrap_err().code, Code::NotFound);
    managers[0].clear(managers[0].begin_clear()).await.unwrap();
    assert_eq!((managers[0].len(), managers[1].len()), (0, 2));
}

fn acquire(disk: &WatchedDisk, directory: &Path) -> Lease {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Lease::acquire(&disk, directory, ["alive"].into_iter()).unwrap()
}

#[test]
fn a_lease_that_a_sweeper_locks_or_removes_first_is_taken_anew() {
    let (_folder, directory) = folder();
    let disk = WatchedDisk::default();
    let (mut created, mut locked) = (0, None);
    let swept = directory.clone();
    let (sender, receiver) = mpsc::channel();
    disk.on(move |operation, path| {
        if operation == "created" {
            created += 1;
            match created {
                1 => assert_eq!(live_sessions(&LocalDisk, &swept, false).unwrap().count(), 0),
                2 => {
                    let file = LocalDisk.open(path, Access::Read).unwrap();
                    assert_eq!(file.try_lock().unwrap(), LockAttempt::Taken);
                    locked = Some(file);
                }
                _ => {
                    // The sweeper releases the lock before it could remove the file.
                    drop(locked.take());
                    sender.send(created).unwrap();
                }
            }
        }
        Ok(())
    });
    let lease = acquire(&disk, &directory);
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [3]);
    assert!(lease.is_in_place());
    assert_eq!(count(&directory), 2);
    let live = live_sessions(&LocalDisk, &directory, false).unwrap();
    assert!(live.contains("alive") && !live.contains("anybody"));
    assert_eq!(count(&directory), 1, "nobody held the other");
    lease.release();
    assert_eq!(count(&directory), 0);
}

#[test]
fn a_lease_that_cannot_be_read_may_be_anybodys() {
    let (_folder, directory) = folder();
    let disk = WatchedDisk::default();
    let lease = acquire(&disk, &directory);
    disk.on(|operation, _| match operation {
        "open" => Err(ErrorKind::PermissionDenied.into()),
        _ => Ok(()),
    });
    assert!(live_sessions(&disk, &directory, false).unwrap().contains("anybody"));
    disk.on(|_, _| Ok(()));
    assert!(!live_sessions(&disk, &directory, false).unwrap().contains("anybody"));
    // The file is removed between the listing and reading it.
    disk.on(|operation, path| match operation {
        "open" => std::fs::remove_file(path),
        _ => Ok(()),
    });
    assert!(!live_sessions(&disk, &directory, false).unwrap().contains("alive"));
    assert!(!lease.is_in_place());
}

#[test]
fn without_locks_nobody_is_known_to_be_dead() {
    let (_folder, directory) = folder();
    let disk = HookedDisk::new(LocalDisk, Watch { has_locks: false, ..Watch::default() });
    let lease = acquire(&disk, &directory);
    assert!(live_sessions(&disk, &directory, false).unwrap().contains("anybody"));
    assert!(lease.is_in_place(), "it was not taken for a dead one's");
    lease.release();
    assert!(!live_sessions(&disk, &directory, false).unwrap().contains("anybody"));
}
