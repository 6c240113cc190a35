//! Checks the owners and modes of directories and files before their first use.
//!
//! A directory of another user (other than root) is refused, because its owner could read the data
//! and replace files. The caller can allow such directories, and a process of root uses them. All
//! other findings, such as files of other users or wide permissions, are only reported to the debug
//! callback, so that files written by other programs remain usable.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use storage::{Disk, Ownership};

use crate::{
    debug::Debug,
    error::{Code, Error, Result},
};

/// The superuser, who has access to everything.
const ROOT: u32 = 0;
/// The mode bits that let the group or others read a file.
const READABLE: u32 = 0o044;
/// The mode bit that lets all users write.
const WRITABLE: u32 = 0o002;
/// The mode bit of a directory in which only the owner of an entry can replace it.
const STICKY: u32 = 0o1000;
/// The mode bits that let the group or others look up names in a directory.
const SEARCHABLE: u32 = 0o011;
/// The mode bits for any access by the group or others.
const OTHERS: u32 = 0o077;

/// Guarantees by the caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trust {
    /// `trustLocks`: locks exclude all processes that can reach the files, on any type of file
    /// system.
    pub locks: bool,
    /// `allowShared`: directories of other users may be used.
    pub shared: bool,
}

/// The directories and files to check.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The name of the directories in messages: "context directory".
    pub what: &'static str,
    /// The option to choose another directory.
    pub setting: &'static str,
    /// The directories, outermost first.
    pub directories: &'a [&'a Path],
    /// Files with stored data.
    pub files: &'a [&'a Path],
    /// Files that only this package creates, for their owner: on a file system with modes, other
    /// users have no access to them.
    pub own_files: &'a [&'a Path],
}

/// Checks the directories and files of one object, and reports each finding once.
#[derive(Debug, Default)]
pub struct Inspection {
    /// Whether everything existed and was checked.
    is_done: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Directories and files that were checked.
    seen: HashSet<PathBuf>,
    /// Messages that were sent.
    reported: HashSet<String>,
}

