//! Private keys in their armour: on many lines, escaped, on one line, indented, cut short.

use std::ops::Range;

/// Longer keys are not known.
const MAX_KEY: usize = 64 << 10;
/// A header's line, from its dashes to `PRIVATE KEY`, is at most this long.
const MAX_HEADER: usize = 64;
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// The key whose header holds `PRIVATE KEY` at `position`, from the header's dashes on. What is
/// only spoken of, without anything of a key behind it, is none.
pub(super) fn find(text: &str, position: usize) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(position.saturating_sub(MAX_HEADER));
    let before = text.get(from..position)?;
    let start = from + before.rfind(BEGIN)?;
    let header = text.get(start + BEGIN.len()..position)?;
    if !header
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ')
    {
        return None;
    }
    let rest = text.get(position..)?;
    let dashes = rest.find(DASHES).filter(|&at| at <= "PRIVATE KEY BLOCK".len())?;
    let body = position + dashes + DASHES.len();
    let end = body_end(text, body)?;
    Some(start..end)
}

/// Where the key ends: behind its footer, or where what follows is none of it.
fn body_end(text: &str, start: usize) -> Option<usize> {
    let limit = start.saturating_add(MAX_KEY).min(text.len());
    let mut at = start;
    let mut end = None;
    loop {
        at = skip_separators(text, at, limit);
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with(END) {
            // The footer is short, and ends with dashes unless it is cut.
            let line = rest.get(END.len()..).unwrap_or_default();
            let dashes = line.find(DASHES).filter(|&length| length <= MAX_HEADER);
            let length = match dashes {
                Some(length) => END.len() + length + DASHES.len(),
                None => rest.find(['\n', '\\', '"']).unwrap_or(rest.len()).min(MAX_HEADER),
            };
            // Without a body, somebody speaks of a key's form.
            return end.map(|_| at + length).filter(|&at| text.is_char_boundary(at));
        }
        let length = rest.bytes().take(limit - at).take_while(|byte| is_base64(*byte)).count();
        if length == 0 {
            return end;
        }
        let piece = rest.get(..length).unwrap_or_default();
        let after = rest.get(length..).unwrap_or_default();
        if after.starts_with(": ") {
            // `Proc-Type: 4,ENCRYPTED`, `Version: …`: to the line's end.
            let line = after.find(['\n', '\\', '"']).unwrap_or(after.len());
            at += length + line;
            continue;
        }
        // Lines of keys are long; the last one may be short, and prose is not of this kind.
        let is_line = length >= 16 || piece.starts_with('=') || end.is_some() && closes(after);
        if !is_line {
            return end;
        }
        at += length;
        end = Some(at);
        if at >= limit {
            return end;
        }
    }
}

/// Whether only separators stand between here and a footer.
fn closes(after: &str) -> bool {
    let at = skip_separators(after, 0, after.len().min(MAX_HEADER));
    let rest = after.get(at..).unwrap_or_default();
    rest.starts_with(END) || rest.starts_with('=') || rest.starts_with("...")
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Skips what stands between the lines of a key: white space, escaped line ends, quotes and commas
/// of lists, signs of comments and citations.
fn skip_separators(text: &str, start: usize, limit: usize) -> usize {
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
            // `+` joins literals in code, but is a character of keys as well.
            Some(b'+') if matches!(bytes.get(at + 1), Some(b' ' | b'\n' | b'\r')) => at += 1,
            // A literal's end and the sign between literals, escaped for a shell.
            Some(b'$') if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            _ => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEpAIBAAKCAQEA3yLb5u4S0gvcUONLHTaWaUP1gUYcKsqRKEhSdoXMSXovHdbM";

    fn header(kind: &str) -> String {
        format!("{BEGIN}{kind}PRIVATE KEY{DASHES}")
    }

    fn footer(kind: &str) -> String {
        format!("{END}{kind}PRIVATE KEY{DASHES}")
    }

    fn found(text: &str) -> Option<&str> {
        text.get(find(text, text.find("PRIVATE KEY").unwrap()).unwrap_or_default())
            .filter(|found| !found.is_empty())
    }

    #[test]
    fn whole_keys_are_found_however_they_are_written() {
        for separator in ["\n", "\r\n", "\\n", "\\\\n", " ", "\n    ", "\",\n\"", "\\n\" +\n  \""] {
            let key = [header("RSA "), LINE.into(), LINE.into(), "dGVzdA==".into(), footer("RSA ")]
                .join(separator);
            let text = format!("key = \"{key}\"\nwhoami\n");
            assert_eq!(found(&text), Some(key.as_str()), "{separator:?}");
        }
    }

    #[test]
    fn headers_and_checksums_belong_to_the_key() {
        let key = format!(
            "{}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{LINE}\n=8xQN\n{}",
            header("PGP ").replace("KEY", "KEY BLOCK"),
            footer("PGP ").replace("KEY", "KEY BLOCK"),
        );
        assert_eq!(found(&key), Some(key.as_str()));
    }

    #[test]
    fn cut_keys_end_with_their_last_line() {
        let key = format!("{}\n{LINE}\n{LINE}\nabcDEF0123456789abcd", header("EC "));
        assert_eq!(found(&key), Some(key.as_str()));
        let text = format!("{key}\nwhoami\n");
        assert_eq!(found(&text), Some(key.as_str()));
        let footer = format!("{}\n{LINE}\n{END}EC PRIV", header("EC "));
        assert_eq!(found(&footer), Some(footer.as_str()));
    }

    #[test]
    fn what_speaks_of_keys_is_none() {
        let texts = [
            format!("if (text.includes('{}')) return", header("")),
            format!("{}\n...\n{}", header(""), footer("")),
            "the PRIVATE KEY is".to_owned(),
            format!("{BEGIN}lower PRIVATE KEY{DASHES}\n{LINE}"),
        ];
        for text in texts {
            assert_eq!(found(&text), None, "{text}");
        }
    }
}
