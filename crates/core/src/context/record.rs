//! The record: the text of a stored context. It is one JSON object with a fixed order of keys; everything that a
//! pointer needs is before the result, so that directories are listed without reading results. A long result is followed by a
//! table of its blocks (`slices::blocks`), which is left out where a record is loaded.

use std::ops::Range;

use chrono::{DateTime, SecondsFormat};
use json_text::{Members, ScanError};

use super::handle;

/// The most bytes of arguments in a pointer.
pub const MAX_POINTER_ARGUMENTS: usize = 4096;
/// The most characters of a value in a description, in UTF-16 units.
const MAX_DESCRIBED: usize = 50;

const HANDLE_KEY: &str = ",\"handle\":";
const ARGUMENTS_KEY: &str = ",\"args\":";
const RESULT_KEY: &str = ",\"result\":";

/// The members of a record, as JSON tokens.
#[derive(Debug, Default)]
pub struct RecordParts<'a> {
    /// `toolName`.
    pub tool_name: &'a [u8],
    /// `toolDescription`.
    pub tool_description: &'a [u8],
    /// Time of the call, ms since 1970.
    pub timestamp: i64,
    /// `taskId`.
    pub task: Option<&'a str>,
    /// `queryId`.
    pub query: Option<&'a str>,
    /// `sessionId`.
    pub session: &'a str,
    /// `sourceUrls`.
    pub source_urls: Option<&'a str>,
    /// `success`.
    pub success: Option<bool>,
    /// `error`.
    pub error: Option<&'a str>,
    /// `message`.
    pub message: Option<&'a str>,
    /// `callId`.
    pub call: Option<&'a str>,
    /// `durationMs`, a token.
    pub duration: Option<&'a str>,
    /// `exitCode`.
    pub exit_code: Option<i32>,
    /// `spanId`.
    pub span: Option<&'a str>,
    /// `mediaType`.
    pub media_type: Option<&'a str>,
    /// `cut`: whether the result is only the beginning of what the tool returned.
    pub is_cut: bool,
    /// `args`.
    pub arguments: &'a [u8],
}

/// Writes a record up to its result; the caller appends the result and `}`. Returns the position of the handle, which
/// depends on the result: the caller overwrites the placeholder there, which has the same length.
pub fn write_head(parts: &RecordParts<'_>, out: &mut Vec<u8>) -> Range<usize> {
    let time = format!("\"{}\"", iso(parts.timestamp));
    let success = parts.success.map(|success| if success { "true" } else { "false" });
    let exit_code = parts.exit_code.map(|code| code.to_string());
    let handle = json_text::string_token(&handle::text(0));
    let start = out.len();
    let members: [(&str, Option<&[u8]>); 18] = [
        ("{\"toolName\":", Some(parts.tool_name)),
        (",\"toolDescription\":", Some(parts.tool_description)),
        (",\"timestamp\":", Some(time.as_bytes())),
        (",\"taskId\":", parts.task.map(str::as_bytes)),
        (",\"queryId\":", parts.query.map(str::as_bytes)),
        (",\"sessionId\":", Some(parts.session.as_bytes())),
        (",\"sourceUrls\":", parts.source_urls.map(str::as_bytes)),
        (",\"success\":", success.map(str::as_bytes)),
        (",\"error\":", parts.error.map(str::as_bytes)),
        (",\"message\":", parts.message.map(str::as_bytes)),
        (HANDLE_KEY, Some(handle.as_bytes())),
        (",\"callId\":", parts.call.map(str::as_bytes)),
        (",\"durationMs\":", parts.duration.map(str::as_bytes)),
        (",\"exitCode\":", exit_code.as_deref().map(str::as_bytes)),
        (",\"spanId\":", parts.span.map(str::as_bytes)),
        (",\"mediaType\":", parts.media_type.map(str::as_bytes)),
        (",\"cut\":", parts.is_cut.then_some(&b"true"[..])),
        (ARGUMENTS_KEY, Some(parts.arguments)),
    ];
    let mut handle_at = start..start;
    for (key, value) in members {
        if let Some(value) = value {
            out.extend_from_slice(key.as_bytes());
            if key == HANDLE_KEY {
                // Without the quotes.
                handle_at = out.len() + 1..out.len() + value.len() - 1;
            }
            out.extend_from_slice(value);
        }
    }
    out.extend_from_slice(RESULT_KEY.as_bytes());
    handle_at
}

