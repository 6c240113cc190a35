//! The preview of tables with a header, separated by commas, tabs, semicolons or bars: the columns, the number of rows,
//! and samples.

use std::ops::Range;

use super::{
    OutlineWriter, Preview, excerpt, failures,
    lines::{self, content},
    pieces::Pieces,
};

const LEAST_ROWS: usize = 5;
const MAX_COLUMNS: usize = 2000;
/// The longest column name, in characters.
const MAX_NAME: usize = 80;
/// The rows that are shown from the middle of the table.
const SAMPLES: usize = 3;

/// A parsed table.
struct Table<'t> {
    columns: Vec<&'t str>,
    /// The rows without the header and the separator line below it.
    rows: Vec<Range<usize>>,
    header: Range<usize>,
}

/// The preview of a table; `None` for other texts.
pub(super) fn preview(text: &str, max_bytes: usize) -> Option<Preview> {
    let table =
        [',', '\t', ';', '|'].into_iter().find_map(|separator| table_of(text, separator))?;
    let mut writer = OutlineWriter::new(max_bytes / 2);
    let names = table.columns.join(", ");
    writer.push(&format!(
        "table of {} columns and {} rows: {names}",
        table.columns.len(),
        table.rows.len()
    ));
    let outline = writer.text;
    let mut pieces = Pieces::new(text, max_bytes.saturating_sub(outline.len() + 1));
    let [first, .., last] = table.rows.as_slice() else { return None };
    if !pieces.add(table.header.start..first.end) || !pieces.add(last.clone()) {
        return None;
    }
    // Rows from the whole table, if there is space beside the first rows.
    let room = pieces.room();
    for number in 1..=SAMPLES {
        let row = table.rows.get(table.rows.len() * number / (SAMPLES + 1));
        if let Some(row) = row.filter(|_| pieces.room() > room / 3) {
            pieces.add(row.clone());
        }
    }
    let shown = pieces.shown_at_beginning();
    let head = excerpt::head(text, shown + pieces.room());
    if text.get(..head).is_some_and(|head| head.ends_with('\n')) {
        pieces.add(0..head);
    }
    Some(Preview { outline, pieces: pieces.into_ranges() })
}

fn table_of(text: &str, separator: char) -> Option<Table<'_>> {
    let mut lines = lines::ranges(text).filter(|line| !content(text, line).trim().is_empty());
    let header = lines.next()?;
    let columns: Vec<&str> = cells(content(text, &header), separator);
    let is_bars = separator == '|';
    if columns.len() < 2 || columns.len() > MAX_COLUMNS || !columns.iter().all(|name| is_name(name))
    {
        return None;
    }
    let separators = count(content(text, &header), separator);
    let mut rows: Vec<Range<usize>> = Vec::new();
    // A quoted cell may continue in the next line.
    let mut open: Option<Range<usize>> = None;
    for line in lines {
        let said = content(text, &line);
        if is_bars && said.chars().all(|one| "|-+: =".contains(one)) {
            continue;
        }
        let row = open.take().map_or(line.clone(), |open: Range<usize>| open.start..line.end);
        let whole = content(text, &row);
        if !is_bars && whole.matches('"').count() % 2 == 1 {
            // A quote that is never closed does not begin a cell.
            if row.len() > 64 * 1024 {
                return None;
            }
            open = Some(row);
            continue;
        }
        if count(whole, separator) != separators || failures::weight(said) > failures::NAMING {
            return None;
        }
        rows.push(row);
    }
    (open.is_none() && rows.len() >= LEAST_ROWS).then_some(Table { columns, rows, header })
}

/// Counts the separators outside quotes.
fn count(line: &str, separator: char) -> usize {
    let mut is_quoted = false;
    let mut count = 0;
    for one in line.chars() {
        if one == '"' && separator != '|' {
            is_quoted = !is_quoted;
        } else if one == separator && !is_quoted {
            count += 1;
        }
    }
    count
}

fn cells(line: &str, separator: char) -> Vec<&str> {
    let line = match separator {
        '|' => line.trim().trim_matches('|'),
        _ => line,
    };
    line.split(separator).map(|cell| cell.trim().trim_matches('"')).collect()
}

/// Whether a cell can be the name of a column: short, and not a value.
fn is_name(cell: &str) -> bool {
    !cell.is_empty()
        && cell.chars().count() <= MAX_NAME
        && cell.starts_with(|first: char| first.is_alphabetic() || "_#%$@(".contains(first))
        && !cell.ends_with(['.', ':', '{'])
        && !cell.contains(['{', '}', '[', '='])
}
