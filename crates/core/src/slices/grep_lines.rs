//! Collects whole matching lines with whole lines of context, for searches of many texts.

use serde::Serialize;
use tasks::Cancelled;

use super::{Stored, cancelled_error, grep::Grep, text_of};
use crate::error::Result;

/// Lines between two checks for cancellation.
const BATCH: usize = 4096;

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineMatch {
    /// Its number, from 1.
    pub line: usize,
    /// The position of the line in the whole text, in bytes.
    pub byte_offset: usize,
    /// The line without its line end.
    pub text: String,
    /// The lines of context before it.
    pub before: Vec<String>,
    /// The lines of context after it.
    pub after: Vec<String>,
}

/// The remaining limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Matching lines.
    pub lines: usize,
    /// Bytes of text.
    pub bytes: usize,
}

/// The matching lines of a text, and the remaining limits; `None` if a limit was reached.
///
/// # Errors
/// `InvalidArgument` if matching the expression takes too much work.
pub fn grep_lines(
    stored: Stored<'_>,
    grep: &Grep,
    mut room: Room,
    cancelled: &Cancelled,
) -> Result<(Vec<LineMatch>, Option<Room>)> {
    let text = text_of(stored);
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    let contents = |range: std::ops::Range<usize>| {
        let lines = lines.get(range).unwrap_or_default();
        lines.iter().map(|line| line.content.clone().into_owned()).collect::<Vec<String>>()
    };
    for (number, line) in lines.iter().enumerate() {
        if number % BATCH == 0 && cancelled.is_set() {
            return Err(cancelled_error());
        }
        grep.pattern.check_line(&line.content)?;
        if grep.pattern.find_at(&line.content, 0).is_none() {
            continue;
        }
        let end = number.saturating_add(1).saturating_add(grep.after).min(lines.len());
        let one = LineMatch {
            line: number + 1,
            byte_offset: line.start,
            text: line.content.clone().into_owned(),
            before: contents(number.saturating_sub(grep.before)..number),
            after: contents(number + 1..end),
        };
        let around = one.before.iter().chain(&one.after);
        let bytes = one.text.len() + around.map(String::len).sum::<usize>();
        if room.lines == 0 || bytes > room.bytes {
            return Ok((found, None));
        }
        room = Room { lines: room.lines - 1, bytes: room.bytes - bytes };
        found.push(one);
    }
    Ok((found, Some(room)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slices::{Pattern, Syntax};

    fn found(text: &str, lines: usize, bytes: usize) -> (Vec<LineMatch>, Option<Room>) {
        let pattern = Pattern::new("b+", Syntax::Rust, false).unwrap();
        let grep = Grep { pattern, before: 1, after: 1, from: 1, from_byte: 0 };
        let room = Room { lines, bytes };
        grep_lines(Stored::Text(text), &grep, room, &Cancelled::default()).unwrap()
    }

    #[test]
    fn lines_are_whole_and_bounded() {
        let long = "x".repeat(5000);
        let text = format!("a\n{long}b\nc\nb");
        let (all, room) = found(&text, 10, 100_000);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].line, all[0].byte_offset, all[0].text.len()), (2, 2, 5001));
        assert_eq!(
            (all[0].before.as_slice(), all[0].after.as_slice()),
            (&["a".to_owned()][..], &["c".to_owned()][..])
        );
        assert!(all[1].after.is_empty());
        assert_eq!(room, Some(Room { lines: 8, bytes: 100_000 - 5003 - 2 }));
        assert_eq!(found(&text, 1, 100_000).1, None);
        assert_eq!(found(&text, 10, 5000), (Vec::new(), None));
    }
}
