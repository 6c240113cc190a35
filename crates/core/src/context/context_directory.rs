//! The directory of a manager's context files: opens it, takes the session's lease, writes and removes files.
//! `context_files` reads and lists them.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OnceCell;

use storage::{DirectorySync, Disk, Durability, FileResult, FileSystem, Payload, Target, layout};

use super::{
    directory::{SessionLease, SharedDirectory},
    handle_table::Mark,
    location,
    options::ManagerOptions,
    redemption::ListedHandles,
    refused,
    session_record::{self, SessionRecord},
};
use crate::{
    debug::Debug,
    error::Result,
    safety::{Inspection, Place},
};

/// One session's context files. Touches no file until it is used.
pub(super) struct ContextDirectory {
    pub(super) options: Arc<ManagerOptions>,
    pub(super) file_system: Arc<dyn FileSystem>,
    /// The disk behind the file system, where sessions can hold leases.
    pub(super) disk: Option<Arc<dyn Disk>>,
    pub(super) debug: Debug,
    /// Checks which other users have access to the directory.
    pub(super) inspection: Arc<Inspection>,
    /// The stem of temporary file names if there is no lease, which has its own.
    owner: String,
    /// The directory with its separator, escaped for the inside of a JSON string.
    escaped_prefix: String,
    /// The files of each handle, for file systems without a table of handles.
    pub(super) listed_handles: OnceCell<ListedHandles>,
    opened: Mutex<Option<Arc<Opened>>>,
    /// The process's [`SharedDirectory`], if a handle was looked up before the directory was opened.
    pub(super) looked_at: Mutex<Option<Arc<SharedDirectory>>>,
}

/// The opened directory: it exists, and this session is known to be alive there.
pub(super) struct Opened {
    /// The canonical path.
    pub(super) root: PathBuf,
    /// On file systems with locks: the shared directory and this session's lease.
    pub(super) shared: Option<(Arc<SharedDirectory>, SessionLease)>,
    /// Group commit, if there is no shared directory that has its own.
    sync: DirectorySync,
    /// Set once the session's record exists, for sessions that have one.
    noted: OnceCell<()>,
}

impl Opened {
    fn sync(&self) -> &DirectorySync {
        self.shared.as_ref().map_or(&self.sync, |(directory, _)| &directory.sync)
    }
}

/// The contents of the files of one context.
pub(super) struct ContextFile {
    /// The handle, for a row in the table of handles.
    pub handle: Option<u64>,
    pub record: Payload,
    /// The file of its binary data, if it has any.
    pub bytes: Option<Payload>,
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
            listed_handles: OnceCell::new(),
            opened: Mutex::default(),
            looked_at: Mutex::default(),
            options,
        }
    }

    /// The disk's scope: within it, equal canonical paths are the same directory. `None` for an injected file system.
    pub fn scope(&self) -> Option<u64> {
        self.disk.as_ref().map(|disk| disk.scope())
    }

    /// The directory as the caller spells it.
    pub fn path(&self) -> &Path {
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

    /// The file name in a path that [`ContextDirectory::path_of`] made.
    pub fn filename_in<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&self.options.prefix)
    }

    /// Converts a caller's path to one relative to the directory.
    ///
    /// # Errors `OutsideDirectory` if it leads out of the directory.
    pub async fn locate(&self, path: &str) -> Result<String> {
        let root = self.opened().map(|opened| opened.root.clone());
        let is_unknown = root.is_none();
        let located = self.locate_below(path, root.as_deref());
        if located.is_err() && is_unknown {
            // The caller may have used the directory's canonical path.
            if let Ok(root) = self.file_system.canonical(self.path()).await {
                return self.locate_below(path, Some(&root));
            }
        }
        located
    }

    /// As [`ContextDirectory::locate`], without I/O: symbolic links are not resolved.
    ///
    /// # Errors `OutsideDirectory` if it leads out of the directory.
    pub fn locate_by_spelling(&self, path: &str) -> Result<String> {
        self.locate_below(path, None)
    }

    fn locate_below(&self, path: &str, root: Option<&Path>) -> Result<String> {
        location::below(path, &self.options.directory, &self.options.prefix, root)
    }

    /// Whether both are the same directory, also under different paths.
    pub async fn is_same(&self, other: &Self) -> bool {
        self.options.directory == other.options.directory
            || matches!(
                (self.real_path().await, other.real_path().await),
                (Some(own), Some(others)) if own == others
            )
    }

    /// The canonical path, if the directory exists.
    async fn real_path(&self) -> Option<PathBuf> {
        if let Some(opened) = self.opened() {
            return Some(opened.root.clone());
        }
        self.file_system.canonical(self.path()).await.ok()
    }
}

