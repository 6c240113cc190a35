//! The local disk.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Component, Path, PathBuf},
    time::UNIX_EPOCH,
};

#[cfg(target_os = "linux")]
use super::unnamed;
use super::{Contents, Entry, FileError, FileFuture, FileSystem, Payload};

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalDisk;

fn ready<'a, T: Send + 'a>(result: std::result::Result<T, FileError>) -> FileFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

/// Turns an `io::Result` into ours.
pub(super) trait At<T> {
    fn at(self, operation: &'static str, path: &Path) -> std::result::Result<T, FileError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, operation: &'static str, path: &Path) -> std::result::Result<T, FileError> {
        self.map_err(|error| FileError::system(operation, path, error))
    }
}

impl FileSystem for LocalDisk {
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        ready(builder.create(path).at("mkdir", path))
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        ready(fs::canonicalize(path).at("realpath", path))
    }

    fn write_new<'a>(
        &'a self,
        path: &'a Path,
        contents: Payload,
        sync: bool,
    ) -> FileFuture<'a, ()> {
        if !sync {
            return ready(write_new(path, &contents, false));
        }
        // Waiting for the medium would keep a worker from other saves: it happens on a thread of
        // its own, so that many files are on their way to the medium at once.
        Box::pin(async move {
            let owned = path.to_owned();
            let task = tokio::task::spawn_blocking(move || write_new(&owned, &contents, true));
            task.await.unwrap_or_else(|error| {
                Err(FileError::system("write", path, io::Error::other(error)))
            })
        })
    }

    #[cfg(target_os = "linux")]
    fn create_unnamed<'a>(
        &'a self,
        path: &'a Path,
        contents: Payload,
        sync: bool,
    ) -> FileFuture<'a, bool> {
        if !sync {
            return ready(unnamed::create(path, &contents, false));
        }
        Box::pin(async move {
            let owned = path.to_owned();
            tokio::task::spawn_blocking(move || unnamed::create(&owned, &contents, true))
                .await
                .unwrap_or_else(|error| {
                    Err(FileError::system("write", path, io::Error::other(error)))
                })
        })
    }

    fn can_rename(&self) -> bool {
        true
    }

    fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        ready(rename_new(from, to).at("rename", to))
    }

    fn sync_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(async move {
            let owned = path.to_owned();
            tokio::task::spawn_blocking(move || sync_directory(&owned))
                .await
                .unwrap_or_else(|error| Err(io::Error::other(error)))
                .at("fsync", path)
        })
    }

    fn read<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        limit: u64,
    ) -> FileFuture<'a, Contents> {
        ready(read(root, relative, limit).at("read", &root.join(relative)))
    }

    fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<Entry>> {
        ready(list(directory).at("readdir", directory))
    }

    fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        ready(match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(FileError::system("unlink", path, error)),
        })
    }

    fn has_locks(&self) -> bool {
        true
    }
}

/// Creates exclusively (which follows no symbolic link) with the owner's permissions from the
/// first moment, and takes back what a failed write left.
fn write_new(path: &Path, contents: &[u8], sync: bool) -> std::result::Result<(), FileError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).at("open", path)?;
    let written = file.write_all(contents).at("write", path).and_then(|()| {
        // A failed fsync is never tried again: the kernel may have dropped the pages.
        if sync { file.sync_all().at("fsync", path) } else { Ok(()) }
    });
    if written.is_err() {
        drop(file);
        // The write's own error is the one worth telling.
        let _ = fs::remove_file(path);
    }
    written
}

#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some network file systems know no flags. Names carry 64 random bits, so that a plain
        // rename does not replace anything in practice.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(from, to),
        other => other.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    // Names carry 64 random bits: a plain rename does not replace anything in practice.
    fs::rename(from, to)
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    // Windows has no directory handles to flush; its journal orders the rename.
    Ok(())
}

fn read(root: &Path, relative: &Path, limit: u64) -> io::Result<Contents> {
    let file = open_beneath(root, relative)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let length = metadata.len();
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length.min(limit)).unwrap_or(usize::MAX))?;
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Contents { bytes, length })
}