impl Inspection {
    /// Checks the existing directories and files that were not checked before.
    ///
    /// # Errors
    /// `UnsafeDirectory` for a directory of another user.
    pub fn check(
        &self,
        disk: &dyn Disk,
        place: &Place<'_>,
        trust: Trust,
        debug: &Debug,
    ) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let Some(user) = disk.user() else { return Ok(()) };
        for path in place.directories {
            if let Some(ownership) = self.unseen(disk, path) {
                if is_foreign(ownership, user) && user != ROOT && !trust.shared {
                    return Err(refusal(path, ownership, user, place));
                }
                self.report_directory(path, ownership, user, place, debug);
                self.mark_seen(path);
            }
        }
        for path in place.files {
            if let Some(ownership) = self.unseen(disk, path) {
                let is_reachable = is_exposed(ownership, user)
                    && is_reachable(disk, path.parent().unwrap_or(path));
                self.report_file(path, ownership, is_reachable, user, debug);
                self.mark_seen(path);
            }
        }
        for path in place.own_files {
            if let Some(ownership) = self.unseen(disk, path) {
                self.report_own_file(path, ownership, debug);
                self.mark_seen(path);
            }
        }
        let mut all = place.directories.iter().chain(place.files).chain(place.own_files);
        self.is_done.store(all.all(|path| self.has_seen(path)), Ordering::Relaxed);
        Ok(())
    }

    /// The ownership of an existing path that was not checked before. If it cannot be read, the
    /// operation that uses the path reports the error.
    fn unseen(&self, disk: &dyn Disk, path: &Path) -> Option<Ownership> {
        if self.has_seen(path) { None } else { disk.ownership(path).ok().flatten() }
    }

    /// Whether everything existed and was checked.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Relaxed)
    }

    /// Whether a directory or file was checked.
    #[must_use]
    pub fn has_seen(&self, path: &Path) -> bool {
        self.state().seen.contains(path)
    }

    fn mark_seen(&self, path: &Path) {
        self.state().seen.insert(path.to_owned());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report_directory(
        &self,
        path: &Path,
        ownership: Ownership,
        user: u32,
        place: &Place<'_>,
        debug: &Debug,
    ) {
        let Ownership { owner, mode, .. } = ownership;
        let name = format!("The {} {}", place.what, path.display());
        if is_foreign(ownership, user) {
            self.say(format!("{name} belongs to uid {owner}"), path, debug);
        }
        if mode & WRITABLE != 0 && mode & STICKY == 0 {
            self.say(format!("{name} is writable by everyone (mode {mode:04o})"), path, debug);
        }
    }

    /// Reports a file that another user owns, or that others can reach and read; returns `false` if
    /// there is nothing to report. `is_reachable` is the result of [`is_reachable`] for its
    /// directory.
    pub fn report_file(
        &self,
        path: &Path,
        ownership: Ownership,
        is_reachable: bool,
        user: u32,
        debug: &Debug,
    ) -> bool {
        let Ownership { owner, mode, .. } = ownership;
        let name = path.display();
        let is_foreign = is_foreign(ownership, user);
        if is_foreign {
            self.say(format!("{name} belongs to uid {owner}"), path, debug);
        }
        if is_reachable && mode & WRITABLE != 0 {
            self.say(format!("{name} is writable by everyone (mode {mode:04o})"), path, debug);
        } else if is_reachable && mode & READABLE != 0 {
            self.say(format!("{name} is readable by others (mode {mode:04o})"), path, debug);
        }
        is_foreign || (is_reachable && mode & (WRITABLE | READABLE) != 0)
    }

    /// Reports a file that should be for its owner only, and is not.
    pub fn report_own_file(&self, path: &Path, ownership: Ownership, debug: &Debug) {
        let mode = ownership.mode;
        if mode & OTHERS != 0 {
            let directory = path.parent().unwrap_or(path);
            self.say(
                format!(
                    "The file system of {} may keep no modes: {} was created with mode 0600 and has {mode:04o}",
                    directory.display(),
                    path.display()
                ),
                directory,
                debug,
            );
        }
    }

    fn say(&self, message: String, path: &Path, debug: &Debug) {
        self.say_once(&message, debug, || json!({ "path": path }));
    }

    /// Sends a message, unless it was sent before.
    pub fn say_once(&self, message: &str, debug: &Debug, data: impl FnOnce() -> Value) {
        let is_new = self.state().reported.insert(message.to_owned());
        if is_new {
            debug.say(message, data);
        }
    }
}

/// Whether other users can reach the files of a directory: neither it nor any parent is restricted
/// to its owner.
pub fn is_reachable(disk: &dyn Disk, directory: &Path) -> bool {
    directory.ancestors().all(|directory| {
        let ownership = disk.ownership(directory).ok().flatten();
        ownership.is_none_or(|ownership| ownership.mode & SEARCHABLE != 0)
    })
}

/// Whether another user owns a file, or can read or write it.
#[must_use]
pub fn is_exposed(ownership: Ownership, user: u32) -> bool {
    is_foreign(ownership, user) || ownership.mode & (READABLE | WRITABLE) != 0
}

/// Whether a file or directory is owned by neither the user nor root.
fn is_foreign(ownership: Ownership, user: u32) -> bool {
    ownership.owner != user && ownership.owner != ROOT
}

