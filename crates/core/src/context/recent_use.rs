//! The order of last use of numbered items, for least-recently-used eviction.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// Numbers in the order of their last use.
#[derive(Debug, Default)]
pub(super) struct RecentUse {
    uses: u64,
    last: FxHashMap<u64, u64>,
    order: BTreeMap<u64, u64>,
}

impl RecentUse {
    /// Records a use of any number.
    pub fn touch(&mut self, number: u64) {
        self.uses += 1;
        if let Some(before) = self.last.insert(number, self.uses) {
            self.order.remove(&before);
        }
        self.order.insert(self.uses, number);
    }

    /// Records a use, if the number is present.
    pub fn touch_known(&mut self, number: u64) {
        if self.last.contains_key(&number) {
            self.touch(number);
        }
    }

    /// Removes a number.
    pub fn remove(&mut self, number: u64) {
        if let Some(before) = self.last.remove(&number) {
            self.order.remove(&before);
        }
    }

    /// All numbers, the least recently used first.
    pub fn oldest_first(&self) -> impl Iterator<Item = u64> {
        self.order.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_comes_first() {
        let mut uses = RecentUse::default();
        for number in [3, 1, 2, 3] {
            uses.touch(number);
        }
        uses.touch_known(9);
        assert_eq!(uses.oldest_first().collect::<Vec<_>>(), [1, 2, 3]);
        uses.touch_known(1);
        uses.remove(2);
        uses.remove(2);
        assert_eq!(uses.oldest_first().collect::<Vec<_>>(), [3, 1]);
    }
}
