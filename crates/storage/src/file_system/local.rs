//! The operating system's file system.

use std::{
    fs,
    hash::{Hash, Hasher},
    io::{self, Write},
    ops::Range,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use rustc_hash::FxHasher;

#[cfg(target_os = "linux")]
use super::unnamed;
use super::{
    Access, Children, Contents, Disk, FileEntry, FileError, FileResult, OpenFile, Ownership,
    Volume, open_file, regular_file, volume,
};

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalDisk;

/// Converts an `io::Result` to a [`FileError`] with the operation and the path.
pub(super) trait At<T> {
    fn at(self, operation: &'static str, path: &Path) -> std::result::Result<T, FileError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, operation: &'static str, path: &Path) -> std::result::Result<T, FileError> {
        self.map_err(|error| FileError::system(operation, path, error))
    }
}

impl Disk for LocalDisk {
    fn create_directories(&self, path: &Path) -> FileResult<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).at("mkdir", path)
    }

    fn canonical(&self, path: &Path) -> FileResult<PathBuf> {
        fs::canonicalize(path).at("realpath", path)
    }

    fn write_new(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<()> {
        write_new(path, contents, sync)
    }

    #[cfg(target_os = "linux")]
    fn create_unnamed(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<bool> {
        unnamed::create(path, contents, sync)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()> {
        rename_new(from, to).at("rename", to)
    }

    fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()> {
        rename_over(from, to).at("rename", to)
    }

    fn sync_directory(&self, path: &Path) -> FileResult<()> {
        sync_directory(path).at("fsync", path)
    }

    fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents> {
        regular_file::read(root, relative, limit).at("read", &root.join(relative))
    }

    fn read_range(
        &self,
        root: &Path,
        relative: &Path,
        range: Range<u64>,
    ) -> FileResult<Option<Vec<u8>>> {
        regular_file::read_range(root, relative, range).map(Some).at("read", &root.join(relative))
    }

    fn list(&self, directory: &Path) -> FileResult<Vec<FileEntry>> {
        list(directory).at("readdir", directory)
    }

    fn names(&self, directory: &Path) -> FileResult<Vec<String>> {
        names(directory).at("readdir", directory)
    }

    fn directories(&self, directory: &Path) -> FileResult<Vec<String>> {
        directories(directory).at("readdir", directory)
    }

    fn children(&self, directory: &Path) -> FileResult<Children> {
        children(directory).at("readdir", directory)
    }

    fn entry(&self, directory: &Path, name: &str) -> FileResult<Option<FileEntry>> {
        let path = directory.join(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) => Ok(metadata.is_file().then(|| described(name.to_owned(), &metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::system("stat", &path, error)),
        }
    }

    fn remove(&self, path: &Path) -> FileResult<bool> {
        match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(FileError::system("unlink", path, error)),
        }
    }

    fn ownership(&self, path: &Path) -> FileResult<Option<Ownership>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(ownership(&metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::system("stat", path, error)),
        }
    }

    #[cfg(unix)]
    fn user(&self) -> Option<u32> {
        Some(rustix::process::geteuid().as_raw())
    }

    fn volume(&self, directory: &Path) -> FileResult<Volume> {
        volume::of_directory(directory)
    }

    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>> {
        open_file::open(path, access)
    }

    fn scope(&self) -> u64 {
        0
    }
}

/// Creates the file exclusively (which follows no symbolic link) with permissions for the owner only from the start.
/// Removes the file when writing fails.
fn write_new(path: &Path, contents: &[u8], sync: bool) -> std::result::Result<(), FileError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).at("open", path)?;
    let written = file.write_all(contents).at("write", path).and_then(|()| {
        // A failed fsync is never repeated: the kernel may have dropped the pages.
        if sync { file.sync_all().at("fsync", path) } else { Ok(()) }
    });
    if written.is_err() {
        drop(file);
        // The error of the write is the one to report.
        let _ = fs::remove_file(path);
    }
    written
}

/// Linux and Apple's systems can rename and refuse to replace in one step.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::{Errno, retry_on_intr};
    let unknown = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];
    match retry_on_intr(|| renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)) {
        // Some network file systems do not support the flag.
        Err(error) if unknown.contains(&error) => rename_reserved(from, to),
        other => other.map_err(io::Error::from),
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    rename_reserved(from, to)
}

/// Creates an empty file at the target, which fails if the name is taken, and then renames over it. For a moment, or
/// after a crash, readers see the empty file.
fn rename_reserved(from: &Path, to: &Path) -> io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).open(to)?;
    let renamed = rename_over(from, to);
    if renamed.is_err() {
        // The error of the rename is the one to report.
        let _ = fs::remove_file(to);
    }
    renamed
}

/// On Windows, a reader, a virus scanner or an indexer may have the target open for a moment.
#[cfg(windows)]
const RENAME_ATTEMPTS: u64 = 10;

#[cfg(not(windows))]
fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    loop {
        match fs::rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(windows)]
fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    for attempt in 1..RENAME_ATTEMPTS {
        match fs::rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                // 10, 20, … 90 ms: less than half a second in all.
                std::thread::sleep(std::time::Duration::from_millis(10 * attempt));
            }
            other => return other,
        }
    }
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

