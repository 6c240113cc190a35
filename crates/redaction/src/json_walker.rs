//! Walks a JSON text and redacts its strings. Each string is decoded and examined together with the name of its member.
//! All other bytes stay unchanged.

use std::{
    borrow::Cow,
    ops::{ControlFlow, Range},
};

use json_text::{ScanError, Token};

use super::{
    Redaction,
    json_frames::{Before, Frames},
    json_offsets::{Offsets, escaped},
    json_value_check::{accepts_header, accepts_inherited, accepts_member, is_key_line},
    known_strings::KnownStrings,
    member_name::MemberName,
    names::NameClass,
    plain_strings::{Plain, PlainStrings},
    searches::Searches,
    split_key::{self, Candidates, Part},
    value::{self, Look},
    view::visible,
    work::Work,
};

/// Maximum depth of JSON within strings of JSON that is walked.
pub(super) const MAX_EMBEDDED: usize = 4;
/// Names longer than this are ignored.
pub(super) const MAX_NAME: usize = 64;

/// A range of a text, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub range: Range<usize>,
    pub replacement: String,
    /// Index of the rule.
    pub rule: usize,
}

/// Whether a text is a single JSON value.
pub(super) fn is_json(text: &[u8]) -> bool {
    json_text::walk_value(text, 0, |_| ControlFlow::Continue(()))
        .is_ok_and(|end| json_text::skip_whitespace(text, end) >= text.len())
}

/// The edits that remove the secrets of a JSON text, in order.
///
/// # Errors
/// When the text is not JSON.
pub(super) fn edits(
    redaction: &Redaction,
    text: &[u8],
    embedded: usize,
    work: &mut Work,
) -> Result<Vec<Edit>, NotRedacted> {
    if embedded > 0 {
        work.allow(text.len());
    }
    let mut walk = JsonWalker {
        redaction,
        text,
        embedded,
        frames: Frames::default(),
        edits: Vec::new(),
        key_candidates: Candidates::default(),
        plain: PlainStrings::new(redaction, text),
        known_names: KnownStrings::default(),
        known_values: KnownStrings::default(),
        failure: None,
        work,
    };
    let end =
        json_text::walk_value(text, 0, |token| walk.visit(token)).map_err(NotRedacted::Json)?;
    if let Some(failure) = walk.failure {
        return Err(failure);
    }
    if json_text::skip_whitespace(text, end) < text.len() {
        return Err(NotRedacted::Json(ScanError::Invalid { offset: end }));
    }
    let mut edits = walk.edits;
    if walk.key_candidates.may_hold_key()
        && let Some(rule) = redaction.private_key()
    {
        let json = std::str::from_utf8(text).map_err(|error| {
            NotRedacted::Json(ScanError::Invalid { offset: error.valid_up_to() })
        })?;
        add_key_parts(redaction, json, (&walk.key_candidates, rule), &mut edits);
    }
    edits.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
    // Edits within a string that is replaced as a whole are dropped.
    let mut end = 0;
    edits.retain(|edit| {
        let is_apart = edit.range.start >= end;
        end = end.max(edit.range.end);
        is_apart
    });
    Ok(edits)
}

/// Adds the edits that remove private keys whose lines are separate strings.
fn add_key_parts(
    redaction: &Redaction,
    json: &str,
    (candidates, rule): (&Candidates, usize),
    edits: &mut Vec<Edit>,
) {
    edits.sort_by_key(|edit| edit.range.start);
    let mut parts = Vec::new();
    for Part { token, range } in split_key::find(json, candidates) {
        let raw = json.get(token.clone()).unwrap_or_default();
        let text = json_text::decode_string(raw.as_bytes()).unwrap_or_default();
        let first = edits.partition_point(|edit| edit.range.end <= token.start);
        let is_alone = edits.get(first).is_none_or(|edit| edit.range.start >= token.end);
        // A string in which another secret was found is replaced as a whole.
        let range = if is_alone { range } else { 0..text.len() };
        let secret = text.get(range.clone()).unwrap_or_default();
        if redaction.is_allowed(secret) {
            continue;
        }
        let content = raw.get(1..raw.len() - 1).unwrap_or_default();
        let mut offsets = Offsets::new(content.as_bytes());
        let start = token.start + 1;
        parts.push(Edit {
            range: start + offsets.of(range.start)..start + offsets.of(range.end),
            replacement: escaped(&redaction.replacement(secret, rule)),
            rule,
        });
    }
    edits.append(&mut parts);
}

