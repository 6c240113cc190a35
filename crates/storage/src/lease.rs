//! Leases: how other processes know which sessions are alive.
//!
//! A process keeps one lease file in a directory, locked through the operating system and listing
//! its sessions (`+session` when one begins, `-session` when it ends). The kernel frees the lock
//! when the process dies, however it dies; no clock and no process id decides. A lease's name is
//! random and never used again, so a file that stands under its name is the one that was locked.
//! A line `=` says that the sessions that the lease was taken for are all listed.
//!
//! A lock binds the processes that ask the same kernel through the same mount. A line `@identity` names
//! both ([`Volume::identity`]); where the reader's is the same, the kernel's answer is believed on any
//! file system. A free lock of a lease with another identity proves nothing: its sessions are
//! [`Liveness::Unproven`]. A lease without an identity, as systems without a boot id and earlier versions
//! write it, is believed where the type of file system is one whose locks bind.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{
    file_system::{Access, Disk, FileResult, LockAttempt, OpenFile, Ownership, Volume},
    layout,
};

/// Ended sessions that a lease may list before it is written anew.
const MAX_ENDED: usize = 1000;
/// The line behind the sessions that a lease was taken for.
const COMPLETE: &str = "=";
/// What the line with the identity of the lease's volume begins with.
const IDENTITY: char = '@';
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
    /// The open file says reliably whether it still has a name.
    knows_its_links: bool,
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
            let owner = layout::new_owner();
            let path = directory.join(layout::lease(&owner));
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
            let mut lease =
                Self { owner, path, disk: Arc::clone(disk), file, ended: 0, knows_its_links: true };
            // Or it has removed it already.
            if lease.is_in_place() {
                return match lease.describe(directory, sessions) {
                    Ok(()) => Ok(lease),
                    Err(error) => {
                        lease.release();
                        Err(error)
                    }
                };
            }
        }
    }

    /// Writes the identity of the volume and the sessions.
    fn describe<'a>(
        &mut self,
        directory: &Path,
        sessions: impl Iterator<Item = &'a str>,
    ) -> FileResult<()> {
        let Volume { kind, identity } = self.disk.volume(directory)?;
        self.knows_its_links = kind.locks_bind;
        let identity = identity.map(|identity| format!("\n{IDENTITY}{identity}"));
        let sessions = sessions.map(|name| format!("\n+{name}"));
        let mut text: String = identity.into_iter().chain(sessions).collect();
        text.extend(["\n", COMPLETE, "\n"]);
        self.file.append(text.as_bytes())
    }

    /// The path and the owner of the lease's file, where there are owners. It is created for its owner alone.
    #[must_use]
    pub fn ownership(&self) -> Option<(&Path, Ownership)> {
        Some((&self.path, self.file.ownership()?))
    }

    /// The stem of this lease's file name and of the temporary files written under it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether the file still stands under its name. Asked before every save.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        // A lease is never renamed. Servers of shared file systems may not count links.
        self.file.is_linked() && (self.knows_its_links || self.file.is_at(&self.path))
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

/// What is known of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Its process holds its lease, or may hold it.
    Alive,
    /// Its lease's lock is free here, which proves nothing: it counts as alive until its files are as old
    /// as the retention allows.
    Unproven,
    /// No process keeps it.
    Over,
}

/// A lease whose process may live on another host or mount.
#[derive(Debug, PartialEq, Eq)]
pub struct UnprovenLease {
    /// Its file name.
    pub name: String,
    sessions: HashSet<String>,
}

impl UnprovenLease {
    /// Whether it lists the session.
    #[must_use]
    pub fn contains(&self, session: &str) -> bool {
        self.sessions.contains(session)
    }
}

/// Who is alive in a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LiveSessions {
    /// With the number of leases that list each.
    sessions: HashMap<String, u64>,
    owners: HashSet<String>,
    unproven: Vec<UnprovenLease>,
    /// A lease could not be read or judged: whoever it lists must count as alive.
    uncertain: bool,
}

impl LiveSessions {
    /// What is known of the session.
    #[must_use]
    pub fn liveness(&self, session: &str) -> Liveness {
        if self.uncertain || self.sessions.contains_key(session) {
            Liveness::Alive
        } else if self.unproven.iter().any(|lease| lease.contains(session)) {
            Liveness::Unproven
        } else {
            Liveness::Over
        }
    }

    /// Whether the session may be alive.
    #[must_use]
    pub fn contains(&self, session: &str) -> bool {
        self.liveness(session) != Liveness::Over
    }

    /// How many processes hold the session, as far as their leases can be read.
    #[must_use]
    pub fn processes(&self, session: &str) -> u64 {
        self.sessions.get(session).copied().unwrap_or_default()
    }

