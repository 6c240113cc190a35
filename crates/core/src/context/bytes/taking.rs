//! Takes binary data out of a result before redaction, whose rules could match parts of base64. Until redaction is
//! over, a marker is in its place: a text with a random part, which no result can contain by itself.

use std::{ops::ControlFlow, ops::Range};

use base64::{Engine, engine::general_purpose::STANDARD};
use json_text::Token;
use memchr::memmem;
use redaction::RedactionSession;
use storage::layout;

use super::part::Form;
use crate::error::Result;

/// The shortest base64 that is taken out, in characters.
const LEAST_BASE64: usize = 64;
/// Keys whose values are base64 in the messages of MCP, Anthropic, LangChain, the AI SDK and OpenAI.
const DATA_KEYS: [&[u8]; 5] =
    [b"\"data\"", b"\"blob\"", b"\"image\"", b"\"file_data\"", b"\"base64\""];
/// Keys beside them with the media type.
const TYPE_KEYS: [&[u8]; 4] =
    [b"\"mimeType\"", b"\"mime_type\"", b"\"mediaType\"", b"\"media_type\""];
const DATA_URL: &[u8] = b"\"data:";
const BASE64_MARK: &[u8] = b";base64,";
/// The longest prefix of a data URL, in bytes.
const MAX_PREFIX: usize = 200;
const MAX_MEDIA_TYPE: usize = 120;

/// Binary data that JavaScript took out of a value.
#[derive(Debug, Default)]
pub struct GivenBytes {
    /// The beginning of each marker text; a space and the number of the part follow.
    pub marker: String,
    /// The parts.
    pub parts: Vec<GivenPart>,
}

/// One of them.
#[derive(Debug, Default)]
pub struct GivenPart {
    /// The bytes.
    pub contents: Vec<u8>,
    /// Their media type, where it is known.
    pub media_type: Option<String>,
}

/// Binary data that was taken out of a result.
pub struct Taken {
    /// See [`GivenBytes::marker`].
    pub marker: String,
    pub parts: Vec<TakenPart>,
}

pub struct TakenPart {
    pub contents: Vec<u8>,
    pub media_type: Option<String>,
    pub form: Form,
    pub prefix: Option<String>,
}

impl Taken {
    /// The total size.
    pub fn size(&self) -> usize {
        self.parts.iter().map(|part| part.contents.len()).sum()
    }
}

/// Takes the base64 of content blocks and data URLs out of the JSON in `text` from `start` on, in addition to `given`.
/// `None` if there is no binary data.
///
/// # Errors
/// `Redaction`: bytes that are UTF-8 text are redacted as text.
pub fn take(
    text: &mut Vec<u8>,
    start: usize,
    given: Option<GivenBytes>,
    pass: &mut RedactionSession,
) -> Result<Option<Taken>> {
    let GivenBytes { marker, parts } = given.unwrap_or_default();
    let json = text.get(start..).unwrap_or_default();
    let found = if may_hold_base64(json) { base64_in(json) } else { Vec::new() };
    if parts.is_empty() && found.is_empty() {
        return Ok(None);
    }
    let marker = if marker.is_empty() { new_marker() } else { marker };
    let from = |GivenPart { contents, media_type }| TakenPart {
        contents,
        media_type: media_type.filter(|name| is_media_type(name)),
        form: Form::Bytes,
        prefix: None,
    };
    let mut taken = Taken { marker, parts: parts.into_iter().map(from).collect() };
    if !found.is_empty() {
        let mut out = Vec::with_capacity(start + json.len() / 4);
        let mut end = 0;
        out.extend_from_slice(text.get(..start).unwrap_or_default());
        for Found { place, part } in found {
            out.extend_from_slice(json.get(end..place.start).unwrap_or_default());
            let marker = format!("{} {}", taken.marker, taken.parts.len());
            json_text::escape_string(&marker, &mut out);
            end = place.end;
            taken.parts.push(part);
        }
        out.extend_from_slice(json.get(end..).unwrap_or_default());
        *text = out;
    }
    for part in &mut taken.parts {
        redact(&mut part.contents, pass)?;
    }
    Ok(Some(taken))
}

/// Redacts bytes that are UTF-8 text.
fn redact(contents: &mut Vec<u8>, pass: &mut RedactionSession) -> Result<()> {
    match String::from_utf8(std::mem::take(contents)) {
        Ok(mut text) => {
            pass.text(&mut text)?;
            *contents = text.into_bytes();
        }
        Err(error) => *contents = error.into_bytes(),
    }
    Ok(())
}