fn read_directory(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other?.collect(),
    }
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = read_directory(directory)?.into_iter();
    Ok(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn directories(directory: &Path) -> io::Result<Vec<String>> {
    let entries = read_directory(directory)?.into_iter();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    Ok(directories.filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn list(directory: &Path) -> io::Result<Vec<FileEntry>> {
    Ok(children(directory)?.files)
}

fn children(directory: &Path) -> io::Result<Children> {
    let mut children = Children::default();
    for entry in read_directory(directory)? {
        let Ok(name) = entry.file_name().into_string() else { continue };
        // The directory entry usually has the type, which saves reading the metadata.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            children.directories.push(name);
            continue;
        }
        // A file may be removed between the listing and reading its metadata.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            children.files.push(described(name, &metadata));
        }
    }
    Ok(children)
}

fn described(name: String, metadata: &fs::Metadata) -> FileEntry {
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|age| i64::try_from(age.as_millis()).ok());
    let mut hasher = FxHasher::default();
    let written = hash_state(metadata, &mut hasher).or(modified);
    FileEntry {
        name,
        length: Some(metadata.len()),
        modified,
        written,
        version: modified.map(|_| hasher.finish()),
        ownership: ownership(metadata),
    }
}

#[cfg(unix)]
pub(super) fn ownership(metadata: &fs::Metadata) -> Option<Ownership> {
    use std::os::unix::fs::MetadataExt;
    Some(Ownership { owner: metadata.uid(), group: metadata.gid(), mode: metadata.mode() & 0o7777 })
}

#[cfg(not(unix))]
pub(super) fn ownership(_: &fs::Metadata) -> Option<Ownership> {
    None
}

/// A hash of the metadata that changes with the file, and the time of the last change in ms since 1970.
#[cfg(unix)]
fn hash_state(metadata: &fs::Metadata, hasher: &mut FxHasher) -> Option<i64> {
    use std::os::unix::fs::MetadataExt;
    let identity = (metadata.ino(), metadata.len());
    let times = (metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec());
    (identity, times).hash(hasher);
    Some(metadata.ctime().saturating_mul(1000).saturating_add(metadata.ctime_nsec() / 1_000_000))
}

#[cfg(not(unix))]
fn hash_state(metadata: &fs::Metadata, hasher: &mut FxHasher) -> Option<i64> {
    (metadata.len(), metadata.modified().ok(), metadata.created().ok()).hash(hasher);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_exclusively_and_for_the_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        LocalDisk.create_directories(&path).unwrap();
        let file = path.join("x.json");
        LocalDisk.write_new(&file, b"one", true).unwrap();
        let again = LocalDisk.write_new(&file, b"two", false).unwrap_err();
        assert_eq!(again.kind, io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&file).unwrap(), b"one", "the failed attempt removed nothing");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_rename_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&from, "new").unwrap();
        fs::write(&to, "old").unwrap();
        for rename in [rename_new, rename_reserved] {
            let refused = rename(&from, &to).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&to).unwrap(), b"old");
        }
        fs::remove_file(&to).unwrap();
        rename_reserved(&from, &to).unwrap();
        assert_eq!((fs::read(&to).unwrap(), from.exists()), (b"new".to_vec(), false));
        assert!(
            rename_reserved(&from, &folder.path().join("c")).unwrap_err().kind()
                == io::ErrorKind::NotFound
        );
        assert!(!folder.path().join("c").exists(), "what was reserved is given back");
    }

    #[test]
    fn distinguishes_versions_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.md");
        let version = || LocalDisk.entry(folder.path(), "x.md").unwrap().unwrap().version;
        fs::write(&path, "12345").unwrap();
        let first = version();
        assert!(first.is_some() && first == version());
        fs::write(&path, "123456").unwrap();
        let longer = version();
        assert_ne!(first, longer);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let other = folder.path().join("y.md");
        fs::write(&other, "654321").unwrap();
        fs::File::options().write(true).open(&other).unwrap().set_modified(time).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_ne!(longer, version(), "as long and of the same time, but another file");
    }

    #[test]
    fn lists_regular_files_and_removes_them_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("x.json"), "12345").unwrap();
        let files = LocalDisk.list(folder.path()).unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].name.as_str(), files[0].length), ("x.json", Some(5)));
        assert!(files[0].modified.is_some());
        assert_eq!(LocalDisk.directories(folder.path()).unwrap(), ["inner"]);
        assert!(LocalDisk.directories(&folder.path().join("missing")).unwrap().is_empty());
        let children = LocalDisk.children(folder.path()).unwrap();
        assert_eq!((&children.files, children.directories), (&files, vec!["inner".to_owned()]));
        assert_eq!(LocalDisk.entry(folder.path(), "x.json").unwrap().as_ref(), files.first());
        assert!(LocalDisk.entry(folder.path(), "inner").unwrap().is_none());
        assert!(LocalDisk.entry(folder.path(), "missing").unwrap().is_none());
        assert!(LocalDisk.remove(&folder.path().join("x.json")).unwrap());
        assert!(!LocalDisk.remove(&folder.path().join("x.json")).unwrap());
        assert!(LocalDisk.list(&folder.path().join("missing")).unwrap().is_empty());
    }
}
