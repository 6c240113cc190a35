//! One part of a record's binary data, as its member `bytes` describes it.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::slices::{PathStep, normalised_path};

use super::super::{leaves::Step, save_request::SavedPart};

/// The type that JavaScript gets for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A `Uint8Array`.
    Bytes,
    /// A string of base64.
    Base64,
}

/// The position and the properties of binary data in a result.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// The path to the part as JSON, because a key may have lone surrogates, which UTF-8 cannot express.
    pub path: Box<RawValue>,
    /// The number of bytes.
    pub size: u64,
    /// Their SHA-256, in hex.
    pub sha256: String,
    /// Their media type.
    pub media_type: String,
    /// The type that JavaScript gets.
    pub form: Form,
    /// The text before the base64: the beginning of a data URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Width of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u64>,
    /// Height of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u64>,
}

impl Part {
    /// Whether the part is the whole result.
    pub fn is_whole(&self) -> bool {
        self.path.get() == "[]"
    }

    /// The path as a normalised JSON path; `None` if a key cannot be written in one.
    pub fn normalised_path(&self) -> Option<String> {
        let steps: Vec<Step> = serde_json::from_str(self.path.get()).ok()?;
        Some(normalised_path(steps.iter().map(|step| match step {
            Step::Index(index) => PathStep::Index(*index),
            Step::Key(key) => PathStep::Key(key),
        })))
    }

    /// Size, media type and dimensions as text.
    pub fn description(&self) -> String {
        let mut text = format!("{} bytes of {}", self.size, self.media_type);
        if let (Some(width), Some(height)) = (self.width, self.height) {
            // Writing to a String cannot fail.
            let _ = write!(text, ", {width} x {height} pixels");
        }
        text
    }

    /// Path and description, for the text that replaces the part in a conversation.
    pub fn saved(&self) -> SavedPart {
        SavedPart { steps: self.path.get().to_owned(), description: self.description() }
    }

    /// Whether the digest of `contents` is that of the part.
    pub fn is_of(&self, contents: &[u8]) -> bool {
        digest_of(contents) == self.sha256
    }
}

/// Parses the record's member; empty if it is not valid.
pub fn parts_of(token: &[u8]) -> Vec<Part> {
    serde_json::from_slice(token).unwrap_or_default()
}

/// The part that is the whole result.
pub fn whole(parts: &[Part]) -> Option<&Part> {
    parts.first().filter(|part| part.is_whole())
}

/// The total size of the parts.
pub fn size_of(parts: &[Part]) -> u64 {
    parts.iter().fold(0, |total, part| total.saturating_add(part.size))
}

/// A SHA-256 in hex.
pub fn digest_of(contents: &[u8]) -> String {
    hex(&Sha256::digest(contents))
}

/// Bytes as hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
