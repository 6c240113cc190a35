//! Determines which searches the strings of a JSON text need. The signs of all rules are searched in the undecoded text, many strings at
//! once, so that most strings are not redacted one by one, and others only by the rules that may find something.
//!
//! A sign of the decoded text is one of the undecoded text, if the string has only the escape sequences of [`ESCAPES`]: what the rules
//! search for has none of the escaped characters, except for some anchors, which are also searched for as JSON spells them.

use std::{borrow::Cow, ops::Range};

use super::{
    Redaction, parts::anchors_in, redaction::may_be_json, scanner::Found, searches::Searches,
};

/// Number of bytes that are searched at once. Longer strings are redacted one by one.
const SEARCHED: usize = 4 << 10;
/// The letters of the escape sequences that a string may have. Strings with others are redacted one by one.
const ESCAPES: &[u8] = b"\"\\nrt";

/// The strings of a JSON text; the caller asks for them in order.
pub(super) struct PlainStrings<'a> {
    redaction: &'a Redaction,
    /// `None` if the JSON is not valid UTF-8.
    json: Option<&'a str>,
    /// Whether signs are searched for at all.
    is_searched: bool,
    /// Whether strings with escape sequences are.
    takes_escapes: bool,
    /// The part of the text that was searched last.
    searched: Range<usize>,
    /// The position of the first backslash that is not before the last string.
    backslash: usize,
    /// The positions in this part at which a search would examine the text, in descending order.
    places: Vec<(usize, Searches)>,
    /// The anchors in this part, in the order in which a search visits them.
    anchors: Vec<Found>,
    /// The number of anchors before the last string that has any.
    passed: usize,
    /// Whether the anchors of the last string are known, and these anchors, with their positions in it.
    is_known: bool,
    known: Vec<Found>,
}

/// A string, and the searches that it needs.
pub(super) struct Plain<'a> {
    content: &'a str,
    /// The number of its escape sequences, each of which has two characters.
    escapes: usize,
    pub searches: Searches,
}

impl<'a> Plain<'a> {
    /// The decoded text.
    pub fn text(&self) -> Cow<'a, str> {
        match self.escapes {
            0 => Cow::Borrowed(self.content),
            _ => json_text::decode_content(self.content),
        }
    }

    /// The length of the decoded text.
    pub const fn length(&self) -> usize {
        self.content.len() - self.escapes
    }
}

impl<'a> PlainStrings<'a> {
    pub fn new(redaction: &'a Redaction, json: &'a [u8]) -> Self {
        Self {
            redaction,
            json: std::str::from_utf8(json).ok(),
            is_searched: redaction.has_own_rules_alone(),
            takes_escapes: !redaction.environment.has_escaped(),
            searched: 0..0,
            backslash: 0,
            places: Vec::new(),
            anchors: Vec::new(),
            passed: 0,
            is_known: false,
            known: Vec::new(),
        }
    }

