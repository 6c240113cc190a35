//! Implementation of logs on an injected file system, which has neither open files nor locks: appends use the file
//! system's `append`, or else write the whole log again. Only one process may write such a log.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{
    check::{LogView, Verdict},
    error::LogError,
    job::{Record, Rewrite},
    lines::ReadAt,
    path::LogPath,
};
use crate::{
    DirectorySync, Durability, FileError, FileSystem, Payload, Target, atomic_file::replace_file,
};

pub(super) struct PlainLog {
    file_system: Arc<dyn FileSystem>,
    path: LogPath,
    /// Whether the text is known to end with a complete line.
    is_whole: AtomicBool,
    /// The text's length after the last change.
    length: AtomicU64,
}

impl PlainLog {
    pub fn new(file_system: Arc<dyn FileSystem>, path: LogPath) -> Self {
        Self { file_system, path, is_whole: AtomicBool::new(false), length: AtomicU64::new(0) }
    }

    pub fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    /// The log's complete text.
    pub async fn text(&self) -> Result<Vec<u8>, FileError> {
        let (root, name) = (&self.path.directory, Path::new(&self.path.name));
        Ok(self.file_system.read(root, name, u64::MAX).await?.bytes)
    }

    async fn text_or_nothing(&self) -> Result<Vec<u8>, FileError> {
        match self.text().await {
            Err(error) if error.is_not_found() => {
                self.file_system.create_directories(&self.path.directory).await?;
                Ok(Vec::new())
            }
            other => other,
        }
    }

