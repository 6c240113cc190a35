//! `ContextManager`'s core without JavaScript: the memory cache, the lifecycle of contexts, and
//! failing file operations.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod contexts;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use agent_context_core::{
    Code, Debug,
    context::{
        Candidate, Details, ForeignPointer, Held, Manager, ManagerOptions, OffloadRequest,
        Retention, SaveRequest, Saved,
    },
};
use contexts::{options, request, save};
use json_text::Encoded;
use serde_json::{Value, json};
use simulator::{DiskHooks, HookedDisk};
use storage::{
    Contents, Durability, FileEntry, FileError, FileFuture, FileSystem, LocalDisk, Payload, layout,
};

fn manager(options: ManagerOptions) -> Arc<Manager> {
    Manager::new(options, Arc::new(LocalDisk), Debug::default())
}

fn parse(held: &Held) -> Value {
    serde_json::from_slice(&held.record()).unwrap()
}

fn visible(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

fn hidden(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count() - visible(directory).len()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_in_a_directory_that_was_emptied_after_close() {
    let folder = tempfile::tempdir().unwrap();
    let closed = manager(options(folder.path()));
    save(&closed, "grep", &json!({}), &json!([1])).await.unwrap();
    closed.close(1).await;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    // The first save starts a sweep in the background, which begins after a second.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Makes the listing of a directory, with which a sweep begins, take a while.
#[derive(Clone, Default)]
struct SlowListing {
    has_begun: Arc<AtomicBool>,
    has_ended: Arc<AtomicBool>,
}

impl DiskHooks for SlowListing {
    fn before(&self, call: &'static str, _: &Path) -> Result<(), FileError> {
        if call == "list" && !self.has_begun.swap(true, Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(500));
            self.has_ended.store(true, Ordering::SeqCst);
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_the_last_manager_waits_for_a_background_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = SlowListing::default();
    let disk = Arc::new(HookedDisk::new(LocalDisk, sweep.clone()));
    let closed = Manager::new(options(folder.path()), disk, Debug::default());
    save(&closed, "grep", &json!({}), &json!([1])).await.unwrap();
    while !sweep.has_begun.load(Ordering::SeqCst) {
        // Timers of the runtime may wait for the blocked thread.
        std::thread::sleep(Duration::from_millis(5));
    }
    closed.close(1).await;
    assert!(sweep.has_ended.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_saved_context_is_served_from_memory_and_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let kept = manager(options(folder.path()));
    let path = save(&kept, "grep", &json!({"pattern": "x"}), &json!([1, 2])).await.unwrap();
    assert_eq!(parse(&kept.peek(&path).unwrap())["result"], json!([1, 2]));
    let other = manager(ManagerOptions { session: "other".to_owned(), ..options(folder.path()) });
    assert!(other.peek(&path).is_none());
    assert_eq!(parse(&other.load(&path).await.unwrap())["args"], json!({"pattern": "x"}));
    assert_eq!((other.stats().disk_hits, kept.stats().memory_hits), (1, 1));
    let code = other.load("missing.json").await.unwrap_err().code;
    assert_eq!((code, other.stats().misses), (Code::NotFound, 1));
}

#[tokio::test]
async fn full_durability_leaves_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let manager =
        manager(ManagerOptions { durability: Durability::Full, ..options(folder.path()) });
    let saves: Vec<_> = (0..32)
        .map(|number| {
            let manager = Arc::clone(&manager);
            tokio::spawn(
                async move { save(&manager, "t", &json!({}), &json!(number)).await.unwrap() },
            )
        })
        .collect();
    for save in saves {
        assert!(Path::new(&save.await.unwrap()).exists());
    }
    assert_eq!(manager.clear(manager.begin_clear()).await.unwrap(), 32);
    assert_eq!((visible(folder.path()).len(), hidden(folder.path())), (0, 0));
}

#[tokio::test]
async fn small_outputs_leave_memory_for_disk_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let spilling = manager(ManagerOptions {
        persist_all: false,
        memory_budget: 2000,
        ..options(folder.path())
    });
    let mut paths = Vec::new();
    for number in 0..10 {
        let result = json!(format!("{number}").repeat(500));
        paths.push(save(&spilling, "t", &json!({}), &result).await.unwrap());
    }
    let stats = spilling.stats();
    assert!(stats.memory_bytes <= 2000 && stats.spills > 0);
    assert_eq!(stats.memory_contexts as u64 + stats.disk_contexts, 10);
    assert_eq!(visible(folder.path()).len() as u64, stats.disk_contexts);
    assert!(Path::new(&paths[0]).exists() && !Path::new(&paths[9]).exists());
    for (number, path) in paths.iter().enumerate() {
        let record = parse(&spilling.load(path).await.unwrap());
        assert_eq!(record["result"], json!(format!("{number}").repeat(500)));
    }
    let listed: Vec<Value> = serde_json::from_str(&spilling.list(None).await.unwrap()[0]).unwrap();
    assert_eq!(listed.len(), 10);
    let sibling = manager(options(folder.path()));
    let listed = sibling.list(Some("the-session")).await.unwrap();
    assert_eq!(serde_json::from_str::<Vec<Value>>(&listed[0]).unwrap().len(), 10);
    spilling.clear(spilling.begin_clear()).await.unwrap();
    assert!(spilling.is_empty() && visible(folder.path()).is_empty());
}

/// Fails the next reads of a disk, as a connection to a distant one does.
#[derive(Clone, Default)]
struct FailingReads(Arc<AtomicUsize>);

impl DiskHooks for FailingReads {
    fn before(&self, call: &'static str, path: &Path) -> Result<(), FileError> {
        let is_read = call == "read";
        let spend = |left: usize| left.checked_sub(1).filter(|_| is_read);
        match self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend) {
            Ok(_) => Err(FileError::system("read", path, io::ErrorKind::TimedOut.into())),
            Err(_) => Ok(()),
        }
    }
}

#[tokio::test]
async fn a_failed_read_does_not_make_a_handle_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let writer = manager(options(folder.path()));
    let sequence = writer.begin_save();
    let saved = writer.store(sequence, request("t", &json!({}), &json!([1]))).await.unwrap();
    let Saved { path, handle, .. } = saved.stored;
    writer.close(1).await;
    drop(writer);
    let failures = FailingReads::default();
    let disk = Arc::new(HookedDisk::new(LocalDisk, failures.clone()));
    let reader = Manager::new(
        ManagerOptions { session: "other".to_owned(), ..options(folder.path()) },
        disk,
        Debug::default(),
    );
    failures.0.store(usize::MAX, Ordering::SeqCst);
    let error = reader.load(&handle).await.unwrap_err();
    assert_eq!(error.code, Code::Io, "{error}");
    assert!(error.message.contains("look a handle up"), "{error}");
    // The row is added again from the record, which is read again after a failure.
    std::fs::remove_file(folder.path().join(layout::HANDLES)).unwrap();
    failures.0.store(1, Ordering::SeqCst);
    assert_eq!(reader.load(&handle).await.unwrap(), reader.load(&path).await.unwrap());
}

#[tokio::test]
async fn a_handle_is_the_same_wherever_the_call_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let offload = Some(OffloadRequest { preview: Some(100), ..OffloadRequest::default() });
    let mut offloaded = Vec::new();
    for arguments in [json!({ "a": 1, "b": 2 }), json!({ "b": 2, "a": 1 })] {
        let manager = manager(options(folder.path()));
        let sequence = manager.begin_save();
        let request = SaveRequest {
            details: Some(Box::new(Details { offload: offload.clone(), ..Details::default() })),
            ..request("t", &arguments, &json!("x".repeat(1000)))
        };
        let saved = manager.store(sequence, request).await.unwrap().stored;
        let Saved { path, handle, placeholder, .. } = saved;
        let by_handle = manager.load(&handle).await.unwrap();
        assert_eq!(by_handle, manager.load(&path).await.unwrap());
        assert!(manager.forget(&handle).await.unwrap());
        assert!(!manager.forget(&handle).await.unwrap());
        let error = manager.load(&handle).await.unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        offloaded.push((handle, placeholder.unwrap()));
    }
    assert_eq!(offloaded[0], offloaded[1]);
    assert!(offloaded[0].1.contains(&offloaded[0].0));
}

