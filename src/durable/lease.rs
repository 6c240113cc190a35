//! Leases: how other processes know which sessions are alive.
//!
//! A process keeps one lease file in a directory, locked through the operating system and listing
//! its sessions (`+session` when one begins, `-session` when it ends). The kernel frees the lock
//! when the process dies, however it dies; no clock and no process id decides. A lease's name is
//! random and never used again, so a file that stands under its name is the one that was locked.
//! A line `=` says that the sessions that the lease was taken for are all listed.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{
    file_system::{Access, Disk, FileResult, LockAttempt, OpenFile},
    names,
};

/// Ended sessions that a lease may list before it is written anew.
const MAX_ENDED: usize = 1000;
/// The line behind the sessions that a lease was taken for.
const COMPLETE: &str = "=";
/// Looks at a lease that its process is just listing sessions in, and the pause between them.
const MAX_LOOKS: usize = 200;
const LOOK_PAUSE: Duration = Duration::from_micros(500);

/// A lease held by this process.
pub struct Lease {
    owner: String,
    path: PathBuf,
    disk: Arc<dyn Disk>,
    file: Box<dyn OpenFile>,
    ended: usize,
}

impl Lease {
    /// Takes a new lease for the sessions.
    ///
    /// # Errors
    /// When the file cannot be created or written. Where the file system has no locks the lease
    /// stays unlocked, and nobody sweeps that directory as long as it lies there.
    pub fn acquire<'a>(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        sessions: impl Iterator<Item = &'a str> + Clone,
    ) -> FileResult<Self> {
        loop {
            let owner = names::new_owner();
            let path = directory.join(names::lease(&owner));
            let file = disk.open(&path, Access::AppendNew)?;
            match file.try_lock() {
                Ok(LockAttempt::Taken | LockAttempt::Unsupported) => {}
                // A sweeper saw the file before it was locked, and is removing it.
                Ok(LockAttempt::Held) => continue,
                Err(error) => {
                    let _ = disk.remove(&path);
                    return Err(error);
                }
            }
            let lease = Self { owner, path, disk: Arc::clone(disk), file, ended: 0 };
            // Or it has removed it already.
            if lease.is_in_place() {
                let mut text: String = sessions.clone().map(|name| format!("\n+{name}")).collect();
                text.extend(["\n", COMPLETE, "\n"]);
                return match lease.file.append(text.as_bytes()) {
                    Ok(()) => Ok(lease),
                    Err(error) => {
                        lease.release();
                        Err(error)
                    }
                };
            }
        }
    }

    /// The stem of this lease's file name and of the temporary files written under it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether the file still stands under its name. Asked before every save.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        // Nobody gives a lease another name.
        self.file.is_linked()
    }

    /// Lists a session as alive.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&mut self, session: &str) -> FileResult<()> {
        // A line that was cut short must not swallow this one.
        self.file.append(format!("\n+{session}\n").as_bytes())
    }

    /// Lists a session as over; `false` when so many are over that a new lease pays.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn end(&mut self, session: &str) -> FileResult<bool> {
        self.file.append(format!("\n-{session}\n").as_bytes())?;
        self.ended += 1;
        Ok(self.ended < MAX_ENDED)
    }

    /// Gives the lease up: the name goes first, then the lock.
    pub fn release(self) {
        // A file that stays is removed by the next sweep.
        let _ = self.disk.remove(&self.path);
    }
}

/// Who is alive in a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LiveSessions {
    sessions: HashSet<String>,
    owners: HashSet<String>,
    /// A lease could not be read or judged: whoever it lists must count as alive.
    uncertain: bool,
}

impl LiveSessions {
    /// Whether the session may be alive.
    #[must_use]
    pub fn contains(&self, session: &str) -> bool {
        self.uncertain || self.sessions.contains(session)
    }

    /// Whether the owner of a temporary file may be alive.
    #[must_use]
    pub fn contains_owner(&self, owner: &str) -> bool {
        self.uncertain || self.owners.contains(owner)
    }

    /// How many sessions are alive.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sessions.len()
    }
}

/// Reads every lease of the directory and removes those whose process is gone.
///
/// A session takes its lease before its first file is made: who lists the files first and calls
/// this after sees the lease of every live session whose files it listed.
///
/// # Errors
/// When the directory cannot be listed.
pub fn live_sessions(disk: &dyn Disk, directory: &Path) -> FileResult<LiveSessions> {
    let mut live = LiveSessions::default();
    // A process that renews its lease takes the new one first. A listing may miss that and find
    // the old one gone: only a listing that shows what the one before showed counts.
    let mut before = None;
    let mut looks = 0;
    loop {
        let names = lease_names(disk, directory)?;
        if before.as_ref() == Some(&names) {
            return Ok(live);
        }
        live = LiveSessions::default();
        let mut remaining = BTreeSet::new();
        let mut is_complete = true;
        for name in names {
            let Some(owner) = names::parse_lease(&name) else { continue };
            match judge(disk, &directory.join(&name), owner, &mut live) {
                Judgement::Gone => continue,
                Judgement::Stays => {}
                Judgement::Incomplete => is_complete = false,
            }
            remaining.insert(name);
        }
        before = Some(remaining);
        if !is_complete {
            looks += 1;
            live.uncertain = looks >= MAX_LOOKS;
            if !live.uncertain {
                before = None;
                std::thread::sleep(LOOK_PAUSE);
            }
        }
    }
}

