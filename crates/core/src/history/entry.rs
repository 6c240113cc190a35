//! The format of a history's lines, and the JSON object that JavaScript gets for an entry.

use std::ops::Range;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use json_text::Members;
use sha2::{Digest, Sha256};

/// The keys in the file.
const TOOL_NAME: &str = "tool_name";
const PARAMS: &str = "params";
const RESULT: &str = "result";
const SUCCESS: &str = "success";
const SUMMARY: &str = "summary";
const TIMESTAMP: &str = "timestamp";
const ID: &str = "id";
const OPERATION_ID: &str = "operationId";
/// The key of operation records, instead of [`TOOL_NAME`]: the line remains of an entry that was dropped by a
/// compaction.
const COMPACTED: &str = "compacted";
/// The name of [`TOOL_NAME`] in JavaScript.
const PUBLIC_TOOL_NAME: &str = "toolName";

/// The reason for which [`Entry::parse`] refuses operation records. Readers skip such lines, and do not count
/// them as bad.
pub(super) const OPERATION_RECORD: &str = "the operation record of a compacted entry";

/// A parsed line. All members are slices of the line.
pub(super) struct Entry<'a> {
    line: &'a [u8],
    tool_name: Range<usize>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    success: bool,
    summary: Option<Range<usize>>,
    timestamp: Option<Range<usize>>,
    id: Option<Range<usize>>,
    operation_id: Option<Range<usize>>,
    is_compacted: bool,
    /// Keys and values of unknown members.
    others: Vec<(&'a [u8], Range<usize>)>,
}

/// A line without surrounding white space: lines of other programs may end with a carriage return or begin
/// with a byte-order mark.
pub(super) fn trim(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()
}

