//! Requests that cross as JSON.

use napi::{Error, Result};
use serde::Deserialize;

use super::text::Utf8;

/// Reads a request. The JavaScript side has checked it.
pub fn parse<'a, T: Deserialize<'a>>(request: &'a Utf8) -> Result<T> {
    serde_json::from_slice(&request.0).map_err(|error| Error::from_reason(error.to_string()))
}
