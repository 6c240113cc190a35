//! Types that both `Entry` (for callers) and `Document` (the text of a file) use.

use serde::{Deserialize, Serialize};

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryType {
    /// A result of an investigation.
    Finding,
    /// A decision and its reason.
    Decision,
    /// Something that the agent produced.
    Artifact,
    /// A pointer to something elsewhere.
    Reference,
    /// A short report of what happened.
    Summary,
}

impl EntryType {
    /// Every type, in the order of specification 4.
    pub const ALL: [Self; 5] =
        [Self::Finding, Self::Decision, Self::Artifact, Self::Reference, Self::Summary];

    /// The type's name in front matter.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finding => "finding",
            Self::Decision => "decision",
            Self::Artifact => "artifact",
            Self::Reference => "reference",
            Self::Summary => "summary",
        }
    }

    /// Parses the type's name in front matter.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|entry_type| entry_type.as_str() == text)
    }
}

/// One line of a changelog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The time, ISO 8601 in UTC.
    pub timestamp: String,
    /// The agent that made the change.
    pub agent: String,
    /// The description, in one line.
    pub description: String,
}

/// An error in a file of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub reason: String,
}
