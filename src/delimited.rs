//! Encloses stored text that JavaScript passes to a model: see `core::context::delimited`.

use agent_context_core::context;
use napi_derive::napi;
use storage::Payload;

use super::text::{JsText, Utf8};

/// Encloses a text in tags that it cannot imitate, with invisible characters made visible.
#[napi(ts_return_type = "string")]
pub fn delimit(#[napi(ts_arg_type = "string")] text: Utf8) -> JsText {
    js(context::delimit(&text.into_string()))
}

/// A text in one line of at most `max_bytes` bytes, with the same replacements as `delimit`.
#[napi(ts_return_type = "string")]
pub fn harmless_line(#[napi(ts_arg_type = "string")] text: Utf8, max_bytes: u32) -> JsText {
    js(context::harmless_line(&text.into_string(), max_bytes as usize))
}

fn js(text: String) -> JsText {
    JsText(Payload::new(text.into_bytes()))
}