fn refusal(path: &Path, ownership: Ownership, user: u32, place: &Place<'_>) -> Error {
    Error::new(
        Code::UnsafeDirectory,
        format!(
            "the {} {} belongs to uid {}, and this process runs as uid {user}: its owner can read and replace what is stored there; run as its owner, set {} to a directory of your own, or set allowShared: true",
            place.what,
            path.display(),
            ownership.owner,
            place.setting
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use simulator::SimulatedDisk;
    use std::sync::Arc;
    use storage::Access;

    const OTHER: u32 = 4711;

    fn listening() -> (Debug, Arc<Mutex<Vec<String>>>) {
        let messages = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&messages);
        (Debug::new(move |message, _| heard.lock().unwrap().push(message.to_owned())), messages)
    }

    fn check(disk: &SimulatedDisk, trust: Trust) -> (Result<()>, Vec<String>) {
        let (debug, messages) = listening();
        let inspection = Inspection::default();
        let place = Place {
            what: "context directory",
            setting: "contextDir",
            directories: &[Path::new("/d")],
            files: &[Path::new("/d/x"), Path::new("/d/missing")],
            own_files: &[Path::new("/d/x.lock")],
        };
        let first = inspection.check(disk, &place, trust, &debug);
        if first.is_ok() {
            inspection.check(disk, &place, trust, &debug).unwrap();
        }
        let messages = messages.lock().unwrap().clone();
        (first, messages)
    }

    fn disk() -> SimulatedDisk {
        let disk = SimulatedDisk::new();
        disk.create_directories(Path::new("/d")).unwrap();
        drop(disk.open(Path::new("/d/x"), Access::AppendNew).unwrap());
        drop(disk.open(Path::new("/d/x.lock"), Access::AppendNew).unwrap());
        disk
    }

    #[test]
    fn a_directory_of_another_user_is_refused_unless_it_is_allowed() {
        let disk = disk();
        let allowed = Trust { shared: true, ..Trust::default() };
        let (checked, messages) = check(&disk, Trust::default());
        assert!(checked.is_ok() && messages.is_empty(), "{messages:?}");
        let other = disk.used_by(OTHER);
        let (checked, messages) = check(&other, Trust::default());
        let error = checked.unwrap_err();
        assert_eq!((error.code, messages.len()), (Code::UnsafeDirectory, 0));
        for part in ["/d belongs to uid 1000", "uid 4711", "contextDir", "allowShared: true"] {
            assert!(error.message.contains(part), "{}", error.message);
        }
        let belongs = ["The context directory /d belongs to uid 1000", "/d/x belongs to uid 1000"];
        for (disk, trust) in [(other, allowed), (disk.used_by(ROOT), Trust::default())] {
            let (checked, messages) = check(&disk, trust);
            assert!(checked.is_ok());
            assert_eq!(messages, belongs);
        }
        let of_root = SimulatedDisk::new().used_by(ROOT);
        of_root.create_directories(Path::new("/d")).unwrap();
        let (checked, messages) = check(&of_root.used_by(OTHER), Trust::default());
        assert!(checked.is_ok() && messages.is_empty(), "{messages:?}");
    }

    #[test]
    fn what_others_may_do_is_reported_once() {
        let disk = disk();
        let (directory, file) = (Path::new("/d"), Path::new("/d/x"));
        let expect = |directory_mode, mode, expected: &[&str]| {
            disk.set_mode(directory, directory_mode).unwrap();
            disk.set_mode(file, mode).unwrap();
            let (checked, messages) = check(&disk, Trust::default());
            assert!(checked.is_ok());
            assert_eq!(messages, expected);
        };
        expect(0o755, 0o600, &[]);
        expect(0o1777, 0o600, &[]);
        expect(0o700, 0o666, &[]);
        let writable = "The context directory /d is writable by everyone (mode 0777)";
        expect(0o777, 0o600, &[writable]);
        expect(0o755, 0o640, &["/d/x is readable by others (mode 0640)"]);
        expect(0o777, 0o666, &[writable, "/d/x is writable by everyone (mode 0666)"]);
    }

    #[test]
    fn a_file_system_that_keeps_no_modes_is_reported() {
        let disk = disk();
        disk.set_mode(Path::new("/d/x.lock"), 0o755).unwrap();
        let (checked, messages) = check(&disk, Trust::default());
        assert!(checked.is_ok());
        assert_eq!(
            messages,
            [
                "The file system of /d may keep no modes: /d/x.lock was created with mode 0600 and has 0755"
            ]
        );
    }
}
