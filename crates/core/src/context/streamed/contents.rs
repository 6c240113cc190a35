//! The redacted data of a stream so far, in temporary files, and its JSON text.

use std::mem;

use json_text::Encoded;
use redaction::{ElementStream, Redaction, RedactionSession, Report, TextStream};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use storage::{FileError, FileResult, Spool};

use super::{
    super::bytes::{self, GivenBytes, Part, PlacedParts},
    place::StreamPlace,
};
use crate::error::{Code, Error, Result};

/// The space for the record's member `bytes`, in bytes.
const REFERENCE: usize = 512;
/// The size of writes, in bytes.
const AT_ONCE: usize = 64 * 1024;

/// The type of a stream, judging by the pieces so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// UTF-8.
    Text,
    /// Bytes that are not UTF-8.
    Bytes,
    /// Other values, as elements of an array.
    Elements,
}

/// The redacted data of a stream.
pub(super) struct Contents {
    place: StreamPlace,
    form: Form,
    /// The text, the bytes, or the elements with commas between them.
    main: Spool,
    /// The binary data within elements.
    held: Option<Spool>,
    parts: Vec<Part>,
    /// The number of elements.
    elements: u64,
    /// The size of the JSON in bytes.
    size: usize,
    limit: usize,
    is_full: bool,
    /// The number of line ends in the text.
    line_ends: usize,
    /// The first bytes of a character whose rest has not come yet.
    unfinished: Vec<u8>,
    text: TextStream,
    element_stream: ElementStream,
    /// Redacts the binary data within elements.
    pass: RedactionSession,
    /// The reference that replaces the bytes of a binary stream, once that is complete.
    reference: Vec<u8>,
}

impl Contents {
    /// Empty contents in the file `main`.
    pub fn new(
        place: StreamPlace,
        main: Spool,
        redaction: Option<Redaction>,
        limit: usize,
    ) -> Self {
        Self {
            main,
            place,
            form: Form::Text,
            held: None,
            parts: Vec::new(),
            elements: 0,
            size: 2,
            limit,
            is_full: false,
            line_ends: 0,
            unfinished: Vec::new(),
            text: TextStream::new(redaction.clone()),
            element_stream: ElementStream::new(redaction.clone()),
            pass: RedactionSession::new(redaction),
            reference: Vec::new(),
        }
    }

