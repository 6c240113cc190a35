//! Snippets: passages around matches, cut at lines or words, with the positions of the matches.

use std::ops::{ControlFlow, Range};

use json_text::FILLER;
use memchr::memchr_iter;

use crate::analysis::characters::{Class, class};
use crate::analysis::tokens::is_ascii_separator;
use crate::highlight::windows::Window;
use crate::query::matcher::{Matcher, is_attached};
use crate::query::phrase::Phrase;

/// Bytes beyond a snippet's end that are read to complete a word that the end cuts.
const BEYOND: usize = 512;

/// A passage of a text around a match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The text of the passage, unchanged.
    pub text: String,
    /// Start and end of each match within `text`, in UTF-16 units.
    pub matches: Vec<(usize, usize)>,
    /// The line number of the first match, from 1.
    pub line: usize,
    /// The offset of the snippet in the complete text, in bytes.
    pub byte_offset: usize,
}

/// A text from which snippets are made.
#[derive(Clone, Copy, Debug, Default)]
pub struct FieldText<'t> {
    /// The stored text.
    pub raw: &'t str,
    /// The text to search, with the same offsets: for JSON, [`json_text::unescaped_in_place`] of `raw`.
    pub plain: &'t str,
}

/// The approximate number of bytes of this many characters of a text.
pub(crate) fn bytes_of(text: &str, characters: usize) -> usize {
    let sample = text.get(..text.floor_char_boundary(4096)).unwrap_or_default();
    let count = sample.chars().count().max(1);
    (characters * sample.len().max(1)).div_ceil(count)
}

/// Makes a snippet of about `length` characters around a range of the text.
pub(crate) fn cut(
    text: FieldText<'_>,
    window: &Window,
    length: usize,
    matcher: &mut Matcher,
    phrases: &[Phrase],
) -> Snippet {
    let range = borders(text, &window.range, length);
    let matches = matches_in(text.plain, &range, matcher, phrases);
    let raw = text.raw.get(range.clone()).unwrap_or_default();
    let first = matches.first().map_or(range.start, |found| found.start);
    let before = text.raw.as_bytes().get(..first).unwrap_or_default();
    let units = |to: usize| {
        let before = text.raw.get(range.start..to).unwrap_or_default();
        before.chars().map(char::len_utf16).sum::<usize>()
    };
    Snippet {
        text: raw.to_owned(),
        matches: matches.iter().map(|found| (units(found.start), units(found.end))).collect(),
        line: 1 + memchr_iter(b'\n', before).count(),
        byte_offset: range.start,
    }
}

/// The start and end of a snippet: at line ends if there are any within reach, else at word boundaries.
fn borders(text: FieldText<'_>, window: &Range<usize>, length: usize) -> Range<usize> {
    let piece = |range: Range<usize>| text.raw.get(range).unwrap_or_default();
    let inner = piece(window.clone()).char_indices().take(length);
    let (used, inner_end) = inner.fold((0, window.start), |(count, _), (offset, last)| {
        (count + 1, window.start + offset + last.len_utf8())
    });
    let inner_end = whole_character(text.plain, inner_end, window.end);
    let spare = length.saturating_sub(used);
    let lead = piece(0..window.start).char_indices().rev().take(spare / 3);
    let reach = lead.last().map_or(window.start, |(offset, _)| offset);
    let start = begin(text.plain, text.plain.ceil_char_boundary(reach), window.start);
    let lead = piece(start..window.start).chars().count();
    let tail = piece(inner_end..text.raw.len()).char_indices().take(spare.saturating_sub(lead));
    let reach =
        tail.last().map_or(inner_end, |(offset, last)| inner_end + offset + last.len_utf8());
    let reach = whole_character(text.plain, reach, text.plain.len()).max(inner_end);
    start..end(text.plain, inner_end, reach)
}

/// The last position up to `position` that does not split a character from its combining marks and fillers. `latest` is
/// such a position.
fn whole_character(text: &str, position: usize, latest: usize) -> usize {
    let mut position = text.floor_char_boundary(position.min(latest));
    while position < latest {
        let next = text.get(position..).and_then(|rest| rest.chars().next());
        let before = text.get(..position).and_then(|before| before.chars().next_back());
        match (before, next) {
            (Some(before), Some(next)) if is_attached(next) => position -= before.len_utf8(),
            _ => break,
        }
    }
    position
}

