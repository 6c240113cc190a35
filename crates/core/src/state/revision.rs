//! Revisions of items, and positions in the sequence of changes.

use std::fmt;

use uuid::Uuid;

/// The revision of an item: the number of the change that wrote it, which increases with every change of the file, and
/// a random part, which distinguishes revisions after a file was restored or created again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    /// The number of the change.
    pub sequence: i64,
    /// The random part, common to its transaction.
    pub nonce: u32,
}

impl Revision {
    /// Parses the text that [`fmt::Display`] writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (sequence, nonce) = text.split_once('-')?;
        let revision =
            Self { sequence: sequence.parse().ok()?, nonce: u32::from_str_radix(nonce, 16).ok()? };
        (revision.to_string() == text).then_some(revision)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{:08x}", self.sequence, self.nonce)
    }
}

/// The expected state of an item, for a conditional change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// The item does not exist, or has expired.
    Absent,
    /// The item has this revision. A text that is not a valid revision matches no item.
    Revision(String),
}

impl Expected {
    /// Whether an item with this revision, or a missing one, meets the expectation.
    #[must_use]
    pub fn is_met(&self, revision: Option<Revision>) -> bool {
        match (self, revision) {
            (Self::Absent, None) => true,
            (Self::Revision(expected), Some(revision)) => *expected == revision.to_string(),
            _ => false,
        }
    }
}

/// The position of a watcher: after the change with this number, in the file with this identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub identity: String,
    pub sequence: i64,
}

impl Position {
    /// Parses the text that [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (identity, sequence) = text.split_once('-')?;
        let sequence = sequence.parse().ok().filter(|&sequence| sequence >= 0)?;
        Some(Self { identity: identity.to_owned(), sequence })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.identity, self.sequence)
    }
}

/// A random number.
pub(super) fn random() -> u32 {
    let [a, b, c, d, ..] = Uuid::new_v4().into_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_what_is_expected_by_its_whole_revision() {
        let revision = Revision { sequence: 12, nonce: 0xab };
        assert_eq!(revision.to_string(), "12-000000ab");
        assert_eq!(Revision::parse("12-000000ab"), Some(revision));
        for wrong in ["", "12", "12-ab", "012-000000ab", "12-000000AB", "x-000000ab"] {
            assert_eq!(Revision::parse(wrong), None, "{wrong:?}");
        }
        let same = Expected::Revision(revision.to_string());
        assert!(same.is_met(Some(revision)));
        assert!(!same.is_met(Some(Revision { nonce: 0xac, ..revision })) && !same.is_met(None));
        assert!(Expected::Absent.is_met(None) && !Expected::Absent.is_met(Some(revision)));
    }

    #[test]
    fn positions_are_read_as_they_are_written() {
        let position = Position { identity: "00ff00ff".to_owned(), sequence: 77 };
        assert_eq!(Position::parse(&position.to_string()), Some(position));
        for wrong in ["", "77", "a-", "a-x", "a--1"] {
            assert_eq!(Position::parse(wrong), None, "{wrong:?}");
        }
    }
}
