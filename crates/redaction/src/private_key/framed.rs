//! Finds the end of a key after its header, with or without a footer, where a tool wrote a prefix before each line: a
//! line number, a time, a diff marker.

use std::ops::Range;

use memchr::{memmem, memrchr};

use super::{
    LINE,
    base64_runs::{Runs, is_base64, is_mixed, without_escape},
    body::SHORTEST_LINE,
    gap::{self, Gaps, MAX_GAP},
};

/// Header fields within armour (RFC 1421, RFC 9580). Their values are not lines of a key.
const HEADERS: [&str; 7] =
    ["Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: ", "Hash: ", "Charset: ", "MessageID: "];

/// Signs that tools write where they cut a text.
const CUTS: [&str; 2] = ["…", "..."];

/// The end of the last line of the key with this header. `None` when the following text has neither the prefix of the
/// header's line nor the prefix of the line after it.
pub(super) fn end(
    bytes: &[u8],
    header: &Range<usize>,
    limit: usize,
    is_closed: bool,
) -> Option<usize> {
    let near = header.end..limit.min(header.end + 2 * MAX_GAP);
    let mut lines = Runs::new(bytes, near, LINE).map(|run| without_escape(bytes, run));
    let first = lines.next().filter(|first| first.start - header.end <= MAX_GAP)?;
    if !is_mixed(bytes.get(first.clone())?) {
        return None;
    }
    let gap = header.end..first.start;
    let second = lines.next().map(|second| first.end..second.start);
    // Header fields within the armour are on lines of their own.
    let last_break = last_break(bytes, &gap).unwrap_or(gap.start);
    let between = bytes.get(gap.start..last_break)?;
    let has_headers = HEADERS.iter().any(|name| memmem::find(between, name.as_bytes()).is_some());
    if between.contains(&b'\n') && !has_headers {
        return None;
    }
    let is_like_header = || {
        let start = header.start.saturating_sub(MAX_GAP);
        let start = last_break_or_start(bytes, start..header.start)?;
        let prefix = bytes.get(start..header.start)?;
        let line = gap::matched(prefix, bytes, last_break + 1)?;
        // The marker of an added line is also a character of base64.
        (first.start..=first.start + 1).contains(&line).then_some(())
    };
    let is_like_second = || {
        let second = second.clone()?;
        let start = self::last_break(bytes, &second).unwrap_or(second.start);
        let line = gap::matched(bytes.get(start..second.end)?, bytes, last_break)?;
        (line == first.start).then_some(())
    };
    is_like_header().or_else(is_like_second)?;
    let mut gaps = Gaps::default();
    gaps.push(if has_headers { last_break..gap.end } else { gap });
    second.into_iter().for_each(|gap| gaps.push(gap));
    Some(follow(bytes, first.end, limit, is_closed, &mut gaps))
}

fn last_break(bytes: &[u8], part: &Range<usize>) -> Option<usize> {
    memrchr(b'\n', bytes.get(part.clone())?).map(|offset| part.start + offset)
}

/// The start of the last line in a part of a text; `None` when it is not in the part.
fn last_break_or_start(bytes: &[u8], part: Range<usize>) -> Option<usize> {
    last_break(bytes, &part).map(|at| at + 1).or((part.start == 0).then_some(0))
}

/// Follows the lines of a key after one that ends at `end`, while the gaps between lines are similar to the previous
/// ones. Returns the end of the last line. `limit` is the end of the text, or the start of the footer if `is_closed`.
pub(super) fn follow(
    bytes: &[u8],
    end: usize,
    limit: usize,
    is_closed: bool,
    gaps: &mut Gaps,
) -> usize {
    let mut end = end;
    loop {
        let mut starts = gaps.ends(bytes, end);
        let line = starts.find_map(|start| line_at(bytes, start, limit, is_closed, gaps));
        let Some(line) = line else { return end };
        drop(starts);
        if line.len() >= SHORTEST_LINE {
            gaps.push(end..line.start);
        }
        end = line.end;
    }
}

/// The line of a key that begins at this offset. Words in other lines do not end at a line end, or are too short.
fn line_at(
    bytes: &[u8],
    start: usize,
    limit: usize,
    is_closed: bool,
    gaps: &Gaps,
) -> Option<Range<usize>> {
    let rest = bytes.get(start..limit)?;
    let length = rest.iter().take_while(|&&byte| is_base64(byte)).count();
    let padding = rest.get(length..)?.iter().take_while(|&&byte| byte == b'=').count();
    let end = start + length + padding;
    let is_random = length >= LINE && is_mixed(rest.get(..length)?);
    let rest = bytes.get(end..limit)?;
    let is_cut = CUTS.iter().any(|cut| rest.starts_with(cut.as_bytes()));
    let is_last = padding > 0
        || end == limit
        || is_cut
        || is_closed && gaps.ends(bytes, end).any(|footer| footer == limit);
    let is_line =
        is_random || length >= SHORTEST_LINE && gaps.begin_with(bytes, bytes.get(end).copied());
    (length > 0 && (is_line || is_last)).then_some(start..end)
}
