//! The operations of the simulated disk that take paths.

use std::{
    io,
    path::{Path, PathBuf},
};

use storage::{
    Access, Contents, Disk, FileEntry, FileError, FileResult, FileSystemKind, OpenFile, Ownership,
    Volume,
};

use super::{
    At, DIRECTORY_MODE, FILE_MODE, SimulatedDisk, State, half,
    image::{ROOT, names},
    journal::{EntryChange, Inode, Name, Operation},
    open_file,
};

impl Disk for SimulatedDisk {
    fn create_directories(&self, path: &Path) -> FileResult<()> {
        let mut state = self.call("mkdir", path)?;
        let names = names(path).at("mkdir", path)?;
        let mut directory = ROOT;
        for (index, &name) in names.iter().enumerate() {
            directory = match state.visible.entry(directory, name) {
                Some(Inode::Directory(inner)) => inner,
                Some(Inode::File(_)) => {
                    let is_last = index + 1 == names.len();
                    let kind = if is_last {
                        io::ErrorKind::AlreadyExists
                    } else {
                        io::ErrorKind::NotADirectory
                    };
                    return Err(kind.into()).at("mkdir", path);
                }
                None => {
                    let inner = state.new_inode(self.user, DIRECTORY_MODE);
                    state.link(directory, name.into(), Some(Inode::Directory(inner)));
                    inner
                }
            };
        }
        Ok(())
    }

    fn canonical(&self, path: &Path) -> FileResult<PathBuf> {
        let state = self.call("realpath", path)?;
        state.visible.find(path).at("realpath", path)?;
        let mut canonical = PathBuf::from("/");
        canonical.extend(names(path).at("realpath", path)?);
        Ok(canonical)
    }

    fn write_new(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<()> {
        let (mut state, failure) = self.writing_call("open", path)?;
        let (directory, name) = free_name(&state, path).at("open", path)?;
        let file = state.new_inode(self.user, FILE_MODE);
        state.link(directory, Name::clone(&name), Some(Inode::File(file)));
        if let Some(failure) = failure {
            state.append(file, half(contents));
            state.link(directory, name, None);
            return Err(failure);
        }
        state.append(file, contents);
        if sync {
            state.perform(Operation::Sync { file });
        }
        Ok(())
    }

    fn create_unnamed(&self, path: &Path, contents: &[u8], sync: bool) -> FileResult<bool> {
        let (mut state, failure) = self.writing_call("open", path)?;
        if !self.has_unnamed_files {
            return Ok(false);
        }
        let (directory, name, target) = state.visible.find_entry(path).at("open", path)?;
        let file = state.new_inode(self.user, FILE_MODE);
        if let Some(failure) = failure {
            state.append(file, half(contents));
            return Err(failure);
        }
        state.append(file, contents);
        if sync {
            state.perform(Operation::Sync { file });
        }
        if target.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into()).at("link", path);
        }
        state.link(directory, name, Some(Inode::File(file)));
        Ok(true)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> FileResult<()> {
        let mut state = self.call("rename", to)?;
        rename(&mut state, from, to, false).at("rename", to)
    }

    fn rename_over(&self, from: &Path, to: &Path) -> FileResult<()> {
        let mut state = self.call("rename", to)?;
        rename(&mut state, from, to, true).at("rename", to)
    }

    fn sync_directory(&self, path: &Path) -> FileResult<()> {
        let mut state = self.call("fsync", path)?;
        let directory = state.visible.find_directory(path).at("fsync", path)?;
        state.perform(Operation::SyncDirectory { directory });
        Ok(())
    }

    fn read(&self, root: &Path, relative: &Path, limit: u64) -> FileResult<Contents> {
        let path = root.join(relative);
        let state = self.call("read", &path)?;
        read(&state, root, relative, limit).at("read", &path)
    }

    fn list(&self, directory: &Path) -> FileResult<Vec<FileEntry>> {
        let state = self.call("readdir", directory)?;
        let Some(found) = existing(&state, directory)? else { return Ok(Vec::new()) };
        let entries = state.visible.directory(found);
        let files = entries.iter().filter_map(|(name, inode)| {
            let Inode::File(file) = *inode else { return None };
            let length = Some(state.visible.file(file).len() as u64);
            let ownership = state.ownerships.get(&file).copied();
            Some(FileEntry { length, ownership, ..FileEntry::named(name.to_str()?.to_owned()) })
        });
        Ok(files.collect())
    }

