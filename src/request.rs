//! Parses requests, which are JSON texts.

use napi::{Error, Result};
use serde::Deserialize;

use super::text::Utf8;

/// Parses a request, which JavaScript has validated.
pub fn parse<'a, T: Deserialize<'a>>(request: &'a Utf8) -> Result<T> {
    serde_json::from_slice(&request.0).map_err(|error| Error::from_reason(error.to_string()))
}
