//! Removes prefixes that tools write before each line of a text: line numbers, file names, times, diff markers. Such
//! prefixes hide secrets that are recognised by the start of a line or by the line above.

use std::ops::Range;

use super::View;
use crate::{assignment::lines::Lines, work};

/// Number of lines before and after the line of a name that may affect its value.
const LINES_BEFORE: usize = 2;
const LINES_BEHIND: usize = 6;
/// Maximum length of a line's prefix with the rest of the line, up to its end or a name.
const MAX_LINE: usize = 1024;
/// Maximum length of a prefix.
const MAX_PREFIX: usize = 160;
/// Bytes that are skipped after a name without a line.
const SKIPPED: usize = 512;

/// Work steps for comparing one byte of two lines.
const STEPS_OF_BYTE: usize = 3;
/// Minimum work steps for comparing two lines.
const COMPARE_STEPS: usize = 40;

/// The text without the prefixes of the lines around these names, whose positions ascend, and the parts of the view in
/// which prefixes were left out.
pub(crate) fn view(text: &str, names: &[usize]) -> Option<(View, Vec<Range<usize>>)> {
    let mut hidden: Vec<Range<usize>> = Vec::new();
    let mut windows: Vec<Range<usize>> = Vec::new();
    let mut group: Option<Group<'_>> = None;
    let mut from = 0;
    for &name in names {
        if name < from {
            continue;
        }
        let lines = Lines::around(text, name);
        let line = lines.start(name, MAX_LINE).filter(|_| text.is_char_boundary(name));
        let Some((start, (_, next))) = line.and_then(|at| Some((at, lines.rest(at, MAX_LINE)?)))
        else {
            from = name + SKIPPED;
            continue;
        };
        from = next.unwrap_or(text.len());
        if group.as_ref().is_none_or(|group| group.number_of(start).is_none()) {
            group = Group::around(text, lines, start, next);
        }
        let Some(group) = &mut group else { continue };
        group.extend_behind(text, start);
        let first = hidden.len();
        for &(at, length) in group.take_new() {
            if hidden.last().is_none_or(|last| last.end <= at) {
                hidden.push(at..at + length);
            }
        }
        let added = hidden.get(first..).unwrap_or_default();
        if let (Some(one), Some(last)) = (added.first(), added.last()) {
            let end = lines.rest(last.end, MAX_LINE).map_or(last.end, |(rest, _)| rest.end);
            match windows.last_mut() {
                Some(window) if window.end >= one.start => window.end = end.max(window.end),
                _ => windows.push(one.start..end),
            }
        }
    }
    Some((View::without(text, hidden.into_iter())?, windows))
}

/// Consecutive lines with the same prefix. A group serves all names in its lines, so that each line is compared once.
struct Group<'t> {
    prefix: &'t str,
    lines: Lines<'t>,
    /// The starts of the lines, in order, with the lengths of their prefixes.
    starts: Vec<(usize, usize)>,
    /// The start of the line after the last one, if it may belong to the group.
    next: Option<usize>,
    /// Number of lines that were returned.
    taken: usize,
}

impl<'t> Group<'t> {
    /// The group of a line and the lines directly before it with the same prefix.
    fn around(text: &'t str, lines: Lines<'t>, start: usize, next: Option<usize>) -> Option<Self> {
        let prefix = prefix(text, lines, start, next)?;
        let before = std::iter::successors(Some((start, prefix.len())), |&(at, _)| {
            let previous = lines.previous(at)?;
            Some((previous, length_like(prefix, text, lines, previous)?))
        });
        let mut starts: Vec<(usize, usize)> = before.take(LINES_BEFORE + 1).collect();
        starts.reverse();
        Some(Self { prefix, lines, starts, next, taken: 0 })
    }

    /// The index of the line that begins at `start`.
    fn number_of(&self, start: usize) -> Option<usize> {
        self.starts.binary_search_by_key(&start, |&(at, _)| at).ok()
    }

    /// Adds the lines after the one that begins at `start`.
    fn extend_behind(&mut self, text: &str, start: usize) {
        let line = self.number_of(start).unwrap_or_default();
        while self.starts.len() <= line + LINES_BEHIND {
            let Some(next) = self.next.take() else { return };
            let Some(length) = length_like(self.prefix, text, self.lines, next) else { return };
            self.starts.push((next, length));
            self.next = self.lines.rest(next, MAX_LINE).and_then(|(_, behind)| behind);
        }
    }

    /// The starts of the lines that were not returned before, with the lengths of their prefixes.
    fn take_new(&mut self) -> &[(usize, usize)] {
        let first = std::mem::replace(&mut self.taken, self.starts.len());
        self.starts.get(first..).unwrap_or_default()
    }
}

/// The prefix of a line, compared with the line after it, or with the line before it for the last line.
fn prefix<'t>(
    text: &'t str,
    lines: Lines<'_>,
    start: usize,
    next: Option<usize>,
) -> Option<&'t str> {
    let other = next.filter(|&next| next < text.len()).or_else(|| lines.previous(start))?;
    let (length, _) = common(head(text, lines, start), head(text, lines, other));
    work::add(COMPARE_STEPS + STEPS_OF_BYTE * length);
    let prefix = text.get(start..start + length)?;
    let says_something = |byte: u8| byte.is_ascii_digit() || b"+>|:-".contains(&byte) || byte > 127;
    prefix.bytes().any(says_something).then_some(prefix)
}

