//! One file of the store, taken apart and put together again. What is not changed stays byte for
//! byte.

use std::borrow::Cow;

use redaction::RedactionSession;

use super::{
    body::Body,
    changelog,
    entry_parts::{Change, EntryType, Problem},
    front_matter::{Fields, FrontMatter},
};
use crate::error::Result;

/// What a new file says.
#[derive(Debug, Clone)]
pub struct NewEntry<'a> {
    /// Who writes it.
    pub agent: &'a str,
    /// In which session.
    pub session_id: &'a str,
    /// When, ms since 1970.
    pub timestamp: i64,
    /// What it is.
    pub entry_type: EntryType,
    /// Its tags.
    pub tags: Vec<String>,
    /// The paths of the entries it is linked to.
    pub links: Vec<String>,
    /// Markdown.
    pub content: &'a str,
}

/// The text of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    front_matter: FrontMatter,
    body: Body,
}

impl Document {
    /// The text of a new file.
    #[must_use]
    pub fn new(entry: NewEntry<'_>) -> Self {
        let front_matter = FrontMatter::new(Fields {
            agent: Some(entry.agent.to_owned()),
            session_id: Some(entry.session_id.to_owned()),
            timestamp: Some(entry.timestamp),
            entry_type: entry.entry_type,
            tags: entry.tags,
            links: entry.links,
        });
        let body = Body::new(entry.content, front_matter.line_end());
        Self { front_matter, body }
    }

    /// Takes the text of a file apart.
    ///
    /// # Errors
    /// What is wrong with the front matter, and in which line. Every text behind it is a body.
    pub fn parse(text: &str) -> std::result::Result<Self, Problem> {
        let (front_matter, body) = FrontMatter::parse(text)?;
        let body = Body::parse(body.to_owned(), front_matter.line_end());
        Ok(Self { front_matter, body })
    }

    /// Who wrote it, where the file says so.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.front_matter.fields().agent.as_deref()
    }

    /// In which session it was written, where the file says so.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.front_matter.fields().session_id.as_deref()
    }

    /// When it was written, ms since 1970, where the file says so.
    #[must_use]
    pub fn timestamp(&self) -> Option<i64> {
        self.front_matter.fields().timestamp
    }

    /// What it is.
    #[must_use]
    pub fn entry_type(&self) -> EntryType {
        self.front_matter.fields().entry_type
    }

    /// Its tags.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.front_matter.fields().tags
    }

    /// The paths of the entries it is linked to.
    #[must_use]
    pub fn links(&self) -> &[String] {
        &self.front_matter.fields().links
    }

    /// The body without the changelog, the empty line before it and its last line end.
    #[must_use]
    pub fn content(&self) -> Cow<'_, str> {
        self.body.content()
    }

    /// The changes that its changelog lists, oldest first. Lines of another form are passed over.
    #[must_use]
    pub fn changelog(&self) -> Vec<Change> {
        changelog::changes(self.body.changelog())
    }

    /// The path of the entry that took its place.
    #[must_use]
    pub fn superseded_by(&self) -> Option<&str> {
        changelog::last_superseded_by(self.body.changelog())
    }

    /// Replaces the content; the lines of the changelog stay, at the end.
    pub fn set_content(&mut self, content: &str) {
        if self.content() != content {
            self.front_matter.end_closing_line();
            self.body.set_content(content);
        }
    }

    /// Changes what it is.
    pub fn set_type(&mut self, entry_type: EntryType) {
        self.front_matter.set_type(entry_type);
    }

    /// Replaces the tags.
    pub fn set_tags(&mut self, tags: Vec<String>) {
        self.front_matter.set_tags(tags);
    }

    /// Replaces the links.
    pub fn set_links(&mut self, links: Vec<String>) {
        self.front_matter.set_links(links);
    }

    /// Adds a line to the changelog, below its last one. It stays one line whatever the change says.
    pub fn add_change(&mut self, change: &Change) {
        self.front_matter.end_closing_line();
        self.body.add_to_changelog(&changelog::line(change));
    }

    /// Takes secrets out of all of it.
    ///
    /// # Errors
    /// `Redaction`
    pub fn redact(&mut self, pass: &mut RedactionSession) -> Result<()> {
        self.front_matter.redact(pass)?;
        self.body.redact(pass)
    }

    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.front_matter.write_to(&mut text);
        text.push_str(self.body.as_str());
        text
    }
}