/// Inserts a member into a record whose head [`write_head`] wrote, before its arguments, which take `arguments` bytes.
/// `result` is the position of the result; returns its new position.
pub fn insert_member(
    text: &mut Vec<u8>,
    result: usize,
    arguments: usize,
    key: &str,
    token: &str,
) -> usize {
    let tail = ARGUMENTS_KEY.len() + arguments + RESULT_KEY.len();
    let at = result.saturating_sub(tail);
    let member = format!(",\"{key}\":{token}");
    text.splice(at..at, member.bytes());
    result + member.len()
}

/// A time as ISO 8601 with milliseconds, like JavaScript's `toISOString`.
#[must_use]
pub fn iso(timestamp: i64) -> String {
    DateTime::from_timestamp_millis(timestamp)
        .unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Describes a call, for people and ranking: `tool: value` with the first argument if that is a non-empty string,
/// otherwise `tool with N argument(s)`, or `tool` without arguments.
#[must_use]
pub fn describe(tool_name: &str, arguments: &[u8]) -> String {
    let mut members = match Members::new(arguments, 0) {
        Ok(members) => members,
        Err(_) => return tool_name.to_owned(),
    };
    let mut first = None;
    let mut count = 0_usize;
    while let Ok(Some(_)) = members.next_key() {
        let Ok(range) = members.skip_value() else { break };
        first.get_or_insert(range);
        count += 1;
    }
    let Some(first) = first.and_then(|range| arguments.get(range)) else {
        return tool_name.to_owned();
    };
    if first.first() == Some(&b'"') && first.len() > 2 {
        let units = json_text::decode_utf16(first);
        if units.len() <= MAX_DESCRIBED {
            return format!("{tool_name}: {}", String::from_utf16_lossy(&units));
        }
        let kept = units.get(..MAX_DESCRIBED).unwrap_or_default();
        // A surrogate pair is not split.
        let kept = match kept.split_last() {
            Some((&last, rest)) if (0xD800..0xDC00).contains(&last) => rest,
            _ => kept,
        };
        return format!("{tool_name}: {}...", String::from_utf16_lossy(kept));
    }
    format!("{tool_name} with {count} argument(s)")
}

/// The positions of a record's members in its text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Head {
    /// `toolName`, always present.
    pub tool_name: Range<usize>,
    /// `toolDescription`.
    pub tool_description: Option<Range<usize>>,
    /// `timestamp`.
    pub timestamp: Option<Range<usize>>,
    /// `taskId`.
    pub task: Option<Range<usize>>,
    /// `queryId`.
    pub query: Option<Range<usize>>,
    /// `sessionId`.
    pub session: Option<Range<usize>>,
    /// `sourceUrls`.
    pub source_urls: Option<Range<usize>>,
    /// `success`.
    pub success: Option<Range<usize>>,
    /// `error`.
    pub error: Option<Range<usize>>,
    /// `message`.
    pub message: Option<Range<usize>>,
    /// `handle`.
    pub handle: Option<Range<usize>>,
    /// `callId`.
    pub call: Option<Range<usize>>,
    /// `durationMs`.
    pub duration: Option<Range<usize>>,
    /// `exitCode`.
    pub exit_code: Option<Range<usize>>,
    /// `mediaType`.
    pub media_type: Option<Range<usize>>,
    /// `cut`.
    pub cut: Option<Range<usize>>,
    /// `bytes`.
    pub bytes: Option<Range<usize>>,
    /// `redactions`.
    pub redactions: Option<Range<usize>>,
    /// `outputBytes`.
    pub output_bytes: Option<Range<usize>>,
    /// `shownBytes`.
    pub shown_bytes: Option<Range<usize>>,
    /// `args`.
    pub arguments: Option<Range<usize>>,
}

/// Why a text is not a valid record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRecord {
    /// The text ends too early: it is truncated, or more of the file has to be read.
    Incomplete,
    /// It is not JSON.
    NotJson,
    /// It is JSON without the members of a record.
    Foreign,
}

impl NoRecord {
    /// The reason as text.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Incomplete => "the text ends too early",
            Self::NotJson => "not JSON",
            Self::Foreign => "not a context record",
        }
    }
}

impl From<ScanError> for NoRecord {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Incomplete => Self::Incomplete,
            ScanError::Invalid { .. } => Self::NotJson,
        }
    }
}

