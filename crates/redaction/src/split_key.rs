//! Finds private keys whose lines are separate strings in JSON: elements of an array, or the same member of consecutive
//! objects (`[{"line": 1, "text": "…"}, …]`).

use std::{borrow::Cow, ops::ControlFlow, ops::Range};

use json_text::Token;
use rustc_hash::FxHashMap;

use super::{
    private_key,
    searches::Searches,
    view::{View, may_hide},
};

/// Strings longer than this are not lines.
const MAX_PIECE: usize = 64 << 10;
/// Replaces a string that cannot be a line.
const OTHER: &str = "\u{0}";

/// The part of a string that belongs to a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The string's token, with its quotes.
    pub token: Range<usize>,
    /// The range of the part in the decoded text of the token.
    pub range: Range<usize>,
}

/// Strings at the same place of consecutive, similar values, as lines of one text.
#[derive(Default)]
struct Column {
    /// The strings' tokens, with their quotes.
    tokens: Vec<Range<usize>>,
    /// Whether a string may be a part of a key.
    may_hold_key: bool,
}

/// The text of a column.
#[derive(Default)]
struct Lines {
    text: String,
    pieces: Vec<Piece>,
}

struct Piece {
    /// The range of the string in the column's text.
    range: Range<usize>,
    token: Range<usize>,
}

/// The strings of a JSON text that may be parts of keys.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The offsets of their tokens, in order.
    starts: Vec<usize>,
    /// Whether a string has the header or the footer of a key.
    has_delimiter: bool,
    /// Number of lines of keys in the strings.
    lines: usize,
    /// Whether a string may have characters that are not visible, which may hide lines.
    hides: bool,
}

impl Candidates {
    /// Adds the string whose token begins at `start`, if it may be a part of a key. `searches` are those that it needs.
    pub fn add(&mut self, text: &str, searches: Searches, start: usize) {
        let is_searched = searches.has(Searches::PRIVATE_KEYS);
        let has_delimiter = is_searched && private_key::has_delimiter(text);
        let lines = if is_searched { private_key::count_lines(text) } else { 0 };
        let hides = searches.has(Searches::HIDDEN) && may_hide(text);
        if has_delimiter || lines > 0 || hides {
            self.starts.push(start);
        }
        self.has_delimiter |= has_delimiter;
        self.lines += lines;
        self.hides |= hides;
    }

    /// Whether the strings may have a key: a part of it is visible, and there may be enough lines.
    pub const fn may_hold_key(&self) -> bool {
        self.has_delimiter || self.lines > 0 && (self.hides || self.lines >= private_key::LINES)
    }
}

/// The parts of keys that are split over several strings, ordered by column.
pub(super) fn find(json: &str, candidates: &Candidates) -> Vec<Part> {
    let mut columns = Columns { candidates: &candidates.starts, ..Columns::default() };
    // The caller has walked the text before, so it is JSON.
    let _ = json_text::walk_value(json.as_bytes(), 0, |token| {
        columns.visit(json, token);
        ControlFlow::Continue(())
    });
    let columns = columns.columns.into_iter().filter(|column| column.may_hold_key);
    columns.flat_map(|column| Lines::of(json, column).parts()).collect()
}

/// The text of a string token.
fn decoded<'a>(json: &'a str, token: &Range<usize>) -> Cow<'a, str> {
    let content = json.get(token.start + 1..token.end - 1).unwrap_or_default();
    json_text::decode_content(content)
}

#[derive(Default)]
struct Columns<'a> {
    columns: Vec<Column>,
    /// The offsets of the tokens that may be parts of a key, from the next one on.
    candidates: &'a [usize],
    /// Indices of columns by depth and name.
    numbers: FxHashMap<(usize, Cow<'a, str>), usize>,
    /// The names of the members whose values are open; an array has the name of the member that contains it.
    names: Vec<Cow<'a, str>>,
}

