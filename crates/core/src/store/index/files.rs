//! The files of a store, for threads that may wait.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use storage::{
    Children, Contents, Disk, Durability, FileEntry, FileResult, FileSystem, Payload, Target,
    layout,
};
use tokio::runtime::Handle;

use super::super::Location;

/// The files of a store, for threads that may wait.
pub(super) struct Files {
    file_system: Arc<dyn FileSystem>,
    disk: Option<Arc<dyn Disk>>,
    runtime: Handle,
    pub root: PathBuf,
}

impl Files {
    /// Called within a runtime.
    pub fn new(file_system: &Arc<dyn FileSystem>, root: &Path) -> Self {
        let (file_system, disk) = (Arc::clone(file_system), file_system.disk());
        Self { file_system, disk, runtime: Handle::current(), root: root.to_owned() }
    }

    pub fn disk(&self) -> Option<&Arc<dyn Disk>> {
        self.disk.as_ref()
    }

    /// The number of the user as whom the files are used, where there are users.
    pub fn user(&self) -> Option<u32> {
        self.disk.as_ref()?.user()
    }

    /// What is in the root, or in a directory below it; nothing when it is not there.
    pub fn children(&self, directory: &str) -> FileResult<Children> {
        // Joined with nothing it would end in a separator, which not every file system takes.
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

    /// A file as listings have it; `None` when it is not there, as far as that can be told.
    pub fn entry(&self, location: &Location) -> FileResult<Option<FileEntry>> {
        match &self.disk {
            Some(disk) => disk.entry(&self.root.join(location.directory()), location.name()),
            None => Ok(Some(FileEntry::named(location.name().to_owned()))),
        }
    }

    pub fn read(&self, location: &Location, limit: u64) -> FileResult<Contents> {
        let relative = Path::new(location.as_str());
        match &self.disk {
            Some(disk) => disk.read(&self.root, relative, limit),
            None => self.runtime.block_on(self.file_system.read(&self.root, relative, limit)),
        }
    }

    /// Replaces a cache in the root. It survives the end of the process, not the loss of power.
    pub fn replace_cache(&self, name: &str, contents: Payload) -> FileResult<()> {
        let (path, temporary) = (self.root.join(name), self.root.join(layout::replacement(name)));
        let target = Target { directory: &self.root, temporary: &temporary, path: &path };
        let file_system = self.file_system.as_ref();
        let level = Durability::Process;
        self.runtime.block_on(storage::replace_cache_file(file_system, target, contents, level))
    }
}
