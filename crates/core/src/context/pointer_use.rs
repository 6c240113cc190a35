//! Which of a manager's contexts were used last and which are pinned: what the bounds of a live session leave.

use super::{
    pointer::Pointer,
    pointer_table::{PointerTable, Removed},
};

/// The bounds of a live session.
impl PointerTable {
    /// From now on the order is kept in which contexts on disk are used.
    pub fn keep_order_of_use(&self) {
        self.state().disk_uses.get_or_insert_default();
    }

    /// Notes that a file was read.
    pub fn touch(&self, filename: &str) {
        let mut state = self.state();
        if state.disk_uses.is_some()
            && let Some(sequence) = state.sequence_of(filename)
        {
            state.touch(sequence);
        }
    }

    /// Keeps a context whatever the bounds are, or no longer. Whether there is one.
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

    /// Removes the pointer of the least recently used context on disk while there are more files or bytes than these. The
    /// latest stays, and so do pinned ones.
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
            // The latest use is that of the call that is just ending.
            candidates.peek()?;
            drop(candidates);
            let is_spilling = state.memory.is_leaving(sequence);
            Removed { sequence, pointer: state.remove(sequence)?, is_spilling }
        };
        self.changed();
        Some(removed)
    }
}