#[tokio::test]
async fn details_override_what_is_derived() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    let sequence = manager.begin_save();
    let request = SaveRequest {
        task: Some("7".to_owned()),
        query: Some("\"q\"".to_owned()),
        details: Some(Box::new(Details {
            description: Some("told".to_owned()),
            source_urls: Some("[\"u\"]".to_owned()),
            success: Some(false),
            error: Some("\"e\"".to_owned()),
            message: Some("\"m\"".to_owned()),
            is_large: Some(true),
            ..Details::default()
        })),
        ..request("t", &json!({}), &json!(1))
    };
    let path = manager.save(sequence, request).await.unwrap();
    assert!(manager.peek(&path).is_none(), "a large output is not kept in memory");
    let (_, text) = manager.pointers_for_query("\"q\"");
    let row = &serde_json::from_str::<Vec<Value>>(&text).unwrap()[0];
    assert_eq!((&row[2], &row[4], &row[8]), (&json!("told"), &json!(7), &json!(false)));
    assert_eq!(manager.pointers_for_task("7").0, [0]);
    let listed: Vec<Value> = serde_json::from_str(&manager.list(None).await.unwrap()[0]).unwrap();
    assert_eq!((&listed[0]["toolDescription"], &listed[0]["taskId"]), (&row[2], &row[4]));
}