impl<'a> Columns<'a> {
    fn visit(&mut self, json: &'a str, token: Token<'a>) {
        let range = |raw: &[u8]| {
            let start = raw.as_ptr().addr() - json.as_ptr().addr();
            start..start + raw.len()
        };
        match token {
            Token::ObjectStart | Token::ArrayStart => {
                self.names.push(self.names.last().cloned().unwrap_or_default());
            }
            Token::ObjectEnd | Token::ArrayEnd => {
                self.names.pop();
            }
            Token::Key(raw) => self.key(decoded(json, &range(raw))),
            Token::String(raw) => self.string(range(raw)),
            Token::Number(_) | Token::Literal(_) => {}
        }
    }

    fn key(&mut self, key: Cow<'a, str>) {
        // Line numbers as keys: an object that has the function of a list.
        let is_number = key.bytes().all(|byte| byte.is_ascii_digit());
        let outer =
            self.names.len().checked_sub(2).and_then(|outer| self.names.get(outer)).cloned();
        if let Some(name) = self.names.last_mut() {
            *name = if is_number { outer.unwrap_or_default() } else { key };
        }
    }

    fn string(&mut self, token: Range<usize>) {
        let name = self.names.last().cloned().unwrap_or_default();
        let count = self.columns.len();
        let number = *self.numbers.entry((self.names.len(), name)).or_insert(count);
        if number == count {
            self.columns.push(Column::default());
        }
        let is_candidate = self.candidates.first() == Some(&token.start);
        if is_candidate {
            self.candidates = self.candidates.get(1..).unwrap_or_default();
        }
        if let Some(column) = self.columns.get_mut(number) {
            column.may_hold_key |= is_candidate;
            column.tokens.push(token);
        }
    }
}

impl Lines {
    fn of(json: &str, column: Column) -> Self {
        let mut lines = Self::default();
        for token in column.tokens {
            let text = decoded(json, &token);
            let start = lines.text.len();
            lines.text.push_str(if text.len() <= MAX_PIECE { &text } else { OTHER });
            lines.pieces.push(Piece { range: start..lines.text.len(), token });
            lines.text.push('\n');
        }
        lines
    }

    fn parts(&self) -> Vec<Part> {
        let mut keys = Vec::new();
        private_key::find(&self.text, |range| keys.push(range));
        if let Some(view) = View::of(&self.text) {
            private_key::find(view.text(), |range| keys.push(view.original(&range)));
        }
        keys.sort_unstable_by_key(|key| key.start);
        let mut end = 0;
        let mut parts = Vec::new();
        for key in keys {
            // The header and the lines of a key may both have found the same part.
            parts.extend(self.parts_of(key.start.max(end)..key.end));
            end = end.max(key.end);
        }
        parts
    }

