//! Finds values that are not on the line of their name: YAML blocks and continuation lines, values on the next line in
//! code, defaults of Terraform variables, form fields, operations of a JSON patch.

use super::{
    Name,
    candidate::closing_quote,
    lines::Lines,
    separator::{Separator, before_quote, skip_space},
};
use crate::work;

/// Maximum length in bytes of a Terraform variable's block, and of the headers of a form field.
const MAX_BLOCK: usize = 2048;
/// Work steps for examining a sign in the block of a variable.
const STEPS_OF_BLOCK: usize = 4;
/// Maximum length of the header of a block scalar, with its comment.
const MAX_HEADER: usize = 120;
/// Maximum number of headers of a form field.
const MAX_HEADERS: usize = 6;
/// Maximum length of a JSON pointer; longer ones are ignored.
const MAX_POINTER: usize = 256;

/// The value on the lines below `name: ` or `name =`; `start` is behind the sign and the spaces.
pub(super) fn value(
    text: &str,
    name: &Name<'_>,
    sign: &str,
    start: usize,
) -> Option<(Separator, usize)> {
    let bytes = text.as_bytes();
    let header = block_header(bytes, start);
    if header.is_none() && !matches!(bytes.get(start), Some(b'\r' | b'\n' | b'\\')) {
        return None;
    }
    let lines = Lines::around(text, start);
    let next = match (header, lines.end_at(start)) {
        (Some(header), _) if sign == ":" => {
            let (comment, next) = lines.rest(header, MAX_HEADER)?;
            let comment = text.get(comment)?.trim_start();
            (comment.is_empty() || comment.starts_with('#')).then_some(next?)?
        }
        (_, Some(length)) => start + length,
        _ => return None,
    };
    let value = skip_space(bytes, next, false);
    let escapes = bytes.get(value..)?.iter().take(16).take_while(|&&byte| byte == b'\\').count();
    let is_quoted = matches!(bytes.get(value + escapes), Some(b'"' | b'\'' | b'`'));
    if header.is_none() && is_quoted {
        return Some((Separator::Assignment, value));
    }
    // A quote that does not close after the name belongs to a string around the name.
    let is_quoted = text.get(name.range.end..)?.starts_with(name.quote);
    let quote = if is_quoted { name.quote.len() } else { 0 };
    let column = lines.indentation(name.range.start - quote)?;
    if lines.indentation(value)? <= column || lines.end_at(value).is_some() {
        return None;
    }
    if header.is_some() {
        return Some((Separator::Block, value));
    }
    // An unquoted value is accepted only in YAML, and only as a single word on a line of its own.
    let (line, _) = lines.rest(value, MAX_BLOCK)?;
    let line = text.get(line)?.trim_end();
    let is_word = !line.contains([' ', '\t']) && !line.ends_with([':', ',', ';', '{']);
    (sign == ":" && is_word && !line.starts_with('-')).then_some((Separator::Assignment, value))
}

/// Where the header of a block scalar ends: `|`, `>-`, `|2+`.
fn block_header(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..)?;
    let is_block = matches!(rest.first(), Some(b'|' | b'>'));
    let indicators = rest.iter().skip(1).take(2);
    let indicators = indicators.take_while(|byte| matches!(byte, b'+' | b'-' | b'1'..=b'9'));
    is_block.then(|| start + 1 + indicators.count())
}

