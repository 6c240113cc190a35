//! Opens the database: checks its file system, owner and format, creates it, and configures connections.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use serde_json::json;
use storage::{Disk, LocalDisk, layout};

use super::{
    failure::{During, corrupt},
    schema,
};
use crate::{
    debug::Debug,
    error::{Code, Error, Result},
    safety::{Inspection, Place, Trust},
};

/// How long a reader waits while another process recovers the write-ahead log.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// The length in bytes to which a long log is truncated after it was written back.
const KEPT_LOG: i64 = 16 * 1024 * 1024;
/// The number of prepared statements that a connection caches.
const STATEMENTS: usize = 64;
/// File systems that other hosts or kernels serve. The processes of a store need shared memory, which these do not
/// support.
const SHARED_FILE_SYSTEMS: &[&str] = &[
    "nfs", "smb", "cifs", "smb2", "9p", "vboxsf", "vmhgfs", "prl_fs", "ceph", "lustre", "gpfs",
    "afs", "coda", "smbfs", "afpfs", "webdav",
];

/// The settings of one store, and whether the file was checked for that store.
pub(super) struct Opening {
    pub path: PathBuf,
    pub lock_timeout: Duration,
    pub trust: Trust,
    pub debug: Debug,
    inspection: Inspection,
    is_done: AtomicBool,
    /// Held while the file is checked.
    looking: Mutex<()>,
}

impl Opening {
    pub fn new(path: PathBuf, lock_timeout: Duration, trust: Trust, debug: Debug) -> Self {
        Self {
            path,
            lock_timeout,
            trust,
            debug,
            inspection: Inspection::default(),
            is_done: AtomicBool::new(false),
            looking: Mutex::default(),
        }
    }

    /// Checks the file, and creates it if it does not exist, once. Blocks its thread.
    ///
    /// # Errors If the file or its location cannot be used.
    pub fn prepare(&self) -> Result<()> {
        if self.is_done.load(Ordering::Acquire) {
            return Ok(());
        }
        let _looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_done.load(Ordering::Acquire) {
            return Ok(());
        }
        self.look()?;
        self.is_done.store(true, Ordering::Release);
        Ok(())
    }

    /// As [`Opening::prepare`]; returns the file's identity, because connections to a replaced file must not be used.
    pub fn file(&self) -> Result<Option<(u64, u64)>> {
        self.prepare()?;
        let file = identity(&self.path);
        if file.is_some() || !cfg!(unix) {
            return Ok(file);
        }
        // The file was removed; the file that is created in its place is another one.
        self.is_done.store(false, Ordering::Release);
        self.prepare()?;
        Ok(identity(&self.path))
    }

    fn look(&self) -> Result<()> {
        let path = &self.path;
        let refused = |what: &str, cause| Error::from_file(what, path, "path", cause);
        let directory = path.parent().unwrap_or(path);
        LocalDisk
            .create_directories(directory)
            .map_err(|cause| refused("create the directory of the state store", cause))?;
        self.check_owners(directory)?;
        self.check_volume(directory)?;
        let state = file_state(path).map_err(|cause| refused("open the state store", cause))?;
        match state {
            FileState::Other => Err(corrupt(path, "it is no regular file")),
            FileState::Missing if self.has_orphaned_log() => Err(corrupt(
                &log_of(path),
                "the database that it belongs to is gone; restore that, or remove this file as well",
            )),
            FileState::Missing => self.create(directory),
            FileState::File => self.inspect_file(),
        }?;
        self.check_owners(directory)
    }

    fn check_owners(&self, directory: &Path) -> Result<()> {
        let place = Place {
            what: "directory of the state store",
            setting: "path",
            directories: &[directory],
            files: &[&self.path],
            own_files: &[],
        };
        self.inspection.check(&LocalDisk, &place, self.trust, &self.debug)
    }

