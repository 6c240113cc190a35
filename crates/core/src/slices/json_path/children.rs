//! Iterates over the members or elements of a value in its text, without building a tree.

use std::borrow::Cow;

use super::Value;

/// The step from a value to a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// A member's key, with quotes.
    Key(&'a [u8]),
    /// An element's index.
    Index(usize),
}

impl Step<'_> {
    /// Whether this is a member with that name.
    pub fn is_named(self, name: &str) -> bool {
        let Step::Key(key) = self else { return false };
        let content = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
        content == name.as_bytes() && !content.contains(&b'\\')
            || content.contains(&b'\\') && decode(key) == name
    }
}

/// The decoded text of a string token.
pub(super) fn decode(token: &[u8]) -> Cow<'_, str> {
    json_text::decode_string(token).unwrap_or_default()
}

/// A child of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child<'a> {
    pub step: Step<'a>,
    pub value: Value,
}

/// The children of a value; none unless it is an array or an object. The text must be valid JSON.
#[derive(Debug)]
pub(super) struct Children<'a> {
    text: &'a [u8],
    is_object: bool,
    index: usize,
    /// The current position, in bytes.
    pub at: usize,
}

impl<'a> Children<'a> {
    pub fn new(text: &'a [u8], parent: Value) -> Self {
        let opening = text.get(parent.start);
        let at = if matches!(opening, Some(b'{' | b'[')) { parent.start + 1 } else { text.len() };
        Self { text, is_object: opening == Some(&b'{'), index: 0, at }
    }

    /// Parses a member's key up to its value.
    fn key(&mut self) -> Option<Step<'a>> {
        let end = json_text::skip_value(self.text, self.at).ok()?;
        let key = self.text.get(self.at..end)?;
        let colon = json_text::skip_whitespace(self.text, end);
        self.at = json_text::skip_whitespace(self.text, colon + 1);
        Some(Step::Key(key))
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = Child<'a>;

    fn next(&mut self) -> Option<Child<'a>> {
        self.at = json_text::skip_whitespace(self.text, self.at);
        match self.text.get(self.at)? {
            b'}' | b']' => return None,
            b',' => self.at = json_text::skip_whitespace(self.text, self.at + 1),
            _ => {}
        }
        let step = if self.is_object { self.key()? } else { Step::Index(self.index) };
        let start = self.at;
        self.at = json_text::skip_value(self.text, start).ok()?;
        self.index += 1;
        Some(Child { step, value: Value { start, end: self.at } })
    }
}
