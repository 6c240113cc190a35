//! The state that the operations of one manager share (options, directory, pointers, index), and the list of these
//! states of all managers in this process. Several managers may have the same session id; each has a `Session` of its
//! own.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use storage::FileSystem;
use tokio::sync::OnceCell;

use super::{
    bounds, context_directory::ContextDirectory, handle, options::ManagerOptions,
    output_index::OutputIndex, pointer_table::PointerTable, redemption, resume,
};
use crate::{debug::Debug, error::Result};

/// The parts that the operations of a manager work on. They do not depend on each other, except that the index reads
/// records from the directory.
pub(super) struct Session {
    pub options: Arc<ManagerOptions>,
    /// The session's id as a JSON token.
    pub token: Arc<str>,
    pub debug: Debug,
    pub directory: Arc<ContextDirectory>,
    pub pointers: PointerTable,
    pub index: Arc<OutputIndex>,
    /// Set once the pointers of the session's earlier processes are restored, if the options ask for that.
    pub resumed: OnceCell<()>,
}

/// All sessions of this process with the scopes of their disks, to find records that are only in memory.
type Sessions = Mutex<Vec<(u64, Weak<Session>)>>;

fn sessions() -> &'static Sessions {
    static SESSIONS: OnceLock<Sessions> = OnceLock::new();
    SESSIONS.get_or_init(Mutex::default)
}

impl Session {
    /// A session, listed for the others of this process. Touches no file.
    pub fn new(
        options: ManagerOptions,
        file_system: Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        let session = Self::unlisted(options, file_system, debug);
        if bounds::is_bounded(&session.options.retention) {
            session.pointers.keep_order_of_use();
        }
        if let Some(scope) = session.directory.scope() {
            let mut sessions = sessions().lock().unwrap_or_else(PoisonError::into_inner);
            // Only when the list would grow: doing this for each new session would take quadratic time.
            if sessions.len() == sessions.capacity() {
                sessions.retain(|(_, session)| session.strong_count() > 0);
            }
            sessions.push((scope, Arc::downgrade(&session)));
        }
        session
    }

    /// A session that reads contexts of others and saves none.
    pub fn unlisted(
        options: ManagerOptions,
        file_system: Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        let options = Arc::new(options);
        let directory =
            Arc::new(ContextDirectory::new(Arc::clone(&options), file_system, debug.clone()));
        Arc::new(Self {
            token: Arc::from(json_text::string_token(&options.session)),
            debug,
            pointers: PointerTable::new(options.memory_budget, resume::first_call(&options)),
            resumed: OnceCell::new(),
            index: Arc::new(OutputIndex::new(options.index_budget, Arc::clone(&directory))),
            directory,
            options,
        })
    }

    /// This process's sessions on the same disk, including this one; with an injected file system only this one.
    pub fn neighbours(self: &Arc<Self>) -> Vec<Arc<Self>> {
        let Some(own) = self.directory.scope() else { return vec![Arc::clone(self)] };
        let sessions = sessions().lock().unwrap_or_else(PoisonError::into_inner);
        let same_disk = sessions.iter().filter(|(scope, _)| *scope == own);
        same_disk.filter_map(|(_, session)| session.upgrade()).collect()
    }

    /// Converts a path or a handle to a path relative to the directory.
    ///
    /// # Errors `OutsideDirectory` if the path leads out of the directory, `NotFound` for an unknown handle.
    pub async fn locate(self: &Arc<Self>, path: &str) -> Result<String> {
        match handle::parse(path) {
            Some(handle) => redemption::filename_of(self, handle).await,
            None => self.directory.locate(path).await,
        }
    }

    /// As [`Session::locate`], without I/O: symbolic links are not resolved.
    ///
    /// # Errors
    /// As [`Session::locate`].
    pub fn locate_by_spelling(&self, path: &str) -> Result<String> {
        match handle::parse(path) {
            Some(handle) => {
                self.pointers.filename_of(handle).ok_or_else(|| handle::not_found(path))
            }
            None => self.directory.locate_by_spelling(path),
        }
    }

    /// The number of the call that saved the context at `path`, derived from the path without a lock.
    pub fn recognise(&self, path: &str) -> Option<u64> {
        self.pointers.recognise(self.directory.filename_in(path)?)
    }

    /// Whether the session's contexts on disk exceed its bounds.
    pub fn is_over_bounds(&self) -> bool {
        let retention = &self.options.retention;
        let stats = self.pointers.stats();
        stats.disk_contexts > retention.max_live_files as u64
            || stats.disk_bytes > retention.max_live_bytes
    }

    /// As [`Session::recognise`], also for adopted contexts of other processes of the session. Takes the lock of the
    /// pointers.
    pub fn sequence_of(&self, path: &str) -> Option<u64> {
        let filename = self.directory.filename_in(path)?;
        self.pointers.recognise(filename).or_else(|| self.pointers.adopted(filename))
    }

    /// Releases the session's lease if no save is in flight and no file is left.
    pub fn release_when_unused(&self) {
        // The lease is dropped after the lock on the calls, because that touches files.
        let released = self.pointers.when_unused(|| self.directory.close());
        drop(released);
    }
}
