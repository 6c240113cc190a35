//! Values beside a name that says they are secret: assignments of all languages and formats,
//! members, attributes, flags. Works on any text, whole or cut.

use std::ops::Range;

use super::{
    names::{self, NameClass},
    value::{self, Look},
};

/// Between a name and its value stands at most so much white space and punctuation.
const MAX_GAP: usize = 80;
/// Values are at most so long.
const MAX_VALUE: usize = 16 << 10;
/// Shorter values are none.
const SHORTEST: usize = 3;
/// Shorter values are none if nothing but space joins them to their name.
const SHORTEST_APART: usize = 20;

/// How a value is joined to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `=`, `:` and their like.
    Assignment,
    /// As [`Joint::Assignment`], without a space before it and after: `NAME=value`.
    Tight,
    /// An element of XML.
    Element,
    /// The next argument of a call: `set("token", "value")`.
    Argument,
    /// The value of a flag: `--password value`.
    Flag,
    /// A field that names another: `name: TOKEN`, `value: …`.
    Sibling,
    /// Nothing but space.
    Space,
}

/// A name in a text.
struct Name<'a> {
    text: &'a str,
    range: Range<usize>,
    class: NameClass,
    /// The quotes around the name as they stand before it, backslashes included.
    quote: &'a str,
}

/// Finds the value that belongs to the name which holds the byte at `position`. Returns the name's
/// end, and the value's range.
pub(super) fn find(
    text: &str,
    position: usize,
    further: &[String],
) -> (usize, Option<Range<usize>>) {
    let range = name_at(text, position);
    (range.end, value_of(text, range, further))
}

fn value_of(text: &str, range: Range<usize>, further: &[String]) -> Option<Range<usize>> {
    let whole = text.get(range.clone())?;
    let quote = quote_before(text, range.start);
    let mut name = Name { text: whole, range, class: NameClass::Plain, quote };
    // The class last: it takes longest, and most names have no value behind them.
    let (joint, start) = joint(text, &name)?;
    let found = Found::read(text, start, joint)?;
    if text.get(found.range.clone())?.chars().take(SHORTEST).count() < SHORTEST
        || joint == Joint::Space && found.range.len() < SHORTEST_APART
    {
        return None;
    }
    name.class = names::classify(whole, further);
    accepts(text, &name, joint, &found).then_some(found.range)
}

/// The name around a position: letters, digits and what joins them.
fn name_at(text: &str, position: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    let is_joint = |byte: u8| matches!(byte, b'-' | b'.');
    let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
    let (mut start, mut end) = (position, position);
    while start > 0
        && position - start < 2 * names::MAX_NAME
        && (is_letter(at(start - 1))
            || is_joint(at(start - 1)) && start > 1 && is_letter(at(start - 2)))
    {
        // The letter of an escape sequence, `\n`, belongs to no name.
        if start > 1 && at(start - 2) == b'\\' && matches!(at(start - 1), b'n' | b'r' | b't') {
            break;
        }
        start -= 1;
    }
    while end < bytes.len()
        && end - position < 2 * names::MAX_NAME
        && (is_letter(at(end))
            || is_joint(at(end)) && is_letter(at(end + 1))
            || at(end) == b' ' && is_space_in_name(bytes, end))
    {
        end += 1;
    }
    let start = (start..=position).find(|&at| text.is_char_boundary(at)).unwrap_or(position);
    let end = (position..=end).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(position);
    start..end
}

/// `api key` and `access key` are written with a space as well.
fn is_space_in_name(bytes: &[u8], space: usize) -> bool {
    let rest = bytes.get(space + 1..).unwrap_or_default();
    rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"key"))
        && !rest.get(3).is_some_and(u8::is_ascii_alphanumeric)
}

/// The quotes that end right before `start`, with their backslashes.
fn quote_before(text: &str, start: usize) -> &str {
    let before = text.get(..start).unwrap_or_default();
    let bytes = before.as_bytes();
    let is_quote = matches!(bytes.last(), Some(b'"' | b'\'' | b'`'));
    if !is_quote {
        return "";
    }
    let backslashes = bytes.iter().rev().skip(1).take_while(|&&byte| byte == b'\\').count().min(64);
    before.get(before.len() - 1 - backslashes..).unwrap_or_default()
}

