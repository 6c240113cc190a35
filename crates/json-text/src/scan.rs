//! A strict RFC 8259 scanner over bytes.
//!
//! It finds where values begin and end and never builds a tree, so that the text of a value
//! survives exactly. Nesting costs one bit per level on the heap and nothing on the stack.

use std::ops::{ControlFlow, Range};

use super::text::skip_string;

/// Why a text is not a valid or complete JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The text ends too early: more bytes could make it valid.
    #[error("the JSON text ends too early")]
    Incomplete,
    /// No continuation can make the text valid.
    #[error("invalid JSON at byte {offset}")]
    Invalid {
        /// The offset of the first invalid byte.
        offset: usize,
    },
}

/// A piece of a JSON value, as [`walk_value`] reports it. Slices are the token's exact bytes,
/// strings with their quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// `{`
    ObjectStart,
    /// `}`
    ObjectEnd,
    /// `[`
    ArrayStart,
    /// `]`
    ArrayEnd,
    /// The key of the member whose value comes next.
    Key(&'a [u8]),
    /// A string that is not a key.
    String(&'a [u8]),
    /// A number.
    Number(&'a [u8]),
    /// `true`, `false` or `null`.
    Literal(&'a [u8]),
}

/// The position of the first byte at or after `position` that is not whitespace.
#[inline]
pub fn skip_whitespace(text: &[u8], position: usize) -> usize {
    match text.get(position) {
        Some(byte) if *byte > b' ' => position,
        _ => skip_some_whitespace(text, position),
    }
}

// Not inlined: in most texts, no whitespace is between tokens.
#[inline(never)]
fn skip_some_whitespace(text: &[u8], position: usize) -> usize {
    let rest = text.get(position..).unwrap_or_default();
    position + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// The position after the value that begins at `position`, which whitespace may precede.
///
/// A number that reaches the end of the text counts as complete.
pub fn skip_value(text: &[u8], position: usize) -> Result<usize, ScanError> {
    walk_value(text, position, |_| ControlFlow::Continue(()))
}

/// Checks that the text is exactly one value, surrounded by nothing but whitespace.
pub fn validate_document(text: &[u8]) -> Result<(), ScanError> {
    expect_end(text, skip_value(text, 0)?)
}

/// Checks that nothing but whitespace follows.
pub(super) fn expect_end(text: &[u8], position: usize) -> Result<(), ScanError> {
    let offset = skip_whitespace(text, position);
    if offset < text.len() { Err(ScanError::Invalid { offset }) } else { Ok(()) }
}

/// Reports the tokens of the value that begins at `position` in order, until the value ends or `visit` breaks. Returns
/// the position after the last reported token.
pub fn walk_value<'a>(
    text: &'a [u8],
    position: usize,
    mut visit: impl FnMut(Token<'a>) -> ControlFlow<()>,
) -> Result<usize, ScanError> {
    // The closure's result is checked at every token; the macro keeps each check to one line.
    macro_rules! report {
        ($token:expr, $end:expr) => {
            if visit($token).is_break() {
                return Ok($end);
            }
        };
    }
    let token = |start: usize, end: usize| text.get(start..end).unwrap_or_default();
    let mut nesting = Nesting::default();
    let mut at = skip_whitespace(text, position);
    loop {
        // A value begins here.
        let start = at;
        match text.get(at) {
            Some(b'"') => {
                at = skip_string(text, at)?;
                report!(Token::String(token(start, at)), at);
            }
            Some(b'{') => {
                report!(Token::ObjectStart, at + 1);
                at = skip_whitespace(text, at + 1);
                if text.get(at) != Some(&b'}') {
                    let (key_end, value) = skip_key(text, at)?;
                    report!(Token::Key(token(at, key_end)), key_end);
                    nesting.push(true);
                    at = value;
                    continue;
                }
                at += 1;
                report!(Token::ObjectEnd, at);
            }
            Some(b'[') => {
                report!(Token::ArrayStart, at + 1);
                at = skip_whitespace(text, at + 1);
                if text.get(at) != Some(&b']') {
                    nesting.push(false);
                    continue;
                }
                at += 1;
                report!(Token::ArrayEnd, at);
            }
            Some(b'-' | b'0'..=b'9') => {
                at = skip_number(text, at)?;
                report!(Token::Number(token(start, at)), at);
            }
            first => {
                let literal: &[u8] = match first {
                    Some(b't') => b"true",
                    Some(b'f') => b"false",
                    Some(b'n') => b"null",
                    _ => return Err(unexpected(text, at)),
                };
                at = skip_literal(text, at, literal)?;
                report!(Token::Literal(token(start, at)), at);
            }
        }
        // A value has ended here, and possibly the containers around it.
        loop {
            let Some(in_object) = nesting.innermost() else { return Ok(at) };
            at = skip_whitespace(text, at);
            match (text.get(at), in_object) {
                (Some(b','), true) => {
                    at = skip_whitespace(text, at + 1);
                    let (key_end, value) = skip_key(text, at)?;
                    report!(Token::Key(token(at, key_end)), key_end);
                    at = value;
                    break;
                }
                (Some(b','), false) => {
                    at = skip_whitespace(text, at + 1);
                    break;
                }
                (Some(b'}'), true) => {
                    at += 1;
                    report!(Token::ObjectEnd, at);
                }
                (Some(b']'), false) => {
                    at += 1;
                    report!(Token::ArrayEnd, at);
                }
                _ => return Err(unexpected(text, at)),
            }
            nesting.pop();
        }
    }
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key's exact bytes, with quotes.
    pub key: &'a [u8],
    /// The range of the value in the text.
    pub value: Range<usize>,
}

/// Reads the members of an object one by one, each only as far as requested: a reader that has only the start of a file
/// can stop before a value that it does not need.
///
/// As an iterator, it yields complete members and ends after the first error.
#[derive(Debug)]
pub struct Members<'a> {
    text: &'a [u8],
    position: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// After the opening brace.
    Opened,
    /// At the first byte of a member's value.
    AtValue,
    /// After a member's value.
    AfterValue,
    /// After the closing brace.
    Closed,
    /// An error has ended the iteration.
    Failed,
}

impl<'a> Members<'a> {
    /// The members of the object that begins at `position`, which whitespace may precede.
    pub fn new(text: &'a [u8], position: usize) -> Result<Self, ScanError> {
        let opening = skip_whitespace(text, position);
        match text.get(opening) {
            Some(b'{') => Ok(Self { text, position: opening + 1, state: State::Opened }),
            _ => Err(unexpected(text, opening)),
        }
    }

    /// The next member's key with its quotes, or `None` after the last member. Skips the value of the previous member
    /// if it was not read.
    pub fn next_key(&mut self) -> Result<Option<&'a [u8]>, ScanError> {
        if self.state == State::AtValue {
            self.skip_value()?;
        }
        let at = skip_whitespace(self.text, self.position);
        let key = match (self.state, self.text.get(at)) {
            (State::Closed | State::Failed, _) => return Ok(None),
            (_, Some(b'}')) => {
                self.position = at + 1;
                self.state = State::Closed;
                return Ok(None);
            }
            (State::Opened, _) => at,
            (_, Some(b',')) => skip_whitespace(self.text, at + 1),
            _ => return Err(unexpected(self.text, at)),
        };
        let (key_end, value) = skip_key(self.text, key)?;
        if value >= self.text.len() {
            return Err(ScanError::Incomplete);
        }
        self.position = value;
        self.state = State::AtValue;
        Ok(self.text.get(key..key_end))
    }

    /// The start of the value of the member that [`Self::next_key`] returned.
    pub fn value_start(&self) -> Option<usize> {
        (self.state == State::AtValue).then_some(self.position)
    }

    /// Scans the value of the member that [`Self::next_key`] returned. Without such a member, the current position is
    /// reported as invalid.
    pub fn skip_value(&mut self) -> Result<Range<usize>, ScanError> {
        let Some(start) = self.value_start() else {
            return Err(ScanError::Invalid { offset: self.position });
        };
        let end = skip_value(self.text, start)?;
        // At the end of the text, a number may continue, and an object must.
        if end >= self.text.len() {
            return Err(ScanError::Incomplete);
        }
        self.position = end;
        self.state = State::AfterValue;
        Ok(start..end)
    }

    /// The position after the closing brace, once it is reached.
    pub fn end(&self) -> Option<usize> {
        (self.state == State::Closed).then_some(self.position)
    }

    fn next_member(&mut self) -> Result<Option<Member<'a>>, ScanError> {
        let Some(key) = self.next_key()? else { return Ok(None) };
        Ok(Some(Member { key, value: self.skip_value()? }))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let member = self.next_member();
        if member.is_err() {
            self.state = State::Failed;
        }
        member.transpose()
    }
}

/// The kinds of the open containers, innermost last, one bit each: values may be nested a million
/// deep, and most need no more than the first 64 levels.
#[derive(Default)]
struct Nesting {
    /// The innermost up to 64 levels; the lowest bit is the innermost and set for an object.
    innermost: u64,
    outer: Vec<u64>,
    depth: usize,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.innermost);
        }
        self.innermost = self.innermost << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.innermost >>= 1;
        if self.depth.is_multiple_of(64) {
            self.innermost = self.outer.pop().unwrap_or_default();
        }
    }

    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.innermost & 1 == 1)
    }
}