/// Where the default of `variable "db_password" { … }` begins, or the value of an output. `position`
/// is behind the quote that closes the name.
pub(super) fn terraform_default(text: &str, name: &Name<'_>, position: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let open = skip_space(bytes, position, false);
    let before = text.get(..name.range.start - name.quote.len())?.trim_ascii_end();
    let is_block = bytes.get(open) == Some(&b'{')
        && (before.ends_with("variable") || before.ends_with("output"));
    if !is_block {
        return None;
    }
    let lines = Lines::around(text, open);
    let (mut at, mut depth, mut begins) = (open + 1, 0_usize, true);
    let limit = open.saturating_add(MAX_BLOCK).min(bytes.len());
    while at < limit {
        work::add(STEPS_OF_BLOCK);
        if let Some(length) = lines.end_at(at) {
            (at, begins) = (at + length, true);
            continue;
        }
        match bytes.get(at)? {
            b' ' | b'\t' | b'\\' => at += 1,
            b'"' => {
                let escapes = bytes.get(..at)?.iter().rev().take(16);
                let escapes = escapes.take_while(|&&byte| byte == b'\\').count();
                at = closing_quote(bytes, at + 1, b'"', escapes)? + escapes + 1;
                begins = false;
            }
            b'{' => (at, depth, begins) = (at + 1, depth + 1, true),
            b'}' if depth == 0 => return None,
            b'}' => (at, depth, begins) = (at + 1, depth - 1, true),
            _ if begins && depth == 0 => {
                let rest = bytes.get(at..)?;
                let length = rest.iter().take_while(|byte| is_of_word(**byte)).count();
                let is_value = matches!(rest.get(..length)?, b"default" | b"value");
                let sign = skip_space(bytes, at + length, false);
                if is_value && bytes.get(sign) == Some(&b'=') {
                    return Some(skip_space(bytes, sign + 1, false));
                }
                (at, begins) = (at + length.max(1), false);
            }
            _ => at += 1,
        }
    }
    None
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where the value of a form's field begins: below its headers and an empty line. `position` is
/// behind the quote that closes the name.
pub(super) fn form_field(text: &str, name: &Name<'_>, position: usize) -> Option<usize> {
    if before_quote(text, name) != Some(b'=') {
        return None;
    }
    let start = name.range.start - name.quote.len();
    let from = text.ceil_char_boundary(start.saturating_sub(MAX_HEADER));
    let before = text.get(from..start)?.strip_suffix('=')?;
    let is_field = before.ends_with("name") && before.contains("form-data");
    if !is_field {
        return None;
    }
    let lines = Lines::around(text, position);
    let mut at = position;
    for number in 0..MAX_HEADERS {
        let (line, next) = lines.rest(at, MAX_BLOCK)?;
        let is_blank = line.is_empty();
        // The content of a file is not the value of a field.
        if number == 0 && text.get(line)?.contains("filename") {
            return None;
        }
        at = next?;
        if number > 0 && is_blank {
            return lines.end_at(at).is_none().then_some(at);
        }
    }
    None
}

/// Where the value of an operation of a JSON patch begins whose path ends with the name:
/// `"path": "/db/password", "value": …`.
pub(super) fn patched(text: &str, name: &Name<'_>) -> Option<usize> {
    let before = text.get(..name.range.start)?;
    if !before.ends_with('/') {
        return None;
    }
    let from = text.ceil_char_boundary(name.range.start.saturating_sub(MAX_POINTER));
    let pointer = text.get(from..name.range.start)?;
    let open = pointer.rfind(['"', '\'', ' ', '\n'])?;
    let quote = super::quote_before(text, from + open + 1);
    let key = text.get(..from + open + 1 - quote.len())?.trim_ascii_end().strip_suffix(':')?;
    let key = key.trim_ascii_end().strip_suffix(quote)?;
    let is_pointer = !quote.is_empty()
        && pointer.get(open + 1..)?.starts_with('/')
        && key.ends_with("path")
        && key.strip_suffix("path")?.ends_with(quote);
    let rest = text.get(name.range.end..)?.strip_prefix(quote)?;
    if !is_pointer {
        return None;
    }
    let member = rest.get(..rest.floor_char_boundary(MAX_POINTER))?;
    let member = member.get(..member.find(['{', '}', '[', ']']).unwrap_or(member.len()))?;
    let key = format!("{quote}value{quote}");
    let colon = member.find(&key)? + key.len();
    let value = member.get(colon..)?.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
    Some(text.len() - rest.len() + member.len() - value.len())
}
