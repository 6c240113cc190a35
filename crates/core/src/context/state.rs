//! The state that every save changes, behind one lock: pointers, groups, the memory cache and the counts.
//! `pointer_table` wraps it.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use storage::layout;

use super::{
    call_set::CallSet,
    handle_groups::HandleGroups,
    pointer::{Groups, Pointer},
    recent_use::RecentUse,
    tiers::MemoryTier,
};

/// The state that every save changes.
pub(super) struct State {
    pub pointers: BTreeMap<u64, Pointer>,
    /// The numbers of the calls that have a pointer.
    pub calls: CallSet,
    pub by_query: Groups,
    pub by_task: Groups,
    pub by_handle: HandleGroups,
    /// The call numbers of contexts that another manager saved.
    pub adopted: FxHashMap<Box<str>, u64>,
    pub memory: MemoryTier,
    /// The order of use of contexts on disk, if their number or size is bounded.
    pub disk_uses: Option<RecentUse>,
    /// Contexts that the bounds do not remove.
    pub pinned: FxHashSet<u64>,
    pub disk_files: u64,
    pub disk_bytes: u64,
    /// Whether pointers were removed while their files were kept.
    pub has_unknown_files: bool,
    pub memory_hits: u64,
    pub disk_hits: u64,
    pub misses: u64,
    pub spills: u64,
    pub redactions: u64,
}

impl State {
    pub fn new(memory_budget: usize) -> Self {
        Self {
            pointers: BTreeMap::new(),
            calls: CallSet::default(),
            by_query: Groups::default(),
            by_task: Groups::default(),
            by_handle: HandleGroups::default(),
            adopted: FxHashMap::default(),
            memory: MemoryTier::new(memory_budget),
            disk_uses: None,
            pinned: FxHashSet::default(),
            disk_files: 0,
            disk_bytes: 0,
            has_unknown_files: false,
            memory_hits: 0,
            disk_hits: 0,
            misses: 0,
            spills: 0,
            redactions: 0,
        }
    }

    pub fn insert(&mut self, sequence: u64, mut pointer: Pointer) {
        if pointer.on_disk {
            self.disk_files += 1;
            self.disk_bytes += pointer.size;
            self.touch(sequence);
        }
        pointer.query = pointer.query.map(|token| self.by_query.insert(&token, sequence));
        pointer.task = pointer.task.map(|token| self.by_task.insert(&token, sequence));
        if let Some(handle) = pointer.handle {
            self.by_handle.insert(handle, sequence);
        }
        self.pointers.insert(sequence, pointer);
        self.calls.insert(sequence);
    }

    pub fn remove(&mut self, sequence: u64) -> Option<Pointer> {
        let pointer = self.pointers.remove(&sequence)?;
        self.calls.remove(sequence);
        if let Some(token) = &pointer.query {
            self.by_query.remove(token, sequence);
        }
        if let Some(token) = &pointer.task {
            self.by_task.remove(token, sequence);
        }
        if let Some(handle) = pointer.handle {
            self.by_handle.remove(handle, sequence);
        }
        self.adopted.remove(pointer.filename());
        self.pinned.remove(&sequence);
        if let Some(uses) = &mut self.disk_uses {
            uses.remove(sequence);
        }
        self.memory.remove(sequence);
        self.left_disk(&pointer);
        Some(pointer)
    }

    /// Records a use of a context on disk.
    pub fn touch(&mut self, sequence: u64) {
        if let Some(uses) = &mut self.disk_uses {
            uses.touch(sequence);
        }
    }

    pub fn left_disk(&mut self, pointer: &Pointer) {
        if pointer.on_disk {
            self.disk_files -= 1;
            self.disk_bytes -= pointer.size;
        }
    }

