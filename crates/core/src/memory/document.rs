//! The document in `memory.json`: lists of records, written so that people can read and edit them. Members
//! that this package does not know are preserved.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    identity::Identity,
    members::Members,
    record::{Draft, Record, RecordKind},
};
use crate::error::{Code, Error, Result};

/// The version that this package writes. Unknown members are preserved, whatever version the file names.
const VERSION: u32 = 1;
const INDENT: &str = "  ";

/// The repository that a memory belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Repository {
    /// The path in the repository's hash: the canonical path of the work tree.
    pub workspace: String,
    /// The normalised remote, such as `github.com/owner/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The branch, if each branch has its own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl Repository {
    /// The values of an identity that a memory stores.
    #[must_use]
    pub fn of(identity: &Identity) -> Self {
        Self {
            workspace: identity.path.to_string_lossy().into_owned(),
            remote: identity.remote.clone(),
            branch: identity.branch.clone(),
        }
    }
}

/// An item of a list: its raw members, and the record in it, if it is valid.
#[derive(Debug, Clone)]
struct Stored {
    text: Box<RawValue>,
    record: Option<Record>,
}

/// The contents of `memory.json`.
#[derive(Debug, Clone, Default)]
pub(super) struct Document {
    members: Members,
    lists: [Vec<Stored>; 3],
}

/// Why a text is not a valid document.
#[derive(Debug)]
pub(super) struct Malformed(pub String);

impl Document {
    /// Parses a document.
    pub fn parse(text: &[u8]) -> std::result::Result<Self, Malformed> {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let members: Members =
            serde_json::from_slice(text).map_err(|error| Malformed(error.to_string()))?;
        let mut document = Self { members, lists: Default::default() };
        for kind in RecordKind::ALL {
            let Some(list) = document.members.get(kind.list()) else { continue };
            let items: Vec<Box<RawValue>> = serde_json::from_str(list.get())
                .map_err(|_| Malformed(format!("{} is no array", kind.list())))?;
            *document.list_mut(kind) = items
                .into_iter()
                .map(|text| Stored { record: Record::read(kind, text.get()), text })
                .collect();
        }
        Ok(document)
    }

    fn list(&self, kind: RecordKind) -> &Vec<Stored> {
        let [conventions, decisions, notes] = &self.lists;
        match kind {
            RecordKind::Convention => conventions,
            RecordKind::Decision => decisions,
            RecordKind::Note => notes,
        }
    }

    fn list_mut(&mut self, kind: RecordKind) -> &mut Vec<Stored> {
        let [conventions, decisions, notes] = &mut self.lists;
        match kind {
            RecordKind::Convention => conventions,
            RecordKind::Decision => decisions,
            RecordKind::Note => notes,
        }
    }

    /// The valid records of a list, in order.
    pub fn records(&self, kind: RecordKind) -> impl Iterator<Item = &Record> {
        self.list(kind).iter().filter_map(|stored| stored.record.as_ref())
    }

    /// The number of list items that are no valid records.
    pub fn strangers(&self) -> usize {
        self.lists.iter().flatten().filter(|stored| stored.record.is_none()).count()
    }

    /// The repository in the document, if it has one.
    pub fn repository(&self) -> Option<Repository> {
        self.members.read("repository")
    }

    /// Sets the repository; returns whether that changed the document.
    pub fn set_repository(&mut self, repository: &Repository) -> Result<bool> {
        if self.repository().as_ref() == Some(repository) {
            return Ok(false);
        }
        // Members that other programs added to it are kept.
        let mut known: Members = self.members.read("repository").unwrap_or_default();
        known.set("workspace", &repository.workspace).map_err(unwritable)?;
        if let Some(remote) = &repository.remote {
            known.set("remote", remote).map_err(unwritable)?;
        }
        if let Some(branch) = &repository.branch {
            known.set("branch", branch).map_err(unwritable)?;
        }
        self.members.set("repository", &known).map_err(unwritable)?;
        Ok(true)
    }

    fn position(&self, kind: RecordKind, is_wanted: impl Fn(&Record) -> bool) -> Option<usize> {
        self.list(kind).iter().position(|stored| stored.record.as_ref().is_some_and(&is_wanted))
    }