    fn check_volume(&self, directory: &Path) -> Result<()> {
        let Ok(volume) = LocalDisk.volume(directory) else { return Ok(()) };
        if self.trust.locks {
            return Ok(());
        }
        if let Some(message) = judge_volume(&self.path, &volume.kind.name, volume.kind.locks_bind)?
        {
            self.inspection.say_once(&message, &self.debug, || json!({ "path": self.path }));
        }
        Ok(())
    }

    /// A file with a log is checked through connections that read the log: after an unfinished checkpoint, the file is
    /// valid only together with its log.
    fn inspect_file(&self) -> Result<()> {
        let has_log = || length(&log_of(&self.path)) > 0;
        if has_log() {
            return Ok(());
        }
        schema::inspect(&self.path).or_else(|error| if has_log() { Ok(()) } else { Err(error) })
    }

    /// Whether there is a log without a database. SQLite would apply it to a new database.
    fn has_orphaned_log(&self) -> bool {
        let log = log_of(&self.path);
        let directory = self.path.parent().unwrap_or(&self.path);
        let name = log.file_name().unwrap_or_default().to_string_lossy();
        let entry = LocalDisk.entry(directory, &name).ok().flatten();
        let is_there = entry.is_some_and(|entry| entry.length.unwrap_or_default() > 0);
        // Another process may be creating the database at this moment.
        is_there && matches!(file_state(&self.path), Ok(FileState::Missing))
    }

    /// Builds the database under a temporary name and then renames it, so that no process opens a partial file.
    fn create(&self, directory: &Path) -> Result<()> {
        let path = &self.path;
        let refused = |cause| Error::from_file("create the state store", path, "path", cause);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = directory.join(layout::replacement(&name));
        LocalDisk.write_new(&temporary, b"", false).map_err(refused)?;
        let created = self.build(&temporary).and_then(|()| {
            match LocalDisk.rename_new(&temporary, path) {
                // Another process created the file first.
                Err(error) if error.kind == std::io::ErrorKind::AlreadyExists => {
                    schema::inspect(path)
                }
                moved => moved.map_err(refused),
            }
        });
        // After a successful move, the temporary file no longer exists.
        let _ = LocalDisk.remove(&temporary);
        created?;
        LocalDisk
            .sync_directory(directory)
            .or_else(|error| match error.kind {
                std::io::ErrorKind::Unsupported | std::io::ErrorKind::InvalidInput => Ok(()),
                _ => Err(error),
            })
            .map_err(refused)
    }

    fn build(&self, temporary: &Path) -> Result<()> {
        let mut connection =
            Connection::open_with_flags(temporary, flags()).during("create", &self.path)?;
        connection.pragma_update(None, "synchronous", "FULL").during("create", &self.path)?;
        schema::migrate(&mut connection, &self.path)?;
        connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
            .during("create", &self.path)?;
        connection.close().map_err(|(_, error)| error).during("create", &self.path)
    }

    /// Opens the connection that writes.
    ///
    /// # Errors If the file cannot be used.
    pub fn writer(&self) -> Result<Connection> {
        let mut connection = self.connect()?;
        schema::migrate(&mut connection, &self.path)?;
        // A file of an interrupted creation, or of another program, may be in another journal mode.
        connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
            .during("open", &self.path)?;
        connection
            .pragma_update_and_check(None, "journal_size_limit", KEPT_LOG, |_| Ok(()))
            .during("open", &self.path)?;
        self.write_back_on_close(&connection, true)?;
        // From here on, the writer itself waits for locks, with the deadlines of its calls.
        connection.busy_timeout(Duration::ZERO).during("open", &self.path)?;
        Ok(connection)
    }

    /// Opens a connection that reads.
    ///
    /// # Errors If the file cannot be used.
    pub fn reader(&self) -> Result<Connection> {
        let mut connection = self.connect()?;
        schema::migrate(&mut connection, &self.path)?;
        self.write_back_on_close(&connection, true)?;
        connection.pragma_update(None, "query_only", true).during("open", &self.path)?;
        Ok(connection)
    }

