//! Open files of the local disk.

use std::{
    fs::{File, FileType, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::{
    Access, FileError, FileResult, FileSystemKind, LockAttempt, OpenFile, Ownership,
    local::{self, At},
    volume,
};

/// An open file of the operating system.
#[derive(Debug)]
struct LocalFile {
    file: File,
    path: PathBuf,
}

/// Opens a regular file, without following a symbolic link in the last component of the path.
pub(super) fn open(path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>> {
    let file = options(access).open(path).map_err(refuse_link).at("open", path)?;
    let kind = file.metadata().at("stat", path)?.file_type();
    if !kind.is_file() {
        return Err(FileError::system("open", path, refusal(kind)));
    }
    Ok(Box::new(LocalFile { file, path: path.to_owned() }))
}

/// The error for a file of a kind that is not opened.
fn refusal(kind: FileType) -> io::Error {
    #[cfg(unix)]
    if kind.is_dir() {
        // The error that the system gives when a directory is opened for writing.
        return rustix::io::Errno::ISDIR.into();
    }
    let reason = if kind.is_dir() { "a directory" } else { "not a regular file" };
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

fn options(access: Access) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    match access {
        Access::Read => {}
        Access::Append => {
            options.create(true);
        }
        Access::AppendNew => {
            options.create_new(true);
        }
    }
    if access != Access::Read {
        // Windows can only truncate files that are open for writing at any offset.
        if cfg!(windows) {
            options.write(true)
        } else {
            options.append(true)
        };
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A FIFO would block an ordinary open; anything but a regular file is refused afterwards.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        // The flags fit: they are small positive numbers on every platform.
        options.mode(0o600).custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
        options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    }
    options
}

/// Replaces the error number of `O_NOFOLLOW` by a message.
#[cfg(unix)]
fn refuse_link(error: io::Error) -> io::Error {
    use rustix::io::Errno;
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::MLINK) => {
            io::Error::new(io::ErrorKind::InvalidInput, "a symbolic link, which is not followed")
        }
        _ => error,
    }
}

#[cfg(not(unix))]
fn refuse_link(error: io::Error) -> io::Error {
    error
}

/// Whether an error means that the file system has no locks.
fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        // The last two are the same number on Linux; Apple's systems return the last.
        let refusals = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];
        Errno::from_io_error(error).is_some_and(|error| refusals.contains(&error))
    }
    #[cfg(not(unix))]
    {
        error.kind() == io::ErrorKind::Unsupported
    }
}

impl OpenFile for LocalFile {
    fn length(&self) -> FileResult<u64> {
        Ok(self.file.metadata().at("stat", &self.path)?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match read_at(&self.file, rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(FileError::system("read", &self.path, error)),
            }
        }
        Ok(filled)
    }

    fn append(&self, bytes: &[u8]) -> FileResult<()> {
        append(&self.file, bytes).at("write", &self.path)
    }

    fn truncate(&self, length: u64) -> FileResult<()> {
        self.file.set_len(length).at("ftruncate", &self.path)
    }

    fn sync(&self) -> FileResult<()> {
        // Apple's variant of this call flushes the drive as well (`F_FULLFSYNC`).
        self.file.sync_data().at("fsync", &self.path)
    }

