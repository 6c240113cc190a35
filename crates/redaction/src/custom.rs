//! The caller's own rules: regular expressions, matched in linear time, and literals.

use std::{ops::Range, sync::Arc};

use javascript_regex::PatternError;
use rustc_hash::FxHashSet;

use super::{
    literals::Literals,
    options::{CustomFind, CustomRule},
};
use crate::{
    error::{Error, ErrorKind, Result},
    linear_regex::{LinearRegex, TooManySteps},
};

/// Maximum number of characters of a rule's name, which is part of every replacement.
const MAX_NAME: usize = 64;
/// Minimum number of characters of a literal; shorter literals match unrelated text.
const MIN_LITERAL: usize = 4;
/// Maximum total bytes of all literals. Memory is in proportion to them.
const MAX_LITERALS: usize = 1 << 20;
/// Maximum matches of literals per byte of a text: a literal may be a suffix of others.
const MAX_PLACES: usize = 16;

/// All compiled rules of a caller.
#[derive(Debug)]
pub(super) struct CustomRules {
    names: Vec<Arc<str>>,
    nameless: Arc<str>,
    /// Expressions with the index of their rule.
    expressions: Vec<(usize, LinearRegex)>,
    literals: Option<Literals>,
    /// For each literal, the index of its rule.
    literal_rules: Vec<usize>,
}

impl CustomRules {
    /// # Errors
    /// [`ErrorKind::InvalidOption`] with the rule that is malformed, needs backtracking, becomes too large or matches
    /// the empty text, and for an expression with the position of the error.
    pub fn new(rules: &[CustomRule]) -> Result<Self> {
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut known = FxHashSet::default();
        let mut expressions = Vec::new();
        let (mut literals, mut literal_rules) = (Vec::new(), Vec::new());
        for (number, CustomRule { name, find }) in rules.iter().enumerate() {
            check_name(number, name)?;
            if !known.insert(name) {
                return Err(refused(number, name, "there is another rule of that name"));
            }
            names.push(name.as_str().into());
            match find {
                CustomFind::Expression { source, flags } => {
                    let expression = LinearRegex::new(source, flags)
                        .map_err(|error| refused(number, name, &not_searchable(&error)))?;
                    expressions.push((number, expression));
                }
                CustomFind::Literals(texts) => {
                    if texts.is_empty() {
                        return Err(refused(number, name, "the list of literals is empty"));
                    }
                    for (place, text) in texts.iter().enumerate() {
                        if text.chars().nth(MIN_LITERAL - 1).is_none() {
                            let reason =
                                format!("literal {place} has less than {MIN_LITERAL} characters");
                            return Err(refused(number, name, &reason));
                        }
                    }
                    literals.extend(texts);
                    literal_rules.resize(literals.len(), number);
                }
            }
        }
        let bytes: usize = literals.iter().map(|text| text.len()).sum();
        let too_many =
            || Error::new(ErrorKind::InvalidOption, "the literals of patterns are too many");
        if bytes > MAX_LITERALS {
            return Err(too_many());
        }
        let literals = match literals.as_slice() {
            [] => None,
            literals => Some(Literals::new(literals).map_err(|_| too_many())?),
        };
        Ok(Self { names, nameless: "".into(), expressions, literals, literal_rules })
    }

    /// Whether there are no custom rules.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.literals.is_none()
    }

    /// Appends every hit: its byte range, on character boundaries, and the index of the rule. Hits of different rules
    /// can overlap.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] when the search exceeds its work budget.
    pub fn find(&self, text: &str, hits: &mut Vec<(Range<usize>, usize)>) -> Result<()> {
        let mut found = Vec::new();
        for (rule, expression) in &self.expressions {
            expression.find(text, &mut found).map_err(|TooManySteps| self.too_long(*rule, text))?;
            hits.extend(found.drain(..).map(|range| (range, *rule)));
        }
        let Some(literals) = &self.literals else { return Ok(()) };
        let (mut places, mut too_many) = (text.len().saturating_mul(MAX_PLACES), None);
        literals.find(text, |range, literal| {
            let rule = self.literal_rules.get(literal).copied().unwrap_or_default();
            let mut hit = range;
            // Matches are ordered by their ends.
            while let Some((last, same)) = hits.last()
                && *same == rule
                && hit.start < last.end
            {
                hit.start = hit.start.min(last.start);
                hits.pop();
            }
            hits.push((hit, rule));
            places = places.saturating_sub(1);
            if places == 0 {
                too_many = Some(rule);
            }
            places > 0
        });
        too_many.map_or(Ok(()), |rule| Err(self.too_long(rule, text)))
    }

    /// The name of a rule.
    pub fn name(&self, rule: usize) -> &Arc<str> {
        self.names.get(rule).unwrap_or(&self.nameless)
    }

    fn too_long(&self, rule: usize, text: &str) -> Error {
        let name = self.name(rule);
        Error::new(
            ErrorKind::Failed,
            format!(
                "the text was not redacted: the pattern {name} needs too many steps for its {} bytes; \
                 anchor it, or bound its repetitions",
                text.len()
            ),
        )
    }
}

/// The message for a refused expression. The expression itself is not shown: it may contain a secret.
pub(super) fn not_searchable(error: &PatternError) -> String {
    format!("it must be a regular expression of the linear-time kind: {error}")
}

fn refused(number: usize, name: &str, reason: &str) -> Error {
    Error::new(
        ErrorKind::InvalidOption,
        format!("patterns[{number}] ({name}) is refused: {reason}"),
    )
}

