//! Handles: content-derived names of stored outputs, such as `ctx_ea6f72764bc1e6b6`. They depend on neither time nor
//! place, so a conversation in which a model reads them is the same for the same calls, and prompt caches stay valid.

use sha2::{Digest as _, Sha256};

use crate::error::{Code, Error};

const PREFIX: &str = "ctx_";
/// The hex digits of a handle.
const DIGITS: usize = 16;

/// Computes a handle: a digest of the tool's name (a JSON token), the canonical arguments, the result's JSON, which may
/// come in pieces, and the record's member `bytes`, if it has one.
pub(super) struct Digest(Sha256);

impl Digest {
    /// A digest of a call without its result.
    pub fn new(tool_name: &[u8], arguments: &[u8]) -> Self {
        let mut hash = Sha256::new();
        // The parts cannot be confused, because canonical JSON has no line feeds.
        for part in [tool_name, b"\n", arguments, b"\n"] {
            hash.update(part);
        }
        Self(hash)
    }

    /// Adds to the result.
    pub fn update(&mut self, result: &[u8]) {
        self.0.update(result);
    }

    /// The handle.
    pub fn finish(self, bytes: Option<&[u8]>) -> u64 {
        let Self(mut hash) = self;
        if let Some(bytes) = bytes {
            hash.update(b"\n");
            hash.update(bytes);
        }
        let digest = hash.finalize();
        digest.iter().take(DIGITS / 2).fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

/// The handle of an output with a result in one piece.
pub(super) fn of(tool_name: &[u8], arguments: &[u8], result: &[u8], bytes: Option<&[u8]>) -> u64 {
    let mut digest = Digest::new(tool_name, arguments);
    digest.update(result);
    digest.finish(bytes)
}

/// The text form of a handle.
pub(super) fn text(handle: u64) -> String {
    format!("{PREFIX}{handle:016x}")
}

/// Parses a handle; `None` if the text is none.
pub(super) fn parse(text: &str) -> Option<u64> {
    if !is_handle(text) {
        return None;
    }
    u64::from_str_radix(digits(text), 16).ok()
}

/// A delimiter for a text that the text cannot contain, not even by design: a part of the text's own digest.
pub(super) fn mark_of(text: &str) -> String {
    shortened(&Sha256::digest(text.as_bytes()))
}

/// The digits of a handle, without the prefix.
pub(super) fn digits(handle: &str) -> &str {
    handle.strip_prefix(PREFIX).unwrap_or(handle)
}

/// Whether a path is a handle instead.
pub(super) fn is_handle(path: &str) -> bool {
    path.strip_prefix(PREFIX).is_some_and(|digits| {
        digits.len() == DIGITS
            && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The error for a handle without a context. `reason` says why a known one was removed.
pub(super) fn missing(handle: u64, reason: Option<&str>, directory: &str) -> Error {
    let handle = text(handle);
    let reason = match reason {
        Some(reason) => format!("its context was {reason}"),
        None => format!("it is not in this directory, {directory}"),
    };
    Error::new(Code::NotFound, format!("{handle} is not stored here: {reason}; run the tool again"))
}

/// The error for a path or handle without a context.
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
        let handle = of(b"\"grep\"", b"{\"a\":1}", b"[1]", None);
        // printf '"grep"\n{"a":1}\n[1]' | sha256sum
        assert_eq!(text(handle), "ctx_ea6f72764bc1e6b6");
        assert_eq!(parse(&text(handle)), Some(handle));
        assert_eq!(parse("ctx_"), None);
        let mut digest = Digest::new(b"\"grep\"", b"{\"a\":1}");
        b"[1]".iter().for_each(|&byte| digest.update(&[byte]));
        assert_eq!(digest.finish(None), handle, "also of a result in pieces");
        assert_ne!(handle, of(b"\"grep\"", b"{\"a\":1}", b"[2]", None));
        assert_ne!(handle, of(b"\"grep\"", b"{\"a\":2}", b"[1]", None));
        assert_ne!(handle, of(b"\"find\"", b"{\"a\":1}", b"[1]", None));
    }

    #[test]
    fn only_handles_are_handles() {
        assert!(is_handle(&text(of(b"\"t\"", b"{}", b"1", None))));
        assert!(is_handle(&text(0)));
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
