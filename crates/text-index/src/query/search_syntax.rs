//! Parser for search queries: words, `"exact phrases"`, `prefix*`, `-excluded`, `tool:name`, and `after:` and `before:`
//! with a date.

use chrono::{DateTime, NaiveDate, NaiveDateTime};

/// Maximum length of a query in bytes; longer ones are refused.
const MAXIMUM_BYTES: usize = 8192;
/// Maximum number of phrases, prefixes and exclusions, each of which is searched for separately in every text.
const MAXIMUM_PARTS: usize = 32;

/// A parsed search query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchSyntax {
    /// Texts whose words are searched for; any may match.
    pub words: Vec<String>,
    /// Texts that must occur exactly.
    pub phrases: Vec<String>,
    /// Prefixes of words; any may match.
    pub prefixes: Vec<String>,
    /// Texts that must not occur.
    pub excluded: Vec<Excluded>,
    /// The tools whose outputs are searched; `None` for all.
    pub tools: Option<Vec<String>>,
    /// The tools whose outputs are not searched.
    pub excluded_tools: Vec<String>,
    /// Earliest time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Latest time, in milliseconds since 1970.
    pub until: Option<i64>,
}

/// A text that must not occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excluded {
    /// A word, in all its forms.
    Word(String),
    /// Every word with this prefix.
    Prefix(String),
    /// An exact text.
    Phrase(String),
}

/// A query that is refused, with the reason. The message is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SyntaxError(String);

impl SearchSyntax {
    /// Parses a query. Text that is not an operator is searched for. A quote that is not closed ends with the query.
    ///
    /// # Errors
    /// [`SyntaxError`] for an invalid date, and for a query that is too long or has too many phrases, prefixes and
    /// exclusions.
    pub fn parse(query: &str) -> Result<Self, SyntaxError> {
        Self::parse_with(query, &[Operator::Tool, Operator::After, Operator::Before])
    }

    /// As [`SearchSyntax::parse`], for documents without tools: `tool:` is text.
    ///
    /// # Errors
    /// As [`SearchSyntax::parse`].
    pub fn parse_without_tools(query: &str) -> Result<Self, SyntaxError> {
        Self::parse_with(query, &[Operator::After, Operator::Before])
    }

    fn parse_with(query: &str, operators: &[Operator]) -> Result<Self, SyntaxError> {
        if query.len() > MAXIMUM_BYTES {
            return Err(invalid(format!(
                "query must have at most {MAXIMUM_BYTES} bytes, not {}; search for fewer words",
                query.len()
            )));
        }
        let mut syntax = Self::default();
        let mut rest = query;
        loop {
            rest = rest.trim_start_matches(is_space);
            if rest.is_empty() {
                break;
            }
            rest = syntax.read_part(rest, operators)?;
        }
        let parts = syntax.phrases.len() + syntax.prefixes.len() + syntax.excluded.len();
        if parts > MAXIMUM_PARTS {
            return Err(invalid(format!(
                "query must have at most {MAXIMUM_PARTS} phrases, prefixes and exclusions, not {parts}"
            )));
        }
        Ok(syntax)
    }

    /// Whether the query has something to search for, besides filters and exclusions.
    #[must_use]
    pub fn is_positive(&self) -> bool {
        !(self.words.is_empty() && self.phrases.is_empty() && self.prefixes.is_empty())
    }

