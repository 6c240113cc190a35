//! Leases: how other processes know which sessions are alive.
//!
//! A process keeps one lease file in a directory, locked through the operating system and listing
//! its sessions (`+session` when one begins, `-session` when it ends). The kernel frees the lock
//! when the process dies, however it dies; no clock and no process id decides. A lease's name is
//! random and never used again, so a file that stands under its name is the one that was locked.

use std::{
    collections::{BTreeSet, HashSet},
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use crate::names;

/// Ended sessions that a lease may list before it is written anew.
const MAX_ENDED: usize = 1000;

/// A lease held by this process.
#[derive(Debug)]
pub struct Lease {
    owner: String,
    path: PathBuf,
    file: File,
    ended: usize,
}

impl Lease {
    /// Takes a new lease for the sessions.
    ///
    /// # Errors
    /// When the file cannot be created or written. Where the file system has no locks the lease
    /// stays unlocked, and nobody sweeps that directory as long as it lies there.
    pub fn acquire<'a>(
        directory: &Path,
        sessions: impl Iterator<Item = &'a str> + Clone,
    ) -> io::Result<Self> {
        loop {
            let owner = names::new_owner();
            let path = directory.join(names::lease(&owner));
            let mut options = OpenOptions::new();
            options.append(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&path)?;
            match file.lock() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(error) => {
                    let _ = fs::remove_file(&path);
                    return Err(error);
                }
            }
            let mut lease = Self { owner, path, file, ended: 0 };
            // A sweeper may have seen the file before it was locked, and removed it.
            if lease.is_in_place() {
                return match sessions.clone().try_for_each(|session| lease.begin(session)) {
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

    /// Whether the file still stands under its name.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        #[cfg(unix)]
        {
            // Asked before every save: a file without a name has no links.
            use std::os::unix::fs::MetadataExt;
            self.file.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
        }
        #[cfg(not(unix))]
        {
            fs::symlink_metadata(&self.path).is_ok()
        }
    }

    /// Lists a session as alive.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&mut self, session: &str) -> io::Result<()> {
        // A line that was cut short must not swallow this one.
        self.file.write_all(format!("\n+{session}\n").as_bytes())
    }

    /// Lists a session as over; `false` when so many are over that a new lease pays.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn end(&mut self, session: &str) -> io::Result<bool> {
        self.file.write_all(format!("\n-{session}\n").as_bytes())?;
        self.ended += 1;
        Ok(self.ended < MAX_ENDED)
    }

    /// Gives the lease up: the name goes first, then the lock.
    pub fn release(self) {
        // A file that stays is removed by the next sweep.
        let _ = fs::remove_file(&self.path);
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
pub fn live_sessions(directory: &Path) -> io::Result<LiveSessions> {
    let mut live = LiveSessions::default();
    // A process that renews its lease takes the new one first. A listing may miss that and find
    // the old one gone: only a listing that shows what the one before showed counts.
    let mut before = None;
    loop {
        let names = lease_names(directory)?;
        if before.as_ref() == Some(&names) {
            return Ok(live);
        }
        live = LiveSessions::default();
        let mut remaining = BTreeSet::new();
        for name in names {
            let Some(owner) = names::parse_lease(&name) else { continue };
            if judge(&directory.join(&name), owner, &mut live) {
                remaining.insert(name);
            }
        }
        before = Some(remaining);
    }
}

fn lease_names(directory: &Path) -> io::Result<BTreeSet<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        other => other?,
    };
    let mut leases = BTreeSet::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string()
            && names::parse_lease(&name).is_some()
        {
            leases.insert(name);
        }
    }
    Ok(leases)
}

