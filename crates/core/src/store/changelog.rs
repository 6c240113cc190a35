//! The lines of an entry's changelog: `- <ISO time> [<agent>]: <description>`.

use redaction::RedactionSession;

use super::{entry_parts::Change, time};
use crate::error::Result;

const SUPERSEDED: &str = "Marked as superseded, see ";

/// The description of a supersession: the change that says which entry replaces this one.
pub(super) fn superseded(path: &str, reason: &str) -> String {
    let colon = if reason.trim().is_empty() { "" } else { ": " };
    format!("{SUPERSEDED}{path}{colon}{}", reason.trim())
}

/// The path of the entry that replaced this one, if the description is that of a supersession.
fn superseded_by(description: &str) -> Option<&str> {
    let rest = description.strip_prefix(SUPERSEDED)?;
    let path = rest.split_once(": ").map_or(rest, |(path, _)| path).trim_end_matches(':').trim();
    Some(path).filter(|path| !path.is_empty())
}

/// The path of the entry that replaced this one, by the last supersession in the changelog.
pub(super) fn last_superseded_by(section: &str) -> Option<&str> {
    lines(section).filter_map(|line| superseded_by(line.description)).last()
}

/// Parses the lines of a changelog. Lines of another form are ignored.
pub(super) fn changes(section: &str) -> Vec<Change> {
    let changes = lines(section).map(|line| Change {
        timestamp: time::iso(line.time),
        agent: line.agent.to_owned(),
        description: line.description.to_owned(),
    });
    changes.collect()
}

struct Line<'a> {
    time: i64,
    agent: &'a str,
    description: &'a str,
}

fn lines(section: &str) -> impl Iterator<Item = Line<'_>> {
    section.split('\n').filter_map(parse)
}

fn parse(line: &str) -> Option<Line<'_>> {
    let line = line.trim_end().strip_prefix("- ")?;
    let (written, rest) = line.split_once('[')?;
    let time = time::parse(written)?;
    let (agent, description) = rest.split_once("]:")?;
    Some(Line { time, agent, description: description.trim() })
}

/// Formats one line, without its line end. Line ends in the change become spaces, and brackets in
/// the agent's name cannot end it early.
pub(super) fn line(change: &Change) -> String {
    let written = time::parse(&change.timestamp);
    let timestamp = written.map_or_else(|| single_line(&change.timestamp), time::iso);
    let (agent, description) = (agent_of_line(&change.agent), single_line(&change.description));
    format!("- {timestamp} [{agent}]: {description}")
}

/// Redacts agents and descriptions separately: a redacted agent must not take the brackets around
/// it along.
pub(super) fn redact(section: &mut String, pass: &mut RedactionSession) -> Result<()> {
    let mut redacted = String::new();
    for text in section.split_inclusive('\n') {
        let Some(line) = parse(text) else {
            redacted.push_str(text);
            continue;
        };
        let (mut agent, mut description) = (line.agent.to_owned(), line.description.to_owned());
        pass.text(&mut agent)?;
        pass.text(&mut description)?;
        if agent == line.agent && description == line.description {
            redacted.push_str(text);
            continue;
        }
        let start = text.split_inclusive('[').next().unwrap_or_default();
        let line_end = text.get(text.trim_end_matches(['\r', '\n']).len()..).unwrap_or_default();
        redacted.push_str(start);
        redacted.push_str(&agent_of_line(&agent));
        redacted.push_str("]: ");
        redacted.push_str(&single_line(&description));
        redacted.push_str(line_end);
    }
    *section = redacted;
    Ok(())
}

fn agent_of_line(agent: &str) -> String {
    single_line(agent).replace("]:", "] :")
}

/// The change that is read back after this one was written.
pub(super) fn as_read(change: &Change) -> Option<Change> {
    changes(&line(change)).pop()
}

/// Replaces line ends and control characters with spaces.
fn single_line(text: &str) -> String {
    let is_break =
        |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    let parts = text.split(is_break).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ").trim().to_owned()
}