    /// The text between the quotes of a token.
    pub fn content(&self, token: &Range<usize>) -> Option<&'a str> {
        self.json?.get(token.start + 1..token.end.checked_sub(1)?)
    }

    /// The searches in which redacting a string takes any step. `None` if it has to be redacted by all of them. `token` is the range of
    /// the string with its quotes.
    pub fn examine(&mut self, token: &Range<usize>) -> Option<Plain<'a>> {
        self.is_known = false;
        let text = self.content(token)?;
        if !self.is_searched || text.len() > SEARCHED {
            return None;
        }
        let content = token.start + 1..token.start + 1 + text.len();
        let escapes = if !self.has_backslash(&content) {
            let may_be_json = !matches!(text.bytes().next_back(), Some(b'!'..=b'Z' | b'a'..=b'z'))
                && may_be_json(text);
            (!may_be_json).then_some(0)
        } else if self.takes_escapes && !may_begin_json(text) {
            plain_escapes(text)
        } else {
            None
        }?;
        if content.start < self.searched.start || content.end > self.searched.end {
            self.search(content.start)?;
        }
        let searches = self.searches_of(&content);
        if escapes == 0 && searches.has(Searches::ANCHORS) {
            self.take_anchors(&content);
        }
        Some(Plain { content: text, escapes, searches })
    }

    /// The anchors in the string that was examined last, where they are known.
    pub fn known_anchors(&self) -> Option<&[Found]> {
        self.is_known.then_some(self.known.as_slice())
    }

    /// Takes the anchors of a string without escape sequences, in which anchors are where they are in the undecoded text.
    // Not inlined: most strings have no anchors, and `examine` is called for each of them.
    #[inline(never)]
    fn take_anchors(&mut self, content: &Range<usize>) {
        let mut rest = self.anchors.get(self.passed..).unwrap_or_default();
        let before = rest.len();
        let anchors = anchors_in(&mut rest, content);
        let anchors = anchors.filter(|(range, _)| range.end <= content.end);
        self.is_known = true;
        self.known.clear();
        self.known.extend(anchors.map(|(range, number)| {
            (range.start - content.start..range.end - content.start, number)
        }));
        self.passed += before - rest.len();
    }

    /// Whether a string has a backslash. Strings are asked for in order, so that one search serves all up to the next backslash.
    fn has_backslash(&mut self, content: &Range<usize>) -> bool {
        if self.backslash < content.start {
            let rest = self.json.and_then(|json| json.as_bytes().get(content.start..));
            let rest = rest.unwrap_or_default();
            self.backslash = content.start + memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        }
        self.backslash < content.end
    }

    fn searches_of(&mut self, content: &Range<usize>) -> Searches {
        while self.places.pop_if(|(place, _)| *place < content.start).is_some() {}
        let places = self.places.iter().rev().take_while(|(place, _)| *place < content.end);
        places.fold(Searches::NONE, |all, (_, searches)| all.and(*searches))
    }

    fn search(&mut self, start: usize) -> Option<()> {
        let json = self.json?;
        let end = json.ceil_char_boundary(start.saturating_add(SEARCHED));
        let part = json.get(start..end)?;
        self.searched = start..end;
        self.places.clear();
        self.anchors.clear();
        self.passed = 0;
        let (places, anchors) = (&mut self.places, &mut self.anchors);
        self.redaction.signs(part, &mut |place, searches, anchor| {
            places.push((start + place, searches));
            let anchor =
                anchor.map(|(found, number)| (start + found.start..start + found.end, number));
            anchors.extend(anchor);
        });
        places.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
        Some(())
    }
}

/// The number of a string's escape sequences, if all are of [`ESCAPES`].
fn plain_escapes(content: &str) -> Option<usize> {
    let (mut rest, mut count) = (content.as_bytes(), 0);
    while let Some(at) = memchr::memchr(b'\\', rest) {
        match rest.get(at + 1..) {
            Some([letter, behind @ ..]) if ESCAPES.contains(letter) => rest = behind,
            _ => return None,
        }
        count += 1;
    }
    Some(count)
}

