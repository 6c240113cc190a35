//! Replaces the markers of binary data with references, after the result was redacted. If redaction replaced a marker,
//! its bytes are dropped and not stored.

use std::{mem, ops::ControlFlow};

use json_text::Token;
use serde_json::{json, value::RawValue};
use storage::Payload;

use super::{
    file,
    part::{Form, Part, digest_of},
    taking::{Taken, TakenPart},
};

const UNKNOWN_TYPE: &str = "application/octet-stream";

/// The references of a result and the file with its bytes.
pub struct Placed {
    /// The record's member `bytes`, JSON.
    pub token: String,
    /// The parsed member.
    pub parts: Vec<Part>,
    /// The contents of the file.
    pub file: Payload,
}

/// As [`Placed`], before the file's contents are assembled.
pub struct PlacedParts {
    pub parts: Vec<Part>,
    /// The bytes of each part.
    pub contents: Vec<Vec<u8>>,
}

impl PlacedParts {
    /// The record's member and the file. `session` is a JSON token.
    pub fn into_file(self, session: &str, is_text_only: bool) -> Option<Placed> {
        let Self { parts, contents } = self;
        let token = member(&parts)?;
        let file = Payload::new(file::write(session, &contents, is_text_only));
        Some(Placed { token, parts, file })
    }
}

/// The record's member, JSON.
pub fn member(parts: &[Part]) -> Option<String> {
    serde_json::to_string(parts).ok()
}

/// The reference that replaces a part, and its properties.
struct Reference {
    token: Vec<u8>,
    part: Part,
}

impl Taken {
    /// Replaces the markers in the JSON in `text` from `start` on, and in `raw`, the JSON before redaction. `None` if
    /// no marker is left.
    pub fn place(
        mut self,
        text: &mut Vec<u8>,
        start: usize,
        raw: Option<&mut Vec<u8>>,
    ) -> Option<PlacedParts> {
        let references: Vec<Reference> = self.parts.iter().filter_map(reference).collect();
        if let Some(raw) = raw {
            _ = replace(raw, 0, &self.marker, &references);
        }
        let places = replace(text, start, &self.marker, &references);
        let mut parts = Vec::with_capacity(places.len());
        let mut contents = Vec::with_capacity(places.len());
        for (index, path) in places {
            let Some(Reference { part, .. }) = references.get(index) else { continue };
            parts.push(Part { path, ..part.clone() });
            contents.push(self.parts.get_mut(index).map(|part| mem::take(&mut part.contents))?);
        }
        (!parts.is_empty()).then_some(PlacedParts { parts, contents })
    }
}

fn reference(taken: &TakenPart) -> Option<Reference> {
    let TakenPart { contents, media_type, form, prefix } = taken;
    let digest = digest_of(contents);
    reference_to(
        contents,
        contents.len() as u64,
        digest,
        media_type.as_deref(),
        *form,
        prefix.as_deref(),
    )
}

/// A reference to `size` bytes with this beginning; `sha256` is the digest of all of them.
fn reference_to(
    beginning: &[u8],
    size: u64,
    sha256: String,
    media_type: Option<&str>,
    form: Form,
    prefix: Option<&str>,
) -> Option<Reference> {
    let image = imagesize::image_type(beginning).ok();
    let dimensions = image.and_then(|_| imagesize::blob_size(beginning).ok());
    let recognised = image.and_then(|image| match image {
        imagesize::ImageType::Png => Some("image/png"),
        imagesize::ImageType::Jpeg => Some("image/jpeg"),
        imagesize::ImageType::Gif => Some("image/gif"),
        imagesize::ImageType::Webp => Some("image/webp"),
        _ => None,
    });
    let media_type = media_type.or(recognised).unwrap_or(UNKNOWN_TYPE);
    let part = Part {
        path: RawValue::from_string("[]".to_owned()).ok()?,
        size,
        sha256,
        media_type: media_type.to_owned(),
        form,
        prefix: prefix.map(str::to_owned),
        width: dimensions.map(|size| size.width as u64),
        height: dimensions.map(|size| size.height as u64),
    };
    let mut said = json!({
        "type": "bytes",
        "mediaType": part.media_type,
        "size": part.size,
        "sha256": part.sha256,
    });
    if let (Some(said), Some(width), Some(height)) = (said.as_object_mut(), part.width, part.height)
    {
        said.insert("width".to_owned(), json!(width));
        said.insert("height".to_owned(), json!(height));
    }
    Some(Reference { token: said.to_string().into_bytes(), part })
}

