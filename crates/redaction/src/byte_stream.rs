//! A document that comes as bytes, redacted in bounded memory. Bytes that are no UTF-8 pass unchanged.
//!
//! Redaction works on text. Each byte that is no UTF-8 becomes a private-use character, U+10FF80 to U+10FFFF, and becomes that byte
//! again in the output. Such a character in the input is taken for four bytes that are no UTF-8, so the mapping loses nothing.

use super::{Redaction, Report, error::Result, text_stream::TextStream};

/// The character of byte 0 would be this one. Only bytes from 0x80 on need one.
const FIRST: u32 = 0x10_FF00;
/// How the UTF-8 of every such character begins.
const LEAD: u8 = 0xF4;

/// Redacts a document that comes as bytes, as [`TextStream::of_document`] does.
#[derive(Debug)]
pub struct ByteStream {
    stream: TextStream,
    /// The beginning of a character whose rest has not come yet.
    unfinished: Vec<u8>,
    /// The text of what came, and what is redacted of it; kept for their capacity.
    text: String,
    redacted: String,
    has_escapes: bool,
}

impl ByteStream {
    /// Without a redaction everything stays what it is.
    #[must_use]
    pub fn new(redaction: Option<Redaction>) -> Self {
        Self {
            stream: TextStream::of_document(redaction),
            unfinished: Vec::new(),
            text: String::new(),
            redacted: String::new(),
            has_escapes: false,
        }
    }

    /// Adds a piece; appends to `out` what is redacted of the document since.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed): the document must not be written then.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.unfinished.is_empty() {
            let rest = self.decode(piece);
            self.unfinished.extend_from_slice(rest);
        } else {
            let mut joined = std::mem::take(&mut self.unfinished);
            joined.extend_from_slice(piece);
            self.unfinished = self.decode(&joined).to_vec();
        }
        self.stream.push(&self.text, &mut self.redacted)?;
        self.encode(out);
        Ok(())
    }

    /// Appends what is left of the document.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed), as [`ByteStream::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let unfinished = std::mem::take(&mut self.unfinished);
        self.text.clear();
        self.escape(&unfinished);
        self.stream.push(&self.text, &mut self.redacted)?;
        self.stream.finish(&mut self.redacted)?;
        self.encode(out);
        Ok(())
    }

    /// What was found.
    #[must_use]
    pub fn report(self) -> Report {
        self.stream.report()
    }

    /// Puts the text of `bytes` into `text`; returns what begins a character that is not complete.
    fn decode<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        self.text.clear();
        let mut rest = bytes;
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.add(text);
                    return &[];
                }
                Err(error) => {
                    let (valid, others) = rest.split_at(error.valid_up_to());
                    self.add(std::str::from_utf8(valid).unwrap_or_default());
                    let Some(length) = error.error_len() else { return others };
                    let (invalid, others) = others.split_at(length.min(others.len()));
                    self.escape(invalid);
                    rest = others;
                }
            }
        }
    }

    /// Adds text, in which the characters that stand for bytes are escaped themselves.
    fn add(&mut self, text: &str) {
        let mut rest = text;
        while let Some(Escaped { before, character, after, .. }) = next_escaped(rest) {
            self.text.push_str(before);
            self.escape(character.as_bytes());
            rest = after;
        }
        self.text.push_str(rest);
    }

    fn escape(&mut self, bytes: &[u8]) {
        self.has_escapes |= !bytes.is_empty();
        let escaped = bytes.iter().filter_map(|byte| char::from_u32(FIRST + u32::from(*byte)));
        self.text.extend(escaped);
    }

    /// Moves what is redacted to `out`.
    fn encode(&mut self, out: &mut Vec<u8>) {
        let mut rest = self.redacted.as_str();
        if self.has_escapes {
            while let Some(Escaped { before, byte, after, .. }) = next_escaped(rest) {
                out.extend_from_slice(before.as_bytes());
                out.push(byte);
                rest = after;
            }
        }
        out.extend_from_slice(rest.as_bytes());
        self.redacted.clear();
    }
}

/// A character that stands for a byte, and the text around it.
struct Escaped<'a> {
    before: &'a str,
    character: &'a str,
    byte: u8,
    after: &'a str,
}

/// The first character of a text that stands for a byte.
fn next_escaped(text: &str) -> Option<Escaped<'_>> {
    memchr::memchr_iter(LEAD, text.as_bytes()).find_map(|at| {
        let (before, from) = text.split_at_checked(at)?;
        let character = from.chars().next()?;
        let byte = u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()?;
        let (character, after) = from.split_at(character.len_utf8());
        (byte >= 0x80).then_some(Escaped { before, character, byte, after })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{EnvironmentValues, RedactionOptions, Redactor};

    fn redaction() -> Redaction {
        let redactor = Redactor::new(RedactionOptions::default()).unwrap();
        Redaction::new(redactor, Arc::new(EnvironmentValues::default()))
    }

    /// In two parts: hosting services refuse pushes that hold a whole one.
    fn secret() -> String {
        ["gh", "p_", "Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq"].concat()
    }

    fn streamed(pieces: &[&[u8]]) -> (Vec<u8>, Report) {
        let mut stream = ByteStream::new(Some(redaction()));
        let mut out = Vec::new();
        for piece in pieces {
            stream.push(piece, &mut out).unwrap();
        }
        stream.finish(&mut out).unwrap();
        (out, stream.report())
    }

    #[test]
    fn a_secret_between_bytes_that_are_no_text_is_found() {
        let line = format!("token={}\n", secret());
        let input = [&[0xff, 0xc3, 0x28, b'\n'], line.as_bytes(), &[0xe2, 0x82]].concat();
        for size in 1..input.len() {
            let (out, report) = streamed(&input.chunks(size).collect::<Vec<_>>());
            assert_eq!(out.get(..4).unwrap(), &[0xff, 0xc3, 0x28, b'\n']);
            assert_eq!(out.get(out.len() - 2..).unwrap(), &[0xe2, 0x82]);
            assert!(out.windows(10).any(|part| part == b"[REDACTED:"));
            assert_eq!(report.total(), 1);
        }
    }

    #[test]
    fn characters_that_stand_for_bytes_pass_unchanged() {
        let text = "a\u{10ff80}b\u{10ffff}\u{10ff7f}\u{10fffd}é😀".as_bytes();
        let (out, _) = streamed(&[text, &[0xff], text]);
        assert_eq!(out, [text, &[0xff], text].concat());
    }

    proptest! {
        #[test]
        fn any_split_of_any_bytes_gives_the_same(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xf4), Just(0x8f), Just(0xbe), Just(0x80)], 0..300),
            cut in any::<prop::sample::Index>(),
        ) {
            let (left, right) = bytes.split_at(cut.index(bytes.len() + 1));
            let whole = streamed(&[&bytes]);
            prop_assert_eq!(&streamed(&[left, right]), &whole);
            if whole.1.is_empty() {
                prop_assert_eq!(whole.0, bytes);
            }
        }
    }
}
