//! Conventions, decisions and notes: the members of a record, and validation of what callers pass.

use redaction::RedactionSession;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::members::Members;
use crate::error::{Code, Error, Result};

/// The longest text, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// The longest title, in bytes.
const MAX_TITLE: usize = 300;
/// The most tags or paths of a record.
const MAX_ITEMS: usize = 200;
/// The longest tag or path, in bytes.
const MAX_ITEM: usize = 1024;
/// The time of a record without one.
const NEVER: &str = "1970-01-01T00:00:00.000Z";

/// The lists of `memory.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordKind {
    /// A convention of the repository.
    Convention,
    /// A decision and its reason.
    Decision,
    /// Other information.
    Note,
}

impl RecordKind {
    /// All kinds, in the order of `memory.json`.
    pub const ALL: [Self; 3] = [Self::Convention, Self::Decision, Self::Note];

    /// The name of the list.
    pub(super) const fn list(self) -> &'static str {
        match self {
            Self::Convention => "conventions",
            Self::Decision => "decisions",
            Self::Note => "notes",
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Convention => "convention",
            Self::Decision => "decision",
            Self::Note => "note",
        }
    }
}

/// The author of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoteSource {
    /// A person.
    #[default]
    Manual,
    /// A model.
    Agent,
    /// A program.
    Tool,
}

/// A record of any kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// A UUID, if this package created the record.
    pub id: String,
    /// For a convention; unique among them.
    pub title: Option<String>,
    /// For a decision: what was decided.
    pub summary: Option<String>,
    /// For a decision: the reason.
    pub rationale: Option<String>,
    /// For a decision: the paths it is about.
    pub impacted_paths: Vec<String>,
    /// For a convention or note.
    pub content: Option<String>,
    /// For a convention.
    pub tags: Vec<String>,
    /// For a note.
    pub source: NoteSource,
    /// ISO 8601.
    pub created_at: String,
    /// ISO 8601.
    pub updated_at: String,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            id: String::new(),
            title: None,
            summary: None,
            rationale: None,
            impacted_paths: Vec::new(),
            content: None,
            tags: Vec::new(),
            source: NoteSource::default(),
            created_at: NEVER.to_owned(),
            updated_at: String::new(),
        }
    }
}

impl Record {
    /// Parses an item of a list; `None` if it is no valid record of that kind.
    pub(super) fn read(kind: RecordKind, text: &str) -> Option<Self> {
        if !text.starts_with('{') {
            // serde would accept an array of the values as well.
            return None;
        }
        let mut record: Self = serde_json::from_str(text).ok()?;
        if record.updated_at.is_empty() {
            record.updated_at.clone_from(&record.created_at);
        }
        let is_whole = match kind {
            RecordKind::Convention => record.title.is_some() && record.content.is_some(),
            RecordKind::Decision => record.summary.is_some(),
            RecordKind::Note => record.content.is_some(),
        };
        (is_whole && !record.id.is_empty()).then_some(record)
    }

    /// Writes the members of a record's kind; other members are kept.
    pub(super) fn write(&self, kind: RecordKind, members: &mut Members) -> serde_json::Result<()> {
        members.set("id", &self.id)?;
        match kind {
            RecordKind::Convention => {
                members.set("title", &self.title)?;
                members.set("content", &self.content)?;
                members.set("tags", &self.tags)?;
            }
            RecordKind::Decision => {
                members.set("summary", &self.summary)?;
                members.set("rationale", &self.rationale.as_deref().unwrap_or_default())?;
                members.set("impactedPaths", &self.impacted_paths)?;
            }
            RecordKind::Note => {
                members.set("content", &self.content)?;
                members.set("source", &self.source)?;
            }
        }
        members.set("createdAt", &self.created_at)?;
        members.set("updatedAt", &self.updated_at)
    }

    /// The record as JSON for JavaScript.
    pub(super) fn to_json(&self, kind: RecordKind) -> serde_json::Result<String> {
        let mut members = Members::default();
        self.write(kind, &mut members)?;
        serde_json::to_string(&members)
    }
}