    fn directories(&self, directory: &Path) -> FileResult<Vec<String>> {
        let state = self.call("readdir", directory)?;
        let Some(found) = existing(&state, directory)? else { return Ok(Vec::new()) };
        let entries = state.visible.directory(found);
        let directories = entries.iter().filter(|(_, inode)| matches!(inode, Inode::Directory(_)));
        Ok(directories.filter_map(|(name, _)| name.to_str().map(str::to_owned)).collect())
    }

    fn remove(&self, path: &Path) -> FileResult<bool> {
        let mut state = self.call("unlink", path)?;
        match state.visible.find_entry(path) {
            Ok((directory, name, Some(Inode::File(_)))) => {
                state.link(directory, name, None);
                Ok(true)
            }
            Ok((_, _, Some(Inode::Directory(_)))) => {
                Err(io::ErrorKind::IsADirectory.into()).at("unlink", path)
            }
            Ok((_, _, None)) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(FileError::system("unlink", path, error)),
        }
    }

    fn ownership(&self, path: &Path) -> FileResult<Option<Ownership>> {
        let state = self.call("stat", path)?;
        match state.visible.find(path) {
            Ok(inode) => Ok(state.ownerships.get(&inode.number()).copied()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::system("stat", path, error)),
        }
    }

    fn user(&self) -> Option<u32> {
        Some(self.user)
    }

    fn volume(&self, directory: &Path) -> FileResult<Volume> {
        let state = self.call("statfs", directory)?;
        state.visible.find_directory(directory).at("statfs", directory)?;
        Ok(Volume { kind: self.kind(), identity: Some(format!("simulated-{}", self.mount)) })
    }

    fn open(&self, path: &Path, access: Access) -> FileResult<Box<dyn OpenFile>> {
        let mut state = self.call("open", path)?;
        let file = find_or_create(&mut state, path, access, self.user).at("open", path)?;
        let number = state.next_open_file;
        state.next_open_file += 1;
        drop(state);
        Ok(open_file::open(self, path, file, number, access))
    }

    fn scope(&self) -> u64 {
        self.scope
    }
}

impl SimulatedDisk {
    /// The type of file system that this mount reports.
    pub(super) fn kind(&self) -> FileSystemKind {
        FileSystemKind { name: "simulated".into(), locks_bind: self.locks_bind }
    }
}

/// The directory at a path; `None` when it does not exist.
fn existing(state: &State, path: &Path) -> FileResult<Option<u64>> {
    match state.visible.find_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some).at("readdir", path),
    }
}

