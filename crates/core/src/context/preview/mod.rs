//! What a placeholder shows of a text: the parts that matter most, within a number of bytes.
//!
//! The same text gives the same preview. What is left out is counted to the byte by the placeholder.
//!
//! | module | what it knows |
//! |---|---|
//! | `lines` | the lines of a text |
//! | `pieces` | parts of a text that are shown, and what they cost with the notes between them |
//! | `excerpt` | the beginning and the end of a text |
//! | `failures` | how likely a line names a failure |
//! | `repetition` | which lines are alike |
//! | `log` | logs and outputs of builds, tests and crashes: failures, totals, what repeats and what does not |
//! | `hit_lines` | lines of search tools, taken apart |
//! | `diff`, `search_hits`, `table`, `source` | texts with a form of their own: an outline, and some lines |

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

/// The share of the bytes that an outline may take.
const OUTLINE_SHARE: (usize, usize) = (3, 4);
/// Less room shows a beginning and an end only, in bytes.
const LEAST_ROOM: usize = 160;
/// Longer lines of an outline are cut, in bytes.
const MAX_OUTLINE_LINE: usize = 160;

/// What is shown of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Preview {
    /// What the text holds, in whole lines, harmless; empty where its parts say enough.
    pub outline: String,
    /// The parts of the text that are shown, in their order and apart from each other.
    pub pieces: Vec<Range<usize>>,
}

/// The preview of a text in at most `max_bytes` bytes, the first note on what is left out not counted.
/// `arguments` are those of the call, as JSON: they may name the file that the text is.
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

/// An outline, and of the text what there is room for beside it.
fn outlined(outline: String, text: &str, max_bytes: usize) -> Preview {
    let room = max_bytes.saturating_sub(outline.len() + 1);
    Preview { outline, pieces: excerpt::pieces(text, room) }
}

/// Lines of an outline within a number of bytes.
struct OutlineWriter {
    text: String,
    max_bytes: usize,
}

impl OutlineWriter {
    /// For what of a preview an outline may take.
    fn new(preview_bytes: usize) -> Self {
        let (part, whole) = OUTLINE_SHARE;
        Self { text: String::new(), max_bytes: preview_bytes * part / whole }
    }

    /// The line that is written for a text.
    fn line(text: &str) -> String {
        let mut line = harmless_line(text, MAX_OUTLINE_LINE);
        line.push('\n');
        line
    }

    /// Bytes that are left.
    fn room(&self) -> usize {
        self.max_bytes.saturating_sub(self.text.len())
    }

    /// Adds a line when it fits.
    fn push(&mut self, text: &str) -> bool {
        let line = Self::line(text);
        let fits = line.len() <= self.room();
        if fits {
            self.text.push_str(&line);
        }
        fits
    }
}

/// Things with a heading and further lines each: all headings that fit, then lines below the first headings. What
/// does not fit is counted as `… and 3 more files`.
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
    // Each thing gets a line before any gets two.
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
