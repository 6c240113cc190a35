//! Recognises how a value is joined to its name, in any language or format.

use super::{Name, below, command};

/// Maximum length of white space and punctuation between a name and its value.
const MAX_GAP: usize = 80;

/// How a value is joined to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// `=`, `:` and similar signs.
    Assignment,
    /// As [`Separator::Assignment`], without spaces around the sign: `NAME=value`.
    Tight,
    /// The content of an XML element.
    Element,
    /// The content of an XML element that an attribute names: `<property name="password">`.
    Attribute,
    /// A YAML block scalar.
    Block,
    /// The value is on a line of its own.
    Line,
    /// A table cell under the column's name.
    Cell,
    /// The next argument of a call: `set("token", "value")`.
    Argument,
    /// The value of a flag: `--password value`.
    Flag,
    /// A field that another field names: `name: TOKEN`, `value: …`.
    Sibling,
    /// Only white space.
    Space,
}

/// The separator between a name and its value, and the position at which the value begins.
pub(super) fn separator(text: &str, name: &Name<'_>) -> Option<(Separator, usize)> {
    let bytes = text.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
    let mut position = name.range.end;
    let opens_element = name.range.start > 0
        && at(name.range.start - 1) == b'<'
        // A named group of a regular expression: `(?P<secret>`.
        && !matches!(name.range.start.checked_sub(2).map(at), Some(b'P' | b'?'));
    if opens_element {
        let close =
            position + text.get(position..)?.bytes().take(MAX_GAP).position(|byte| byte == b'>')?;
        let is_plain = !text.get(position..close)?.contains(['<', '\n', '=']);
        return (is_plain && at(close.wrapping_sub(1)) != b'/')
            .then(|| (Separator::Element, skip_space(bytes, close + 1, true)));
    }
    let is_flag = name.range.start > 0 && at(name.range.start - 1) == b'-';
    if is_flag && let Some(start) = next_element(text, name) {
        return Some((Separator::Flag, start));
    }
    // A quote before the name may belong to a longer string: `-H "X-Api-Key: …"`.
    let closed = || text.get(position..)?.strip_prefix(name.quote);
    let closed = if name.quote.is_empty() { None } else { closed() };
    let is_quoted = closed.is_some();
    if let Some(closed) = closed.map(|rest| text.len() - rest.len()) {
        position = closed;
        if let Some(start) = sibling(text, position) {
            return Some((Separator::Sibling, start));
        }
        if let Some(start) = below::form_field(text, name, position) {
            return Some((Separator::Line, start));
        }
        if let Some(start) = below::terraform_default(text, name, position) {
            return Some((Separator::Assignment, start));
        }
        if let Some(start) = attribute(text, name, position) {
            return Some((Separator::Attribute, start));
        }
    }
    if let Some(start) = below::patched(text, name) {
        return Some((Separator::Sibling, start));
    }
    let rest = text.get(position..)?;
    let ends_line = rest.starts_with("<br") && is_field_value(bytes, name.range.start);
    if ends_line || rest.starts_with("</") {
        return sibling(text, position).map(|start| (Separator::Sibling, start));
    }
    // `settings["token"] = …`
    if is_quoted && at(position) == b']' {
        position += 1;
    }
    let gap = skip_space(bytes, position, false);
    let operator = bytes
        .get(gap..)?
        .iter()
        .take(5)
        .take_while(|byte| {
            matches!(byte, b':' | b'=' | b'>' | b'?' | b'~' | b'+' | b'|' | b'!' | b'<' | b'-')
        })
        .count();
    let sign = text.get(gap..gap + operator).unwrap_or_default();
    let after = gap + operator;
    match sign {
        "=" | ":" | ":=" | "::=" | ":::=" | "=>" | "->" | "?=" | "+=" | "||=" | "||:" | "?:"
        | "~>" | "|" => {
            let start = skip_space(bytes, after, false);
            if (sign == ":" || sign == "?:")
                && let Some(start) = after_type(text, start)
            {
                return Some((Separator::Assignment, start));
            }
            if let Some(below) = below::value(text, name, sign, start) {
                return Some(below);
            }
            if at(start) == b'\n' {
                return None;
            }
            // A union of types, or a branch of a conditional expression.
            if is_quoted && (sign == "|" || before_quote(text, name) == Some(b'?')) {
                return None;
            }
            let is_tight = sign == "=" && gap == position && start == after;
            Some((if is_tight { Separator::Tight } else { Separator::Assignment }, start))
        }
        // `--token=-abc`
        "=-" => Some((Separator::Tight, gap + 1)),
        "" | "-" | "--" => {
            if at(gap) == b',' && is_quoted {
                let start = skip_space(bytes, gap + 1, true);
                return matches!(at(start), b'"' | b'\'' | b'`' | b'\\')
                    .then_some((Separator::Argument, start));
            }
            if is_field_value(bytes, name.range.start)
                && let Some(start) = sibling(text, position)
            {
                return Some((Separator::Sibling, start));
            }
            if gap == position || is_quoted || sign == "--" {
                return None;
            }
            if is_flag {
                return Some((Separator::Flag, gap));
            }
            if let Some(set) = command::set(text, name, gap) {
                return Some((set, gap));
            }
            if let Some(start) = after_type(text, gap) {
                return Some((Separator::Assignment, start));
            }
            let is = ["is ", "was ", "of ", "for "]
                .iter()
                .find(|word| text.get(gap..).is_some_and(|rest| rest.starts_with(**word)));
            let start = is.map_or(gap, |word| skip_space(bytes, gap + word.len(), false));
            Some((Separator::Space, start))
        }
        _ => None,
    }
}