/// Only plain names may lead down from the root.
fn plain_components(relative: &Path) -> io::Result<Vec<&std::ffi::OsStr>> {
    let names: Option<Vec<_>> = relative
        .components()
        .map(|component| match component {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    names.filter(|names| !names.is_empty()).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "not a path below the directory")
    })
}

#[cfg(unix)]
fn open_beneath(root: &Path, relative: &Path) -> io::Result<fs::File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let names = plain_components(relative)?;
    // A FIFO would block an ordinary open; a device or directory is refused by the caller.
    let file = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let folder = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Some((last, folders)) = names.split_last() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let opened = if folders.is_empty() {
        openat(CWD, root.join(last), file, Mode::empty())
    } else {
        let mut directory = openat(CWD, root, folder, Mode::empty())?;
        for name in folders {
            directory = openat(&directory, *name, folder, Mode::empty()).map_err(refuse_links)?;
        }
        openat(&directory, *last, file, Mode::empty())
    };
    Ok(fs::File::from(opened.map_err(refuse_links)?))
}

/// How `O_NOFOLLOW` says that it met a symbolic link.
#[cfg(unix)]
fn refuse_links(error: rustix::io::Errno) -> io::Error {
    use rustix::io::Errno;
    match error {
        Errno::LOOP | Errno::NOTDIR | Errno::MLINK => {
            io::Error::new(io::ErrorKind::InvalidInput, "a symbolic link, or no directory")
        }
        other => other.into(),
    }
}

#[cfg(not(unix))]
fn open_beneath(root: &Path, relative: &Path) -> io::Result<fs::File> {
    let mut path = root.to_owned();
    for name in plain_components(relative)? {
        path.push(name);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a symbolic link"));
        }
    }
    fs::File::open(path)
}

fn list(directory: &Path) -> io::Result<Vec<Entry>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        // A file may go between the listing and the look at it.
        let Ok(metadata) = entry.metadata() else { continue };
        let Ok(name) = entry.file_name().into_string() else { continue };
        if metadata.is_file() {
            let modified = metadata
                .modified()
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .and_then(|age| i64::try_from(age.as_millis()).ok());
            files.push(Entry { name, length: Some(metadata.len()), modified });
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn writes_exclusively_and_for_the_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        LocalDisk.create_directories(&path).await.unwrap();
        let file = path.join("x.json");
        LocalDisk.write_new(&file, Payload::new(b"one".to_vec()), true).await.unwrap();
        let again =
            LocalDisk.write_new(&file, Payload::new(b"two".to_vec()), false).await.unwrap_err();
        assert_eq!(again.kind, io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&file).unwrap(), b"one", "the failed attempt removed nothing");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn a_rename_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&from, "new").unwrap();
        fs::write(&to, "old").unwrap();
        assert!(LocalDisk.rename_new(&from, &to).await.is_err());
        assert_eq!(fs::read(&to).unwrap(), b"old");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn reads_regular_files_below_the_root_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join("inner")).unwrap();
        fs::write(root.join("inner/x.json"), "12345").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link.json")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("linked")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let read = async |path: &str| LocalDisk.read(&root, Path::new(path), 3).await;
        let contents = read("inner/x.json").await.unwrap();
        assert_eq!((contents.bytes.as_slice(), contents.length), (&b"123"[..], 5));
        for path in ["link.json", "linked/passwd", "fifo", "inner", "../x", "/etc/passwd", "", "."]
        {
            assert!(read(path).await.is_err(), "{path}");
        }
        assert!(read("missing.json").await.unwrap_err().is_not_found());
    }

    #[tokio::test]
    async fn lists_regular_files_and_removes_them_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("x.json"), "12345").unwrap();
        let files = LocalDisk.list(folder.path()).await.unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].name.as_str(), files[0].length), ("x.json", Some(5)));
        assert!(files[0].modified.is_some());
        assert!(LocalDisk.remove(&folder.path().join("x.json")).await.unwrap());
        assert!(!LocalDisk.remove(&folder.path().join("x.json")).await.unwrap());
        assert!(LocalDisk.list(&folder.path().join("missing")).await.unwrap().is_empty());
    }
}