impl<'a> Entry<'a> {
    /// Parses a trimmed line.
    ///
    /// # Errors
    /// The reason, as a short text.
    pub fn parse(line: &'a [u8]) -> Result<Self, &'static str> {
        let entry = Self::parse_any(line)?;
        if entry.is_compacted { Err(OPERATION_RECORD) } else { Ok(entry) }
    }

    /// As [`Entry::parse`], but accepts operation records too.
    ///
    /// # Errors
    /// Those of [`Entry::parse`].
    pub fn parse_any(line: &'a [u8]) -> Result<Self, &'static str> {
        const NOT_JSON: &str = "not a whole JSON object";
        let mut members = Members::new(line, 0).map_err(|_| NOT_JSON)?;
        let mut entry = Self {
            line,
            tool_name: 0..0,
            params: None,
            result: None,
            success: true,
            summary: None,
            timestamp: None,
            id: None,
            operation_id: None,
            is_compacted: false,
            others: Vec::new(),
        };
        let mut tool_name = None;
        let mut compacted = None;
        while let Some(key) = members.next_key().map_err(|_| NOT_JSON)? {
            // If a member ends at the very end of the text, the object's closing brace is missing.
            let value = members.skip_value().map_err(|_| NOT_JSON)?;
            let token = line.get(value.clone()).unwrap_or_default();
            let text = token.starts_with(b"\"").then(|| value.clone());
            match json_text::decode_string(key).as_deref() {
                Some(TOOL_NAME) => tool_name = text,
                Some(PARAMS) => entry.params = Some(value),
                Some(RESULT) => entry.result = Some(value),
                Some(SUCCESS) => entry.success = token != b"false",
                Some(SUMMARY) => entry.summary = text,
                Some(TIMESTAMP) => entry.timestamp = text,
                Some(ID) => entry.id = text,
                // A member with this name would hide the one that JavaScript gets under it.
                Some(PUBLIC_TOOL_NAME) => {}
                name => {
                    match name {
                        Some(OPERATION_ID) => entry.operation_id = text,
                        Some(COMPACTED) => compacted = text,
                        _ => {}
                    }
                    entry.others.push((key, value));
                }
            }
        }
        if members.end() != Some(line.len()) {
            return Err("something follows the JSON object");
        }
        if let (None, Some(name)) = (&tool_name, compacted) {
            entry.others.retain(|(_, value)| *value != name);
            entry.is_compacted = true;
            tool_name = Some(name);
        }
        entry.tool_name = tool_name.ok_or("no tool_name")?;
        Ok(entry)
    }

    fn token(&self, range: Option<&Range<usize>>) -> &'a [u8] {
        range.and_then(|range| self.line.get(range.clone())).unwrap_or(b"null")
    }

    fn text(&self, range: Option<&Range<usize>>) -> Option<String> {
        json_text::decode_string(self.token(range)).map(std::borrow::Cow::into_owned)
    }

    /// The tool's name.
    pub fn tool_name(&self) -> String {
        self.text(Some(&self.tool_name)).unwrap_or_default()
    }

    /// The entry's id; for a line without one, an id derived from its content.
    pub fn id(&self) -> String {
        self.text(self.id.as_ref()).unwrap_or_else(|| id_of(self.line))
    }

    /// The id of the operation that appended the entry.
    pub fn operation_id(&self) -> Option<String> {
        self.text(self.operation_id.as_ref())
    }

    /// Whether the entry has an operation id.
    pub fn has_operation(&self) -> bool {
        self.operation_id.is_some()
    }

    /// Whether the line is an operation record, which a compaction wrote.
    pub fn is_operation_record(&self) -> bool {
        self.is_compacted
    }

    /// The entry's operation record as a line with its newline character, which a compaction keeps of an
    /// entry with an operation id.
    pub fn operation_record(&self) -> Vec<u8> {
        let mut line = format!("{{\"{COMPACTED}\":").into_bytes();
        line.extend_from_slice(self.token(Some(&self.tool_name)));
        write_member(SUCCESS, if self.success { b"true" } else { b"false" }, &mut line);
        write_member(TIMESTAMP, self.timestamp(), &mut line);
        let mut id = Vec::new();
        json_text::escape_string(&self.id(), &mut id);
        write_member(ID, &id, &mut line);
        write_member(OPERATION_ID, self.token(self.operation_id.as_ref()), &mut line);
        line.extend_from_slice(b"}\n");
        line
    }

    /// Whether the tool succeeded; true if the line does not say.
    pub fn success(&self) -> bool {
        self.success
    }

    /// The time of the call in ms since 1970, if the line has a valid one. A time without a zone is UTC.
    pub fn time(&self) -> Option<i64> {
        let text = self.text(self.timestamp.as_ref())?;
        // ISO 8601 allows a comma, and more forms of zones than RFC 3339.
        let text = text.trim().replace(',', ".").replacen(' ', "T", 1);
        if let Ok(time) = DateTime::parse_from_rfc3339(&text) {
            return Some(time.timestamp_millis());
        }
        for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"] {
            if let Ok(time) = DateTime::parse_from_str(&text, &format!("{format}%#z")) {
                return Some(time.timestamp_millis());
            }
            if let Ok(time) = NaiveDateTime::parse_from_str(text.trim_end_matches('Z'), format) {
                return Some(time.and_utc().timestamp_millis());
            }
        }
        let midnight = NaiveDate::parse_from_str(&text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0)?;
        Some(midnight.and_utc().timestamp_millis())
    }

