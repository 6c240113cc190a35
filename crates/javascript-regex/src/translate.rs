//! Translates JavaScript's regular expressions to the syntax of the `regex` crate. Matching works on characters, so
//! that the flag `u` only decides which escapes are valid. The caller that compiles the translation decides what `^`
//! and `$` mean and whether letters have a case.

use std::fmt::Write;

use super::error::{PatternError, error_in};

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str =
    r"\t-\r\x20\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";
const NOT_LINE_END: &str = r"[^\n\r\x{2028}\x{2029}]";
const ANYTHING: &str = "(?s:.)";
const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

/// An expression in the syntax of the `regex` crate. Groups named `secret` get this name and a number; all other groups
/// do not capture.
#[derive(Debug)]
pub struct Translated {
    /// The expression.
    pub expression: String,
    /// The byte offsets of its parts, with the characters of the source that they come from.
    origins: Vec<(usize, usize)>,
}

impl Translated {
    /// The error of a translation that does not compile, with the position in the source.
    #[must_use]
    pub fn error(&self) -> PatternError {
        let (offset, reason) = error_in(&self.expression);
        let parts = self.origins.partition_point(|(start, _)| *start <= offset);
        let origin = parts.checked_sub(1).and_then(|part| self.origins.get(part));
        PatternError { position: origin.map_or(0, |(_, position)| *position), reason }
    }
}

/// Translates a `RegExp`'s `source`.
///
/// # Errors
/// The position and the reason, when a flag is not supported, or the source is malformed or needs backtracking.
pub fn translate(source: &str, flags: &str) -> Result<Translated, PatternError> {
    if let Some(flag) = flags.chars().find(|flag| !"dgimsu".contains(*flag)) {
        return Err(PatternError {
            position: 0,
            reason: format!("the flag {flag} is not supported"),
        });
    }
    let mut translation = Translation {
        source: source.chars().collect(),
        at: 0,
        is_unicode: flags.contains('u'),
        dot: if flags.contains('s') { ANYTHING } else { NOT_LINE_END },
        secrets: 0,
        out: String::new(),
        origins: Vec::new(),
    };
    translation.run()?;
    Ok(Translated { expression: translation.out, origins: translation.origins })
}

struct Translation {
    source: Vec<char>,
    at: usize,
    is_unicode: bool,
    /// The translation of `.`.
    dot: &'static str,
    /// The number of groups named `secret` so far.
    secrets: usize,
    out: String,
    origins: Vec<(usize, usize)>,
}

/// The meaning of an escape sequence, or of a plain character in a class.
enum Atom {
    Character(char),
    /// The contents of a class, and whether it is negated.
    Set(&'static str, bool),
    /// `\p{…}`, unchanged.
    Property(String),
    /// `\b` and `\B`.
    Boundary(char),
}

impl Translation {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.source.get(self.at + ahead).copied()
    }

    fn error<T>(&self, position: usize, reason: &str) -> Result<T, PatternError> {
        Err(PatternError { position, reason: reason.to_owned() })
    }

    fn run(&mut self) -> Result<(), PatternError> {
        while let Some(character) = self.peek(0) {
            self.origins.push((self.out.len(), self.at));
            match character {
                '\\' => match self.escape()? {
                    Atom::Character(character) => push_character(&mut self.out, character),
                    Atom::Set(set, is_negated) => {
                        let mark = if is_negated { "^" } else { "" };
                        let _ = write!(self.out, "[{mark}{set}]");
                    }
                    Atom::Property(property) => self.out.push_str(&property),
                    Atom::Boundary(letter) => {
                        let _ = write!(self.out, r"(?-u:\{letter})");
                    }
                },
                '[' => self.class()?,
                '(' => self.group()?,
                '.' => {
                    self.out.push_str(self.dot);
                    self.at += 1;
                }
                '{' => self.brace(),
                '*' | '+' | '?' | '|' | ')' | '^' | '$' => {
                    self.out.push(character);
                    self.at += 1;
                }
                _ => {
                    push_character(&mut self.out, character);
                    self.at += 1;
                }
            }
        }
        Ok(())
    }

