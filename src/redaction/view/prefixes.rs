//! What tools write before the lines of a text that they show: numbers, file names, times, signs of
//! differences. It hides secrets that are found by how a line begins, or by the line above.

use std::ops::Range;

use super::View;
use crate::redaction::assignment::lines::Lines;

/// Lines before and behind that of a name that may say something about its value.
const LINES_BEFORE: usize = 2;
const LINES_BEHIND: usize = 6;
/// A line's prefix and the rest of it, up to its end or a name, are at most so long.
const MAX_LINE: usize = 1024;
/// Prefixes are at most so long.
const MAX_PREFIX: usize = 160;
/// Behind a name without a line so many bytes are passed over.
const SKIPPED: usize = 512;

/// The text without the prefixes of the lines around these names, given by ascending positions, and
/// the parts of the text in which prefixes were left out.
pub(in crate::redaction) fn view(text: &str, names: &[usize]) -> Option<(View, Vec<Range<usize>>)> {
    let mut hidden: Vec<Range<usize>> = Vec::new();
    let mut windows: Vec<Range<usize>> = Vec::new();
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
        let Some(prefix) = prefix(text, lines, start, next) else { continue };
        let first = hidden.len();
        for at in around(text, lines, start, prefix) {
            let is_new = hidden.last().is_none_or(|last| last.end <= at);
            if let Some(length) = length_like(prefix, text, at).filter(|_| is_new) {
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

/// What a tool wrote before a line, judged by the line behind it or, of the last one, before it.
fn prefix<'t>(
    text: &'t str,
    lines: Lines<'_>,
    start: usize,
    next: Option<usize>,
) -> Option<&'t str> {
    let other = next.filter(|&next| next < text.len()).or_else(|| lines.previous(start))?;
    let (line, other) = (text.get(start..)?, text.get(other..)?);
    let (length, _) = common(head(line), head(other));
    let prefix = line.get(..length)?;
    let says_something = |byte: u8| byte.is_ascii_digit() || b"+>|:-".contains(&byte) || byte > 127;
    prefix.bytes().any(says_something).then_some(prefix)
}

/// The starts of the line and of those around it that begin alike, in order.
fn around(text: &str, lines: Lines<'_>, start: usize, prefix: &str) -> Vec<usize> {
    let is_alike = |&at: &usize| length_like(prefix, text, at).is_some();
    let before = std::iter::successors(Some(start), |&at| lines.previous(at).filter(is_alike));
    let mut starts: Vec<usize> = before.take(LINES_BEFORE + 1).collect();
    starts.reverse();
    let next = |&at: &usize| lines.rest(at, MAX_LINE).and_then(|(_, next)| next).filter(is_alike);
    starts.extend(std::iter::successors(next(&start), next).take(LINES_BEHIND));
    starts
}

/// The length of the prefix of a line that begins like another one.
fn length_like(prefix: &str, text: &str, at: usize) -> Option<usize> {
    let (length, of_line) = common(prefix.as_bytes(), head(text.get(at..)?));
    (length == prefix.len()).then_some(of_line)
}

fn head(line: &str) -> &[u8] {
    line.as_bytes().get(..MAX_PREFIX).unwrap_or(line.as_bytes())
}

/// How far two lines begin alike, apart from digits and the width of numbers, up to the last sign that
/// ends a prefix: the lengths in both.
fn common(one: &[u8], other: &[u8]) -> (usize, usize) {
    let run = |bytes: &[u8], at: usize, is_of_run: fn(&u8) -> bool| {
        bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is_of_run(byte)).count()
    };
    let is_blank: fn(&u8) -> bool = |byte| matches!(byte, b' ' | b'\t');
    let (mut at, mut of_other, mut ends) = (0, 0, (0, 0));
    while let (Some(&byte), Some(&expected)) = (one.get(at), other.get(of_other)) {
        let digits = (run(one, at, u8::is_ascii_digit), run(other, of_other, u8::is_ascii_digit));
        let blanks = (run(one, at, is_blank), run(other, of_other, is_blank));
        let is_number = |bytes: &[u8], at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let (step, of_other_step) = if digits.0 > 0 && digits.1 > 0 {
            digits
        } else if is_number(one, at + blanks.0) && is_number(other, of_other + blanks.1) {
            blanks
        } else if byte == expected || matches!((byte, expected), (b':', b'-') | (b'-', b':')) {
            (1, 1)
        } else {
            break;
        };
        if (step, of_other_step) == (0, 0) {
            break;
        }
        at += step;
        of_other += of_other_step;
        if one.get(..at).is_some_and(ends_prefix) {
            ends = (at, of_other);
        }
    }
    ends
}

/// Whether a prefix may end here.
fn ends_prefix(prefix: &[u8]) -> bool {
    let is_sign = prefix.last().is_some_and(|byte| b" \t:-|+>]".contains(byte));
    is_sign || [&b"\\t"[..], "→".as_bytes(), "│".as_bytes()].iter().any(|end| prefix.ends_with(end))
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