/// The digits are in short groups, so that no redaction rule takes them for a secret.
fn new_marker() -> String {
    let digits = format!("{:016x}{:016x}", layout::random(), layout::random());
    let mut marker = String::from("stored bytes");
    for (index, digit) in digits.chars().enumerate() {
        if index % 4 == 0 {
            marker.push(' ');
        }
        marker.push(digit);
    }
    marker
}

/// A cheap test that is false for nearly all results.
fn may_hold_base64(json: &[u8]) -> bool {
    let holds = |needle: &[u8]| memmem::find(json, needle).is_some();
    json.len() > LEAST_BASE64 && (TYPE_KEYS.into_iter().any(holds) || holds(BASE64_MARK))
}

/// Base64 in a JSON text.
struct Found {
    place: Range<usize>,
    part: TakenPart,
}

/// An object around the current token.
#[derive(Default)]
struct Around<'a> {
    key: &'a [u8],
    media_type: Option<String>,
    /// Strings that are base64 if a media type is beside them.
    texts: Vec<&'a [u8]>,
}

fn base64_in(json: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut around: Vec<Option<Around<'_>>> = Vec::new();
    // A syntax error only ends the search early.
    let _ = json_text::walk_value(json, 0, |token| {
        match token {
            Token::ObjectStart => around.push(Some(Around::default())),
            Token::ArrayStart => around.push(None),
            Token::ArrayEnd => _ = around.pop(),
            Token::ObjectEnd => {
                if let Some(Some(Around { media_type: Some(media_type), texts, .. })) = around.pop()
                {
                    found.extend(texts.into_iter().filter_map(|text| {
                        let media_type = Some(media_type.clone());
                        let part = decoded(unquoted(text), media_type, None)?;
                        Some(Found { place: place_of(json, text), part })
                    }));
                }
            }
            Token::Key(key) => {
                if let Some(Some(object)) = around.last_mut() {
                    object.key = key;
                }
            }
            Token::String(text) => {
                if text.starts_with(DATA_URL)
                    && let Some(part) = of_data_url(unquoted(text))
                {
                    found.push(Found { place: place_of(json, text), part });
                } else if let Some(Some(object)) = around.last_mut() {
                    if DATA_KEYS.contains(&object.key) && text.len() >= LEAST_BASE64 {
                        object.texts.push(text);
                    } else if TYPE_KEYS.contains(&object.key) {
                        object.media_type = json_text::decode_string(text)
                            .map(std::borrow::Cow::into_owned)
                            .filter(|name| is_media_type(name));
                    }
                }
            }
            Token::Number(_) | Token::Literal(_) => {}
        }
        ControlFlow::Continue(())
    });
    found.sort_by_key(|found| found.place.start);
    found
}

/// The range of a token in the text.
fn place_of(json: &[u8], token: &[u8]) -> Range<usize> {
    let start = token.as_ptr().addr().saturating_sub(json.as_ptr().addr());
    start..start + token.len()
}

fn unquoted(token: &[u8]) -> &[u8] {
    token.get(1..token.len().saturating_sub(1)).unwrap_or_default()
}

fn of_data_url(url: &[u8]) -> Option<TakenPart> {
    let beginning = url.get(..url.len().min(MAX_PREFIX))?;
    let end = memmem::find(beginning, BASE64_MARK)? + BASE64_MARK.len();
    let prefix = str::from_utf8(url.get(..end)?).ok()?;
    let media_type = prefix.strip_prefix("data:")?.split(';').next()?;
    // The prefix is stored in the record without redaction, so only media types are accepted.
    if !is_media_type(media_type) || prefix.contains('\\') {
        return None;
    }
    decoded(url.get(end..)?, Some(media_type.to_owned()), Some(prefix.to_owned()))
}

/// Decodes base64 in canonical form only, so that encoding it again gives the same text.
fn decoded(base64: &[u8], media_type: Option<String>, prefix: Option<String>) -> Option<TakenPart> {
    if base64.len() < LEAST_BASE64 {
        return None;
    }
    let contents = STANDARD.decode(base64).ok()?;
    Some(TakenPart { contents, media_type, form: Form::Base64, prefix })
}

/// `type/subtype` with the characters that RFC 6838 allows.
fn is_media_type(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    name.len() <= MAX_MEDIA_TYPE
        && name.split_once('/').is_some_and(|(kind, subtype)| is_plain(kind) && is_plain(subtype))
}
