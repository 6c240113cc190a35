//! Finds given values of environment variables in texts, also in encoded form (URL, base64, JSON). The caller selects
//! the variables by name; values that are too short or too common are ignored.

use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    common_values::is_common,
    literals::Literals,
    replacement::{START, without_labels},
};
use crate::error::{Error, ErrorKind, Result};

/// Minimum number of characters of a value.
const MIN_VALUE: usize = 8;
/// Minimum number of characters of a line of a value that is searched for separately.
const MIN_LINE: usize = 16;
/// Maximum length of a value that is also searched for in other encodings. Memory is in proportion to this.
const MAX_ENCODED: usize = 1 << 14;
/// The characters that `encodeURIComponent` escapes.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The values to search for, as of the time of a call.
#[derive(Debug, Default)]
pub struct EnvironmentValues {
    /// `None` when there is nothing to search for; an error when the search could not be built.
    literals: Option<std::result::Result<Literals, ()>>,
    /// Whether one of the texts has a character that JSON escapes.
    has_escaped: bool,
}

impl EnvironmentValues {
    /// Selects the values to search for from pairs of name and value. Values that are too short or too common are left
    /// out. Each value is searched for literally, URL-encoded, in base64 and JSON-escaped, and so is each of its long
    /// lines.
    #[must_use]
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for (_, value) in variables {
            let value = value.trim();
            if is_looked_for(value, MIN_VALUE) {
                texts.push(value.to_owned());
                if value.len() <= MAX_ENCODED {
                    texts.extend(encoded(value));
                }
            }
            // Configuration files often escape line ends.
            let lines = value.lines().flat_map(|line| line.split("\\n")).map(str::trim);
            let lines = lines.filter(|line| line.len() < value.len() && !line.starts_with("-----"));
            texts.extend(lines.filter(|line| is_looked_for(line, MIN_LINE)).map(str::to_owned));
        }
        texts.sort_unstable();
        texts.dedup();
        let literals = (!texts.is_empty()).then(|| Literals::new(&texts).map_err(|_| ()));
        let is_escaped = |byte: u8| byte < b' ' || matches!(byte, b'"' | b'\\');
        let has_escaped = texts.iter().any(|text| text.bytes().any(is_escaped));
        Self { literals, has_escaped }
    }

    /// Whether a value that is searched for has a character that JSON escapes.
    pub(super) fn has_escaped(&self) -> bool {
        self.has_escaped
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.literals.is_none()
    }

    /// Visits the positions in a text at which [`EnvironmentValues::find`] finds a value, in no particular order; every position
    /// if it fails.
    pub(super) fn signs(&self, text: &str, visit: &mut impl FnMut(usize)) {
        match &self.literals {
            None => {}
            Some(Err(())) => (0..text.len()).for_each(visit),
            Some(Ok(literals)) => literals.find(text, |found, _| {
                visit(found.start);
                true
            }),
        }
    }

    /// Appends the range of every value in a text, on character boundaries; overlapping ranges are merged. Text within
    /// a replacement is ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] when there are too many matches.
    pub(super) fn find(&self, text: &str, hits: &mut Vec<Range<usize>>) -> Result<()> {
        let Some(literals) = &self.literals else { return Ok(()) };
        let literals = literals.as_ref().map_err(|()| {
            Error::new(ErrorKind::Failed, "the environment has too many secrets to search for")
        })?;
        let before = hits.len();
        literals.find(text, |mut hit, _| {
            while hits.len() > before
                && let Some(last) = hits.last()
                && hit.start < last.end
            {
                hit.start = hit.start.min(last.start);
                hits.pop();
            }
            hits.push(hit);
            true
        });
        without_labels(text, before, hits, |hit| hit);
        Ok(())
    }
}

fn is_looked_for(value: &str, least: usize) -> bool {
    value.chars().nth(least - 1).is_some() && !value.contains(START) && !is_common(value)
}