    /// Translates the start of a group.
    fn group(&mut self) -> Result<(), PatternError> {
        let start = self.at;
        self.at += 1;
        if self.peek(0) == Some('?') {
            let kind = (self.peek(1), self.peek(2));
            match kind {
                (Some(':'), _) => self.at += 2,
                (Some('='), _) | (Some('!'), _) | (Some('<'), Some('=' | '!')) => {
                    return self.error(start, "look-around is not supported");
                }
                (Some('<'), _) => {
                    let rest = self.source.get(self.at + 2..).unwrap_or_default();
                    let name: String =
                        rest.iter().take_while(|&&character| character != '>').collect();
                    self.at += 3 + name.chars().count();
                    if name == "secret" {
                        let _ = write!(self.out, "(?<secret{}>", self.secrets);
                        self.secrets += 1;
                        return Ok(());
                    }
                }
                _ => return self.error(start, "flags of a group are not supported"),
            }
        }
        self.out.push_str("(?:");
        Ok(())
    }

    /// Translates a quantifier, or a plain brace.
    fn brace(&mut self) {
        let rest = self.source.get(self.at + 1..).unwrap_or_default();
        let inside: String = rest.iter().take_while(|&&character| character != '}').collect();
        let (least, most) = inside.split_once(',').unwrap_or((&inside, ""));
        let is_number = |text: &str| text.chars().all(|character| character.is_ascii_digit());
        let is_closed = rest.len() > inside.chars().count();
        if is_closed && !least.is_empty() && is_number(least) && is_number(most) {
            let _ = write!(self.out, "{{{inside}}}");
            self.at += inside.len() + 2;
        } else {
            push_character(&mut self.out, '{');
            self.at += 1;
        }
    }

    /// Translates a character class.
    fn class(&mut self) -> Result<(), PatternError> {
        let start = self.at;
        self.at += 1;
        let is_negated = self.peek(0) == Some('^');
        self.at += usize::from(is_negated);
        let mut inside = String::new();
        loop {
            match self.peek(0) {
                None => return self.error(start, "a class is not closed"),
                Some(']') => break,
                Some(_) => {}
            }
            let from = self.class_atom()?;
            let is_range =
                self.peek(0) == Some('-') && self.peek(1).is_some_and(|next| next != ']');
            match from {
                Atom::Character(from) if is_range => {
                    let position = self.at;
                    self.at += 1;
                    match self.class_atom()? {
                        Atom::Character(to) if to < from => {
                            return self.error(position, "a range is out of order");
                        }
                        Atom::Character(to) => {
                            push_code(&mut inside, from);
                            inside.push('-');
                            push_code(&mut inside, to);
                        }
                        // A class at the end of a range makes its hyphen a literal.
                        other => {
                            push_code(&mut inside, from);
                            push_code(&mut inside, '-');
                            push_atom(&mut inside, &other);
                        }
                    }
                }
                other => push_atom(&mut inside, &other),
            }
        }
        self.at += 1;
        match (inside.is_empty(), is_negated) {
            (true, true) => self.out.push_str(ANYTHING),
            (true, false) => self.out.push_str(NOTHING),
            (false, _) => {
                let mark = if is_negated { "^" } else { "" };
                let _ = write!(self.out, "[{mark}{inside}]");
            }
        }
        Ok(())
    }

    fn class_atom(&mut self) -> Result<Atom, PatternError> {
        match self.peek(0) {
            Some('\\') => Ok(match self.escape()? {
                Atom::Boundary('b') => Atom::Character('\u{8}'),
                Atom::Boundary(letter) => Atom::Character(letter),
                other => other,
            }),
            character => {
                self.at += 1;
                Ok(Atom::Character(character.unwrap_or_default()))
            }
        }
    }

