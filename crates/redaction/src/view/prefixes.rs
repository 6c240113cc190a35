//! What tools write before the lines of a text that they show: numbers, file names, times, signs of
//! differences. It hides secrets that are found by how a line begins, or by the line above.

use std::ops::Range;

use super::View;
use crate::{assignment::lines::Lines, work};

/// Lines before and behind that of a name that may say something about its value.
const LINES_BEFORE: usize = 2;
const LINES_BEHIND: usize = 6;
/// A line's prefix and the rest of it, up to its end or a name, are at most so long.
const MAX_LINE: usize = 1024;
/// Prefixes are at most so long.
const MAX_PREFIX: usize = 160;
/// Behind a name without a line so many bytes are passed over.
const SKIPPED: usize = 512;

/// Steps of comparing a byte of the beginnings of two lines.
const STEPS_OF_BYTE: usize = 3;
/// Steps of comparing two lines, at least.
const COMPARE_STEPS: usize = 40;

/// The text without the prefixes of the lines around these names, given by ascending positions, and
/// the parts of the text in which prefixes were left out.
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

/// Lines in a row that begin alike. What is known of them serves all names in them, so that each line
/// is compared once.
struct Group<'t> {
    prefix: &'t str,
    lines: Lines<'t>,
    /// Where the lines begin, in order, and the lengths of their prefixes.
    starts: Vec<(usize, usize)>,
    /// Where the line behind the last one begins, if it may belong to the group.
    next: Option<usize>,
    /// So many of the lines have been returned.
    taken: usize,
}

impl<'t> Group<'t> {
    /// The line and those right before it that begin alike.
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

    /// The number of the line that begins at `start`.
    fn number_of(&self, start: usize) -> Option<usize> {
        self.starts.binary_search_by_key(&start, |&(at, _)| at).ok()
    }

    /// Adds the lines behind the one that begins at `start`.
    fn extend_behind(&mut self, text: &str, start: usize) {
        let line = self.number_of(start).unwrap_or_default();
        while self.starts.len() <= line + LINES_BEHIND {
            let Some(next) = self.next.take() else { return };
            let Some(length) = length_like(self.prefix, text, self.lines, next) else { return };
            self.starts.push((next, length));
            self.next = self.lines.rest(next, MAX_LINE).and_then(|(_, behind)| behind);
        }
    }

    /// Where the lines begin that were not returned before, with the lengths of their prefixes.
    fn take_new(&mut self) -> &[(usize, usize)] {
        let first = std::mem::replace(&mut self.taken, self.starts.len());
        self.starts.get(first..).unwrap_or_default()
    }
}

/// What a tool wrote before a line, judged by the line behind it or, of the last one, before it.
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

/// The length of the prefix of a line that begins like another one.
fn length_like(prefix: &str, text: &str, lines: Lines<'_>, at: usize) -> Option<usize> {
    let (length, of_line) = common(prefix.as_bytes(), head(text, lines, at));
    work::add(COMPARE_STEPS + STEPS_OF_BYTE * prefix.len());
    (length == prefix.len()).then_some(of_line)
}

/// The beginning of the line that begins at `at`.
fn head<'t>(text: &'t str, lines: Lines<'_>, at: usize) -> &'t [u8] {
    let whole = lines.rest(at, MAX_PREFIX).map(|(line, _)| line);
    let line = whole.unwrap_or(at..text.len().min(at + MAX_PREFIX));
    text.as_bytes().get(line).unwrap_or_default()
}

/// How far two lines begin alike, apart from digits and the width of numbers, up to the last sign that
/// ends a prefix: the lengths in both.
fn common(one: &[u8], other: &[u8]) -> (usize, usize) {
    let is_blank: fn(&u8) -> bool = |byte| matches!(byte, b' ' | b'\t');
    let run = |bytes: &[u8], at: usize, is_of_run: fn(&u8) -> bool| {
        bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is_of_run(byte)).count()
    };
    let is_number = |bytes: &[u8], at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut at, mut of_other, mut ends) = (0, 0, (0, 0));
    loop {
        // What is the same in both, but for the numbers and the spaces at its end, which may be longer in one of them.
        let pairs = one.iter().skip(at).zip(other.iter().skip(of_other));
        let same = pairs.take_while(|(one, other)| one == other).count();
        let mut length = same;
        let last = |length: usize| (at + length).checked_sub(1).and_then(|last| one.get(last));
        while length > 0 && last(length).is_some_and(|byte| byte.is_ascii_digit() || is_blank(byte))
        {
            length -= 1;
        }
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
