//! Searches texts for exact phrases: ignores case, accepts any white space in place of white space, and matches at word
//! boundaries only.

use std::{collections::VecDeque, ops::ControlFlow, ops::Range};

use json_text::FILLER;
use memchr::memchr2;
use unicode_normalization::char::{compose, is_combining_mark};

use crate::analysis::characters::{Class, class};
use crate::analysis::dates::{DATE_BYTES, iso_date};
use crate::analysis::tokens::{is_ascii_separator, tokenize};

/// A phrase to search for. Time is linear in the text for any phrase.
#[derive(Clone, Debug)]
pub(crate) struct Phrase {
    characters: Vec<char>,
    /// For each number of matched characters, how many still match when the next one does not.
    fallbacks: Vec<usize>,
    first: FirstBytes,
}

impl Phrase {
    /// The phrase; `None` when it is empty.
    pub(crate) fn new(phrase: &str) -> Option<Self> {
        let mut characters: Vec<char> =
            Normal::new(phrase, 0).map(|(_, character)| character).collect();
        while characters.last() == Some(&' ') {
            characters.pop();
        }
        let start = characters.iter().take_while(|&&character| character == ' ').count();
        characters.drain(..start);
        let first = FirstBytes::of(*characters.first()?);
        let fallbacks = fallbacks(&characters);
        Some(Self { characters, fallbacks, first })
    }

    /// Whether the text contains the phrase.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.find(text, |_| ControlFlow::Break(())).is_break()
    }

    /// Calls `visit` with every range of the phrase in the text, in order, until `visit` breaks.
    pub(crate) fn find(
        &self,
        text: &str,
        mut visit: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Starts of the characters matched so far.
        let mut starts: VecDeque<usize> = VecDeque::with_capacity(self.characters.len());
        let mut position = 0;
        'skip: while let Some(start) = self.first.find(text, position) {
            let mut normal = Normal::new(text, start);
            while let Some((at, character)) = normal.next() {
                let mut matched = starts.len();
                while matched > 0 && self.characters.get(matched) != Some(&character) {
                    matched = self.fallback(matched);
                }
                starts.drain(..starts.len() - matched);
                position = normal.position;
                if self.characters.get(matched) != Some(&character) {
                    continue 'skip;
                }
                starts.push_back(at);
                if starts.len() == self.characters.len() {
                    let from = starts.front().copied().unwrap_or(at);
                    if is_border(text, from)
                        && (is_border(text, position) || is_date_end(text, position))
                    {
                        visit(from..position)?;
                    }
                    let still = self.fallback(starts.len());
                    starts.drain(..starts.len() - still);
                }
            }
            break;
        }
        ControlFlow::Continue(())
    }

    fn fallback(&self, matched: usize) -> usize {
        self.fallbacks.get(matched).copied().unwrap_or_default()
    }
}

/// Whether a text contains an ISO date.
pub(crate) fn has_date(text: &str) -> bool {
    text.char_indices().any(|(at, _)| text.get(at..).and_then(iso_date).is_some())
}

/// Terms that every text with this phrase has.
pub(crate) fn certain_terms(phrase: &str) -> Vec<Box<str>> {
    let runs = phrase.split(|character: char| {
        u8::try_from(character).is_ok_and(|byte| byte.is_ascii() && is_ascii_separator(byte))
    });
    // A date is indexed with the text next to it, which is not a separate word then.
    let plain = runs.filter(|run| run.is_ascii() && !run.contains('\'') && !has_date(run));
    let mut terms = Vec::new();
    for part in plain.flat_map(|run| run.split(['_', '-'])) {
        // In any case, it is indexed whole and by its pieces.
        let mut whole = None;
        tokenize(&part.to_ascii_lowercase(), usize::MAX, |term| whole = Some(Box::from(term)));
        terms.extend(whole);
    }
    terms
}

