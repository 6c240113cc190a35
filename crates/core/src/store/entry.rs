//! An entry as callers see it.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    document::Document,
    entry_parts::{Change, EntryType, Problem},
    location::Location,
    time,
};

/// What is known of an entry without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Relative to the store, `/` between its parts.
    pub path: String,
    /// Who wrote it.
    pub agent: String,
    /// In which session it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// When it was written, ISO 8601 in UTC.
    pub timestamp: String,
    /// What it is.
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    /// Its tags.
    pub tags: Vec<String>,
    /// The paths of the entries it is linked to.
    pub links: Vec<String>,
    /// The path of the entry that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// An entry, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// What describes it.
    #[serde(flatten)]
    pub summary: Summary,
    /// The body without the changelog.
    pub content: String,
    /// A digest of the file: it changes with every change.
    pub revision: String,
    /// What was changed since it was written, oldest first.
    pub changelog: Vec<Change>,
}

impl Entry {
    /// Reads a file. What its front matter leaves out is taken from its place.
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

    /// The entry that a document is, at its place and with the bytes of its file.
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

/// A digest of a file: the first 16 hexadecimal digits of its SHA-256.
#[must_use]
pub fn revision(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