    /// Reads an escape sequence; `at` is its backslash.
    fn escape(&mut self) -> Result<Atom, PatternError> {
        let start = self.at;
        let Some(letter) = self.peek(1) else { return self.error(start, "an escape is cut off") };
        self.at += 2;
        Ok(match letter {
            'd' | 'D' => Atom::Set(DIGIT, letter == 'D'),
            'w' | 'W' => Atom::Set(WORD, letter == 'W'),
            's' | 'S' => Atom::Set(SPACE, letter == 'S'),
            'b' | 'B' => Atom::Boundary(letter),
            't' => Atom::Character('\t'),
            'n' => Atom::Character('\n'),
            'r' => Atom::Character('\r'),
            'f' => Atom::Character('\u{c}'),
            'v' => Atom::Character('\u{b}'),
            '0' if !self.peek(0).is_some_and(|next| next.is_ascii_digit()) => Atom::Character('\0'),
            '0'..='9' | 'k' => {
                return self.error(start, "back references are not supported");
            }
            'c' if self.peek(0).is_some_and(|next| next.is_ascii_alphabetic()) => {
                let control = self.peek(0).unwrap_or_default() as u32 % 32;
                self.at += 1;
                Atom::Character(char::from_u32(control).unwrap_or_default())
            }
            'x' => match self.hexadecimal(2) {
                Some(code) => Atom::Character(char::from_u32(code).unwrap_or_default()),
                None => Atom::Character('x'),
            },
            'u' => return self.unicode_escape(start),
            'p' | 'P' if self.is_unicode => {
                let rest = self.source.get(self.at..).unwrap_or_default();
                let name: String = rest.iter().take_while(|&&character| character != '}').collect();
                self.at += name.chars().count() + 1;
                Atom::Property(format!(r"\{letter}{name}}}"))
            }
            _ => Atom::Character(letter),
        })
    }

    /// Reads the rest of an escape after `\u`.
    fn unicode_escape(&mut self, start: usize) -> Result<Atom, PatternError> {
        if self.is_unicode && self.peek(0) == Some('{') {
            let rest = self.source.get(self.at + 1..).unwrap_or_default();
            let digits: String = rest.iter().take_while(|&&character| character != '}').collect();
            self.at += digits.chars().count() + 2;
            let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
            return match code {
                Some(character) => Ok(Atom::Character(character)),
                None => self.error(start, "an escape is no character"),
            };
        }
        let Some(first) = self.hexadecimal(4) else { return Ok(Atom::Character('u')) };
        if let Some(character) = char::from_u32(first) {
            return Ok(Atom::Character(character));
        }
        // One half of a surrogate pair, possibly followed by the other.
        if (self.peek(0), self.peek(1)) == (Some('\\'), Some('u')) {
            self.at += 2;
            let second = self.hexadecimal(4).unwrap_or_default();
            let units = [first, second].map(|unit| u16::try_from(unit).unwrap_or_default());
            if let Some(Ok(character)) = char::decode_utf16(units).next() {
                return Ok(Atom::Character(character));
            }
        }
        self.error(start, "half of a surrogate pair is no character")
    }

    /// Reads this number of hexadecimal digits.
    fn hexadecimal(&mut self, digits: usize) -> Option<u32> {
        let text: String = self.source.get(self.at..self.at + digits)?.iter().collect();
        let is_plain = text.chars().all(|digit| digit.is_ascii_hexdigit());
        let code = is_plain.then(|| u32::from_str_radix(&text, 16).ok()).flatten()?;
        self.at += digits;
        Some(code)
    }
}

/// A plain character outside a class.
fn push_character(out: &mut String, character: char) {
    if character.is_ascii_alphanumeric() {
        out.push(character);
    } else {
        push_code(out, character);
    }
}

fn push_code(out: &mut String, character: char) {
    let _ = write!(out, r"\x{{{:X}}}", u32::from(character));
}

/// Appends the contents of a class.
fn push_atom(out: &mut String, atom: &Atom) {
    match atom {
        Atom::Character(character) | Atom::Boundary(character) => push_code(out, *character),
        Atom::Set(set, false) => out.push_str(set),
        Atom::Set(set, true) => {
            let _ = write!(out, "[^{set}]");
        }
        Atom::Property(property) => out.push_str(property),
    }
}
