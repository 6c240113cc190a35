//! The tokeniser: turns text into index terms. These are Unicode words and, for compound identifiers, also their
//! pieces.

use std::cell::RefCell;
use std::ops::Range;

use crate::analysis::characters::{
    Class, DIGIT, JOINER, LOWER, NON_ASCII, SEPARATOR, UPPER, class, fold_into, kind,
};
use crate::analysis::dates::{DATE_BYTES, Date, LONGEST_MONTH, iso_date, month};
pub(crate) use crate::analysis::words::Token;
use crate::analysis::words::Words;

/// Maximum length of a token; longer ones are cut.
pub(crate) const MAXIMUM_TOKEN_BYTES: usize = 64;

/// A part with more transitions between letters and digits, or with more camelCase humps, is a hash or encoded data.
/// Its pieces are not indexed, because they would only enlarge the index.
const MAXIMUM_DIGIT_BORDERS: usize = 3;
const MAXIMUM_HUMPS: usize = 8;

/// Suffixes after an apostrophe that are dropped; any other text there is a word.
const SUFFIXES: [&str; 7] = ["s", "t", "d", "m", "ll", "re", "ve"];

thread_local! {
    static TOKENIZER: RefCell<Tokenizer> = RefCell::default();
}

/// Calls `emit` with each term of `text`, of which at most `maximum_bytes` are read.
///
/// `LoginForm` gives `loginform`, `login` and `form`; `/src/auth/LoginForm.tsx` gives these and `src`, `auth`, `tsx`.
/// Scripts without spaces between words give single characters and overlapping pairs. `2023-05-07` is also indexed as
/// `May 7`.
pub(crate) fn tokenize(text: &str, maximum_bytes: usize, mut emit: impl FnMut(&str)) {
    tokenize_all(text, maximum_bytes, |token| {
        if let Token::Term(term, _) = token {
            emit(term);
        }
    });
}