/// The failure function of Knuth, Morris and Pratt.
fn fallbacks(characters: &[char]) -> Vec<usize> {
    let mut fallbacks = vec![0; characters.len() + 1];
    let mut matched = 0;
    for (number, character) in characters.iter().enumerate().skip(1) {
        while matched > 0 && characters.get(matched) != Some(character) {
            matched = fallbacks.get(matched).copied().unwrap_or_default();
        }
        matched += usize::from(characters.get(matched) == Some(character));
        if let Some(slot) = fallbacks.get_mut(number + 1) {
            *slot = matched;
        }
    }
    fallbacks
}

/// Whether a date, with its time, ends at this position.
fn is_date_end(text: &str, position: usize) -> bool {
    let date = position.checked_sub(DATE_BYTES).and_then(|start| text.get(start..));
    date.and_then(iso_date).is_some()
        && text.get(position..).is_some_and(|rest| rest.starts_with(['T', 't']))
}

/// Whether no word spans this position.
fn is_border(text: &str, position: usize) -> bool {
    let before = text.get(..position).and_then(|before| before.chars().next_back());
    let after = text.get(position..).and_then(|after| after.chars().next());
    let is_of_word = |character: Option<char>| {
        character.is_some_and(|character| {
            matches!(class(character), Class::Lower | Class::Upper | Class::Digit)
        })
    };
    !(is_of_word(before) && is_of_word(after))
}

/// The possible first bytes of a character in a text.
#[derive(Clone, Debug)]
enum FirstBytes {
    Two(u8, u8),
    Any(Box<[bool; 256]>),
}

impl FirstBytes {
    fn of(character: char) -> Self {
        if character.is_ascii() {
            let lower = character as u8;
            return Self::Two(lower.to_ascii_lowercase(), lower.to_ascii_uppercase());
        }
        let mut bytes = Box::new([false; 256]);
        // A character beyond ASCII has several spellings. All of them begin beyond ASCII, or with a letter that
        // combining marks follow.
        for (byte, slot) in (0_u8..=255).zip(bytes.iter_mut()) {
            *slot = !byte.is_ascii() || byte.is_ascii_alphabetic();
        }
        let is_ideograph = class(character) == Class::Unsegmented;
        if is_ideograph {
            let lead = character.encode_utf8(&mut [0; 4]).bytes().next().unwrap_or_default();
            // Marks combine with other characters of the same block.
            for (byte, slot) in (0_u8..=255).zip(bytes.iter_mut()) {
                *slot = byte == lead;
            }
        }
        Self::Any(bytes)
    }

    /// The first of these bytes at or after `from`.
    fn find(&self, text: &str, from: usize) -> Option<usize> {
        let rest = text.as_bytes().get(from..)?;
        let found = match self {
            Self::Two(lower, upper) => memchr2(*lower, *upper, rest),
            Self::Any(bytes) => {
                rest.iter().position(|&byte| bytes.get(byte as usize) == Some(&true))
            }
        };
        // A byte within a character could be found only if the search began within a character, which does not happen.
        found.map(|at| from + at)
    }
}

/// The characters of a text in the form in which phrases are compared: lower case, runs of white space as one space,
/// accents composed, without invisible characters; with the positions where they begin.
struct Normal<'t> {
    text: &'t str,
    /// The start of the next character.
    position: usize,
}

impl<'t> Normal<'t> {
    fn new(text: &'t str, position: usize) -> Self {
        Self { text, position }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.position..)?.chars().next()
    }

    fn skip_while(&mut self, accepts: impl Fn(char) -> bool) {
        while let Some(character) = self.peek().filter(|&character| accepts(character)) {
            self.position += character.len_utf8();
        }
    }
}

