//! The file of a record's bytes: a line of JSON that says whose it is, and the bytes of all parts, one behind the other. A
//! file system that knows texts only has them as base64.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;

/// A line of ours takes no more, in bytes.
pub const MAX_LINE: u64 = 64 * 1024;

/// The line before the bytes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(default)]
    encoding: Option<Encoding>,
    session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Base64,
}

/// The file's contents. `session` is a JSON token.
pub fn write(session: &str, parts: &[Vec<u8>], is_text_only: bool) -> Vec<u8> {
    let encoding = if is_text_only { "\"encoding\":\"base64\"," } else { "" };
    let mut out = format!("{{{encoding}\"sessionId\":{session}}}\n").into_bytes();
    if is_text_only {
        out.extend_from_slice(STANDARD.encode(parts.concat()).as_bytes());
    } else {
        out.reserve(parts.iter().map(Vec::len).sum());
        parts.iter().for_each(|part| out.extend_from_slice(part));
    }
    out
}

/// The bytes of all parts; `None` where a file holds none.
pub fn read(mut file: Vec<u8>) -> Option<Vec<u8>> {
    let end = memchr::memchr(b'\n', &file)?;
    let line: Line = serde_json::from_slice(file.get(..end)?).ok()?;
    file.drain(..=end);
    match line.encoding {
        None => Some(file),
        Some(Encoding::Base64) => STANDARD.decode(file).ok(),
    }
}

/// The session that wrote a file, from its beginning.
pub fn owner_of(beginning: &[u8]) -> Option<String> {
    let end = memchr::memchr(b'\n', beginning)?;
    let line: Line = serde_json::from_slice(beginning.get(..end)?).ok()?;
    Some(line.session_id)
}
