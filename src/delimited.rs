//! Stored text on its way to a model by the JavaScript side.

use agent_context_core::context;
use napi_derive::napi;
use storage::Payload;

use super::text::{JsText, Utf8};

/// A text between tags that it cannot forge, with everything shown that hides itself.
#[napi(ts_return_type = "string")]
pub fn delimit(#[napi(ts_arg_type = "string")] text: Utf8) -> JsText {
    js(context::delimit(&text.into_string()))
}

/// A text in one line of at most `max_bytes` bytes, shown as `delimit` does.
#[napi(ts_return_type = "string")]
pub fn harmless_line(#[napi(ts_arg_type = "string")] text: Utf8, max_bytes: u32) -> JsText {
    js(context::harmless_line(&text.into_string(), max_bytes as usize))
}

fn js(text: String) -> JsText {
    JsText(Payload::new(text.into_bytes()))
}
