//! Pointers: the metadata of contexts that stays in memory, in a compact form.
//!
//! Strings are kept as JSON tokens, exactly as JavaScript gets them, in one allocation per pointer. JavaScript builds
//! objects from them when they are read.

use std::{
    borrow::Cow, collections::HashMap, fmt::Write, hash::BuildHasher, ops::Range, sync::Arc,
};

use rustc_hash::FxBuildHasher;

use super::{handle, noted::Noted, outcome::Outcome};

/// The parts of a pointer that JavaScript gets, as JSON tokens unless noted.
#[derive(Debug, Clone, Copy, Default)]
pub struct PointerParts<'a> {
    /// File name, plain text.
    pub filename: &'a str,
    /// `toolName`.
    pub tool_name: &'a str,
    /// `toolDescription`.
    pub tool_description: &'a str,
    /// `args`, cut to the bound for pointers.
    pub arguments: &'a str,
    /// `sourceUrls`, empty when there are none.
    pub source_urls: &'a str,
}

/// Optional members that few calls have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallDetails {
    /// `callId` as a JSON token.
    pub id: Option<Box<str>>,
    /// `durationMs` as a JSON token.
    pub duration: Option<Box<str>>,
    /// `exitCode`
    pub exit_code: Option<i32>,
    /// `mediaType` as a JSON token.
    pub media_type: Option<Box<str>>,
    /// Whether the result is only the beginning of what the tool returned.
    pub is_cut: bool,
    /// The record's notes on how it was stored.
    pub noted: Noted,
}

impl CallDetails {
    /// The details; `None` if there are none.
    #[must_use]
    pub fn of(
        id: Option<String>,
        duration: Option<String>,
        exit_code: Option<i32>,
        media_type: Option<String>,
        is_cut: bool,
    ) -> Option<Self> {
        let details = Self {
            id: id.map(String::into_boxed_str),
            duration: duration.map(String::into_boxed_str),
            exit_code,
            media_type: media_type.map(String::into_boxed_str),
            is_cut,
            noted: Noted::default(),
        };
        (details != Self::default()).then_some(details)
    }

    /// The present members, each with its key.
    fn members(&self) -> impl Iterator<Item = (&'static str, String)> {
        let exit_code = self.exit_code.map(|code| code.to_string());
        let members = [
            ("callId", self.id.as_deref().map(str::to_owned)),
            ("durationMs", self.duration.as_deref().map(str::to_owned)),
            ("exitCode", exit_code),
            ("mediaType", self.media_type.as_deref().map(str::to_owned)),
            ("cut", self.is_cut.then(|| "true".to_owned())),
        ];
        let members = members.into_iter().filter_map(|(key, token)| Some((key, token?)));
        members.chain(self.noted.members())
    }
}

/// The metadata of one stored context, with its file name.
#[derive(Debug, Clone)]
pub struct Pointer {
    text: Box<str>,
    ends: [u32; 4],
    /// `taskId` as a JSON token.
    pub task: Option<Arc<str>>,
    /// `queryId` as a JSON token.
    pub query: Option<Arc<str>>,
    /// `sessionId` as a JSON token.
    pub session: Option<Arc<str>>,
    /// The handle of the output; `None` for a file of an earlier release that was not read completely.
    pub handle: Option<u64>,
    /// Optional members that few calls have.
    pub call: Option<Box<CallDetails>>,
    /// Time of the call, ms since 1970.
    pub timestamp: i64,
    /// Size of the stored JSON and of the bytes beside it, in bytes.
    pub size: u64,
    /// Whether the tool succeeded, if the caller reported that.
    pub success: Option<bool>,
    /// The error, shortened: a JSON token.
    error: Option<Box<str>>,
    /// The tool's message, shortened: a JSON token.
    message: Option<Box<str>>,
    /// Whether the arguments are truncated.
    pub arguments_truncated: bool,
    /// Whether the context is on disk.
    pub on_disk: bool,
    /// Whether the result has binary data in a separate file.
    has_bytes: bool,
}

