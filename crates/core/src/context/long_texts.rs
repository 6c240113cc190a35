//! Finds the strings that make up most of a JSON value, such as a log in the `stdout` of a shell tool or the text
//! blocks of an MCP result. `json_preview` shows each below its JSON path.

use std::{cmp::Reverse, fmt::Write, ops::ControlFlow};

use json_text::Token;

/// The shortest string that counts as long, in bytes of JSON.
const LEAST_LONG: usize = 512;
/// The most strings that are shown separately.
const MOST_LONG: usize = 4;
/// The least share of the value that the long strings take together.
const LEAST_SHARE: (usize, usize) = (1, 2);
/// The most short strings that are examined for failures.
const MOST_SHORT: usize = 256;
/// The shortest string that is examined, in bytes of JSON.
const LEAST_SHORT: usize = 16;
/// The most steps and bytes of a path, which is written into the placeholder.
const MAX_STEPS: usize = 24;
const MAX_PATH: usize = 160;
/// The longest key in a path, in bytes.
const MAX_KEY: usize = 100;

/// A string within a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundText {
    /// Its JSON path in the value.
    pub path: String,
    /// The decoded string.
    pub text: String,
}

/// The strings of a value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundTexts {
    /// The longest, in the order of the value; empty if they are not most of it.
    pub long: Vec<FoundText>,
    /// The first of the others, in the order of the value.
    pub short: Vec<FoundText>,
}

/// A key or an index in the path to the current value.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Index(usize),
    /// A key, as a token.
    Key(&'a [u8]),
}

/// A string that may be shown.
struct Candidate<'a> {
    path: String,
    token: &'a [u8],
}

/// Collects strings during the scan.
#[derive(Default)]
struct Gathering<'a> {
    /// The step to the current value of each open container, outermost first.
    steps: Vec<Step<'a>>,
    /// The longest strings so far, in the order of the text.
    long: Vec<Candidate<'a>>,
    short: Vec<Candidate<'a>>,
}

/// The strings that make up most of a JSON text; their paths begin with `path`.
pub(super) fn texts_within(json: &str, path: &str) -> FoundTexts {
    let mut gathering = Gathering::default();
    let walked = json_text::walk_value(json.as_bytes(), 0, |token| {
        gathering.add(token, path);
        ControlFlow::Continue(())
    });
    let Gathering { long, short, .. } = gathering;
    let bytes: usize = long.iter().map(|one| one.token.len()).sum();
    let (part, whole) = LEAST_SHARE;
    if walked.is_err() || long.is_empty() || bytes * whole < json.len() * part {
        return FoundTexts::default();
    }
    FoundTexts { long: decoded(long), short: decoded(short) }
}

fn decoded(candidates: Vec<Candidate<'_>>) -> Vec<FoundText> {
    candidates.into_iter().filter_map(Candidate::decoded).collect()
}

impl Candidate<'_> {
    fn decoded(self) -> Option<FoundText> {
        let text = json_text::decode_string(self.token)?.into_owned();
        Some(FoundText { path: self.path, text })
    }
}

impl<'a> Gathering<'a> {
    fn add(&mut self, token: Token<'a>, root: &str) {
        match token {
            Token::Key(key) => {
                if let Some(step) = self.steps.last_mut() {
                    *step = Step::Key(key);
                }
            }
            // A placeholder: the object's first key replaces it.
            Token::ObjectStart => self.steps.push(Step::Key(b"")),
            Token::ArrayStart => self.steps.push(Step::Index(0)),
            Token::ObjectEnd | Token::ArrayEnd => {
                self.steps.pop();
                self.pass();
            }
            Token::String(token) => {
                self.add_string(token, root);
                self.pass();
            }
            Token::Number(_) | Token::Literal(_) => self.pass(),
        }
    }

    /// Steps to the next element of an array, after a value.
    fn pass(&mut self) {
        if let Some(Step::Index(index)) = self.steps.last_mut() {
            *index += 1;
        }
    }

    fn add_string(&mut self, token: &'a [u8], root: &str) {
        let is_long = token.len() >= LEAST_LONG;
        let is_in_question = if is_long {
            self.long.len() < MOST_LONG || self.long.iter().any(|one| one.token.len() < token.len())
        } else {
            token.len() >= LEAST_SHORT && self.short.len() < MOST_SHORT
        };
        let Some(path) = is_in_question.then(|| self.path(root)).flatten() else { return };
        if !is_long {
            self.short.push(Candidate { path, token });
            return;
        }
        // Of members with the same name the last counts, as in `JSON.parse`.
        self.long.retain(|one| one.path != path);
        self.long.push(Candidate { path, token });
        if self.long.len() > MOST_LONG {
            let all = self.long.iter().enumerate();
            let shortest = all.min_by_key(|(at, one)| (one.token.len(), Reverse(*at)));
            if let Some(shortest) = shortest.map(|(at, _)| at) {
                self.long.remove(shortest);
            }
        }
    }