/// The best start of a snippet between `reach` and `latest`.
fn begin(text: &str, reach: usize, latest: usize) -> usize {
    if reach == 0 {
        return 0;
    }
    let marks = text.get(reach..latest).unwrap_or_default();
    let reach = reach + marks.find(|character| !is_attached(character)).unwrap_or(marks.len());
    let lead = text.get(reach..latest).unwrap_or_default();
    let after_line = lead.find('\n').map(|at| at + 1);
    let at_line = text.as_bytes().get(reach - 1) == Some(&b'\n');
    let start = if at_line { Some(0) } else { after_line };
    let start = start.or_else(|| lead.find(is_space));
    let Some(start) = start else {
        // One long word, or a script without spaces.
        return if lead.chars().any(|character| class(character) == Class::Unsegmented) {
            reach
        } else {
            let cut = lead.rfind(|character: char| class(character) == Class::Separator);
            cut.map_or(latest, |at| {
                reach
                    + at
                    + lead.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
            })
        };
    };
    let rest = lead.get(start..).unwrap_or_default();
    // Indentation is kept.
    let skipped = if at_line || after_line.is_some() {
        0
    } else {
        rest.find(|character| !is_space(character)).unwrap_or(rest.len())
    };
    reach + start + skipped
}

/// The best end of a snippet between `earliest` and `reach`.
fn end(text: &str, earliest: usize, reach: usize) -> usize {
    let tail = text.get(earliest..reach).unwrap_or_default();
    let is_whole = reach == text.len();
    let cut = if is_whole {
        tail.len()
    } else {
        let found = tail.rfind('\n').or_else(|| tail.rfind(is_space));
        match found {
            Some(at) => at,
            None if tail.chars().any(|character| class(character) == Class::Unsegmented) => {
                tail.len()
            }
            None => tail
                .find(|character: char| class(character) == Class::Separator)
                .unwrap_or_default(),
        }
    };
    let kept = tail.get(..cut).unwrap_or_default();
    earliest + kept.trim_end_matches(is_space).len()
}

fn is_space(character: char) -> bool {
    character.is_whitespace() || character == FILLER
}

