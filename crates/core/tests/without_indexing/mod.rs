//! A file system whose files the indexing thread cannot read, so that only the reads of calls are counted.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use storage::{Contents, Disk, FileEntry, FileError, FileFuture, FileSystem, ListedFile, Payload};

/// The name of the thread that reads texts for the index.
const INDEXING_THREAD: &str = "agent-context-index";

/// The file system.
pub struct WithoutIndexing(pub Arc<dyn FileSystem>);

impl FileSystem for WithoutIndexing {
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        self.0.create_directories(path)
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        self.0.canonical(path)
    }

    fn has_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        self.0.has_directory(path)
    }

    fn write_new<'a>(
        &'a self,
        path: &'a Path,
        contents: Payload,
        sync: bool,
    ) -> FileFuture<'a, ()> {
        self.0.write_new(path, contents, sync)
    }

    fn create_unnamed<'a>(
        &'a self,
        path: &'a Path,
        contents: Payload,
        sync: bool,
    ) -> FileFuture<'a, bool> {
        self.0.create_unnamed(path, contents, sync)
    }

    fn replace<'a>(
        &'a self,
        path: &'a Path,
        contents: Payload,
        sync: bool,
    ) -> FileFuture<'a, bool> {
        self.0.replace(path, contents, sync)
    }

    fn can_rename(&self) -> bool {
        self.0.can_rename()
    }

    fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        self.0.rename_new(from, to)
    }

    fn rename_over<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        self.0.rename_over(from, to)
    }

    fn append<'a>(&'a self, path: &'a Path, contents: Payload) -> FileFuture<'a, bool> {
        self.0.append(path, contents)
    }

    fn sync_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        self.0.sync_directory(path)
    }

    fn read<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        limit: u64,
    ) -> FileFuture<'a, Contents> {
        if thread::current().name() == Some(INDEXING_THREAD) {
            let refused = std::io::Error::from(std::io::ErrorKind::Unsupported);
            let error = FileError::system("read", relative, refused);
            return Box::pin(std::future::ready(Err(error)));
        }
        self.0.read(root, relative, limit)
    }

    fn read_range<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        range: Range<u64>,
    ) -> FileFuture<'a, Option<Vec<u8>>> {
        self.0.read_range(root, relative, range)
    }

    fn read_many<'a>(
        &'a self,
        directory: &'a Path,
        names: &'a [String],
        limit: u64,
    ) -> FileFuture<'a, Option<Vec<Option<Contents>>>> {
        self.0.read_many(directory, names, limit)
    }

    fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<FileEntry>> {
        self.0.list(directory)
    }

    fn list_beginnings<'a>(
        &'a self,
        directory: &'a Path,
        prefixes: &'a [String],
        limit: u64,
        most: u64,
    ) -> FileFuture<'a, Option<Vec<ListedFile>>> {
        self.0.list_beginnings(directory, prefixes, limit, most)
    }

    fn directories<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<String>> {
        self.0.directories(directory)
    }

    fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        self.0.remove(path)
    }

    fn disk(&self) -> Option<Arc<dyn Disk>> {
        self.0.disk()
    }

    fn scope(&self) -> u64 {
        self.0.scope()
    }
}