/// Why a text could not be redacted.
#[derive(Debug)]
pub(super) enum NotRedacted {
    Json(ScanError),
    Failed(crate::Error),
}

struct JsonWalker<'a> {
    redaction: &'a Redaction,
    text: &'a [u8],
    embedded: usize,
    frames: Frames<'a>,
    edits: Vec<Edit>,
    key_candidates: Candidates,
    plain: PlainStrings<'a>,
    known_names: KnownStrings<'a, MemberName<'a>>,
    known_values: KnownStrings<'a, ()>,
    failure: Option<NotRedacted>,
    work: &'a mut Work,
}

impl<'a> JsonWalker<'a> {
    fn visit(&mut self, token: Token<'a>) -> ControlFlow<()> {
        let outcome = match token {
            Token::ObjectStart => {
                self.frames.open_object();
                Ok(())
            }
            Token::ArrayStart => {
                self.frames.open_array();
                Ok(())
            }
            Token::ObjectEnd => self.close_object(),
            Token::ArrayEnd => {
                self.frames.close_array();
                Ok(())
            }
            Token::Key(raw) => self.key(raw),
            Token::String(raw) => self.string(raw),
            Token::Number(_) | Token::Literal(_) => {
                self.frames.pass();
                Ok(())
            }
        };
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failure = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    fn offset(&self, token: &[u8]) -> usize {
        token.as_ptr().addr() - self.text.as_ptr().addr()
    }

    /// The decoded text of a string token, and the searches that it needs.
    fn decoded(
        &self,
        raw: &'a [u8],
        range: &Range<usize>,
        examined: Option<Plain<'a>>,
    ) -> (Cow<'a, str>, Searches) {
        if let Some(plain) = examined {
            return (plain.text(), plain.searches);
        }
        let text = self.plain.content(range).map(json_text::decode_content);
        let text = text.or_else(|| json_text::decode_string(raw)).unwrap_or_default();
        (text, Searches::ALL)
    }

    #[inline(never)]
    fn key(&mut self, raw: &'a [u8]) -> Result<(), NotRedacted> {
        if let Some(name) = self.known_names.find(raw, self.work) {
            self.frames.set_name(name.clone());
            return Ok(());
        }
        let at = self.offset(raw);
        let range = at..at + raw.len();
        let examined = self.plain.examine(&range);
        let (text, searches) = self.decoded(raw, &range, examined);
        let (before, edits) = (self.work.now(), self.edits.len());
        let class = if searches == Searches::NONE {
            self.pass_plain(text.len());
            NameClass::Plain
        } else {
            self.examine_key(raw, at, &text, searches)?
        };
        let name = MemberName::new(text, class);
        if edits == self.edits.len()
            && let Some(cost) = self.work.since(&before)
        {
            self.known_names.remember(raw, name.clone(), cost);
        }
        self.frames.set_name(name);
        Ok(())
    }

    fn examine_key(
        &mut self,
        raw: &'a [u8],
        at: usize,
        text: &str,
        searches: Searches,
    ) -> Result<NameClass, NotRedacted> {
        // Package names and paths are not names of values.
        let is_path = text.contains(['/', '@']) || text.len() > MAX_NAME;
        let found =
            if is_path { NameClass::Plain } else { self.redaction.key_class(&visible(text)) };
        // A key can contain a secret itself.
        self.text_edits(raw, at, text, searches)?;
        Ok(found)
    }

    /// Counts a text of this length, without findings, as scanned.
    fn pass_plain(&mut self, length: usize) {
        self.work.finish(&(0..length));
    }

    fn close_object(&mut self) -> Result<(), NotRedacted> {
        if let Some((range, named)) = self.frames.close_object()
            && named >= NameClass::Secret
        {
            let raw = self.text.get(range.clone()).unwrap_or_default();
            let text = json_text::decode_string(raw).unwrap_or_default();
            if accepts_member(named, &text) {
                self.replace_whole(&text, &range, self.redaction.assignment());
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn string(&mut self, raw: &'a [u8]) -> Result<(), NotRedacted> {
        let at = self.offset(raw);
        let range = at..at + raw.len();
        let examined = self.plain.examine(&range);
        if let Some(plain) = &examined
            && plain.searches == Searches::NONE
            && self.frames.pass_plain(plain, &range)
        {
            self.pass_plain(plain.length());
            return Ok(());
        }
        let (text, searches) = self.decoded(raw, &range, examined);
        self.key_candidates.add(&text, searches, at);
        let place = self.frames.place(self.redaction, &text, searches, &range);
        let redaction = self.redaction;
        if place.in_private_key && is_key_line(&text) {
            if let Some(rule) = redaction.private_key() {
                self.replace_whole(&text, &range, Some(rule));
            }
            return Ok(());
        }
        let is_secret = accepts_member(place.class, &text)
            && !self.frames.is_named_alike(&text)
            && !(place.in_array
                && place.class == NameClass::Secret
                && value::look(&text) < Look::Chosen)
            || place.inherits && accepts_inherited(&text)
            || match place.before {
                Before::Nothing => false,
                Before::Flag => !text.starts_with('-') && value::look(&text) != Look::Nothing,
                Before::CommandFlag => value::look(&text) != Look::Nothing,
                Before::Name => accepts_header(&text),
            };
        if is_secret
            && let Some(rule) = redaction.assignment()
            && !redaction.is_allowed(&text)
        {
            let rule = self.rule_of(&text)?.unwrap_or(rule);
            self.replace_whole(&text, &range, Some(rule));
            return Ok(());
        }
        if searches == Searches::NONE {
            self.pass_plain(text.len());
            return Ok(());
        }
        if self.known_values.find(raw, self.work).is_some() {
            return Ok(());
        }
        let (before, edits) = (self.work.now(), self.edits.len());
        self.text_edits(raw, at, &text, searches)?;
        if edits == self.edits.len()
            && let Some(cost) = self.work.since(&before)
        {
            self.known_values.remember(raw, (), cost);
        }
        Ok(())
    }

    /// The rule that matched more than half of the text. It is more specific than the name beside the value.
    fn rule_of(&mut self, text: &str) -> Result<Option<usize>, NotRedacted> {
        let edits = self.redaction.edits(text, self.embedded + 1, self.work)?;
        let longest = edits.into_iter().max_by_key(|edit| edit.range.len());
        Ok(longest.filter(|edit| edit.range.len() * 2 > text.len()).map(|edit| edit.rule))
    }

    /// Replaces the content of a string; `range` includes the quotes.
    fn replace_whole(&mut self, text: &str, range: &Range<usize>, rule: Option<usize>) {
        let Some(rule) = rule else { return };
        let replacement = escaped(&self.redaction.replacement(text, rule));
        self.edits.push(Edit { range: range.start + 1..range.end - 1, replacement, rule });
    }

    /// Adds the edits for secrets within the decoded text of a string.
    fn text_edits(
        &mut self,
        raw: &[u8],
        at: usize,
        text: &str,
        searches: Searches,
    ) -> Result<(), NotRedacted> {
        let searches = (searches, self.plain.known_anchors());
        let found = self.redaction.edits_by(searches, text, self.embedded + 1, self.work)?;
        if found.is_empty() {
            return Ok(());
        }
        let content = raw.get(1..raw.len() - 1).unwrap_or_default();
        let mut offsets = Offsets::new(content);
        for edit in found {
            let range = at + 1 + offsets.of(edit.range.start)..at + 1 + offsets.of(edit.range.end);
            let replacement = escaped(&edit.replacement);
            self.edits.push(Edit { range, replacement, rule: edit.rule });
        }
        Ok(())
    }
}
