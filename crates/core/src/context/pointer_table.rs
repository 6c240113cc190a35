//! What a manager remembers of its outputs: which calls there were and which of them are in flight, the
//! pointer of each output, its handle, and the records that the memory cache keeps.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use storage::layout::{self, ContextStamp};
use tasks::{CallTracker, Calls, TrackedCall};

use super::{
    context_directory::ContextFile,
    held::Held,
    pointer::Pointer,
    state::{State, Taken},
};

/// The outputs of one manager, by the numbers of the calls that saved them.
///
/// The state's lock is held for a moment at a time, and never while a file is read or written.
pub(super) struct PointerTable {
    saves: CallTracker,
    state: Mutex<State>,
    /// Gives every context the random part of its name.
    identities: RandomState,
    /// Contexts of calls below this number were cleared.
    floor: AtomicU64,
    /// Grows with every change of the pointers.
    generation: AtomicU64,
}

/// A pointer that was removed from the table.
pub(super) struct Removed {
    pub sequence: u64,
    pub pointer: Pointer,
    /// A save is writing the record from memory to disk, and removes the file when it is done.
    pub is_spilling: bool,
}

/// A record that is to leave the memory cache for the disk.
pub(super) struct Spilling {
    pub sequence: u64,
    pub filename: String,
    pub file: ContextFile,
}