/// The exact ranges of the matches within a range of the text; adjacent ranges are merged.
fn matches_in(
    text: &str,
    range: &Range<usize>,
    matcher: &mut Matcher,
    phrases: &[Phrase],
) -> Vec<Range<usize>> {
    let around = whole_words(text, range);
    let content = text.get(around.clone()).unwrap_or_default();
    let mut pieces: Vec<(Range<usize>, usize)> = Vec::new();
    let _ = matcher.find(content, |piece, number| {
        pieces.push((piece, number));
        ControlFlow::Continue(())
    });
    let mut found: Vec<Range<usize>> = Vec::new();
    for (piece, number) in pieces {
        let places = matcher.places(content.get(piece.clone()).unwrap_or_default(), number);
        found.extend(
            places.into_iter().map(|place| piece.start + place.start..piece.start + place.end),
        );
    }
    for phrase in phrases {
        let _ = phrase.find(content, |place| {
            found.push(place);
            ControlFlow::Continue(())
        });
    }
    let within = found.into_iter().map(|place| {
        let start = (around.start + place.start).max(range.start);
        start..(around.start + place.end).min(range.end)
    });
    let mut within: Vec<Range<usize>> = within.filter(|place| place.start < place.end).collect();
    within.sort_by_key(|place| (place.start, place.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(within.len());
    for place in within {
        match merged.last_mut() {
            Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
            _ => merged.push(place),
        }
    }
    merged
}

/// The range, extended so that it does not cut words at its ends.
fn whole_words(text: &str, range: &Range<usize>) -> Range<usize> {
    let earliest = text.floor_char_boundary(range.start.saturating_sub(BEYOND));
    let latest = text.floor_char_boundary(range.end.saturating_add(BEYOND).min(text.len()));
    let before = text.as_bytes().get(earliest..range.start).unwrap_or_default();
    let after = text.as_bytes().get(range.end..latest).unwrap_or_default();
    let start = before.iter().rposition(|&byte| is_ascii_separator(byte));
    let end = after.iter().position(|&byte| is_ascii_separator(byte));
    start.map_or(earliest, |at| earliest + at + 1)..end.map_or(latest, |at| range.end + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use json_text::unescaped_in_place;

    use super::*;
    use crate::highlight::windows::Windows;
    use crate::query::free_text::Query;

    fn snippets(raw: &str, query: &str, phrases: &[&str], length: usize) -> Vec<Snippet> {
        let plain = unescaped_in_place(raw);
        let query = Query::parse(query);
        let mut matcher = Matcher::new(query.terms().iter().map(|term| &*term.text), &[], &[]);
        let phrases: Vec<Phrase> =
            phrases.iter().filter_map(|phrase| Phrase::new(phrase)).collect();
        let weights = vec![1; query.terms().len() + phrases.len()];
        let mut matches = Vec::new();
        let _ = matcher.find(&plain, |range, number| {
            matches.push((range, number));
            ControlFlow::Continue(())
        });
        for (number, phrase) in (query.terms().len()..).zip(&phrases) {
            let _ = phrase.find(&plain, |range| {
                matches.push((range, number));
                ControlFlow::Continue(())
            });
        }
        matches.sort_by_key(|(range, _)| range.start);
        let mut windows = Windows::new(&weights, bytes_of(&plain, length), 3);
        matches.into_iter().for_each(|(range, number)| windows.push(range, number));
        let text = FieldText { raw, plain: &plain };
        let windows = windows.finish();
        windows.iter().map(|window| cut(text, window, length, &mut matcher, &phrases)).collect()
    }

    fn marked(snippet: &Snippet) -> Vec<String> {
        let units: Vec<u16> = snippet.text.encode_utf16().collect();
        let places = snippet.matches.iter();
        places.map(|&(start, end)| String::from_utf16(&units[start..end]).unwrap()).collect()
    }

    #[test]
    fn lines_are_kept_whole_and_counted() {
        let text = format!(
            "{}  fn login() {{\n    connect()\n  }}\n{}",
            "// line\n".repeat(50),
            "x\n".repeat(99)
        );
        let [snippet] =
            <[Snippet; 1]>::try_from(snippets(&text, "login connections", &[], 60)).unwrap();
        assert_eq!(marked(&snippet), ["login", "connect"]);
        assert_eq!(snippet.line, 51);
        assert!(snippet.text.starts_with("// line\n") && snippet.text.contains("connect()"));
        assert_eq!(&text[snippet.byte_offset..][..snippet.text.len()], snippet.text);
    }

    #[test]
    fn words_are_kept_whole() {
        let text = format!("{} needle {}", "alpha beta ".repeat(90), "gamma delta ".repeat(90));
        let [snippet] = <[Snippet; 1]>::try_from(snippets(&text, "needle", &[], 40)).unwrap();
        assert!(
            snippet
                .text
                .split(' ')
                .all(|word| ["alpha", "beta", "needle", "gamma", "delta", ""].contains(&word)),
            "{}",
            snippet.text
        );
        assert!((25..=40).contains(&snippet.text.len()), "{}", snippet.text);
        assert_eq!(marked(&snippet), ["needle"]);
    }

    #[test]
    fn json_is_shown_unchanged() {
        let json = r#"{"log":"first\nlogin failed\tfor \"Zo\u00eb\" 😀 login","more":[1,2,3]}"#;
        let [snippet] =
            <[Snippet; 1]>::try_from(snippets(json, "login zoe", &["login failed for"], 500))
                .unwrap();
        assert_eq!(snippet.text, json);
        assert_eq!(marked(&snippet), [r"login failed\tfor", r"Zo\u00eb", "login"]);
    }

    #[test]
    fn scripts_without_spaces_are_cut_between_characters() {
        let text = format!("{}京都の寺{}", "あ".repeat(500), "い".repeat(500));
        let found = snippets(&text, "京都", &[], 30);
        assert_eq!(found.len(), 1);
        assert_eq!(marked(&found[0]), ["京都"]);
        assert_eq!(found[0].text.chars().count(), 30);
    }

    #[test]
    fn a_match_longer_than_the_snippet_is_cut() {
        let text = format!("a {} z", "b".repeat(5000));
        let found = snippets(&text, &"b".repeat(64), &[], 50);
        assert_eq!(found[0].text.len(), 50);
        assert_eq!(marked(&found[0]), ["b".repeat(50)]);
    }

    proptest! {
        #[test]
        fn snippets_stand_in_the_text(
            words in prop::collection::vec("[a-zé]{1,7}|login|京都|😀|\\\\n|\\\\u00e9|\n|LoginForm_x|needle hay", 0..60),
            joint in "[ ,]|  ",
            length in 20_usize..120,
        ) {
            let text = words.join(&joint);
            for snippet in snippets(&text, "login 京都", &["needle hay"], length) {
                let end = snippet.byte_offset + snippet.text.len();
                prop_assert_eq!(text.get(snippet.byte_offset..end), Some(snippet.text.as_str()));
                prop_assert!(snippet.text.chars().count() <= length);
                prop_assert!(!snippet.matches.is_empty(), "{:?}", snippet);
                let units: Vec<u16> = snippet.text.encode_utf16().collect();
                let mut last = 0;
                for &(start, end) in &snippet.matches {
                    prop_assert!(start >= last && start < end && end <= units.len());
                    prop_assert!(String::from_utf16(&units[start..end]).is_ok());
                    last = end;
                }
                let first = String::from_utf16(&units[..snippet.matches[0].0]).unwrap();
                let lines = text[..snippet.byte_offset + first.len()].matches('\n').count();
                prop_assert_eq!(snippet.line, lines + 1);
            }
        }
    }
}
