//! The directory of a manager's context files: what opens, writes, reads, lists and removes them.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use storage::{
    Contents, DirectorySync, Disk, Durability, FileEntry, FileError, FileResult, FileSystem,
    Payload, Target, layout,
};

use super::{
    directory::{SessionLease, SharedDirectory},
    file_head::{FileHead, NoHead, read_head},
    handle, location,
    options::ManagerOptions,
    refused,
    sweep::{SweepReport, Sweeper},
};
use crate::{
    debug::Debug,
    error::{Code, Error, Result},
    safety::{Inspection, Place},
};

/// The longest text that becomes a JavaScript string.
pub(super) const MAX_TEXT: u64 = 0x1fff_ffe8;

/// One session's context files. Touches no file until it is used.
pub(super) struct ContextDirectory {
    options: Arc<ManagerOptions>,
    file_system: Arc<dyn FileSystem>,
    /// The disk behind the file system, where sessions can hold leases.
    disk: Option<Arc<dyn Disk>>,
    debug: Debug,
    /// Checks which other users can use the directory.
    inspection: Arc<Inspection>,
    /// Stem of temporary names where no lease gives one.
    owner: String,
    /// The directory with its separator, escaped for the inside of a JSON string.
    escaped_prefix: String,
    opened: Mutex<Option<Arc<Opened>>>,
}

/// The directory in use: it exists, and this session is known to be alive there.
pub(super) struct Opened {
    /// The directory without symbolic links.
    root: PathBuf,
    /// Where locks work: the shared directory and this session's lease.
    shared: Option<(Arc<SharedDirectory>, SessionLease)>,
    /// Group commit where no shared directory has one.
    sync: DirectorySync,
}

impl Opened {
    fn sync(&self) -> &DirectorySync {
        self.shared.as_ref().map_or(&self.sync, |(directory, _)| &directory.sync)
    }
}

/// The files of the directory.
pub(super) struct Listed {
    pub entries: Vec<FileEntry>,
    /// The directory without symbolic links; as the caller spells it where it has no files.
    pub root: PathBuf,
}

impl ContextDirectory {
    /// The directory of `options`.
    pub fn new(
        options: Arc<ManagerOptions>,
        file_system: Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Self {
        Self {
            escaped_prefix: json_text::string_token(&options.prefix).trim_matches('"').to_owned(),
            owner: layout::new_owner(),
            disk: file_system.disk(),
            file_system,
            debug,
            inspection: Arc::default(),
            opened: Mutex::default(),
            options,
        }
    }

    /// The scope of the disk, where the file system has one: directories of one scope may be the same.
    pub fn scope(&self) -> Option<u64> {
        self.disk.as_ref().map(|disk| disk.scope())
    }

    fn path(&self) -> &Path {
        Path::new(&self.options.directory)
    }
}

/// Paths.
impl ContextDirectory {
    /// A context's path, as the caller's directory spells it.
    pub fn path_of(&self, filename: &str) -> String {
        format!("{}{filename}", self.options.prefix)
    }

    /// The directory with its separator, escaped for the inside of a JSON string.
    pub fn escaped_prefix(&self) -> &str {
        &self.escaped_prefix
    }

    /// The file name in a path that is spelled as [`ContextDirectory::path_of`] does it.
    pub fn filename_in<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&self.options.prefix)
    }

    /// The path below the directory that `path` means.
    ///
    /// # Errors
    /// `OutsideDirectory` when it leads elsewhere.
    pub async fn locate(&self, path: &str) -> Result<String> {
        let root = self.opened().map(|opened| opened.root.clone());
        let is_unknown = root.is_none();
        let located = self.locate_below(path, root.as_deref());
        if located.is_err() && is_unknown {
            // The path may spell the directory without the symbolic links that lead to it.
            if let Ok(root) = self.file_system.canonical(self.path()).await {
                return self.locate_below(path, Some(&root));
            }
        }
        located
    }

    /// As [`ContextDirectory::locate`], without I/O: symbolic links are not followed.
    ///
    /// # Errors
    /// `OutsideDirectory` when it leads elsewhere.
    pub fn locate_by_spelling(&self, path: &str) -> Result<String> {
        self.locate_below(path, None)
    }

    fn locate_below(&self, path: &str, root: Option<&Path>) -> Result<String> {
        location::below(path, &self.options.directory, &self.options.prefix, root)
    }

    /// Whether both are the same directory, however they are spelled.
    pub async fn is_same(&self, other: &Self) -> bool {
        self.options.directory == other.options.directory
            || matches!(
                (self.real_path().await, other.real_path().await),
                (Some(own), Some(others)) if own == others
            )
    }

    /// The directory without symbolic links, when it exists.
    async fn real_path(&self) -> Option<PathBuf> {
        if let Some(opened) = self.opened() {
            return Some(opened.root.clone());
        }
        self.file_system.canonical(self.path()).await.ok()
    }
}