impl PointerTable {
    /// An empty table whose memory cache keeps at most `memory_budget` bytes. Calls are numbered from `first_call` on.
    pub fn new(memory_budget: usize, first_call: u64) -> Self {
        Self {
            saves: CallTracker::starting_at(first_call),
            state: Mutex::new(State::new(memory_budget)),
            identities: RandomState::new(),
            floor: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls.
impl PointerTable {
    /// Numbers a save, in the order of the calls.
    pub fn begin(&self) -> u64 {
        self.saves.begin()
    }

    /// Ends the save when what is returned is dropped.
    pub fn tracked(&self, sequence: u64) -> TrackedCall {
        self.saves.tracked(sequence)
    }

    /// How many saves were called so far.
    pub fn calls(&self) -> u64 {
        self.saves.next()
    }

    /// Waits until no save below `sequence` is in flight.
    pub async fn wait_before(&self, sequence: u64) {
        self.saves.wait_before(sequence).await;
    }

    /// Waits until the save is not in flight.
    pub async fn wait_for(&self, sequence: u64) {
        self.saves.wait_for(sequence).await;
    }

    /// Waits for the saves in flight: one of them may be writing the file of a context that is gone, and
    /// removes it then.
    pub async fn wait_for_all(&self) {
        self.saves.wait_for_all().await;
    }

    /// Runs `action` when no save is in flight and no file is left. No save begins meanwhile.
    pub fn when_unused<R>(&self, action: impl FnOnce() -> R) -> Option<R> {
        self.when(|calls| calls.is_idle() && self.state().disk_files == 0, action)
    }

    /// Runs `action` when no save is in flight and no pointer is left. No save begins meanwhile.
    pub fn when_empty<R>(&self, action: impl FnOnce() -> R) -> Option<R> {
        self.when(|calls| calls.is_idle() && self.is_empty(), action)
    }

    /// Runs `action` when `count` saves were called and no more. No save begins meanwhile.
    pub fn when_called<R>(&self, count: u64, action: impl FnOnce() -> R) -> Option<R> {
        self.when(|calls| calls.count() == count, action)
    }

    fn when<R>(&self, is_so: impl FnOnce(&Calls) -> bool, action: impl FnOnce() -> R) -> Option<R> {
        let calls = self.saves.calls();
        is_so(&calls).then(action)
    }
}

/// Names of contexts.
impl PointerTable {
    /// The random part of the name of a call's context: made with random keys, so that no other process
    /// makes the same, and made again from the number alone.
    pub fn identity(&self, sequence: u64) -> u64 {
        self.identities.hash_one(sequence)
    }

    /// Whether a call of this manager made the name.
    pub fn made(&self, stamp: &ContextStamp) -> bool {
        stamp.random == self.identity(stamp.counter)
    }

    /// Whether the call's context was cleared.
    pub fn is_cleared(&self, sequence: u64) -> bool {
        sequence < self.floor.load(Ordering::Acquire)
    }

    /// The number of the call that made a file name, unless it was cleared. Takes no lock.
    pub fn recognise(&self, filename: &str) -> Option<u64> {
        let stamp = layout::parse_context(filename)?;
        (self.made(&stamp) && !self.is_cleared(stamp.counter)).then_some(stamp.counter)
    }

    /// The file of the latest context of a handle that is still there.
    pub fn filename_of(&self, handle: u64) -> Option<String> {
        self.state().filename_of(handle)
    }
}

/// Changes.
impl PointerTable {
    /// Remembers an output, and its record where memory keeps that. `false` when the call was cleared
    /// meanwhile: its file stays, without a pointer.
    pub fn insert(
        &self,
        sequence: u64,
        pointer: Pointer,
        held: Option<Held>,
        redactions: u64,
    ) -> bool {
        let mut state = self.state();
        state.redactions += redactions;
        if self.is_cleared(sequence) {
            state.has_unknown_files |= pointer.on_disk;
            return false;
        }
        state.insert(sequence, pointer);
        if let Some(held) = held {
            state.memory.insert(sequence, held);
        }
        drop(state);
        self.changed();
        true
    }

    /// Notes that the pointer of a call names a file that another manager made.
    pub fn adopt(&self, filename: &str, sequence: u64) {
        self.state().adopted.insert(filename.into(), sequence);
    }

    /// Removes the pointer of a file, with the record in memory.
    pub fn remove(&self, filename: &str) -> Option<Removed> {
        let removed = {
            let mut state = self.state();
            let sequence = state.sequence_of(filename)?;
            let is_spilling = state.memory.is_leaving(sequence);
            Removed { sequence, pointer: state.remove(sequence)?, is_spilling }
        };
        self.changed();
        Some(removed)
    }

    /// Takes out everything of calls below `cutoff`.
    pub fn take_before(&self, cutoff: u64) -> Taken {
        self.floor.fetch_max(cutoff, Ordering::AcqRel);
        let taken = self.state().take_before(cutoff);
        self.changed();
        taken
    }

    /// Marks the files of calls below `cutoff` as removed and returns their pointers: their contexts are no
    /// longer served from memory either.
    pub fn leave_disk(&self, cutoff: u64) -> Vec<Pointer> {
        let mut state = self.state();
        let state = &mut *state;
        let mut left = Vec::new();
        for (&sequence, pointer) in state.pointers.range_mut(..cutoff) {
            if pointer.on_disk {
                state.disk_files -= 1;
                state.disk_bytes -= pointer.size;
                pointer.on_disk = false;
                state.memory.remove(sequence);
                left.push(pointer.clone());
            }
        }
        left
    }

    /// Notes that files may be left that no pointer names.
    pub fn note_unknown_files(&self) {
        self.state().has_unknown_files = true;
    }

    /// Whether files may be left that no pointer names.
    pub fn has_unknown_files(&self) -> bool {
        self.state().has_unknown_files
    }

    /// As [`PointerTable::has_unknown_files`]; the caller looks for them.
    pub fn take_unknown_files(&self) -> bool {
        std::mem::take(&mut self.state().has_unknown_files)
    }

    /// Another number than before whenever the pointers may have changed.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// The memory cache.
impl PointerTable {
    /// The record of a file, when memory has it. Counts as a load.
    pub fn in_memory(&self, filename: &str) -> Option<Held> {
        self.in_memory_if(filename, |_| true)
    }

    /// As [`PointerTable::in_memory`], when this manager made the context and no file has it.
    pub fn in_memory_only(&self, filename: &str) -> Option<Held> {
        // Decided without the lock: there may be thousands of managers.
        let is_ours = self.made(&layout::parse_context(filename)?);
        is_ours.then(|| self.in_memory_if(filename, |pointer| !pointer.on_disk)).flatten()
    }

    fn in_memory_if(&self, filename: &str, is_wanted: impl Fn(&Pointer) -> bool) -> Option<Held> {
        let mut state = self.state();
        let sequence = state.sequence_of(filename)?;
        state.pointers.get(&sequence).filter(|pointer| is_wanted(pointer))?;
        let record = state.memory.take_up(sequence)?.clone();
        state.memory_hits += 1;
        state.touch(sequence);
        Some(record)
    }

    /// The record of a file, when memory has it. Counts as nothing.
    pub fn cached(&self, filename: &str) -> Option<Held> {
        let state = self.state();
        let sequence = state.sequence_of(filename)?;
        state.memory.get(sequence).cloned()
    }

    /// The pointers of what memory alone has.
    pub fn unwritten(&self) -> Vec<Pointer> {
        let state = self.state();
        let in_memory = state.pointers.iter().filter(|(sequence, pointer)| {
            !pointer.on_disk && state.memory.get(**sequence).is_some()
        });
        in_memory.map(|(_, pointer)| pointer.clone()).collect()
    }

    /// Counts a load that memory did not serve.
    pub fn count_load(&self, is_found: bool) {
        let mut state = self.state();
        if is_found {
            state.disk_hits += 1;
        } else {
            state.misses += 1;
        }
    }

    /// Lets records go that are on disk already while the cache is over its budget; returns the first that
    /// has to be written. The caller reports what became of it.
    pub fn next_to_spill(&self) -> Option<Spilling> {
        let mut state = self.state();
        loop {
            let (sequence, held) = state.memory.next_over_budget()?;
            match state.pointers.get(&sequence) {
                Some(pointer) if !pointer.on_disk => {
                    let (filename, handle) = (pointer.filename().to_owned(), pointer.handle);
                    drop(state);
                    let file = ContextFile { handle, record: held.record(), bytes: held.bytes() };
                    return Some(Spilling { sequence, filename, file });
                }
                _ => drop(state.memory.remove(sequence)),
            }
        }
    }

    /// The record was written. `false` when the context is gone: the file is to be removed.
    pub fn spilled(&self, sequence: u64) -> bool {
        self.state().spilled(sequence)
    }

    /// The record could not be written, and stays in memory.
    pub fn keep(&self, sequence: u64) {
        self.state().memory.keep(sequence);
    }
}