    /// Whether the limit is reached.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// The size of the JSON in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    pub const fn form(&self) -> Form {
        self.form
    }

    pub const fn elements(&self) -> u64 {
        self.elements
    }

    pub const fn line_ends(&self) -> usize {
        self.line_ends
    }

    /// The text, the bytes, or the elements with commas between them.
    pub const fn main(&self) -> &Spool {
        &self.main
    }

    /// The binary data that is the result, or that is within its elements.
    pub fn bytes(&self) -> Option<&Spool> {
        match self.form {
            Form::Bytes => Some(&self.main),
            Form::Text | Form::Elements => self.held.as_ref(),
        }
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The reference that replaces the bytes of a binary stream.
    pub fn reference(&self) -> &[u8] {
        &self.reference
    }

    fn refused(&self, error: FileError) -> Error {
        self.place.refused(error)
    }

    /// Adds UTF-8 text or bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_full {
            return Ok(());
        }
        match self.form {
            Form::Text => self.add_text(bytes),
            Form::Bytes => self.append_bytes(bytes),
            Form::Elements => Err(Error::internal("bytes came behind elements")),
        }
    }

    fn add_text(&mut self, bytes: &[u8]) -> Result<()> {
        let mut unfinished = mem::take(&mut self.unfinished);
        let joined: &[u8] = if unfinished.is_empty() {
            bytes
        } else {
            unfinished.extend_from_slice(bytes);
            &unfinished
        };
        let (valid, is_text) = match str::from_utf8(joined) {
            Ok(text) => (text.len(), true),
            Err(error) => (error.valid_up_to(), error.error_len().is_none()),
        };
        let (text, rest) = joined.split_at(valid);
        let mut redacted = String::new();
        self.text.push(str::from_utf8(text).unwrap_or_default(), &mut redacted)?;
        self.append_text(&redacted)?;
        if is_text {
            self.unfinished = rest.to_vec();
            return Ok(());
        }
        self.become_bytes()?;
        self.append_bytes(rest)
    }

    fn finish_text(&mut self) -> Result<()> {
        let mut redacted = String::new();
        self.text.finish(&mut redacted)?;
        self.append_text(&redacted)
    }

    /// Switches from text to bytes. Text that was redacted before stays redacted.
    fn become_bytes(&mut self) -> Result<()> {
        self.finish_text()?;
        self.form = Form::Bytes;
        self.size = REFERENCE + usize::try_from(self.main.length()).unwrap_or(usize::MAX);
        Ok(())
    }

    /// Adds redacted text, up to the limit.
    fn append_text(&mut self, text: &str) -> Result<()> {
        let mut rest = text;
        let mut escaped = Vec::new();
        while !rest.is_empty() && !self.is_full {
            let (mut piece, left) = rest.split_at(rest.floor_char_boundary(AT_ONCE));
            let mut length = escaped_length(piece, &mut escaped);
            if self.size + length > self.limit {
                self.is_full = true;
                piece = fitting(piece, self.limit - self.size.min(self.limit));
                length = escaped_length(piece, &mut escaped);
            }
            self.main.append(piece.as_bytes()).map_err(|error| self.refused(error))?;
            self.line_ends += memchr::memchr_iter(b'\n', piece.as_bytes()).count();
            self.size += length;
            rest = left;
        }
        Ok(())
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let room = self.limit.saturating_sub(self.size);
        self.is_full = self.is_full || bytes.len() > room;
        let kept = bytes.get(..bytes.len().min(room)).unwrap_or_default();
        self.main.append(kept).map_err(|error| self.refused(error))?;
        self.size += kept.len();
        Ok(())
    }

    /// Adds elements. The text or the bytes before them become the first element.
    pub fn add_elements(&mut self, array: &Encoded, given: Option<GivenBytes>) -> Result<()> {
        if self.is_full {
            return Ok(());
        }
        if self.form != Form::Elements {
            self.become_elements()?;
        }
        let mut json = Vec::new();
        array.write(&mut json).map_err(|_| {
            Error::new(Code::InvalidArgument, "a stream's values could not be turned into JSON")
        })?;
        let taken = bytes::take(&mut json, 0, given, &mut self.pass)?;
        // Elements with binary data are redacted at once, because their bytes are in this piece.
        self.element_stream.redact(&mut json, taken.is_some())?;
        let placed = taken.and_then(|taken| taken.place(&mut json, 0, None));
        self.append_elements(&json, placed)
    }

    fn append_elements(&mut self, array: &[u8], placed: Option<PlacedParts>) -> Result<()> {
        let inside = array.get(1..array.len().saturating_sub(1)).unwrap_or_default();
        if inside.is_empty() {
            return Ok(());
        }
        let (parts, contents) =
            placed.map_or_else(Default::default, |placed| (placed.parts, placed.contents));
        let bytes: usize = contents.iter().map(Vec::len).sum();
        if self.size + inside.len() + 1 + bytes > self.limit {
            self.is_full = true;
            return Ok(());
        }
        for contents in contents {
            if self.held.is_none() {
                self.held = Some(self.place.spool()?);
            }
            if let Some(held) = &mut self.held {
                held.append(&contents).map_err(|error| self.place.refused(error))?;
            }
        }
        for part in parts {
            self.parts.push(Part { path: moved(&part.path, self.elements), ..part });
        }
        if self.elements > 0 {
            self.main.append(b",").map_err(|error| self.refused(error))?;
        }
        self.main.append(inside).map_err(|error| self.refused(error))?;
        self.size += inside.len() + 1 + bytes;
        self.elements += count(array);
        Ok(())
    }

    fn become_elements(&mut self) -> Result<()> {
        self.complete(false, None)?;
        let mut first = self.place.spool()?;
        if self.main.length() > 0 {
            self.write_result(&mut |piece| first.append(piece))
                .map_err(|error| self.refused(error))?;
            self.elements = 1;
        }
        for part in &mut self.parts {
            part.path = element_path(0);
        }
        let before = mem::replace(&mut self.main, first);
        self.held = Some(before).filter(|_| self.form == Form::Bytes);
        self.form = Form::Elements;
        self.size += 2;
        Ok(())
    }

    /// Ends the stream. If it `is_cut`, an incomplete character at its end is dropped.
    pub fn complete(&mut self, is_cut: bool, media_type: Option<&str>) -> Result<()> {
        let unfinished = mem::take(&mut self.unfinished);
        match self.form {
            Form::Text if !unfinished.is_empty() && !is_cut && !self.is_full => {
                self.become_bytes()?;
                self.append_bytes(&unfinished)?;
            }
            Form::Text => self.finish_text()?,
            Form::Bytes => {}
            Form::Elements if self.is_full => {}
            Form::Elements => {
                let mut waiting = b"[]".to_vec();
                self.element_stream.redact(&mut waiting, true)?;
                self.append_elements(&waiting, None)?;
            }
        }
        if self.form == Form::Bytes {
            let mut digest = Sha256::new();
            let update = |piece: &[u8]| {
                digest.update(piece);
                FileResult::Ok(())
            };
            self.main.read_all(update).map_err(|error| self.refused(error))?;
            let beginning = self.main.read(0, AT_ONCE).map_err(|error| self.refused(error))?;
            let sha256 = bytes::hex(&digest.finalize());
            let made = bytes::streamed_part(&beginning, self.main.length(), sha256, media_type);
            let (reference, part) =
                made.ok_or_else(|| Error::internal("bytes of a stream have no reference"))?;
            self.reference = reference;
            self.parts = vec![part];
        }
        Ok(())
    }

    /// Changes the paths of the parts for a stream that becomes the member `name` of an object.
    pub fn move_parts(&mut self, name: &str) {
        for part in &mut self.parts {
            let inside = part.path.get().trim_start_matches('[');
            let comma = if inside == "]" { "" } else { "," };
            let path = format!("[{}{comma}{inside}", json_text::string_token(name));
            if let Ok(path) = RawValue::from_string(path) {
                part.path = path;
            }
        }
    }

    /// The report on redacted secrets.
    pub fn report(&mut self) -> Report {
        let mut report = mem::replace(&mut self.text, TextStream::new(None)).report();
        report.add_all(&mem::replace(&mut self.element_stream, ElementStream::new(None)).report());
        report.add_all(&mem::replace(&mut self.pass, RedactionSession::new(None)).report());
        report
    }

    /// Writes the JSON of the result in pieces.
    pub fn write_result(&self, write: &mut dyn FnMut(&[u8]) -> FileResult<()>) -> FileResult<()> {
        match self.form {
            Form::Bytes => write(&self.reference),
            Form::Elements => {
                write(b"[")?;
                self.main.read_all(&mut *write)?;
                write(b"]")
            }
            Form::Text => {
                write(b"\"")?;
                let (mut unfinished, mut escaped) = (Vec::new(), Vec::new());
                self.main.read_all(|piece| {
                    unfinished.extend_from_slice(piece);
                    let valid = match str::from_utf8(&unfinished) {
                        Ok(text) => text.len(),
                        Err(error) => error.valid_up_to(),
                    };
                    let text = unfinished.get(..valid).and_then(|text| str::from_utf8(text).ok());
                    let length = escaped_length(text.unwrap_or_default(), &mut escaped);
                    write(escaped.get(1..=length).unwrap_or_default())?;
                    unfinished.drain(..valid);
                    FileResult::Ok(())
                })?;
                write(b"\"")
            }
        }
    }
}

