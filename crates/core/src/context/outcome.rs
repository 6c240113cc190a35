//! The outcome of a call: whether it succeeded, the error, the tool's message and the exit code. Searches cover error
//! and message after the result's text; reads return them if the call has no result.

use json_text::Members;

/// The longest error or message in pointers and slices, in bytes.
const MAX_SHOWN: usize = 512;
/// The most bytes of an error and of a message that are indexed.
const MAX_INDEXED: usize = 8192;

/// The outcome in a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the tool succeeded.
    pub success: Option<bool>,
    /// The error.
    pub error: Option<String>,
    /// The tool's message about the call.
    pub message: Option<String>,
    /// The exit code of its process; only in records, not in pointers.
    pub exit_code: Option<i32>,
}

impl Outcome {
    /// From the JSON tokens of a record.
    pub fn of_tokens(success: Option<bool>, error: Option<&str>, message: Option<&str>) -> Self {
        let text = |token: Option<&str>| {
            json_text::decode_string(token?.as_bytes()).map(std::borrow::Cow::into_owned)
        };
        Self { success, error: text(error), message: text(message), exit_code: None }
    }

    /// From a record, which may end within its result, or have none.
    pub fn of_record(record: &[u8]) -> Self {
        let (mut success, mut error, mut message, mut exit_code) = (None, None, None, None);
        let mut has_arguments = false;
        let Ok(mut members) = Members::new(record, json_text::skip_whitespace(record, 0)) else {
            return Self::default();
        };
        while let Ok(Some(key)) = members.next_key() {
            let is_last = key == b"\"result\"" && has_arguments;
            let slot = match key {
                b"\"success\"" => Some(&mut success),
                b"\"error\"" => Some(&mut error),
                b"\"message\"" => Some(&mut message),
                b"\"exitCode\"" => Some(&mut exit_code),
                _ => None,
            };
            has_arguments |= key == b"\"args\"";
            if is_last {
                break;
            }
            let Ok(value) = members.skip_value() else { break };
            if let Some(slot) = slot {
                *slot = record.get(value).and_then(|token| str::from_utf8(token).ok());
            }
        }
        let outcome = Self::of_tokens(success.and_then(|token| token.parse().ok()), error, message);
        Self { exit_code: exit_code.and_then(|token| token.parse().ok()), ..outcome }
    }

    /// Error and message, each on lines of its own; empty if there is neither.
    pub fn text(&self) -> String {
        let mut text = self.error.clone().unwrap_or_default();
        if let Some(message) = self.message.as_deref().filter(|message| **message != text) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(message);
        }
        text
    }

    /// The text that is indexed.
    pub fn indexed(&self) -> String {
        let cut = |text: &Option<String>| {
            text.as_ref().map(|text| {
                text.get(..text.floor_char_boundary(MAX_INDEXED)).unwrap_or_default().to_owned()
            })
        };
        Self { error: cut(&self.error), message: cut(&self.message), ..Self::default() }.text()
    }

    /// The outcome with error and message shortened, for pointers and slices.
    #[must_use]
    pub fn shortened(&self) -> Self {
        let cut = |text: &Option<String>| text.as_deref().map(shortened);
        Self { error: cut(&self.error), message: cut(&self.message), ..*self }
    }
}

/// The indexed and searched text of a call: its result, followed by the text of its outcome; only the latter if there
/// is no result.
pub(super) fn evidence(result: String, outcome: &str) -> String {
    match (outcome, result.as_str()) {
        ("", _) => result,
        (_, "" | "null") => outcome.to_owned(),
        _ => format!("{result}\n{outcome}"),
    }
}

/// Shortens an error or a message.
fn shortened(text: &str) -> String {
    if text.len() <= MAX_SHOWN {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_SHOWN - '…'.len_utf8());
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_read_from_any_record() {
        let ours = br#"{"toolName":"t","success":false,"error":"ECONNREFUSED","message":"no \"db\"","args":{},"result":null}"#;
        let outcome = Outcome::of_record(ours);
        assert_eq!(outcome.success, Some(false));
        assert_eq!(outcome.text(), "ECONNREFUSED\nno \"db\"");
        let other = br#"{"result":[1],"args":{},"message":"m","toolName":"t","error":7}"#;
        assert_eq!(Outcome::of_record(other).text(), "m");
        let cut = br#"{"toolName":"t","error":"e","args":{},"result":"text that is cu"#;
        assert_eq!(Outcome::of_record(cut).text(), "e");
        assert_eq!(Outcome::of_record(b"[]"), Outcome::default());
    }

    #[test]
    fn an_error_that_is_the_message_counts_once() {
        let said = Some("it broke".to_owned());
        let outcome = Outcome { error: said.clone(), message: said, ..Outcome::default() };
        assert_eq!(outcome.text(), "it broke");
        assert_eq!(evidence("null".to_owned(), &outcome.text()), "it broke");
        assert_eq!(evidence("rows".to_owned(), &outcome.text()), "rows\nit broke");
        assert_eq!(evidence("rows".to_owned(), ""), "rows");
    }

    #[test]
    fn long_outcomes_are_cut_between_characters() {
        let outcome = Outcome { error: Some("é".repeat(400)), ..Outcome::default() };
        let shown = outcome.shortened().error.unwrap_or_default();
        assert!(shown.len() <= MAX_SHOWN && shown.ends_with("é…"), "{shown}");
    }
}