impl Iterator for Normal<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        self.skip_while(is_invisible);
        let start = self.position;
        let mut character = self.peek()?;
        self.position += character.len_utf8();
        if character.is_ascii_graphic() && self.peek().is_none_or(|next| next.is_ascii()) {
            return Some((start, character.to_ascii_lowercase()));
        }
        if character.is_whitespace() {
            self.skip_while(|next| next.is_whitespace() || is_invisible(next));
            return Some((start, ' '));
        }
        while let Some(next) = self.peek().filter(|&next| is_combining_mark(next)) {
            let Some(composed) = compose(character, next) else { break };
            character = composed;
            self.position += next.len_utf8();
        }
        if character == 'ς' {
            return Some((start, 'σ'));
        }
        // A character whose lower case has several characters stays unchanged.
        let mut lower = character.to_lowercase();
        let only = lower.next().filter(|_| lower.len() == 0);
        Some((start, only.unwrap_or(character)))
    }
}

fn is_invisible(character: char) -> bool {
    matches!(character, FILLER | '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use json_text::unescaped_in_place;

    use super::*;

    fn found<'t>(phrase: &str, text: &'t str) -> Vec<&'t str> {
        let mut found = Vec::new();
        let phrase = Phrase::new(phrase).unwrap();
        let _ = phrase.find(text, |range| {
            found.push(&text[range]);
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn case_and_white_space_do_not_matter() {
        assert_eq!(
            found(" Exact\n phrase ", "an EXACT  \t phrase, exact phrase"),
            ["EXACT  \t phrase", "exact phrase"]
        );
        assert_eq!(found("ÉTÉ ΣΑΣ", "un été σας"), ["été σας"]);
        assert_eq!(found("café au", "Cafe\u{301} au lait"), ["Cafe\u{301} au"]);
        assert_eq!(found("istanbul", "İSTANBUL"), [""; 0]);
        assert_eq!(found("İstanbul", "in İSTANBUL"), ["İSTANBUL"]);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(found("log in", "blog in, log inside, log_in, log in."), ["log in"]);
        assert_eq!(found("form", "form_data formal data-form"), ["form", "form"]);
        assert_eq!(found("!=", "a!=b"), ["!="]);
        assert_eq!(found("東京", "新東京都"), ["東京"]);
        assert_eq!(found("e", "e\u{328}"), [""; 0]);
    }

    #[test]
    fn overlapping_beginnings_are_followed() {
        assert_eq!(found("a a b", "a a a b"), ["a a b"]);
        assert_eq!(found("a a", "a a a"), ["a a", "a a"]);
        assert_eq!(found("abab c", "ababab c abab c"), ["abab c"]);
    }

    #[test]
    fn json_is_read_as_what_it_says() {
        let json = r#"["first\nsecond caf\u00e9 \"quoted\" C:\\dir"]"#;
        let text = unescaped_in_place(json);
        for phrase in ["first second", "second café", "\"quoted\" C:\\dir"] {
            assert_eq!(found(phrase, &text).len(), 1, "{phrase}");
        }
        let mut range = 0..0;
        let _ = Phrase::new("first second").unwrap().find(&text, |found| {
            range = found;
            ControlFlow::Break(())
        });
        assert_eq!(&json[range], r"first\nsecond");
    }

    #[test]
    fn a_phrase_of_nothing_is_none() {
        assert!(Phrase::new(" \u{1}\t\u{200B}").is_none());
    }

    proptest! {
        #[test]
        fn a_piece_of_a_text_is_found(before in "[a-c é東]{0,20}", piece in "[a-cé東]([a-c é東]{0,8}[a-cé東])?", after in "[a-c é東]{0,20}") {
            let text = format!("{before} {piece} {after}");
            let phrase = Phrase::new(&piece).unwrap();
            let mut places = Vec::new();
            let _ = phrase.find(&text, |range| { places.push(range); ControlFlow::Continue(()) });
            prop_assert!(places.contains(&(before.len() + 1..before.len() + 1 + piece.len())), "{:?}", places);
        }

        #[test]
        fn any_text_is_read(text in any::<String>(), phrase in any::<String>()) {
            if let Some(phrase) = Phrase::new(&phrase) {
                let _ = phrase.find(&text, |range| {
                    assert!(text.get(range).is_some());
                    ControlFlow::Continue(())
                });
            }
        }
    }
}
