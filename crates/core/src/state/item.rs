//! Items, and their JSON text for JavaScript.

use std::{collections::VecDeque, io, ops::Deref};

use chrono::DateTime;
use memmap2::MmapMut;

use super::{
    name::{write_namespace, write_token},
    revision::Revision,
};

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// JSON text.
    Json,
    /// Bytes.
    Bytes,
}

impl Kind {
    /// The number in the database.
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Json => 0,
            Self::Bytes => 1,
        }
    }

    /// The type with this number in the database.
    pub(super) const fn of_number(number: i64) -> Self {
        if number == 0 { Self::Json } else { Self::Bytes }
    }
}

/// An item without its value.
#[derive(Debug, Clone)]
pub(super) struct Meta {
    pub namespace: Vec<u8>,
    pub key: Vec<u8>,
    pub revision: Revision,
    pub created_at: i64,
    pub updated_at: i64,
    pub expires_at: Option<i64>,
    pub kind: Kind,
    pub media_type: Option<String>,
    pub length: usize,
}

impl Meta {
    /// Appends the members after the value, and the closing brace. With `place`, appends namespace and key, the
    /// namespace without its first `place` segments.
    fn write_rest(&self, place: Option<usize>, out: &mut Vec<u8>) {
        if let Some(root) = place {
            out.extend_from_slice(b"\"namespace\":");
            write_namespace(&self.namespace, root, out);
            out.extend_from_slice(b",\"key\":");
            write_token(&self.key, out);
            out.push(b',');
        }
        out.extend_from_slice(format!("\"revision\":\"{}\"", self.revision).as_bytes());
        write_times(self.created_at, self.updated_at, self.expires_at, out);
        if let Some(media_type) = &self.media_type {
            out.extend_from_slice(b",\"mediaType\":");
            json_text::escape_string(media_type, out);
        }
    }
}

/// Appends the members with times.
pub(super) fn write_times(created: i64, updated: i64, expires: Option<i64>, out: &mut Vec<u8>) {
    let members =
        [("createdAt", Some(created)), ("updatedAt", Some(updated)), ("expiresAt", expires)];
    for (name, time) in members {
        if let Some(time) = time {
            out.extend_from_slice(format!(",\"{name}\":\"{}\"", iso(time)).as_bytes());
        }
    }
}

