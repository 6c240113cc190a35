//! The texts of a stored output (arguments, result, outcome) in the forms that searches, snippets and the index need.

use std::borrow::Cow;
use std::ops::Range;

use json_text::{Members, unescaped_in_place};
use storage::Payload;
use text_index::{FieldText, StoredTexts};

use super::{
    held::Held,
    outcome::Outcome,
    record::{self, NoRecord},
};

/// The texts of a stored output, decoded on demand.
pub(super) struct StoredText {
    /// The record, or the part of it without the result.
    record: Payload,
    arguments: Option<Range<usize>>,
    result: ResultText,
    /// The text of error and message.
    outcome: String,
}

/// The result.
enum ResultText {
    /// A text, decoded.
    Plain(Payload),
    /// A string of the record, decoded.
    Decoded(String),
    /// The range of another JSON value in the record.
    Json(Range<usize>),
}

impl StoredText {
    /// From a cached record.
    pub fn of_held(held: Held) -> Option<Self> {
        match held {
            Held::Whole(record) | Held::WithBytes { record, .. } => Self::of_record(record).ok(),
            Held::Text { head, text } => {
                let arguments = arguments_of(&head);
                let outcome = Outcome::of_record(&head).text();
                Some(Self { record: head, arguments, result: ResultText::Plain(text), outcome })
            }
        }
    }

    /// From a record's JSON, which is validated.
    ///
    /// # Errors
    /// [`NoRecord`] if it is not valid.
    pub fn of_record(record: Payload) -> Result<Self, NoRecord> {
        let range = record::check(&record)?;
        let token = record.get(range.clone()).unwrap_or_default();
        let result = match json_text::decode_string(token) {
            Some(text) => ResultText::Decoded(text.into_owned()),
            None => ResultText::Json(range),
        };
        let outcome = Outcome::of_record(&record).text();
        Ok(Self { arguments: arguments_of(&record), record, result, outcome })
    }

    /// The arguments as JSON.
    pub fn arguments(&self) -> &str {
        self.json(self.arguments.clone())
    }

    /// The result when it is a string, else its JSON.
    pub fn result(&self) -> &str {
        match &self.result {
            ResultText::Plain(text) => std::str::from_utf8(text).unwrap_or_default(),
            ResultText::Decoded(text) => text,
            ResultText::Json(range) => self.json(Some(range.clone())),
        }
    }

    /// The text of error and message.
    pub fn outcome(&self) -> &str {
        &self.outcome
    }

    /// Whether there is a result, or no outcome that takes its place.
    pub fn has_result(&self) -> bool {
        let is_null = matches!(self.result, ResultText::Json(_)) && self.result() == "null";
        self.outcome.is_empty() || !is_null
    }

    /// The arguments as plain text of the same length: positions in it are those in the JSON.
    pub fn plain_arguments(&self) -> Cow<'_, str> {
        unescaped_in_place(self.arguments())
    }

    /// The result as plain text of the same length.
    pub fn plain_result(&self) -> Cow<'_, str> {
        match &self.result {
            ResultText::Json(_) => unescaped_in_place(self.result()),
            _ => Cow::Borrowed(self.result()),
        }
    }

    /// Calls `read` with all texts.
    pub fn with_texts<R>(
        &self,
        name: &str,
        description: &str,
        read: impl FnOnce(&StoredTexts<'_>) -> R,
    ) -> R {
        let (arguments, result) = (self.plain_arguments(), self.plain_result());
        read(&StoredTexts {
            name,
            description,
            arguments: FieldText { raw: self.arguments(), plain: &arguments },
            result: FieldText { raw: self.result(), plain: &result },
            outcome: FieldText { raw: &self.outcome, plain: &self.outcome },
        })
    }

    /// Appends the indexed text of the result, at most `max_bytes`. Returns whether that is all of it.
    pub fn append_result(&self, out: &mut String, max_bytes: usize) -> bool {
        let whole = self.result();
        match &self.result {
            ResultText::Json(range) => {
                let token = self.record.get(range.clone()).unwrap_or_default();
                json_text::append_text(token, out, max_bytes);
            }
            _ => {
                out.push_str(whole.get(..whole.floor_char_boundary(max_bytes)).unwrap_or_default())
            }
        }
        whole.len() <= max_bytes
    }

    fn json(&self, range: Option<Range<usize>>) -> &str {
        let text = range.and_then(|range| self.record.get(range)).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }
}

/// The range of the arguments in a record, or in one without its result.
fn arguments_of(record: &[u8]) -> Option<Range<usize>> {
    let mut members = Members::new(record, json_text::skip_whitespace(record, 0)).ok()?;
    while let Some(key) = members.next_key().ok()? {
        let value = members.skip_value().ok()?;
        if key == b"\"args\"" {
            return Some(value);
        }
    }
    None
}

