//! Cached records are reused, and only if they are valid.

use std::{
    fs,
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, SystemTime},
};

use storage::{Disk, Durability, FileSystem, LocalDisk, layout};

use super::{
    super::{Limits, RefreshOptions, RepoMap},
    support::Workspace,
};
use crate::{Notice, OnNotice};

fn filled(count: usize) -> Workspace {
    let workspace = Workspace::new();
    for number in 0..count {
        workspace
            .write(&format!("{}/{number}.ts", number % 3), &format!("class A{number}\nuse A0"));
    }
    workspace
}

#[tokio::test]
async fn an_unchanged_tree_is_not_read_again() {
    let mut workspace = filled(20);
    let first = workspace.refresh().await;
    assert_eq!((workspace.disk.reads().len(), workspace.parses()), (20, 20));
    let second = workspace.refresh().await;
    assert!(Arc::ptr_eq(&first, &second), "with all that is made of a snapshot");
    workspace.again();
    let third = workspace.refresh().await;
    assert_eq!((workspace.disk.reads().len(), workspace.parses()), (0, 0));
    assert_eq!(workspace.disk.writes.load(Ordering::SeqCst), 1, "nothing new was to be written");
    assert_eq!(first.render(&first.rank(&[]), 500), third.render(&third.rank(&[]), 500));
    assert_eq!(third.definition_count(), 20);
}

#[tokio::test]
async fn only_what_changed_is_parsed() {
    for restarts in [false, true] {
        let mut workspace = filled(10);
        workspace.refresh().await;
        workspace.disk.reads();
        workspace.parses();
        workspace.write_old("1/4.ts", "class Changed", 50);
        workspace.write("new.ts", "class New");
        workspace.age("2/5.ts", 40);
        fs::remove_file(workspace.path("0/0.ts")).unwrap();
        fs::rename(workspace.path("0/3.ts"), workspace.path("0/renamed.ts")).unwrap();
        if restarts {
            workspace.again();
        }
        let snapshot = workspace.refresh().await;
        assert_eq!(workspace.disk.reads(), ["0/renamed.ts", "1/4.ts", "2/5.ts", "new.ts"]);
        assert_eq!(workspace.parses(), 3, "one was only touched");
        assert_eq!(snapshot.symbols("1/4.ts").unwrap()[0].name, "Changed");
        assert_eq!(snapshot.symbols("0/renamed.ts").unwrap()[0].name, "A3");
        assert_eq!((snapshot.symbols("0/0.ts"), snapshot.symbols("0/3.ts")), (None, None));
        assert_eq!(snapshot.file_count(), 10);
        workspace.again();
        workspace.refresh().await;
        assert_eq!((workspace.disk.reads().len(), workspace.parses()), (0, 0));
    }
}

#[tokio::test]
async fn removed_files_leave_the_cache() {
    let mut workspace = filled(3);
    workspace.refresh().await;
    let size = fs::metadata(workspace.cache()).unwrap().len();
    fs::remove_file(workspace.path("1/1.ts")).unwrap();
    workspace.refresh().await;
    assert!(fs::metadata(workspace.cache()).unwrap().len() < size);
    workspace.write("1/1.ts", "class A1\nuse A0");
    workspace.parses();
    workspace.again();
    workspace.refresh().await;
    assert_eq!(workspace.parses(), 1);
}

#[tokio::test]
async fn what_was_written_just_now_is_verified() {
    let mut workspace = Workspace::new();
    workspace.disk.is_coarse.store(true, Ordering::SeqCst);
    workspace.write_now("a.ts", "class One");
    workspace.refresh().await;
    // Within the same tick and with the same length: only the contents differ.
    let modified = fs::metadata(workspace.path("a.ts")).unwrap().modified().unwrap();
    workspace.write_now("a.ts", "class Two");
    let file = fs::File::options().write(true).open(workspace.path("a.ts")).unwrap();
    file.set_modified(modified).unwrap();
    let snapshot = workspace.refresh().await;
    assert_eq!(snapshot.symbols("a.ts").unwrap()[0].name, "Two");
    assert_eq!((workspace.disk.reads().len(), workspace.parses()), (2, 2));
    workspace.again();
    workspace.refresh().await;
    assert_eq!((workspace.disk.reads().len(), workspace.parses()), (1, 0), "read, but the same");
    workspace.age("a.ts", 60);
    workspace.refresh().await;
    workspace.disk.reads();
    workspace.again();
    workspace.refresh().await;
    assert_eq!((workspace.disk.reads().len(), workspace.parses()), (0, 0), "old enough");
}

#[tokio::test]
async fn many_changes_are_written_down_and_few_are_not() {
    let mut workspace = filled(300);
    workspace.refresh().await;
    let writes = || workspace.disk.writes.swap(0, Ordering::SeqCst);
    writes();
    workspace.age("1/1.ts", 30);
    workspace.refresh().await;
    assert_eq!(writes(), 0);
    fs::remove_file(workspace.path("1/4.ts")).unwrap();
    workspace.write_old("1/7.ts", "class Changed", 30);
    workspace.refresh().await;
    assert_eq!(writes(), 1);
    workspace.disk.reads();
    workspace.again();
    workspace.refresh().await;
    assert_eq!(workspace.disk.reads().len(), 0);
}