    /// Removes everything of calls below `sequence`.
    pub fn take_before(&mut self, sequence: u64) -> Taken {
        let has_spilling = self.memory.has_leaving();
        self.calls.remove_before(sequence);
        let later = self.pointers.split_off(&sequence);
        if later.is_empty() {
            let memory = MemoryTier::new(self.memory.budget());
            (self.disk_files, self.disk_bytes) = (0, 0);
            self.pinned.clear();
            self.disk_uses = self.disk_uses.is_some().then(RecentUse::default);
            return Taken {
                pointers: std::mem::take(&mut self.pointers),
                has_spilling,
                _memory: std::mem::replace(&mut self.memory, memory),
                _groups: [&mut self.by_query, &mut self.by_task].map(std::mem::take),
                _handles: std::mem::take(&mut self.by_handle),
                _adopted: std::mem::take(&mut self.adopted),
            };
        }
        let pointers = std::mem::replace(&mut self.pointers, later);
        for (&sequence, pointer) in &pointers {
            self.memory.remove(sequence);
            self.left_disk(pointer);
            if let Some(uses) = &mut self.disk_uses {
                uses.remove(sequence);
            }
        }
        self.pinned.retain(|pinned| *pinned >= sequence);
        self.by_query.remove_before(sequence);
        self.by_task.remove_before(sequence);
        self.by_handle.remove_before(sequence);
        self.adopted.retain(|_, adopted| *adopted >= sequence);
        Taken {
            pointers,
            has_spilling,
            _memory: MemoryTier::new(0),
            _groups: [(); 2].map(|()| Groups::default()),
            _handles: HandleGroups::default(),
            _adopted: FxHashMap::default(),
        }
    }

    /// A record was written from memory to disk. Returns `false` if the context was removed.
    pub fn spilled(&mut self, sequence: u64) -> bool {
        let Some(pointer) = self.pointers.get_mut(&sequence) else { return false };
        pointer.on_disk = true;
        self.disk_files += 1;
        self.disk_bytes += pointer.size;
        self.spills += 1;
        self.memory.remove(sequence);
        self.touch(sequence);
        true
    }

    /// Calls `visit` with at most `limit` pointers from call number `start` on; returns the number at which
    /// the next visit starts.
    pub fn visit_from(
        &self,
        start: u64,
        limit: usize,
        mut visit: impl FnMut(u64, &Pointer, &MemoryTier),
    ) -> Option<u64> {
        let mut pointers = self.pointers.range(start..);
        for (&sequence, pointer) in pointers.by_ref().take(limit) {
            visit(sequence, pointer, &self.memory);
        }
        pointers.next().map(|(&sequence, _)| sequence)
    }

    /// The number of the call that saved or adopted the context.
    pub fn sequence_of(&self, relative: &str) -> Option<u64> {
        if let Some(&adopted) = self.adopted.get(relative) {
            return Some(adopted);
        }
        let sequence = layout::parse_context(relative)?.counter;
        let pointer = self.pointers.get(&sequence)?;
        (pointer.filename() == relative).then_some(sequence)
    }

    /// The file of the latest existing context with a handle.
    pub fn filename_of(&self, handle: u64) -> Option<String> {
        let latest = self.by_handle.latest(handle)?;
        Some(self.pointers.get(&latest)?.filename().to_owned())
    }

    pub fn stats(&self) -> Stats {
        Stats {
            contexts: self.pointers.len(),
            memory_contexts: self.memory.len(),
            memory_bytes: self.memory.bytes(),
            disk_contexts: self.disk_files,
            disk_bytes: self.disk_bytes,
            memory_hits: self.memory_hits,
            disk_hits: self.disk_hits,
            misses: self.misses,
            spills: self.spills,
            redactions: self.redactions,
        }
    }
}

/// What was removed from a state. The caller drops it outside the lock, because freeing much memory takes long.
pub(super) struct Taken {
    pub pointers: BTreeMap<u64, Pointer>,
    /// Whether some records are being written to disk; the writer removes their files afterwards.
    pub has_spilling: bool,
    _memory: MemoryTier,
    _groups: [Groups; 2],
    _handles: HandleGroups,
    _adopted: FxHashMap<Box<str>, u64>,
}

/// Counts and bytes in memory and on disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stats {
    /// The number of contexts with a pointer.
    pub contexts: usize,
    /// The number of contexts in the memory cache.
    pub memory_contexts: usize,
    /// The size of the memory cache in bytes.
    pub memory_bytes: usize,
    /// The number of contexts on disk.
    pub disk_contexts: u64,
    /// Their size in bytes.
    pub disk_bytes: u64,
    /// Loads served from memory.
    pub memory_hits: u64,
    /// Loads served from disk.
    pub disk_hits: u64,
    /// Loads that found no valid record.
    pub misses: u64,
    /// Small outputs that were written to disk because the memory cache exceeded its budget.
    pub spills: u64,
    /// Secrets that were redacted in saves.
    pub redactions: u64,
}