/// `false` when the lease is gone.
fn judge(path: &Path, owner: &str, live: &mut LiveSessions) -> bool {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        // The flags fit: they are small positive numbers on every platform.
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    let mut file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
        Err(_) => {
            live.uncertain = true;
            return true;
        }
    };
    match file.try_lock() {
        Ok(()) => {
            // Its process is gone, and nobody else judges it while we hold the lock.
            return fs::remove_file(path).is_err();
        }
        Err(TryLockError::WouldBlock) => {
            live.owners.insert(owner.to_owned());
            let mut text = String::new();
            if file.read_to_string(&mut text).is_ok() {
                replay(&text, &mut live.sessions);
            } else {
                // Windows locks are mandatory: a held lease cannot be read there.
                live.uncertain = true;
            }
        }
        Err(TryLockError::Error(_)) => live.uncertain = true,
    }
    true
}

fn replay(text: &str, sessions: &mut HashSet<String>) {
    let mut own = HashSet::new();
    for line in text.lines() {
        if let Some(session) = line.strip_prefix('+') {
            own.insert(session);
        } else if let Some(session) = line.strip_prefix('-') {
            own.remove(session);
        }
    }
    sessions.extend(own.into_iter().map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leases(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_held_lease_keeps_its_sessions_alive_and_goes_with_its_release() {
        let folder = tempfile::tempdir().unwrap();
        let mut lease = Lease::acquire(folder.path(), ["a", "b"].into_iter()).unwrap();
        lease.begin("c").unwrap();
        assert!(lease.end("a").unwrap());
        let live = live_sessions(folder.path()).unwrap();
        assert!(live.contains("b") && live.contains("c") && !live.contains("a"));
        assert!(live.contains_owner(lease.owner()));
        assert_eq!(live.count(), 2);
        lease.release();
        assert_eq!(leases(folder.path()), 0);
        assert_eq!(live_sessions(folder.path()).unwrap(), LiveSessions::default());
    }

    #[test]
    fn a_lease_without_a_holder_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let lease = Lease::acquire(folder.path(), ["a"].into_iter()).unwrap();
        let Lease { file, .. } = lease;
        drop(file); // as a crash does
        assert_eq!(leases(folder.path()), 1);
        assert!(!live_sessions(folder.path()).unwrap().contains("a"));
        assert_eq!(leases(folder.path()), 0);
    }

    #[test]
    fn what_cannot_be_judged_counts_as_alive() {
        let folder = tempfile::tempdir().unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(
            "/etc/passwd",
            folder.path().join(names::lease(&names::new_owner())),
        )
        .unwrap();
        #[cfg(unix)]
        assert!(live_sessions(folder.path()).unwrap().contains("anybody"));
        assert!(!live_sessions(&folder.path().join("missing")).unwrap().contains("anybody"));
    }

    #[test]
    fn a_line_that_was_cut_short_swallows_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut lease = Lease::acquire(folder.path(), ["a"].into_iter()).unwrap();
        lease.file.write_all(b"\n+cut sh").unwrap();
        lease.begin("b").unwrap();
        lease.end("a").unwrap();
        let live = live_sessions(folder.path()).unwrap();
        assert!(live.contains("b") && !live.contains("a"));
        lease.release();
    }

    #[test]
    fn a_lease_that_is_renewed_all_the_time_is_never_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let is_over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stop = std::sync::Arc::clone(&is_over);
        let renewing = std::thread::spawn(move || {
            let mut lease = Lease::acquire(&path, ["alive"].into_iter()).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let next = Lease::acquire(&path, ["alive"].into_iter()).unwrap();
                std::mem::replace(&mut lease, next).release();
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
            lease.release();
        });
        while !live_sessions(folder.path()).unwrap().contains("alive") {}
        for _ in 0..500 {
            assert!(live_sessions(folder.path()).unwrap().contains("alive"));
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        renewing.join().unwrap();
    }

    #[test]
    fn foreign_files_are_no_leases() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("my.lease"), "+a\n").unwrap();
        assert!(!live_sessions(folder.path()).unwrap().contains("a"));
        assert_eq!(leases(folder.path()), 1);
    }
}