/// The directory and the free name for a new file.
fn free_name(state: &State, path: &Path) -> io::Result<(u64, Name)> {
    match state.visible.find_entry(path)? {
        (directory, name, None) => Ok((directory, name)),
        (_, _, Some(_)) => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

fn rename(state: &mut State, from: &Path, to: &Path, replaces: bool) -> io::Result<()> {
    let (old_directory, old_name, source) = state.visible.find_entry(from)?;
    let (directory, name, target) = state.visible.find_entry(to)?;
    match (source, target) {
        (None, _) => return Err(io::ErrorKind::NotFound.into()),
        (_, Some(_)) if !replaces => return Err(io::ErrorKind::AlreadyExists.into()),
        (Some(Inode::Directory(_)), _) => return Err(io::ErrorKind::Unsupported.into()),
        (_, Some(Inode::Directory(_))) => return Err(io::ErrorKind::IsADirectory.into()),
        // Two names of one file: renaming has no effect, as in POSIX.
        _ if source == target => return Ok(()),
        _ => {}
    }
    let (gone, new) = ((old_name, None), (name, source));
    let changes = if old_directory == directory {
        vec![EntryChange { directory, names: vec![gone, new] }]
    } else {
        vec![
            EntryChange { directory: old_directory, names: vec![gone] },
            EntryChange { directory, names: vec![new] },
        ]
    };
    state.perform(Operation::Link(changes));
    Ok(())
}

fn read(state: &State, root: &Path, relative: &Path, limit: u64) -> io::Result<Contents> {
    let is_below = !relative.has_root() && !names(relative)?.is_empty();
    if !is_below {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a path below the directory"));
    }
    let root = state.visible.find_directory(root)?;
    let Inode::File(file) = state.visible.find_below(root, relative)? else {
        return Err(not_a_file());
    };
    let contents = state.visible.file(file);
    let end = usize::try_from(limit).unwrap_or(usize::MAX).min(contents.len());
    let bytes = contents.get(..end).unwrap_or_default().to_vec();
    Ok(Contents { bytes, length: contents.len() as u64 })
}

fn find_or_create(state: &mut State, path: &Path, access: Access, user: u32) -> io::Result<u64> {
    if access == Access::Read {
        let Inode::File(file) = state.visible.find(path)? else { return Err(not_a_file()) };
        return Ok(file);
    }
    let (directory, name, found) = state.visible.find_entry(path)?;
    match found {
        Some(_) if access == Access::AppendNew => Err(io::ErrorKind::AlreadyExists.into()),
        Some(Inode::File(file)) => Ok(file),
        Some(Inode::Directory(_)) => Err(io::ErrorKind::IsADirectory.into()),
        None => {
            let file = state.new_inode(user, FILE_MODE);
            state.link(directory, name, Some(Inode::File(file)));
            Ok(file)
        }
    }
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_the_local_disk_would_go() {
        let disk = SimulatedDisk::new();
        let root = Path::new("/");
        disk.create_directories(Path::new("/d/e")).unwrap();
        disk.create_directories(Path::new("/d/e")).unwrap();
        disk.write_new(Path::new("/x"), b"12345", false).unwrap();
        let kind = |error: FileError| error.kind;
        let taken = disk.write_new(Path::new("/x"), b"", false).unwrap_err();
        assert_eq!(taken.kind, io::ErrorKind::AlreadyExists);
        let taken = disk.create_unnamed(Path::new("/x"), b"", false).unwrap_err();
        assert_eq!(taken.kind, io::ErrorKind::AlreadyExists);
        assert_eq!(disk.read(root, Path::new("x"), 9).unwrap().bytes, b"12345");
        let through = disk.write_new(Path::new("/x/y"), b"", false).unwrap_err();
        assert_eq!(through.kind, io::ErrorKind::NotADirectory);
        let through = disk.create_directories(Path::new("/x/y")).unwrap_err();
        assert_eq!(through.kind, io::ErrorKind::NotADirectory);
        let taken = disk.create_directories(Path::new("/x")).unwrap_err();
        assert_eq!(taken.kind, io::ErrorKind::AlreadyExists);
        assert!(disk.write_new(Path::new("/no/y"), b"", false).unwrap_err().is_not_found());
        assert!(disk.rename_new(Path::new("/no"), Path::new("/y")).unwrap_err().is_not_found());
        assert_eq!(disk.remove(Path::new("/d")).map_err(kind), Err(io::ErrorKind::IsADirectory));
        assert!(disk.list(Path::new("/no")).unwrap().is_empty());
        let files = disk.list(root).unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].name.as_str(), files[0].length), ("x", Some(5)));
        let part = disk.read(root, Path::new("x"), 3).unwrap();
        assert_eq!((part.bytes.as_slice(), part.length), (&b"123"[..], 5));
        for path in ["d", "../x", "/x", "", "."] {
            assert!(disk.read(root, Path::new(path), 9).is_err(), "{path}");
        }
        assert_eq!(disk.canonical(Path::new("/d/./e")).unwrap(), Path::new("/d/e"));
        assert!(disk.remove(Path::new("/x")).unwrap() && !disk.remove(Path::new("/x")).unwrap());
        assert!(Disk::scope(&disk) >= 1 << 40 && Disk::scope(&disk) == Disk::scope(&disk.clone()));
        assert!(!disk.without_unnamed_files().create_unnamed(Path::new("/z"), b"", true).unwrap());
    }
}