/// The error for an invalid byte, or for a missing one.
pub(super) fn unexpected(text: &[u8], at: usize) -> ScanError {
    if at < text.len() { ScanError::Invalid { offset: at } } else { ScanError::Incomplete }
}

/// Skips a key and its colon. Returns the position after the key and the position of the value.
fn skip_key(text: &[u8], at: usize) -> Result<(usize, usize), ScanError> {
    let key_end = skip_string(text, at)?;
    let colon = skip_whitespace(text, key_end);
    match text.get(colon) {
        Some(b':') => Ok((key_end, skip_whitespace(text, colon + 1))),
        _ => Err(unexpected(text, colon)),
    }
}

fn skip_number(text: &[u8], start: usize) -> Result<usize, ScanError> {
    let integer = start + usize::from(text.get(start) == Some(&b'-'));
    let mut at = skip_digits(text, integer)?;
    if text.get(integer) == Some(&b'0') && at > integer + 1 {
        return Err(ScanError::Invalid { offset: integer + 1 });
    }
    if text.get(at) == Some(&b'.') {
        at = skip_digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = skip_digits(text, at + 1 + sign)?;
    }
    Ok(at)
}

/// Skips one or more digits.
fn skip_digits(text: &[u8], at: usize) -> Result<usize, ScanError> {
    let rest = text.get(at..).unwrap_or_default();
    match rest.iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err(unexpected(text, at)),
        count => Ok(at + count),
    }
}