/// For a stream of bytes, of which only the beginning is in memory: the reference and the properties.
pub fn streamed_part(
    beginning: &[u8],
    size: u64,
    sha256: String,
    media_type: Option<&str>,
) -> Option<(Vec<u8>, Part)> {
    let reference = reference_to(beginning, size, sha256, media_type, Form::Bytes, None)?;
    Some((reference.token, reference.part))
}

/// The key or index of the next value in an array or object.
enum Next<'a> {
    Index(u64),
    Key(&'a [u8]),
}

/// Replaces markers with references; returns the numbers and paths of the parts, in the order of the text. Each part is
/// placed at most once.
fn replace(
    text: &mut Vec<u8>,
    start: usize,
    marker: &str,
    references: &[Reference],
) -> Vec<(usize, Box<RawValue>)> {
    let json = text.get(start..).unwrap_or_default();
    let mut out = text.get(..start).unwrap_or_default().to_vec();
    let mut around: Vec<Next<'_>> = Vec::new();
    let mut places: Vec<(usize, Box<RawValue>)> = Vec::new();
    let mut is_placed = vec![false; references.len()];
    let mut end = 0;
    let _ = json_text::walk_value(json, 0, |token| {
        match token {
            Token::Key(key) => {
                if let Some(Next::Key(next)) = around.last_mut() {
                    *next = key;
                }
                return ControlFlow::Continue(());
            }
            Token::ObjectEnd | Token::ArrayEnd => {
                around.pop();
            }
            Token::ObjectStart => {
                around.push(Next::Key(b"\"\""));
                return ControlFlow::Continue(());
            }
            Token::ArrayStart => {
                around.push(Next::Index(0));
                return ControlFlow::Continue(());
            }
            Token::String(string) => {
                let number = number_of(string, marker);
                if let Some(number) = number
                    && let Some(reference) = references.get(number)
                    && let Some(is_placed) = is_placed.get_mut(number)
                    && !mem::replace(is_placed, true)
                    && let Some(path) = path_of(&around)
                {
                    let at = string.as_ptr().addr().saturating_sub(json.as_ptr().addr());
                    out.extend_from_slice(json.get(end..at).unwrap_or_default());
                    out.extend_from_slice(&reference.token);
                    end = at + string.len();
                    places.push((number, path));
                }
            }
            Token::Number(_) | Token::Literal(_) => {}
        }
        // After a value.
        if let Some(Next::Index(index)) = around.last_mut() {
            *index += 1;
        }
        ControlFlow::Continue(())
    });
    if !places.is_empty() {
        out.extend_from_slice(json.get(end..).unwrap_or_default());
        *text = out;
    }
    places
}

/// The number of the part that a marker belongs to.
fn number_of(string: &[u8], marker: &str) -> Option<usize> {
    let inside = string.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let number = inside.strip_prefix(marker.as_bytes())?.strip_prefix(b" ")?;
    str::from_utf8(number).ok()?.parse().ok()
}

fn path_of(around: &[Next<'_>]) -> Option<Box<RawValue>> {
    let mut path = Vec::from(b"[");
    for (number, next) in around.iter().enumerate() {
        if number > 0 {
            path.push(b',');
        }
        match next {
            Next::Index(index) => path.extend_from_slice(index.to_string().as_bytes()),
            Next::Key(key) => path.extend_from_slice(key),
        }
    }
    path.push(b']');
    RawValue::from_string(String::from_utf8(path).ok()?).ok()
}