/// Opening and closing.
impl ContextDirectory {
    /// The opened directory, which is created if missing, with the session's lease.
    pub(super) async fn open(&self) -> Result<Arc<Opened>> {
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
        let noted = OnceCell::new();
        Ok(Arc::clone(opened.insert(Arc::new(Opened { root, shared, sync, noted }))))
    }

    /// The opened directory for a write, with the session's lease, so that no other process removes its contexts. Starts a
    /// background sweep when one is due.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub(super) async fn held(&self) -> Result<Arc<Opened>> {
        let opened = self.open().await?;
        self.note_session(&opened, None).await?;
        self.sweep_in_background(&opened);
        Ok(opened)
    }

    /// Writes the session's record, once and before its first file: the session is then live or paused, however its
    /// process ends. `known` is what [`ContextDirectory::session_record`] returned, if it was called.
    pub(super) async fn note_session(
        &self,
        opened: &Opened,
        known: Option<Option<SessionRecord>>,
    ) -> Result<()> {
        if !self.is_pausable() {
            return Ok(());
        }
        let touch = async || match known {
            Some(before) => self.renew_session(opened, before).await,
            None => self.touch_session(opened).await,
        };
        let noted = opened.noted.get_or_try_init(touch).await;
        noted.copied().map_err(|error| {
            refused("note the session in the context directory", self.path(), error)
        })
    }

    /// Only a session with an id from the caller can be found again, and only leases prove which sessions are alive.
    pub fn is_pausable(&self) -> bool {
        self.options.session_is_named && self.disk.is_some()
    }

    /// Updates the time of the session's last use.
    ///
    /// # Errors
    /// The file system's.
    pub(super) async fn touch_session(&self, opened: &Opened) -> FileResult<()> {
        let id = &self.options.session;
        let before = session_record::read(self.file_system.as_ref(), &opened.root, id).await;
        self.renew_session(opened, before).await
    }

    /// As [`ContextDirectory::touch_session`], with the record that is there.
    async fn renew_session(
        &self,
        opened: &Opened,
        before: Option<SessionRecord>,
    ) -> FileResult<()> {
        let Some((shared, _)) = &opened.shared else { return Ok(()) };
        let temporary = shared.temporary()?;
        let (id, keep_paused) = (&self.options.session, self.options.retention.keep_paused);
        let target = (opened.root.as_path(), temporary.as_path());
        session_record::renew(self.file_system.as_ref(), target, id, keep_paused, before).await
    }

    /// The session's record, before the directory is opened; `None` if there is none that can be read.
    pub(super) async fn session_record(&self) -> Option<SessionRecord> {
        if !self.is_pausable() {
            return None;
        }
        let root = self.file_system.canonical(self.path()).await.ok()?;
        session_record::read(self.file_system.as_ref(), &root, &self.options.session).await
    }

    /// The opened directory, if it is open.
    pub fn opened(&self) -> Option<Arc<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Closes the directory: the next write opens it again. The session's lease ends when the caller drops the returned
    /// value, which touches files, and when the writes in flight have ended.
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

/// Attempts to create the files of a context: the directory may be removed once meanwhile.
pub(super) const ATTEMPTS: u32 = 2;