/// Opening and closing.
impl ContextDirectory {
    /// The directory in use, created when it is not there.
    async fn open(&self) -> Result<Arc<Opened>> {
        if let Some(opened) = self.opened() {
            return Ok(opened);
        }
        let directory = self.path();
        let failed = |error| refused("create the context directory", directory, error);
        self.file_system.create_directories(directory).await.map_err(failed)?;
        let root = self.file_system.canonical(directory).await.map_err(failed)?;
        self.check()?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.as_ref() {
            return Ok(Arc::clone(opened));
        }
        let shared = match &self.disk {
            Some(disk) => {
                let shared = SharedDirectory::shared(disk, &root);
                let lease = shared.enter(&self.options.session).map_err(|error| {
                    refused("take a lease in the context directory", directory, error)
                })?;
                if let Some((path, ownership)) = shared.lease_ownership() {
                    self.inspection.report_own_file(&path, ownership, &self.debug);
                }
                Some((shared, lease))
            }
            None => None,
        };
        let sync = DirectorySync::default();
        Ok(Arc::clone(opened.insert(Arc::new(Opened { root, shared, sync }))))
    }

    fn opened(&self) -> Option<Arc<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Closes the directory: the next write opens it again. The session's lease ends when the caller drops
    /// what is returned, which touches files, and when the writes in flight are done.
    #[must_use]
    pub fn close(&self) -> Option<Arc<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Checks the owner and the mode of the directory, once it exists.
    ///
    /// # Errors
    /// `UnsafeDirectory`
    pub fn check(&self) -> Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let place = Place {
            what: "context directory",
            setting: "contextDir",
            directories: &[self.path()],
            files: &[],
            own_files: &[],
        };
        self.inspection.check(disk.as_ref(), &place, self.options.trust, &self.debug)
    }
}

/// Writing and removing.
impl ContextDirectory {
    /// Writes a record to its file, whole or not at all.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn write(&self, filename: &str, record: &Payload) -> Result<()> {
        let mut attempts_left = 1;
        loop {
            let opened = self.open().await?;
            self.sweep_in_background(&opened);
            match self.create(&opened, filename, record).await {
                Ok(()) => return Ok(()),
                // The directory was removed, and the session's lease with it.
                Err(error) if error.is_not_found() && attempts_left > 0 => {
                    attempts_left -= 1;
                    drop(self.close());
                }
                Err(error) => {
                    let path = PathBuf::from(self.path_of(filename));
                    return Err(refused("save the context to", &path, error));
                }
            }
        }
    }

    async fn create(&self, opened: &Opened, filename: &str, record: &Payload) -> FileResult<()> {
        let (path, temporary) = match &opened.shared {
            Some((shared, _)) => {
                let temporary = shared.temporary()?;
                if self.options.durability == Durability::Full {
                    shared.sync_ancestors().await?;
                }
                (opened.root.join(filename), temporary)
            }
            None => {
                let counter = layout::random();
                let name = layout::temporary(&self.owner, counter);
                (PathBuf::from(self.path_of(filename)), PathBuf::from(self.path_of(&name)))
            }
        };
        let target = Target { directory: &opened.root, temporary: &temporary, path: &path };
        let contents = Payload::clone(record);
        storage::create_file(
            self.file_system.as_ref(),
            target,
            contents,
            self.options.durability,
            opened.sync(),
        )
        .await
    }

    /// Removes a context's file; whether there was one.
    ///
    /// # Errors
    /// The file system's.
    pub async fn remove(&self, filename: &str) -> FileResult<bool> {
        self.file_system.remove(Path::new(&self.path_of(filename))).await
    }

    /// Brings removals to stable storage where that is promised.
    ///
    /// # Errors
    /// `Io`
    pub async fn sync_removals(&self) -> Result<()> {
        if self.options.durability != Durability::Full {
            return Ok(());
        }
        match self.sync_entries().await {
            // Nothing that could come back.
            Err(error) if error.is_not_found() => Ok(()),
            other => other
                .map_err(|error| refused("bring removals to the medium in", self.path(), error)),
        }
    }

    async fn sync_entries(&self) -> FileResult<()> {
        let file_system = self.file_system.as_ref();
        if let Some(opened) = self.opened() {
            return opened.sync().sync(file_system, &opened.root).await;
        }
        let root = file_system.canonical(self.path()).await?;
        match &self.disk {
            Some(disk) => SharedDirectory::shared(disk, &root).sync.sync(file_system, &root).await,
            None => file_system.sync_directory(&root).await,
        }
    }
}

/// Reading.
impl ContextDirectory {
    /// Whether the directory is there.
    ///
    /// # Errors
    /// The file system's.
    pub async fn exists(&self) -> FileResult<bool> {
        self.file_system.has_directory(self.path()).await
    }

