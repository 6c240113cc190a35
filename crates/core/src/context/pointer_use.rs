//! The order in which a manager's contexts on disk were used, and which of them are pinned; `bounds` removes by it.

use super::{
    pointer::Pointer,
    pointer_table::{PointerTable, Removed},
};

/// The bounds of a live session.
impl PointerTable {
    /// Starts to record the order of use.
    pub fn keep_order_of_use(&self) {
        self.state().disk_uses.get_or_insert_default();
    }

    /// Records that a file was read.
    pub fn touch(&self, filename: &str) {
        let mut state = self.state();
        if state.disk_uses.is_some()
            && let Some(sequence) = state.sequence_of(filename)
        {
            state.touch(sequence);
        }
    }

    /// Exempts a context from the bounds, or ends the exemption; returns whether it exists.
    pub fn pin(&self, filename: &str, is_pinned: bool) -> bool {
        let mut state = self.state();
        let Some(sequence) = state.sequence_of(filename) else { return false };
        if is_pinned {
            state.pinned.insert(sequence);
        } else {
            state.pinned.remove(&sequence);
        }
        true
    }

    /// Removes the pointer of the least recently used context on disk, if there are more files or bytes than allowed.
    /// Never the latest one, nor a pinned one.
    pub fn take_excess(&self, max_files: usize, max_bytes: u64) -> Option<Removed> {
        let removed = {
            let mut state = self.state();
            if state.disk_files <= max_files as u64 && state.disk_bytes <= max_bytes {
                return None;
            }
            let uses = state.disk_uses.as_ref()?;
            let mut candidates = uses
                .oldest_first()
                .filter(|number| {
                    let is_on_disk = |pointer: &Pointer| pointer.on_disk;
                    state.pointers.get(number).is_some_and(is_on_disk)
                        && !state.pinned.contains(number)
                })
                .peekable();
            let sequence = candidates.next()?;
            // The most recently used context is that of the call that is just ending.
            candidates.peek()?;
            drop(candidates);
            let is_spilling = state.memory.is_leaving(sequence);
            Removed { sequence, pointer: state.remove(sequence)?, is_spilling }
        };
        self.changed();
        Some(removed)
    }
}
