//! The caller's allow list: secrets that are never redacted.

use rustc_hash::FxHashSet;

use super::{custom::not_searchable, options::Allowed};
use crate::{
    error::{Error, ErrorKind, Result},
    linear_regex::LinearRegex,
};

/// The compiled allow list.
#[derive(Debug)]
pub(super) struct AllowList {
    literals: FxHashSet<String>,
    expressions: Vec<LinearRegex>,
}

impl AllowList {
    /// # Errors
    /// [`ErrorKind::InvalidOption`] with the index in the list. Refused are entries that would allow every text, and
    /// expressions that are malformed, need backtracking or become too large (with the position of the error).
    pub fn new(allowed: &[Allowed]) -> Result<Self> {
        let mut list = Self { literals: FxHashSet::default(), expressions: Vec::new() };
        for (place, allowed) in allowed.iter().enumerate() {
            let refused = |reason: &str| {
                Error::new(ErrorKind::InvalidOption, format!("allow[{place}] is refused: {reason}"))
            };
            match allowed {
                Allowed::Literal(text) if text.is_empty() => {
                    return Err(refused("it is the empty text"));
                }
                Allowed::Literal(text) => {
                    list.literals.insert(text.clone());
                }
                Allowed::Expression { source, flags } => list.expressions.push(
                    LinearRegex::new(source, flags)
                        .map_err(|error| refused(&not_searchable(&error)))?,
                ),
            }
        }
        Ok(list)
    }

    /// Whether the caller allows this secret. A secret whose check takes too long is not allowed.
    pub fn contains(&self, secret: &str) -> bool {
        self.literals.contains(secret)
            || self.expressions.iter().any(|expression| expression.is_match(secret) == Ok(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(source: &str, flags: &str) -> Allowed {
        Allowed::Expression { source: source.to_owned(), flags: flags.to_owned() }
    }

    #[test]
    fn allows_exact_texts_and_what_an_expression_matches_somewhere() {
        let allowed = [Allowed::Literal("canary".to_owned()), expression("^test-|EXAMPLE$", "i")];
        let list = AllowList::new(&allowed).unwrap();
        for secret in ["canary", "test-1", "TEST-2", "AKIAexample"] {
            assert!(list.contains(secret), "{secret} is allowed");
        }
        for secret in ["canary1", "Canary", "a test-1", "example1", ""] {
            assert!(!list.contains(secret), "{secret} is not allowed");
        }
        assert!(!AllowList::new(&[]).unwrap().contains(""));
    }

    #[test]
    fn a_secret_whose_check_takes_too_long_is_not_allowed() {
        let list = AllowList::new(&[expression("^(?:[ab]{0,2}c?){150}[ab]*z", "")]).unwrap();
        assert!(list.contains("abz"));
        assert!(!list.contains(&format!("{}z", "ab".repeat(10_000))), "it would match");
    }

    #[test]
    fn what_would_allow_everything_is_refused() {
        for (allowed, expected) in [
            (Allowed::Literal(String::new()), "allow[1] is refused: it is the empty text"),
            (expression("a*", ""), "it matches the empty text, at character 1"),
            (
                expression("a(?!b)", ""),
                "allow[1] is refused: it must be a regular expression of the linear-time kind: look-around is not supported, at character 2",
            ),
        ] {
            let error = AllowList::new(&[Allowed::Literal("a".to_owned()), allowed]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidOption);
            assert!(error.message.contains(expected), "{}", error.message);
        }
    }
}
