//! Redacts a document that arrives as bytes, in bounded memory. Bytes that are not UTF-8 pass unchanged, except within
//! replaced text.
//!
//! Redaction works on text. Each byte that is not UTF-8 is mapped to a private-use character, U+10FF80 to U+10FFFF, and
//! mapped back in the output. A character of this range in the input is handled as four such bytes, so the mapping is
//! lossless.

use super::{Redaction, Report, error::Result, text_stream::TextStream};

/// The character that byte 0 would be mapped to. Only bytes from 0x80 are mapped.
const FIRST: u32 = 0x10_FF00;
/// The first byte of the UTF-8 encoding of every such character.
const LEAD: u8 = 0xF4;

/// Redacts a document that arrives as bytes, as [`TextStream::of_document`] does.
#[derive(Debug)]
pub struct ByteStream {
    stream: TextStream,
    /// The bytes of an incomplete character at the end of the last piece.
    unfinished: Vec<u8>,
    /// The text of the current piece, and the redacted text. The buffers are reused.
    text: String,
    redacted: String,
    has_escapes: bool,
}

impl ByteStream {
    /// Without a redaction, the document stays unchanged.
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

    /// Adds a piece, and appends the newly redacted part of the document to `out`.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed): the document must not be written in this case.
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

    /// Ends the document, and appends the rest of it to `out`.
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

    /// The findings of the complete document.
    #[must_use]
    pub fn report(self) -> Report {
        self.stream.report()
    }

    /// Decodes `bytes` into `text`; returns an incomplete character at their end.
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

    /// Appends text. Characters of the mapped range are escaped.
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

    /// Moves the redacted text to `out`.
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

/// A character that represents a byte, and the text around it.
struct Escaped<'a> {
    before: &'a str,
    character: &'a str,
    byte: u8,
    after: &'a str,
}

/// The first character of a text that represents a byte.
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

    /// In two parts: hosting services refuse pushes that contain a complete one.
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
