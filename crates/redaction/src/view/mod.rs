//! Views of a text: the text without parts that hide secrets, with a map of offsets to the original. One kind leaves
//! out terminal escape sequences and zero-width characters, as a reader sees the text; the other (`prefixes`) leaves
//! out prefixes of lines. Secrets are searched in the views as well as in the text, because a colour code within an
//! assignment would hide it from every rule.

mod invisible;
mod prefixes;

use std::{borrow::Cow, ops::Range};

pub(super) use invisible::{may_begin as may_hide, ranges as hidden};
pub(super) use prefixes::view as without_prefixes;

/// The visible part of a text, with a map of its offsets to those of the text.
#[derive(Debug)]
pub(super) struct View {
    text: String,
    cuts: Vec<Cut>,
}

/// A place in the view where bytes of the original are left out.
#[derive(Debug)]
struct Cut {
    /// The offset in the view.
    at: usize,
    /// The offset in the original after the bytes that are left out.
    resumes: usize,
}

impl View {
    /// `None` when everything in the text is visible.
    pub fn of(text: &str) -> Option<Self> {
        Self::without(text, invisible::ranges(text))
    }

    /// The text without these ordered ranges. `None` when there are none.
    fn without(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> Option<Self> {
        let mut view = Self { text: String::new(), cuts: Vec::new() };
        let mut copied = 0;
        for hidden in ranges {
            view.text.push_str(text.get(copied..hidden.start).unwrap_or_default());
            copied = hidden.end;
            view.cut(hidden.end);
        }
        if view.cuts.is_empty() {
            return None;
        }
        view.text.push_str(text.get(copied..).unwrap_or_default());
        Some(view)
    }

    fn cut(&mut self, resumes: usize) {
        let at = self.text.len();
        match self.cuts.last_mut() {
            Some(cut) if cut.at == at => cut.resumes = resumes,
            _ => self.cuts.push(Cut { at, resumes }),
        }
    }

    /// The visible text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The range of the original for a range of the view: from its first visible byte to its last, with all bytes
    /// between.
    pub fn original(&self, range: &Range<usize>) -> Range<usize> {
        let start =
            original(self.cuts.partition_point(|cut| cut.at <= range.start), self, range.start);
        let end = original(self.cuts.partition_point(|cut| cut.at < range.end), self, range.end);
        start..end.max(start)
    }

    /// A range of the original without hidden bytes at its ends. A range that begins within hidden bytes, such as in
    /// the address of a link, keeps its start.
    pub fn trimmed(&self, range: &Range<usize>) -> Range<usize> {
        let visible = self.visible(range);
        if visible.is_empty() {
            return range.clone();
        }
        let trimmed = self.original(&visible);
        let next = self.cuts.partition_point(|cut| cut.resumes <= range.start);
        let (at, resumes) = self.cut_before(next);
        let hidden = self.cuts.get(next).map(|cut| resumes + cut.at - at);
        let is_within = hidden.is_some_and(|hidden| hidden < range.start);
        (if is_within { range.start } else { trimmed.start })..trimmed.end
    }

    /// The visible bytes of a range of the original.
    pub fn visible(&self, range: &Range<usize>) -> Range<usize> {
        self.visible_offset(range.start)..self.visible_offset(range.end)
    }

    fn visible_offset(&self, original: usize) -> usize {
        let next = self.cuts.partition_point(|cut| cut.resumes <= original);
        let (at, resumes) = self.cut_before(next);
        let limit = self.cuts.get(next).map_or(self.text.len(), |cut| cut.at);
        (at + original - resumes).min(limit)
    }

    /// The range in the view of a range of the original without hidden bytes. `None` if it has any. `next` is the number of a cut; for the
    /// ranges of a text in order, the cuts are read once.
    pub fn kept(&self, range: &Range<usize>, next: &mut usize) -> Option<Range<usize>> {
        let is_before = |cut: Option<&Cut>| cut.is_some_and(|cut| cut.resumes <= range.start);
        while is_before(self.cuts.get(*next)) {
            *next += 1;
        }
        while *next > 0 && !is_before(self.cuts.get(*next - 1)) {
            *next -= 1;
        }
        let (at, resumes) = self.cut_before(*next);
        let limit = self.cuts.get(*next).map_or(self.text.len(), |cut| cut.at);
        let start = at + range.start - resumes;
        (start + range.len() <= limit).then(|| start..start + range.len())
    }

    /// Whether all bytes that are left out are at the starts of lines.
    pub fn cuts_start_lines(&self) -> bool {
        let byte = |at: usize| self.text.as_bytes().get(at);
        self.cuts.iter().all(|cut| {
            cut.at.checked_sub(1).is_none_or(|before| matches!(byte(before), Some(b'\n' | b'\r')))
        })
    }

    /// The offsets in the view and in the original from which on both run in parallel.
    fn cut_before(&self, next: usize) -> (usize, usize) {
        let cut = next.checked_sub(1).and_then(|last| self.cuts.get(last));
        cut.map_or((0, 0), |cut| (cut.at, cut.resumes))
    }
}

fn original(next: usize, view: &View, offset: usize) -> usize {
    let (at, resumes) = view.cut_before(next);
    resumes + offset - at
}

/// The visible part of a text.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    View::of(text).map_or(Cow::Borrowed(text), |view| Cow::Owned(view.text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(text: &str) -> String {
        visible(text).into_owned()
    }

    #[test]
    fn escape_sequences_are_left_out() {
        let link = "\x1b]8;id=1;https://host.example/a?b=c\x1b\\name\x1b]8;;\x1b\\";
        let cases = [
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b[38;2;1;2;3mtrue\x1b[39;49m colour\x1b[K", "true colour"),
            ("\x1b[4:3mcurly\x1b[?25h\x1b[2 q", "curly"),
            ("\u{9b}1mshort\u{9b}m", "short"),
            (link, "name"),
            ("\x1b]0;title\x07prompt", "prompt"),
            ("\x1bPq#0\x1b\\sixel", "sixel"),
            ("\x1b(B\x1b[mreset\x1b7\x1b8\x1b=", "reset"),
            (r"\u001b[32mjson\u001b[0m", "json"),
            (r"\\x1b[1;31mtwice\\x1B[m", "twice"),
            (r"\033[31mshell\e[0m^[[Kcat", "shellcat"),
        ];
        for (text, expected) in cases {
            assert_eq!(seen(text), expected, "{text:?}");
        }
    }

    #[test]
    fn characters_without_width_are_left_out() {
        let hidden = "\u{ad}\u{200b}\u{200d}\u{200f}\u{202a}\u{2060}\u{2066}\u{feff}\u{34f}\u{61c}\u{180e}\u{fe0f}\u{e0041}";
        for character in hidden.chars() {
            assert_eq!(seen(&format!("pass{character}word")), "password", "{character:?}");
        }
    }

    #[test]
    fn broken_sequences_hide_nothing() {
        let cases = [
            ("\x1b", ""),
            ("a\x1b[", "a"),
            ("\x1b[31", "31"),
            ("\x1b[3é", "3é"),
            ("\x1b]8;;https://host.example\nnext", "]8;;https://host.example\nnext"),
            ("\x1b\x1b[1mtwo", "two"),
            (r"\x1b[31 \033[m2", r"\x1b[31 2"),
            ("x^[[:alpha:]] [0m 31m", "x^[[:alpha:]] [0m 31m"),
        ];
        for (text, expected) in cases {
            assert_eq!(seen(text), expected, "{text:?}");
        }
    }

    #[test]
    fn texts_without_them_need_no_view() {
        for text in ["", "password=1", "naïve – “quotes” 漢字 🙂", "\u{2028}[0m"] {
            assert!(View::of(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn ranges_are_those_of_the_original() {
        let text = "\x1b[1mab\x1b[0m\u{200b}cd\x1b[0m";
        let view = View::of(text).unwrap();
        assert_eq!(view.text(), "abcd");
        assert_eq!(&text[view.original(&(0..4))], "ab\x1b[0m\u{200b}cd");
        assert_eq!(&text[view.original(&(0..2))], "ab");
        assert_eq!(&text[view.original(&(2..4))], "cd");
        assert_eq!(view.visible(&(0..text.len())), 0..4);
        assert_eq!(view.visible(&(5..8)), 1..2);
        assert_eq!(view.trimmed(&(0..text.len())), 4..text.len() - 4);
        assert_eq!(view.trimmed(&(5..10)), 5..6);
        let text = "\x1b]8;;https://h.example/?key=1\x1b\\a b";
        let view = View::of(text).unwrap();
        assert_eq!(view.trimmed(&(5..12)), 5..12);
        assert_eq!(view.trimmed(&(5..text.len() - 2)), 5..text.len() - 2);
    }

    proptest! {
        #[test]
        fn every_range_maps_to_its_own_bytes(
            pieces in prop::collection::vec(prop_oneof![
                "[a-c]{1,3}", Just("é".to_owned()), Just("\x1b[3m".to_owned()), Just("\u{200b}".to_owned()),
                Just("\x1b".to_owned()), Just("[".to_owned()),
            ], 0..12),
        ) {
            let text = pieces.concat();
            if let Some(view) = View::of(&text) {
                let mut next = 0;
                for start in 0..text.len() {
                    for end in start + 1..=text.len() {
                        let range = start..end;
                        let visible = view.visible(&range);
                        let is_kept = visible.len() == range.len();
                        prop_assert_eq!(view.kept(&range, &mut next), is_kept.then_some(visible));
                    }
                }
                let ends: Vec<usize> = view.text().char_indices().map(|(at, _)| at).chain([view.text().len()]).collect();
                for (index, &start) in ends.iter().enumerate() {
                    for &end in ends.iter().skip(index + 1) {
                        let original = view.original(&(start..end));
                        // Hidden bytes may be within the range, but not at its ends.
                        let bytes = &text[original.clone()];
                        prop_assert_eq!(bytes.chars().next(), view.text()[start..end].chars().next());
                        prop_assert_eq!(bytes.chars().next_back(), view.text()[start..end].chars().next_back());
                        prop_assert_eq!(view.visible(&original), start..end);
                    }
                }
            }
        }
    }
}
