//! Finds secrets in table columns whose header is the name of a secret: CSV and similar formats, Markdown, output of
//! database clients.

use std::ops::Range;

use super::{Name, accepts, candidate::Candidate, lines::Lines, separator::Separator};
use crate::{
    names::{self, NameClass},
    work,
};

/// Maximum length of a line of a table.
const MAX_LINE: usize = 4096;
/// Maximum length of a column name.
const MAX_NAME: usize = 64;
/// Maximum number of words in a column name.
const MAX_WORDS: usize = 4;
/// Work steps per byte of a line, which is read as a header, as the line before a header and as a row.
const STEPS_OF_BYTE: usize = 4;
/// Cell separators. Those that draw a frame are longer than one byte.
const SEPARATORS: [&str; 6] = [",", "\t", ";", "|", "│", "┃"];

/// The tables of a text. Each line is checked once for being a header.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// Lines before this position were checked.
    seen: usize,
}

impl Tables {
    /// Appends the secrets of the table that has the name as a header cell, and returns whether the name is a cell of a line that was not
    /// checked before. Names are given in order.
    pub fn find(
        &mut self,
        text: &str,
        name: &Range<usize>,
        further: &[String],
        mut hit: impl FnMut(Range<usize>),
    ) -> bool {
        if name.start < self.seen {
            return false;
        }
        let Some(separator) = separator_around(text, name) else { return false };
        if let Some(end) = code_end(text.as_bytes(), name.end) {
            self.seen = end;
            return true;
        }
        let lines = Lines::around(text, name.end);
        let start = lines.start(name.start, MAX_LINE);
        let header = start.and_then(|start| lines.rest(start, MAX_LINE));
        let Some((line, Some(next))) = header else {
            self.seen = name.end + MAX_LINE;
            return true;
        };
        let start = line.start;
        self.seen = line.end;
        if let Some(table) = Table::below(text, lines, &line, next, separator) {
            let columns = secret_columns(text, cells(text, line, separator), further);
            self.seen = table.read(text, &columns, &mut hit);
        }
        work::add(STEPS_OF_BYTE * (self.seen - start));
        true
    }
}

/// The separator between a name and its neighbours in the line, if the name is a complete cell.
fn separator_around(text: &str, name: &Range<usize>) -> Option<&'static str> {
    let before =
        text.get(text.ceil_char_boundary(name.start.saturating_sub(MAX_NAME))..name.start)?;
    // A column name may have several words: `API token`.
    let ascii = before.bytes().rev().take_while(|&byte| byte.is_ascii() && is_of_cell(byte.into()));
    let ascii = before.len() - ascii.count();
    let before = before.get(..ascii)?.trim_end_matches(is_of_cell);
    let after = text.get(name.end..text.floor_char_boundary(name.end + MAX_NAME))?;
    let after = after.trim_start_matches(is_around);
    let may_separate = |byte: u8| matches!(byte, b',' | b'\t' | b';' | b'|') || !byte.is_ascii();
    let around = [before.bytes().next_back(), after.bytes().next()];
    if !around.into_iter().flatten().any(may_separate) {
        return None;
    }
    let is_separated =
        |separator: &&str| before.ends_with(*separator) || after.starts_with(*separator);
    SEPARATORS.into_iter().find(is_separated)
}

/// Maximum length of the rest of a line that is checked for code.
const MAX_CODE: usize = 256;

/// The end of the line from `start` on, if the line has signs that no column name has and if no ruler of a table is on the next line: most
/// names between commas are in code, and reading the lines around them takes longer.
fn code_end(text: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?.get(..MAX_CODE)?;
    let end = memchr::memchr(b'\n', rest)?;
    let (line, next) = rest.split_at_checked(end)?;
    // In a string of JSON or code, a line may end with an escape sequence.
    let is_code =
        line.iter().any(|byte| matches!(byte, b'(' | b')' | b'{' | b'}' | b'=' | b'<' | b'>'))
            && memchr::memchr2(b'\\', b'\r', line).is_none();
    let begins_ruler =
        |byte: &u8| matches!(byte, b'-' | b'=' | b'+' | b'|' | b':') || !byte.is_ascii();
    let first = next.iter().skip(1).find(|byte| !matches!(byte, b' ' | b'\t'))?;
    (is_code && !begins_ruler(first)).then_some(start + end)
}

/// Whether a sign may be around the name in a cell.
const fn is_around(letter: char) -> bool {
    matches!(letter, ' ' | '"' | '\'' | '`' | '*' | '\\')
}

fn is_of_cell(letter: char) -> bool {
    is_around(letter) || letter.is_alphanumeric() || letter == '_'
}

/// The cells of a line, without white space and quotes around them.
fn cells<'t>(
    text: &'t str,
    line: Range<usize>,
    separator: &'t str,
) -> impl Iterator<Item = Range<usize>> {
    let mut at = line.start;
    std::iter::from_fn(move || {
        let start = (at <= line.end).then_some(at)?;
        let end = cell_end(text, start, line.end, separator);
        at = end + separator.len();
        Some(inside(text, start..end))
    })
}

