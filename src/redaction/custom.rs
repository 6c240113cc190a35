//! Rules of the caller's own.

use std::{ops::Range, sync::Arc};

use aho_corasick::{AhoCorasick, MatchKind};

use super::options::{CustomFind, CustomRule};
use crate::{
    error::{Code, Error, Result},
    expressions::{Expression, Fault, shown},
};

/// Shorter literals occur by accident.
const SHORTEST_LITERAL: usize = 4;

/// All rules of a caller, compiled.
#[derive(Debug, Default)]
pub(super) struct CustomRules {
    names: Vec<Arc<str>>,
    /// Expressions, with the numbers of their rules.
    expressions: Vec<(usize, Expression)>,
    literals: Option<AhoCorasick>,
    /// The rules' numbers, by those of their literals.
    rules_of_literals: Vec<usize>,
}

impl CustomRules {
    /// # Errors
    /// `InvalidArgument`, with the position, for an expression that does not compile, needs
    /// backtracking, is too large or matches the empty text; for a short literal; for a name that
    /// is none, or that two rules have.
    pub fn new(rules: &[CustomRule]) -> Result<Self> {
        let mut custom = Self::default();
        let mut literals = Vec::new();
        for (number, CustomRule { name, find }) in rules.iter().enumerate() {
            custom.add_name(name)?;
            match find {
                CustomFind::Expression { source, flags } => {
                    let expression = Expression::new(source, flags);
                    let expression = expression.map_err(|fault| refused(source, &fault))?;
                    custom.expressions.push((number, expression));
                }
                CustomFind::Literals(texts) => {
                    for text in texts {
                        if text.chars().count() < SHORTEST_LITERAL {
                            return Err(invalid(format!(
                                "a literal of the rule {name:?} has less than {SHORTEST_LITERAL} characters and would be found everywhere"
                            )));
                        }
                        literals.push(text.as_str());
                        custom.rules_of_literals.push(number);
                    }
                }
            }
        }
        if !literals.is_empty() {
            let automaton =
                AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&literals);
            custom.literals = Some(
                automaton
                    .map_err(|error| invalid(format!("the literals are too large: {error}")))?,
            );
        }
        Ok(custom)
    }

    fn add_name(&mut self, name: &str) -> Result<()> {
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || !name.bytes().all(is_plain) {
            return Err(invalid(format!(
                "a rule's name stands in replacements and is made of letters, digits, '-', '_' and '.', not {name:?}"
            )));
        }
        if self.names.iter().any(|known| **known == *name) {
            return Err(invalid(format!("two rules have the name {name:?}")));
        }
        self.names.push(Arc::from(name));
        Ok(())
    }

    /// The rules' names, by their numbers.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Appends what the rules find, with their numbers.
    ///
    /// # Errors
    /// `Redaction` when an expression would take too long.
    pub fn find(&self, text: &str, hits: &mut Vec<(Range<usize>, usize)>) -> Result<()> {
        if let Some(literals) = &self.literals {
            for found in literals.find_iter(text) {
                let rule = self.rules_of_literals.get(found.pattern().as_usize());
                hits.extend(rule.map(|&rule| (found.range(), rule)));
            }
        }
        let mut ranges = Vec::new();
        for (rule, expression) in &self.expressions {
            expression.find(text, &mut ranges).map_err(|_| self.too_slow(*rule, text))?;
            hits.extend(ranges.drain(..).map(|range| (range, *rule)));
        }
        Ok(())
    }

    fn too_slow(&self, rule: usize, text: &str) -> Error {
        let name = self.names.get(rule).map_or("", |name| name);
        Error::new(
            Code::Redaction,
            format!(
                "nothing was written: the pattern {name:?} takes too long for a text of {} bytes; bound its repetitions",
                text.len()
            ),
        )
    }
}

/// An expression that is no good.
pub(super) fn refused(source: &str, fault: &Fault) -> Error {
    invalid(format!(
        "a pattern must be a regular expression of the linear-time kind, not {}: {fault}",
        shown(source)
    ))
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(name: &str, source: &str) -> CustomRule {
        CustomRule {
            name: name.to_owned(),
            find: CustomFind::Expression { source: source.to_owned(), flags: String::new() },
        }
    }

    fn literals(name: &str, texts: &[&str]) -> CustomRule {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        CustomRule { name: name.to_owned(), find: CustomFind::Literals(texts) }
    }

    fn found<'a>(rules: &[CustomRule], text: &'a str) -> Vec<(&'a str, usize)> {
        let mut hits = Vec::new();
        CustomRules::new(rules).unwrap().find(text, &mut hits).unwrap();
        hits.into_iter().map(|(range, rule)| (&text[range], rule)).collect()
    }

    #[test]
    fn expressions_and_literals_are_found() {
        let rules =
            [expression("ticket", "TICKET-\\d+"), literals("name", &["Ada Lovelace", "Ada"])];
        assert!(CustomRules::new(&rules).is_err_and(|error| error.message.contains("less than 4")));
        let rules =
            [expression("ticket", "TICKET-\\d+"), literals("name", &["Ada Lovelace", "Lovelace"])];
        assert_eq!(
            found(&rules, "Ada Lovelace and Lovelace: TICKET-123"),
            [("Ada Lovelace", 1), ("Lovelace", 1), ("TICKET-123", 0)]
        );
    }

    #[test]
    fn a_group_named_secret_narrows_what_goes() {
        let rules = [expression("pin", "pin: (?<secret>\\d+)!")];
        assert_eq!(found(&rules, "pin: 1234! pin: 99"), [("1234", 0)]);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        let cases = [
            (expression("a", "a(?=b)"), "look-around"),
            (expression("a", "(a)\\1"), "back reference"),
            (expression("a", "a(b"), "at character 2"),
            (expression("a", "a*"), "empty text"),
            (expression("a b", "ab"), "name"),
            (expression("", "ab"), "name"),
            (literals("a", &[""]), "less than"),
        ];
        for (rule, message) in cases {
            let error = CustomRules::new(std::slice::from_ref(&rule)).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            assert!(error.message.contains(message), "{} ({rule:?})", error.message);
        }
        let twice = [expression("a", "ab"), expression("a", "cd")];
        assert!(CustomRules::new(&twice).is_err_and(|error| error.message.contains("two rules")));
    }
}