    /// What the query searches for, without operators, filters and exclusions; `None` if it has only these.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let parts: Vec<&str> = [&self.words, &self.phrases, &self.prefixes]
            .into_iter()
            .flatten()
            .map(|part| &**part)
            .collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    /// Parses the part at the start of `text`. Returns the rest.
    fn read_part<'q>(
        &mut self,
        text: &'q str,
        operators: &[Operator],
    ) -> Result<&'q str, SyntaxError> {
        let excluding = text.strip_prefix('-').filter(|rest| {
            rest.starts_with(|character: char| character.is_alphanumeric() || character == '"')
        });
        let is_excluded = excluding.is_some();
        let text = excluding.unwrap_or(text);
        if let Some((content, rest)) = read_quoted(text) {
            if content.chars().any(|character| !is_space(character)) {
                if is_excluded {
                    push(&mut self.excluded, Excluded::Phrase(content.to_owned()));
                } else {
                    push(&mut self.phrases, content.to_owned());
                }
            }
            return Ok(rest);
        }
        if let Some((operator, value, rest)) = read_operator(text)
            && operators.contains(&operator)
            && (!is_excluded || operator == Operator::Tool)
        {
            self.apply(operator, value, is_excluded)?;
            return Ok(rest);
        }
        let (run, rest) =
            text.split_at(text.find(|c| is_space(c) || c == '"').unwrap_or(text.len()));
        let (before, prefix) = split_prefix(run);
        match (is_excluded, prefix) {
            (true, Some(prefix)) if before.is_empty() => {
                push(&mut self.excluded, Excluded::Prefix(prefix.to_owned()));
            }
            (true, _) if run.chars().all(is_of_word) => {
                push(&mut self.excluded, Excluded::Word(run.to_owned()));
            }
            (true, _) => push(&mut self.excluded, Excluded::Phrase(run.to_owned())),
            (false, prefix) => {
                if before.contains(char::is_alphanumeric) {
                    self.words.push(before.to_owned());
                }
                if let Some(prefix) = prefix {
                    push(&mut self.prefixes, prefix.to_owned());
                }
            }
        }
        Ok(rest)
    }

    fn apply(
        &mut self,
        operator: Operator,
        value: Value<'_>,
        is_excluded: bool,
    ) -> Result<(), SyntaxError> {
        match operator {
            Operator::Tool => {
                let names = match value {
                    Value::Quoted(name) => vec![name.to_owned()],
                    Value::Plain(names) => names
                        .split(',')
                        .filter(|name| !name.is_empty())
                        .map(str::to_owned)
                        .collect(),
                };
                if is_excluded {
                    self.excluded_tools.extend(names);
                } else {
                    self.tools.get_or_insert_default().extend(names);
                }
            }
            Operator::After => {
                let time = read_time("after", value.text())?;
                self.since = self.since.max(Some(time));
            }
            Operator::Before => {
                let last = read_time("before", value.text())? - 1;
                self.until = Some(self.until.map_or(last, |until| until.min(last)));
            }
        }
        Ok(())
    }
}

/// Adds a part once, even if the query repeats it.
fn push<T: PartialEq>(parts: &mut Vec<T>, part: T) {
    if !parts.contains(&part) {
        parts.push(part);
    }
}

fn invalid(message: String) -> SyntaxError {
    SyntaxError(message)
}

