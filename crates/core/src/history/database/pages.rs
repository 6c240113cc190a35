//! Reading lines in pages, which are bounded in lines and bytes.

use database::{Database, Failure, Intent, Parameters, Row};
use storage::Line;

use super::super::{
    entry::{Entry, trim},
    filter::Filter,
};
use super::rows::tool_column;

/// The most lines and bytes of a page. A page has one line at least, whatever its length.
pub(super) const MAX_PAGE_LINES: usize = 4096;
pub(super) const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// The lines of the first page in which the last entry is looked for.
const LAST_LINES: usize = 4;

/// In which order lines are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forwards,
    Backwards,
}

/// Which lines are read.
pub(super) struct Range<'a> {
    pub direction: Direction,
    /// The position after which reading goes on.
    pub after: i64,
    pub filter: Option<&'a Filter>,
    pub max_lines: usize,
    pub max_bytes: usize,
    /// Longer lines are returned without their bytes.
    pub max_line: usize,
}

/// Some lines of a log.
pub(super) struct Page {
    pub lines: Vec<Line>,
    /// The sum of the lengths of the lines that were read.
    pub bytes: usize,
    /// Whether there are no lines beyond.
    pub is_last: bool,
}

impl Page {
    /// The position of the last line.
    pub fn end(&self) -> Option<i64> {
        self.lines.last().map(position)
    }
}

/// The position of a line, which is its offset.
pub(super) fn position(line: &Line) -> i64 {
    i64::try_from(line.offset).unwrap_or(i64::MAX)
}

/// A line of a row with the columns `at`, `length` and `line`.
pub(super) fn line_of(row: &Row) -> Line {
    let (at, length): (i64, i32) = (row.get("at"), row.get("length"));
    Line {
        offset: u64::try_from(at).unwrap_or_default(),
        length: u64::try_from(length).unwrap_or_default(),
        bytes: row.get("line"),
        is_terminated: true,
    }
}

fn number(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Reads a page.
pub(super) async fn read_page(
    database: &Database,
    namespace: &str,
    range: &Range<'_>,
) -> Result<Page, Failure> {
    let (order, beyond) = match range.direction {
        Direction::Forwards => ("ASC", ">"),
        Direction::Backwards => ("DESC", "<"),
    };
    let parameters = Parameters::new()
        .text(namespace)
        .number(range.after)
        .number(number(range.max_lines))
        .number(number(range.max_line))
        .number(number(range.max_bytes));
    let (conditions, parameters) = conditions(range.filter, parameters);
    let sql = format!(
        "SELECT at, length, CASE WHEN length <= $4 THEN line END AS line
FROM (
  SELECT at, line, octet_length(line) AS length,
    sum(octet_length(line)) OVER (ORDER BY at {order}) AS total
  FROM (
    SELECT at, line FROM {{schema}}.entry
    WHERE namespace = $1 AND NOT is_record AND at {beyond} $2{conditions}
    ORDER BY at {order} LIMIT $3
  ) AS page
) AS sized
WHERE total - length < $5 ORDER BY at {order}"
    );
    let rows = database.statement(Intent::Read, &sql, &parameters).await?;
    let lines: Vec<Line> = rows.iter().map(line_of).collect();
    let bytes = lines
        .iter()
        .map(|line| usize::try_from(line.length).unwrap_or(usize::MAX))
        .fold(0, usize::saturating_add);
    let is_last = lines.len() < range.max_lines && bytes < range.max_bytes;
    Ok(Page { lines, bytes, is_last })
}

/// The conditions of a filter for which there are columns. The filter examines the lines as well.
fn conditions(filter: Option<&Filter>, mut parameters: Parameters) -> (String, Parameters) {
    let mut text = String::new();
    let Some(filter) = filter else { return (text, parameters) };
    let mut next = 6;
    let mut add = |condition: &str| {
        text += &format!(" AND {}", condition.replace('?', &format!("${next}")));
        next += 1;
    };
    if let Some(success) = filter.success {
        add("success = (? = 1)");
        parameters = parameters.number(i64::from(success));
    }
    if let Some(since) = filter.since {
        add("time >= ?");
        parameters = parameters.number(since);
    }
    if let Some(until) = filter.until {
        add("time <= ?");
        parameters = parameters.number(until);
    }
    if let Some(names) = &filter.tool_names {
        add("tool = ANY(?)");
        parameters = parameters.texts(names.iter().map(|name| Some(tool_column(name))).collect());
    }
    (text, parameters)
}

/// The end of a log.
pub(super) struct Last {
    /// The last position.
    pub position: Option<i64>,
    /// The id of the last entry.
    pub id: Option<String>,
}

/// The end of the log.
pub(super) async fn last_entry(
    database: &Database,
    namespace: &str,
    max_line: usize,
) -> Result<Last, Failure> {
    let mut range = Range {
        direction: Direction::Backwards,
        after: i64::MAX,
        filter: None,
        max_lines: LAST_LINES,
        max_bytes: 1,
        max_line,
    };
    let mut last = Last { position: None, id: None };
    loop {
        let page = read_page(database, namespace, &range).await?;
        last.position = last.position.or_else(|| page.lines.first().map(position));
        last.id = page.lines.iter().find_map(|line| {
            Entry::parse(trim(line.bytes.as_deref()?)).ok().map(|entry| entry.id())
        });
        match page.end() {
            Some(end) if last.id.is_none() && !page.is_last => range.after = end,
            _ => return Ok(last),
        }
        range.max_bytes = MAX_PAGE_BYTES;
        range.max_lines = MAX_PAGE_LINES;
    }
}
