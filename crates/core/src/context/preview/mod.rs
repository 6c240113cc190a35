//! Chooses the parts of a text that a placeholder shows: the most important ones, within a number of bytes.
//!
//! The preview depends on the text and the call's arguments only. The placeholder states the exact number of bytes that
//! are omitted. `placeholder` and `json_preview` call `of_text`.
//!
//! | module | contents |
//! |---|---|
//! | `lines` | splitting a text into lines |
//! | `pieces` | the parts that are shown, and their size with the notes between them |
//! | `excerpt` | the beginning and the end of a text |
//! | `failures` | estimates whether a line names a failure |
//! | `repetition` | groups lines that differ in numbers only |
//! | `log` | the preview of logs and of the output of builds, tests and crashes |
//! | `hit_lines` | parsing the lines of search tools |
//! | `diff`, `search_hits`, `table`, `source` | the previews of other kinds of text: an outline, and some lines |

mod diff;
mod excerpt;
mod failures;
mod hit_lines;
mod lines;
mod log;
mod pieces;
mod repetition;
mod search_hits;
mod source;
mod table;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::delimited::harmless_line;

pub(super) use failures::reports_failure;
pub(super) use pieces::{left_out, shown_bytes};
pub(super) use search_hits::count as search_hits_in;

/// The largest share of the bytes that an outline takes.
const OUTLINE_SHARE: (usize, usize) = (3, 4);
/// With less space, only the beginning and the end are shown; in bytes.
const LEAST_ROOM: usize = 160;
/// The longest line of an outline, in bytes; longer ones are cut.
const MAX_OUTLINE_LINE: usize = 160;

/// The preview of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Preview {
    /// A summary of the text, in whole lines, safe to show (see [`super::delimited`]); empty if there is none.
    pub outline: String,
    /// The parts that are shown, in order and without overlap.
    pub pieces: Vec<Range<usize>>,
}

/// The preview of a text in at most `max_bytes` bytes, not counting the first note on omitted text. `arguments` are
/// those of the call, as JSON: they may name the file whose text this is.
pub(super) fn of_text(text: &str, arguments: &[u8], max_bytes: usize) -> Preview {
    if max_bytes >= LEAST_ROOM && text.len() > max_bytes {
        let formed = source::preview(text, arguments, max_bytes)
            .or_else(|| diff::preview(text, max_bytes))
            .or_else(|| search_hits::preview(text, max_bytes))
            .or_else(|| table::preview(text, max_bytes))
            .or_else(|| log::preview(text, max_bytes));
        if let Some(preview) = formed {
            return preview;
        }
    }
    beginning_and_end(text, max_bytes)
}

/// The beginning and the end of a text.
pub(super) fn beginning_and_end(text: &str, max_bytes: usize) -> Preview {
    Preview { outline: String::new(), pieces: excerpt::pieces(text, max_bytes) }
}

/// An outline, and as much of the text as fits beside it.
fn outlined(outline: String, text: &str, max_bytes: usize) -> Preview {
    let room = max_bytes.saturating_sub(outline.len() + 1);
    Preview { outline, pieces: excerpt::pieces(text, room) }
}

/// Writes the lines of an outline within a number of bytes.
struct OutlineWriter {
    text: String,
    max_bytes: usize,
}

impl OutlineWriter {
    /// With the share of a preview that outlines may take.
    fn new(preview_bytes: usize) -> Self {
        let (part, whole) = OUTLINE_SHARE;
        Self { text: String::new(), max_bytes: preview_bytes * part / whole }
    }

    /// The line for a text, safe to show.
    fn line(text: &str) -> String {
        let mut line = harmless_line(text, MAX_OUTLINE_LINE);
        line.push('\n');
        line
    }

    /// The remaining bytes.
    fn room(&self) -> usize {
        self.max_bytes.saturating_sub(self.text.len())
    }

    /// Adds a line if it fits; returns whether it did.
    fn push(&mut self, text: &str) -> bool {
        let line = Self::line(text);
        let fits = line.len() <= self.room();
        if fits {
            self.text.push_str(&line);
        }
        fits
    }
}

/// Writes sections of a heading with lines: as many headings as fit, then lines below the first headings. Omitted
/// sections are counted as `… and 3 more files`.
fn write_sections(
    first: &str,
    sections: &[(String, Vec<String>)],
    things: &str,
    max_bytes: usize,
) -> String {
    let mut writer = OutlineWriter::new(max_bytes);
    writer.push(first);
    let more = |left: usize| format!("… and {left} more {things}");
    let widest = OutlineWriter::line(&more(sections.len())).len();
    let mut room = writer.room().saturating_sub(widest);
    let mut headings = 0;
    for (heading, _) in sections {
        let cost = OutlineWriter::line(heading).len();
        if cost > room {
            break;
        }
        room -= cost;
        headings += 1;
    }
    let shown = sections.get(..headings).unwrap_or_default();
    // Each section gets a line before any gets a second one.
    let mut taken = vec![0; headings];
    let deepest = shown.iter().map(|(_, lines)| lines.len()).max().unwrap_or_default();
    'rounds: for round in 0..deepest {
        for ((_, lines), taken) in shown.iter().zip(&mut taken) {
            let Some(line) = lines.get(round) else { continue };
            let cost = OutlineWriter::line(line).len();
            if cost > room {
                break 'rounds;
            }
            room -= cost;
            *taken = round + 1;
        }
    }
    for ((heading, lines), taken) in shown.iter().zip(taken) {
        writer.push(heading);
        for line in lines.iter().take(taken) {
            writer.push(line);
        }
    }
    if headings < sections.len() {
        writer.push(&more(sections.len() - headings));
    }
    writer.text
}

/// `3 files`, `1 file`.
fn counted(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}