#[tokio::test]
async fn a_damaged_cache_is_rebuilt() {
    let mut workspace = filled(4);
    let expected = workspace.refresh().await;
    let expected = expected.render(&expected.rank(&[]), 500);
    let path = workspace.cache();
    let whole = fs::read(&path).unwrap();
    let mut damaged: Vec<Vec<u8>> = (0..whole.len())
        .step_by(7)
        .flat_map(|place| {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x10;
            [flipped, whole[..place].to_vec()]
        })
        .collect();
    damaged.push(Vec::new());
    damaged.push(b"something else".to_vec());
    damaged.push([whole.as_slice(), b"more"].concat());
    for bytes in damaged {
        fs::write(&path, &bytes).unwrap();
        workspace.parses();
        workspace.again();
        let snapshot = workspace.refresh().await;
        assert_eq!(workspace.parses(), 4, "{} bytes", bytes.len());
        assert_eq!(snapshot.render(&snapshot.rank(&[]), 500), expected);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

/// Recomputes the checksum, so that the contents are wrong while the checksum is valid.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&bytes[20..]);
    bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[tokio::test]
async fn a_cache_of_another_format_or_version_is_rebuilt() {
    let mut workspace = filled(4);
    workspace.refresh().await;
    let path = workspace.cache();
    let whole = fs::read(&path).unwrap();
    let mut foreign = Vec::new();
    // Another version, followed by other numbers.
    let version = env!("CARGO_PKG_VERSION").len();
    for place in [25, 25 + version, 26 + version, 30 + version] {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        foreign.push(sealed(bytes));
    }
    // The next format version, with lengths beyond the end.
    foreign
        .push(sealed(whole.iter().map(|byte| if *byte == b'1' { b'2' } else { *byte }).collect()));
    for place in 24..whole.len() {
        let mut bytes = whole.clone();
        bytes[place..(place + 4).min(whole.len())].fill(0xff);
        foreign.push(sealed(bytes));
    }
    for bytes in &foreign {
        fs::write(&path, bytes).unwrap();
        workspace.again();
        let snapshot = workspace.refresh().await;
        assert_eq!(snapshot.file_count(), 4);
    }
    for bytes in foreign.iter().take(5) {
        fs::write(&path, bytes).unwrap();
        workspace.parses();
        workspace.again();
        workspace.refresh().await;
        assert_eq!(workspace.parses(), 4);
    }
    fs::write(&path, sealed(whole)).unwrap();
    workspace.parses();
    workspace.again();
    workspace.refresh().await;
    assert_eq!(workspace.parses(), 0, "what was sealed again is believed");
}

#[tokio::test]
async fn another_limit_rebuilds_the_cache() {
    let mut workspace = filled(4);
    workspace.refresh().await;
    workspace.parses();
    workspace.limits = Limits { file_bytes: 1000, ..Limits::default() };
    workspace.again();
    workspace.refresh().await;
    assert_eq!(workspace.parses(), 4);
}

#[tokio::test]
async fn a_failed_cache_write_is_reported_and_breaks_nothing() {
    let workspace = filled(4);
    workspace.disk.is_full.store(true, Ordering::SeqCst);
    let told = Arc::new(Mutex::new(Vec::new()));
    let on_notice: Arc<OnNotice> = {
        let told = Arc::clone(&told);
        Arc::new(move |notice| {
            told.lock().unwrap().push(matches!(notice, Notice::CacheNotWritten { .. }));
        })
    };
    let options = RefreshOptions { on_notice: Some(on_notice), ..RefreshOptions::default() };
    let snapshot = workspace.map.refresh(options).await.unwrap();
    assert_eq!(snapshot.file_count(), 4);
    assert_eq!(*told.lock().unwrap(), [true]);
}

#[cfg(unix)]
#[tokio::test]
async fn the_cache_is_accessible_to_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = filled(1);
    let options = RefreshOptions { durability: Durability::Full, ..RefreshOptions::default() };
    workspace.map.refresh(options).await.unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(workspace.indexes()), mode(workspace.cache())), (0o700, 0o600));
}

#[tokio::test]
async fn what_a_crash_left_is_removed_and_what_is_being_written_stays() {
    let workspace = filled(1);
    workspace.refresh().await;
    let name = workspace.cache().file_name().unwrap().to_str().unwrap().to_owned();
    let (old, new) = (layout::replacement(&name), layout::replacement(&name));
    let foreign = layout::replacement("memory.json");
    for name in [&old, &new, &foreign] {
        fs::write(workspace.indexes().join(name), "").unwrap();
    }
    for name in [&old, &foreign] {
        let file = fs::File::options().write(true).open(workspace.indexes().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(2 * 60 * 60)).unwrap();
    }
    workspace.write("new.ts", "");
    workspace.refresh().await;
    let is_there = |name: &String| workspace.indexes().join(name).exists();
    assert_eq!((is_there(&old), is_there(&new), is_there(&foreign)), (false, true, true));
}

#[tokio::test]
async fn one_workspace_has_one_map() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
    let file_system: Arc<dyn FileSystem> = Arc::new(LocalDisk);
    let of = |name: &str| {
        let (workspace, indexes) = (folder.path().join(name), folder.path().join("indexes"));
        RepoMap::of(&disk, &file_system, &workspace, &indexes)
    };
    let first = of("a");
    assert!(Arc::ptr_eq(&first, &of("a")));
    assert!(!Arc::ptr_eq(&first, &of("b")));
    let weak = Arc::downgrade(&first);
    drop(first);
    assert!(weak.upgrade().is_none(), "nobody needs it any more");
}