/// Parses a record's head. With the keys in this package's order, the text from the result on is not read.
///
/// # Errors
/// [`NoRecord`] if the text is not a record, or more text is needed.
pub fn parse_head(text: &[u8]) -> Result<Head, NoRecord> {
    read_members(text, false).map(|(head, _)| head)
}

/// The position of the result of a record, which may be truncated after that; `None` if it has no result.
#[must_use]
pub fn result_start(text: &[u8]) -> Option<usize> {
    read_members(text, false).ok().map(|(_, result)| result.start)
}

/// Validates a whole record; returns the range of its result.
///
/// # Errors
/// [`NoRecord`] if it is not valid or truncated.
pub fn check(text: &[u8]) -> Result<Range<usize>, NoRecord> {
    read_members(text, true).map(|(_, result)| result)
}

/// The head and the range of the result; unless `whole` is set, only the start of the range is valid.
fn read_members(text: &[u8], whole: bool) -> Result<(Head, Range<usize>), NoRecord> {
    let start = json_text::skip_whitespace(text, 0);
    match text.get(start) {
        None => return Err(NoRecord::Incomplete),
        Some(b'{') => {}
        Some(_) if whole => {
            return Err(json_text::validate_document(text)
                .map_or_else(NoRecord::from, |()| NoRecord::Foreign));
        }
        Some(_) => return Err(NoRecord::Foreign),
    }
    let mut members = Members::new(text, start)?;
    let mut head = Head::default();
    let mut tool_name = None;
    let mut result = None;
    while let Some(key) = members.next_key()? {
        if key == b"\"result\"" {
            result = members.value_start().map(|start| start..start);
            let ours = head.arguments.is_some() && head.timestamp.is_some();
            if !whole && tool_name.is_some() && ours {
                break;
            }
        }
        let value = Some(members.skip_value()?);
        match key {
            b"\"result\"" => result = value,
            b"\"toolName\"" => tool_name = value,
            b"\"toolDescription\"" => head.tool_description = value,
            b"\"timestamp\"" => head.timestamp = value,
            b"\"taskId\"" => head.task = value,
            b"\"queryId\"" => head.query = value,
            b"\"sessionId\"" => head.session = value,
            b"\"sourceUrls\"" => head.source_urls = value,
            b"\"success\"" => head.success = value,
            b"\"error\"" => head.error = value,
            b"\"message\"" => head.message = value,
            b"\"handle\"" => head.handle = value,
            b"\"callId\"" => head.call = value,
            b"\"durationMs\"" => head.duration = value,
            b"\"exitCode\"" => head.exit_code = value,
            b"\"mediaType\"" => head.media_type = value,
            b"\"cut\"" => head.cut = value,
            b"\"bytes\"" => head.bytes = value,
            b"\"redactions\"" => head.redactions = value,
            b"\"outputBytes\"" => head.output_bytes = value,
            b"\"shownBytes\"" => head.shown_bytes = value,
            b"\"args\"" => head.arguments = value,
            _ => {}
        }
    }
    if let Some(end) = members.end()
        && json_text::skip_whitespace(text, end) < text.len()
    {
        return Err(NoRecord::NotJson);
    }
    let is_text = |range: &Range<usize>| text.get(range.start) == Some(&b'"');
    let is_object = |range: &Range<usize>| text.get(range.start) == Some(&b'{');
    let times = head.timestamp.as_ref().is_none_or(is_text);
    let arguments = head.arguments.as_ref().is_none_or(is_object);
    head.tool_name = tool_name.filter(is_text).ok_or(NoRecord::Foreign)?;
    match result {
        Some(result) if times && arguments => Ok((head, result)),
        _ => Err(NoRecord::Foreign),
    }
}