/// As [`tokenize`], and emits stop words as well.
pub(crate) fn tokenize_all(text: &str, maximum_bytes: usize, mut emit: impl FnMut(Token<'_>)) {
    // Taken, not borrowed: `emit` may call the tokeniser.
    let mut tokenizer = TOKENIZER.take();
    tokenizer.text(cut(text, maximum_bytes), &mut emit);
    TOKENIZER.replace(tokenizer);
}

/// As [`tokenize_all`], and says of each token whether it is a token of the opening, the first `opening` bytes of the text.
/// `opening` is a place where [`is_word_border`] holds.
pub(crate) fn tokenize_with_opening(
    text: &str,
    opening: usize,
    maximum_bytes: usize,
    mut emit: impl FnMut(Token<'_>, bool),
) {
    let mut tokenizer = TOKENIZER.take();
    let text = cut(text, maximum_bytes);
    tokenizer.part(text, 0..opening, &mut |token| emit(token, true));
    tokenizer.part(text, opening..text.len(), &mut |token| emit(token, false));
    TOKENIZER.replace(tokenizer);
}

/// Whether the tokens before `offset` are the same with and without the text that follows: no word crosses the offset, and
/// the last word before it is not a month, which the tokeniser recognises by the number after it.
pub(crate) fn is_word_border(text: &str, offset: usize) -> bool {
    let Some((before, after)) = text.split_at_checked(offset) else { return false };
    if !after.bytes().next().is_none_or(is_ascii_separator) {
        return false;
    }
    let last = before.bytes().rev().skip_while(|byte| is_ascii_separator(*byte));
    let last = last.take_while(|byte| !is_ascii_separator(*byte));
    after.is_empty() || !(3..=4).contains(&last.count())
}

/// The longest prefix of at most `maximum_bytes` that ends on a character boundary.
pub(crate) fn cut(text: &str, maximum_bytes: usize) -> &str {
    text.split_at(text.floor_char_boundary(maximum_bytes)).0
}

/// The tokeniser's state, which is reused for the next text.
#[derive(Default)]
pub(crate) struct Tokenizer {
    words: Words,
    folded: String,
    identifier: Identifier,
}

impl Tokenizer {
    /// Calls `emit` with each term and stop word of `text`.
    pub(crate) fn text(&mut self, text: &str, emit: &mut impl FnMut(Token<'_>)) {
        self.part(text, 0..text.len(), emit);
    }

    /// As [`Tokenizer::text`], for the part of `text` at `range`. No word may cross the ends of the range.
    fn part(&mut self, text: &str, range: Range<usize>, emit: &mut impl FnMut(Token<'_>)) {
        let bytes = text.as_bytes().get(..range.end).unwrap_or_default();
        let mut rest = bytes.iter().enumerate().skip(range.start);
        loop {
            let first = rest.find(|(_, byte)| kind(**byte) != SEPARATOR);
            let Some((start, first)) = first else { return };
            let mut kinds = kind(*first);
            let end = rest.find(|(_, byte)| {
                let kind = kind(**byte);
                kinds |= kind;
                kind == SEPARATOR
            });
            let end = end.map_or(bytes.len(), |(end, _)| end);
            self.bounded(text, start..end, kinds & !SEPARATOR, emit);
        }
    }

    /// Tokenises the part of a text between two ASCII separators, whose bytes have these kinds.
    fn bounded(
        &mut self,
        text: &str,
        range: Range<usize>,
        kinds: u8,
        emit: &mut impl FnMut(Token<'_>),
    ) {
        let run = text.get(range.clone()).unwrap_or_default();
        match kinds {
            LOWER => return emit(self.words.token(cut(run, MAXIMUM_TOKEN_BYTES))),
            DIGIT => return emit(Token::term(cut(run, MAXIMUM_TOKEN_BYTES))),
            _ if run.len() <= LONGEST_MONTH && kinds & UPPER != 0 => {
                let (before, after) = (text.split_at(range.start).0, text.split_at(range.end).1);
                if let Some(month) = month(before, run, after) {
                    emit_month(&mut self.words, month, emit);
                }
            }
            _ => {}
        }
        if kinds & (NON_ASCII | JOINER) == 0 {
            self.identifier.read_part_alone(run);
            self.identifier.emit(&mut self.words, emit);
        } else if kinds & NON_ASCII == 0 {
            self.run(run, emit);
        } else {
            let mut folded = std::mem::take(&mut self.folded);
            folded.clear();
            fold_into(run, &mut folded);
            self.run(&folded, emit);
            self.folded = folded;
        }
    }

    /// Tokenises folded text without ASCII separators.
    fn run(&mut self, run: &str, emit: &mut impl FnMut(Token<'_>)) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let kind = class(first);
            let length = match kind {
                Class::Unsegmented => {
                    let length = prefix(rest, |character| class(character) == Class::Unsegmented);
                    unsegmented(rest.split_at(length).0, emit);
                    length
                }
                Class::Separator | Class::Apostrophe | Class::Joiner => first.len_utf8(),
                Class::Lower | Class::Upper | Class::Digit => self.identifier(rest, emit),
            };
            rest = rest.split_at(length).1;
        }
    }

    /// Tokenises the identifier at the start of `rest`, with its apostrophe suffix. Returns its length in bytes.
    fn identifier(&mut self, rest: &str, emit: &mut impl FnMut(Token<'_>)) -> usize {
        if let Some(date) = iso_date(rest) {
            return self.date(&date, rest, emit);
        }
        let mut previous = ' ';
        let mut length = prefix(rest, |character| {
            let dash_of_prose = character == '-' && previous == '-';
            previous = character;
            !dash_of_prose && (is_alphanumeric(character) || class(character) == Class::Joiner)
        });
        let (identifier, after) = rest.split_at(length);
        if let Some(tail) = after.strip_prefix('\'') {
            let suffix = tail.split_at(prefix(tail, is_alphanumeric)).0;
            if SUFFIXES.iter().any(|known| known.eq_ignore_ascii_case(suffix)) {
                length += 1 + suffix.len();
                if suffix.eq_ignore_ascii_case("t") {
                    return length; // don't, isn't, can't: stop words
                }
            }
        }
        self.identifier.read(identifier);
        self.identifier.emit(&mut self.words, emit);
        length
    }

    /// Tokenises the date at the start of `rest`; its month and day are also emitted in the notation of prose.
    fn date(&mut self, date: &Date<'_>, rest: &str, emit: &mut impl FnMut(Token<'_>)) -> usize {
        let (digits, after) = rest.split_at(DATE_BYTES);
        self.identifier.read(digits);
        self.identifier.emit(&mut self.words, emit);
        emit_month(&mut self.words, date.month, emit);
        if date.day.len() == 1 {
            emit(Token::term(date.day));
        }
        let time = after.strip_prefix(['T', 't']);
        let has_time =
            time.is_some_and(|time| time.starts_with(|first: char| first.is_ascii_digit()));
        DATE_BYTES + usize::from(has_time)
    }
}

/// Emits a month. The word `may` is a stop word, the month is not.
fn emit_month(words: &mut Words, month: &str, emit: &mut impl FnMut(Token<'_>)) {
    emit(match words.token(month) {
        Token::StopWord(_) => Token::term(month),
        term @ Token::Term(..) => term,
    });
}

/// The length of the longest prefix whose characters are all accepted.
fn prefix(text: &str, mut accepts: impl FnMut(char) -> bool) -> usize {
    text.char_indices()
        .find(|(_, character)| !accepts(*character))
        .map_or(text.len(), |(offset, _)| offset)
}

fn is_alphanumeric(character: char) -> bool {
    matches!(class(character), Class::Lower | Class::Upper | Class::Digit)
}

/// Whether a byte separates terms: no term contains it.
pub(crate) fn is_ascii_separator(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-' | b'\'')
}

/// Emits single characters and overlapping pairs, so that any part of the text is found.
fn unsegmented(text: &str, emit: &mut impl FnMut(Token<'_>)) {
    let mut previous = None;
    for (offset, character) in text.char_indices() {
        let end = offset + character.len_utf8();
        for start in [previous, Some(offset)].into_iter().flatten() {
            emit(Token::term(text.get(start..end).unwrap_or_default()));
        }
        previous = Some(offset);
    }
}

/// Emits a lower-case word or number.
fn word(words: &mut Words, word: &str, emit: &mut impl FnMut(Token<'_>)) {
    let word = cut(word, MAXIMUM_TOKEN_BYTES);
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        emit(Token::term(word));
    } else {
        emit(words.token(word));
    }
}

/// Splits an identifier into parts at joiners, and parts into pieces.
#[derive(Default)]
struct Identifier {
    /// Lower case and without joiners, so that `loginForm`, `login_form` and `login-form` are the same term.
    whole: String,
    pieces: Vec<Range<usize>>,
    /// Parts that consist of several pieces.
    compound_parts: Vec<Range<usize>>,
    parts: usize,
}

impl Identifier {
    fn clear(&mut self) {
        self.whole.clear();
        self.pieces.clear();
        self.compound_parts.clear();
        self.parts = 0;
    }

    /// Reads an identifier without joiners.
    fn read_part_alone(&mut self, part: &str) {
        self.clear();
        self.read_part(part);
    }

    fn read(&mut self, identifier: &str) {
        self.clear();
        for part in identifier.split(['_', '-']).filter(|part| !part.is_empty()) {
            self.read_part(part);
        }
    }

    fn read_part(&mut self, part: &str) {
        let (start, first_piece) = (self.whole.len(), self.pieces.len());
        let (piece, digit_borders) =
            if part.is_ascii() { self.read_ascii(part) } else { self.read_characters(part) };
        self.pieces.push(piece..self.whole.len());
        if digit_borders > MAXIMUM_DIGIT_BORDERS || self.pieces.len() - first_piece > MAXIMUM_HUMPS
        {
            self.pieces.truncate(first_piece);
            self.pieces.push(start..self.whole.len());
        }
        if self.pieces.len() - first_piece > 1 {
            self.compound_parts.push(start..self.whole.len());
        }
        self.parts += 1;
    }

    /// Appends a part in lower case, and all of its pieces except for the last. Returns the start of the last piece, and the
    /// number of transitions between letters and digits.
    fn read_characters(&mut self, part: &str) -> (usize, usize) {
        let (mut piece, mut digit_borders) = (self.whole.len(), 0);
        let mut previous = None;
        let mut characters = part.chars().peekable();
        while let Some(character) = characters.next() {
            let kind = class(character);
            let next = characters.peek().copied();
            let digit_border = previous
                .is_some_and(|previous| (previous == Class::Digit) != (kind == Class::Digit));
            let camel_border = kind == Class::Upper
                && match previous {
                    Some(Class::Lower) => true,
                    // The last capital of HTTPServer begins a word, that of URLs does not.
                    Some(Class::Upper) => match next {
                        Some('s') => characters
                            .clone()
                            .nth(1)
                            .is_some_and(|after| class(after) == Class::Lower),
                        Some(next) => class(next) == Class::Lower,
                        None => false,
                    },
                    _ => false,
                };
            digit_borders += usize::from(digit_border);
            if digit_border || camel_border {
                self.pieces.push(piece..self.whole.len());
                piece = self.whole.len();
            }
            if character.is_ascii() {
                self.whole.push(character.to_ascii_lowercase());
            } else {
                self.whole.extend(character.to_lowercase());
            }
            previous = Some(kind);
        }
        (piece, digit_borders)
    }

    /// As [`Identifier::read_characters`], for ASCII letters and digits.
    fn read_ascii(&mut self, part: &str) -> (usize, usize) {
        let start = self.whole.len();
        let (mut piece, mut digit_borders) = (start, 0);
        let bytes = part.as_bytes();
        let kind_at = |place: usize| bytes.get(place).map(|byte| kind(*byte));
        let pairs = bytes.iter().zip(bytes.iter().skip(1));
        for (place, (before, byte)) in (1..).zip(pairs) {
            let (previous, now) = (kind(*before), kind(*byte));
            if previous == now && now != UPPER {
                continue;
            }
            let digit_border = (previous == DIGIT) != (now == DIGIT);
            let camel_border = now == UPPER
                && match (previous, bytes.get(place + 1)) {
                    (DIGIT, _) | (UPPER, None) => false,
                    (UPPER, Some(b's')) => kind_at(place + 2) == Some(LOWER),
                    (UPPER, Some(next)) => kind(*next) == LOWER,
                    _ => true,
                };
            digit_borders += usize::from(digit_border);
            if digit_border || camel_border {
                self.pieces.push(piece..start + place);
                piece = start + place;
            }
        }
        self.whole.push_str(part);
        self.whole.get_mut(start..).into_iter().for_each(str::make_ascii_lowercase);
        (piece, digit_borders)
    }

    fn emit(&self, words: &mut Words, emit: &mut impl FnMut(Token<'_>)) {
        let parts = self.compound_parts.iter().filter(|_| self.parts > 1);
        for range in self.pieces.iter().chain(parts) {
            word(words, self.whole.get(range.clone()).unwrap_or_default(), emit);
        }
        if self.pieces.len() > 1 {
            word(words, &self.whole, emit);
        }
    }
}

#[cfg(test)]
mod tests;