    /// Appends the records in one operation: all that their checks accept, or none if the file system is atomic.
    /// Returns the outcome of each record.
    pub async fn append(&self, records: &[Record]) -> Result<Vec<Result<(), LogError>>, LogError> {
        let has_checks = records.iter().any(|record| record.check.is_some());
        let is_whole = self.is_whole.swap(false, Ordering::AcqRel);
        if is_whole && !has_checks {
            let lines: Vec<u8> =
                records.iter().flat_map(|record| record.line.iter().copied()).collect();
            let added = lines.len() as u64;
            match self.add(lines).await {
                Ok(true) => {
                    self.length.fetch_add(added, Ordering::Relaxed);
                    self.is_whole.store(true, Ordering::Release);
                    return Ok(records.iter().map(|_| Ok(())).collect());
                }
                // The directory was removed: it is created again.
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        let mut text = self.text_or_nothing().await?;
        let before = text.len();
        let mut outcomes = Vec::with_capacity(records.len());
        for record in records {
            let verdict = match &record.check {
                None => Ok(Verdict::Write),
                Some(check) => check(&LogView::of_text(&text)),
            };
            outcomes.push(match verdict {
                Ok(Verdict::Write) => {
                    if text.last().is_some_and(|&last| last != b'\n') {
                        text.push(b'\n');
                    }
                    text.extend_from_slice(&record.line);
                    Ok(())
                }
                Ok(Verdict::Refuse) => Err(LogError::Refused),
                Err(error) => Err(LogError::File(error)),
            });
        }
        if text.len() == before {
            return Ok(outcomes);
        }
        let length = text.len() as u64;
        let addition = text.get(before..).unwrap_or_default().to_vec();
        if !self.add(addition).await? {
            self.replace(text).await?;
        }
        self.length.store(length, Ordering::Relaxed);
        self.is_whole.store(true, Ordering::Release);
        Ok(outcomes)
    }

    /// Returns `false` if the file system cannot append to files.
    async fn add(&self, addition: Vec<u8>) -> Result<bool, FileError> {
        self.file_system.append(&self.path.file(), Payload::new(addition)).await
    }

    async fn replace(&self, text: Vec<u8>) -> Result<(), FileError> {
        let (path, temporary) = (self.path.file(), self.path.replacement());
        let target = Target { directory: &self.path.directory, temporary: &temporary, path: &path };
        // Nothing has to be synchronised: injected file systems have no fsync.
        let (level, sync) = (Durability::Process, DirectorySync::default());
        replace_file(self.file_system.as_ref(), target, Payload::new(text), level, &sync).await
    }

    /// Replaces the log's contents.
    pub async fn rewrite(&self, rewrite: &Rewrite) -> Result<u64, LogError> {
        let old = self.text_or_nothing().await?;
        if !rewrite.snapshot.is_of(&old, 0)? {
            return Err(LogError::Replaced);
        }
        let mut text = rewrite.head.clone();
        let since = rewrite.snapshot.length..old.length()?;
        for range in rewrite.kept.iter().chain(std::iter::once(&since)) {
            let start = usize::try_from(range.start).unwrap_or(usize::MAX);
            let end = usize::try_from(range.end).unwrap_or(usize::MAX);
            text.extend_from_slice(old.get(start..end).unwrap_or_default());
            if text.last().is_some_and(|&last| last != b'\n') {
                text.push(b'\n');
            }
        }
        let length = text.len() as u64;
        self.is_whole.store(false, Ordering::Release);
        self.replace(text).await?;
        self.length.store(length, Ordering::Relaxed);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, future::ready, io, path::PathBuf, sync::Mutex};

    use super::{super::job::Waiting, *};
    use crate::file_system::{Contents, FileEntry, FileFuture};

    /// Files in memory whose directory must have been created.
    #[derive(Default)]
    struct Memory {
        has_directory: AtomicBool,
        files: Mutex<HashMap<PathBuf, Vec<u8>>>,
    }

    fn missing<T>(path: &Path) -> Result<T, FileError> {
        Err(FileError::system("open", path, io::ErrorKind::NotFound.into()))
    }

    impl FileSystem for Memory {
        fn create_directories<'a>(&'a self, _: &'a Path) -> FileFuture<'a, ()> {
            self.has_directory.store(true, Ordering::Relaxed);
            Box::pin(ready(Ok(())))
        }
        fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
            Box::pin(ready(Ok(path.to_owned())))
        }
        fn write_new<'a>(&'a self, path: &'a Path, _: Payload, _: bool) -> FileFuture<'a, ()> {
            Box::pin(ready(missing(path)))
        }
        fn can_rename(&self) -> bool {
            false
        }
        fn rename_new<'a>(&'a self, from: &'a Path, _: &'a Path) -> FileFuture<'a, ()> {
            Box::pin(ready(missing(from)))
        }
        fn rename_over<'a>(&'a self, from: &'a Path, _: &'a Path) -> FileFuture<'a, ()> {
            Box::pin(ready(missing(from)))
        }
        fn append<'a>(&'a self, path: &'a Path, contents: Payload) -> FileFuture<'a, bool> {
            if !self.has_directory.load(Ordering::Relaxed) {
                return Box::pin(ready(missing(path)));
            }
            let mut files = self.files.lock().unwrap();
            files.entry(path.to_owned()).or_default().extend_from_slice(&contents);
            Box::pin(ready(Ok(true)))
        }
        fn sync_directory<'a>(&'a self, _: &'a Path) -> FileFuture<'a, ()> {
            Box::pin(ready(Ok(())))
        }
        fn read<'a>(&'a self, root: &'a Path, name: &'a Path, _: u64) -> FileFuture<'a, Contents> {
            let found = self.files.lock().unwrap().get(&root.join(name)).cloned();
            Box::pin(ready(match found {
                Some(bytes) => Ok(Contents { length: bytes.len() as u64, bytes }),
                None => missing(name),
            }))
        }
        fn list<'a>(&'a self, _: &'a Path) -> FileFuture<'a, Vec<FileEntry>> {
            Box::pin(ready(Ok(Vec::new())))
        }
        fn remove<'a>(&'a self, _: &'a Path) -> FileFuture<'a, bool> {
            Box::pin(ready(Ok(false)))
        }
        fn scope(&self) -> u64 {
            1
        }
    }

    #[tokio::test]
    async fn a_removed_directory_is_created_again() {
        let memory = Arc::new(Memory::default());
        let file_system: Arc<dyn FileSystem> = Arc::<Memory>::clone(&memory);
        let directory = PathBuf::from("/a");
        let log = PlainLog::new(
            file_system,
            LogPath { directory, prefix: "/a/".to_owned(), name: "x.jsonl".to_owned() },
        );
        let record = |line: &[u8]| Record {
            line: line.to_vec(),
            check: None,
            durability: Durability::Process,
            waiting: Waiting::new(std::time::Duration::ZERO),
        };
        log.append(&[record(b"one\n")]).await.unwrap();
        log.append(&[record(b"two\n")]).await.unwrap();
        assert_eq!(log.text().await.unwrap(), b"one\ntwo\n");
        memory.files.lock().unwrap().clear();
        memory.has_directory.store(false, Ordering::Relaxed);
        log.append(&[record(b"three\n")]).await.unwrap();
        assert_eq!(log.text().await.unwrap(), b"three\n");
    }
}
