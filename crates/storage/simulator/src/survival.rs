//! Selects which unsynchronised changes survive a power cut.

use super::medium::BLOCK;

/// Which unsynchronised changes survive a power cut. Synchronised changes always survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Nothing,
    /// Everything.
    Everything,
    /// Every entry but no data: files have the length of their last synchronisation, new files are empty.
    EntriesOnly,
    /// Every entry and length but no data: appended data is zeros.
    EntriesAndLengths,
    /// All data, no entry.
    DataOnly,
    /// A random part, the same for the same seed. The share that survives differs between seeds, so that a few seeds
    /// cover both nearly everything and nearly nothing.
    Random(u64),
}

/// Which of the lengths since the last synchronisation survives.
#[derive(Debug, Clone, Copy)]
enum Lengths {
    First,
    Last,
    Any,
}

/// Decides for each change whether it survives.
#[derive(Debug)]
pub(super) struct Choices {
    /// Number of entry changes of eight that survive.
    entries: u64,
    /// Number of blocks of eight that survive.
    data: u64,
    lengths: Lengths,
    random: u64,
}

impl Choices {
    pub(super) fn new(survival: Survival) -> Self {
        let (entries, data, lengths) = match survival {
            Survival::Nothing => (0, 0, Lengths::First),
            Survival::Everything => (8, 8, Lengths::Last),
            Survival::EntriesOnly => (8, 0, Lengths::First),
            Survival::EntriesAndLengths => (8, 0, Lengths::Last),
            Survival::DataOnly => (0, 8, Lengths::Last),
            Survival::Random(seed) => {
                let mut choices = Self { entries: 0, data: 0, lengths: Lengths::Any, random: seed };
                choices.entries = choices.tendency();
                choices.data = choices.tendency();
                return choices;
            }
        };
        Self { entries, data, lengths, random: 0 }
    }

    /// Whether an entry change survives.
    pub(super) fn entry(&mut self) -> bool {
        self.below(8) < self.entries
    }

    /// How many of the changes in a log survive: always the first ones.
    pub(super) fn logged(&mut self, changes: usize) -> usize {
        match self.entries {
            0 => 0,
            8 => changes,
            _ => self.position(changes + 1),
        }
    }

    /// Whether a block of data, or a truncation, survives.
    pub(super) fn data(&mut self) -> bool {
        self.below(8) < self.data
    }

    /// The length that survives. `steps` are the changes of the length, as (from, to).
    pub(super) fn length(&mut self, steps: &[(usize, usize)]) -> usize {
        let step = match self.lengths {
            Lengths::First => steps.first(),
            Lengths::Last => steps.last(),
            Lengths::Any => steps.get(self.position(steps.len())),
        };
        let Some(&(from, to)) = step else { return 0 };
        if !matches!(self.lengths, Lengths::Any) || from >= to {
            return to;
        }
        let within = from + self.position(to - from);
        match self.below(4) {
            0 => within,
            1 => from.max(within / BLOCK * BLOCK),
            _ => to,
        }
    }

    /// About half, and equally often nearly nothing or nearly everything.
    fn tendency(&mut self) -> u64 {
        match self.below(3) {
            0 => 1,
            1 => 4,
            _ => 7,
        }
    }

    fn position(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).unwrap_or_default()
    }

    /// A number below `end`; 0 if `end` is 0.
    fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or_default()
    }

    /// SplitMix64, implemented here because a dependency that only tests need would slow down every build.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