fn is_space(character: char) -> bool {
    character.is_whitespace() || character.is_control()
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

/// The text within the quotes at the start of `text`, and the rest.
fn read_quoted(text: &str) -> Option<(&str, &str)> {
    let content = text.strip_prefix('"')?;
    Some(content.split_once('"').unwrap_or((content, "")))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Tool,
    After,
    Before,
}

#[derive(Clone, Copy, Debug)]
enum Value<'q> {
    Quoted(&'q str),
    Plain(&'q str),
}

impl<'q> Value<'q> {
    fn text(self) -> &'q str {
        match self {
            Self::Quoted(text) | Self::Plain(text) => text,
        }
    }
}

/// The operator at the start of `text`, its value, and the rest; `None` without a value.
fn read_operator(text: &str) -> Option<(Operator, Value<'_>, &str)> {
    let (name, after) = text.split_once(':')?;
    let operators =
        [("tool", Operator::Tool), ("after", Operator::After), ("before", Operator::Before)];
    let (_, operator) =
        operators.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    let (value, rest) = match read_quoted(after) {
        Some((value, rest)) => (Value::Quoted(value), rest),
        None => {
            let (value, rest) = after.split_at(after.find(is_space).unwrap_or(after.len()));
            (Value::Plain(value), rest)
        }
    };
    let is_given =
        value.text().contains(|character: char| !is_space(character) && character != ',');
    is_given.then_some((operator, value, rest))
}

/// Splits `connec*` off the end of a run, if there is such an end.
fn split_prefix(run: &str) -> (&str, Option<&str>) {
    let Some(stem) = run.strip_suffix('*') else { return (run, None) };
    let start = stem.rfind(|character| !is_of_word(character)).map_or(0, |at| {
        at + stem.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    });
    let (before, prefix) = stem.split_at(start);
    if prefix.contains(char::is_alphanumeric) { (before, Some(prefix)) } else { (run, None) }
}

/// Parses a date or a time to milliseconds since 1970. UTC if there is no zone.
fn read_time(operator: &str, text: &str) -> Result<i64, SyntaxError> {
    let text = text.trim();
    parse_time(text).ok_or_else(|| {
        let shown: String = text.chars().take(50).collect();
        invalid(format!(
            "query: {operator}:{shown} names no time; write {operator}:2026-11-01, {operator}:2026-11-01T09:30 or {operator}:2026-11-01T09:30:00+01:00 (ISO 8601, UTC where there is no zone)"
        ))
    })
}

fn parse_time(text: &str) -> Option<i64> {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let text = text.to_ascii_uppercase();
    if let Ok(date) = NaiveDate::parse_from_str(&text, "%Y-%m-%d") {
        return Some(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis());
    }
    let plain = text.strip_suffix('Z').unwrap_or(&text);
    for format in ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(plain, format) {
            return Some(time.and_utc().timestamp_millis());
        }
    }
    let zoned = ["%Y-%m-%dT%H:%M%:z", "%Y-%m-%dT%H:%M:%S%.f%:z"];
    let times = zoned.iter().filter_map(|format| DateTime::parse_from_str(&text, format).ok());
    times.map(|time| time.timestamp_millis()).next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(query: &str) -> SearchSyntax {
        SearchSyntax::parse(query).unwrap()
    }

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn parts_are_distinguished() {
        let syntax = parse(
            r#"login "exact  phrase" connec* tool:grep,read -draft -"no such" -old* after:2026-11-01 before:2026-11-02T01:00+01:00 -tool:"my tool""#,
        );
        assert_eq!(syntax.words, texts(&["login"]));
        assert_eq!(syntax.phrases, texts(&["exact  phrase"]));
        assert_eq!(syntax.prefixes, texts(&["connec"]));
        assert_eq!(
            syntax.excluded,
            [
                Excluded::Word("draft".to_owned()),
                Excluded::Phrase("no such".to_owned()),
                Excluded::Prefix("old".to_owned()),
            ]
        );
        assert_eq!(syntax.tools, Some(texts(&["grep", "read"])));
        assert_eq!(syntax.excluded_tools, texts(&["my tool"]));
        assert_eq!(syntax.since, Some(1_793_491_200_000));
        assert_eq!(syntax.until, Some(1_793_491_200_000 + 86_400_000 - 1));
    }

    #[test]
    fn what_is_no_operator_is_text() {
        for text in [
            "foo:bar",
            "https://example.org/a?b=c",
            "tool:",
            "after:",
            "C:\\Users",
            "--flag",
            "a*b",
            "src/*",
            "(a|b)+",
            "mytool:x",
        ] {
            let syntax = parse(text);
            assert_eq!(syntax.words, [text], "{text}");
            assert_eq!(SearchSyntax { words: Vec::new(), ..syntax }, SearchSyntax::default());
        }
        assert_eq!(parse("src/log*").words, ["src/"]);
        assert_eq!(parse("src/log*").prefixes, ["log"]);
        assert_eq!(parse("- foo").words, ["foo"]);
        assert_eq!(parse("-src/a.ts").excluded, [Excluded::Phrase("src/a.ts".to_owned())]);
        assert_eq!(parse("say\"hello there").words, ["say"]);
        assert_eq!(parse("say\"hello there").phrases, ["hello there"], "closed at the end");
        for nothing in ["", " \t\n", "\"\"", "\" ", "!= ::", "*", "\0"] {
            assert!(parse(nothing) == SearchSyntax::default(), "{nothing:?}");
        }
    }

    #[test]
    fn where_there_are_no_tools_their_operator_is_text() {
        let syntax =
            SearchSyntax::parse_without_tools("tool:grep -tool:a after:2026-11-01").unwrap();
        assert_eq!(syntax.words, ["tool:grep"]);
        assert_eq!(syntax.excluded, [Excluded::Phrase("tool:a".to_owned())]);
        assert_eq!((syntax.tools, syntax.since), (None, Some(1_793_491_200_000)));
        assert!(syntax.excluded_tools.is_empty());
    }

    #[test]
    fn filters_of_one_kind_are_joined() {
        let syntax = parse("tool:a TOOL:b,,c after:2024-01-01 after:2025-01-01");
        assert_eq!(syntax.tools, Some(texts(&["a", "b", "c"])));
        assert_eq!(syntax.since, parse("after:2025-01-01").since);
        assert!(!syntax.is_positive() && syntax != SearchSyntax::default());
        let first = parse("before:2024-01-01");
        assert_eq!(parse("before:2024-01-01 before:2025-01-01"), first);
        assert_eq!(parse("before:2025-01-01 before:2024-01-01"), first);
    }

    #[test]
    fn times_are_read_and_faults_explained() {
        for (text, time) in [
            ("1970-01-02", 86_400_000),
            ("1970-01-01T00:01", 60_000),
            ("1970-01-01t00:01z", 60_000),
            ("1970-01-01T00:00:01.5", 1500),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-01T01:00-01:00", 7_200_000),
        ] {
            assert_eq!(parse(&format!("after:{text}")).since, Some(time), "{text}");
            assert_eq!(parse(&format!("after:\"{text}\"")).since, Some(time), "{text}");
        }
        for text in ["lunch", "2026-13-01", "2026-02-30", "2026", "2026-11", "20261101", "+5", "-1"]
        {
            let error = SearchSyntax::parse(&format!("x after:{text} y")).unwrap_err();
            assert!(error.to_string().contains("2026-11-01T09:30"), "{error}");
        }
    }

    #[test]
    fn hostile_queries_are_refused() {
        let is_refused = |query: &str| SearchSyntax::parse(query).is_err();
        assert!(is_refused(&"a".repeat(MAXIMUM_BYTES + 1)));
        let phrases: String = (0..=MAXIMUM_PARTS).map(|number| format!("\"{number}\"")).collect();
        assert!(is_refused(&phrases));
        assert_eq!(parse(&"\"a\"".repeat(1000)).phrases, ["a"]);
    }

    proptest! {
        #[test]
        fn any_query_is_read(query in "\\PC*|[-a\"*: tol,0-9\u{0}éT]{0,80}") {
            if let Ok(syntax) = SearchSyntax::parse(&query) {
                prop_assert!(syntax.phrases.iter().all(|phrase| query.contains(phrase.as_str())));
                prop_assert!(syntax.words.iter().all(|words| words.contains(char::is_alphanumeric)));
            }
        }

        #[test]
        fn what_is_written_is_read_back(
            words in prop::collection::vec("[a-zé東][a-z0-9_./]{0,8}[a-z]", 0..4),
            phrases in prop::collection::btree_set("[a-z][a-z *:.-]{0,10}", 0..4),
            prefixes in prop::collection::btree_set("[a-z]{1,6}", 0..4),
            excluded in prop::collection::btree_set("[a-z]{1,6}", 0..4),
        ) {
            let mut query = words.join("\n");
            phrases.iter().for_each(|phrase| query += &format!(" \"{phrase}\""));
            prefixes.iter().for_each(|prefix| query += &format!(" {prefix}*"));
            excluded.iter().for_each(|word| query += &format!(" -{word}"));
            let syntax = parse(&query);
            prop_assert_eq!(syntax.words, words);
            prop_assert_eq!(syntax.phrases, phrases.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(syntax.prefixes, prefixes.into_iter().collect::<Vec<_>>());
            let words: Vec<Excluded> = excluded.into_iter().map(Excluded::Word).collect();
            prop_assert_eq!(syntax.excluded, words);
        }
    }
}
