//! Parses the details of a save: its optional members, and the request for a placeholder.

use agent_context_core::context::{Details, Kind, Leaf, OffloadRequest, Step};
use napi::{Env, Result, bindgen_prelude::Unknown};
use serde::Deserialize;

use super::{
    context_bytes::{NativeBytes, read_given},
    numbers::{size, whole},
    request::parse,
    text::Utf8,
};

/// The optional members of a save, JSON.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct NativeDetails {
    description: Option<String>,
    source_urls: Option<Box<serde_json::value::RawValue>>,
    success: Option<bool>,
    error: Option<Box<serde_json::value::RawValue>>,
    message: Option<Box<serde_json::value::RawValue>>,
    call_id: Option<Box<serde_json::value::RawValue>>,
    duration_ms: Option<Box<serde_json::value::RawValue>>,
    exit_code: Option<i32>,
    span_id: Option<Box<serde_json::value::RawValue>>,
    media_type: Option<Box<serde_json::value::RawValue>>,
    cut: bool,
    if_absent: bool,
    is_large: Option<bool>,
    offload: Option<NativeOffload>,
    bytes: Option<NativeBytes>,
}

/// The request for a placeholder.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct NativeOffload {
    preview_bytes: Option<f64>,
    kind: NativeKind,
    prefix: String,
    leaves: Vec<NativeLeaf>,
    shows_raw: bool,
    output_bytes: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
enum NativeKind {
    #[default]
    Output,
    Message,
    Arguments,
}

/// A text within an output that gets a placeholder of its own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeLeaf {
    steps: Vec<NativeStep>,
    path: String,
    preview_bytes: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NativeStep {
    Index(u64),
    Key(String),
}

impl From<NativeOffload> for OffloadRequest {
    fn from(offload: NativeOffload) -> Self {
        let NativeOffload { preview_bytes, kind, prefix, leaves, shows_raw, output_bytes } =
            offload;
        let kind = match kind {
            NativeKind::Output => Kind::Output,
            NativeKind::Message => Kind::Message,
            NativeKind::Arguments => Kind::Arguments,
        };
        let step = |step| match step {
            NativeStep::Index(index) => Step::Index(index),
            NativeStep::Key(key) => Step::Key(key),
        };
        let leaves = leaves.into_iter().map(|leaf| Leaf {
            steps: leaf.steps.into_iter().map(step).collect(),
            path: leaf.path,
            preview: size(leaf.preview_bytes),
        });
        let preview = preview_bytes.map(size);
        let output_bytes = output_bytes.map(whole);
        Self { preview, kind, prefix, leaves: leaves.collect(), shows_raw, output_bytes }
    }
}

/// Parses the details of a save, JSON, with its binary data, which they describe.
pub fn read_details(env: &Env, text: &Utf8, bytes: &Unknown<'_>) -> Result<Details> {
    let mut details: NativeDetails = parse(text)?;
    let given = details.bytes.take().map(|said| read_given(env, said, bytes)).transpose()?;
    Ok(Details { bytes: given, ..details.into() })
}

/// Parses the details of a save without binary data, JSON.
pub fn read_plain_details(text: &str) -> serde_json::Result<Details> {
    serde_json::from_str(text).map(NativeDetails::into)
}

impl From<NativeDetails> for Details {
    /// The details without binary data.
    fn from(details: NativeDetails) -> Self {
        let raw = |value: Option<Box<serde_json::value::RawValue>>| {
            value.map(|value| value.get().to_owned())
        };
        Self {
            description: details.description,
            source_urls: raw(details.source_urls),
            success: details.success,
            error: raw(details.error),
            message: raw(details.message),
            call: raw(details.call_id),
            duration: raw(details.duration_ms),
            exit_code: details.exit_code,
            span: raw(details.span_id),
            media_type: raw(details.media_type),
            is_cut: details.cut,
            if_absent: details.if_absent,
            is_large: details.is_large,
            offload: details.offload.map(OffloadRequest::from),
            bytes: None,
        }
    }
}