    /// The timestamp in the line, a JSON token.
    pub fn timestamp(&self) -> &'a [u8] {
        self.token(self.timestamp.as_ref())
    }

    /// The text of the parameters, in at most `max_bytes` bytes.
    pub fn params_text(&self, max_bytes: usize) -> String {
        self.plain(self.params.as_ref(), max_bytes)
    }

    /// The text of the result, as [`Entry::params_text`].
    pub fn result_text(&self, max_bytes: usize) -> String {
        self.plain(self.result.as_ref(), max_bytes)
    }

    /// The text of the summary, as [`Entry::params_text`].
    pub fn summary_text(&self, max_bytes: usize) -> String {
        self.plain(self.summary.as_ref(), max_bytes)
    }

    fn plain(&self, range: Option<&Range<usize>>, max_bytes: usize) -> String {
        let mut text = String::new();
        json_text::append_text(self.token(range), &mut text, max_bytes);
        text
    }

    /// Whether the lower-case `needle` occurs in the tool's name, the parameters, the result or the
    /// summary.
    pub fn contains(&self, needle: &str) -> bool {
        let name = Some(&self.tool_name);
        [name, self.summary.as_ref(), self.params.as_ref(), self.result.as_ref()]
            .into_iter()
            .flatten()
            .any(|range| self.plain(Some(range), usize::MAX).to_lowercase().contains(needle))
    }

    /// Appends the entry as the JSON object for JavaScript.
    pub fn write_public(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        match &self.id {
            Some(id) => out.extend_from_slice(self.token(Some(id))),
            None => out.extend_from_slice(format!("\"{}\"", id_of(self.line)).as_bytes()),
        }
        for (key, range) in [
            (PUBLIC_TOOL_NAME, Some(&self.tool_name)),
            (PARAMS, self.params.as_ref()),
            (RESULT, self.result.as_ref()),
        ] {
            write_member(key, self.token(range), out);
        }
        write_member(SUCCESS, if self.success { b"true" } else { b"false" }, out);
        write_member(SUMMARY, self.token(self.summary.as_ref()), out);
        write_member(TIMESTAMP, self.timestamp(), out);
        for (key, value) in &self.others {
            out.push(b',');
            out.extend_from_slice(key);
            out.push(b':');
            out.extend_from_slice(self.token(Some(value)));
        }
        if self.is_compacted {
            write_member(COMPACTED, b"true", out);
        }
        out.push(b'}');
    }
}

fn write_member(key: &str, token: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(token);
}