impl Pointer {
    /// A pointer to a context in memory.
    #[must_use]
    pub fn new(parts: &PointerParts<'_>, timestamp: i64, size: u64) -> Self {
        let fields = [
            parts.filename,
            parts.tool_name,
            parts.tool_description,
            parts.arguments,
            parts.source_urls,
        ];
        let text = fields.concat();
        let mut ends = [0; 4];
        let mut end = 0;
        for (slot, field) in ends.iter_mut().zip(fields) {
            end += field.len();
            *slot = u32::try_from(end).unwrap_or(u32::MAX);
        }
        Self {
            text: text.into_boxed_str(),
            ends,
            task: None,
            query: None,
            session: None,
            handle: None,
            call: None,
            timestamp,
            size,
            success: None,
            error: None,
            message: None,
            arguments_truncated: false,
            on_disk: false,
            has_bytes: false,
        }
    }

    /// Sets whether the result has binary data.
    pub fn note_bytes(&mut self, has_bytes: bool) {
        self.has_bytes = has_bytes;
    }

    /// Sets the record's notes on how it was stored.
    pub fn note_stored(&mut self, noted: Noted) {
        if noted != Noted::default() {
            self.call.get_or_insert_default().noted = noted;
        }
    }

    /// Whether the result has binary data in a separate file.
    #[must_use]
    pub fn has_bytes(&self) -> bool {
        self.has_bytes
    }

    /// Sets the outcome.
    pub fn note(&mut self, outcome: &Outcome) {
        let Outcome { success, error, message, .. } = outcome.shortened();
        let token =
            |text: Option<String>| text.map(|text| json_text::string_token(&text).into_boxed_str());
        self.success = success;
        (self.error, self.message) = (token(error), token(message));
    }

    fn part(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    fn end(&self, part: usize) -> usize {
        self.ends.get(part).map_or(0, |&end| end as usize)
    }

    /// The file name.
    #[must_use]
    pub fn filename(&self) -> &str {
        self.part(0..self.end(0))
    }

    /// The tool's name, a JSON token.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        self.part(self.end(0)..self.end(1))
    }

    /// The description of the call, a JSON token.
    #[must_use]
    pub fn description(&self) -> &str {
        self.part(self.end(1)..self.end(2))
    }

    /// The arguments, truncated for pointers, JSON.
    #[must_use]
    pub fn arguments(&self) -> &str {
        self.part(self.end(2)..self.end(3))
    }

    /// The group of the context, see [`group_of`].
    #[must_use]
    pub fn group(&self) -> u64 {
        group_of(self.query.as_deref(), self.task.as_deref())
    }

