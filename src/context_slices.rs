//! The method `read` of `NativeManager`: reads parts of results. The request is a JSON text; the answer is a
//! JSON text followed by the text that was read.

use std::sync::Arc;

use agent_context_core::context::Outcome;
use agent_context_core::slices::{Going, Grep, JsonPath, Part, Pattern, Request, Slice, Syntax};
use napi::Result;
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use storage::Payload;

use super::{context_manager::NativeManager, request::parse, runtime::Answer, text::Utf8};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeSlice {
    json_path: Option<String>,
    bytes: Option<NativeRange>,
    lines: Option<NativeRange>,
    grep: Option<NativeGrep>,
    max_bytes: usize,
    /// The sessions whose contexts may be read; `None` for all.
    sessions: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct NativeRange {
    from: usize,
    to: Option<usize>,
}

/// A regular expression, with the number of lines of context.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeGrep {
    pattern: String,
    /// The flags of a `RegExp`.
    flags: Option<String>,
    ignore_case: bool,
    before: usize,
    after: usize,
    from: usize,
    from_byte: usize,
}

#[napi]
impl NativeManager {
    /// Reads a part of a context's result. The request is JSON, validated and completed in JavaScript.
    /// Answers with the description of the part, as JSON, and its text.
    #[napi]
    pub fn read(
        &self,
        operation: u32,
        #[napi(ts_arg_type = "string")] path: Utf8,
        #[napi(ts_arg_type = "string")] request: Utf8,
    ) -> Result<()> {
        let (manager, path) = (Arc::clone(&self.manager), path.into_string());
        let mut request: NativeSlice = parse(&request)?;
        let sessions = request.sessions.take();
        self.run_cancellable(operation, async move {
            let (slice, outcome) =
                manager.read(&path, request_of(request)?, sessions.as_deref()).await?;
            let said = describe(&slice, &outcome).to_string();
            let texts = [said, slice.text].map(|text| Payload::new(text.into_bytes()));
            Ok(Answer::Texts(texts.into()))
        })
    }
}

fn request_of(given: NativeSlice) -> agent_context_core::Result<Request> {
    let NativeSlice { json_path, bytes, lines, grep, max_bytes, .. } = given;
    let json_path = json_path.map(|query| JsonPath::new(&query)).transpose()?;
    let part = if let Some(NativeRange { from, to }) = lines {
        Some(Part::Lines { from, to })
    } else if let Some(grep) = grep {
        Some(Part::Grep(grep_of(grep)?))
    } else {
        bytes.map(|NativeRange { from, to }| Part::Bytes { from, to })
    };
    Ok(Request { json_path, part, max_bytes })
}

pub(super) fn grep_of(given: NativeGrep) -> agent_context_core::Result<Grep> {
    let NativeGrep { pattern, flags, ignore_case, before, after, from, from_byte } = given;
    let syntax = match &flags {
        Some(flags) => Syntax::JavaScript { flags },
        None => Syntax::Rust,
    };
    let pattern = Pattern::new(&pattern, syntax, ignore_case)?;
    Ok(Grep { pattern, before, after, from, from_byte })
}

/// The description of a slice, without its text.
fn describe(slice: &Slice, outcome: &Outcome) -> Value {
    let mut said = Map::new();
    let Outcome { success, error, message, exit_code } = outcome;
    said.extend(success.map(|success| ("success".to_owned(), json!(success))));
    for (key, text) in [("error", error), ("message", message)] {
        said.extend(text.as_ref().map(|text| (key.to_owned(), json!(text))));
    }
    said.extend(exit_code.map(|code| ("exitCode".to_owned(), json!(code))));
    said.insert("totalBytes".to_owned(), json!(slice.total_bytes));
    if let Some(media_type) = &slice.media_type {
        said.insert("encoding".to_owned(), json!("base64"));
        said.insert("mediaType".to_owned(), json!(media_type));
    }
    said.insert("totalLines".to_owned(), json!(slice.total_lines));
    if let Some(bytes) = &slice.bytes {
        said.insert("bytes".to_owned(), json!({ "from": bytes.start, "to": bytes.end }));
    }
    if let Some((from, to)) = slice.lines {
        said.insert("lines".to_owned(), json!({ "from": from, "to": to }));
    }
    if let Some(matches) = &slice.matches {
        let matches: Vec<_> = matches
            .iter()
            .map(|found| {
                json!({ "line": found.line, "byteOffset": found.byte_offset, "text": found.text })
            })
            .collect();
        said.insert("matches".to_owned(), Value::Array(matches));
    }
    if let Some(paths) = &slice.paths {
        said.insert("paths".to_owned(), json!(paths));
    }
    if let Some(going) = &slice.next {
        let (part, place) = match going {
            Going::Bytes { from, to } => ("bytes", range(*from, *to)),
            Going::Lines { from, to } => ("lines", range(*from, *to)),
            Going::Grep { from, from_byte: None } => ("grep", json!({ "from": from })),
            Going::Grep { from, from_byte } => {
                ("grep", json!({ "from": from, "fromByte": from_byte }))
            }
        };
        let mut next = Map::from_iter([(part.to_owned(), place)]);
        let path = slice.paths.as_ref().and_then(|paths| paths.first());
        if let Some(path) = path.filter(|_| slice.is_one_value) {
            next.insert("jsonPath".to_owned(), json!(path));
        }
        said.insert("next".to_owned(), Value::Object(next));
    }
    Value::Object(said)
}

fn range(from: usize, to: Option<usize>) -> Value {
    to.map_or_else(|| json!({ "from": from }), |to| json!({ "from": from, "to": to }))
}