/// The length of a text as a JSON string, without the quotes; the string itself is in `escaped`.
fn escaped_length(text: &str, escaped: &mut Vec<u8>) -> usize {
    escaped.clear();
    json_text::escape_string(text, escaped);
    escaped.len() - 2
}

/// The longest beginning of a text that takes at most `room` bytes in a JSON string.
fn fitting(text: &str, room: usize) -> &str {
    let mut escaped = Vec::new();
    let mut taken = 0;
    let mut end = 0;
    for (at, character) in text.char_indices() {
        taken += escaped_length(character.encode_utf8(&mut [0; 4]), &mut escaped);
        if taken > room {
            break;
        }
        end = at + character.len_utf8();
    }
    text.get(..end).unwrap_or_default()
}

/// The number of elements of an array.
fn count(array: &[u8]) -> u64 {
    let mut count = 0;
    let mut depth = 0_usize;
    let _ = json_text::walk_value(array, 0, |token| {
        use json_text::Token::{ArrayEnd, ArrayStart, Key, ObjectEnd, ObjectStart};
        let is_value = !matches!(token, Key(_) | ArrayEnd | ObjectEnd);
        count += u64::from(is_value && depth == 1);
        match token {
            ArrayStart | ObjectStart => depth += 1,
            ArrayEnd | ObjectEnd => depth = depth.saturating_sub(1),
            _ => {}
        }
        std::ops::ControlFlow::Continue(())
    });
    count
}

fn element_path(index: u64) -> Box<RawValue> {
    RawValue::from_string(format!("[{index}]")).unwrap_or_default()
}

/// The path of a part in a batch of elements, with `before` elements before the batch.
fn moved(path: &RawValue, before: u64) -> Box<RawValue> {
    let inside = path.get().trim_start_matches('[');
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    let (index, rest) = inside.split_at(digits);
    let index = index.parse::<u64>().unwrap_or_default() + before;
    RawValue::from_string(format!("[{index}{rest}")).unwrap_or_else(|_| element_path(index))
}
