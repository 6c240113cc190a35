//! Leases: locked files by which processes know which sessions are alive.
//!
//! A process keeps one lease file in a directory. It is locked through the operating system and lists the process's
//! sessions (`+session` when one begins, `-session` when it ends). The kernel releases the lock when the process dies
//! for any reason; liveness depends on neither clocks nor process ids. A lease's name is random and never reused, so
//! that a file with this name is the one that was locked. A line `=` marks that all sessions for which the lease was
//! taken are listed.
//!
//! A lock binds the processes that use the same kernel and the same mount. A line `@identity` names both
//! ([`Volume::identity`]). If the reader's identity is the same, the state of the lock is trusted on any file system. A
//! free lock of a lease with another identity proves nothing: its sessions are [`Liveness::Unproven`]. A lease without
//! an identity, as written on systems without a boot id and by earlier versions, is trusted on file systems whose locks
//! bind.

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

/// Maximum number of ended sessions in a lease before it is replaced by a new one.
const MAX_ENDED: usize = 1000;
/// The line after the sessions for which the lease was taken.
const COMPLETE: &str = "=";
/// The first character of the line with the volume's identity.
const IDENTITY: char = '@';
/// Maximum number of times that a lease is read whose process is still listing sessions, and the pause between them.
const MAX_LOOKS: usize = 200;
const LOOK_PAUSE: Duration = Duration::from_micros(500);

/// A lease held by this process.
pub struct Lease {
    owner: String,
    path: PathBuf,
    disk: Arc<dyn Disk>,
    file: Box<dyn OpenFile>,
    ended: usize,
    /// Whether the open file reports reliably that it still has a name.
    knows_its_links: bool,
}

impl Lease {
    /// Takes a new lease for the sessions.
    ///
    /// # Errors
    /// When the file cannot be created or written. Where the file system has no locks, the lease stays unlocked, and
    /// the directory is not swept while the lease exists.
    pub fn acquire<'a>(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        sessions: impl Iterator<Item = &'a str> + Clone,
    ) -> FileResult<Self> {
        loop {
            let owner = layout::new_owner();
            let path = directory.join(layout::lease(&owner));
            if let Some(file) =
                disk.create_locked(&path, text_of(None, sessions.clone()).as_bytes())?
            {
                let disk = Arc::clone(disk);
                return Ok(Self { owner, path, disk, file, ended: 0, knows_its_links: true });
            }
            let file = disk.open(&path, Access::AppendNew)?;
            match file.try_lock() {
                Ok(LockAttempt::Taken | LockAttempt::Unsupported) => {}
                // A sweep read the file before it was locked, and is removing it.
                Ok(LockAttempt::Held) => continue,
                Err(error) => {
                    let _ = disk.remove(&path);
                    return Err(error);
                }
            }
            let mut lease =
                Self { owner, path, disk: Arc::clone(disk), file, ended: 0, knows_its_links: true };
            // A sweep has already removed it.
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

    /// Writes the volume's identity and the sessions.
    fn describe<'a>(
        &mut self,
        directory: &Path,
        sessions: impl Iterator<Item = &'a str>,
    ) -> FileResult<()> {
        let Volume { kind, identity } = self.disk.volume(directory)?;
        self.knows_its_links = kind.locks_bind;
        self.file.append(text_of(identity.as_deref(), sessions).as_bytes())
    }

    /// The path and the owner of the lease's file, where there are owners. It was created accessible to its owner only.
    #[must_use]
    pub fn ownership(&self) -> Option<(&Path, Ownership)> {
        Some((&self.path, self.file.ownership()?))
    }

    /// The stem of this lease's file name and of the temporary files written under it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether the file still exists under its name. Checked before every save.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        // A lease is never renamed. Servers of shared file systems may not report link counts.
        self.file.is_linked() && (self.knows_its_links || self.file.is_at(&self.path))
    }

    /// Lists a session as alive.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&mut self, session: &str) -> FileResult<()> {
        // The newline in front keeps a truncated line from merging with this one.
        self.file.append(format!("\n+{session}\n").as_bytes())
    }

    /// Lists a session as ended. Returns `false` when so many have ended that the lease should be replaced.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn end(&mut self, session: &str) -> FileResult<bool> {
        self.file.append(format!("\n-{session}\n").as_bytes())?;
        self.ended += 1;
        Ok(self.ended < MAX_ENDED)
    }

    /// Releases the lease: removes the file, then frees the lock.
    pub fn release(self) {
        // A file that cannot be removed is removed by the next sweep.
        let _ = self.disk.remove(&self.path);
    }
}

