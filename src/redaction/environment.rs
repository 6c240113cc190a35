//! Values of the process's environment variables whose names look secret: looked for wherever they
//! occur, as they are and as addresses and encodings spell them.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::value;

/// Shorter values occur by accident.
const SHORTEST: usize = 8;
/// Lines of a value of several are looked for by themselves from this length on.
const SHORTEST_LINE: usize = 16;
/// Longer values are looked for by their beginning: nobody meets it by accident.
const LONGEST: usize = 4096;
/// Beyond so many bytes of values the rest is not looked for: no environment is as large.
const MAX_BYTES: usize = 4 << 20;

/// What `encodeURIComponent` encodes.
const NOT_IN_ADDRESSES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The values to look for, as they were at the time of a call.
#[derive(Debug, Default)]
pub struct EnvironmentValues {
    automaton: Option<AhoCorasick>,
}

impl EnvironmentValues {
    /// From pairs of name and value; those that are too short or too common to be looked for are
    /// left out.
    #[must_use]
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut texts = Vec::new();
        let mut bytes = 0;
        for (_, value) in variables {
            bytes += value.len();
            if bytes > MAX_BYTES {
                break;
            }
            add_spellings(value.trim(), SHORTEST, &mut texts);
            if value.trim().contains('\n') {
                for line in value.lines() {
                    add_spellings(line.trim(), SHORTEST_LINE, &mut texts);
                }
            }
        }
        texts.sort_unstable();
        texts.dedup();
        if texts.is_empty() {
            return Self::default();
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
        Self { automaton: automaton.ok() }
    }

    /// Whether nothing is looked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// Appends where values stand in a text.
    pub(super) fn find(&self, text: &str, hits: &mut Vec<Range<usize>>) {
        if let Some(automaton) = &self.automaton {
            hits.extend(automaton.find_iter(text).map(|found| found.range()));
        }
    }
}

/// Adds a value as it is, as a part of an address and in base64.
fn add_spellings(value: &str, shortest: usize, texts: &mut Vec<String>) {
    let end = (0..=value.len().min(LONGEST)).rev().find(|&at| value.is_char_boundary(at));
    let value = value.get(..end.unwrap_or_default()).unwrap_or_default();
    if value.len() < shortest || !value::is_worth_looking_for(value) {
        return;
    }
    texts.push(utf8_percent_encode(value, NOT_IN_ADDRESSES).to_string());
    texts.push(STANDARD_NO_PAD.encode(value));
    texts.push(STANDARD.encode(value));
    texts.push(value.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[&str]) -> EnvironmentValues {
        EnvironmentValues::new(values.iter().map(|value| ("TOKEN".to_owned(), (*value).to_owned())))
    }

    fn found<'a>(values: &EnvironmentValues, text: &'a str) -> Vec<&'a str> {
        let mut hits = Vec::new();
        values.find(text, &mut hits);
        hits.into_iter().map(|hit| &text[hit]).collect()
    }

    #[test]
    fn values_are_found_wherever_they_stand() {
        let values = values(&["s3cr3t/valué", "s3cr3t/valué-and-more"]);
        assert_eq!(
            found(&values, "a s3cr3t/valué, bs3cr3t/valué-and-more"),
            ["s3cr3t/valué", "s3cr3t/valué-and-more"]
        );
        assert_eq!(found(&values, "S3CR3T/VALUÉ"), [""; 0]);
    }

    #[test]
    fn values_are_found_as_they_are_encoded() {
        let values = values(&["s3cr3t/valu=1"]);
        assert_eq!(found(&values, "?a=s3cr3t%2Fvalu%3D1&b"), ["s3cr3t%2Fvalu%3D1"]);
        assert_eq!(found(&values, "czNjcjN0L3ZhbHU9MQ=="), ["czNjcjN0L3ZhbHU9MQ=="]);
        assert_eq!(found(&values, "czNjcjN0L3ZhbHU9MQ."), ["czNjcjN0L3ZhbHU9MQ"]);
    }

    #[test]
    fn lines_of_a_value_are_found_by_themselves() {
        let values = values(&["MIIEpAIBAAKCAQEA3yLb\nshort1\nu4S0gvcUONLHTaWaUP1g"]);
        assert_eq!(found(&values, "x u4S0gvcUONLHTaWaUP1g short1"), ["u4S0gvcUONLHTaWaUP1g"]);
    }

    #[test]
    fn what_is_short_or_common_is_not_looked_for() {
        let common = [
            "",
            "short1",
            "production",
            "localhost",
            "undefined",
            "password",
            "11111111",
            "1234567890",
            "/run/user/1000/keyring",
            "https://example.com/auth",
            "[REDACTED:token]",
            "true",
            "db.internal.example",
        ];
        assert!(values(&common).is_empty());
        assert!(!values(&["hunter2hunter3"]).is_empty());
        assert!(!values(&["correct horse battery"]).is_empty());
    }
}