/// How the value is joined to the name, and where it begins.
fn joint(text: &str, name: &Name<'_>) -> Option<(Joint, usize)> {
    let bytes = text.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
    let mut position = name.range.end;
    let opens_element = name.range.start > 0
        && at(name.range.start - 1) == b'<'
        // A group of an expression: `(?P<secret>`.
        && !matches!(name.range.start.checked_sub(2).map(at), Some(b'P' | b'?'));
    if opens_element {
        let close =
            position + text.get(position..)?.bytes().take(MAX_GAP).position(|byte| byte == b'>')?;
        let is_plain = !text.get(position..close)?.contains(['<', '\n', '=']);
        return (is_plain && at(close.wrapping_sub(1)) != b'/')
            .then(|| (Joint::Element, skip_space(bytes, close + 1, true)));
    }
    let is_flag = name.range.start > 0 && at(name.range.start - 1) == b'-';
    // A quote before the name need not be the name's: `-H "X-Api-Key: …"`.
    let closed = text.get(position..)?.strip_prefix(name.quote).map(|rest| text.len() - rest.len());
    let is_quoted = !name.quote.is_empty() && closed.is_some();
    if let Some(closed) = closed.filter(|_| is_quoted) {
        position = closed;
        if let Some(start) = sibling(text, position) {
            return Some((Joint::Sibling, start));
        }
    }
    if text.get(position..)?.starts_with("</") {
        return sibling(text, position).map(|start| (Joint::Sibling, start));
    }
    if at(position) == b']' {
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
            if sign == ":" || sign == "?:" {
                if let Some(start) = after_type(text, start) {
                    return Some((Joint::Assignment, start));
                }
            }
            if at(start) == b'\n' && sign != "=" {
                // The value of YAML may stand on the next line, as a block.
                return None;
            }
            // A union of types, the branch of a condition.
            if is_quoted && (sign == "|" || before_quote(text, name) == Some(b'?')) {
                return None;
            }
            let is_tight = sign == "=" && gap == position && start == after;
            Some((if is_tight { Joint::Tight } else { Joint::Assignment }, start))
        }
        // `--token=-abc`
        "=-" => Some((Joint::Tight, gap + 1)),
        "" | "-" | "--" => {
            if at(gap) == b',' && is_quoted {
                let start = skip_space(bytes, gap + 1, true);
                return matches!(at(start), b'"' | b'\'' | b'`' | b'\\')
                    .then_some((Joint::Argument, start));
            }
            if is_field_value(bytes, name.range.start)
                && let Some(start) = sibling(text, position)
            {
                return Some((Joint::Sibling, start));
            }
            if gap == position || is_quoted || sign == "--" {
                return None;
            }
            if is_flag {
                return Some((Joint::Flag, gap));
            }
            if let Some(start) = after_type(text, gap) {
                return Some((Joint::Assignment, start));
            }
            let is = ["is ", "was ", "of ", "for "]
                .iter()
                .find(|word| text.get(gap..).is_some_and(|rest| rest.starts_with(**word)));
            let start = is.map_or(gap, |word| skip_space(bytes, gap + word.len(), false));
            Some((Joint::Space, start))
        }
        _ => None,
    }
}

/// Behind a type between a name and its value: `: string = "…"`, ` string = "…"`.
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

/// Whether the name is the value of a field itself: `name: TOKEN`.
fn is_field_value(bytes: &[u8], start: usize) -> bool {
    let before = bytes.get(..start).unwrap_or_default().trim_ascii_end();
    before.len() < start && matches!(before.last(), Some(b':' | b'='))
}

/// Where the value of a field stands that this name names: `"name": "TOKEN", "value": "…"`.
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
        skip(&mut at, b" \t\r\n");
        for element in ["<string>", "<value>"] {
            if starts(at, element) {
                return Some(position + at + element.len());
            }
        }
        return None;
    }
    skip(&mut at, b" \t\r\n,;\\\"'");
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