/// Whether an undecoded string begins like JSON.
fn may_begin_json(content: &str) -> bool {
    let mut rest = content.trim_start();
    while let Some(behind) = ["\\n", "\\r", "\\t"].iter().find_map(|space| rest.strip_prefix(space))
    {
        rest = behind.trim_start();
    }
    rest.starts_with(['{', '[']) || rest.starts_with("\\\"")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{EnvironmentValues, RedactionOptions, Redactor, rules::RULES, work::Work};

    fn redaction() -> Redaction {
        let value = ("A_TOKEN".to_owned(), "kanto77!ab".to_owned());
        let environment = EnvironmentValues::new([value]);
        Redaction::new(Redactor::new(RedactionOptions::default()).unwrap(), Arc::new(environment))
    }

    /// The text of a string, its searches, and its anchors where they are known.
    type Examined = (String, Searches, Option<Vec<Found>>);

    /// For each undecoded string, what is found of it as a string of one array.
    fn examined(redaction: &Redaction, strings: &[String]) -> Vec<Option<Examined>> {
        let json = format!("[\"{}\"]", strings.join("\",\""));
        let mut plain = PlainStrings::new(redaction, json.as_bytes());
        let mut at = 1;
        let mut examine = |string: &String| {
            let token = at..at + string.len() + 2;
            at = token.end + 1;
            let examined = plain.examine(&token)?;
            let text = examined.text();
            assert_eq!(text, json_text::decode_content(string));
            assert_eq!(text.len(), examined.length());
            let anchors = plain.known_anchors().map(<[Found]>::to_vec);
            Some((text.into_owned(), examined.searches, anchors))
        };
        strings.iter().map(&mut examine).collect()
    }

    #[test]
    fn strings_need_the_searches_of_their_signs() {
        let run = "Ab1".repeat(22);
        let (anchors, keys) = (Searches::ANCHORS, Searches::PRIVATE_KEYS);
        let strings = [
            ("two words", Some(Searches::NONE)),
            ("", Some(Searches::NONE)),
            ("password", Some(anchors)),
            ("a kanto77!ab", Some(Searches::ENVIRONMENT)),
            ("a -- b", Some(keys)),
            ("PRIVATE", Some(anchors.and(keys))),
            ("a\u{200b}b", Some(Searches::HIDDEN)),
            (r"a\\x1b[31mb", Some(Searches::HIDDEN)),
            ("{}", None),
            (" [1] ", None),
            (r#"\n\"a\""#, None),
            (r"a\nb", Some(Searches::NONE)),
            (r"a\u0070b", None),
            (r"a:\/\/b", None),
            (r#"call(\"a\", 1)"#, Some(Searches::NONE)),
            (r#"a \"dp\":\"a"#, Some(anchors)),
            ("a.b2c3d4.e", Some(anchors)),
            (run.as_str(), Some(keys)),
            ("naïve", Some(Searches::NONE)),
        ];
        let (strings, expected): (Vec<_>, Vec<_>) =
            strings.into_iter().map(|(string, searches)| (string.to_owned(), searches)).unzip();
        let found = examined(&redaction(), &strings).into_iter();
        let found: Vec<_> = found.map(|string| string.map(|(_, searches, _)| searches)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn values_with_escaped_characters_are_found_in_decoded_strings_only() {
        let value = ("A_TOKEN".to_owned(), "kanto\"77!ab".to_owned());
        let redactor = Redactor::new(RedactionOptions::default()).unwrap();
        let redaction = Redaction::new(redactor, Arc::new(EnvironmentValues::new([value])));
        let strings = [r#"a kanto\"77!ab"#.to_owned(), "two words".to_owned()];
        let found = examined(&redaction, &strings);
        assert_eq!(found, [None, Some(("two words".to_owned(), Searches::NONE, None))]);
    }

    proptest! {
        #[test]
        fn the_other_searches_find_nothing_and_take_no_step(
            texts in prop::collection::vec(prop::collection::vec(prop_oneof![
                "[a-zA-Z0-9 .:=_-]{1,12}", Just("token".to_owned()), Just("key".to_owned()), Just("é".to_owned()),
                Just("kanto77!ab".to_owned()), Just("--".to_owned()), Just("://".to_owned()), Just("{".to_owned()),
                Just("}".to_owned()), Just("\u{ad}".to_owned()), "[A-Za-z0-9+/]{60,70}", "[\"\n\\\\\t]{1,3}",
                Just("-----BEGIN PRIVATE KEY-----".to_owned()), Just("\\x1b[31m".to_owned()), Just("\"d\":\"".to_owned()),
                prop::sample::select(RULES.iter().flat_map(|rule| rule.anchors).copied().collect::<Vec<_>>()).prop_map(str::to_owned),
            ], 0..6), 1..30),
        ) {
            let redaction = redaction();
            let texts: Vec<String> = texts.iter().map(|pieces| pieces.concat()).collect();
            let strings: Vec<String> = texts.iter().map(|text| {
                let json = serde_json::to_string(text).unwrap();
                json[1..json.len() - 1].to_owned()
            }).collect();
            for (text, examined) in texts.iter().zip(examined(&redaction, &strings)) {
                let Some((decoded, searches, known)) = examined else { continue };
                prop_assert_eq!(&decoded, text);
                let mut of_all = Work::of(text.len());
                let expected = redaction.edits(text, 1, &mut of_all).unwrap();
                let steps = of_all.steps();
                let mut work = Work::of(text.len());
                prop_assert_eq!(redaction.edits_by((searches, known.as_deref()), text, 1, &mut work).unwrap(), expected.clone());
                prop_assert_eq!(work.steps(), steps);
                prop_assert!(searches != Searches::NONE || expected.is_empty() && steps == 0);
            }
        }
    }
}