/// The liveness of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Its process holds its lease, or may hold it.
    Alive,
    /// The lock of its lease is free here, which proves nothing. The session counts as alive until its files exceed the
    /// retention.
    Unproven,
    /// No process keeps the session.
    Over,
}

/// A lease whose process may run on another host or mount.
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

/// The live sessions of a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LiveSessions {
    /// Sessions with the number of leases that list each.
    sessions: HashMap<String, u64>,
    owners: HashSet<String>,
    unproven: Vec<UnprovenLease>,
    /// A lease could not be read or judged: all sessions in it count as alive.
    uncertain: bool,
}

impl LiveSessions {
    /// The liveness of a session.
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

    /// How many processes hold the session, by the leases that can be read.
    #[must_use]
    pub fn processes(&self, session: &str) -> u64 {
        self.sessions.get(session).copied().unwrap_or_default()
    }

    /// Whether the owner of a temporary file may be alive.
    #[must_use]
    pub fn contains_owner(&self, owner: &str) -> bool {
        self.uncertain || self.owners.contains(owner)
    }

    /// The number of sessions that count as alive.
    #[must_use]
    pub fn count(&self) -> usize {
        let unproven = self.unproven.iter().flat_map(|lease| &lease.sessions);
        self.sessions.keys().chain(unproven).collect::<HashSet<_>>().len()
    }

    /// The leases whose processes may run on another host or mount.
    #[must_use]
    pub fn unproven(&self) -> &[UnprovenLease] {
        &self.unproven
    }
}

/// Reads every lease of the directory and removes those whose process has ended. With `trusts_locks`, a free lock is
/// trusted for every lease, because the caller guarantees that locks bind.
///
/// A session takes its lease before it creates its first file. A caller that lists the files first and calls this
/// function afterwards therefore sees the lease of every live session whose files it listed.
///
/// # Errors
/// When the directory cannot be listed.
pub fn live_sessions(
    disk: &dyn Disk,
    directory: &Path,
    trusts_locks: bool,
) -> FileResult<LiveSessions> {
    let mut live = LiveSessions::default();
    // A process that renews its lease takes the new one first. A listing may miss the new one and then find the old one
    // removed, so that a result counts only if a second listing shows the same leases.
    let mut before = None;
    let mut looks = 0;
    // Determined when the first lease is judged.
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

/// The volume on which leases are judged.
struct Here {
    volume: Volume,
    trusts_locks: bool,
}

impl Here {
    /// Whether a free lock proves that the lease's process has ended.
    fn believes(&self, identity: Option<&str>) -> bool {
        self.trusts_locks
            || match identity {
                Some(_) => self.volume.identity.as_deref() == identity,
                None => self.volume.kind.locks_bind,
            }
    }
}

/// The result of reading a lease.
enum Judgement {
    /// The lease was removed.
    Gone,
    /// The lease exists, and its sessions were recorded.
    Stays,
    /// The lease exists, and its process is still listing sessions.
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
        // Leases are created as regular files: a link or a directory with such a name is not a lease.
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
        // Its process has ended, and the lock keeps other processes from judging the lease.
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

/// The text of a lease that is taken for these sessions.
fn text_of<'a>(identity: Option<&str>, sessions: impl Iterator<Item = &'a str>) -> String {
    let identity = identity.map(|identity| format!("\n{IDENTITY}{identity}"));
    let sessions = sessions.map(|name| format!("\n+{name}"));
    let mut text: String = identity.into_iter().chain(sessions).collect();
    text.extend(["\n", COMPLETE, "\n"]);
    text
}

/// The identity of the volume on which a lease was taken. A truncated line equals no real identity.
fn identity(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(IDENTITY))
}

/// Whether a lease lists all the sessions for which it was taken.
fn is_complete(text: &str) -> bool {
    text.lines().any(|line| line == COMPLETE)
}

/// The text of a lease. Sessions that are listed later have no files yet. A line that ends within a character names no
/// session.
fn read(file: &dyn OpenFile) -> Option<String> {
    let mut bytes = vec![0; usize::try_from(file.length().ok()?).ok()?];
    let count = file.read_at(0, &mut bytes).ok()?;
    bytes.truncate(count);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The sessions that begin and do not end. A truncated `-` line may name another session than intended, so that it ends
/// none. Complete lines are followed by an empty line or by the end.
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
