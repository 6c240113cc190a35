//! The file with the bytes of one record: a line of JSON that names the session, then the bytes of all parts in
//! sequence. On a file system for texts only, the bytes are base64.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;

/// The longest first line, in bytes.
pub const MAX_LINE: u64 = 64 * 1024;

/// The first line.
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

/// The bytes of all parts; `None` if the file is not of this format.
pub fn read(mut file: Vec<u8>) -> Option<Vec<u8>> {
    let end = memchr::memchr(b'\n', &file)?;
    let line: Line = serde_json::from_slice(file.get(..end)?).ok()?;
    file.drain(..=end);
    match line.encoding {
        None => Some(file),
        Some(Encoding::Base64) => STANDARD.decode(file).ok(),
    }
}

/// The session that wrote a file, from its first bytes.
pub fn owner_of(beginning: &[u8]) -> Option<String> {
    let end = memchr::memchr(b'\n', beginning)?;
    let line: Line = serde_json::from_slice(beginning.get(..end)?).ok()?;
    Some(line.session_id)
}
