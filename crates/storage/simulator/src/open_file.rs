//! Open files of the simulated disk.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use storage::{Access, FileError, FileResult, FileSystemKind, LockAttempt, OpenFile, Ownership};

use super::{
    At, SimulatedDisk, half,
    journal::{Inode, Operation},
};

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    path: PathBuf,
    file: u64,
    /// Distinguishes this open file from others of the same file.
    number: u64,
    access: Access,
}

pub(super) fn open(
    disk: &SimulatedDisk,
    path: &Path,
    file: u64,
    number: u64,
    access: Access,
) -> Box<dyn OpenFile> {
    Box::new(SimulatedFile { disk: disk.clone(), path: path.to_owned(), file, number, access })
}

impl SimulatedFile {
    fn check_writable(&self, operation: &'static str) -> FileResult<()> {
        if self.access == Access::Read {
            let error = io::Error::new(io::ErrorKind::PermissionDenied, "opened for reading");
            return Err(FileError::system(operation, &self.path, error));
        }
        Ok(())
    }

    fn release(&self) {
        let mut state = self.disk.state();
        let lock = (self.disk.mount, self.file);
        if state.locks.get(&lock) == Some(&self.number) {
            state.locks.remove(&lock);
        }
    }
}

impl OpenFile for SimulatedFile {
    fn length(&self) -> FileResult<u64> {
        let state = self.disk.call("stat", &self.path)?;
        Ok(state.visible.file(self.file).len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        let state = self.disk.call("read", &self.path)?;
        let contents = state.visible.file(self.file);
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut rest = contents.get(offset..).unwrap_or_default();
        rest.read(buffer).at("read", &self.path)
    }

    fn append(&self, bytes: &[u8]) -> FileResult<()> {
        let (mut state, failure) = self.disk.writing_call("write", &self.path)?;
        self.check_writable("write")?;
        if let Some(failure) = failure {
            state.append(self.file, half(bytes));
            return Err(failure);
        }
        let mut rest = bytes;
        if let Some(foreign) = state.torn_by.take() {
            let first = half(bytes);
            state.append(self.file, first);
            state.append(self.file, &foreign);
            rest = bytes.get(first.len()..).unwrap_or_default();
        }
        state.append(self.file, rest);
        Ok(())
    }

    fn truncate(&self, length: u64) -> FileResult<()> {
        let mut state = self.disk.call("ftruncate", &self.path)?;
        self.check_writable("ftruncate")?;
        let length = usize::try_from(length)
            .map_err(|_| io::ErrorKind::FileTooLarge.into())
            .at("ftruncate", &self.path)?;
        state.perform(Operation::Truncate { file: self.file, length });
        Ok(())
    }

    fn sync(&self) -> FileResult<()> {
        match self.disk.call("fsync", &self.path) {
            Ok(mut state) => {
                state.perform(Operation::Sync { file: self.file });
                Ok(())
            }
            Err(error) => {
                self.disk.state().perform(Operation::FailedSync { file: self.file });
                Err(error)
            }
        }
    }

    fn try_lock(&self) -> FileResult<LockAttempt> {
        let mut state = self.disk.call("lock", &self.path)?;
        if !self.disk.has_locks {
            return Ok(LockAttempt::Unsupported);
        }
        let lock = (self.disk.mount, self.file);
        let holder = *state.locks.entry(lock).or_insert(self.number);
        Ok(if holder == self.number { LockAttempt::Taken } else { LockAttempt::Held })
    }

    fn unlock(&self) {
        let is_done = self.disk.call("unlock", &self.path).is_ok();
        if is_done {
            self.release();
        }
    }

    fn is_linked(&self) -> bool {
        self.disk.call("stat", &self.path).is_ok_and(|state| state.visible.is_linked(self.file))
    }

    fn is_at(&self, path: &Path) -> bool {
        self.disk.call("stat", path).is_ok_and(|state| {
            state.visible.find(path).is_ok_and(|inode| inode == Inode::File(self.file))
        })
    }

    fn identity(&self) -> u64 {
        self.disk.call("stat", &self.path).map_or(0, |_| self.file)
    }

    fn take_permissions(&self, other: &dyn OpenFile) -> FileResult<()> {
        let (Some(own), Some(others)) = (self.ownership(), other.ownership()) else {
            return Ok(());
        };
        let mode = own.mode_from(others);
        if own.mode & 0o777 != mode {
            self.disk.call("chmod", &self.path)?.set_mode(self.file, mode);
        }
        Ok(())
    }

    fn ownership(&self) -> Option<Ownership> {
        self.disk.call("stat", &self.path).ok()?.ownerships.get(&self.file).copied()
    }

    fn file_system(&self) -> FileSystemKind {
        self.disk.kind()
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::Disk;

    fn open(disk: &SimulatedDisk, path: &str) -> Box<dyn OpenFile> {
        disk.open(Path::new(path), Access::Append).unwrap()
    }

    #[test]
    fn locks_belong_to_the_open_file() {
        let disk = SimulatedDisk::new();
        let [one, other] = [(); 2].map(|()| open(&disk, "/x.lock"));
        assert_eq!(one.try_lock().unwrap(), LockAttempt::Taken);
        assert_eq!(one.try_lock().unwrap(), LockAttempt::Taken);
        assert_eq!(other.try_lock().unwrap(), LockAttempt::Held);
        other.unlock();
        assert_eq!(other.try_lock().unwrap(), LockAttempt::Held, "not its lock");
        assert_eq!(open(&disk, "/y.lock").try_lock().unwrap(), LockAttempt::Taken);
        one.unlock();
        assert_eq!(other.try_lock().unwrap(), LockAttempt::Taken);
        let restarted = disk.kill(usize::MAX);
        assert_eq!(open(&restarted, "/x.lock").try_lock().unwrap(), LockAttempt::Taken);
        drop(other);
        assert_eq!(one.try_lock().unwrap(), LockAttempt::Taken);
        let without = SimulatedDisk::new().without_locks();
        for disk in [without.kill(0), without] {
            assert_eq!(open(&disk, "/x").try_lock().unwrap(), LockAttempt::Unsupported);
        }
    }

    #[test]
    fn an_open_file_is_the_file_and_not_its_name() {
        let disk = SimulatedDisk::new();
        let (path, aside) = (Path::new("/x"), Path::new("/y"));
        assert!(disk.open(path, Access::Read).err().unwrap().is_not_found());
        let file = disk.open(path, Access::AppendNew).unwrap();
        let taken = disk.open(path, Access::AppendNew).err().unwrap();
        assert_eq!(taken.kind, io::ErrorKind::AlreadyExists);
        file.append(b"one\ntwo\n").unwrap();
        let mut buffer = [0; 100];
        assert_eq!(file.read_at(4, &mut buffer).unwrap(), 4);
        assert_eq!(&buffer[..4], b"two\n");
        assert_eq!(file.read_at(1000, &mut buffer).unwrap(), 0);
        file.truncate(4).unwrap();
        assert_eq!(file.length().unwrap(), 4);
        let reader = disk.open(path, Access::Read).unwrap();
        assert!(reader.append(b"x").is_err() && reader.truncate(0).is_err());
        assert!(file.is_linked() && file.is_at(path));
        disk.rename_new(path, aside).unwrap();
        assert!(file.is_linked() && !file.is_at(path) && file.is_at(aside));
        let new = disk.open(path, Access::Append).unwrap();
        assert_ne!(file.identity(), new.identity());
        assert_eq!(reader.identity(), file.identity());
        let taken = disk.rename_new(path, aside).unwrap_err();
        assert_eq!(taken.kind, io::ErrorKind::AlreadyExists);
        disk.rename_over(path, aside).unwrap();
        assert!(!file.is_linked() && !file.is_at(aside) && new.is_at(aside));
        file.append(b"more").unwrap();
        assert_eq!(new.length().unwrap(), 0);
        for access in [Access::Read, Access::Append, Access::AppendNew] {
            assert!(disk.open(Path::new("/"), access).is_err(), "{access:?}");
        }
    }
}