    fn try_lock(&self) -> FileResult<LockAttempt> {
        loop {
            return match self.file.try_lock() {
                Ok(()) => Ok(LockAttempt::Taken),
                Err(TryLockError::WouldBlock) => Ok(LockAttempt::Held),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {
                    continue;
                }
                Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                    Ok(LockAttempt::Unsupported)
                }
                Err(TryLockError::Error(error)) => {
                    Err(FileError::system("lock", &self.path, error))
                }
            };
        }
    }

    fn unlock(&self) {
        // Closing the file releases the lock in any case.
        let _ = self.file.unlock();
    }

    #[cfg(unix)]
    fn is_linked(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        self.file.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
    }

    #[cfg(not(unix))]
    fn is_linked(&self) -> bool {
        self.is_at(&self.path)
    }

    #[cfg(unix)]
    fn is_at(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let (Ok(ours), Ok(theirs)) = (self.file.metadata(), std::fs::symlink_metadata(path)) else {
            return false;
        };
        (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
    }

    #[cfg(not(unix))]
    fn is_at(&self, path: &Path) -> bool {
        let ours = self.file.try_clone().and_then(same_file::Handle::from_file);
        matches!((ours, same_file::Handle::from_path(path)), (Ok(ours), Ok(theirs)) if ours == theirs)
    }

    #[cfg(unix)]
    fn take_permissions(&self, other: &dyn OpenFile) -> FileResult<()> {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt};
        let (Some(own), Some(others)) = (self.ownership(), other.ownership()) else {
            return Ok(());
        };
        let mode = own.mode_from(others);
        if own.mode & 0o777 == mode {
            return Ok(());
        }
        self.file.set_permissions(Permissions::from_mode(mode)).at("chmod", &self.path)
    }

    fn ownership(&self) -> Option<Ownership> {
        local::ownership(&self.file.metadata().ok()?)
    }

    fn file_system(&self) -> FileSystemKind {
        volume::kind_of_file(&self.file)
    }

    #[cfg(unix)]
    fn identity(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.file.metadata().map_or(0, |metadata| metadata.ino())
    }

    #[cfg(not(unix))]
    fn identity(&self) -> u64 {
        use std::time::UNIX_EPOCH;
        // Compaction creates a new file: the creation time distinguishes it from the old one.
        let created = self.file.metadata().and_then(|metadata| metadata.created()).ok();
        let age = created.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        age.and_then(|age| u64::try_from(age.as_nanos()).ok()).unwrap_or_default()
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// The file is in append mode: the system writes at the end, also when other processes append.
#[cfg(unix)]
fn append(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut file, bytes)
}

/// The writer holds the log's lock, so the end does not move.
#[cfg(windows)]
fn append(file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    let mut end = file.metadata()?.len();
    let mut rest = bytes;
    while !rest.is_empty() {
        match file.seek_write(rest, end) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                end += count as u64;
                rest = rest.get(count..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_adds_and_cuts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        assert!(open(&path, Access::Read).err().unwrap().is_not_found());
        let file = open(&path, Access::Append).unwrap();
        file.append(b"one\n").unwrap();
        open(&path, Access::Append).unwrap().append(b"two\n").unwrap();
        file.append(b"three\n").unwrap();
        let mut buffer = [0; 100];
        assert_eq!(file.read_at(4, &mut buffer).unwrap(), 10);
        assert_eq!(&buffer[..10], b"two\nthree\n");
        file.truncate(4).unwrap();
        file.sync().unwrap();
        assert_eq!(file.length().unwrap(), 4);
        assert_eq!(
            open(&path, Access::AppendNew).err().unwrap().kind,
            io::ErrorKind::AlreadyExists
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn locks_belong_to_the_open_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let one = open(&path, Access::Append).unwrap();
        let other = open(&path, Access::Append).unwrap();
        assert_eq!(one.try_lock().unwrap(), LockAttempt::Taken);
        assert_eq!(other.try_lock().unwrap(), LockAttempt::Held);
        one.unlock();
        assert_eq!(other.try_lock().unwrap(), LockAttempt::Taken);
        drop(other);
        assert_eq!(one.try_lock().unwrap(), LockAttempt::Taken);
    }

    #[test]
    fn knows_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("x"), folder.path().join("y"));
        let file = open(&path, Access::Append).unwrap();
        assert!(file.is_linked() && file.is_at(&path));
        std::fs::rename(&path, &aside).unwrap();
        assert!(file.is_linked() && !file.is_at(&path) && file.is_at(&aside));
        let new = open(&path, Access::Append).unwrap();
        assert_ne!(file.identity(), new.identity());
        std::fs::rename(&path, &aside).unwrap();
        assert!(!file.is_linked() && !file.is_at(&aside));
    }

    #[cfg(unix)]
    #[test]
    fn opens_only_regular_files_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for access in [Access::Read, Access::Append, Access::AppendNew] {
            assert!(open(&link, access).is_err(), "{access:?}");
            assert!(open(folder.path(), access).is_err(), "{access:?}");
        }
        assert!(!target.exists());
    }
}
