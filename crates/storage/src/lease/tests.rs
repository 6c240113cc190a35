//! The contents of a lease file, and the behaviour of readers while it is written.

use std::fs;

use super::*;
use crate::file_system::{FileSystemKind, LocalDisk};

fn acquire(directory: &Path, sessions: &[&str]) -> Lease {
    let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
    Lease::acquire(&disk, directory, sessions.iter().copied()).unwrap()
}

fn live(directory: &Path) -> LiveSessions {
    live_sessions(&LocalDisk, directory, false).unwrap()
}

#[test]
fn a_lease_that_is_just_being_written_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(layout::lease(&layout::new_owner()));
    let file = LocalDisk.open(&path, Access::AppendNew).unwrap();
    assert_eq!(file.try_lock().unwrap(), LockAttempt::Taken);
    file.append(b"\n+one").unwrap();
    let uncertain = live(folder.path());
    assert!(uncertain.contains("anybody"), "its process may be stopped");
    let writing = std::thread::spawn(move || {
        std::thread::sleep(20 * LOOK_PAUSE);
        file.append(b"\n+two\n=\n").unwrap();
        file
    });
    let alive = live(folder.path());
    assert!(alive.contains("one") && alive.contains("two") && !alive.contains("anybody"));
    drop(writing.join().unwrap());
}

#[test]
fn a_truncated_line_merges_with_no_other_and_ends_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let mut lease = acquire(folder.path(), &["a", "s1", "s12"]);
    lease.file.append(b"\n+cut sh").unwrap();
    lease.begin("b").unwrap();
    lease.end("a").unwrap();
    lease.file.append(b"\n-s1").unwrap(); // The start of "-s12".
    for _ in 0..2 {
        let alive = live(folder.path());
        assert!(alive.contains("b") && !alive.contains("a"));
        assert!(alive.contains("s1") && alive.contains("s12"));
        lease.begin("c").unwrap();
    }
    lease.release();
}

#[test]
fn a_lease_names_its_machine_boot_and_device() {
    let folder = tempfile::tempdir().unwrap();
    let lease = acquire(folder.path(), &["a"]);
    let text = fs::read_to_string(&lease.path).unwrap();
    let volume = LocalDisk.volume(folder.path()).unwrap();
    assert_eq!(identity(&text), volume.identity.as_deref());
    assert_ne!(volume.kind, FileSystemKind::unknown());
    lease.release();
}
