//! The in-memory state of a manager: the calls and which of them are in flight, the pointer and the handle of each
//! output, and the memory cache of records.

use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
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
/// The state's lock is held for short times only, and never during file I/O.
pub(super) struct PointerTable {
    saves: CallTracker,
    state: Mutex<State>,
    /// The keys of the hash that gives every context the random part of its name.
    identities: RandomState,
    /// Contexts of calls below this number are cleared.
    floor: AtomicU64,
    /// Incremented by every change of the pointers.
    generation: AtomicU64,
}

/// A pointer that was removed from the table.
pub(super) struct Removed {
    pub sequence: u64,
    pub pointer: Pointer,
    /// Whether a save is writing the record from memory to disk; it removes the file when it has finished.
    pub is_spilling: bool,
}

/// A record to be evicted from the memory cache, which is written to disk first.
pub(super) struct Spilling {
    pub sequence: u64,
    pub filename: String,
    pub file: ContextFile,
}

impl PointerTable {
    /// An empty table with at most `memory_budget` bytes in the memory cache. Calls are numbered from `first_call` on.
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
    /// Assigns a number to a save, in the order of the calls.
    pub fn begin(&self) -> u64 {
        self.saves.begin()
    }

    /// As [`PointerTable::begin`], for `count` saves.
    pub fn begin_all(&self, count: u64) -> Range<u64> {
        self.saves.begin_all(count)
    }

    /// The save ends when the returned guard is dropped.
    pub fn tracked(&self, sequence: u64) -> TrackedCall {
        self.saves.tracked(sequence)
    }

    /// The number of saves that were called.
    pub fn calls(&self) -> u64 {
        self.saves.next()
    }

    /// Whether at most one save is in flight.
    pub fn is_only_save(&self) -> bool {
        self.saves.calls().in_flight() <= 1
    }

    /// Waits until no save below `sequence` is in flight.
    pub async fn wait_before(&self, sequence: u64) {
        self.saves.wait_before(sequence).await;
    }

    /// Waits until the save is not in flight.
    pub async fn wait_for(&self, sequence: u64) {
        self.saves.wait_for(sequence).await;
    }

    /// Waits for the saves in flight: one of them may be writing the file of a context that was removed, and then
    /// removes it.
    pub async fn wait_for_all(&self) {
        self.saves.wait_for_all().await;
    }

    /// Runs `action` if no save is in flight and no file is left. No save begins meanwhile.
    pub fn when_unused<R>(&self, action: impl FnOnce() -> R) -> Option<R> {
        self.when(|calls| calls.is_idle() && self.state().disk_files == 0, action)
    }

    /// Runs `action` if no save is in flight and no pointer is left. No save begins meanwhile.
    pub fn when_empty<R>(&self, action: impl FnOnce() -> R) -> Option<R> {
        self.when(|calls| calls.is_idle() && self.is_empty(), action)
    }

    /// Runs `action` if exactly `count` saves were called. No save begins meanwhile.
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
    /// The random part of the name of a call's context: a keyed hash of the call's number, which no other process
    /// produces and which need not be stored.
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

    /// The file of the latest existing context with a handle.
    pub fn filename_of(&self, handle: u64) -> Option<String> {
        self.state().filename_of(handle)
    }
}

/// Changes.
impl PointerTable {
    /// Inserts an output, with its record if that is to be cached. Returns `false` if the call was cleared meanwhile:
    /// its file is kept without a pointer.
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

    /// Records that the pointer of a call refers to a file of another manager.
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

    /// Removes everything of calls below `cutoff`.
    pub fn take_before(&self, cutoff: u64) -> Taken {
        self.floor.fetch_max(cutoff, Ordering::AcqRel);
        let taken = self.state().take_before(cutoff);
        self.changed();
        taken
    }

    /// Marks the files of calls below `cutoff` as removed and returns their pointers. Their records are no longer
    /// served from memory either.
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

    /// Records that files without a pointer may exist.
    pub fn note_unknown_files(&self) {
        self.state().has_unknown_files = true;
    }

    /// Whether files without a pointer may exist.
    pub fn has_unknown_files(&self) -> bool {
        self.state().has_unknown_files
    }

    /// As [`PointerTable::has_unknown_files`], and resets it: the caller looks for them.
    pub fn take_unknown_files(&self) -> bool {
        std::mem::take(&mut self.state().has_unknown_files)
    }

    /// A number that changes whenever the pointers may have changed.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// The memory cache.
impl PointerTable {
    /// The record of a file, if cached. Counts as a load.
    pub fn in_memory(&self, filename: &str) -> Option<Held> {
        self.in_memory_if(filename, |_| true)
    }

    /// As [`PointerTable::in_memory`], if this manager made the context and it has no file.
    pub fn in_memory_only(&self, filename: &str) -> Option<Held> {
        // Decided without the lock, because there may be thousands of managers.
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

    /// The record of a file, if cached. Does not count as a load.
    pub fn cached(&self, filename: &str) -> Option<Held> {
        let state = self.state();
        let sequence = state.sequence_of(filename)?;
        state.memory.get(sequence).cloned()
    }

    /// The pointers of contexts that are only in memory.
    pub fn unwritten(&self) -> Vec<Pointer> {
        let state = self.state();
        let in_memory = state.pointers.iter().filter(|(sequence, pointer)| {
            !pointer.on_disk && state.memory.get(**sequence).is_some()
        });
        in_memory.map(|(_, pointer)| pointer.clone()).collect()
    }

    /// Counts a load that was not served from memory.
    pub fn count_load(&self, is_found: bool) {
        let mut state = self.state();
        if is_found {
            state.disk_hits += 1;
        } else {
            state.misses += 1;
        }
    }

    /// Evicts records that are on disk while the cache exceeds its budget; returns the first that has to be written
    /// back. The caller reports the result with [`PointerTable::spilled`] or [`PointerTable::keep`].
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

    /// Reports that the record was written. Returns `false` if the context was removed: the caller removes the file.
    pub fn spilled(&self, sequence: u64) -> bool {
        self.state().spilled(sequence)
    }

    /// Reports that the record could not be written: it stays in memory.
    pub fn keep(&self, sequence: u64) {
        self.state().memory.keep(sequence);
    }
}