/// The start of the next array element after a flag that is an element: `["--password", "…"]`.
fn next_element(text: &str, name: &Name<'_>) -> Option<usize> {
    let flag = text.get(..name.range.start)?.trim_end_matches('-');
    let quote = super::quote_before(text, flag.len());
    let rest = text.get(name.range.end..)?.strip_prefix(quote)?;
    let element = rest.trim_ascii_start().strip_prefix(',')?.trim_ascii_start();
    (!quote.is_empty() && element.starts_with(quote)).then(|| text.len() - element.len())
}

/// Skips a type between a name and its value: `: string = "…"`, ` string = "…"`.
fn after_type(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let length = rest
        .bytes()
        .take(48)
        .take_while(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'<' | b'>' | b'[' | b']' | b'?' | b'.' | b'&' | b'\'')
        })
        .count();
    if length == 0 {
        return None;
    }
    let gap = rest.get(length..)?;
    let sign = gap.trim_start_matches(' ');
    let after = sign
        .strip_prefix(":=")
        .or_else(|| sign.strip_prefix('=').filter(|after| !after.starts_with(['=', '>'])))?;
    if gap.len() == sign.len() && !gap.starts_with('=') {
        return None;
    }
    let value = after.trim_start_matches(' ');
    value.starts_with(['"', '\'', '`']).then(|| text.len() - value.len())
}

/// The start of the content of an element that an attribute names: `<entry key="password">`.
fn attribute(text: &str, name: &Name<'_>, position: usize) -> Option<usize> {
    let before = text.get(..name.range.start - name.quote.len())?.strip_suffix('=')?;
    let is_name = before.ends_with(" name") || before.ends_with(" key");
    let rest = text.as_bytes().get(position..)?;
    let close = rest.iter().take(MAX_GAP).position(|&byte| matches!(byte, b'>' | b'<'))?;
    let is_open = rest.get(close) == Some(&b'>') && rest.get(close.wrapping_sub(1)) != Some(&b'/');
    (is_name && is_open).then(|| skip_space(text.as_bytes(), position + close + 1, true))
}

/// Whether the name is itself the value of a field: `name: TOKEN`.
fn is_field_value(bytes: &[u8], start: usize) -> bool {
    let before = bytes.get(..start).unwrap_or_default().trim_ascii_end();
    before.len() < start && matches!(before.last(), Some(b':' | b'='))
}

/// The start of the value in a pair of fields where one field holds this name: `"name": "TOKEN", "value": "…"`.
fn sibling(text: &str, position: usize) -> Option<usize> {
    let end = (position + MAX_GAP).min(text.len());
    let rest = text.as_bytes().get(position..end)?;
    let mut at = 0;
    let skip = |at: &mut usize, signs: &[u8]| {
        while rest.get(*at).is_some_and(|byte| signs.contains(byte)) {
            *at += 1;
        }
    };
    let starts = |at: usize, word: &str| {
        rest.get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    if starts(at, "</") {
        // `<key>token</key><string>…`, `<name>token</name><value>…`
        at += rest.get(at..)?.iter().position(|&byte| byte == b'>')? + 1;
        at = skip_line_ends(rest, at, b" \t\r\n\\");
        for element in ["<string>", "<value>"] {
            if starts(at, element) {
                return Some(position + at + element.len());
            }
        }
        return None;
    }
    at = skip_line_ends(rest, at, b" \t\r\n,;\\\"'");
    if !starts(at, "value") {
        return None;
    }
    at += "value".len();
    skip(&mut at, b"\\\"'");
    skip(&mut at, b" \t");
    if !matches!(rest.get(at), Some(b':' | b'=')) {
        return None;
    }
    at += 1;
    skip(&mut at, b" \t");
    Some(position + at)
}

/// Skips these signs, escaped line ends and HTML line breaks.
fn skip_line_ends(bytes: &[u8], start: usize, signs: &[u8]) -> usize {
    let mut at = start;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let is_at = |mark: &&str| rest.starts_with(mark.as_bytes());
        let mark = ["\\n", "\\r", "\\t", "<br>", "<br/>", "<br />"].into_iter().find(is_at);
        let is_sign = rest.first().is_some_and(|byte| signs.contains(byte));
        at += match mark {
            Some(mark) => mark.len(),
            None if is_sign => 1,
            None => break,
        };
    }
    at
}

pub(super) fn skip_space(bytes: &[u8], position: usize, over_lines: bool) -> usize {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let mut at = position;
    while at < position + MAX_GAP {
        at += match byte(at) {
            b' ' | b'\t' => 1,
            b'\r' | b'\n' if over_lines => 1,
            // In a string of JSON or code.
            b'\\' if over_lines && matches!(byte(at + 1), b'r' | b'n' | b't') => 2,
            _ => break,
        };
    }
    at.min(bytes.len().max(position))
}

/// The byte before the name's opening quote, ignoring spaces.
pub(super) fn before_quote(text: &str, name: &Name<'_>) -> Option<u8> {
    let start = name.range.start.checked_sub(name.quote.len())?;
    text.get(..start)?.trim_ascii_end().bytes().next_back()
}
