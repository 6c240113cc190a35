//! Finds the terms, prefixes and words of a query in a text. The text is tokenised as for indexing, so that the matches
//! of a term are those that the index counts.

use std::ops::{ControlFlow, Range};

use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::char::is_combining_mark;

use crate::analysis::characters::{Class, class, fold_into};
use crate::analysis::tokens::{Token, Tokenizer, is_ascii_separator};
use crate::query::beginnings::Beginnings;

/// Maximum number of boundaries examined within one piece of text; a piece with more is a hash or encoded data.
const MAXIMUM_BORDERS: usize = 64;
/// Maximum number of parts in one match, when its exact range is determined.
const MAXIMUM_PARTS: usize = 8;

/// Searches texts for terms, prefixes and words. They are numbered: first the terms in order, then the prefixes, then
/// the words.
#[derive(Default)]
pub(crate) struct Matcher {
    terms: FxHashMap<Box<str>, usize>,
    prefixes: Vec<(Box<str>, usize)>,
    words: FxHashMap<Box<str>, usize>,
    /// The characters of unsegmented scripts in the terms.
    unsegmented: FxHashSet<char>,
    beginnings: Beginnings,
    tokenizer: Tokenizer,
    folded: String,
    found: Vec<usize>,
}

impl Matcher {
    /// Searches for index terms, for prefixes of words, and for whole words, which may be stop words.
    pub(crate) fn new<'t>(
        terms: impl Iterator<Item = &'t str>,
        prefixes: &[String],
        words: &[String],
    ) -> Self {
        let mut matcher = Self::default();
        let mut next = 0;
        for term in terms {
            matcher.terms.insert(term.into(), next);
            matcher.beginnings.add_term(term);
            matcher.unsegmented.extend(term.chars().filter(|&character| is_unsegmented(character)));
            next += 1;
        }
        for prefix in prefixes {
            let prefix = plain(prefix, &mut matcher.folded);
            matcher.beginnings.add(&prefix);
            matcher.prefixes.push((prefix.into(), next));
            next += 1;
        }
        for word in words {
            let word = plain(word, &mut matcher.folded);
            matcher.beginnings.add(&word);
            matcher.words.insert(word.into(), next);
            next += 1;
        }
        matcher
    }

    /// Whether there is nothing to search for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.prefixes.is_empty() && self.words.is_empty()
    }

    /// Calls `visit` with every match, ordered by start, until `visit` breaks: the piece of text that contains the
    /// match, as long as any term could be, and the number of the match.
    pub(crate) fn find(
        &mut self,
        text: &str,
        mut visit: impl FnMut(Range<usize>, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.is_empty() {
            return ControlFlow::Continue(());
        }
        for_each_run(text, |start, run| {
            if !run.is_ascii() {
                return self.find_in_run(run, start, &mut visit);
            }
            // Most runs are ruled out by their letters.
            if self.beginnings.may_be_in(run) {
                return self.report(run, start, &mut visit);
            }
            ControlFlow::Continue(())
        })
    }

    /// Whether the text contains a match.
    pub(crate) fn is_in(&mut self, text: &str) -> bool {
        self.find(text, |_, _| ControlFlow::Break(())).is_break()
    }

    /// The exact ranges of the match with this number in a piece given by [`Matcher::find`].
    pub(crate) fn places(&mut self, piece: &str, number: usize) -> Vec<Range<usize>> {
        let mut borders = vec![0];
        for_each_border(piece, |border| borders.push(border));
        borders.truncate(MAXIMUM_BORDERS);
        borders.push(piece.len());
        borders.dedup();
        for parts in 1..=MAXIMUM_PARTS.min(borders.len() - 1) {
            let mut places: Vec<Range<usize>> = Vec::new();
            for window in borders.windows(parts + 1) {
                let (Some(&start), Some(&end)) = (window.first(), window.last()) else { continue };
                if places.last().is_none_or(|last| last.end <= start) {
                    self.look(piece.get(start..end).unwrap_or_default());
                    if self.found.contains(&number) {
                        places.push(start..end);
                    }
                }
            }
            if !places.is_empty() {
                return places;
            }
        }
        std::iter::once(0..piece.len()).collect()
    }

    /// Searches a run. A run beyond ASCII may be pages long: unsegmented scripts are searched by pairs of characters,
    /// the text between them as pieces.
    fn find_in_run(
        &mut self,
        run: &str,
        start: usize,
        visit: &mut impl FnMut(Range<usize>, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut piece = 0;
        // The character of an unsegmented script just before `position`, and whether it is a searched one.
        let mut last: Option<(usize, bool)> = None;
        let mut position = 0;
        while let Some(first) = run.get(position..).and_then(|rest| rest.chars().next()) {
            let rest = run.get(position + first.len_utf8()..).unwrap_or_default();
            let has_marks =
                rest.chars().next().is_some_and(|next| !(next.is_ascii() || is_plain(next)));
            let marks = if has_marks {
                rest.find(|character| !belongs_to(first, character)).unwrap_or(rest.len())
            } else {
                0
            };
            let end = position + first.len_utf8() + marks;
            let is_unsegmented =
                self.is_unsegmented_atom(run.get(position..end).unwrap_or_default());
            if is_unsegmented {
                if last.is_none() && piece < position {
                    self.report(
                        run.get(piece..position).unwrap_or_default(),
                        start + piece,
                        visit,
                    )?;
                }
                if let Some((from, _)) = last {
                    self.report_pair(run, from..end, start, visit)?;
                }
                last = Some((position, last.is_some()));
                piece = end;
            } else {
                if let Some((from, false)) = last {
                    self.report_pair(run, from..position, start, visit)?;
                }
                last = None;
            }
            position = end;
        }
        match last {
            Some((from, false)) => self.report_pair(run, from..position, start, visit),
            Some(_) => ControlFlow::Continue(()),
            None => self.report(run.get(piece..).unwrap_or_default(), start + piece, visit),
        }
    }

    /// Whether a character with its marks belongs to an unsegmented script after folding.
    fn is_unsegmented_atom(&mut self, atom: &str) -> bool {
        let Some(first) = atom.chars().next() else { return false };
        if first.is_ascii() {
            return false;
        }
        if is_plain(first) || is_unsegmented(first) {
            return true;
        }
        // Half-width letters.
        if !matches!(first, '\u{3200}'..='\u{33FF}' | '\u{FF65}'..='\u{FFDF}') {
            return false;
        }
        self.folded.clear();
        fold_into(atom, &mut self.folded);
        self.folded.chars().next().is_some_and(is_unsegmented)
    }

    fn report_pair(
        &mut self,
        run: &str,
        range: Range<usize>,
        start: usize,
        visit: &mut impl FnMut(Range<usize>, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let pair = run.get(range.clone()).unwrap_or_default();
        // A cheap test that decides most cases.
        let is_sought = |character: char| {
            !is_plain(character)
                || (!self.unsegmented.is_empty() && self.unsegmented.contains(&character))
        };
        if !pair.chars().any(is_sought) {
            return ControlFlow::Continue(());
        }
        self.report(pair, start + range.start, visit)
    }

    fn report(
        &mut self,
        piece: &str,
        start: usize,
        visit: &mut impl FnMut(Range<usize>, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.look(piece);
        for &number in &self.found {
            visit(start..start + piece.len(), number)?;
        }
        ControlFlow::Continue(())
    }

    /// Collects the numbers of the matches in the piece, each once.
    fn look(&mut self, piece: &str) {
        let Self { terms, prefixes, words, tokenizer, folded, found, .. } = self;
        found.clear();
        let mut add = |number: usize| {
            if !found.contains(&number) {
                found.push(number);
            }
        };
        tokenizer.text(piece, &mut |token| {
            let Token::Term(token, _) = token else { return };
            if let Some(&number) = terms.get(token) {
                add(number);
            }
            for (prefix, number) in prefixes.iter() {
                if token.starts_with(&**prefix) {
                    add(*number);
                }
            }
        });
        // Terms are stems, which may be shorter than a prefix, and stop words have no terms.
        if !words.is_empty()
            && let Some(&number) = words.get(plain(piece, folded).as_str())
        {
            add(number);
        }
        if prefixes.is_empty() {
            return;
        }
        let text = if piece.is_ascii() {
            piece
        } else {
            folded.clear();
            fold_into(piece, folded);
            folded.as_str()
        };
        let mut look_at = |border: usize| {
            let rest = text.get(border..).unwrap_or_default();
            for (prefix, number) in prefixes.iter() {
                if begins_with(rest, prefix) {
                    add(*number);
                }
            }
        };
        look_at(0);
        for_each_border(text, look_at);
    }
}

/// The words of a text, including stop words.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let _ = for_each_run(text, |_, run| {
        if run.contains(char::is_alphanumeric) {
            words.push(run.to_owned());
        }
        ControlFlow::Continue(())
    });
    words
}