/// The length of a line's prefix if it is similar to the given one.
fn length_like(prefix: &str, text: &str, lines: Lines<'_>, at: usize) -> Option<usize> {
    let (length, of_line) = common(prefix.as_bytes(), head(text, lines, at));
    work::add(COMPARE_STEPS + STEPS_OF_BYTE * prefix.len());
    (length == prefix.len()).then_some(of_line)
}

/// The start of the line at `at`, up to the maximum length.
fn head<'t>(text: &'t str, lines: Lines<'_>, at: usize) -> &'t [u8] {
    let whole = lines.rest(at, MAX_PREFIX).map(|(line, _)| line);
    let line = whole.unwrap_or(at..text.len().min(at + MAX_PREFIX));
    text.as_bytes().get(line).unwrap_or_default()
}

/// The lengths in both lines of their common prefix, apart from digits and the width of numbers, up to the last sign
/// that can end a prefix.
fn common(one: &[u8], other: &[u8]) -> (usize, usize) {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let is_number = |bytes: &[u8], at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut at, mut of_other, mut ends) = (0, 0, (0, 0));
    loop {
        // Compares both lines, except for numbers and for spaces at the end, which may be longer in one of them.
        let (rest, rest_of_other) = (rest(one, at), rest(other, of_other));
        let pairs = rest.iter().zip(rest_of_other);
        let same = pairs.take_while(|(one, other)| one == other).count();
        let is_kept = |byte: &u8| !byte.is_ascii_digit() && !is_blank(byte);
        let kept = rest.get(..same).and_then(|same| same.iter().rposition(is_kept));
        let length = kept.map_or(0, |last| last + 1);
        let end = (at..=at + same).rev().find(|&end| one.get(..end).is_some_and(ends_prefix));
        if let Some(end) = end.filter(|&end| end > at) {
            ends = (end, of_other + end - at);
        }
        at += length;
        of_other += length;
        let digits = (run(one, at, u8::is_ascii_digit), run(other, of_other, u8::is_ascii_digit));
        let blanks = (run(one, at, is_blank), run(other, of_other, is_blank));
        let (step, of_other_step) = match (one.get(at), other.get(of_other)) {
            _ if digits.0 > 0 && digits.1 > 0 => digits,
            _ if is_number(one, at + blanks.0) && is_number(other, of_other + blanks.1) => blanks,
            (Some(b':'), Some(b'-')) | (Some(b'-'), Some(b':')) => (1, 1),
            _ if length < same => (same - length, same - length),
            _ => return ends,
        };
        if step + of_other_step == 0 {
            return ends;
        }
        at += step;
        of_other += of_other_step;
        if one.get(..at).is_some_and(ends_prefix) {
            ends = (at, of_other);
        }
    }
}

fn rest(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

/// The number of bytes of a kind from `at` on.
#[inline]
fn run(bytes: &[u8], at: usize, is_of_run: impl Fn(&u8) -> bool) -> usize {
    rest(bytes, at).iter().take_while(|byte| is_of_run(byte)).count()
}

/// Whether a prefix may end here.
fn ends_prefix(prefix: &[u8]) -> bool {
    match prefix.last() {
        Some(b' ' | b'\t' | b':' | b'-' | b'|' | b'+' | b'>' | b']') => true,
        Some(b't') => prefix.ends_with(b"\\t"),
        Some(128..) => prefix.ends_with("→".as_bytes()) || prefix.ends_with("│".as_bytes()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_prefixes(text: &str) -> Option<String> {
        let name = text.find("token")?;
        let (view, windows) = view(text, &[name])?;
        windows
            .iter()
            .map(|window| view.text().get(view.visible(window)).map(str::to_owned))
            .collect()
    }

    #[test]
    fn what_tools_write_before_lines_is_left_out() {
        let content = ["- name: token", "  value: x", "", "end: 1"];
        let numbered = |before: &str, behind: &str| {
            let line =
                |(number, line): (usize, &&str)| format!("{before}{}{behind}{line}", number + 8);
            content.iter().enumerate().map(line).collect::<Vec<_>>()
        };
        let constant = |prefix: &str| content.map(|line| format!("{prefix}{line}")).to_vec();
        let framings = [
            numbered("     ", "\t"),
            numbered("   ", "→"),
            numbered("", " | "),
            numbered("", ": "),
            numbered("", ":"),
            numbered("a/b.yml:", ":"),
            numbered("2025-11-22T09:15:0", ".481Z "),
            numbered("", " web-1 app[1234]: "),
            constant("src/a.yml:"),
            constant("+"),
            constant("> "),
            constant("app_1      | "),
        ];
        for lines in framings {
            let text = lines.join("\n");
            assert_eq!(without_prefixes(&text), Some(content.join("\n")), "{text}");
            let escaped = lines.join("\\n").replace('\t', "\\t");
            assert_eq!(without_prefixes(&escaped), Some(content.join("\\n")), "{escaped}");
        }
    }

    #[test]
    fn lines_of_widening_numbers_belong_together() {
        let text = " 9: a: token\n10:   b\n11: c";
        assert_eq!(without_prefixes(text).as_deref(), Some("a: token\n  b\nc"));
    }

    #[test]
    fn lines_without_prefixes_stay() {
        for text in ["token", "  token: a\n  other: b", "import token\nimport other", ""] {
            assert_eq!(without_prefixes(text), None, "{text:?}");
        }
    }
}
