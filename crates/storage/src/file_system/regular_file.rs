//! Reads regular files below a root, and nothing else: symbolic links, directories, devices and FIFOs are refused.

use std::{
    fs,
    io::{self, Read, Seek},
    ops::Range,
    path::{Component, Path},
};

use super::Contents;

/// Opens a regular file; also returns its length.
fn open_regular(root: &Path, relative: &Path) -> io::Result<(fs::File, u64)> {
    let file = open_beneath(root, relative)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((file, metadata.len()))
}

/// Reads a range of a regular file.
pub(super) fn read_range(root: &Path, relative: &Path, range: Range<u64>) -> io::Result<Vec<u8>> {
    let (mut file, length) = open_regular(root, relative)?;
    let end = range.end.min(length);
    let start = range.start.min(end);
    file.seek(io::SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(end - start).unwrap_or(usize::MAX))?;
    file.take(end - start).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file, at most `limit` bytes of it.
pub(super) fn read(root: &Path, relative: &Path, limit: u64) -> io::Result<Contents> {
    let (file, length) = open_regular(root, relative)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length.min(limit)).unwrap_or(usize::MAX))?;
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Contents { bytes, length })
}

/// The components of a relative path, of which all must be plain names.
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

/// Opens a file below a root.
#[cfg(unix)]
fn open_beneath(root: &Path, relative: &Path) -> io::Result<fs::File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::io::retry_on_intr;
    let names = plain_components(relative)?;
    // A FIFO would block an ordinary open; devices and directories are refused by the caller.
    let file = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let folder = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Some((last, folders)) = names.split_last() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let opened = if folders.is_empty() {
        retry_on_intr(|| openat(CWD, root.join(last), file, Mode::empty()))
    } else {
        let mut directory = retry_on_intr(|| openat(CWD, root, folder, Mode::empty()))?;
        for name in folders {
            directory = retry_on_intr(|| openat(&directory, *name, folder, Mode::empty()))
                .map_err(refuse_links)?;
        }
        retry_on_intr(|| openat(&directory, *last, file, Mode::empty()))
    };
    Ok(fs::File::from(opened.map_err(refuse_links)?))
}

/// The error that `O_NOFOLLOW` gives for a symbolic link.
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn reads_regular_files_below_the_root_and_nothing_else() {
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
        let read = |path: &str| super::read(&root, Path::new(path), 3);
        let contents = read("inner/x.json").unwrap();
        assert_eq!((contents.bytes.as_slice(), contents.length), (&b"123"[..], 5));
        for path in ["link.json", "linked/passwd", "fifo", "inner", "../x", "/etc/passwd", "", "."]
        {
            assert!(read(path).is_err(), "{path}");
        }
        assert!(read("missing.json").unwrap_err().kind() == io::ErrorKind::NotFound);
    }
}
