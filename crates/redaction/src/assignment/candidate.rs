//! Extracts a value from the text after a separator: quoted in any style, unquoted, or a block.

use std::ops::Range;

use super::{lines::Lines, separator::Separator};
use crate::work;

/// Maximum length of a value.
const MAX_VALUE: usize = 16 << 10;

/// Maximum number of spaces after a value.
const MAX_SPACE: usize = 256;
/// Maximum number of closing brackets after a value.
const MAX_CLOSING: usize = 16;

/// Values longer than this keep the brackets at their end.
const MAX_TRIMMED: usize = 1024;
/// Work steps per byte for finding the end of an unquoted value.
const STEPS_OF_PLAIN: usize = 3;
const STEPS_OF_QUOTED: usize = 1;

/// The start of an XML CDATA section, whose characters are not escaped.
const SECTION: &str = "<![CDATA[";

/// A value and its position in the text.
pub(super) struct Candidate {
    pub range: Range<usize>,
    /// The end of everything that belongs to the value, such as the further lines of a block.
    pub end: usize,
    pub is_quoted: bool,
    /// Whether only punctuation follows the value on its line.
    pub ends_line: bool,
    /// The byte after the value.
    pub after: u8,
}

impl Candidate {
    pub fn read(
        text: &str,
        start: usize,
        separator: Separator,
        run: &mut PlainRun,
    ) -> Option<Self> {
        let rest = text.get(start..)?;
        if let Some(section) = rest.strip_prefix(SECTION) {
            let limit = section.floor_char_boundary(MAX_VALUE);
            let inside = section.get(..limit)?.split("]]>").next()?;
            let before = inside.len() - inside.trim_start().len();
            return Some(Self::inside(start + SECTION.len() + before, inside.trim()));
        }
        match separator {
            Separator::Element | Separator::Attribute => {
                let inside = rest.get(..rest.floor_char_boundary(MAX_VALUE))?.split('<').next()?;
                Some(Self::inside(start, inside.trim_end()))
            }
            Separator::Block => Self::block(text, start),
            Separator::Line => {
                let (line, _) = Lines::around(text, start).rest(start, MAX_VALUE)?;
                Some(Self::inside(start, text.get(line)?.trim_end()))
            }
            _ => Self::quoted(text, start).or_else(|| Self::plain(text, start, separator, run)),
        }
    }

    /// A value that its format delimits.
    const fn inside(start: usize, value: &str) -> Self {
        let end = start + value.len();
        Self { range: start..end, end, is_quoted: true, ends_line: true, after: b'<' }
    }

    /// The first line of a block scalar is the candidate; following lines of a single word belong to it.
    fn block(text: &str, start: usize) -> Option<Self> {
        let lines = Lines::around(text, start);
        let column = lines.indentation(start)?;
        let limit = start.saturating_add(MAX_VALUE);
        let (first, mut next) = lines.rest(start, MAX_VALUE)?;
        let first = text.get(first)?.trim_end();
        let mut candidate = Self::inside(start, first);
        if first.contains(' ') {
            return Some(candidate);
        }
        while let Some(at) = next.filter(|&at| at < limit) {
            let (line, after) = lines.rest(at, MAX_VALUE)?;
            let word = text.get(line)?;
            let indent = word.len() - word.trim_start_matches(' ').len();
            let word = word.trim();
            if indent < column
                || word.is_empty()
                || word.contains([' ', ':'])
                || word.starts_with('#')
            {
                break;
            }
            candidate.end = at + indent + word.len();
            next = after;
        }
        Some(candidate)
    }

    /// A quoted value. Its quotes may be escaped or doubled, or follow a prefix letter (`b"…"`).
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
        // `'"…"'`: the inner quotes are not part of the value.
        let inner = at(inside);
        let has_inner = matches!(inner, b'"' | b'\'') && inner != quote && backslashes == 0;
        let quote = if has_inner { inner } else { quote };
        inside += usize::from(has_inner);
        let end = closing_quote(bytes, inside, quote, backslashes);
        let length = end.unwrap_or_else(|| {
            let rest = text.get(inside..).unwrap_or_default();
            let cut = rest.bytes().take(MAX_VALUE).position(|byte| byte.is_ascii_whitespace());
            inside + rest.floor_char_boundary(cut.unwrap_or(MAX_VALUE))
        });
        let after = at(length + backslashes + 1);
        let range = inside..length;
        Some(Self { range, end: length, is_quoted: true, ends_line: false, after })
    }

    /// An unquoted value.
    fn plain(text: &str, start: usize, separator: Separator, run: &mut PlainRun) -> Option<Self> {
        let end = text.floor_char_boundary(run.end(text.as_bytes(), start));
        let value = text.get(start..end)?;
        let trimmed = trim_punctuation(value, separator);
        let behind = text.get(end..text.floor_char_boundary(end + MAX_SPACE))?;
        let behind = behind.trim_start_matches([' ', '\t']);
        let ends_line = behind.is_empty()
            || behind.starts_with(['\n', '\r', '#'])
            || ["\\n", "//", "<br", "</"].iter().any(|end| behind.starts_with(end));
        let end = start + trimmed.len();
        let after = text.as_bytes().get(end).copied().unwrap_or_default();
        (!trimmed.is_empty()).then_some(Self {
            range: start..end,
            end,
            is_quoted: false,
            ends_line,
            after,
        })
    }
}