/// Whether the text has characters of a script that is written without spaces between words.
pub(crate) fn has_unsegmented(text: &str) -> bool {
    let mut folded = String::new();
    fold_into(text, &mut folded);
    folded.chars().any(is_unsegmented)
}

/// Calls `visit` with each run of characters that can contain a term, and its start.
fn for_each_run(
    text: &str,
    mut visit: impl FnMut(usize, &str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut start = 0;
    loop {
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        let Some(skipped) = rest.iter().position(|&byte| !is_ascii_separator(byte)) else {
            return ControlFlow::Continue(());
        };
        let rest = rest.get(skipped..).unwrap_or_default();
        let length = rest.iter().position(|&byte| is_ascii_separator(byte)).unwrap_or(rest.len());
        start += skipped;
        visit(start, text.get(start..start + length).unwrap_or_default())?;
        start += length;
    }
}

/// Calls `visit` with every position in a piece of text where a part may begin or end.
fn for_each_border(piece: &str, mut visit: impl FnMut(usize)) {
    let mut previous = None;
    let mut characters = piece.char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        if is_attached(character) {
            continue;
        }
        let kind = class(character);
        let next = characters.peek().map(|&(_, next)| class(next));
        let is_border = match (previous, kind) {
            (None, _) => false,
            (Some(Class::Lower | Class::Digit), Class::Lower) if previous == Some(kind) => false,
            (Some(Class::Digit), Class::Digit) | (Some(Class::Upper), Class::Lower) => false,
            (Some(Class::Upper), Class::Upper) => next == Some(Class::Lower),
            _ => true,
        };
        if is_border {
            visit(offset);
        }
        previous = Some(kind);
    }
}