/// The value in other encodings, where they differ from it.
fn encoded(value: &str) -> impl Iterator<Item = String> {
    let json = serde_json::to_string(value).unwrap_or_default();
    let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).map(str::to_owned);
    // Padding is left out: it depends on what follows the value.
    let base64 = STANDARD_NO_PAD.encode(value);
    let component = utf8_percent_encode(value, COMPONENT).to_string();
    let different = move |text: &String| text != value;
    json.into_iter().chain([base64, component]).filter(different).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[&str]) -> EnvironmentValues {
        EnvironmentValues::new(values.iter().map(|value| ("NAME".to_owned(), (*value).to_owned())))
    }

    fn found<'t>(value: &str, text: &'t str) -> Vec<&'t str> {
        let mut hits = Vec::new();
        values(&[value]).find(text, &mut hits).unwrap();
        hits.into_iter().map(|hit| &text[hit]).collect()
    }

    #[test]
    fn a_value_is_found_wherever_it_is() {
        let value = "gT7#kq/2 é\"w";
        assert_eq!(found(value, &format!("a{value}b{value}{value}")), [value, value, value]);
        assert_eq!(found(value, "?key=gT7%23kq%2F2%20%C3%A9%22w&"), ["gT7%23kq%2F2%20%C3%A9%22w"]);
        assert_eq!(found(value, r#"{"key":"gT7#kq/2 é\"w"}"#), [r#"gT7#kq/2 é\"w"#]);
        assert_eq!(found(value, "Basic Z1Q3I2txLzIgw6kidw== "), ["Z1Q3I2txLzIgw6kidw"]);
        assert_eq!(found(value, "gT7#kq/2 É\"w gT7#kq/2"), [""; 0]);
        assert_eq!(found(&format!(" {value}\n"), value), [value]);
    }

    #[test]
    fn each_long_line_of_a_value_is_looked_for() {
        let (first, second) = ("MIIEpAIBAAKCAQEA7b9z", "kq2dT0xWcN5vR8sLhYpF");
        for value in [
            format!(
                "-----BEGIN PRIVATE KEY-----\n{first}\r\n{second}\nab12\n-----END PRIVATE KEY-----\n"
            ),
            format!(
                "-----BEGIN PRIVATE KEY-----\\n{first}\\n{second}\\nab12\\n-----END PRIVATE KEY-----"
            ),
        ] {
            assert_eq!(found(&value, &value), [value.trim()]);
            let text = format!("> {second}\n> {first}\n> ab12 -----BEGIN PRIVATE KEY-----");
            assert_eq!(found(&value, &text), [second, first]);
        }
    }

    #[test]
    fn values_that_overlap_are_one_hit() {
        let earlier = 0..1;
        let mut hits = vec![earlier.clone()];
        let values = values(&["abcd1234efgh", "efgh5678ijkl", "8ijklmn0pqrs"]);
        values.find("abcd1234efgh5678ijklmn0pqrs abcd1234efgh", &mut hits).unwrap();
        assert_eq!(hits, [earlier, 0..27, 28..40]);
    }

    #[test]
    fn replacements_are_not_redacted_again() {
        let value = "environment-key-1";
        assert_eq!(found(value, &format!("[REDACTED:{value}]")), [""; 0]);
        let text = format!("[REDACTED:a]{value}[REDACTED:{value}] [REDACTED:{value}");
        assert_eq!(found(value, &text), [value, value]);
        assert!(values(&["x[REDACTED:generic]y"]).is_empty());
    }

    #[test]
    fn many_values_are_found_as_few_are() {
        let all: Vec<_> =
            (0..2000).map(|number| format!("key{number:x}Zq{}w", number * 7919)).collect();
        let all: Vec<_> =
            all.iter().map(String::as_str).filter(|value| value.len() >= MIN_VALUE).collect();
        let text = all.join(" ");
        let mut hits = Vec::new();
        values(&all).find(&text, &mut hits).unwrap();
        assert_eq!(hits.iter().map(|hit| &text[hit.clone()]).collect::<Vec<_>>(), all);
    }

    #[test]
    fn nothing_is_looked_for_without_secrets() {
        assert!(values(&[]).is_empty());
        assert!(values(&["", "kX9#v2q", "password123"]).is_empty());
        assert!(EnvironmentValues::default().is_empty());
        assert!(!values(&["kX9#v2qp"]).is_empty());
    }
}
