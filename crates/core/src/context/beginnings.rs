//! Reads the beginnings of many files of a directory: in few steps where the file system can, such as a database, else one after
//! the other.

use std::{collections::HashMap, path::Path};

use storage::{Contents, FileEntry, FileError, FileResult, FileSystem};

use super::file_head::{FileHead, HEAD, NoHead, SHORT_HEAD, goes_on, head_of, read_head};

/// The bytes that one step reads, at most.
pub(super) const AT_ONCE: u64 = 16 * 1024 * 1024;

/// The files that are going to be read, in this order.
pub(super) struct Beginnings<'a> {
    file_system: &'a dyn FileSystem,
    root: &'a Path,
    limit: u64,
    /// The bytes of each file that are read first, in steps of many files: heads are short, and those that go on are read again.
    first: u64,
    /// The names, and the bytes that each may have.
    ahead: std::iter::Peekable<std::vec::IntoIter<(String, u64)>>,
    read: HashMap<String, Option<Contents>>,
}

impl<'a> Beginnings<'a> {
    /// Reads at most `limit` bytes of each of the files. Touches no file yet.
    pub fn new<'e>(
        file_system: &'a dyn FileSystem,
        root: &'a Path,
        files: impl Iterator<Item = &'e FileEntry>,
        limit: u64,
    ) -> Self {
        Self::with_first(file_system, root, files, (limit, limit))
    }

    fn with_first<'e>(
        file_system: &'a dyn FileSystem,
        root: &'a Path,
        files: impl Iterator<Item = &'e FileEntry>,
        (first, limit): (u64, u64),
    ) -> Self {
        let bytes = |entry: &FileEntry| entry.length.unwrap_or(first).min(first);
        let ahead: Vec<_> = files.map(|entry| (entry.name.clone(), bytes(entry))).collect();
        let ahead = ahead.into_iter().peekable();
        Self { file_system, root, limit, first, ahead, read: HashMap::new() }
    }

    /// Reads heads of records.
    pub fn of_heads<'e>(
        file_system: &'a dyn FileSystem,
        root: &'a Path,
        files: impl Iterator<Item = &'e FileEntry>,
    ) -> Self {
        Self::with_first(file_system, root, files, (SHORT_HEAD, HEAD))
    }

    /// Adds beginnings that were read with the list of the files, of [`SHORT_HEAD`] bytes.
    ///
    /// # Errors
    /// The file system's.
    pub async fn add_read(&mut self, read: Vec<(String, Contents)>) -> FileResult<()> {
        let (names, contents) =
            read.into_iter().map(|(name, contents)| (name, Some(contents))).unzip();
        self.add(names, contents).await
    }

    /// The beginning of a file.
    ///
    /// # Errors
    /// The file system's.
    pub async fn contents(&mut self, name: &str) -> FileResult<Contents> {
        if !self.read.contains_key(name) && self.ahead.any(|(ahead, _)| ahead == name) {
            self.read_ahead(name).await?;
        }
        match self.read.remove(name) {
            Some(Some(contents)) => Ok(contents),
            Some(None) => {
                let missing = std::io::ErrorKind::NotFound.into();
                Err(FileError::system("read", &self.root.join(name), missing))
            }
            None => self.file_system.read(self.root, Path::new(name), self.limit).await,
        }
    }

    /// Reads a file, and those that follow it, as far as they fit into one step.
    async fn read_ahead(&mut self, name: &str) -> FileResult<()> {
        let (mut names, mut bytes) = (vec![name.to_owned()], self.first);
        while let Some((next, length)) =
            self.ahead.next_if(|(_, length)| bytes.saturating_add(*length) <= AT_ONCE)
        {
            bytes += length;
            names.push(next);
        }
        match self.file_system.read_many(self.root, &names, self.first).await? {
            Some(read) => self.add(names, read).await?,
            None => self.ahead = Vec::new().into_iter().peekable(),
        }
        Ok(())
    }

    /// Adds what was read of files, after more was read of those whose heads go on.
    async fn add(&mut self, names: Vec<String>, read: Vec<Option<Contents>>) -> FileResult<()> {
        let is_short = |contents: &Contents| self.first < self.limit && goes_on(contents);
        let long: Vec<String> = names
            .iter()
            .zip(&read)
            .filter(|(_, contents)| contents.as_ref().is_some_and(is_short))
            .map(|(name, _)| name.clone())
            .collect();
        self.read.extend(names.into_iter().zip(read));
        let at_once = usize::try_from(AT_ONCE / self.limit.max(1)).unwrap_or(1).max(1);
        for names in long.chunks(at_once) {
            if let Some(read) = self.file_system.read_many(self.root, names, self.limit).await? {
                self.read.extend(names.iter().cloned().zip(read));
            }
        }
        Ok(())
    }

    /// The head of a record.
    ///
    /// # Errors
    /// [`NoHead`]
    pub async fn head(&mut self, name: &str) -> Result<FileHead, NoHead> {
        let contents = self.contents(name).await.map_err(NoHead::Unreadable)?;
        match head_of(contents) {
            Some(head) => head.map_err(NoHead::NoRecord),
            None => self.longer_head(name).await,
        }
    }

    /// The head of a record, of which the beginning is not enough.
    ///
    /// # Errors
    /// [`NoHead`]
    pub async fn longer_head(&self, name: &str) -> Result<FileHead, NoHead> {
        read_head(self.file_system, self.root, name).await
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use storage::{FileFuture, LocalDisk, Payload};

    use super::*;

    /// The local disk, which reads many files in one step, and counts the steps.
    pub(crate) struct Batching(pub AtomicUsize);

    impl FileSystem for Batching {
        fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
            FileSystem::create_directories(&LocalDisk, path)
        }
        fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, std::path::PathBuf> {
            FileSystem::canonical(&LocalDisk, path)
        }
        fn write_new<'a>(
            &'a self,
            path: &'a Path,
            text: Payload,
            sync: bool,
        ) -> FileFuture<'a, ()> {
            FileSystem::write_new(&LocalDisk, path, text, sync)
        }
        fn can_rename(&self) -> bool {
            true
        }
        fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
            FileSystem::rename_new(&LocalDisk, from, to)
        }
        fn rename_over<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
            FileSystem::rename_over(&LocalDisk, from, to)
        }
        fn sync_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
            FileSystem::sync_directory(&LocalDisk, path)
        }
        fn read<'a>(
            &'a self,
            root: &'a Path,
            name: &'a Path,
            limit: u64,
        ) -> FileFuture<'a, Contents> {
            self.0.fetch_add(1, Ordering::Relaxed);
            FileSystem::read(&LocalDisk, root, name, limit)
        }
        fn read_many<'a>(
            &'a self,
            directory: &'a Path,
            names: &'a [String],
            limit: u64,
        ) -> FileFuture<'a, Option<Vec<Option<Contents>>>> {
            Box::pin(async move {
                self.0.fetch_add(1, Ordering::Relaxed);
                let mut read = Vec::new();
                for name in names {
                    read.push(
                        FileSystem::read(&LocalDisk, directory, Path::new(name), limit).await.ok(),
                    );
                }
                Ok(Some(read))
            })
        }
        fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<FileEntry>> {
            FileSystem::list(&LocalDisk, directory)
        }
        fn directories<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<String>> {
            FileSystem::directories(&LocalDisk, directory)
        }
        fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
            FileSystem::remove(&LocalDisk, path)
        }
        fn scope(&self) -> u64 {
            7
        }
    }

    #[tokio::test]
    async fn files_are_read_in_few_steps_and_in_any_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for number in 0..100 {
            std::fs::write(root.join(format!("{number:03}")), number.to_string()).unwrap();
        }
        let mut entries = FileSystem::list(&LocalDisk, root).await.unwrap();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        std::fs::remove_file(root.join("007")).unwrap();
        let batching = Batching(AtomicUsize::new(0));
        let mut beginnings = Beginnings::new(&batching, root, entries.iter(), 10);
        for number in (1..100).step_by(2) {
            let contents = beginnings.contents(&format!("{number:03}")).await;
            match contents {
                Ok(contents) => assert_eq!(contents.bytes, number.to_string().as_bytes()),
                Err(error) => assert!(number == 7 && error.is_not_found()),
            }
        }
        assert_eq!(batching.0.load(Ordering::Relaxed), 1);
        assert_eq!(beginnings.contents("000").await.unwrap().bytes, b"0");
        assert_eq!(batching.0.load(Ordering::Relaxed), 2, "one that was passed is read alone");
    }

    #[tokio::test]
    async fn a_disk_reads_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x"), "12345").unwrap();
        let entries = FileSystem::list(&LocalDisk, folder.path()).await.unwrap();
        let mut beginnings = Beginnings::new(&LocalDisk, folder.path(), entries.iter(), 3);
        assert_eq!(beginnings.contents("x").await.unwrap().bytes, b"123");
    }
}