    /// Whether the owner of a temporary file may be alive.
    #[must_use]
    pub fn contains_owner(&self, owner: &str) -> bool {
        self.uncertain || self.owners.contains(owner)
    }

    /// How many sessions count as alive.
    #[must_use]
    pub fn count(&self) -> usize {
        let unproven = self.unproven.iter().flat_map(|lease| &lease.sessions);
        self.sessions.keys().chain(unproven).collect::<HashSet<_>>().len()
    }

    /// The leases whose processes may live on another host or mount.
    #[must_use]
    pub fn unproven(&self) -> &[UnprovenLease] {
        &self.unproven
    }
}

/// Reads every lease of the directory and removes those whose process is gone. `trusts_locks`: a free
/// lock is believed whatever the lease says, because the caller vouches for the locks.
///
/// A session takes its lease before its first file is made: who lists the files first and calls
/// this after sees the lease of every live session whose files it listed.
///
/// # Errors
/// When the directory cannot be listed.
pub fn live_sessions(
    disk: &dyn Disk,
    directory: &Path,
    trusts_locks: bool,
) -> FileResult<LiveSessions> {
    let mut live = LiveSessions::default();
    // A process that renews its lease takes the new one first. A listing may miss that and find
    // the old one gone: only a listing that shows what the one before showed counts.
    let mut before = None;
    let mut looks = 0;
    // Asked for when there is a lease to judge.
    let mut here = None;
    loop {
        let names = lease_names(disk, directory)?;
        if before.as_ref() == Some(&names) {
            return Ok(live);
        }
        live = LiveSessions::default();
        let mut remaining = BTreeSet::new();
        let mut is_complete = true;
        for name in names {
            let Some(owner) = layout::parse_lease(&name) else { continue };
            let here = match &here {
                Some(here) => here,
                None => {
                    let volume = disk.volume(directory).unwrap_or_else(|_| Volume::unknown());
                    here.insert(Here { volume, trusts_locks })
                }
            };
            let path = directory.join(&name);
            match judge(disk, &path, &name, owner, here, &mut live) {
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
    Ok(names.filter(|name| layout::parse_lease(name).is_some()).collect())
}

/// Where leases are judged.
struct Here {
    volume: Volume,
    trusts_locks: bool,
}

impl Here {
    /// Whether a free lock proves that the lease's process is gone.
    fn believes(&self, identity: Option<&str>) -> bool {
        self.trusts_locks
            || match identity {
                Some(_) => self.volume.identity.as_deref() == identity,
                None => self.volume.kind.locks_bind,
            }
    }
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

fn judge(
    disk: &dyn Disk,
    path: &Path,
    name: &str,
    owner: &str,
    here: &Here,
    live: &mut LiveSessions,
) -> Judgement {
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
    let attempt = match file.try_lock() {
        Ok(attempt) => attempt,
        Err(_) => LockAttempt::Unsupported,
    };
    if attempt == LockAttempt::Unsupported {
        live.uncertain = true;
        return Judgement::Stays;
    }
    let text = read(file.as_ref());
    let is_free = attempt == LockAttempt::Taken;
    if is_free && text.as_deref().is_some_and(|text| here.believes(identity(text))) {
        // Its process is gone, and nobody else judges it while we hold the lock.
        return if disk.remove(path).is_ok() { Judgement::Gone } else { Judgement::Stays };
    }
    live.owners.insert(owner.to_owned());
    // Windows locks are mandatory: a held lease cannot be read there.
    let Some(text) = text else {
        live.uncertain = true;
        return Judgement::Stays;
    };
    let sessions = replay(&text);
    if is_free {
        live.unproven.push(UnprovenLease { name: name.to_owned(), sessions });
    } else {
        for session in sessions {
            *live.sessions.entry(session).or_default() += 1;
        }
    }
    if is_complete(&text) { Judgement::Stays } else { Judgement::Incomplete }
}

/// Where a lease was taken. A line that was cut short names no place that exists.
fn identity(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(IDENTITY))
}

/// Whether a lease lists all the sessions that it was taken for.
fn is_complete(text: &str) -> bool {
    text.lines().any(|line| line == COMPLETE)
}

/// What the lease says. Sessions that it lists later have no files yet. A line that was cut within a
/// character names no session.
fn read(file: &dyn OpenFile) -> Option<String> {
    let mut bytes = vec![0; usize::try_from(file.length().ok()?).ok()?];
    let count = file.read_at(0, &mut bytes).ok()?;
    bytes.truncate(count);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The sessions that begin and do not end. A line that was cut short may name another session
/// than was meant: none ends by it. Whole lines have an empty one after them, or nothing.
fn replay(text: &str) -> HashSet<String> {
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
    own.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
