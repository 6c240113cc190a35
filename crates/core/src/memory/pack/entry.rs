//! Formats one record as an item of a Markdown list. Further lines are indented, so that no text in a record
//! can pass for a heading of the pack or for another record.

use serde::Serialize;
use text_index::Document;

use super::super::{
    record::{NoteSource, Record},
    summary::Summary,
};
use crate::vectors::embedded_text;

/// The sections of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Part {
    Conventions,
    Decisions,
    Notes,
    Summaries,
}

impl Part {
    /// The section's heading.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Conventions => "## Conventions",
            Self::Decisions => "## Decisions",
            Self::Notes => "## Notes",
            Self::Summaries => "## Latest steps",
        }
    }

    /// The noun for this number of entries.
    pub fn count(self, count: usize) -> String {
        let noun = match self {
            Self::Conventions => "convention",
            Self::Decisions => "decision",
            Self::Notes => "note",
            Self::Summaries => "step",
        };
        format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
    }
}

/// The record that an entry represents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PackedRecord {
    /// A convention.
    Convention {
        /// Its id.
        id: String,
    },
    /// A decision.
    Decision {
        /// Its id.
        id: String,
    },
    /// A note.
    Note {
        /// Its id.
        id: String,
    },
    /// The summary of a step.
    Summary {
        /// The run it belongs to.
        run_id: String,
        /// The step of the run.
        step_id: String,
        /// The time at which it was written, ISO 8601.
        timestamp: String,
    },
}

/// A formatted record.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub part: Part,
    /// The record that the entry represents.
    pub record: PackedRecord,
    /// The most descriptive text for ranking.
    title: String,
    labels: String,
    body: String,
    /// The text in the pack.
    pub text: String,
    /// Its length in UTF-16 code units.
    pub length: usize,
}

impl Entry {
    fn new(record: PackedRecord, title: &str, labels: String, body: String, text: &str) -> Self {
        let text = item(text);
        let length = utf16_length(&text);
        let part = match record {
            PackedRecord::Convention { .. } => Part::Conventions,
            PackedRecord::Decision { .. } => Part::Decisions,
            PackedRecord::Note { .. } => Part::Notes,
            PackedRecord::Summary { .. } => Part::Summaries,
        };
        Self { part, record, title: title.to_owned(), labels, body, text, length }
    }

    /// The text that embedding models get.
    pub fn embedded(&self) -> String {
        embedded_text(&[&self.title, &self.labels, &self.body])
    }

    pub fn convention(record: &Record) -> Self {
        let title = record.title.as_deref().unwrap_or_default();
        let content = record.content.clone().unwrap_or_default();
        let labels = record.tags.join(", ");
        let shown = if labels.is_empty() { String::new() } else { format!(" ({labels})") };
        let text = format!("**{title}**{shown}: {content}");
        let named = PackedRecord::Convention { id: record.id.clone() };
        Self::new(named, title, labels, content, &text)
    }

    pub fn decision(record: &Record) -> Self {
        let summary = record.summary.as_deref().unwrap_or_default();
        let rationale = record.rationale.clone().unwrap_or_default();
        let mut text = format!("**{summary}**");
        if !rationale.trim().is_empty() {
            text.push_str(&format!(": {}", rationale.trim()));
        }
        if !record.impacted_paths.is_empty() {
            text.push_str(&format!(" (affects {})", record.impacted_paths.join(", ")));
        }
        text.push_str(&format!(" [{}]", day(&record.updated_at)));
        let named = PackedRecord::Decision { id: record.id.clone() };
        Self::new(named, summary, record.impacted_paths.join(" "), rationale, &text)
    }

    pub fn note(record: &Record) -> Self {
        let content = record.content.clone().unwrap_or_default();
        let source = match record.source {
            NoteSource::Manual => "",
            NoteSource::Agent => "agent, ",
            NoteSource::Tool => "tool, ",
        };
        let text = format!("{} [{source}{}]", content.trim(), day(&record.updated_at));
        let named = PackedRecord::Note { id: record.id.clone() };
        Self::new(named, "", String::new(), content, &text)
    }

    pub fn summary(summary: &Summary) -> Self {
        let Summary { run_id, step_id, timestamp, summary: content, tags, .. } = summary;
        let labels = tags.as_ref().map(|tags| tags.join(", ")).unwrap_or_default();
        let text = format!("**{run_id} / {step_id}** [{}]: {content}", day(timestamp));
        let title = format!("{run_id} {step_id}");
        let named = PackedRecord::Summary {
            run_id: run_id.clone(),
            step_id: step_id.clone(),
            timestamp: timestamp.clone(),
        };
        Self::new(named, &title, labels, content.clone(), &text)
    }

    /// The document for ranking.
    pub fn document(&self) -> Document<'_> {
        Document {
            description: &self.title,
            arguments: &self.labels,
            result: &self.body,
            ..Document::default()
        }
    }

    /// The beginning of the entry, in at most `most` UTF-16 code units; `None` if that is too short to be
    /// useful.
    pub fn cut(&self, most: usize) -> Option<Self> {
        const LEAST: usize = 20;
        const LONGEST_WORD: usize = 10;
        if self.length <= most {
            return Some(self.clone());
        }
        let mut room = most.checked_sub(1).filter(|_| most >= LEAST)?;
        let end = self.text.char_indices().find_map(|(place, character)| {
            match room.checked_sub(character.len_utf16()) {
                Some(left) => {
                    room = left;
                    None
                }
                None => Some(place),
            }
        });
        let kept = self.text.get(..end?)?;
        // Cuts between words, if there is a space nearby.
        let kept = match kept.rfind(char::is_whitespace) {
            Some(place) if kept.len() - place <= LONGEST_WORD => kept.get(..place)?,
            _ => kept,
        };
        let kept = kept.trim_end();
        let text = format!("{kept}…");
        Some(Self { length: utf16_length(&text), text, ..self.clone() })
    }
}

/// The length of a text in JavaScript.
pub(super) fn utf16_length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Formats an item of a list. All line ends of Markdown and of JavaScript are recognised.
fn item(text: &str) -> String {
    let mut item = String::from("- ");
    let mut lines = text.trim().split(['\n', '\r', '\u{2028}', '\u{2029}']);
    item.push_str(lines.next().unwrap_or_default().trim_end());
    for line in lines {
        let line = line.trim_end();
        if !line.is_empty() {
            item.push_str("\n  ");
            item.push_str(line);
        }
    }
    item
}

/// The date in a timestamp.
fn day(timestamp: &str) -> &str {
    timestamp.split('T').next().unwrap_or_default()
}
