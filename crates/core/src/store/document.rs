//! The text of one entry's file: front matter, content and changelog. Parsing is lossless: parts
//! that are not changed keep their bytes when the file is written again.

use std::borrow::Cow;

use redaction::RedactionSession;

use super::{
    body::Body,
    changelog,
    entry_parts::{Change, EntryType, Problem},
    front_matter::{Fields, FrontMatter},
};
use crate::error::Result;

/// The values that a new file is made from.
#[derive(Debug, Clone)]
pub struct NewEntry<'a> {
    /// The agent that writes the entry.
    pub agent: &'a str,
    /// The session in which it is written.
    pub session_id: &'a str,
    /// The time of writing, ms since 1970.
    pub timestamp: i64,
    /// The entry's type.
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
    /// Makes the text of a new file.
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

    /// Parses the text of a file.
    ///
    /// # Errors What is wrong with the front matter, and in which line. Any text after the front
    /// matter is a valid body.
    pub fn parse(text: &str) -> std::result::Result<Self, Problem> {
        let (front_matter, body) = FrontMatter::parse(text)?;
        let body = Body::parse(body.to_owned(), front_matter.line_end());
        Ok(Self { front_matter, body })
    }

    /// The agent that wrote the entry, if the file names one.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.front_matter.fields().agent.as_deref()
    }

    /// The session in which the entry was written, if the file names one.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.front_matter.fields().session_id.as_deref()
    }

    /// The time of writing, ms since 1970, if the file has one.
    #[must_use]
    pub fn timestamp(&self) -> Option<i64> {
        self.front_matter.fields().timestamp
    }

    /// The entry's type.
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

    /// The changes in its changelog, oldest first. Lines of another form are ignored.
    #[must_use]
    pub fn changelog(&self) -> Vec<Change> {
        changelog::changes(self.body.changelog())
    }

    /// The path of the entry that replaced this one.
    #[must_use]
    pub fn superseded_by(&self) -> Option<&str> {
        changelog::last_superseded_by(self.body.changelog())
    }

    /// Replaces the content and keeps the lines of the changelog, at the end.
    pub fn set_content(&mut self, content: &str) {
        if self.content() != content {
            self.front_matter.end_closing_line();
            self.body.set_content(content);
        }
    }

    /// Replaces the type.
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

    /// Adds a line to the changelog, below its last one. Line ends in the change become spaces.
    pub fn add_change(&mut self, change: &Change) {
        self.front_matter.end_closing_line();
        self.body.add_to_changelog(&changelog::line(change));
    }

    /// Redacts secrets in all parts.
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