    /// The parts of a key in the strings over which it is split.
    fn parts_of(&self, key: Range<usize>) -> impl Iterator<Item = Part> + '_ {
        let first = self.pieces.partition_point(|piece| piece.range.end <= key.start);
        let pieces = self.pieces.get(first..).unwrap_or_default();
        let pieces = pieces.iter().take_while(move |piece| piece.range.start < key.end);
        pieces.filter_map(move |Piece { range, token }| {
            let part = range.start.max(key.start)..range.end.min(key.end);
            let text = self.text.get(part.clone())?;
            let start = part.start + text.len() - text.trim_start().len();
            let text = text.trim();
            // Delimiters and line numbers do not show that lines follow.
            let is_line = text.bytes().any(|byte| byte.is_ascii_alphabetic())
                && !private_key::is_delimiter(text);
            let part = start - range.start..start + text.len() - range.start;
            is_line.then(|| Part { token: token.clone(), range: part })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{EnvironmentValues, Redaction, RedactionOptions, RedactionSession, Redactor};

    /// The lines of a key; none of them is random.
    fn lines() -> Vec<String> {
        let line = |number: usize| {
            format!("{number}MIIEpAIBAAKCAQEA3yLb5u4S0gvcUONLHTaWaUP1gUYcKsqRKEhSdoXMSXovHdbM")
        };
        let body = (0..4).map(|number| line(number)[..64].to_owned());
        ["-----BEGIN PRIVATE KEY-----".to_owned()]
            .into_iter()
            .chain(body)
            .chain(["dGVzdA==".to_owned(), "-----END PRIVATE KEY-----".to_owned()])
            .collect()
    }

    fn parts(json: &str) -> Vec<String> {
        let mut candidates = Candidates::default();
        json_text::walk_value(json.as_bytes(), 0, |token| {
            if let Token::String(raw) = token {
                let text = json_text::decode_string(raw).unwrap();
                let start = raw.as_ptr().addr() - json.as_ptr().addr();
                candidates.add(&text, Searches::ALL, start);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        let parts = find(json, &candidates);
        let decoded = parts.into_iter().map(|Part { token, range }| {
            json_text::decode_string(json[token].as_bytes()).unwrap()[range].to_owned()
        });
        decoded.collect()
    }

    #[test]
    fn lines_in_members_of_objects_are_found() {
        let expected = &lines()[1..6];
        let rows = lines().into_iter().enumerate();
        let objects: Vec<String> = rows
            .clone()
            .map(|(number, line)| format!(r#"{{"n":"{number}","path":"key.pem","text":"{line}"}}"#))
            .collect();
        assert_eq!(parts(&format!(r#"{{"rows":[{}]}}"#, objects.join(","))), expected);
        let members: Vec<String> =
            rows.clone().map(|(number, line)| format!(r#""{number}":"{line}""#)).collect();
        assert_eq!(parts(&format!("{{{}}}", members.join(","))), expected);
        let pairs: Vec<String> =
            rows.map(|(number, line)| format!(r#"[{number},"{line}\n"]"#)).collect();
        assert_eq!(parts(&format!("[{}]", pairs.join(","))), expected);
    }

    #[test]
    fn lines_with_numbers_and_colours_are_found() {
        let rows = lines().into_iter().enumerate();
        let rows: Vec<String> = rows
            .map(|(number, line)| format!(r#""\u001b[32m{}\u001b[0m\t{line}""#, number + 8))
            .collect();
        let found = parts(&format!("[{}]", rows.join(",")));
        for line in &lines()[1..6] {
            assert!(found.iter().any(|part| part.contains(line.as_str())), "{line}");
        }
    }

    #[test]
    fn lines_with_hidden_characters_are_found_where_one_is_visible() {
        let redactor = Redactor::new(RedactionOptions::default()).unwrap();
        let redaction = Redaction::new(redactor, Arc::new(EnvironmentValues::default()));
        let lines = &lines()[1..5];
        let hidden = |line: &String| format!(r"\u001b[0m{line}");
        let in_one_column = lines
            .iter()
            .enumerate()
            .map(|(number, line)| if number == 0 { line.clone() } else { hidden(line) })
            .map(|text| format!("\"{text}\""));
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let in_two_columns = lines
            .iter()
            .map(|line| format!("{{\"digest\":\"{digest}\",\"text\":\"{}\"}}", hidden(line)));
        for values in [in_one_column.collect::<Vec<_>>(), in_two_columns.collect()] {
            let mut json = format!("[{}]", values.join(","));
            RedactionSession::new(Some(redaction.clone())).token(&mut json).unwrap();
            assert!(lines.iter().all(|line| !json.contains(line.as_str())), "{json}");
        }
    }

    #[test]
    fn strings_elsewhere_are_not_part_of_a_key() {
        let lines = lines();
        let json = format!(
            r#"{{"a":["{}","{}"],"b":["averyordinaryidentifier","x"]}}"#,
            lines[0], lines[1]
        );
        assert_eq!(parts(&json), [lines[1].clone()]);
    }
}