/// A new record, or a change of one. Absent fields are not changed.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// The kind of the record.
    pub kind: RecordKind,
    /// A UUID: of the record to change, or for the new one.
    pub id: Option<String>,
    /// See [`Record`].
    pub title: Option<String>,
    /// See [`Record`].
    pub summary: Option<String>,
    /// See [`Record`].
    pub rationale: Option<String>,
    /// See [`Record`].
    pub impacted_paths: Option<Vec<String>>,
    /// See [`Record`].
    pub content: Option<String>,
    /// See [`Record`].
    pub tags: Option<Vec<String>>,
    /// See [`Record`].
    pub source: Option<NoteSource>,
}

impl Draft {
    /// Redacts and validates the draft.
    pub(super) fn prepare(&mut self, pass: &mut RedactionSession) -> Result<()> {
        if let Some(id) = &mut self.id {
            let uuid = Uuid::try_parse(id).map_err(|_| invalid("id must be a UUID"))?;
            *id = uuid.hyphenated().to_string();
        }
        check_text("content", self.content.as_ref())?;
        check_text("summary", self.summary.as_ref())?;
        check_text("rationale", self.rationale.as_ref())?;
        for text in [&mut self.title, &mut self.summary, &mut self.rationale, &mut self.content]
            .into_iter()
            .flatten()
        {
            pass.text(text)?;
        }
        for (name, items) in [("tags", &mut self.tags), ("impactedPaths", &mut self.impacted_paths)]
        {
            let Some(items) = items else { continue };
            if items.len() > MAX_ITEMS {
                return Err(invalid(format!("{name} must have at most {MAX_ITEMS} items")));
            }
            for item in items.iter_mut() {
                check_line(name, item, MAX_ITEM)?;
                pass.text(item)?;
            }
            let mut seen = std::collections::HashSet::new();
            items.retain(|item| seen.insert(item.clone()));
        }
        if let Some(title) = &mut self.title {
            check_line("title", title, MAX_TITLE)?;
            *title = title.trim().to_owned();
        }
        Ok(())
    }

    /// Creates a record.
    pub(super) fn create(self, now: &str) -> Result<Record> {
        let missing = match self.kind {
            RecordKind::Convention if self.title.is_none() => Some("title"),
            RecordKind::Convention | RecordKind::Note if self.content.is_none() => Some("content"),
            RecordKind::Decision if self.summary.is_none() => Some("summary"),
            _ => None,
        };
        if let Some(name) = missing {
            return Err(invalid(format!("{name} is needed for a new {}", self.kind.noun())));
        }
        let mut record = Record {
            id: self.id.clone().unwrap_or_else(|| Uuid::new_v4().to_string()),
            created_at: now.to_owned(),
            ..Record::default()
        };
        self.change(&mut record, now);
        Ok(record)
    }

    /// Changes a record; returns whether anything changed.
    pub(super) fn change(self, record: &mut Record, now: &str) -> bool {
        let before = record.clone();
        let Self { title, summary, rationale, content, impacted_paths, tags, source, .. } = self;
        record.title = title.or(record.title.take());
        record.summary = summary.or(record.summary.take());
        record.rationale = rationale.or(record.rationale.take());
        record.content = content.or(record.content.take());
        if let Some(paths) = impacted_paths {
            record.impacted_paths = paths;
        }
        if let Some(tags) = tags {
            record.tags = tags;
        }
        if let Some(source) = source {
            record.source = source;
        }
        let is_changed = *record != before;
        if is_changed {
            now.clone_into(&mut record.updated_at);
        }
        is_changed
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidArgument, message)
}

fn check_text(name: &str, text: Option<&String>) -> Result<()> {
    match text {
        Some(text) if text.trim().is_empty() && name != "rationale" => {
            Err(invalid(format!("{name} must not be empty")))
        }
        Some(text) if text.len() > MAX_TEXT => Err(Error::new(
            Code::TooLarge,
            format!("{name} takes {} bytes, more than {MAX_TEXT}; keep what matters", text.len()),
        )),
        _ => Ok(()),
    }
}

pub(super) fn check_line(name: &str, text: &str, most: usize) -> Result<()> {
    if text.trim().is_empty() {
        return Err(invalid(format!("{name} must not be empty")));
    }
    if text.contains(['\n', '\r']) {
        return Err(invalid(format!("{name} must be on one line")));
    }
    if text.len() > most {
        return Err(invalid(format!("{name} must have at most {most} bytes")));
    }
    Ok(())
}