/// Whether the letters and digits of a text begin with those of a prefix, ignoring case.
fn begins_with(text: &str, prefix: &str) -> bool {
    let mut characters =
        text.chars().filter(|&character| !is_joining(character)).flat_map(char::to_lowercase);
    prefix.chars().all(|wanted| characters.next() == Some(wanted))
}

/// The text folded, in lower case, without joiners of identifiers.
pub(crate) fn plain(text: &str, folded: &mut String) -> String {
    folded.clear();
    fold_into(text, folded);
    let kept = folded.chars().filter(|&character| !is_joining(character));
    kept.flat_map(char::to_lowercase).collect()
}

fn is_joining(character: char) -> bool {
    matches!(class(character), Class::Joiner | Class::Apostrophe)
}

/// Whether a character is among the most frequent of unsegmented scripts, which folding does not change.
fn is_plain(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{3096}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

fn is_unsegmented(character: char) -> bool {
    class(character) == Class::Unsegmented
}

/// Whether `character` continues the cluster that begins with `first`.
fn belongs_to(first: char, character: char) -> bool {
    let is_vowel_or_final = matches!(character, '\u{1160}'..='\u{11FF}');
    is_attached(character)
        && (!is_vowel_or_final
            || matches!(first, '\u{1100}'..='\u{115F}' | '\u{AC00}'..='\u{D7A3}'))
}

/// Whether a character belongs to the one before it.
pub(crate) fn is_attached(character: char) -> bool {
    !character.is_ascii()
        && (is_combining_mark(character)
            || matches!(character, '\u{AD}' | '\u{1160}'..='\u{11FF}' | '\u{200B}'..='\u{200F}' | '\u{2060}'
                | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FF9E}' | '\u{FF9F}'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::tokens::tokenize;
    use crate::query::free_text::Query;

    fn matcher(query: &str) -> Matcher {
        let query = Query::parse(query);
        Matcher::new(query.terms().iter().map(|term| &*term.text), &[], &[])
    }

    /// The exact texts of all matches.
    fn places<'t>(matcher: &mut Matcher, text: &'t str) -> Vec<&'t str> {
        let mut pieces = Vec::new();
        let _ = matcher.find(text, |range, number| {
            pieces.push((range, number));
            ControlFlow::Continue(())
        });
        let exact = pieces.into_iter().flat_map(|(range, number)| {
            let piece = &text[range];
            matcher.places(piece, number).into_iter().map(move |place| &piece[place])
        });
        exact.collect()
    }

    #[test]
    fn forms_of_a_word_and_parts_of_identifiers_are_found() {
        let found = |query: &str, text| places(&mut matcher(query), text);
        assert_eq!(
            found("connected", "Connections, connect; reconnect"),
            ["Connections", "connect"]
        );
        assert_eq!(found("login", "src/LoginForm.tsx: login_form"), ["Login", "login"]);
        assert_eq!(found("loginform", "LoginForm login-form"), ["LoginForm", "login-form"]);
        assert_eq!(found("server", "an HTTPServer2"), ["Server"]);
        assert_eq!(found("go", "she went"), ["went"]);
        assert_eq!(found("user", "the user's"), ["user"]);
        assert_eq!(found("the", "the"), [""; 0]);
    }

    #[test]
    fn other_scripts_are_found() {
        let found = |query: &str, text| places(&mut matcher(query), text);
        assert_eq!(found("cafe", "le Café, CAFE\u{301}"), ["Café", "CAFE\u{301}"]);
        assert_eq!(found("京都", "私は京都へ"), ["京", "京", "京都", "都", "都"]);
        assert_eq!(found("tower", "東京Tower。"), ["Tower"]);
        assert_eq!(found("カタ", "ｶﾀｶﾅ").first(), Some(&"ｶﾀ"));
        assert_eq!(found("СБОРКА", "сборка"), ["сборка"]);
        assert_eq!(found("한", "\u{1112}\u{1161}\u{11AB}글"), ["\u{1112}\u{1161}\u{11AB}"]);
    }

    #[test]
    fn prefixes_and_words_are_found() {
        let mut matcher = Matcher::new(std::iter::empty(), &["connecti".to_owned()], &[]);
        assert_eq!(
            places(&mut matcher, "Connections reConnecting connected"),
            ["Connections", "Connecting"]
        );
        let mut matcher =
            Matcher::new(std::iter::empty(), &["logi-n".to_owned(), "é".to_owned()], &[]);
        assert_eq!(places(&mut matcher, "Login_Form, École"), ["Login", "École"]);
        let mut matcher = Matcher::new(std::iter::empty(), &[], &words_of("to BE don't"));
        assert_eq!(places(&mut matcher, "To be, don’t; bee"), ["To", "be", "don’t"]);
    }

    const CHARACTERS: &str =
        "[a-zA-Z0-9_'\\-./ ’é東京がガｶгИßǅ한]|か\u{3099}|e\u{301}|ｶﾞ|\u{1112}\u{1161}|l\u{AD}";

    proptest! {
        #[test]
        fn what_the_tokeniser_gives_is_found(
            characters in prop::collection::vec(CHARACTERS, 0..40), any in "\\PC{0,20}",
        ) {
            let text = characters.concat();
            let mut tokens = Vec::new();
            tokenize(&text, usize::MAX, |token| tokens.push(token.to_owned()));
            for token in tokens {
                let mut matcher = Matcher::new(std::iter::once(token.as_str()), &[], &[]);
                let mut last = 0;
                let mut count = 0;
                let _ = matcher.find(&text, |range, number| {
                    assert!(number == 0 && range.start >= last);
                    assert!(text.get(range.clone()).is_some_and(|piece| !piece.is_empty()));
                    last = range.start;
                    count += 1;
                    ControlFlow::Continue(())
                });
                prop_assert!(count > 0, "{token:?} in {text:?}");
                for text in [&text, &any] {
                    let places = matcher.places(text, 0);
                    prop_assert!(places.iter().all(|place| text.get(place.clone()).is_some()));
                    prop_assert!(matcher.find(&any, |_, _| ControlFlow::Continue(())).is_continue());
                }
            }
        }
    }
}