fn skip_space(bytes: &[u8], position: usize, over_lines: bool) -> usize {
    let rest = bytes.get(position..).unwrap_or_default();
    let is_space =
        |byte: &u8| matches!(byte, b' ' | b'\t') || over_lines && matches!(byte, b'\r' | b'\n');
    position + rest.iter().take(MAX_GAP).take_while(|byte| is_space(byte)).count()
}

/// A value as it stands in the text.
struct Found {
    range: Range<usize>,
    is_quoted: bool,
    /// Whether the line ends behind it, but for punctuation.
    ends_line: bool,
    /// What follows.
    after: u8,
}

impl Found {
    fn read(text: &str, start: usize, joint: Joint) -> Option<Self> {
        let rest = text.get(start..)?;
        if joint == Joint::Element {
            let end = rest
                .bytes()
                .take(MAX_VALUE)
                .position(|byte| byte == b'<')
                .unwrap_or(rest.len().min(MAX_VALUE));
            let inside = text.get(start..start + floor(rest, end))?.trim_end();
            return Some(Self {
                range: start..start + inside.len(),
                is_quoted: true,
                ends_line: true,
                after: b'<',
            });
        }
        Self::quoted(text, start).or_else(|| Self::plain(text, start, joint))
    }

    /// A value in quotes, which may be escaped, doubled, or stand behind a letter (`b"…"`).
    fn quoted(text: &str, start: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
        let mut open = start;
        if matches!(at(open), b'b' | b'r' | b'f' | b'u' | b'@' | b'L' | b'$')
            && matches!(at(open + 1), b'"' | b'\'')
        {
            open += 1;
        }
        let backslashes =
            bytes.get(open..)?.iter().take(64).take_while(|&&byte| byte == b'\\').count();
        let quote = at(open + backslashes);
        if !matches!(quote, b'"' | b'\'' | b'`') {
            return None;
        }
        let mut inside = open + backslashes + 1;
        // `'"…"'`: the inner quotes are not the value's.
        let inner = at(inside);
        let has_inner = matches!(inner, b'"' | b'\'') && inner != quote && backslashes == 0;
        let quote = if has_inner { inner } else { quote };
        inside += usize::from(has_inner);
        let end = closing_quote(bytes, inside, quote, backslashes);
        let length = end.unwrap_or_else(|| {
            let rest = text.get(inside..).unwrap_or_default();
            let cut = rest.bytes().take(MAX_VALUE).position(|byte| byte.is_ascii_whitespace());
            inside + floor(rest, cut.unwrap_or(rest.len().min(MAX_VALUE)))
        });
        let after = at(length + backslashes + 1);
        Some(Self { range: inside..length, is_quoted: true, ends_line: false, after })
    }

    /// A value without quotes ends with white space, or where the format around it goes on.
    fn plain(text: &str, start: usize, joint: Joint) -> Option<Self> {
        let rest = text.get(start..)?;
        let bytes = rest.as_bytes();
        let mut end = 0;
        while let Some(&byte) = bytes.get(end) {
            let next = bytes.get(end + 1).copied().unwrap_or_default();
            let stops = match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b'<' => true,
                b'\\' => matches!(next, b'n' | b'r' | b't' | b'"' | b'\'' | b'\\'),
                b'&' | b';' | b',' => goes_on(bytes, end + 1),
                b'#' => false,
                _ => end >= MAX_VALUE,
            };
            if stops {
                break;
            }
            end += 1;
        }
        let end = floor(rest, end);
        let value = rest.get(..end)?;
        let trimmed = trim_punctuation(value, joint);
        let behind = rest.get(end..)?.trim_start_matches([' ', '\t']);
        let ends_line = behind.is_empty()
            || behind.starts_with(['\n', '\r', '#'])
            || behind.starts_with("\\n")
            || behind.starts_with("//");
        let after = bytes.get(trimmed.len()).copied().unwrap_or_default();
        (!trimmed.is_empty()).then(|| Self {
            range: start..start + trimmed.len(),
            is_quoted: false,
            ends_line,
            after,
        })
    }
}