    /// The path of the current value; `None` if a step is not a plain name, or there are too many.
    fn path(&self, root: &str) -> Option<String> {
        if self.steps.len() > MAX_STEPS {
            return None;
        }
        let mut path = root.to_owned();
        for step in &self.steps {
            match *step {
                // Writing to a String cannot fail.
                Step::Index(index) => drop(write!(path, "[{index}]")),
                Step::Key(key) => {
                    let name = json_text::decode_string(key)?;
                    push_name(&mut path, &name)?;
                }
            }
        }
        (path.len() <= MAX_PATH).then_some(path)
    }
}

/// Paths are written outside the placeholder's tags, so keys other than plain names are refused.
fn push_name(path: &mut String, name: &str) -> Option<()> {
    let is_letter = |one: char| one.is_ascii_alphabetic() || one == '_';
    let is_plain = name.starts_with(is_letter)
        && name.chars().all(|one| is_letter(one) || one.is_ascii_digit());
    let is_name = !name.is_empty()
        && name.len() <= MAX_KEY
        && name.chars().all(|one| one.is_alphanumeric() || "_ .$@/:+-".contains(one));
    match (is_plain, is_name) {
        (true, true) => {
            path.push('.');
            path.push_str(name);
        }
        (false, true) => {
            path.push_str("['");
            path.push_str(name);
            path.push_str("']");
        }
        (_, false) => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn found(value: &Value) -> FoundTexts {
        texts_within(&value.to_string(), "$")
    }

    fn paths(texts: &[FoundText]) -> Vec<&str> {
        texts.iter().map(|one| one.path.as_str()).collect()
    }

    #[test]
    fn the_strings_that_make_up_a_value_are_found_with_their_paths() {
        let log = "a line\n".repeat(200);
        let shell = found(&json!({ "stdout": log, "stderr": "cannot open it: x", "exitCode": 1 }));
        assert_eq!(paths(&shell.long), ["$.stdout"]);
        assert_eq!(shell.long[0].text, log);
        assert_eq!(paths(&shell.short), ["$.stderr"]);
        let mcp = found(&json!({ "content": [{ "type": "text" }, { "text": log }, [1, log]] }));
        assert_eq!(paths(&mcp.long), ["$.content[1].text", "$.content[2][1]"]);
        let names = found(&json!({ "$x": [[], {}, log], "a b": { "1": log } }));
        assert_eq!(paths(&names.long), ["$['$x'][2]", "$['a b']['1']"]);
    }

    #[test]
    fn a_value_of_many_strings_is_no_text() {
        let row = "some words of a record".repeat(30);
        assert_eq!(found(&json!(vec![row.clone(); 9])), FoundTexts::default());
        assert_eq!(paths(&found(&json!(vec![row; 7])).long), ["$[0]", "$[1]", "$[2]", "$[3]"]);
        assert_eq!(found(&json!({ "a": "short" })), FoundTexts::default());
        assert_eq!(
            texts_within(&format!("{{\"a\":\"{}\"", "x".repeat(900)), "$"),
            FoundTexts::default()
        );
    }

    #[test]
    fn the_longest_are_kept_in_their_order() {
        let text = |length: usize| "x".repeat(length);
        let value = json!([text(600), text(900), text(700), text(600), text(800), text(550)]);
        assert_eq!(paths(&found(&value).long), ["$[0]", "$[1]", "$[2]", "$[4]"]);
    }

    #[test]
    fn a_path_says_no_more_than_names_and_is_the_one_that_is_read() {
        let log = "a line\n".repeat(200);
        for key in ["a\nb", "it's", "\"]", "", "<x>", &"k".repeat(200)] {
            assert!(found(&json!({ key: log })).long.is_empty(), "{key:?}");
        }
        let twice = format!("{{\"a\":\"{}\",\"a\":\"{}\"}}", "x".repeat(900), "y".repeat(990));
        let found = texts_within(&twice, "$");
        assert_eq!(paths(&found.long), ["$.a"]);
        assert!(found.long[0].text.starts_with('y'));
    }

    proptest! {
        #[test]
        fn every_path_leads_to_its_text(
            lengths in prop::collection::vec(0_usize..1200, 1..8), depth in 0_usize..30,
        ) {
            let texts: Vec<Value> = lengths.iter().map(|&length| json!({ "t e": "é\n".repeat(length / 2) })).collect();
            let value = (0..depth).fold(json!(texts), |inner, _| json!({ "of": [0, inner] }));
            let text = value.to_string();
            for FoundText { path, text: said } in found(&value).long {
                let values = crate::slices::JsonPath::new(&path).unwrap().find(&text, &tasks::Cancelled::default()).unwrap();
                prop_assert_eq!(values.len(), 1);
                let token = &text[values[0].range()];
                prop_assert_eq!(json_text::decode_string(token.as_bytes()).unwrap(), said);
            }
        }

        #[test]
        fn any_text_is_looked_through(text in "[\\[\\]{}\",:a0\\\\]{0,80}") {
            let _ = texts_within(&text, "$");
        }
    }
}