/// Writing and removing.
impl ContextDirectory {
    /// Writes the file of the binary data, then the record, both atomically: no record exists without its bytes.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn write(&self, filename: &str, file: &ContextFile) -> Result<()> {
        let mut attempts_left = ATTEMPTS;
        loop {
            let opened = self.held().await?;
            let created = self.create_context(&opened, filename, file).await;
            attempts_left -= 1;
            let ended = self.ended(&opened, file.handle, filename, created, attempts_left);
            if let Some(written) = ended {
                return written;
            }
        }
    }

    /// Ends an attempt to create the files of a context. After a success, adds the context to the table of handles.
    /// `None`: the directory was removed, and the lease with it; a further attempt opens the directory again.
    pub(super) fn ended(
        &self,
        opened: &Opened,
        handle: Option<u64>,
        filename: &str,
        created: FileResult<()>,
        attempts_left: u32,
    ) -> Option<Result<()>> {
        match created {
            Ok(()) => {
                self.note_handle(opened, handle, filename);
                Some(Ok(()))
            }
            Err(error) if error.is_not_found() && attempts_left > 0 => {
                drop(self.close());
                None
            }
            Err(error) => {
                let path = PathBuf::from(self.path_of(filename));
                Some(Err(refused("save the context to", &path, error)))
            }
        }
    }

    /// Records in the table of handles why a context was removed.
    pub fn note_removal(&self, handle: Option<u64>, mark: Mark, filename: &str) {
        if let (Some(opened), Some(handle)) = (self.opened(), handle)
            && let Some((shared, _)) = &opened.shared
        {
            // A failure costs only the reason in a later error message.
            let _ = shared.handles.add(handle, mark, filename);
        }
    }

    /// Adds a context to the table of handles.
    fn note_handle(&self, opened: &Opened, handle: Option<u64>, filename: &str) {
        if let (Some((shared, _)), Some(handle)) = (&opened.shared, handle)
            && let Err(error) = shared.handles.add(handle, Mark::Saved, filename)
        {
            // Not an error: without the row, the context is found by reading the records.
            self.debug.say(
                "Failed to note a context's handle",
                || serde_json::json!({ "filename": filename, "error": error.to_string() }),
            );
        }
    }

    async fn create_context(
        &self,
        opened: &Opened,
        filename: &str,
        file: &ContextFile,
    ) -> FileResult<()> {
        let ContextFile { record, bytes, .. } = file;
        let Some(bytes) = bytes else { return self.create(opened, filename, record).await };
        let name_of_bytes = layout::bytes_of(filename);
        self.create(opened, &name_of_bytes, bytes).await?;
        let created = self.create(opened, filename, record).await;
        if created.is_err() {
            // If the removal fails, a sweep removes the file later, because no record refers to it.
            let _ = self.remove_file(&name_of_bytes).await;
        }
        created
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

    /// Removes a context's file, then the file of its binary data; returns whether there was a context.
    ///
    /// # Errors
    /// The file system's.
    pub async fn remove(&self, filename: &str, has_bytes: bool) -> FileResult<bool> {
        let removed = self.remove_file(filename).await?;
        if has_bytes {
            if self.options.durability == Durability::Full {
                // The removal of the record is durable first, so that a power failure does not restore a record without
                // its bytes.
                self.sync_entries().await?;
            }
            self.remove_file(&layout::bytes_of(filename)).await?;
        }
        Ok(removed)
    }

    /// Removes a file; returns whether it existed.
    ///
    /// # Errors
    /// The file system's.
    pub async fn remove_file(&self, filename: &str) -> FileResult<bool> {
        self.file_system.remove(Path::new(&self.path_of(filename))).await
    }

    /// Makes removals durable if the durability level requires it.
    ///
    /// # Errors
    /// `Io`
    pub async fn sync_removals(&self) -> Result<()> {
        if self.options.durability != Durability::Full {
            return Ok(());
        }
        match self.sync_entries().await {
            // The directory is gone, so nothing can reappear.
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
