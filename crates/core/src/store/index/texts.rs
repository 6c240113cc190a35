//! The texts of an entry that searches look at.

use storage::layout;
use text_index::Document;

use super::super::{Entry, Location};
use crate::vectors::embedded_text;

/// The texts of an entry that searches look at: for the inverted index, and for matching phrases.
pub(super) struct Texts {
    name: String,
    agent: String,
    tags: Vec<String>,
    changes: Vec<String>,
    content: String,
}

/// Several texts of one kind in one string.
pub(super) struct Joined {
    about: String,
    changes: String,
}

impl Texts {
    pub fn of(location: &Location, entry: Entry) -> Self {
        let name = location.name().strip_suffix(layout::ENTRY_SUFFIX).unwrap_or_default();
        let slug = location.time().and_then(|_| name.split_once('-')).map(|(_, slug)| slug);
        Self {
            name: slug.unwrap_or(name).to_owned(),
            agent: entry.summary.agent,
            tags: entry.summary.tags,
            changes: entry.changelog.into_iter().map(|change| change.description).collect(),
            content: entry.content,
        }
    }

    /// The texts separately: a phrase never matches across two of them.
    pub fn each(&self) -> Vec<&str> {
        let lists = self.tags.iter().chain(&self.changes);
        [&self.name, &self.agent, &self.content]
            .into_iter()
            .chain(lists)
            .map(|text| &**text)
            .collect()
    }

    pub fn joined(&self) -> Joined {
        let about = std::iter::once(&*self.agent).chain(self.tags.iter().map(|tag| &**tag));
        let about = about.collect::<Vec<_>>().join("\n");
        Joined { about, changes: self.changes.join("\n") }
    }

    /// The text that embedding models get.
    pub fn embedded(&self) -> String {
        embedded_text(&[&self.name, &self.tags.join(", "), &self.content])
    }

    pub fn document<'t>(&'t self, joined: &'t Joined, timestamp: i64) -> Document<'t> {
        Document {
            name: &self.name,
            description: &joined.about,
            arguments: &joined.changes,
            result: &self.content,
            timestamp,
            ..Document::default()
        }
    }
}