/// The ends of unquoted values. All values that begin in the same run of bytes end where the run ends, so that each run
/// is read once.
#[derive(Debug, Default)]
pub(super) struct PlainRun {
    start: usize,
    /// No value ends before this position.
    read: usize,
}

impl PlainRun {
    /// The end of the unquoted value that begins at `start`: at white space, or where the surrounding format continues.
    fn end(&mut self, bytes: &[u8], start: usize) -> usize {
        let is_known = self.start <= start && start < self.read;
        let limit = start.saturating_add(MAX_VALUE).min(bytes.len());
        let mut end = if is_known { self.read } else { start };
        let known = end;
        while end < limit && !ends_plain(bytes, end) {
            end += 1;
        }
        work::add(STEPS_OF_PLAIN * (end - known));
        if !is_known {
            self.start = start;
        }
        self.read = end;
        end.min(limit)
    }
}

/// Whether an unquoted value ends before the byte at `at`.
fn ends_plain(bytes: &[u8], at: usize) -> bool {
    let next = bytes.get(at + 1).copied().unwrap_or_default();
    match bytes.get(at) {
        Some(b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b'<') | None => true,
        Some(b'\\') => matches!(next, b'n' | b'r' | b't' | b'"' | b'\'' | b'\\'),
        Some(b'&' | b';' | b',') => goes_on(bytes, at + 1),
        Some(_) => false,
    }
}

/// Whether the next field, or nothing, follows `&`, `;` or `,`.
fn goes_on(bytes: &[u8], start: usize) -> bool {
    let rest = bytes.get(start..).unwrap_or_default();
    let space = rest.iter().take(MAX_SPACE).take_while(|&&byte| byte == b' ').count();
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

/// Removes punctuation that closes sentences, calls and lists around a value.
fn trim_punctuation(value: &str, separator: Separator) -> &str {
    let mut value = value;
    for _ in 0..MAX_CLOSING {
        work::add(2 * value.len().min(MAX_TRIMMED));
        let Some(last) = value.chars().next_back() else { return value };
        let opens = match last {
            ')' => '(',
            ']' => '[',
            '}' => '{',
            ',' | ';' => {
                value = value.get(..value.len() - 1).unwrap_or_default();
                continue;
            }
            '.' | ':' | '|' | '>' if separator == Separator::Space => {
                value = value.get(..value.len() - 1).unwrap_or_default();
                continue;
            }
            _ => return value,
        };
        if value.len() > MAX_TRIMMED || value.matches(last).count() <= value.matches(opens).count()
        {
            return value;
        }
        value = value.get(..value.len() - 1).unwrap_or_default();
    }
    value
}

/// The quote that closes a value: on the same line, with as many backslashes as the opening quote.
pub(super) fn closing_quote(
    bytes: &[u8],
    start: usize,
    quote: u8,
    backslashes: usize,
) -> Option<usize> {
    let mut at = start;
    let limit = start.saturating_add(MAX_VALUE).min(bytes.len());
    let mut closing = None;
    while at < limit {
        let byte = bytes.get(at).copied()?;
        if byte == b'\n' && quote != b'`' {
            break;
        }
        if byte == b'\\' {
            let run = bytes.get(at..)?.iter().take_while(|&&byte| byte == b'\\').count();
            let is_quote = bytes.get(at + run) == Some(&quote);
            if is_quote && backslashes > 0 && run <= backslashes {
                closing = Some(at);
                break;
            }
            // An escaped quote is part of the value.
            at += run + usize::from(is_quote && (backslashes > 0 || run % 2 == 1));
            continue;
        }
        if byte == quote {
            closing = Some(at);
            break;
        }
        at += 1;
    }
    work::add(STEPS_OF_QUOTED * (at - start));
    closing
}
