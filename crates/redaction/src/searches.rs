//! The searches that a text needs, as a set.

/// The kinds of searches in which a text may have something to examine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Searches(u8);

impl Searches {
    /// No search finds or examines anything.
    pub const NONE: Self = Self(0);
    /// For the anchors of rules, and for tokens without an anchor.
    pub const ANCHORS: Self = Self(1);
    pub const PRIVATE_KEYS: Self = Self(1 << 1);
    /// For characters that are not visible.
    pub const HIDDEN: Self = Self(1 << 2);
    pub const ENVIRONMENT: Self = Self(1 << 3);
    pub const ALL: Self = Self(u8::MAX);

    /// Whether this set has a search of the other one.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The searches of both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