#[tokio::test]
async fn ranking_knows_its_own_contexts_and_reads_foreign_ones() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    save(&manager, "read_file", &json!({"path": "/src/auth/LoginForm.tsx"}), &json!(1))
        .await
        .unwrap();
    let path =
        save(&manager, "read_file", &json!({"path": "/src/cart.ts"}), &json!(2)).await.unwrap();
    let foreign = |tool_name: &str, path: &str| {
        Candidate::Foreign(ForeignPointer {
            path: path.to_owned(),
            tool_name: tool_name.to_owned(),
            ..ForeignPointer::default()
        })
    };
    let candidates =
        [Candidate::Known(0), Candidate::Known(1), foreign("login", "/x"), foreign("t", "/y")];
    let mut login = manager.rank("login", &candidates).unwrap();
    login.sort_unstable();
    assert_eq!(login, [0, 2]);
    assert_eq!(manager.rank("cart", &[foreign("t", "/y"), foreign("", &path)]).unwrap(), [1]);
    assert!(manager.rank("the of", &candidates).unwrap().is_empty());
    manager.clear(manager.begin_clear()).await.unwrap();
    assert!(manager.rank("login", &candidates).is_none(), "cleared: its text is needed");
}

#[tokio::test]
async fn dead_sessions_are_swept_within_the_bounds_and_live_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let dead = manager(ManagerOptions { session: "dead".to_owned(), ..options(folder.path()) });
    for number in 0..5 {
        save(&dead, "t", &json!({}), &json!(number)).await.unwrap();
    }
    let live = manager(ManagerOptions {
        retention: Retention { max_files: 2, ..options(folder.path()).retention },
        ..options(folder.path())
    });
    let path = save(&live, "t", &json!({}), &json!("live")).await.unwrap();
    std::fs::write(folder.path().join("package.json"), "{}").unwrap();
    std::fs::write(folder.path().join(".0123456789abcdef-1.tmp"), "{").unwrap();
    let report = live.sweep().await.unwrap();
    assert_eq!((report.deleted_files, report.kept_files, report.live_sessions), (0, 0, 2));
    assert_eq!(report.deleted_temporaries, 1);

    dead.close(dead.calls()).await;
    let report = live.sweep().await.unwrap();
    assert_eq!((report.deleted_files, report.kept_files, report.live_sessions), (3, 2, 1));
    assert!(matches!(dead.forget(&path).await, Err(error) if error.code == Code::Conflict));
    assert_eq!(live.clear_directory(live.begin_clear()).await.unwrap(), 3);
    assert_eq!(visible(folder.path()), ["package.json"]);
    assert_eq!(live.len(), 1, "pointers stay");
    assert_eq!(live.load(&path).await.unwrap_err().code, Code::NotFound);
}