    /// The directory without symbolic links, which reading does not create. `path` is what is read.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `NotFound` or `Io`
    pub async fn root(&self, path: &str) -> Result<PathBuf> {
        if let Some(opened) = self.opened() {
            return Ok(opened.root.clone());
        }
        self.check()?;
        self.file_system.canonical(self.path()).await.map_err(|error| {
            if error.is_not_found() {
                handle::not_found(path)
            } else {
                refused("open the context directory", self.path(), error)
            }
        })
    }

    /// All bytes of a file, still to be checked. `path` is how the caller spells it.
    ///
    /// # Errors
    /// `UnsafeDirectory`, `NotFound`, `OutsideDirectory`, `TooLarge` or `Io`
    pub async fn read_whole(&self, path: &str, relative: &str) -> Result<Vec<u8>> {
        let root = self.root(path).await?;
        let contents =
            self.read(&root, relative, MAX_TEXT).await.map_err(|error| match error.kind {
                std::io::ErrorKind::NotFound => handle::not_found(path),
                std::io::ErrorKind::InvalidInput => Error::outside(path, &self.options.directory),
                _ => refused("load the context", Path::new(path), error),
            })?;
        if contents.length > MAX_TEXT {
            return Err(Error::new(
                Code::TooLarge,
                format!(
                    "{path} has {} bytes, more than a JavaScript string holds; it is no context",
                    contents.length
                ),
            ));
        }
        Ok(contents.bytes)
    }

    /// At most `limit` bytes of a file below `root`.
    ///
    /// # Errors
    /// The file system's.
    pub async fn read(&self, root: &Path, relative: &str, limit: u64) -> FileResult<Contents> {
        self.file_system.read(root, Path::new(relative), limit).await
    }

    /// The head of a file below `root`.
    ///
    /// # Errors
    /// [`NoHead`]
    pub async fn read_head(
        &self,
        root: &Path,
        name: &str,
    ) -> std::result::Result<FileHead, NoHead> {
        read_head(self.file_system.as_ref(), root, name).await
    }

    /// The files of the directory; none where it is not there.
    ///
    /// # Errors
    /// The file system's.
    pub async fn list(&self) -> FileResult<Listed> {
        let entries = self.file_system.list(self.path()).await?;
        let root = if entries.is_empty() {
            self.path().to_owned()
        } else {
            self.file_system.canonical(self.path()).await?
        };
        Ok(Listed { entries, root })
    }
}

/// Other sessions.
impl ContextDirectory {
    /// Whether the session is over, as far as the directory's leases prove it.
    pub fn is_over(&self, root: &Path, session: &str) -> bool {
        self.disk.as_deref().is_some_and(|disk| {
            storage::live_sessions(disk, root, self.options.trust.locks)
                .is_ok_and(|live| !live.contains(session))
        })
    }

    /// Removes what dead sessions left behind, within the bounds of the retention. With an injected file
    /// system, where no locks prove who is alive, nothing is touched.
    ///
    /// # Errors
    /// `UnsafeDirectory`; `Io` when the directory cannot be read; single files that resist are left.
    pub async fn sweep(&self) -> Result<SweepReport> {
        self.check()?;
        let swept = match self.file_system.canonical(self.path()).await {
            Ok(root) => match self.sweeper(&root) {
                Some(sweeper) => sweeper.sweep().await,
                None => Ok(SweepReport::default()),
            },
            Err(error) if error.is_not_found() => Ok(SweepReport::default()),
            Err(error) => Err(error),
        };
        swept.map_err(|error| refused("sweep the context directory", self.path(), error))
    }

    /// Removes every context of sessions that are over; returns how many, and the first failure.
    pub async fn remove_dead(&self) -> (u64, Option<(PathBuf, FileError)>) {
        if let Ok(root) = self.file_system.canonical(self.path()).await
            && let Some(sweeper) = self.sweeper(&root)
        {
            return sweeper.remove_dead().await;
        }
        (0, None)
    }

    fn sweep_in_background(&self, opened: &Opened) {
        if let Some((shared, _)) = &opened.shared
            && shared.claim_background_sweep()
            && let Some(sweeper) = self.sweeper(shared.path())
        {
            tokio::spawn(sweeper.sweep_in_background());
        }
    }

    /// Sweeps `root`, the directory without symbolic links; `None` where no locks prove who is alive.
    fn sweeper(&self, root: &Path) -> Option<Sweeper> {
        Some(Sweeper {
            file_system: Arc::clone(&self.file_system),
            disk: Arc::clone(self.disk.as_ref()?),
            root: root.to_owned(),
            retention: self.options.retention,
            trusts_locks: self.options.trust.locks,
            inspection: Arc::clone(&self.inspection),
            debug: self.debug.clone(),
        })
    }
}
