//! The files of a database as a [`FileSystem`], whose operations wait without a thread.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use storage::{Contents, Disk, FileEntry, FileFuture, FileSystem, FileTerms, ListedFile, Payload};

use super::{Files, disk::DatabaseDisk, place::directory_of, whole::Existing};

/// The file system.
pub struct DatabaseFileSystem(pub Arc<Files>);

fn ready<'a, T: Send + 'a>(value: T) -> FileFuture<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl FileSystem for DatabaseFileSystem {
    fn create_directories<'a>(&'a self, _: &'a Path) -> FileFuture<'a, ()> {
        ready(())
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        Box::pin(std::future::ready(canonical(path)))
    }

    fn has_directory<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        Box::pin(self.0.has_directory(path))
    }

    fn write_new<'a>(&'a self, path: &'a Path, contents: Payload, _: bool) -> FileFuture<'a, ()> {
        Box::pin(async move { self.0.write(path, &contents, Existing::Refuse).await })
    }

    fn create_unnamed<'a>(
        &'a self,
        path: &'a Path,
        contents: Payload,
        _: bool,
    ) -> FileFuture<'a, bool> {
        Box::pin(async move {
            self.0.write(path, &contents, Existing::Refuse).await?;
            Ok(true)
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Payload, _: bool) -> FileFuture<'a, bool> {
        Box::pin(async move {
            self.0.write(path, &contents, Existing::Replace).await?;
            Ok(true)
        })
    }

    fn can_rename(&self) -> bool {
        true
    }

    fn rename_new<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(self.0.rename_new(from, to))
    }

    fn rename_over<'a>(&'a self, from: &'a Path, to: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(self.0.rename_over(from, to))
    }

    fn append<'a>(&'a self, path: &'a Path, contents: Payload) -> FileFuture<'a, bool> {
        Box::pin(async move {
            self.0.append_at(path, &contents).await?;
            Ok(true)
        })
    }

    fn sync_directory<'a>(&'a self, _: &'a Path) -> FileFuture<'a, ()> {
        ready(())
    }

    fn read<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        limit: u64,
    ) -> FileFuture<'a, Contents> {
        Box::pin(self.0.read(root, relative, limit))
    }

    fn read_range<'a>(
        &'a self,
        root: &'a Path,
        relative: &'a Path,
        range: Range<u64>,
    ) -> FileFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move { Ok(Some(self.0.read_range_of(root, relative, range).await?)) })
    }

    fn read_many<'a>(
        &'a self,
        directory: &'a Path,
        names: &'a [String],
        limit: u64,
    ) -> FileFuture<'a, Option<Vec<Option<Contents>>>> {
        Box::pin(async move {
            let names_of_files = names.to_vec();
            let path = directory_of(directory)?;
            let at = ("read", directory);
            let mut found = self.0.read_names(at, path, names_of_files, limit).await?;
            let contents = names.iter().map(|name| found.remove(name));
            Ok(Some(contents.collect()))
        })
    }

    fn list<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<FileEntry>> {
        Box::pin(self.0.list(directory))
    }

    fn list_beginnings<'a>(
        &'a self,
        directory: &'a Path,
        prefixes: &'a [String],
        limit: u64,
        most: u64,
    ) -> FileFuture<'a, Option<Vec<ListedFile>>> {
        Box::pin(async move {
            Ok(Some(self.0.list_beginnings(directory, prefixes, (limit, most)).await?))
        })
    }

    fn directories<'a>(&'a self, directory: &'a Path) -> FileFuture<'a, Vec<String>> {
        Box::pin(self.0.directories(directory))
    }

    fn remove<'a>(&'a self, path: &'a Path) -> FileFuture<'a, bool> {
        Box::pin(self.0.remove(path))
    }

    fn disk(&self) -> Option<Arc<dyn Disk>> {
        Some(Arc::new(DatabaseDisk(Arc::clone(&self.0))))
    }

    fn terms(&self) -> Option<&dyn FileTerms> {
        Some(self)
    }

    fn scope(&self) -> u64 {
        self.0.scope
    }
}

/// A path as the database has it.
pub fn canonical(path: &Path) -> storage::FileResult<PathBuf> {
    let directory = directory_of(path)?;
    Ok(PathBuf::from(if directory.is_empty() { "/".to_owned() } else { directory }))
}