fn skip_literal(text: &[u8], at: usize, literal: &[u8]) -> Result<usize, ScanError> {
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with(literal) {
        return Ok(at + literal.len());
    }
    let matching = rest.iter().zip(literal).take_while(|(byte, expected)| byte == expected).count();
    Err(unexpected(text, at + matching))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::super::canonical::tests::{json_text, object_text};
    use super::*;

    #[test]
    fn rejects_at_the_first_wrong_byte() {
        let cases: [(&[u8], usize); 17] = [
            (b"]", 0),
            (b"01", 1),
            (b"-x", 1),
            (b"1.e1", 2),
            (b"1e+-1", 3),
            (b"trux", 3),
            (b"1 2", 2),
            (b"[1,]", 3),
            (b"[1}", 2),
            (b"{,", 1),
            (b"{1", 1),
            (b"{\"a\" 1", 5),
            (b"{\"a\":1,}", 7),
            (b"\"\\x\"", 2),
            (b"\"\\u12g4\"", 5),
            (b"\"12345678\n\"", 9),
            (b"\"\xc3\xa9\xed\xa0\x80\n", 3),
        ];
        for (text, offset) in cases {
            let text_shown = String::from_utf8_lossy(text);
            assert_eq!(validate_document(text), Err(ScanError::Invalid { offset }), "{text_shown}");
        }
        // A truncated character cannot be followed by a quote, but by the rest of the character.
        assert_eq!(skip_value(b"\"\xc3\"", 0), Err(ScanError::Invalid { offset: 1 }));
        assert_eq!(skip_value(b"\"\xc3", 0), Err(ScanError::Incomplete));
    }

    #[test]
    fn reads_a_head_without_the_value_behind_it() {
        let text = br#" {"id" : "x", "n":12 ,"result": [1, "cut o"#;
        let mut members = Members::new(text, 0).unwrap();
        assert_eq!(members.next_key(), Ok(Some(&b"\"id\""[..])));
        assert_eq!(members.skip_value(), Ok(9..12));
        assert_eq!(members.next_key(), Ok(Some(&b"\"n\""[..])));
        assert_eq!(members.next_key(), Ok(Some(&b"\"result\""[..])), "skips the value");
        assert_eq!(members.value_start(), Some(32));
        assert_eq!(members.skip_value(), Err(ScanError::Incomplete));
        assert_eq!(members.end(), None);
        let keys = Members::new(text, 0).unwrap().collect::<Vec<_>>();
        assert_eq!(keys.len(), 3, "the error comes last and once");
        let number_may_go_on = Members::new(b"{\"a\":1", 0).unwrap().next();
        assert_eq!(number_may_go_on, Some(Err(ScanError::Incomplete)));
    }

    #[test]
    fn depth_is_no_limit() {
        let depth = 1_000_000;
        let text = "[{\"a\":".repeat(depth / 2) + "1" + &"}]".repeat(depth / 2);
        assert_eq!(skip_value(text.as_bytes(), 0), Ok(text.len()));
        assert_eq!(skip_value(&text.as_bytes()[..text.len() - 1], 0), Err(ScanError::Incomplete));
        let crossed = text.replace("1}]", "1]}");
        assert!(matches!(skip_value(crossed.as_bytes(), 0), Err(ScanError::Invalid { .. })));
    }

    proptest! {
        #[test]
        fn accepts_what_serde_json_accepts(
            text in json_text(),
            changes in vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), prop::sample::select(&b"\"\\[]{}:,0-.eu \n"[..])]), 0..3),
        ) {
            let mut bytes = text.into_bytes();
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            let reference = serde_json::from_slice::<&RawValue>(&bytes);
            prop_assert_eq!(validate_document(&bytes).is_ok(), reference.is_ok());
        }

        #[test]
        fn every_prefix_of_an_object_is_incomplete(text in object_text()) {
            for end in 0..text.len() {
                let prefix = &text.as_bytes()[..end];
                prop_assert_eq!(skip_value(prefix, 0), Err(ScanError::Incomplete));
                let members = Members::new(prefix, 0).and_then(|mut members| members.try_for_each(|member| member.map(drop)));
                prop_assert_eq!(members, Err(ScanError::Incomplete));
            }
            let mut members = Members::new(text.as_bytes(), 0).unwrap();
            prop_assert!(members.by_ref().all(|member| member.is_ok()));
            prop_assert_eq!(members.end(), Some(text.len()));
        }

        #[test]
        fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..64), position in 0_usize..80) {
            let _ = skip_value(&bytes, position);
            let _ = Members::new(&bytes, position).map(Iterator::count);
        }
    }
}
