//! Blocking access to the files of a store, for the index's worker threads.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use storage::{
    Children, Contents, Disk, Durability, FileEntry, FileResult, FileSystem, Payload, Target,
    layout,
};
use tokio::runtime::Handle;

use super::super::{Location, read_ahead::ReadAhead};

/// The files of a store, with blocking calls.
pub(super) struct Files {
    file_system: Arc<dyn FileSystem>,
    disk: Option<Arc<dyn Disk>>,
    runtime: Handle,
    pub root: PathBuf,
}

impl Files {
    /// Must be called within a Tokio runtime.
    pub fn new(file_system: &Arc<dyn FileSystem>, root: &Path) -> Self {
        let (file_system, disk) = (Arc::clone(file_system), file_system.disk());
        Self { file_system, disk, runtime: Handle::current(), root: root.to_owned() }
    }

    pub fn disk(&self) -> Option<&Arc<dyn Disk>> {
        self.disk.as_ref()
    }

    /// The id of the user as whom files are opened, on systems that have user ids.
    pub fn user(&self) -> Option<u32> {
        self.disk.as_ref()?.user()
    }

    /// The entries of the root or of a directory below it; empty if it does not exist.
    pub fn children(&self, directory: &str) -> FileResult<Children> {
        // Joining an empty path would add a separator at the end, which some file systems refuse.
        let path = if directory.is_empty() { self.root.clone() } else { self.root.join(directory) };
        match &self.disk {
            Some(disk) => disk.children(&path),
            None => self.runtime.block_on(async {
                let directories = self.file_system.directories(&path).await?;
                let mut files = self.file_system.list(&path).await?;
                files.retain(|file| !directories.contains(&file.name));
                Ok(Children { files, directories })
            }),
        }
    }

    /// A file's length and times, as a listing has them; `None` if it does not exist or the file
    /// system cannot say.
    pub fn entry(&self, location: &Location) -> FileResult<Option<FileEntry>> {
        match &self.disk {
            Some(disk) => disk.entry(&self.root.join(location.directory()), location.name()),
            None => Ok(Some(FileEntry::named(location.name().to_owned()))),
        }
    }

    /// Reads entries in few steps, if the file system can: see [`ReadAhead::of`].
    pub fn read_ahead(&self, locations: impl Iterator<Item = Location>) -> Option<ReadAhead> {
        let file_system = self.file_system.as_ref();
        self.runtime.block_on(ReadAhead::of(file_system, &self.root, locations))
    }

    /// An entry that was read ahead, or else now.
    pub fn read_after(
        &self,
        ahead: Option<&ReadAhead>,
        location: &Location,
        limit: u64,
    ) -> FileResult<Contents> {
        let read = ahead.and_then(|ahead| ahead.take(location, limit));
        read.unwrap_or_else(|| self.read(location, limit))
    }

    pub fn read(&self, location: &Location, limit: u64) -> FileResult<Contents> {
        let relative = Path::new(location.as_str());
        match &self.disk {
            Some(disk) => disk.read(&self.root, relative, limit),
            None => self.runtime.block_on(self.file_system.read(&self.root, relative, limit)),
        }
    }

    /// Replaces a cache file in the root. It survives the end of the process, but may be lost in a
    /// power failure.
    pub fn replace_cache(&self, name: &str, contents: Payload) -> FileResult<()> {
        let (path, temporary) = (self.root.join(name), self.root.join(layout::replacement(name)));
        let target = Target { directory: &self.root, temporary: &temporary, path: &path };
        let file_system = self.file_system.as_ref();
        let level = Durability::Process;
        self.runtime.block_on(storage::replace_cache_file(file_system, target, contents, level))
    }
}