    /// The outcome, with error and message shortened.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::of_tokens(self.success, self.error.as_deref(), self.message.as_deref())
    }

    /// The optional members of the call and of its outcome, each with its key.
    fn details(&self) -> impl Iterator<Item = (&'static str, String)> {
        let said = [("error", &self.error), ("message", &self.message)];
        let said =
            said.into_iter().filter_map(|(key, token)| Some((key, token.as_deref()?.to_owned())));
        said.chain(self.call.iter().flat_map(|call| call.members()))
    }

    /// Appends the pointer as a row, a JSON array: file name, tool name, description, arguments, task, query, time,
    /// size, success, whether the arguments are truncated, source URLs, the handle, and an object with the optional
    /// members. Values that all pointers of a manager share are left out. Rows take half as long to parse as objects.
    pub fn write_row(&self, out: &mut String) {
        let [filename, tool, description, arguments] = [0, 1, 2, 3].map(|part| self.end(part));
        let mut numbers = itoa::Buffer::new();
        out.push_str("[\"");
        out.push_str(&escaped(self.filename()));
        out.push_str("\",");
        for part in [filename..tool, tool..description, description..arguments] {
            out.push_str(self.part(part));
            out.push(',');
        }
        for token in [&self.task, &self.query] {
            out.push_str(token.as_deref().unwrap_or("null"));
            out.push(',');
        }
        out.push_str(numbers.format(self.timestamp));
        out.push(',');
        out.push_str(numbers.format(self.size));
        out.push_str(match self.success {
            None => ",null,",
            Some(true) => ",true,",
            Some(false) => ",false,",
        });
        out.push_str(if self.arguments_truncated { "true," } else { "false," });
        let source_urls = self.part(arguments..self.text.len());
        out.push_str(if source_urls.is_empty() { "null" } else { source_urls });
        match self.handle {
            Some(handle) => _ = write!(out, ",\"{}\"", handle::text(handle)),
            None => out.push_str(",null"),
        }
        let mut separator = ",{";
        for (key, token) in self.details() {
            let _ = write!(out, "{separator}\"{key}\":{token}");
            separator = ",";
        }
        if separator == "," {
            out.push('}');
        }
        out.push(']');
    }

    /// Appends the pointer as JSON. `prefix` is the directory with its separator, escaped for the
    /// inside of a JSON string.
    pub fn write_json(&self, prefix: &str, out: &mut String) {
        let [filename, tool, description, arguments] = [0, 1, 2, 3].map(|part| self.end(part));
        let name = escaped(self.filename());
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "{{\"filepath\":\"{prefix}{name}\",\"filename\":\"{name}\",\"toolName\":{},\"toolDescription\":{},\"args\":{}",
            self.part(filename..tool),
            self.part(tool..description),
            self.part(description..arguments),
        );
        for (key, token) in
            [("taskId", &self.task), ("queryId", &self.query), ("sessionId", &self.session)]
        {
            if let Some(token) = token {
                let _ = write!(out, ",\"{key}\":{token}");
            }
        }
        let _ = write!(out, ",\"timestamp\":{},\"sizeBytes\":{}", self.timestamp, self.size);
        if let Some(success) = self.success {
            let _ = write!(out, ",\"success\":{success}");
        }
        if self.arguments_truncated {
            out.push_str(",\"argsTruncated\":true");
        }
        let source_urls = self.part(arguments..self.text.len());
        if !source_urls.is_empty() {
            let _ = write!(out, ",\"sourceUrls\":{source_urls}");
        }
        if let Some(handle) = self.handle {
            let _ = write!(out, ",\"handle\":\"{}\"", handle::text(handle));
        }
        for (key, token) in self.details() {
            let _ = write!(out, ",\"{key}\":{token}");
        }
        out.push('}');
    }
}

/// The group of a context: a number for its query, or if it has none for its task (JSON tokens); 0 without either.
#[must_use]
pub fn group_of(query: Option<&str>, task: Option<&str>) -> u64 {
    let hash = |key: (u8, &str)| FxBuildHasher.hash_one(key).max(1);
    query.map(|query| (0, query)).or(task.map(|task| (1, task))).map_or(0, hash)
}

/// A file name for use in a JSON string. Names made by this package need no escapes, those of other programs may.
fn escaped(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        return Cow::Borrowed(name);
    }
    let mut token = Vec::new();
    json_text::escape_string(name, &mut token);
    Cow::Owned(String::from_utf8_lossy(token.get(1..token.len() - 1).unwrap_or_default()).into())
}

/// The contexts of each query or task, in the order of the calls.
#[derive(Debug, Default)]
pub struct Groups(HashMap<Arc<str>, Vec<u64>>);

impl Groups {
    /// Adds a context to its group; returns the shared name of the group.
    pub fn insert(&mut self, token: &str, sequence: u64) -> Arc<str> {
        let name = self
            .0
            .get_key_value(token)
            .map_or_else(|| Arc::from(token), |(name, _)| Arc::clone(name));
        let members = self.0.entry(Arc::clone(&name)).or_default();
        // Saves end nearly in the order of their calls, so the position is at or near the end.
        let place = members.iter().rposition(|&other| other < sequence).map_or(0, |at| at + 1);
        members.insert(place, sequence);
        name
    }

    /// Removes a context from its group.
    pub fn remove(&mut self, token: &str, sequence: u64) {
        let Some(members) = self.0.get_mut(token) else { return };
        if let Ok(place) = members.binary_search(&sequence) {
            members.remove(place);
        }
        if members.is_empty() {
            self.0.remove(token);
        }
    }

