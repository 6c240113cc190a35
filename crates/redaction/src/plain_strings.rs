//! Finds the strings of a JSON text in which no rule has anything to examine, so that they need no redaction. The
//! anchors of the rules are searched in the undecoded text, many strings at once, so that most strings are neither
//! decoded nor redacted one by one.

use std::{borrow::Cow, ops::Range};

use super::{Redaction, private_key, redaction::may_be_json, view};

/// Number of bytes that are searched at once. Longer strings are redacted one by one.
const SEARCHED: usize = 4 << 10;

/// The strings of a JSON text; the caller asks for them in order.
pub(super) struct PlainStrings<'a> {
    redaction: &'a Redaction,
    /// `None` if the JSON is not valid UTF-8.
    json: Option<&'a str>,
    /// Whether plain strings are searched for at all.
    is_searched: bool,
    /// The part of the text that was searched last.
    searched: Range<usize>,
    /// The positions in this part at which a rule would examine the text, in descending order.
    places: Vec<usize>,
}

impl<'a> PlainStrings<'a> {
    pub fn new(redaction: &'a Redaction, json: &'a [u8]) -> Self {
        Self {
            redaction,
            json: std::str::from_utf8(json).ok(),
            is_searched: redaction.has_own_rules_alone(),
            searched: 0..0,
            places: Vec::new(),
        }
    }

    /// The text between the quotes of a token, if it contains no escape sequence.
    pub fn content(&self, token: &Range<usize>) -> Option<&'a str> {
        let content = self.json?.get(token.start + 1..token.end.checked_sub(1)?)?;
        memchr::memchr(b'\\', content.as_bytes()).is_none().then_some(content)
    }

    /// The decoded text of a string. `token` is the range of the string with its quotes.
    pub fn decoded(&self, token: &Range<usize>) -> Option<Cow<'a, str>> {
        let content = self.json?.get(token.start + 1..token.end.checked_sub(1)?)?;
        Some(json_text::decode_content(content))
    }

    /// The text of a string, if redacting it finds nothing and takes no steps of work. `token` is the range of the string with its
    /// quotes.
    pub fn text(&mut self, token: &Range<usize>) -> Option<&'a str> {
        let content = token.start + 1..token.end.checked_sub(1)?;
        let text = self.json?.get(content.clone())?;
        let is_alone = !self.is_searched
            || text.len() > SEARCHED
            || memchr::memchr(b'\\', text.as_bytes()).is_some()
            || !matches!(text.bytes().next_back(), Some(b'!'..=b'Z' | b'a'..=b'z'))
                && may_be_json(text);
        if is_alone {
            return None;
        }
        if content.start < self.searched.start || content.end > self.searched.end {
            self.search(content.start)?;
        }
        while self.places.pop_if(|place| *place < content.start).is_some() {}
        self.places.last().is_none_or(|place| *place >= content.end).then_some(text)
    }

    fn search(&mut self, start: usize) -> Option<()> {
        let json = self.json?;
        let end = json.ceil_char_boundary(start.saturating_add(SEARCHED));
        let part = json.get(start..end)?;
        self.searched = start..end;
        self.places.clear();
        let places = &mut self.places;
        let mut add = |place: usize| places.push(start + place);
        self.redaction.signs(part, &mut add);
        private_key::signs(part.as_bytes(), &mut add);
        view::hidden(part).for_each(|range| add(range.start));
        places.sort_unstable_by(|one, other| other.cmp(one));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{EnvironmentValues, RedactionOptions, Redactor, work::Work};

    fn redaction() -> Redaction {
        let value = ("A_TOKEN".to_owned(), "kanto77!ab".to_owned());
        let environment = EnvironmentValues::new([value]);
        Redaction::new(Redactor::new(RedactionOptions::default()).unwrap(), Arc::new(environment))
    }

    /// For each text, whether it is plain as a string of one array.
    fn are_plain(redaction: &Redaction, texts: &[&str]) -> Vec<bool> {
        let json = format!("[\"{}\"]", texts.join("\",\""));
        let mut plain = PlainStrings::new(redaction, json.as_bytes());
        let mut at = 1;
        let mut is_plain = |text: &&str| {
            let token = at..at + text.len() + 2;
            at = token.end + 1;
            let found = plain.text(&token);
            assert!(found.is_none_or(|found| found == *text));
            found.is_some()
        };
        texts.iter().map(&mut is_plain).collect()
    }

    #[test]
    fn strings_with_something_to_examine_are_not_plain() {
        let run = "Ab1".repeat(22);
        let texts = [
            ("two words", true),
            ("", true),
            ("password", false),
            ("a kanto77!ab", false),
            ("a -- b", false),
            ("PRIVATE", false),
            ("a\u{200b}b", false),
            ("{}", false),
            (" [1] ", false),
            (r"a\nb", false),
            ("a.b2c3d4.e", false),
            (run.as_str(), false),
            ("naïve", true),
        ];
        let (texts, expected): (Vec<_>, Vec<_>) = texts.into_iter().unzip();
        assert_eq!(are_plain(&redaction(), &texts), expected);
    }

    proptest! {
        #[test]
        fn nothing_is_found_in_a_plain_string_and_no_step_is_taken(
            texts in prop::collection::vec(prop::collection::vec(prop_oneof![
                "[a-zA-Z0-9 .:=_-]{1,12}", Just("token".to_owned()), Just("key".to_owned()), Just("é".to_owned()),
                Just("kanto77!ab".to_owned()), Just("--".to_owned()), Just("://".to_owned()), Just("{".to_owned()),
                Just("}".to_owned()), Just("\u{ad}".to_owned()), "[A-Za-z0-9+/]{60,70}",
            ], 0..4), 1..40),
        ) {
            let redaction = redaction();
            let texts: Vec<String> = texts.iter().map(|pieces| pieces.concat()).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            for (text, is_plain) in texts.iter().zip(are_plain(&redaction, &texts)) {
                let mut work = Work::of(text.len());
                if is_plain {
                    prop_assert_eq!(redaction.edits(text, 1, &mut work).unwrap(), []);
                    prop_assert_eq!(work.steps(), 0);
                }
            }
        }
    }
}
