//! Handles: short names of stored outputs that say nothing of time or place, so that the text in
//! which a model reads them is the same whenever and wherever the same call is made.

use sha2::{Digest, Sha256};

use crate::error::{Code, Error};

const PREFIX: &str = "ctx_";
/// Hex digits of a digest that are kept.
const DIGITS: usize = 16;

/// The handle of an output: of the tool's name (a JSON token), the arguments in canonical form and
/// the result's JSON.
pub(super) fn of(tool_name: &[u8], arguments: &[u8], result: &[u8]) -> String {
    let mut hash = Sha256::new();
    // Canonical JSON has no line ends: what belongs where is never in doubt.
    for part in [tool_name, b"\n", arguments, b"\n", result] {
        hash.update(part);
    }
    format!("{PREFIX}{}", shortened(&hash.finalize()))
}

/// A mark that the text itself cannot hold, by accident or by design: part of its own digest.
pub(super) fn mark_of(text: &str) -> String {
    shortened(&Sha256::digest(text.as_bytes()))
}

/// What tells a handle from others: its digits.
pub(super) fn digits(handle: &str) -> &str {
    handle.strip_prefix(PREFIX).unwrap_or(handle)
}

/// Whether a path is none, but a handle.
pub(super) fn is_handle(path: &str) -> bool {
    path.strip_prefix(PREFIX).is_some_and(|digits| {
        digits.len() == DIGITS
            && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// No context behind a path or a handle.
pub(super) fn not_found(path: &str) -> Error {
    if !is_handle(path) {
        return Error::not_found(path);
    }
    Error::new(
        Code::NotFound,
        format!(
            "{path} is not stored here: it was cleared, or another process stored it; run the tool again"
        ),
    )
}

fn shortened(digest: &[u8]) -> String {
    digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_of_name_arguments_and_result() {
        let handle = of(b"\"grep\"", b"{\"a\":1}", b"[1]");
        // printf '"grep"\n{"a":1}\n[1]' | sha256sum
        assert_eq!(handle, "ctx_ea6f72764bc1e6b6");
        assert_ne!(handle, of(b"\"grep\"", b"{\"a\":1}", b"[2]"));
        assert_ne!(handle, of(b"\"grep\"", b"{\"a\":2}", b"[1]"));
        assert_ne!(handle, of(b"\"find\"", b"{\"a\":1}", b"[1]"));
    }

    #[test]
    fn only_handles_are_handles() {
        assert!(is_handle(&of(b"\"t\"", b"{}", b"1")));
        for path in [
            "",
            "ctx_",
            "ctx_1f2e3d4c5b6a798",
            "ctx_1f2e3d4c5b6a79888",
            "ctx_1F2E3D4C5B6A7988",
            "/tmp/ctx_1f2e3d4c5b6a7988",
            "1f2e3d4c5b6a7988",
        ] {
            assert!(!is_handle(path), "{path}");
        }
    }
}
