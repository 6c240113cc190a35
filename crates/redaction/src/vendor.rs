//! Detector for keys without a distinctive form, which follow the name of the service they belong to.

use std::ops::Range;

use super::{
    value::{self, Look},
    work,
};

/// Maximum length of the text between a service's name and its key.
const MAX_GAP: usize = 40;
/// Length of a key.
const KEY_LENGTH: Range<usize> = 20..1024;

/// The key after the service name at `start..end`, on the same line: `acme_key = …`, `acme SECRET …`.
pub(super) fn find(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // The service's name must begin a word, and the word may continue after it: `acmeToken`.
    if start > 0 && bytes.get(start - 1).is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    let mut at = end;
    let limit = end.saturating_add(MAX_GAP);
    while at < limit {
        let key = bytes
            .get(at..)?
            .iter()
            .take(KEY_LENGTH.end)
            .take_while(|byte| is_of_key(**byte))
            .count();
        work::add(key);
        if key >= KEY_LENGTH.start && at > end {
            let range = at..at + key;
            let key = text.get(range.clone())?;
            // A value that continues as a path or a call is not a key.
            let is_alone = !matches!(bytes.get(range.end), Some(b'/' | b'(' | b'.' | b'@'));
            return (is_alone && value::look(key) == Look::Random && !is_file(key))
                .then_some(range);
        }
        at += key;
        match bytes.get(at) {
            Some(b' ' | b'\t' | b':' | b'=' | b'"' | b'\'' | b'`' | b'>' | b',' | b'.' | b'(') => {
                at += 1
            }
            _ => return None,
        }
    }
    None
}

const fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'=')
}

/// Whether the service's name is that of a file or a package that is followed by its digest.
fn is_file(key: &str) -> bool {
    key.starts_with("sha") || key.starts_with("md5")
}