/// Whether behind `&`, `;` or `,` the next field begins, or nothing.
fn goes_on(bytes: &[u8], start: usize) -> bool {
    let rest = bytes.get(start..).unwrap_or_default();
    let space = rest.iter().take_while(|&&byte| byte == b' ').count();
    let name = rest.get(space..).unwrap_or_default();
    let length = name
        .iter()
        .take(64)
        .take_while(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-' | b'.' | b' ' | b'%' | b'"' | b'\'')
        })
        .count();
    match name.get(length) {
        None => {
            length == 0
                || name.get(..length).is_some_and(|_| rest.len() == space + length && space > 0)
        }
        Some(b'=' | b':') => length > 0,
        Some(b'\n' | b'\r') => length == 0,
        Some(_) => space > 0,
    }
}

/// Takes off what closes sentences, calls and lists around a value.
fn trim_punctuation(value: &str, joint: Joint) -> &str {
    let mut value = value;
    loop {
        let Some(last) = value.chars().next_back() else { return value };
        let opens = match last {
            ')' => '(',
            ']' => '[',
            '}' => '{',
            ',' | ';' => {
                value = value.get(..value.len() - 1).unwrap_or_default();
                continue;
            }
            '.' | ':' | '|' | '>' if joint == Joint::Space => {
                value = value.get(..value.len() - 1).unwrap_or_default();
                continue;
            }
            _ => return value,
        };
        if value.matches(last).count() <= value.matches(opens).count() {
            return value;
        }
        value = value.get(..value.len() - 1).unwrap_or_default();
    }
}