/// An id for a line without one: a UUID (version 8) derived from the line.
fn id_of(line: &[u8]) -> String {
    let hash = Sha256::digest(line);
    let bytes = hash.first_chunk::<16>().copied().unwrap_or_default();
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn public(line: &str) -> Result<Value, &'static str> {
        let entry = Entry::parse(trim(line.as_bytes()))?;
        let mut out = Vec::new();
        entry.write_public(&mut out);
        Ok(serde_json::from_slice(&out).unwrap())
    }

    #[test]
    fn known_keys_are_renamed_and_unknown_ones_kept() {
        let line = r#"{"tool_name":"grep","params":{"a":1},"result":[1.50],"success":false,"summary":"s","timestamp":"2025-12-18T10:30:00Z","id":"x","cost":2,"nested":{"tool_name":3}}"#;
        assert_eq!(
            public(line).unwrap(),
            json!({"id":"x","toolName":"grep","params":{"a":1},"result":[1.50],"success":false,
                "summary":"s","timestamp":"2025-12-18T10:30:00Z","cost":2,"nested":{"tool_name":3}})
        );
    }

    #[test]
    fn missing_keys_get_their_defaults_and_a_stable_id() {
        let one = public("\u{feff}{\"tool_name\":\"x\"}\r").unwrap();
        assert_eq!(one, public("{\"tool_name\":\"x\"}").unwrap());
        let id = one["id"].as_str().unwrap();
        assert_eq!(uuid::Uuid::parse_str(id).unwrap().get_version_num(), 8);
        assert_ne!(public("{\"tool_name\":\"y\"}").unwrap()["id"], one["id"]);
        assert_eq!(
            one,
            json!({"id":id,"toolName":"x","params":null,"result":null,"success":true,"summary":null,
                "timestamp":null})
        );
    }

    #[test]
    fn an_operation_record_is_no_entry_and_says_which_operation_was_there() {
        let line = r#"{"tool_name":"grep","params":{"a":1},"success":false,"timestamp":"2025-12-18","cost":2,"operationId":"o\u0031"}"#;
        let entry = Entry::parse(line.as_bytes()).unwrap();
        let id = entry.id();
        let record = String::from_utf8(entry.operation_record()).unwrap();
        let expected = format!(
            r#"{{"compacted":"grep","success":false,"timestamp":"2025-12-18","id":"{id}","operationId":"o\u0031"}}"#
        );
        assert_eq!(record, expected + "\n");
        let record = record.trim_end();
        assert_eq!(public(record).unwrap_err(), OPERATION_RECORD);
        let again = Entry::parse_any(record.as_bytes()).unwrap();
        assert_eq!(again.operation_id().as_deref(), Some("o1"));
        assert_eq!(again.operation_record(), entry.operation_record());
        let mut out = Vec::new();
        again.write_public(&mut out);
        assert_eq!(
            serde_json::from_slice::<Value>(&out).unwrap(),
            json!({"id":id,"toolName":"grep","params":null,"result":null,"success":false,"summary":null,
                "timestamp":"2025-12-18","operationId":"o1","compacted":true})
        );
        // Beside a tool's name, it is an ordinary member.
        let entry = public(r#"{"tool_name":"x","compacted":"y"}"#).unwrap();
        assert_eq!((&entry["toolName"], &entry["compacted"]), (&json!("x"), &json!("y")));
    }

    #[test]
    fn what_is_no_entry_is_refused_with_a_reason() {
        for line in [
            "",
            "1",
            "[]",
            "{}",
            "{\"tool_name\":1}",
            "{\"tool_name\":\"x\"",
            "{\"tool_name\":\"x\"}{}",
            "\0\0",
        ] {
            assert!(public(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn times_are_read_as_others_write_them() {
        let time = |text: &str| {
            let line = json!({"tool_name": "x", "timestamp": text}).to_string();
            Entry::parse(line.as_bytes()).unwrap().time()
        };
        assert_eq!(time("1970-01-01T00:00:01Z"), Some(1000));
        assert_eq!(time("1970-01-01T01:00:01.5+01:00"), Some(1500));
        assert_eq!(time("1970-01-01T00:00:01.000250"), Some(1000));
        assert_eq!(time("1970-01-02"), Some(86_400_000));
        assert_eq!(time("1970-01-01 00:01"), Some(60_000));
        assert_eq!(time("1970-01-01T00:01Z"), Some(60_000));
        assert_eq!(time("1970-01-01T05:30:01,5+0530"), Some(1500));
        assert_eq!(time("1970-01-01T06:30+05:30"), Some(3_600_000));
        assert_eq!(time("yesterday"), None);
    }

    #[test]
    fn text_is_found_decoded_and_whatever_its_case() {
        let line = r#"{"tool_name":"Grep","params":{"path":"caf\u00e9"},"result":"A\nb","summary":"Über"}"#;
        let entry = Entry::parse(line.as_bytes()).unwrap();
        for needle in ["grep", "café", "a\nb", "über", "path"] {
            assert!(entry.contains(needle), "{needle}");
        }
        assert!(!entry.contains("tool_name") && !entry.contains("u00e9"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged_without_panic(bytes in any::<Vec<u8>>()) {
            if let Ok(entry) = Entry::parse(trim(&bytes)) {
                let mut out = Vec::new();
                entry.write_public(&mut out);
                prop_assert!(json_text::validate_document(&out).is_ok());
            }
        }

        #[test]
        fn a_damaged_line_never_panics(at in 0_usize..80, byte in any::<u8>()) {
            let mut line =
                br#"{"tool_name":"grep","params":{"a":[1,"x"]},"id":"y","success":true}"#.to_vec();
            if let Some(slot) = line.get_mut(at) {
                *slot = byte;
            }
            if let Ok(entry) = Entry::parse(trim(&line)) {
                let mut out = Vec::new();
                entry.write_public(&mut out);
                prop_assert!(json_text::validate_document(&out).is_ok());
            }
        }
    }
}
