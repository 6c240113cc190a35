//! A record's notes on how it was stored: the redacted secrets, and the size of the placeholder in the conversation.

use redaction::Report;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::{self, Head};

/// Maximum number of rules that are read from a record; this package writes fewer.
const MAX_RULES: usize = 256;
/// Maximum length of a rule's name that is read from a record.
const MAX_RULE: usize = 64;

/// The notes on a stored output. Records of earlier releases have none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noted {
    /// The number of replaced secrets by rule: the member `redactions`, as a JSON token.
    pub redactions: Option<Box<str>>,
    /// The sizes, if a placeholder replaced the output in the conversation.
    pub shown: Option<Shown>,
}

/// The sizes of an output and of its placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The size of the output in the conversation, in bytes: `outputBytes`.
    pub output: u64,
    /// The size of the placeholder in bytes: `shownBytes`.
    pub placeholder: u64,
}

impl Shown {
    /// The sizes, if the placeholder is shorter than the output; otherwise the conversation contains the output itself.
    pub fn of(output: Option<u64>, placeholder: Option<&str>) -> Option<Self> {
        let (output, placeholder) = (output?, placeholder?.len() as u64);
        (placeholder < output).then_some(Self { output, placeholder })
    }
}

/// A finding as a record contains it.
#[derive(Serialize, Deserialize)]
struct Redacted {
    rule: String,
    count: u64,
}

impl Noted {
    /// The notes on an output that is about to be stored.
    pub fn new(report: &Report, shown: Option<Shown>) -> Self {
        let redactions =
            (!report.is_empty()).then(|| json!(report.findings()).to_string().into_boxed_str());
        Self { redactions, shown }
    }

    /// The notes in a record. Records of other programs may contain anything; notes in another form are ignored.
    pub fn of_record(text: &[u8], head: &Head) -> Self {
        let token = |range: &Option<std::ops::Range<usize>>| text.get(range.clone()?);
        let redactions = token(&head.redactions).and_then(|token| {
            let found: Vec<Redacted> = serde_json::from_slice(token).ok()?;
            let is_ours = (1..=MAX_RULES).contains(&found.len())
                && found.iter().all(|finding| finding.rule.len() <= MAX_RULE);
            is_ours.then(|| json!(found).to_string().into_boxed_str())
        });
        let number = |range| std::str::from_utf8(token(range)?).ok()?.parse().ok();
        let sizes = number(&head.output_bytes).zip(number(&head.shown_bytes));
        Self { redactions, shown: sizes.map(|(output, placeholder)| Shown { output, placeholder }) }
    }

    /// The keys and JSON tokens of the notes that are present.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, String)> {
        let size =
            |size: fn(&Shown) -> u64| self.shown.as_ref().map(|shown| size(shown).to_string());
        let members = [
            ("redactions", self.redactions.as_deref().map(str::to_owned)),
            ("outputBytes", size(|shown| shown.output)),
            ("shownBytes", size(|shown| shown.placeholder)),
        ];
        members.into_iter().filter_map(|(key, token)| Some((key, token?)))
    }

    /// Inserts the notes into a record; see [`record::insert_member`].
    pub fn insert(&self, text: &mut Vec<u8>, result: usize, arguments: usize) -> usize {
        self.members().fold(result, |result, (key, token)| {
            record::insert_member(text, result, arguments, key, &token)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(members: &str) -> Noted {
        let text = format!("{{\"toolName\":\"t\",{members}\"result\":1}}");
        Noted::of_record(text.as_bytes(), &record::parse_head(text.as_bytes()).unwrap())
    }

    #[test]
    fn what_a_record_says_is_read_again() {
        let noted = Noted {
            redactions: Some("[{\"rule\":\"assignment\",\"count\":2}]".into()),
            shown: Some(Shown { output: 5000, placeholder: 700 }),
        };
        let members: String =
            noted.members().map(|(key, token)| format!("\"{key}\":{token},")).collect();
        assert_eq!(read(&members), noted);
        assert_eq!(read(""), Noted::default());
        assert_eq!(Noted::new(&Report::default(), None), Noted::default());
    }

    #[test]
    fn what_is_not_of_our_form_is_ignored() {
        let many = format!("[{}]", vec!["{\"rule\":\"a\",\"count\":1}"; MAX_RULES + 1].join(","));
        let long = format!("[{{\"rule\":\"{}\",\"count\":1}}]", "a".repeat(MAX_RULE + 1));
        for token in ["1", "[]", "\"a\"", "[1]", "[{\"rule\":1}]", "{}", &many, &long] {
            let members = format!("\"redactions\":{token},\"shownBytes\":{token},");
            assert_eq!(read(&members), Noted::default(), "{token}");
        }
        assert_eq!(read("\"outputBytes\":1.5,\"shownBytes\":1,"), Noted::default());
    }

    #[test]
    fn a_placeholder_is_shown_where_it_is_shorter() {
        assert_eq!(Shown::of(Some(5), Some("abc")), Some(Shown { output: 5, placeholder: 3 }));
        assert_eq!(Shown::of(Some(3), Some("abc")), None);
        assert_eq!(Shown::of(None, Some("abc")).or(Shown::of(Some(5), None)), None);
    }
}