    /// Changes the record that a draft refers to, or adds one. Returns it, and whether anything changed.
    pub fn upsert(&mut self, draft: Draft, now: &str) -> Result<(Record, bool)> {
        let kind = draft.kind;
        let by_id = draft
            .id
            .as_ref()
            .and_then(|id| self.position(kind, |record| record.id.eq_ignore_ascii_case(id)));
        let by_title = draft
            .title
            .as_ref()
            .and_then(|title| self.position(kind, |record| record.title.as_ref() == Some(title)));
        if let (Some(_), Some(other)) = (&draft.id, by_title)
            && by_id != Some(other)
        {
            let title = draft.title.as_deref().unwrap_or_default();
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "another convention has the title {title:?}; leave out the id to change that one, or choose another title"
                ),
            ));
        }
        let Some(place) = by_id.or(by_title) else {
            let record = draft.create(now)?;
            self.put(kind, None, record.clone())?;
            return Ok((record, true));
        };
        let Some(mut record) = self.list(kind).get(place).and_then(|stored| stored.record.clone())
        else {
            return Err(Error::internal("a record was lost"));
        };
        let is_changed = draft.change(&mut record, now);
        if is_changed {
            self.put(kind, Some(place), record.clone())?;
        }
        Ok((record, is_changed))
    }

    /// Writes a record at the place of an existing one, whose unknown members are kept, or appends it.
    fn put(&mut self, kind: RecordKind, place: Option<usize>, record: Record) -> Result<()> {
        let list = self.list_mut(kind);
        let old = place.and_then(|place| list.get_mut(place));
        let mut members = match &old {
            Some(old) => serde_json::from_str(old.text.get()).map_err(unwritable)?,
            None => Members::default(),
        };
        record.write(kind, &mut members).map_err(unwritable)?;
        let stored = Stored { text: indented(&members)?, record: Some(record) };
        match old {
            Some(old) => *old = stored,
            None => list.push(stored),
        }
        Ok(())
    }

    /// Removes a record; returns whether it existed.
    pub fn remove(&mut self, kind: RecordKind, id: &str) -> bool {
        let place = self.position(kind, |record| record.id.eq_ignore_ascii_case(id));
        place.map(|place| self.list_mut(kind).remove(place)).is_some()
    }

    /// Merges another document: adds the records that are missing here, and replaces those that are older
    /// here. Returns the numbers of the other document's records, in the order of [`RecordKind::ALL`].
    pub fn merge(&mut self, other: &Self) -> Result<[usize; 3]> {
        let mut counts = [0; 3];
        for (kind, count) in RecordKind::ALL.into_iter().zip(&mut counts) {
            for stored in other.list(kind) {
                let Some(record) = &stored.record else {
                    // An item that is no valid record is added once.
                    let is_there =
                        self.list(kind).iter().any(|own| own.text.get() == stored.text.get());
                    if !is_there {
                        self.list_mut(kind).push(stored.clone());
                    }
                    continue;
                };
                *count += 1;
                let is_same = |own: &Record| {
                    own.id == record.id || own.title.is_some() && own.title == record.title
                };
                match self.position(kind, is_same) {
                    None => self.list_mut(kind).push(stored.clone()),
                    Some(place) => {
                        let own = self.list_mut(kind).get_mut(place);
                        if let Some(own) = own
                            && own
                                .record
                                .as_ref()
                                .is_some_and(|own| own.updated_at < record.updated_at)
                        {
                            *own = stored.clone();
                        }
                    }
                }
            }
        }
        for (name, value) in other.members.iter() {
            if self.members.get(name).is_none() && name != "repository" {
                self.members.set(name, &value).map_err(unwritable)?;
            }
        }
        Ok(counts)
    }

    /// The document's text, with a newline character at the end.
    pub fn to_text(&self) -> Vec<u8> {
        let mut parts: Vec<String> = Vec::new();
        if self.members.get("version").is_none() {
            parts.push(format!("{INDENT}\"version\": {VERSION}"));
        }
        let list_of = |name: &str| RecordKind::ALL.into_iter().find(|kind| kind.list() == name);
        for (name, value) in self.members.iter() {
            let key = serde_json::Value::from(name);
            parts.push(match list_of(name) {
                Some(kind) => self.list_text(kind),
                None => format!("{INDENT}{key}: {}", value.get()),
            });
        }
        for kind in RecordKind::ALL {
            if self.members.get(kind.list()).is_none() {
                parts.push(self.list_text(kind));
            }
        }
        format!("{{\n{}\n}}\n", parts.join(",\n")).into_bytes()
    }

    fn list_text(&self, kind: RecordKind) -> String {
        let name = kind.list();
        let items: Vec<String> = self
            .list(kind)
            .iter()
            .map(|stored| format!("{INDENT}{INDENT}{}", stored.text.get()))
            .collect();
        if items.is_empty() {
            return format!("{INDENT}\"{name}\": []");
        }
        format!("{INDENT}\"{name}\": [\n{}\n{INDENT}]", items.join(",\n"))
    }
}

/// A record's text in a list, with one member per line.
fn indented(members: &Members) -> Result<Box<RawValue>> {
    let lines: Vec<String> = members
        .iter()
        .map(|(name, value)| {
            let key = serde_json::Value::from(name);
            format!("{INDENT}{INDENT}{INDENT}{key}: {}", value.get())
        })
        .collect();
    let text = format!("{{\n{}\n{INDENT}{INDENT}}}", lines.join(",\n"));
    RawValue::from_string(text).map_err(unwritable)
}

pub(super) fn unwritable(error: serde_json::Error) -> Error {
    Error::internal(format!("the memory could not be turned into JSON: {error}"))
}