#[tokio::test]
async fn a_removed_directory_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("inner");
    let manager = manager(options(&directory));
    save(&manager, "t", &json!({}), &json!(1)).await.unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let path = save(&manager, "t", &json!({}), &json!(2)).await.unwrap();
    assert!(Path::new(&path).exists());
    assert_eq!(hidden(&directory), 2, "the session has a lease and a table of handles again");
}

#[tokio::test]
async fn forgetting_and_dropping_pointers() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    let path = save(&manager, "t", &json!({}), &json!(1)).await.unwrap();
    assert!(manager.forget(&path).await.unwrap());
    assert!(!manager.forget(&path).await.unwrap());
    assert!(!manager.forget("package.json").await.unwrap());
    assert_eq!(manager.forget("/etc/passwd").await.unwrap_err().code, Code::OutsideDirectory);
    save(&manager, "t", &json!({}), &json!(2)).await.unwrap();
    manager.clear_pointers();
    assert!(manager.is_empty());
    assert_eq!(visible(folder.path()).len(), 1);
    assert_eq!(
        manager.clear(manager.begin_clear()).await.unwrap(),
        1,
        "the file without a pointer goes, too"
    );
    assert!(visible(folder.path()).is_empty());
}

/// A file system in memory that fails on request, like an injected one.
#[derive(Default)]
struct Faulty {
    files: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
    /// The number of operations that still succeed.
    budget: AtomicUsize,
    can_rename: bool,
}

impl Faulty {
    fn new(budget: usize, can_rename: bool) -> Arc<Self> {
        Arc::new(Self { budget: AtomicUsize::new(budget), can_rename, ..Self::default() })
    }

    fn act<'a, T: Send + 'a>(
        &self,
        operation: &'static str,
        path: &Path,
        act: impl FnOnce(&mut BTreeMap<PathBuf, Vec<u8>>) -> io::Result<T>,
    ) -> FileFuture<'a, T> {
        let left = self
            .budget
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let outcome = match left {
            Ok(_) => act(&mut self.files.lock().unwrap()),
            Err(_) => Err(io::Error::from(io::ErrorKind::StorageFull)),
        };
        Box::pin(std::future::ready(
            outcome.map_err(|error| FileError::system(operation, path, error)),
        ))
    }
}

impl FileSystem for Faulty {
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        self.act("mkdir", path, |_| Ok(()))
    }
    fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        self.act("realpath", path, |_| Ok(path.to_owned()))
    }
    fn write_new<'a>(&'a self, path: &'a Path, contents: Payload, _: bool) -> FileFuture<'a, ()> {
        self.act("write", path, |files| {
            files.insert(path.to_owned(), contents.to_vec());
            Ok(())
        })
    }
    fn can_rename(&self) -> bool {
        self.can_rename
    }
    fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        self.act("rename", from, |files| {
            let contents = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
            files.insert(to.to_owned(), contents);
            Ok(())
        })
    }
    fn sync_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        self.act("fsync", path, |_| Ok(()))
    }
    fn read<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        limit: u64,
    ) -> FileFuture<'a, Contents> {
        let path = root.join(relative);
        self.act("read", &path.clone(), move |files| {
            let mut bytes = files.get(&path).cloned().ok_or(io::ErrorKind::NotFound)?;
            let length = bytes.len() as u64;
            bytes.truncate(usize::try_from(limit).unwrap());
            Ok(Contents { bytes, length })
        })
    }
    fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<FileEntry>> {
        self.act("readdir", directory, |files| {
            let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
            Ok(files.keys().map(|path| FileEntry::named(name(path))).collect())
        })
    }
    fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        self.act("unlink", path, |files| Ok(files.remove(path).is_some()))
    }
    fn rename_over<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        self.rename_new(from, to)
    }
    fn scope(&self) -> u64 {
        1
    }
}

