//! The redaction session of one record: redacts the parts of the record one by one and counts their hits in one report.
//! Also used by the streams of this crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Redacted, Redaction, Report};
use crate::error::{Error, ErrorKind, Result};

/// Redacts the parts of one record. Without a redaction, parts stay unchanged.
///
/// Every method fails with [`ErrorKind::Failed`], also when redacting panics. The record must not be written then.
#[derive(Debug)]
pub struct RedactionSession {
    redaction: Option<Redaction>,
    report: Report,
}

impl RedactionSession {
    /// Starts a session for one record. Without a redaction, all parts stay unchanged.
    #[must_use]
    pub fn new(redaction: Option<Redaction>) -> Self {
        Self { redaction, report: Report::default() }
    }

    /// Redacts plain text.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`]
    pub fn text(&mut self, text: &mut String) -> Result<()> {
        let Some(redaction) = &self.redaction else { return Ok(()) };
        let report = &mut self.report;
        if let Some(redacted) = closed(|| redaction.text(text, report))? {
            *text = redacted;
        }
        Ok(())
    }

    /// Redacts plain text; lines keep their line numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`]
    pub fn lines(&mut self, text: &mut String) -> Result<()> {
        let Some(redaction) = &self.redaction else { return Ok(()) };
        let report = &mut self.report;
        if let Some(redacted) = closed(|| redaction.lines(text, report))? {
            *text = redacted;
        }
        Ok(())
    }

    /// Redacts the JSON value that begins at `start` in a buffer.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`]
    pub fn json(&mut self, buffer: &mut Vec<u8>, start: usize) -> Result<()> {
        self.changed_json(buffer, start).map(drop)
    }

    /// As [`RedactionSession::json`]; returns whether the value was changed.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`]
    pub fn changed_json(&mut self, buffer: &mut Vec<u8>, start: usize) -> Result<bool> {
        let Some(redaction) = &self.redaction else { return Ok(false) };
        let report = &mut self.report;
        let json = buffer.get(start..).unwrap_or_default();
        let redacted = closed(|| redaction.json(json, report))?;
        if let Some(redacted) = &redacted {
            buffer.truncate(start);
            buffer.extend_from_slice(redacted);
        }
        Ok(redacted.is_some())
    }

    /// Whether [`RedactionSession::changed_json`] would leave the JSON string of this text as it is. `false` says that it has to be
    /// called, which may change nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`]
    pub fn leaves_string(&self, text: &str) -> Result<bool> {
        let Some(redaction) = &self.redaction else { return Ok(true) };
        closed(|| redaction.leaves_string(text))
    }

    /// Redacts a JSON value.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`]
    pub fn token(&mut self, token: &mut String) -> Result<()> {
        let Some(redaction) = &self.redaction else { return Ok(()) };
        let report = &mut self.report;
        if let Some(redacted) = closed(|| redaction.json(token.as_bytes(), report))? {
            *token = String::from_utf8(redacted).map_err(|_| broken())?;
        }
        Ok(())
    }

    /// Adds to these texts, which are compared with stored ones, the redacted form in which they are stored.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`]
    pub fn add_texts(&mut self, texts: &mut Vec<String>) -> Result<()> {
        add_redacted(texts, |text| self.text(text))
    }

    /// As [`RedactionSession::add_texts`], for JSON values.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`]
    pub fn add_tokens(&mut self, tokens: &mut Vec<String>) -> Result<()> {
        add_redacted(tokens, |token| self.token(token))
    }

    /// Counts a hit that was found without a search.
    pub(super) fn note(&mut self, rule: &str) {
        self.report.add(&rule.into());
    }

    /// The hits so far.
    #[must_use]
    pub fn report(self) -> Report {
        self.report
    }

    /// The stored data with its report.
    #[must_use]
    pub fn answer<T>(self, stored: T) -> Redacted<T> {
        Redacted { stored, report: self.report }
    }
}

fn add_redacted(
    values: &mut Vec<String>,
    mut redact: impl FnMut(&mut String) -> Result<()>,
) -> Result<()> {
    for index in 0..values.len() {
        let Some(value) = values.get(index) else { break };
        let mut redacted = value.clone();
        redact(&mut redacted)?;
        if redacted != *value {
            values.push(redacted);
        }
    }
    Ok(())
}

/// Treats a panic as an error, so that the text is not written.
fn closed<T>(redact: impl FnOnce() -> Result<T>) -> Result<T> {
    // State that a panic leaves inconsistent is not used again: the record is discarded.
    catch_unwind(AssertUnwindSafe(redact)).unwrap_or_else(|_| Err(broken()))
}

