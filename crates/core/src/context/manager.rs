//! The manager, the directory it has open, and its synchronous members.

use std::{
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use storage::{DirectorySync, Disk, FileSystem, layout};
use text_index::Index;

use super::{
    directory::{SessionLease, SharedDirectory},
    directory_index::DirectoryIndex,
    held::Held,
    in_flight::{Calls, InFlight},
    indexing::Backlog,
    options::ManagerOptions,
    pointer::Pointer,
    refused,
    state::{State, Stats, Taken},
};
use crate::{
    context::vectors::Vectors,
    debug::Debug,
    error::Result,
    safety::{Inspection, Place},
};

/// Keeps the tool outputs of one session.
pub struct Manager {
    pub(super) options: ManagerOptions,
    pub(super) file_system: Arc<dyn FileSystem>,
    /// The disk behind the file system, where sessions can hold leases.
    pub(super) disk: Option<Arc<dyn Disk>>,
    pub(super) debug: Debug,
    pub(super) in_flight: InFlight,
    pub(super) state: Mutex<State>,
    pub(super) index: Index,
    pub(super) backlog: Backlog,
    pub(super) vectors: Mutex<Vectors>,
    /// What others keep in the directory, once somebody searched there.
    pub(super) directory_index: OnceLock<DirectoryIndex>,
    /// The session's id as a JSON token.
    pub(super) session_token: Arc<str>,
    /// The directory with its separator, escaped for the inside of a JSON string.
    escaped_prefix: String,
    /// Stem of temporary names where no lease gives one.
    pub(super) owner: String,
    opened: Mutex<Option<Arc<Opened>>>,
    /// Checks who else can use the directory.
    pub(super) inspection: Arc<Inspection>,
    /// Gives every context the random part of its name.
    identities: RandomState,
    /// Contexts of calls below this number were cleared.
    floor: AtomicU64,
    /// Grows with every change of the pointers.
    generation: AtomicU64,
}

/// The directory in use: it exists, and this session is known to be alive there.
pub(super) struct Opened {
    /// The directory without symbolic links.
    pub root: PathBuf,
    /// Where locks work: the shared directory and this session's lease.
    pub shared: Option<(Arc<SharedDirectory>, SessionLease)>,
    /// Group commit where no shared directory has one.
    sync: DirectorySync,
}

impl Opened {
    pub fn sync(&self) -> &DirectorySync {
        self.shared.as_ref().map_or(&self.sync, |(directory, _)| &directory.sync)
    }
}

/// This process's managers, for what only memory knows, with the scopes of their disks.
type Managers = Mutex<Vec<(u64, Weak<Manager>)>>;

fn managers() -> &'static Managers {
    static MANAGERS: OnceLock<Managers> = OnceLock::new();
    MANAGERS.get_or_init(Mutex::default)
}

impl Manager {
    /// A manager; touches no file.
    #[must_use]
    pub fn new(
        options: ManagerOptions,
        file_system: Arc<dyn FileSystem>,
        debug: Debug,
    ) -> Arc<Self> {
        let session_token = Arc::from(json_text::string_token(&options.session));
        let escaped_prefix = json_text::string_token(&options.prefix).trim_matches('"').to_owned();
        let manager = Arc::new(Self {
            session_token,
            escaped_prefix,
            owner: layout::new_owner(),
            disk: file_system.disk(),
            file_system,
            debug,
            in_flight: InFlight::default(),
            state: Mutex::new(State::new(options.memory_budget)),
            index: Index::with_budget(options.index_budget),
            backlog: Backlog::default(),
            vectors: Mutex::default(),
            directory_index: OnceLock::new(),
            opened: Mutex::default(),
            inspection: Arc::default(),
            identities: RandomState::new(),
            floor: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            options,
        });
        if let Some(disk) = &manager.disk {
            let mut managers = managers().lock().unwrap_or_else(PoisonError::into_inner);
            // Only when the list would grow: looking through it at every construction is quadratic.
            if managers.len() == managers.capacity() {
                managers.retain(|(_, manager)| manager.strong_count() > 0);
            }
            managers.push((disk.scope(), Arc::downgrade(&manager)));
        }
        manager
    }

    /// This process's managers of the same disk, this one among them; with an injected file system
    /// this one alone.
    pub(super) fn neighbours(self: &Arc<Self>) -> Vec<Arc<Self>> {
        let Some(disk) = &self.disk else { return vec![Arc::clone(self)] };
        let own = disk.scope();
        let managers = managers().lock().unwrap_or_else(PoisonError::into_inner);
        let same_disk = managers.iter().filter(|(scope, _)| *scope == own);
        same_disk.filter_map(|(_, manager)| manager.upgrade()).collect()
    }

    /// The random part of the name of a call's context: from random keys, so that nobody else makes
    /// it, and told again from the number alone.
    pub(super) fn identity(&self, sequence: u64) -> u64 {
        self.identities.hash_one(sequence)
    }

    /// Whether the call's context was cleared.
    pub(super) fn is_cleared(&self, sequence: u64) -> bool {
        sequence < self.floor.load(Ordering::Acquire)
    }

    /// Takes out everything of calls below `cutoff`.
    pub(super) fn take_before(&self, cutoff: u64) -> Taken {
        self.floor.fetch_max(cutoff, Ordering::AcqRel);
        let taken = self.state().take_before(cutoff);
        self.changed();
        taken
    }

