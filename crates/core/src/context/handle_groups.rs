//! The calls of one manager for each handle. Equal outputs share a handle; most handles have one call, for which no
//! list is allocated.

use rustc_hash::FxHashMap;

/// The calls of each handle.
#[derive(Debug, Default)]
pub(super) struct HandleGroups {
    /// The latest call of each handle.
    latest: FxHashMap<u64, u64>,
    /// The calls before it, in their order.
    earlier: FxHashMap<u64, Vec<u64>>,
}

impl HandleGroups {
    /// Adds a call to its handle.
    pub fn insert(&mut self, handle: u64, sequence: u64) {
        let Some(latest) = self.latest.get_mut(&handle) else {
            self.latest.insert(handle, sequence);
            return;
        };
        let (earlier, later) = (sequence.min(*latest), sequence.max(*latest));
        *latest = later;
        let calls = self.earlier.entry(handle).or_default();
        let place = calls.partition_point(|&call| call < earlier);
        calls.insert(place, earlier);
    }

    /// Removes a call.
    pub fn remove(&mut self, handle: u64, sequence: u64) {
        let before = match self.earlier.get_mut(&handle) {
            Some(calls) => {
                let is_latest = self.latest.get(&handle) == Some(&sequence);
                if !is_latest {
                    calls.retain(|&call| call != sequence);
                }
                let before = if is_latest { calls.pop() } else { None };
                if calls.is_empty() {
                    self.earlier.remove(&handle);
                }
                before
            }
            None => None,
        };
        if self.latest.get(&handle) == Some(&sequence) {
            match before {
                Some(before) => self.latest.insert(handle, before),
                None => self.latest.remove(&handle),
            };
        }
    }

    /// Removes all calls below `sequence`.
    pub fn remove_before(&mut self, sequence: u64) {
        self.latest.retain(|_, latest| *latest >= sequence);
        self.earlier.retain(|_, calls| {
            calls.retain(|&call| call >= sequence);
            !calls.is_empty()
        });
    }

    /// The latest call of a handle.
    pub fn latest(&self, handle: u64) -> Option<u64> {
        self.latest.get(&handle).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_latest_call_of_each_handle_is_known_whatever_comes_and_goes(
            changes in prop::collection::vec((0_u8..4, 0_u64..3, 0_u64..12), 0..60),
        ) {
            let mut groups = HandleGroups::default();
            let mut expected: [BTreeSet<u64>; 3] = Default::default();
            let mut owner = std::collections::HashMap::new();
            for (change, handle, sequence) in changes {
                match change {
                    0 | 1 if !owner.contains_key(&sequence) => {
                        owner.insert(sequence, handle);
                        groups.insert(handle, sequence);
                        expected[handle as usize].insert(sequence);
                    }
                    2 => if let Some(handle) = owner.remove(&sequence) {
                        groups.remove(handle, sequence);
                        expected[handle as usize].remove(&sequence);
                    },
                    3 if sequence < 4 => {
                        groups.remove_before(sequence);
                        owner.retain(|call, _| *call >= sequence);
                        for calls in &mut expected {
                            calls.retain(|call| *call >= sequence);
                        }
                    }
                    _ => {}
                }
                for handle in 0..3 {
                    prop_assert_eq!(groups.latest(handle), expected[handle as usize].last().copied());
                }
            }
        }
    }
}
