//! The directory of a manager's context files: what opens, writes, reads, lists and removes them.

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
    refused, session_record,
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
    /// Checks which other users can use the directory.
    pub(super) inspection: Arc<Inspection>,
    /// Stem of temporary names where no lease gives one.
    owner: String,
    /// The directory with its separator, escaped for the inside of a JSON string.
    escaped_prefix: String,
    /// The files of each handle, where the file system keeps no table of them.
    pub(super) listed_handles: OnceCell<ListedHandles>,
    opened: Mutex<Option<Arc<Opened>>>,
    /// The directory as this process shares it, once a handle was looked up while it was not in use.
    pub(super) looked_at: Mutex<Option<Arc<SharedDirectory>>>,
}

/// The directory in use: it exists, and this session is known to be alive there.
pub(super) struct Opened {
    /// The directory without symbolic links.
    pub(super) root: PathBuf,
    /// Where locks work: the shared directory and this session's lease.
    pub(super) shared: Option<(Arc<SharedDirectory>, SessionLease)>,
    /// Group commit where no shared directory has one.
    sync: DirectorySync,
    /// Set when the session's record is there, where it has one.
    noted: OnceCell<()>,
}

impl Opened {
    fn sync(&self) -> &DirectorySync {
        self.shared.as_ref().map_or(&self.sync, |(directory, _)| &directory.sync)
    }
}

/// What is written of a context.
pub(super) struct ContextFile {
    /// Names it in the table of handles.
    pub handle: Option<u64>,
    pub record: Payload,
    /// The file of its bytes, where it has any.
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

    /// The scope of the disk, where the file system has one: directories of one scope may be the same.
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
        let noted = OnceCell::new();
        Ok(Arc::clone(opened.insert(Arc::new(Opened { root, shared, sync, noted }))))
    }

    /// Opens the directory and notes the session there: no other process removes its contexts.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn hold(&self) -> Result<()> {
        let opened = self.open().await?;
        self.note_session(&opened).await
    }

    /// The directory for a file that is to be written, as [`ContextDirectory::hold`] leaves it. What dead sessions left is swept now
    /// and then.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub(super) async fn held(&self) -> Result<Arc<Opened>> {
        let opened = self.open().await?;
        self.note_session(&opened).await?;
        self.sweep_in_background(&opened);
        Ok(opened)
    }

    /// Notes the session in the directory, once. Before the first file: from then on the session is live or paused,
    /// however its process ends.
    async fn note_session(&self, opened: &Opened) -> Result<()> {
        if !self.is_pausable() {
            return Ok(());
        }
        let noted = opened.noted.get_or_try_init(|| self.touch_session(opened)).await;
        noted.copied().map_err(|error| {
            refused("note the session in the context directory", self.path(), error)
        })
    }

    /// Only a session whose id the caller named can be found again, and only leases prove who is alive.
    pub fn is_pausable(&self) -> bool {
        self.options.session_is_named && self.disk.is_some()
    }

    /// Notes that the session is used now.
    ///
    /// # Errors
    /// The file system's.
    pub(super) async fn touch_session(&self, opened: &Opened) -> FileResult<()> {
        let Some((shared, _)) = &opened.shared else { return Ok(()) };
        let temporary = shared.temporary()?;
        let (id, keep_paused) = (&self.options.session, self.options.retention.keep_paused);
        let file_system = self.file_system.as_ref();
        session_record::touch(file_system, &opened.root, &temporary, id, keep_paused).await
    }

    /// The directory in use, where it is.
    pub fn opened(&self) -> Option<Arc<Opened>> {
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
    /// Writes a record to its file, whole or not at all, and before it the bytes of its result: no record is there without them.
    ///
    /// # Errors
    /// `UnsafeDirectory` or `Io`
    pub async fn write(&self, filename: &str, file: &ContextFile) -> Result<()> {
        let mut attempts_left = 1;
        loop {
            let opened = self.held().await?;
            match self.create_context(&opened, filename, file).await {
                Ok(()) => {
                    self.note_handle(&opened, file.handle, filename);
                    return Ok(());
                }
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

    /// Notes in the table of handles why a context went.
    pub fn note_removal(&self, handle: Option<u64>, mark: Mark, filename: &str) {
        if let (Some(opened), Some(handle)) = (self.opened(), handle)
            && let Some((shared, _)) = &opened.shared
        {
            // Only the explanation of a missing context is lost without it.
            let _ = shared.handles.add(handle, mark, filename);
        }
    }

    /// Adds a context to the table of handles.
    pub(super) fn note_handle(&self, opened: &Opened, handle: Option<u64>, filename: &str) {
        if let (Some((shared, _)), Some(handle)) = (&opened.shared, handle)
            && let Err(error) = shared.handles.add(handle, Mark::Saved, filename)
        {
            // The context is found by its record.
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
            // What stays is swept: no record names it.
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

    /// Removes a context's file, and then that of its bytes where it has any; whether there was a context.
    ///
    /// # Errors
    /// The file system's.
    pub async fn remove(&self, filename: &str, has_bytes: bool) -> FileResult<bool> {
        let removed = self.remove_file(filename).await?;
        if has_bytes {
            if self.options.durability == Durability::Full {
                // A loss of power does not bring a record back without its bytes.
                self.sync_entries().await?;
            }
            self.remove_file(&layout::bytes_of(filename)).await?;
        }
        Ok(removed)
    }

    /// Removes a file; whether there was one.
    ///
    /// # Errors
    /// The file system's.
    pub async fn remove_file(&self, filename: &str) -> FileResult<bool> {
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
