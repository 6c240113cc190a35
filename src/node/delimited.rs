//! Delimiting stored text, for what the JavaScript side hands to a model.

use napi_derive::napi;

use super::text::{JsText, Utf8};
use crate::{context, file_system::Payload};

/// A text between tags that it cannot forge, with everything shown that hides itself.
#[napi(ts_return_type = "string")]
pub fn delimit(#[napi(ts_arg_type = "string")] text: Utf8) -> JsText {
    JsText(Payload::new(context::delimit(&text.into_string()).into_bytes()))
}