/// The end of the cell that begins at `start`. A separator within quotes does not end it.
fn cell_end(text: &str, start: usize, limit: usize, separator: &str) -> usize {
    let rest = text.get(start..limit).unwrap_or_default();
    let escapes = rest.len() - rest.trim_start_matches('\\').len();
    let is_quoted =
        separator != "|" && rest.get(escapes..).is_some_and(|rest| rest.starts_with('"'));
    let mut from = 0;
    if is_quoted {
        let mut quotes = rest.match_indices('"').map(|(at, _)| at).skip(1).peekable();
        while let Some(quote) = quotes.next() {
            // A doubled quote is one escaped quote.
            if quotes.next_if_eq(&(quote + 1 + escapes)).is_none() {
                from = quote;
                break;
            }
        }
    }
    let behind = rest.get(from..).unwrap_or_default();
    let end = match separator.as_bytes() {
        [sign] => memchr::memchr(*sign, behind.as_bytes()),
        _ => behind.find(separator),
    };
    end.map_or(limit, |end| start + from + end)
}

fn inside(text: &str, cell: Range<usize>) -> Range<usize> {
    let content = text.as_bytes().get(cell.clone()).unwrap_or_default();
    let is_inside = |byte: &u8| *byte != b'\t' && !is_around(char::from(*byte));
    let Some(start) = content.iter().position(is_inside) else { return cell.end..cell.end };
    let length = content.iter().rposition(is_inside).map_or(0, |last| last + 1 - start);
    cell.start + start..cell.start + start + length
}

/// The indices and names of the columns whose name denotes a secret.
fn secret_columns<'a>(
    text: &'a str,
    cells: impl Iterator<Item = Range<usize>>,
    further: &[String],
) -> Vec<(usize, Name<'a>)> {
    let column = |(number, range): (usize, Range<usize>)| {
        let whole = text.get(range.clone())?;
        let class = names::classify(whole, further);
        let name = Name { text: whole, range, class, quote: "" };
        (class >= NameClass::Machine).then_some((number, name))
    };
    cells.enumerate().filter_map(column).collect()
}

/// The rows below a header.
struct Table<'t> {
    lines: Lines<'t>,
    separator: &'static str,
    /// Number of cells in the header.
    width: usize,
    rows: usize,
}

impl<'t> Table<'t> {
    /// The table whose header is this line and whose rows begin at `next`, if there is one.
    fn below(
        text: &str,
        lines: Lines<'t>,
        line: &Range<usize>,
        next: usize,
        separator: &'static str,
    ) -> Option<Self> {
        let (ruler, below) = lines.rest(next, MAX_LINE)?;
        let width_of = |line: Range<usize>| cells(text, line, separator).count();
        if is_ruler(text.get(ruler.clone())?) {
            let width = width_of(line.clone());
            return Some(Self { lines, separator, width, rows: below? });
        }
        let is_name = |cell: Range<usize>| text.get(cell).is_some_and(is_column_name);
        if separator.len() > 1 || !cells(text, line.clone(), separator).all(is_name) {
            return None;
        }
        let width = width_of(line.clone());
        let is_header = width_of(ruler) == width;
        // A header does not follow a line that looks like a row.
        let is_first = || {
            let start = lines.start(line.start.checked_sub(1)?, MAX_LINE)?;
            let (before, _) = lines.rest(start, MAX_LINE)?;
            (width_of(before) == width).then_some(())
        };
        (is_header && is_first().is_none()).then_some(Self { lines, separator, width, rows: next })
    }

    /// Appends the secrets in these columns. Returns the end of the table.
    fn read(
        &self,
        text: &str,
        columns: &[(usize, Name<'_>)],
        hit: &mut impl FnMut(Range<usize>),
    ) -> usize {
        let mut at = self.rows;
        loop {
            let Some((line, next)) = self.lines.rest(at, MAX_LINE) else { return at };
            let content = text.get(line.clone()).unwrap_or_default();
            if !content.contains(self.separator) && !is_ruler(content) {
                return line.end;
            }
            let cells: Vec<_> = cells(text, line.clone(), self.separator).collect();
            for (number, name) in columns.iter().filter(|_| cells.len() == self.width) {
                let Some(range) = cells.get(*number).cloned() else { continue };
                let end = range.end;
                let candidate =
                    Candidate { range, end, is_quoted: false, ends_line: true, after: 0 };
                if accepts(text, name, Separator::Cell, &candidate) {
                    hit(candidate.range);
                }
            }
            let Some(next) = next else { return line.end };
            at = next;
        }
    }
}

/// Whether the line is the ruler drawn between a header and its rows.
fn is_ruler(line: &str) -> bool {
    let is_drawn = |letter: char| {
        matches!(letter, '-' | '=' | '+' | '|' | ':' | ' ' | '\t' | '\u{2500}'..='\u{257F}')
    };
    line.chars().all(is_drawn) && line.matches(['-', '=', '─', '━', '═']).nth(2).is_some()
}

/// Whether a cell is a column name rather than a value: `user_name`, `API key`.
fn is_column_name(cell: &str) -> bool {
    let is_of_name = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '_' | '-' | ' ' | '.' | '/' | '#')
    };
    cell.len() <= MAX_NAME
        && cell.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && cell.chars().all(is_of_name)
        && cell.split(' ').count() <= MAX_WORDS
}
