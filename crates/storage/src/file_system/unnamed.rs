//! Files that have no name until they are complete (`O_TMPFILE` on Linux).

use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsRawFd,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, linkat, openat},
    io::{Errno, retry_on_intr},
};

use super::{FileError, local::At};

/// Naming an open file needs `/proc`, which a container may lack.
static CAN_NAME: AtomicBool = AtomicBool::new(true);

/// Creates a file that appears complete; returns `false` when this is not possible here.
pub fn create(path: &Path, contents: &[u8], sync: bool) -> Result<bool, FileError> {
    let Some(directory) = path.parent().filter(|_| CAN_NAME.load(Ordering::Relaxed)) else {
        return Ok(false);
    };
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let mut file = match retry_on_intr(|| openat(CWD, directory, flags, mode)) {
        Ok(file) => File::from(file),
        // Not every file system supports such files, and old kernels interpret the flag as a directory.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => return Ok(false),
        Err(error) => return Err(FileError::system("open", path, error.into())),
    };
    file.write_all(contents).at("write", path)?;
    if sync {
        // A failed fsync is never repeated: the kernel may have dropped the pages.
        file.sync_all().at("fsync", path)?;
    }
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    match retry_on_intr(|| linkat(CWD, &unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)) {
        Ok(()) => Ok(true),
        // Either the directory or `/proc` is missing: creating the file by name finds out which.
        Err(Errno::NOENT | Errno::PERM | Errno::XDEV) => {
            if directory.exists() {
                CAN_NAME.store(false, Ordering::Relaxed);
            }
            Ok(false)
        }
        Err(error) => Err(FileError::system("link", path, io::Error::from(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn a_file_appears_whole_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        if !create(&path, b"one", true).unwrap() {
            return; // This file system has no such files.
        }
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = create(&path, b"two", false).unwrap_err();
        assert_eq!(again.kind, io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let missing = folder.path().join("missing/x.json");
        assert!(create(&missing, b"x", false).unwrap_err().is_not_found());
    }
}