/// Parses a record's time; ms since 1970.
#[must_use]
pub fn parse_time(token: &[u8]) -> Option<i64> {
    let text = json_text::decode_string(token)?;
    Some(DateTime::parse_from_rfc3339(&text).ok()?.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        write_head(
            &RecordParts {
                tool_name: b"\"grep\"",
                tool_description: b"\"grep: x\"",
                timestamp: 1_700_000_000_123,
                task: Some("1"),
                query: Some("\"q\""),
                session: "\"s\"",
                source_urls: Some("[\"u\"]"),
                success: Some(false),
                error: Some("\"e\""),
                message: Some("\"m\""),
                call: Some("\"c\""),
                duration: Some("12.5"),
                exit_code: Some(-1),
                span: Some("\"p\""),
                media_type: Some("\"text/csv\""),
                is_cut: true,
                arguments: b"{\"a\":1}",
            },
            &mut out,
        );
        out.extend_from_slice(b"[1,2,3]}");
        out
    }

    #[test]
    fn keys_stand_in_the_documented_order() {
        assert_eq!(
            String::from_utf8(sample()).unwrap(),
            r#"{"toolName":"grep","toolDescription":"grep: x","timestamp":"2023-11-14T22:13:20.123Z","taskId":1,"queryId":"q","sessionId":"s","sourceUrls":["u"],"success":false,"error":"e","message":"m","handle":"ctx_0000000000000000","callId":"c","durationMs":12.5,"exitCode":-1,"spanId":"p","mediaType":"text/csv","cut":true,"args":{"a":1},"result":[1,2,3]}"#
        );
    }

    #[test]
    fn the_head_is_read_without_the_result_and_a_cut_record_is_told() {
        let text = sample();
        let result = text.windows(9).position(|window| window == b"\"result\":").unwrap();
        let head = parse_head(&text[..result + 10]).unwrap();
        assert_eq!(&text[head.arguments.clone().unwrap()], b"{\"a\":1}");
        assert_eq!(parse_time(&text[head.timestamp.unwrap()]), Some(1_700_000_000_123));
        assert!(check(&text).is_ok());
        for end in 0..text.len() {
            assert_eq!(check(&text[..end]), Err(NoRecord::Incomplete), "cut at {end}");
        }
    }

    #[test]
    fn foreign_files_are_told_apart_and_other_orders_are_read() {
        let read = |text: &str| check(text.as_bytes());
        assert_eq!(read("[]"), Err(NoRecord::Foreign));
        assert_eq!(read("{\"name\":\"left-pad\"}"), Err(NoRecord::Foreign));
        assert_eq!(read("{\"toolName\":1,\"result\":1}"), Err(NoRecord::Foreign));
        assert_eq!(read("{\"toolName\":\"a\"}"), Err(NoRecord::Foreign));
        assert_eq!(read("{\"toolName\":\"a\",\"args\":[],\"result\":1}"), Err(NoRecord::Foreign));
        assert_eq!(read("not json"), Err(NoRecord::NotJson));
        assert_eq!(read("{nonsense}"), Err(NoRecord::NotJson));
        assert_eq!(read("{\"toolName\":\"a\",\"result\":1} x"), Err(NoRecord::NotJson));
        let other =
            br#"{"result":{"a":[1]},"toolName":"a","args":{},"timestamp":"2024-01-15T10:30:00Z"}"#;
        assert!(check(other).is_ok());
        let head = parse_head(other).unwrap();
        assert_eq!(parse_time(&other[head.timestamp.unwrap()]), Some(1_705_314_600_000));
    }

    #[test]
    fn descriptions_follow_the_first_argument() {
        let describe = |arguments: &str| describe("t", arguments.as_bytes());
        assert_eq!(describe("{}"), "t");
        assert_eq!(describe(r#"{"q":"login"}"#), "t: login");
        assert_eq!(describe(r#"{"q":"","r":"x"}"#), "t with 2 argument(s)");
        assert_eq!(describe(r#"{"n":5}"#), "t with 1 argument(s)");
        let fifty = "x".repeat(50);
        assert_eq!(describe(&format!(r#"{{"q":"{fifty}"}}"#)), format!("t: {fifty}"));
        assert_eq!(describe(&format!(r#"{{"q":"{fifty}y"}}"#)), format!("t: {fifty}..."));
        let pair = format!("{}😀", "x".repeat(49));
        assert_eq!(describe(&format!(r#"{{"q":"{pair}z"}}"#)), format!("t: {}...", "x".repeat(49)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged_without_panic(bytes in any::<Vec<u8>>()) {
            let _ = (parse_head(&bytes), check(&bytes), describe("t", &bytes));
        }

        #[test]
        fn a_mutated_record_never_panics(at in 0_usize..200, byte in any::<u8>()) {
            let mut text = sample();
            if let Some(slot) = text.get_mut(at) { *slot = byte; }
            let _ = (parse_head(&text), check(&text));
        }
    }
}