fn lease_names(disk: &dyn Disk, directory: &Path) -> FileResult<BTreeSet<String>> {
    let names = disk.names(directory)?.into_iter();
    Ok(names.filter(|name| names::parse_lease(name).is_some()).collect())
}

/// What a look at a lease told.
enum Judgement {
    /// It is not there any more.
    Gone,
    /// It is there, and what it lists is noted.
    Stays,
    /// It is there, and its process is just listing its sessions.
    Incomplete,
}

fn judge(disk: &dyn Disk, path: &Path, owner: &str, live: &mut LiveSessions) -> Judgement {
    use std::io::ErrorKind::{InvalidInput, IsADirectory};
    let file = match disk.open(path, Access::Read) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Judgement::Gone,
        // Leases are created as regular files: a link or a folder of such a name is foreign.
        Err(error) if matches!(error.kind, InvalidInput | IsADirectory) => return Judgement::Stays,
        Err(_) => {
            live.uncertain = true;
            return Judgement::Stays;
        }
    };
    match file.try_lock() {
        Ok(LockAttempt::Taken) => {
            // Its process is gone, and nobody else judges it while we hold the lock.
            return if disk.remove(path).is_ok() { Judgement::Gone } else { Judgement::Stays };
        }
        Ok(LockAttempt::Held) => {
            live.owners.insert(owner.to_owned());
            match read_text(file.as_ref()) {
                Some(text) if !is_complete(&text) => return Judgement::Incomplete,
                Some(text) => replay(&text, &mut live.sessions),
                // Windows locks are mandatory: a held lease cannot be read there.
                None => live.uncertain = true,
            }
        }
        Ok(LockAttempt::Unsupported) | Err(_) => live.uncertain = true,
    }
    Judgement::Stays
}

/// Whether a lease lists all the sessions that it was taken for.
fn is_complete(text: &str) -> bool {
    text.lines().any(|line| line == COMPLETE)
}

/// What the lease says. Sessions that it lists later have no files yet.
fn read_text(file: &dyn OpenFile) -> Option<String> {
    let mut bytes = vec![0; usize::try_from(file.length().ok()?).ok()?];
    let count = file.read_at(0, &mut bytes).ok()?;
    bytes.truncate(count);
    String::from_utf8(bytes).ok()
}

/// Adds the sessions that begin and do not end. A line that was cut short may name another session
/// than was meant: none ends by it. Whole lines have an empty one after them, or nothing.
fn replay(text: &str, sessions: &mut HashSet<String>) {
    let mut own = HashSet::new();
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(session) = line.strip_prefix('+') {
            own.insert(session);
        } else if let Some(session) = line.strip_prefix('-')
            && lines.peek() == Some(&"")
        {
            own.remove(session);
        }
    }
    sessions.extend(own.into_iter().map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_system::LocalDisk;
    use std::fs;

    fn acquire(directory: &Path, sessions: &[&str]) -> Lease {
        let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
        Lease::acquire(&disk, directory, sessions.iter().copied()).unwrap()
    }

    fn live(directory: &Path) -> LiveSessions {
        live_sessions(&LocalDisk, directory).unwrap()
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
        let Lease { file, .. } = lease;
        drop(file); // as a crash does
        assert_eq!(leases(folder.path()), 1);
        assert!(!live(folder.path()).contains("a"));
        assert_eq!(leases(folder.path()), 0);
    }

    #[test]
    fn a_lease_that_is_just_being_written_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(names::lease(&names::new_owner()));
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
    fn nobody_is_alive_where_nothing_is() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(live(&folder.path().join("missing")), LiveSessions::default());
    }

    #[test]
    fn a_line_that_was_cut_short_swallows_no_other_and_ends_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let mut lease = acquire(folder.path(), &["a", "s1", "s12"]);
        lease.file.append(b"\n+cut sh").unwrap();
        lease.begin("b").unwrap();
        lease.end("a").unwrap();
        lease.file.append(b"\n-s1").unwrap(); // the beginning of "-s12"
        for _ in 0..2 {
            let alive = live(folder.path());
            assert!(alive.contains("b") && !alive.contains("a"));
            assert!(alive.contains("s1") && alive.contains("s12"));
            lease.begin("c").unwrap();
        }
        lease.release();
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
        // Of the right name, but no regular file, as every lease is one.
        fs::create_dir(folder.path().join(names::lease(&names::new_owner()))).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(
            folder.path().join("my.lease"),
            folder.path().join(names::lease(&names::new_owner())),
        )
        .unwrap();
        let before = leases(folder.path());
        assert_eq!(live(folder.path()), LiveSessions::default());
        assert_eq!(leases(folder.path()), before);
    }
}