/// ISO 8601 in UTC with milliseconds, as `Date.toISOString` writes it.
pub(super) fn iso(time: i64) -> String {
    DateTime::from_timestamp_millis(time)
        .unwrap_or_default()
        .format("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// A value that is passed separately from its item's JSON.
#[derive(Debug)]
pub enum SeparateValue {
    /// Bytes.
    Bytes(Vec<u8>),
    /// Long JSON text.
    Json(Vec<u8>),
    /// A long JSON string.
    Text(LongText),
}

/// The content of a long JSON string in pieces, none of which ends within a character or an escape sequence. Each piece
/// has its own pages, which are returned to the system when it is dropped, so a consumer that takes the pieces one by
/// one never holds the text twice.
#[derive(Debug, Default)]
pub struct LongText(VecDeque<Piece>);

/// A piece of a [`LongText`].
#[derive(Debug)]
pub struct Piece {
    pages: MmapMut,
    length: usize,
}

impl LongText {
    /// Appends to the text. An incomplete character or escape sequence at its end moves to the new piece.
    fn push(&mut self, text: &[u8]) -> io::Result<()> {
        let mut cut = Vec::new();
        if let Some(last) = self.0.back_mut() {
            let whole = whole_length(last);
            cut.extend_from_slice(last.get(whole..).unwrap_or_default());
            last.length = whole;
        }
        let length = cut.len() + text.len();
        let mut pages = MmapMut::map_anon(length)?;
        let (begin, rest) = pages.split_at_mut(cut.len());
        begin.copy_from_slice(&cut);
        rest.copy_from_slice(text);
        self.0.push_back(Piece { pages, length });
        Ok(())
    }
}

impl Iterator for LongText {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        self.0.pop_front()
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.pages.get(..self.length).unwrap_or_default()
    }
}

/// Items for JavaScript: JSON without binary and long values, and these values.
#[derive(Debug, Default)]
pub struct ItemText {
    /// The object of one item, or several with commas between them.
    pub json: Vec<u8>,
    /// The separate values, in the order of their items.
    pub values: Vec<SeparateValue>,
}

impl ItemText {
    /// Appends an item. With `place`, appends namespace and key, the namespace without its first `place` segments.
    /// `score` adds a member.
    pub(super) fn push(
        &mut self,
        meta: &Meta,
        content: Content<'_>,
        place: Option<usize>,
        score: Option<f32>,
    ) {
        if !self.json.is_empty() {
            self.json.push(b',');
        }
        self.json.push(b'{');
        match (meta.kind, content) {
            (_, Content::Separate(value)) => self.values.push(value),
            (Kind::Json, Content::Inline(value)) => {
                self.json.reserve(value.len() + 256);
                self.json.extend_from_slice(b"\"value\":");
                self.json.extend_from_slice(value);
                self.json.push(b',');
            }
            (Kind::Bytes, Content::Inline(value)) => {
                self.values.push(SeparateValue::Bytes(value.to_vec()));
            }
        }
        if let Some(score) = score {
            self.json.extend_from_slice(format!("\"score\":{score},").as_bytes());
        }
        meta.write_rest(place, &mut self.json);
        self.json.push(b'}');
    }
}

/// The value of an item that is appended to an [`ItemText`].
pub(super) enum Content<'a> {
    /// A value that was read whole.
    Inline(&'a [u8]),
    /// A value that is passed separately.
    Separate(SeparateValue),
}

/// Collects a long JSON value from its chunks, a string in pieces.
pub(super) struct LongJson {
    text: LongText,
    json: Vec<u8>,
    length: usize,
    expected: usize,
}

impl LongJson {
    /// A value of this many bytes.
    pub fn new(expected: usize) -> Self {
        Self { text: LongText::default(), json: Vec::new(), length: 0, expected }
    }

    /// Appends a chunk.
    pub fn push(&mut self, chunk: &[u8]) -> io::Result<()> {
        let is_last = self.length + chunk.len() == self.expected;
        let is_text = !self.text.0.is_empty() || (self.length == 0 && chunk.first() == Some(&b'"'));
        if is_text {
            let inside = usize::from(self.length == 0)..chunk.len() - usize::from(is_last);
            self.text.push(chunk.get(inside).unwrap_or_default())?;
        } else {
            self.json.reserve_exact(self.expected.saturating_sub(self.length));
            self.json.extend_from_slice(chunk);
        }
        self.length += chunk.len();
        Ok(())
    }

    /// The value; `None` if chunks are missing.
    pub fn finish(self) -> Option<SeparateValue> {
        match self.length == self.expected {
            true if self.text.0.is_empty() => Some(SeparateValue::Json(self.json)),
            true => Some(SeparateValue::Text(self.text)),
            false => None,
        }
    }
}

/// The length of the longest part of a JSON string that ends neither within a character nor within an escape sequence.
fn whole_length(text: &[u8]) -> usize {
    let end = text.len();
    // The longest escape sequence is `\uXXXX`.
    let window = text.iter().enumerate().rev().take(6);
    let escape = window.filter(|(_, byte)| **byte == b'\\').map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).unwrap_or_default();
        let run = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        let length = if text.get(at + 1) == Some(&b'u') { 6 } else { 2 };
        // After an odd number of other backslashes, a backslash is itself escaped.
        run % 2 == 0 && at + length > end
    });
    let end = escape.unwrap_or(end);
    let text = text.get(..end).unwrap_or_default();
    let start = text.iter().rposition(|byte| byte & 0xC0 != 0x80).unwrap_or(end);
    let is_cut = text.get(start).is_some_and(|first| {
        let length = match first {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        };
        start + length > end
    });
    if is_cut { start } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_of_a_string_are_strings(
            text in "[a\\\\\"\n\u{1}é€😀]{0,40}",
            lone in any::<bool>(),
            size in 1_usize..12,
        ) {
            let mut json = serde_json::to_string(&text).unwrap();
            if lone {
                json.insert_str(1, "\\ud83d\\\\\\udc00");
            }
            let inside = &json.as_bytes()[1..json.len() - 1];
            let mut text = LongText::default();
            for chunk in inside.chunks(size) {
                text.push(chunk).unwrap();
            }
            let pieces: Vec<Vec<u8>> = text.map(|piece| piece.to_vec()).collect();
            prop_assert_eq!(pieces.concat(), inside);
            let units: Vec<u16> = pieces
                .iter()
                .flat_map(|piece| json_text::decode_utf16(&[b"\"", piece.as_slice(), b"\""].concat()))
                .collect();
            prop_assert_eq!(units, json_text::decode_utf16(json.as_bytes()));
        }
    }
}
