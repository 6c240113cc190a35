//! The body of an entry's file, which follows the front matter: the content and, at the end, the
//! section with its changelog.

use std::{borrow::Cow, ops::Range};

use redaction::RedactionSession;

use super::{
    changelog,
    markdown::{Section, has_structure, last_section},
};
use crate::error::Result;

const TITLE: &str = "Changelog";
const HEADING: &str = "## Changelog";

/// The text after the front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    text: String,
    line_end: &'static str,
    changelog: Option<Section>,
}

impl Body {
    /// Parses a body; `line_end` is the line end of its file.
    pub(super) fn parse(text: String, line_end: &'static str) -> Self {
        let changelog = last_section(&text, TITLE);
        Self { text, line_end, changelog }
    }

    pub(super) fn new(content: &str, line_end: &'static str) -> Self {
        let body = Self::parse(format!("{line_end}{content}{line_end}"), line_end);
        if body.changelog.is_none() {
            return body;
        }
        // Only the last changelog section is the changelog: one before it is content.
        Self::parse(format!("{}{line_end}{HEADING}{line_end}", body.text), line_end)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The body without the changelog, the empty line before it and the last line end.
    pub(super) fn content(&self) -> Cow<'_, str> {
        let text = self.text.as_str();
        let start = self.empty_line();
        let Some(changelog) = self.changelog else {
            return Cow::Borrowed(self.without_line_end(text.get(start..).unwrap_or_default()));
        };
        let before = text.get(start..changelog.start).unwrap_or_default();
        let after = text.get(changelog.end..).unwrap_or_default();
        if after.is_empty() {
            return Cow::Borrowed(self.without_line_end(self.without_line_end(before)));
        }
        Cow::Owned([before, self.without_line_end(after)].concat())
    }

    /// The lines of the changelog.
    pub(super) fn changelog(&self) -> &str {
        let lines = self.changelog.and_then(|section| self.text.get(section.lines..section.end));
        lines.unwrap_or_default()
    }

    /// Replaces the content and keeps the lines of the changelog.
    pub(super) fn set_content(&mut self, content: &str) {
        let Some(section) = self.changelog else {
            *self = Self::new(content, self.line_end);
            return;
        };
        let section = self.text.get(section.start..section.end).unwrap_or_default().to_owned();
        *self = Self::with_changelog(content, &section, self.line_end);
    }

    fn with_changelog(content: &str, section: &str, line_end: &'static str) -> Self {
        let section = section.trim_end_matches(['\n', '\r', ' ', '\t']);
        let start = format!("{line_end}{content}{line_end}{line_end}");
        let is_apart = |body: &Self| {
            body.changelog
                .is_some_and(|found| found.start == start.len() && found.end == body.text.len())
        };
        let body = Self::parse(format!("{start}{section}{line_end}"), line_end);
        if is_apart(&body) {
            return body;
        }
        // A fence that is opened in the content would be closed by one in the changelog. Lines of
        // the changelog that can be fences are indented, which makes them plain text.
        let mut lines = section.split_inclusive('\n');
        let heading = lines.next().unwrap_or_default();
        let plain = lines.map(|line| {
            let indentation = if has_structure(line) { "    " } else { "" };
            format!("{indentation}{line}")
        });
        let plain: String = plain.collect();
        Self::parse(format!("{start}{heading}{plain}{line_end}"), line_end)
    }

    /// Adds a line to the changelog, below its last one.
    pub(super) fn add_to_changelog(&mut self, line: &str) {
        let line_end = self.line_end;
        let Some(section) = self.changelog else {
            let is_open = !self.text.is_empty() && !self.text.ends_with('\n');
            let end = if is_open { line_end } else { "" };
            let added = format!("{end}{line_end}{HEADING}{line_end}{line_end}{line}{line_end}");
            self.text.push_str(&added);
            self.changelog = last_section(&self.text, TITLE);
            return;
        };
        let lines = self.changelog();
        let used = lines.trim_end_matches(['\n', '\r', ' ', '\t']);
        let rest = lines.get(used.len()..).unwrap_or_default();
        let (at, gap) = if used.is_empty() {
            (section.lines, line_end)
        } else {
            let end_of_line = rest.find('\n').map_or(rest.len(), |line_end| line_end + 1);
            (section.lines + used.len() + end_of_line, "")
        };
        let is_open = !self.text.get(..at).is_some_and(|before| before.ends_with('\n'));
        let end = if is_open { line_end } else { "" };
        self.text.insert_str(at, &format!("{end}{gap}{line}{line_end}"));
        self.changelog = last_section(&self.text, TITLE);
    }

    /// Redacts secrets in the content and in the changelog.
    pub(super) fn redact(&mut self, pass: &mut RedactionSession) -> Result<()> {
        let Some(section) = self.changelog else {
            let mut content = self.content().into_owned();
            pass.text(&mut content)?;
            if content != self.content() {
                self.set_content(&content);
            }
            return Ok(());
        };
        let part = |range: Range<usize>| self.text.get(range).unwrap_or_default().to_owned();
        let mut parts = [
            part(0..section.start),
            part(section.lines..section.end),
            part(section.end..self.text.len()),
        ];
        let before = parts.clone();
        let [_, lines, _] = &mut parts;
        changelog::redact(lines, pass)?;
        for text in &mut parts {
            redact_lines(text, pass)?;
        }
        if parts == before {
            return Ok(());
        }
        let heading = part(section.start..section.lines);
        let [before, lines, after] = parts;
        let redacted = Self::parse(
            [&before, &heading, &lines, &after].map(String::as_str).concat(),
            self.line_end,
        );
        *self = if redacted.changelog() == lines {
            redacted
        } else {
            let content =
                Self { changelog: None, text: format!("{before}{after}"), ..self.clone() };
            Self::with_changelog(&content.content(), &format!("{heading}{lines}"), self.line_end)
        };
        Ok(())
    }

    fn without_line_end<'a>(&self, text: &'a str) -> &'a str {
        text.strip_suffix(self.line_end).or_else(|| text.strip_suffix('\n')).unwrap_or(text)
    }

    /// The length of the empty line between front matter and content.
    fn empty_line(&self) -> usize {
        [self.line_end, "\n"].into_iter().find(|end| self.text.starts_with(end)).map_or(0, str::len)
    }
}

/// Redacts a text and keeps the line ends that follow it.
fn redact_lines(text: &mut String, pass: &mut RedactionSession) -> Result<()> {
    let line_ends = text.split_off(text.trim_end_matches(['\n', '\r']).len());
    pass.text(text)?;
    text.push_str(&line_ends);
    Ok(())
}