/// The text at the beginning of a record's result, read from at most `max_bytes`. The record may be truncated there.
pub(super) fn beginning_of_result(record: &[u8], max_bytes: usize) -> String {
    let rest = record::result_start(record).and_then(|start| record.get(start..));
    let rest = rest.unwrap_or_default();
    let mut beginning = rest.get(..max_bytes).unwrap_or(rest).to_vec();
    close_string(&mut beginning);
    let mut text = String::new();
    json_text::append_text(&beginning, &mut text, max_bytes);
    text
}

/// Closes a string that the end of the text cuts off, after the last whole character.
fn close_string(text: &mut Vec<u8>) {
    let mut opening = None;
    let mut at = 0;
    // The end of the string's last whole character.
    let mut end = 0;
    while let Some(&byte) = text.get(at) {
        let length = match (opening, byte) {
            (None, b'"') => {
                opening = Some(at);
                1
            }
            (Some(_), b'"') => {
                opening = None;
                1
            }
            (Some(_), b'\\') if text.get(at + 1) == Some(&b'u') => 6,
            (Some(_), b'\\') => 2,
            (_, 0xC0..=0xDF) => 2,
            (_, 0xE0..=0xEF) => 3,
            (_, 0xF0..=0xFF) => 4,
            _ => 1,
        };
        if at + length > text.len() {
            break;
        }
        at += length;
        end = at;
    }
    if opening.is_some() {
        text.truncate(end);
        text.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored(result: &str) -> StoredText {
        let record = format!(r#"{{"toolName":"t","args":{{"a":"x\ny"}},"result":{result}}}"#);
        StoredText::of_record(Payload::new(record.into_bytes())).unwrap()
    }

    #[test]
    fn texts_are_read_from_every_kind_of_record() {
        let object = stored(r#"{"b":"caf\u00e9"}"#);
        assert_eq!(object.arguments(), r#"{"a":"x\ny"}"#);
        assert_eq!(object.plain_arguments(), "{\"a\":\"x\u{1}\ny\"}");
        assert_eq!(object.result(), r#"{"b":"caf\u00e9"}"#);
        assert!(object.plain_result().contains("café"));
        assert_eq!(stored(r#""a\nb""#).result(), "a\nb");
        let long = "line\\n".repeat(200);
        let record = format!(r#"{{"toolName":"t","args":{{"a":1}},"result":"{long}"}}"#);
        let at = record.find("\"line").unwrap();
        let held = Held::new(Payload::new(record.into_bytes()), at);
        assert!(matches!(held, Held::Text { .. }));
        let held = StoredText::of_held(held).unwrap();
        assert_eq!((held.arguments(), held.result()), (r#"{"a":1}"#, &*"line\n".repeat(200)));
        assert!(StoredText::of_record(Payload::new(b"{}".to_vec())).is_err());
        let other = br#"{"result":[1],"toolName":"t"}"#.to_vec();
        let other = StoredText::of_record(Payload::new(other)).unwrap();
        assert_eq!((other.arguments(), other.result()), ("", "[1]"));
    }

    #[test]
    fn the_index_gets_the_beginning() {
        let mut text = String::new();
        assert!(stored(r#"["a","b"]"#).append_result(&mut text, 100));
        assert!(!stored(r#""ééé""#).append_result(&mut text, 3));
        assert_eq!(text, "a bé");
    }

    #[test]
    fn the_text_of_a_result_is_told_wherever_it_is_cut() {
        let head = r#"{"toolName":"t","timestamp":"2024-01-15T10:30:00Z","args":{},"result":"#;
        let result = r#"{"file":"a\"b\u00e9\\","lines":["one é €","two 😀"],"n":15}"#;
        let whole = format!("{head}{result}}}");
        let text = beginning_of_result(whole.as_bytes(), 1000);
        assert_eq!(text, "file a\"bé\\ lines one é € two 😀 n 15");
        let mut longest = 0;
        for end in head.len()..whole.len() {
            let cut = beginning_of_result(&whole.as_bytes()[..end], 1000);
            assert!(text.starts_with(&cut), "cut at {end}: {cut:?}");
            assert!(cut.len() + 3 >= longest, "cut at {end}: {cut:?} lost what was there before");
            longest = cut.len();
        }
        assert!(longest + 3 >= text.len(), "nearly all of the text is there at last");
    }

    proptest! {
        #[test]
        fn a_string_is_told_to_the_character_before_the_cut(text in "[a-z\"\\\\é😀\n]{1,40}", cut in 0_usize..200) {
            let mut token = Vec::new();
            json_text::escape_string(&text, &mut token);
            let cut = cut.min(token.len() - 1).max(1);
            token.truncate(cut);
            close_string(&mut token);
            let told = json_text::decode_string(&token).map(std::borrow::Cow::into_owned);
            prop_assert!(told.as_ref().is_some_and(|told| text.starts_with(told.as_str())), "{told:?}");
        }

        #[test]
        fn any_bytes_are_taken(bytes in any::<Vec<u8>>()) {
            let _ = beginning_of_result(&bytes, 100);
            let mut closed = bytes;
            close_string(&mut closed);
        }
    }
}