fn broken() -> Error {
    Error::new(
        ErrorKind::Failed,
        "nothing was written: redaction failed because of an internal error; please report it",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{EnvironmentValues, RedactionOptions, Redactor};

    /// In two parts: hosting services refuse pushes that contain a complete one.
    fn secret() -> String {
        ["gh", "p_", "Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq"].concat()
    }

    fn pass() -> RedactionSession {
        let redactor = Redactor::new(RedactionOptions::default()).unwrap();
        RedactionSession::new(Some(Redaction::new(
            redactor,
            Arc::new(EnvironmentValues::default()),
        )))
    }

    #[test]
    fn parts_share_a_report() {
        let secret = secret();
        let mut pass = pass();
        let (mut text, mut token) = (format!("a {secret}"), format!("\"{secret}\""));
        let mut buffer = format!("{secret}[\"{secret}\"]").into_bytes();
        pass.text(&mut text).unwrap();
        pass.token(&mut token).unwrap();
        pass.json(&mut buffer, secret.len()).unwrap();
        assert!(text.starts_with("a [REDACTED:"), "{text}");
        assert!(token.starts_with("\"[REDACTED:") && token.ends_with("]\""), "{token}");
        let buffer = String::from_utf8(buffer).unwrap();
        assert!(buffer.starts_with(&format!("{secret}[\"[REDACTED:")), "{buffer}");
        assert_eq!(pass.report().total(), 3);
    }

    #[test]
    fn without_a_redaction_everything_stays() {
        let secret = secret();
        let mut pass = RedactionSession::new(None);
        let mut text = secret.clone();
        pass.text(&mut text).unwrap();
        pass.token(&mut text).unwrap();
        let mut buffer = text.into_bytes();
        pass.json(&mut buffer, 0).unwrap();
        assert_eq!(buffer, secret.as_bytes());
        assert!(pass.report().is_empty());
    }

    #[test]
    fn what_is_asked_for_is_looked_for_as_it_is_stored() {
        let mut tokens = vec!["\"plain\"".to_owned(), format!("\"{}\"", secret())];
        let given = tokens.clone();
        pass().add_tokens(&mut tokens).unwrap();
        assert_eq!(tokens.get(..2), Some(given.as_slice()));
        assert_eq!(tokens.get(2).map(|token| token.starts_with("\"[REDACTED:")), Some(true));
        assert_eq!(tokens.len(), 3);
    }

    #[test]
    fn a_panic_lets_nothing_through() {
        let error = closed::<()>(|| panic!("a detail")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Failed);
        assert!(!error.message.contains("a detail"), "{error}");
    }

    #[test]
    fn ordinary_texts_are_left_without_their_json() {
        let code = "export const token = readToken(\"session\", 12)\n\treturn `é ${token}`\n";
        for text in ["", "plain words", "{\"a\": [1, \"b\"]}", code, &code.repeat(500)] {
            assert!(pass().leaves_string(text).unwrap(), "{text}");
        }
        assert!(!pass().leaves_string(&format!("a {}", secret())).unwrap());
    }

    /// Pieces of texts with and without secrets, whole and cut, also in JSON.
    fn pieces() -> impl Strategy<Value = Vec<String>> {
        let key_line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
        let piece = prop_oneof![
            4 => "[ -~]{0,12}",
            2 => Just("a line of text\n".to_owned()),
            1 => Just("é \u{200b}\t\u{1}".to_owned()),
            1 => Just(secret()),
            1 => Just("password = hunter2x\n".to_owned()),
            1 => Just("\"token\": \"".to_owned()),
            1 => Just("{\"a\": \"b\"}".to_owned()),
            1 => Just("-----BEGIN RSA PRIVATE KEY-----\n".to_owned()),
            1 => Just(key_line.repeat(4)),
        ];
        prop::collection::vec(piece, 0..8)
    }

    proptest! {
        #[test]
        fn a_string_that_is_left_has_json_without_secrets(pieces in pieces(), times in 1..200_usize) {
            let text = pieces.concat().repeat(times);
            let mut pass = pass();
            let mut json = json_text::string_token(&text).into_bytes();
            let is_left = pass.leaves_string(&text).unwrap();
            let is_changed = pass.changed_json(&mut json, 0).unwrap();
            prop_assert!(!(is_left && is_changed), "{text}");
        }
    }
}