fn check_name(number: usize, name: &str) -> Result<()> {
    let mut characters = name.chars();
    let is_plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    if characters.next().is_some_and(is_plain)
        && characters.all(|character| is_plain(character) || "_.-".contains(character))
        && name.len() <= MAX_NAME
    {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidOption,
        format!(
            "the name of patterns[{number}] must be up to {MAX_NAME} of the characters a-z, 0-9, _, . \
             and -, the first a letter or digit, not {name:.80?}"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expression(name: &str, source: &str, flags: &str) -> CustomRule {
        let find = CustomFind::Expression { source: source.to_owned(), flags: flags.to_owned() };
        CustomRule { name: name.to_owned(), find }
    }

    fn literals(name: &str, texts: &[&str]) -> CustomRule {
        let find = CustomFind::Literals(texts.iter().copied().map(str::to_owned).collect());
        CustomRule { name: name.to_owned(), find }
    }

    fn found(rules: &[CustomRule], text: &str) -> Vec<(String, String)> {
        let rules = CustomRules::new(rules).unwrap();
        let mut hits = Vec::new();
        rules.find(text, &mut hits).unwrap();
        hits.into_iter()
            .map(|(hit, rule)| (rules.name(rule).to_string(), text[hit].to_owned()))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        expected.iter().map(owned).collect()
    }

    #[test]
    fn hits_are_those_of_all_rules() {
        let rules = [
            literals("words", &["swordfish", "fishbone", "naïveté"]),
            expression("employee", r"\bemp-(?<secret>\d{4,6})\b", "gi"),
            literals("more", &["bone-marrow"]),
        ];
        assert_eq!(
            found(&rules, "EMP-12345, swordfish naïveté fish emp-1 swordfishbone-marrow"),
            pairs(&[
                ("employee", "12345"),
                ("words", "swordfish"),
                ("words", "naïveté"),
                ("words", "swordfishbone"),
                ("more", "bone-marrow"),
            ])
        );
        assert_eq!(found(&rules, "Swordfish naivete"), []);
    }

    #[test]
    fn what_is_in_a_literal_is_one_hit_with_it() {
        let rules = [literals("it", &["beta", "alpha beta beta gamma"])];
        let text = "beta alpha beta beta gamma";
        assert_eq!(found(&rules, text), pairs(&[("it", "beta"), ("it", "alpha beta beta gamma")]));
    }

    #[test]
    fn bad_rules_are_refused_with_their_place() {
        let good = expression("good", "a+b", "");
        let long = "n".repeat(65);
        for (rule, expected) in [
            (
                expression("bad", "é(?=b)", ""),
                "patterns[1] (bad) is refused: it must be a regular expression of the linear-time kind: look-around is not supported, at character 2",
            ),
            (expression("bad", "a(b", ""), "unclosed group, at character 2"),
            (expression("bad", "a", "k"), "the flag k is not supported, at character 1"),
            (expression("bad", "a?", ""), "it matches the empty text, at character 1"),
            (expression("bad", "", ""), "it matches the empty text, at character 1"),
            (
                expression("good", "a", ""),
                "patterns[1] (good) is refused: there is another rule of that name",
            ),
            (expression("", "a", ""), "the name of patterns[1] must be"),
            (expression("-a", "a", ""), "the name of patterns[1] must be"),
            (expression("A", "a", ""), "the name of patterns[1] must be"),
            (expression("a]", "a", ""), "the name of patterns[1] must be"),
            (expression("é", "a", ""), "the name of patterns[1] must be"),
            (expression(&long, "a", ""), "the name of patterns[1] must be"),
            (literals("bad", &[]), "patterns[1] (bad) is refused: the list of literals is empty"),
            (literals("bad", &["long enough", "äöü"]), "literal 1 has less than 4 characters"),
            (
                literals("bad", &[&"ab".repeat(MAX_LITERALS)]),
                "the literals of patterns are too many",
            ),
        ] {
            let error = CustomRules::new(&[good.clone(), rule]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidOption);
            assert!(error.message.contains(expected), "{}", error.message);
        }
        assert!(CustomRules::new(&[good, expression("a.b_c-0", "a", "dgimsuy")]).is_ok());
    }

    #[test]
    fn what_takes_too_long_fails() {
        let hostile = CustomRules::new(&[expression("hostile", "(?:[ab]?){500}b", "")]).unwrap();
        let text = "ab".repeat(10_000);
        let error = hostile.find(&text, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Failed);
        assert!(
            error.message.contains("the pattern hostile needs too many steps for its 20000 bytes"),
            "{}",
            error.message
        );
        let texts: Vec<_> = (4..40).map(|length| "a".repeat(length)).collect();
        let find = CustomFind::Literals(texts);
        let hostile = CustomRules::new(&[CustomRule { name: "ends".to_owned(), find }]).unwrap();
        let error = hostile.find(&"a".repeat(10_000), &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Failed);
    }

    proptest! {
        #[test]
        fn every_literal_is_found(texts in prop::collection::vec("[ab]{4,6}", 1..90), text in "[ab é]{0,60}") {
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            let rules = CustomRules::new(&[literals("it", &texts)]).unwrap();
            let mut hits = Vec::new();
            rules.find(&text, &mut hits).unwrap();
            let mut expected = vec![false; text.len()];
            for literal in &texts {
                for start in (0..text.len()).filter(|start| text.as_bytes()[*start..].starts_with(literal.as_bytes())) {
                    expected[start..start + literal.len()].fill(true);
                }
            }
            let mut covered = vec![false; text.len()];
            for (hit, _) in hits {
                prop_assert!(covered[hit.clone()].iter().all(|covered| !covered), "{hit:?}");
                covered[hit].fill(true);
            }
            prop_assert_eq!(covered, expected);
        }
    }
}