#[tokio::test]
async fn a_failure_at_any_operation_is_told_and_loses_nothing_saved_before() {
    for can_rename in [true, false] {
        for budget in 0..20 {
            let files = Faulty::new(budget, can_rename);
            let told = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&told);
            let debug = Debug::new(move |_, _| {
                counted.fetch_add(1, Ordering::SeqCst);
            });
            let options = ManagerOptions { memory_budget: 0, ..options(Path::new("/store")) };
            let manager = Manager::new(options, Arc::clone(&files) as Arc<dyn FileSystem>, debug);
            let mut saved = Vec::new();
            for number in 0..4 {
                match save(&manager, "t", &json!({}), &json!(number)).await {
                    Ok(path) => saved.push((path, number)),
                    Err(error) => {
                        assert_eq!(error.code, Code::Io);
                        assert!(
                            error.message.contains("/store")
                                && error.message.contains("free some space")
                        );
                    }
                }
            }
            files.budget.store(usize::MAX, Ordering::SeqCst);
            assert_eq!(manager.len(), saved.len());
            for (path, number) in &saved {
                assert_eq!(parse(&manager.load(path).await.unwrap())["result"], json!(number));
            }
            assert_eq!(told.load(Ordering::SeqCst), saved.len());
            save(&manager, "t", &json!({}), &json!("after")).await.unwrap();
            assert_eq!(manager.sweep().await.unwrap(), Default::default(), "no locks, no sweep");
            manager.clear(manager.begin_clear()).await.unwrap();
            let left: Vec<_> = files.files.lock().unwrap().keys().cloned().collect();
            // A temporary file is left only if its removal failed as well.
            assert!(left.iter().all(|path| path.to_str().unwrap().ends_with(".tmp")), "{left:?}");
        }
    }
}

#[tokio::test]
async fn what_cannot_leave_memory_stays_there() {
    let files = Faulty::new(0, true);
    let options =
        ManagerOptions { persist_all: false, memory_budget: 0, ..options(Path::new("/store")) };
    let manager =
        Manager::new(options, Arc::clone(&files) as Arc<dyn FileSystem>, Debug::default());
    let path = save(&manager, "t", &json!({}), &json!("kept")).await.unwrap();
    assert_eq!(parse(&manager.peek(&path).unwrap())["result"], "kept");
    files.budget.store(usize::MAX, Ordering::SeqCst);
    save(&manager, "t", &json!({}), &json!("next")).await.unwrap();
    assert_eq!((manager.stats().memory_contexts, manager.stats().spills), (0, 2));
    assert_eq!(parse(&manager.load(&path).await.unwrap())["result"], "kept");
}

#[tokio::test]
async fn clearing_removes_what_it_can_and_tells_what_it_could_not() {
    let files = Faulty::new(usize::MAX, false);
    let manager = Manager::new(
        options(Path::new("/store")),
        Arc::clone(&files) as Arc<dyn FileSystem>,
        Debug::default(),
    );
    for number in 0..3 {
        save(&manager, "t", &json!({}), &json!(number)).await.unwrap();
    }
    files.budget.store(2, Ordering::SeqCst);
    let error = manager.clear(manager.begin_clear()).await.unwrap_err();
    assert_eq!(error.code, Code::Io);
    assert!(error.to_string().starts_with("could not remove the context /store/t_"));
    assert_eq!(files.files.lock().unwrap().len(), 1);
    assert!(manager.is_empty());
}

#[tokio::test]
async fn results_beyond_the_bound_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(options(folder.path()));
    let error = save(&manager, "t", &json!({}), &json!("x".repeat(2 << 20))).await.unwrap_err();
    assert_eq!(error.code, Code::TooLarge);
    assert!(error.message.contains("maxResultBytes"));
    let malformed = SaveRequest {
        result: Encoded::Flat { operations: vec![9], units: Vec::new() },
        ..request("t", &json!({}), &json!(1))
    };
    let sequence = manager.begin_save();
    assert_eq!(manager.save(sequence, malformed).await.unwrap_err().code, Code::InvalidArgument);
    manager.close(manager.calls()).await;
    assert!(manager.is_empty());
}
