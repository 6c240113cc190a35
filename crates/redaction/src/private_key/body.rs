//! Finds the end of a key after its header, with or without a footer, where only white space, quotes, escaped line ends
//! and comment markers separate its lines. See `framed` for lines with other prefixes.

use super::base64_runs;

/// Minimum length of a line, except the last.
pub(super) const SHORTEST_LINE: usize = 16;
/// Bytes after a line in which a footer is searched.
const MAX_AHEAD: usize = 64;

/// The end of the last line of a key. The lines are between `start` and `limit`, which is the start of the footer if
/// `is_closed`. `None` when there is no line.
pub(super) fn end(text: &str, start: usize, limit: usize, is_closed: bool) -> Option<usize> {
    let mut at = start;
    let mut end = None;
    loop {
        at = skip_separators(text, at, limit);
        let rest = text.get(at..limit).unwrap_or_default();
        let length = rest.bytes().take_while(|byte| is_base64(*byte)).count();
        if length == 0 {
            return end;
        }
        let piece = rest.get(..length).unwrap_or_default();
        let after = rest.get(length..).unwrap_or_default();
        if after.starts_with(": ") {
            // `Proc-Type: 4,ENCRYPTED`, `Version: …`: to the line's end.
            at += length + after.find(['\n', '\\', '"']).unwrap_or(after.len());
            continue;
        }
        // Lines of keys are long. The last one may be short, but must not look like prose.
        let is_line = length >= SHORTEST_LINE
            || piece.starts_with('=')
            || end.is_some() && closes(text, at + length, limit, is_closed);
        if !is_line {
            return end;
        }
        at += length;
        end = Some(at);
    }
}

/// Whether only separators precede the footer.
fn closes(text: &str, at: usize, limit: usize, is_closed: bool) -> bool {
    let next = skip_separators(text, at, limit.min(at + MAX_AHEAD));
    let rest = text.get(next..).unwrap_or_default();
    is_closed && next == limit || rest.starts_with('=') || rest.starts_with("...")
}

const fn is_base64(byte: u8) -> bool {
    base64_runs::is_base64(byte) || matches!(byte, b'=' | b'-' | b'_')
}

/// Skips separators between the lines of a key: white space, escaped line ends, quotes and commas of lists, markers of
/// comments and quotations.
pub(super) fn skip_separators(text: &str, start: usize, limit: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < limit {
        match bytes.get(at) {
            Some(
                b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b',' | b'>' | b'|' | b'#' | b'*'
                | b'.',
            ) => at += 1,
            Some(b'\\') => {
                let run = bytes
                    .get(at..)
                    .unwrap_or_default()
                    .iter()
                    .take_while(|&&byte| byte == b'\\')
                    .count();
                let is_line_end = matches!(bytes.get(at + run), Some(b'n' | b'r' | b't'));
                at += run + usize::from(is_line_end);
            }
            // `+` joins literals in code, but is also a character of base64.
            Some(b'+') if matches!(bytes.get(at + 1), Some(b' ' | b'\n' | b'\r')) => at += 1,
            // The end of a literal and the operator between literals, escaped for a shell.
            Some(b'$') if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            _ => break,
        }
    }
    at
}