    fn connect(&self) -> Result<Connection> {
        let connection =
            Connection::open_with_flags(&self.path, flags()).during("open", &self.path)?;
        connection
            .busy_timeout(self.lock_timeout.min(RECOVERY_TIMEOUT))
            .during("open", &self.path)?;
        // The file is not changed before it is known to be a store.
        self.write_back_on_close(&connection, false)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        for (name, value) in [
            ("foreign_keys", "OFF"),
            ("trusted_schema", "OFF"),
            ("cell_size_check", "ON"),
            ("temp_store", "MEMORY"),
        ] {
            connection.pragma_update(None, name, value).during("open", &self.path)?;
        }
        // SQLite overwrites deleted content with zeros.
        connection
            .pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))
            .during("open", &self.path)?;
        Ok(connection)
    }
}

impl Opening {
    /// Sets whether closing the last connection writes the log back.
    fn write_back_on_close(&self, connection: &Connection, writes_back: bool) -> Result<()> {
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !writes_back)
            .during("open", &self.path)
            .map(drop)
    }
}

/// Checks a file system by the name of its type: returns a message to report, or an error if processes cannot share
/// memory on it.
fn judge_volume(path: &Path, name: &str, locks_bind: bool) -> Result<Option<String>> {
    let path = path.display();
    if SHARED_FILE_SYSTEMS.contains(&name) {
        return Err(Error::new(
            Code::Unsupported,
            format!(
                "the state store {path} is on a file system of type {name}, where the processes of one store cannot share memory and locks: set path to a local disk, or set trustLocks: true if only processes of this machine use it"
            ),
        ));
    }
    Ok((!locks_bind).then(|| {
        format!(
            "The locks of the file system of {path} (type {name}) may not bind every process that can reach it"
        )
    }))
}

/// Connections never create the file, because that is done by `create`.
fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

enum FileState {
    Missing,
    File,
    Other,
}

/// File metadata, with a symbolic link at the path's end resolved, as SQLite does.
mod look {
    #![allow(
        clippy::disallowed_methods,
        reason = "SQLite does the input and output of this module; storage replaces no file of it"
    )]

    use std::path::Path;

    use storage::FileError;

    use super::FileState;

    pub fn file_state(path: &Path) -> Result<FileState, FileError> {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(FileState::File),
            Ok(_) => Ok(FileState::Other),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(FileState::Missing),
            Err(error) => Err(FileError::system("stat", path, error)),
        }
    }

    /// Device and number of the file; `None` if it does not exist, or on systems without such numbers.
    #[cfg(unix)]
    pub fn identity(path: &Path) -> Option<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    /// Windows does not remove or replace open files.
    #[cfg(not(unix))]
    pub fn identity(_: &Path) -> Option<(u64, u64)> {
        None
    }

    /// The length in bytes; 0 if the file does not exist.
    pub fn length(path: &Path) -> u64 {
        std::fs::metadata(path).map_or(0, |metadata| metadata.len())
    }
}

use look::file_state;
pub(super) use look::{identity, length};

/// The path of a database's write-ahead log.
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push("-wal");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_file_systems_are_refused_and_unknown_ones_reported() {
        let path = Path::new("/somewhere/state.db");
        for name in ["nfs", "9p", "cifs", "smb2", "ceph"] {
            let error = judge_volume(path, name, true).unwrap_err();
            assert_eq!(error.code, Code::Unsupported, "{name}");
            assert!(error.message.contains("/somewhere/state.db") && error.message.contains(name));
        }
        let reported = judge_volume(path, "fuse", false).unwrap();
        assert!(reported.is_some_and(|message| message.contains("/somewhere/state.db")));
        assert_eq!(judge_volume(path, "ext", true).unwrap(), None);
    }
}