    /// Removes all contexts of calls below `sequence`.
    pub fn remove_before(&mut self, sequence: u64) {
        self.0.retain(|_, members| {
            members.drain(..members.partition_point(|&member| member < sequence));
            !members.is_empty()
        });
    }

    /// The contexts of a group, in the order of the calls.
    #[must_use]
    pub fn get(&self, token: &str) -> &[u64] {
        self.0.get(token).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_shows_its_parts_in_the_documented_order() {
        let mut pointer = Pointer::new(
            &PointerParts {
                filename: "grep_1.json",
                tool_name: "\"grep\"",
                tool_description: "\"grep: a\\\"b\"",
                arguments: "{\"pattern\":\"a\\\"b\"}",
                source_urls: "[\"https://a\"]",
            },
            12,
            345,
        );
        pointer.task = Some(Arc::from("7"));
        pointer.query = Some(Arc::from("\"q\""));
        pointer.session = Some(Arc::from("\"s\""));
        pointer.success = Some(true);
        pointer.handle = Some(1);
        pointer.call = CallDetails::of(
            Some("\"c\"".to_owned()),
            None,
            Some(2),
            Some("\"text/csv\"".to_owned()),
            true,
        )
        .map(Box::new);
        pointer.arguments_truncated = true;
        let mut row = String::new();
        pointer.write_row(&mut row);
        assert_eq!(
            row,
            r#"["grep_1.json","grep","grep: a\"b",{"pattern":"a\"b"},7,"q",12,345,true,true,["https://a"],"ctx_0000000000000001",{"callId":"c","exitCode":2,"mediaType":"text/csv","cut":true}]"#
        );
        let mut out = String::new();
        pointer.write_json("/tmp/c/", &mut out);
        assert_eq!(
            out,
            r#"{"filepath":"/tmp/c/grep_1.json","filename":"grep_1.json","toolName":"grep","toolDescription":"grep: a\"b","args":{"pattern":"a\"b"},"taskId":7,"queryId":"q","sessionId":"s","timestamp":12,"sizeBytes":345,"success":true,"argsTruncated":true,"sourceUrls":["https://a"],"handle":"ctx_0000000000000001","callId":"c","exitCode":2,"mediaType":"text/csv","cut":true}"#
        );
    }

    #[test]
    fn the_group_is_the_query_else_the_task() {
        let group = |query, task| group_of(query, task);
        assert_eq!(group(None, None), 0);
        assert_ne!(group(None, Some("1")), 0);
        assert_eq!(group(Some("1"), Some("2")), group(Some("1"), None));
        assert_ne!(group(Some("1"), None), group(None, Some("1")));
        assert_ne!(group(Some("1"), None), group(Some("2"), None));
    }

    #[test]
    fn foreign_file_names_stay_json() {
        let pointer = Pointer::new(
            &PointerParts {
                filename: "a\"b\\c\n.json",
                tool_name: "\"t\"",
                tool_description: "\"t\"",
                arguments: "{}",
                source_urls: "",
            },
            0,
            0,
        );
        let mut out = String::new();
        pointer.write_json("/", &mut out);
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(value["filename"], "a\"b\\c\n.json");
    }

    #[test]
    fn groups_keep_the_order_of_the_calls() {
        let mut groups = Groups::default();
        for sequence in [3, 1, 2, 5, 4] {
            groups.insert("\"q\"", sequence);
        }
        assert_eq!(groups.get("\"q\""), [1, 2, 3, 4, 5]);
        groups.insert("\"r\"", 0);
        groups.remove_before(1);
        assert!(groups.get("\"r\"").is_empty() && groups.get("\"q\"").len() == 5);
        groups.remove("\"q\"", 3);
        groups.remove("\"q\"", 9);
        assert_eq!(groups.get("\"q\""), [1, 2, 4, 5]);
        for sequence in [1, 2, 4, 5] {
            groups.remove("\"q\"", sequence);
        }
        assert!(groups.get("\"q\"").is_empty());
    }
}