/// The quote that closes a value: with as many backslashes as the opening one, on the same line.
fn closing_quote(bytes: &[u8], start: usize, quote: u8, backslashes: usize) -> Option<usize> {
    let mut at = start;
    let limit = start.saturating_add(MAX_VALUE).min(bytes.len());
    while at < limit {
        let byte = bytes.get(at).copied()?;
        if byte == b'\n' && quote != b'`' {
            return None;
        }
        if byte == b'\\' {
            let run = bytes.get(at..)?.iter().take_while(|&&byte| byte == b'\\').count();
            let is_quote = bytes.get(at + run) == Some(&quote);
            if is_quote && backslashes > 0 && run <= backslashes {
                return Some(at);
            }
            // An escaped quote belongs to the value.
            at += run + usize::from(is_quote && (backslashes > 0 || run % 2 == 1));
            continue;
        }
        if byte == quote {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn floor(text: &str, position: usize) -> usize {
    let position = position.min(text.len());
    (0..=position).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default()
}

/// Whether the value is taken for the secret that its name speaks of.
fn accepts(text: &str, name: &Name<'_>, joint: Joint, found: &Found) -> bool {
    let Some(value) = text.get(found.range.clone()) else { return false };
    if name.class == NameClass::Plain {
        return false;
    }
    let look = value::look(value);
    if look == Look::Nothing {
        return false;
    }
    let is_random = look == Look::Random;
    if name.class == NameClass::Weak {
        let is_loud = name.text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        return is_random
            && (joint != Joint::Space || is_loud && value.len() >= 20)
            && joint != Joint::Element
            && !value::is_digest(value)
            && (found.is_quoted || !value::is_code(value));
    }
    let is_password = name.class == NameClass::Password;
    match joint {
        Joint::Space => {
            // Prose speaks of tokens: only what a machine has made is one.
            is_random && value.len() >= 20 && !value::is_code(value)
        }
        Joint::Flag => {
            !value.starts_with('-')
                && (is_random || look == Look::Chosen || is_password)
                && !value::is_code(value)
        }
        Joint::Argument => {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_.-~:".contains(&byte);
            let is_first = before_quote(text, name) == Some(b'(');
            (is_random || is_first && look == Look::Chosen && value.len() >= 8)
                && value.bytes().all(is_plain)
        }
        Joint::Sibling if !found.is_quoted && value::is_code(value) => false,
        Joint::Element | Joint::Sibling => {
            is_random
                || !value.contains(char::is_whitespace)
                    && (is_password || look == Look::Chosen && value.len() >= 6)
        }
        Joint::Assignment | Joint::Tight if found.is_quoted => {
            accepts_quoted(name, value, look, found)
        }
        Joint::Assignment | Joint::Tight => accepts_plain(text, name, joint, value, look, found),
    }
}

fn accepts_quoted(name: &Name<'_>, value: &str, look: Look, found: &Found) -> bool {
    if look == Look::Random {
        return true;
    }
    if value.len() < 4 || value::is_prose(value) || value.contains(['\t']) {
        return false;
    }
    if look == Look::Chosen {
        // A piece of code in quotes, a format, a path.
        return !value.contains(' ')
            && (name.class == NameClass::Password || is_likely_token(value))
            && !value.starts_with(['/', '.', '#', '?', '^', '('])
            && !value.contains("${")
            && !value.contains("{{")
            && !value.contains("%s");
    }
    // Words: what another name is (`token: 'access_token'`) is none.
    let same = names::joined(value) == names::joined(name.text);
    let is_name = value.contains(['_', '-', '.', ' '])
        || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    name.class == NameClass::Password
        && !same
        && !(is_name && names::is_made_of_names(value))
        && !value.contains(' ')
        && found.after != b']'
        && (value.len() >= 6 || !names::is_made_of_names(value))
}

fn accepts_plain(
    text: &str,
    name: &Name<'_>,
    joint: Joint,
    value: &str,
    look: Look,
    found: &Found,
) -> bool {
    if value::is_code(value) && !is_variable(name, joint) {
        return false;
    }
    if look == Look::Random {
        return true;
    }
    let is_call = value.contains('(') && value::is_code(value);
    if is_call || value.len() < 4 {
        return false;
    }
    if is_variable(name, joint) {
        return !value.starts_with('/')
            && (look == Look::Chosen || name.class == NameClass::Password || value.len() >= 8);
    }
    if name.class == NameClass::Secret && !is_likely_token(value) {
        return false;
    }
    let starts_line = starts_line(text, name.range.start);
    let is_field = joint == Joint::Tight || (starts_line && found.ends_line);
    look == Look::Chosen
        && is_field
        && has_digit_or_sign(value)
        && (name.class == NameClass::Password || value.len() >= 8)
        && !matches!(found.after, b'(' | b'[')
}

/// Whether what somebody may have chosen is rather a token than a piece of code.
fn is_likely_token(value: &str) -> bool {
    !value.contains(['[', ']', '{', '}', '(', ')', '|', '\\', '<', '>'])
        && !value.bytes().all(|byte| byte.is_ascii_digit())
        && !(value.len() < 16 && value::is_path(value.as_bytes()))
}

/// What stands before the name's opening quote, but for space.
fn before_quote(text: &str, name: &Name<'_>) -> Option<u8> {
    let start = name.range.start.checked_sub(name.quote.len())?;
    text.get(..start)?.trim_ascii_end().bytes().next_back()
}

/// Whether the name is that of an environment variable, which is set: `DB_PASSWORD=…`.
fn is_variable(name: &Name<'_>, joint: Joint) -> bool {
    joint == Joint::Tight
        && name.text.bytes().any(|byte| byte.is_ascii_uppercase())
        && name
            .text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn has_digit_or_sign(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
        || value.bytes().any(|byte| {
            matches!(
                byte,
                b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'~' | b'+' | b'='
            )
        })
}

/// Whether only white space, a list's dash or a variable's `export` stands before on the line.
fn starts_line(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let line = line
        .trim_start_matches(['+', '-', '>', '<', '#', '/', '*', ' ', '\t', '"', '\'', '{', ',']);
    line.is_empty() || line.ends_with("\\n") || line == "export " || line == "set "
}