    /// Counts and bytes by tier.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.state().stats()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory in use, created when it is not there.
    pub(super) async fn open(&self) -> Result<Arc<Opened>> {
        if let Some(opened) = self.opened() {
            return Ok(opened);
        }
        let directory = Path::new(&self.options.directory);
        let failed = |error| refused("create the context directory", directory, error);
        self.file_system.create_directories(directory).await.map_err(failed)?;
        let root = self.file_system.canonical(directory).await.map_err(failed)?;
        self.check_directory()?;
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

    /// Checks the owner and the mode of the directory, once it exists.
    ///
    /// # Errors
    /// `UnsafeDirectory`
    pub(super) fn check_directory(&self) -> Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let place = Place {
            what: "context directory",
            setting: "contextDir",
            directories: &[Path::new(&self.options.directory)],
            files: &[],
            own_files: &[],
        };
        self.inspection.check(disk.as_ref(), &place, self.options.trust, &self.debug)
    }

    pub(super) fn opened(&self) -> Option<Arc<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets go of the directory and the session's lease there: the next save opens it anew. A save
    /// under way keeps what it uses until it is done.
    pub(super) fn reopen(&self) {
        // The lease goes after the lock: giving it up touches files.
        let old = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(old);
    }

    /// Ends the session without waiting for anything; a later save begins it again.
    pub fn end(&self) {
        self.reopen();
    }

    /// The session's lease goes when nothing of the session needs it: no save is under way and no
    /// file is left.
    pub(super) fn release_when_idle(&self) {
        self.release_if(|calls| calls.is_idle() && self.state().disk_files == 0);
    }

    /// Lets go of the directory when `is_over` says so. No save begins between the question and the
    /// answer's effect; what giving up the lease costs comes after.
    pub(super) fn release_if(&self, is_over: impl FnOnce(&Calls) -> bool) {
        let released = {
            let calls = self.in_flight.calls();
            let released = is_over(&calls)
                .then(|| self.opened.lock().unwrap_or_else(PoisonError::into_inner).take());
            drop(calls);
            released
        };
        drop(released);
    }

    /// A record that is in memory, without I/O.
    #[must_use]
    pub fn peek(&self, path: &str) -> Option<Held> {
        let relative = self.locate_below(path, None).ok()?;
        self.in_memory(&relative)
    }

    pub(super) fn in_memory(&self, relative: &str) -> Option<Held> {
        self.in_memory_if(relative, |_| true)
    }

    /// A record that only memory holds, when this manager made it.
    pub(super) fn in_memory_alone(&self, relative: &str) -> Option<Held> {
        let stamp = layout::parse_context(relative)?;
        // Told without the lock: there may be thousands of managers.
        let is_ours = stamp.random == self.identity(stamp.counter);
        is_ours.then(|| self.in_memory_if(relative, |pointer| !pointer.on_disk)).flatten()
    }

    fn in_memory_if(&self, relative: &str, is_wanted: impl Fn(&Pointer) -> bool) -> Option<Held> {
        let mut state = self.state();
        let sequence = state.sequence_of(relative)?;
        state.pointers.get(&sequence).filter(|pointer| is_wanted(pointer))?;
        let record = state.memory.get(sequence)?.clone();
        state.memory_hits += 1;
        Some(record)
    }

    /// How many contexts have a pointer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().pointers.len()
    }

    /// There is no pointer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Another number than before whenever the pointers may have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The pointers changed.
    pub(super) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// At most `limit` pointers from call number `start` on, in the order of the calls: their
    /// numbers, and a JSON array of rows (see [`Pointer::write_row`]).
    #[must_use]
    pub fn pointers_from(&self, start: u64, limit: usize) -> (Vec<u64>, String) {
        let state = self.state();
        Self::show(
            state.pointers.range(start..).take(limit).map(|(&number, pointer)| (number, pointer)),
        )
    }

    /// At most `limit` pointers, newest first, as [`Manager::pointers_from`]: of a tool (a JSON token)
    /// and of calls before that of a context, when those are given. `None` when this manager has no
    /// such context.
    #[must_use]
    pub fn latest_pointers(
        &self,
        tool_name: Option<&str>,
        before: Option<&str>,
        limit: usize,
    ) -> Option<(Vec<u64>, String)> {
        let before = match before {
            Some(path) => Some(self.locate_below(path, None).ok()?),
            None => None,
        };
        let state = self.state();
        let end = match before {
            Some(relative) => state.sequence_of(&relative)?,
            None => u64::MAX,
        };
        let latest = state.pointers.range(..end).rev().filter(|(_, pointer)| {
            tool_name.is_none_or(|tool_name| pointer.tool_name() == tool_name)
        });
        Some(Self::show(latest.take(limit).map(|(&number, pointer)| (number, pointer))))
    }

    /// The pointers of a query (a JSON token), as [`Manager::pointers_from`].
    #[must_use]
    pub fn pointers_for_query(&self, query: &str) -> (Vec<u64>, String) {
        let state = self.state();
        Self::show_all(&state, state.by_query.get(query))
    }

    /// The pointers of a task (a JSON token), as [`Manager::pointers_from`].
    #[must_use]
    pub fn pointers_for_task(&self, task: &str) -> (Vec<u64>, String) {
        let state = self.state();
        Self::show_all(&state, state.by_task.get(task))
    }

    pub(super) fn show_all(state: &State, sequences: &[u64]) -> (Vec<u64>, String) {
        Self::show(
            sequences.iter().filter_map(|&number| Some((number, state.pointers.get(&number)?))),
        )
    }

    fn show<'a>(pointers: impl Iterator<Item = (u64, &'a Pointer)>) -> (Vec<u64>, String) {
        let mut sequences = Vec::new();
        let mut text = String::from("[");
        for (sequence, pointer) in pointers {
            if !sequences.is_empty() {
                text.push(',');
            }
            sequences.push(sequence);
            pointer.write_row(&mut text);
        }
        text.push(']');
        (sequences, text)
    }

    pub(super) fn show_one(&self, pointer: &Pointer, out: &mut String) {
        pointer.write_json(&self.escaped_prefix, out);
    }
}
