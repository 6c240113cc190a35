//! The public form of an entry: [`Summary`] from the index, [`Entry`] with its text.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    document::Document,
    entry_parts::{Change, EntryType, Problem},
    location::Location,
    time,
};

/// An entry's metadata, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The path relative to the store, with `/` between its parts.
    pub path: String,
    /// The agent that wrote it.
    pub agent: String,
    /// The session in which it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The time of writing, ISO 8601 in UTC.
    pub timestamp: String,
    /// The entry's type.
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    /// Its tags.
    pub tags: Vec<String>,
    /// The paths of the entries it is linked to.
    pub links: Vec<String>,
    /// The path of the entry that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// An entry with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The metadata.
    #[serde(flatten)]
    pub summary: Summary,
    /// The body without the changelog.
    pub content: String,
    /// A digest of the file, which differs after every change.
    pub revision: String,
    /// The changes since it was written, oldest first.
    pub changelog: Vec<Change>,
}

impl Entry {
    /// Parses a file. Values that its front matter leaves out (agent, session, time) are taken from
    /// its path.
    ///
    /// # Errors
    /// What is wrong with the file, and in which line.
    pub fn read(location: &Location, bytes: &[u8]) -> Result<Self, Problem> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            Problem { line, reason: "this is no UTF-8".to_owned() }
        })?;
        let document = Document::parse(text)?;
        if document.timestamp().or(location.time()).is_none() {
            let reason = "`timestamp` is missing, and the file name does not begin with a time";
            return Err(Problem { line: 1, reason: reason.to_owned() });
        }
        Ok(Self::of(location, &document, bytes))
    }

    /// Makes the entry of a parsed document, from its path and the bytes of its file.
    #[must_use]
    pub fn of(location: &Location, document: &Document, bytes: &[u8]) -> Self {
        let timestamp = document.timestamp().or(location.time()).unwrap_or_default();
        let summary = Summary {
            path: location.as_str().to_owned(),
            agent: document.agent().unwrap_or(location.agent()).to_owned(),
            session_id: document.session_id().or(location.session()).map(str::to_owned),
            timestamp: time::iso(timestamp),
            entry_type: document.entry_type(),
            tags: document.tags().to_vec(),
            links: document.links().to_vec(),
            superseded_by: document.superseded_by().map(str::to_owned),
        };
        Self {
            summary,
            content: document.content().into_owned(),
            revision: revision(bytes),
            changelog: document.changelog(),
        }
    }
}

/// The revision of a file: the first 16 hexadecimal digits of the SHA-256 of its bytes.
#[must_use]
pub fn revision(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
