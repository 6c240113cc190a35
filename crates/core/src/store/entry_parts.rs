//! What both an entry and the text of its file are made of.

use serde::{Deserialize, Serialize};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryType {
    /// Something that was found out.
    Finding,
    /// Something that was decided, and why.
    Decision,
    /// Something that was made.
    Artifact,
    /// Where something is.
    Reference,
    /// What happened, in short.
    Summary,
}

impl EntryType {
    /// Every type, in the order of specification 4.
    pub const ALL: [Self; 5] =
        [Self::Finding, Self::Decision, Self::Artifact, Self::Reference, Self::Summary];

    /// As front matter spells it.
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

    /// The type that front matter spells so.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|entry_type| entry_type.as_str() == text)
    }
}

/// One line of a changelog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// When, ISO 8601 in UTC.
    pub timestamp: String,
    /// Who.
    pub agent: String,
    /// What, in one line.
    pub description: String,
}

/// What is wrong with a file of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}
