//! Liveness of sessions, and what a free lock proves.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::{fs, path::Path, sync::Arc};

use simulator::SimulatedDisk;
use storage::{Access, Disk, Lease, LiveSessions, Liveness, LocalDisk, layout, live_sessions};

fn acquire(directory: &Path, sessions: &[&str]) -> Lease {
    let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
    Lease::acquire(&disk, directory, sessions.iter().copied()).unwrap()
}

fn live(directory: &Path) -> LiveSessions {
    live_sessions(&LocalDisk, directory, false).unwrap()
}

fn leases(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_held_lease_keeps_its_sessions_alive_and_goes_with_its_release() {
    let folder = tempfile::tempdir().unwrap();
    let mut lease = acquire(folder.path(), &["a", "b"]);
    lease.begin("c").unwrap();
    assert!(lease.end("a").unwrap());
    let alive = live(folder.path());
    assert!(alive.contains("b") && alive.contains("c") && !alive.contains("a"));
    assert!(alive.contains_owner(lease.owner()));
    assert_eq!(alive.count(), 2);
    lease.release();
    assert_eq!(leases(folder.path()), 0);
    assert_eq!(live(folder.path()), LiveSessions::default());
}

#[test]
fn a_lease_without_a_holder_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let lease = acquire(folder.path(), &["a"]);
    drop(lease); // as a crash does
    assert_eq!(leases(folder.path()), 1);
    assert!(!live(folder.path()).contains("a"));
    assert_eq!(leases(folder.path()), 0);
}

#[test]
fn an_empty_directory_has_no_live_sessions() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(live(&folder.path().join("missing")), LiveSessions::default());
}

#[test]
fn a_lease_that_is_renewed_all_the_time_is_never_missed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let is_over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stop = std::sync::Arc::clone(&is_over);
    let renewing = std::thread::spawn(move || {
        let mut lease = acquire(&path, &["alive"]);
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            let next = acquire(&path, &["alive"]);
            std::mem::replace(&mut lease, next).release();
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
        lease.release();
    });
    while !live(folder.path()).contains("alive") {}
    for _ in 0..500 {
        assert!(live(folder.path()).contains("alive"));
    }
    is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    renewing.join().unwrap();
}

#[test]
fn foreign_files_are_no_leases() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("my.lease"), "+a\n").unwrap();
    // A directory with the name of a lease: a lease is always a regular file.
    fs::create_dir(folder.path().join(layout::lease(&layout::new_owner()))).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        folder.path().join("my.lease"),
        folder.path().join(layout::lease(&layout::new_owner())),
    )
    .unwrap();
    let before = leases(folder.path());
    assert_eq!(live(folder.path()), LiveSessions::default());
    assert_eq!(leases(folder.path()), before);
}

fn take_on(disk: &SimulatedDisk, session: &str) -> Lease {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Lease::acquire(&disk, Path::new("/d"), [session].into_iter()).unwrap()
}

fn simulated() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    Disk::create_directories(&disk, Path::new("/d")).unwrap();
    disk
}

/// Writes a lease in the state in which a crashed process left it.
fn leave(disk: &SimulatedDisk, text: &str) {
    let path = Path::new("/d").join(layout::lease(&layout::new_owner()));
    disk.open(&path, Access::AppendNew).unwrap().append(text.as_bytes()).unwrap();
}

#[test]
fn a_free_lock_of_another_mount_proves_nothing() {
    let disk = simulated();
    let other = disk.mounted_again();
    let lease = take_on(&disk, "alive");
    for _ in 0..2 {
        let live = live_sessions(&other, Path::new("/d"), false).unwrap();
        assert_eq!(live.liveness("alive"), Liveness::Unproven);
        assert_eq!(live.liveness("unknown"), Liveness::Over);
        assert!(live.contains("alive") && live.contains_owner(lease.owner()));
        assert_eq!((live.count(), live.unproven().len()), (1, 1));
    }
    let live = live_sessions(&disk, Path::new("/d"), false).unwrap();
    assert_eq!(live.liveness("alive"), Liveness::Alive);
    assert!(lease.is_in_place());
}

#[test]
fn a_free_lock_of_the_same_mount_is_believed_on_any_file_system() {
    let mount = simulated().mounted_again();
    drop(take_on(&mount, "dead"));
    assert!(!mount.volume(Path::new("/d")).unwrap().kind.locks_bind);
    let live = live_sessions(&mount, Path::new("/d"), false).unwrap();
    assert_eq!(live, LiveSessions::default());
    assert!(mount.names(Path::new("/d")).unwrap().is_empty());
}

#[test]
fn a_lease_of_another_host_proves_nothing_even_where_locks_bind() {
    let disk = simulated();
    leave(&disk, "\n@machine-boot-1\n+elsewhere\n=\n");
    let live = live_sessions(&disk, Path::new("/d"), false).unwrap();
    assert_eq!(live.liveness("elsewhere"), Liveness::Unproven);
    let live = live_sessions(&disk, Path::new("/d"), true).unwrap();
    assert_eq!(live, LiveSessions::default(), "the caller vouches for the locks");
    assert!(disk.names(Path::new("/d")).unwrap().is_empty());
}

#[test]
fn a_lease_without_an_identity_is_judged_by_the_type_of_file_system() {
    let disk = simulated();
    let other = disk.mounted_again();
    leave(&disk, "\n+earlier\n=\n");
    let live = live_sessions(&other, Path::new("/d"), false).unwrap();
    assert_eq!(live.liveness("earlier"), Liveness::Unproven);
    let live = live_sessions(&disk, Path::new("/d"), false).unwrap();
    assert_eq!(live, LiveSessions::default());
}

#[test]
fn a_lease_that_another_mount_is_writing_keeps_every_session_alive() {
    let disk = simulated();
    let other = disk.mounted_again();
    leave(&disk, "\n@simu");
    let live = live_sessions(&other, Path::new("/d"), false).unwrap();
    assert_eq!(live.liveness("anybody"), Liveness::Alive);
    assert_eq!(live.unproven().len(), 1, "it is removed when it is old");
}
